"""The golden code of a suite as one text: of the modules of ``ptogen.golden``, what ``generate`` reaches."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from ptogen.render.environment import GOLDEN

GOLDEN_PACKAGE = "ptogen.golden."

Definition = ast.FunctionDef | ast.ClassDef | ast.Assign | ast.AnnAssign


@dataclass(frozen=True)
class _Piece:
    """A statement of a module, with the comment right above it.

    Attributes:
        module: its module.
        place: its number among the statements of its module.
        names: what it defines.
        uses: the names that stand in it.
        text: its lines.
        is_function: whether two empty lines part it from others.
    """

    module: str
    place: int
    names: frozenset[str]
    uses: frozenset[str]
    text: str
    is_function: bool


@cache
def golden_source(module: str, extra_imports: tuple[str, ...] = ()) -> str:
    """Imports, then what ``generate`` of a module needs of it and of the modules that it imports from.

    The first paragraph of a module's docstring becomes a comment. A golden module imports from its own package by
    ``from ptogen.golden.x import y`` only.

    Args:
        module: of ``ptogen.golden``.
        extra_imports: statements that the text around it needs.
    """
    pieces: dict[str, list[_Piece]] = {}
    comments: dict[str, str] = {}
    imports: dict[str, str] = {}
    _read(module, pieces, comments, imports)
    owners: dict[str, _Piece] = {}
    for piece in (piece for own in pieces.values() for piece in own):
        if piece.names == {"generate"} and piece.module != module:
            continue
        for name in piece.names:
            if name in owners or name in imports:
                raise AssertionError(f"{name} has two meanings in {piece.module}.py and what it imports")
            owners[name] = piece
    kept: set[_Piece] = set()
    waiting = [owners["generate"]]
    while waiting:
        piece = waiting.pop()
        if piece not in kept:
            kept.add(piece)
            waiting += [owners[name] for name in piece.uses if name in owners]
    used = frozenset(name for piece in kept for name in piece.uses)
    needed = {text for name, text in imports.items() if name in used} | set(extra_imports)
    standard = sorted(line for line in needed if line.split()[1].split(".")[0] in sys.stdlib_module_names)
    foreign = sorted(needed - set(standard))
    groups = [["from __future__ import annotations"], standard, foreign]
    heading = "\n\n".join("\n".join(group) for group in groups if group)
    sections = [
        f"{comments[name]}\n\n{_joined(own)}"
        for name, of_module in pieces.items()
        if (own := [piece for piece in of_module if piece in kept])
    ]
    return heading + "\n\n" + "\n\n\n".join(sections)


def _read(name: str, pieces: dict[str, list[_Piece]], comments: dict[str, str], imports: dict[str, str]) -> None:
    """A module, behind those that it imports from."""
    if name in pieces:
        return
    text = (GOLDEN / f"{name}.py").read_text(encoding="utf-8")
    tree = ast.parse(text)
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(GOLDEN_PACKAGE):
            if any(alias.asname for alias in node.names):
                raise AssertionError(f"{name}.py renames what it imports from {node.module}")
            _read((node.module or "").removeprefix(GOLDEN_PACKAGE), pieces, comments, imports)
        elif isinstance(node, (ast.Import, ast.ImportFrom)) and getattr(node, "module", "") != "__future__":
            imports.update(_imported(node))
    pieces[name] = list(_pieces(name, tree, text.splitlines()))
    first = (ast.get_docstring(tree) or name).split("\n\n")[0]
    comments[name] = "\n".join(f"# {line}" for line in first.splitlines())


def _imported(node: ast.Import | ast.ImportFrom) -> Iterator[tuple[str, str]]:
    """Each name that a statement imports, with a statement that imports it alone."""
    for alias in node.names:
        own = ast.Import([alias]) if isinstance(node, ast.Import) else ast.ImportFrom(node.module, [alias], node.level)
        yield alias.asname or alias.name.split(".")[0], ast.unparse(own)


def _pieces(module: str, tree: ast.Module, lines: Sequence[str]) -> Iterator[_Piece]:
    for place, node in enumerate(tree.body):
        if not isinstance(node, Definition):
            continue
        names = [node.name] if isinstance(node, (ast.FunctionDef, ast.ClassDef)) else _targets(node)
        start = node.lineno - 1
        while start and lines[start - 1].startswith("#"):
            start -= 1
        text = "\n".join(lines[start : node.end_lineno])
        uses = frozenset(one.id for one in ast.walk(node) if isinstance(one, ast.Name))
        is_function = isinstance(node, (ast.FunctionDef, ast.ClassDef))
        yield _Piece(module, place, frozenset(names), uses, text, is_function)


def _targets(node: ast.Assign | ast.AnnAssign) -> list[str]:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    return [one.id for target in targets for one in ast.walk(target) if isinstance(one, ast.Name)]


def _joined(pieces: Sequence[_Piece]) -> str:
    text = pieces[0].text
    for before, piece in zip(pieces, pieces[1:], strict=False):
        if before.is_function or piece.is_function:
            text += "\n\n\n"
        else:
            # A comment begins a group of constants.
            text += "\n\n" if piece.text.startswith("#") or piece.place > before.place + 1 else "\n"
        text += piece.text
    return text
