"""The Jinja environment that every renderer uses, and the hash of what it renders from."""

from __future__ import annotations

import ast
import functools
import hashlib
from pathlib import Path

import jinja2

PACKAGE = Path(__file__).resolve().parent.parent
GOLDEN = PACKAGE / "golden"
GOLDEN_PACKAGE = "ptogen.golden."


@functools.cache
def template_root() -> Path:
    """The folder of the templates: in the package where it was installed from a wheel, else the repository's own."""
    packaged = PACKAGE / "templates"
    return packaged if packaged.is_dir() else PACKAGE.parent / "templates"


@functools.cache
def environment() -> jinja2.Environment:
    """Templates are named by their path below :func:`template_root`, such as ``st/main.cpp.j2``."""
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(template_root()),
        undefined=jinja2.StrictUndefined,
        autoescape=False,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        auto_reload=False,
    )


@functools.cache
def golden_modules(module: str) -> tuple[str, ...]:
    """A module of ``ptogen.golden`` and those that it imports from there, by name."""
    names = {module}
    tree = ast.parse((GOLDEN / f"{module}.py").read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(GOLDEN_PACKAGE):
            names.update(golden_modules((node.module or "").removeprefix(GOLDEN_PACKAGE)))
    return tuple(sorted(names))


@functools.cache
def template_digest(folder: str, golden: str | None = None) -> str:
    """SHA-256 of the names and texts that a suite is rendered from.

    Args:
        folder: of its target's templates.
        golden: the golden module that its gen_data.py holds, with those that it imports; None: there is none.
    """
    sources = [(f"{folder}/{path.name}", path) for path in (template_root() / folder).glob("*.j2")]
    if golden is not None:
        sources += [(f"golden/{name}.py", GOLDEN / f"{name}.py") for name in golden_modules(golden)]
    digest = hashlib.sha256()
    for name, path in sorted(sources):
        # Line ends are no part of a source: a checkout may have changed them.
        text = path.read_text(encoding="utf-8").encode()
        digest.update(f"{name}\0{len(text)}\0".encode() + text)
    return digest.hexdigest()
