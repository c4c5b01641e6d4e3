"""What a tree remembers of a matrix: by which content it was made, and every file that this gave.

``OUT/.ptogen/<stem>.matrix`` lets a run see, by hashes alone, that it has nothing to do: it then reads the files and
plans, checks and renders nothing. The record is written last and whole; without it, or with one that does not fit,
everything is made again, which writes the same bytes.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from ptogen.output import MANIFESTS, TEMPORARY, digest_of
from ptogen.render.environment import PACKAGE, template_root

ENDING = ".matrix"

DEPENDENCIES = ("clang-format", "jinja2", "numpy", "pydantic")
"""Packages whose versions have a say in what a suite looks like."""


@cache
def code_digest() -> str:
    """SHA-256 of all that decides what a suite looks like: ptogen's own code, its templates, and what it depends on."""
    from importlib.metadata import version

    digest = hashlib.sha256()
    for name in DEPENDENCIES:
        digest.update(f"{name} {version(name)}\0".encode())
    for root in (PACKAGE, template_root()):
        for path in sorted(path for ending in ("*.py", "*.j2") for path in root.rglob(ending)):
            digest.update(f"{path.relative_to(root)}\0".encode() + path.read_bytes() + b"\0")
    return digest.hexdigest()


@dataclass
class Record:
    """A matrix as a tree remembers it.

    Attributes:
        inputs: SHA-256 of what was asked for: the matrix, the options, the code.
        code: SHA-256 of the code and of those options that reach every suite.
        files: SHA-256 of every file by its path below the tree, manifests included.
        suites: ``{"cases", "platform", "directory"}`` by the key of the suite.
        counts: the rows of the summary, JSON-ready.
        examples: a message for each reason why combinations were dropped.
    """

    inputs: str
    code: str
    files: dict[str, str] = field(default_factory=dict)
    suites: dict[str, dict[str, Any]] = field(default_factory=dict)
    counts: list[dict[str, Any]] = field(default_factory=list)
    examples: dict[str, str] = field(default_factory=dict)

    def write(self, out: Path, stem: str) -> None:
        """Puts the record into the tree in one step."""
        place = path_of(out, stem)
        place.parent.mkdir(parents=True, exist_ok=True)
        if place.is_symlink():
            place.unlink()
        temporary = place.parent / f"{TEMPORARY}{os.getpid()}{ENDING}"
        try:
            temporary.write_text(json.dumps(vars(self), sort_keys=True, ensure_ascii=False) + "\n", encoding="utf-8")
            os.replace(temporary, place)
        finally:
            temporary.unlink(missing_ok=True)

    def holds(self, out: Path) -> bool:
        """Whether every file stands there as it was written."""
        return unchanged(out, self.files)


def path_of(out: Path, stem: str) -> Path:
    """Where the record of a matrix is."""
    return out / MANIFESTS / f"{stem}{ENDING}"


def read(out: Path, stem: str) -> Record | None:
    """The record of a matrix; None where there is none, or none that can be used."""
    with suppress(OSError, ValueError, TypeError, RecursionError):
        place = path_of(out, stem)
        if not place.is_symlink():
            record = Record(**json.loads(place.read_bytes()))
            kinds = (str, str, dict, dict, list, dict)
            if all(isinstance(value, kind) for value, kind in zip(vars(record).values(), kinds, strict=True)):
                return record
    return None


def unchanged(out: Path, files: Mapping[str, str]) -> bool:
    """Whether each file has its hash and stands there by itself, not through a symbolic link."""
    real: dict[str, bool] = {}
    for path, digest in files.items():
        folder = os.path.dirname(path)
        if folder not in real:
            real[folder] = os.path.realpath(out / folder) == os.path.join(os.path.realpath(out), folder)
        place = os.path.join(out, path)
        try:
            if not real[folder] or os.path.islink(place):
                return False
            with open(place, "rb") as file:
                if digest_of(file.read()) != digest:
                    return False
        except OSError:
            return False
    return True
