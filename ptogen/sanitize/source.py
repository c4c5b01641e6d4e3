"""What the source says at a recorded step: its place, and the names of the arguments."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from ptogen.errors import Position


def positions(program: Path, offsets: Iterable[int]) -> dict[int, Position]:
    """File and line of the call before each return address, from the line table of a program; those it does not know
    are left out.

    addr2line is a part of binutils, without which no compiler links.
    """
    wanted = sorted(set(offsets))
    if not wanted:
        return {}
    addresses = "".join(f"{offset - 1:x}\n" for offset in wanted)
    run = subprocess.run(
        ["addr2line", "-e", str(program)], input=addresses, capture_output=True, text=True, errors="replace"
    )
    found = {}
    for offset, line in zip(wanted, run.stdout.splitlines(), strict=False):
        match = re.match(r"(.+):(\d+)(?: \(discriminator \d+\))?$", line)
        if match and match[1] != "??" and match[2] != "0":
            found[offset] = Position(match[1], int(match[2]))
    return found


@cache
def _lines(file: str) -> tuple[str, ...]:
    try:
        return tuple(Path(file).read_text(encoding="utf-8", errors="replace").splitlines())
    except OSError:
        return ()


@cache
def arguments(position: Position, name: str) -> tuple[str, ...]:
    """The arguments of the call of ``name`` at a place, as they are written; none where it is not found, such as
    inside a macro, or where its line has more than one, which are not told apart."""
    lines = _lines(position.file)
    for start in (position.line, position.line - 1, position.line - 2, position.line - 3, position.line - 4):
        if not 0 < start <= len(lines):
            continue
        text = "\n".join(lines[start - 1 : start + 12])
        matches = list(re.finditer(rf"\b{name}\s*(?=[<(])", text.split("\n", 1)[0]))
        if matches:
            return split(text[matches[0].end() :]) if len(matches) == 1 else ()
    return ()


def split(text: str) -> tuple[str, ...]:
    """The arguments in the first pair of round brackets that is not inside template brackets."""
    depth = angle = 0
    parts, current = [], ""
    for sign in text:
        if depth == 0:
            angle += (sign == "<") - (sign == ">")
            if sign == "(" and angle <= 0:
                depth = 1
            continue
        depth += (sign in "([{") - (sign in ")]}")
        if depth == 0:
            parts.append(current)
            return tuple(re.sub(r"\s+", " ", part).strip() for part in parts)
        if sign == "," and depth == 1:
            parts.append(current)
            current = ""
        else:
            current += sign
    return ()
