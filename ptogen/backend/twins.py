"""Suites whose programs are the same, so that one of them is compiled for all.

One spec on several Kirin platforms, say, gives kernels that differ in a comment alone.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from ptogen.backend.build import Source
from ptogen.errors import Diagnostic

COMMENTS = {
    ".cpp": re.compile(rb"^[ \t]*//.*[^\\\n]$", re.MULTILINE),
    ".txt": re.compile(rb"^[ \t]*#.*$", re.MULTILINE),
}
"""Lines that are a comment, of C++ and of CMake, and do not go on in the next."""


def groups(suites: Sequence[Source]) -> list[list[Source]]:
    """Suites of equal text and kind together, each group in the order given.

    Comments count as empty lines, so that what is said of a line is true of that line in every one of them.
    """
    found: dict[object, list[Source]] = {}
    for suite in suites:
        found.setdefault(_text(suite), []).append(suite)
    return list(found.values())


def _text(suite: Source) -> object:
    """Equal for suites that a compiler cannot tell apart; that of a suite with files of other people is its own."""
    key, folder, kind = suite
    try:
        names = {path.name for path in folder.iterdir()}
        kernel = {name for name in names if name.endswith("_kernel.cpp")}
        read = sorted(name for name in names if name != "gen_data.py" and not name.endswith(".yaml"))
        if set(read) - kernel != {"CMakeLists.txt", "main.cpp"}:
            return key
        return kind, tuple((name, _without_comments(name, (folder / name).read_bytes())) for name in read)
    except OSError:
        return key


def _without_comments(name: str, text: bytes) -> bytes:
    """The text; where a line that looks like a comment may be something else, with all that it has."""
    return text if b"/*" in text or b'R"' in text else COMMENTS[name[-4:]].sub(b"", text)


def as_of(fault: Diagnostic, theirs: Sequence[str], own: Path) -> Diagnostic:
    """A fault of one suite as that of another in its group; ``theirs`` are folders of the one, ``own`` of the other."""

    def said(text: str) -> str:
        for folder in theirs:
            text = text.replace(f"{folder}/", f"{own}/")
        return text

    position = fault.position
    if position is not None:
        position = replace(position, file=said(f"{position.file}/").rstrip("/"))
    return replace(fault, position=position, details=tuple(map(said, fault.details)))
