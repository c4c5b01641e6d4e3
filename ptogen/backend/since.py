"""What the headers at hand have not got of that which suites need."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from ptogen.backend import compile, probe
from ptogen.backend.compile import Compiler
from ptogen.backend.headers import Headers
from ptogen.ops.notes import VIEW, Since


def known() -> dict[str, Since]:
    """What no op has for itself, and every row of their tables, by subject."""
    from ptogen.ops import catalogue

    return {row.subject: row for row in (VIEW, *(row for op in catalogue().values() for row in op.since))}


def without_file(subjects: Iterable[str], *folders: Path) -> list[str]:
    """The subjects whose header is in none of these include folders."""
    rows = known()
    return [
        subject
        for subject in dict.fromkeys(subjects)
        if (row := rows.get(subject)) and row.header and not any((folder / row.header).is_file() for folder in folders)
    ]


def lacking(subjects: Sequence[str], compiler: Compiler, headers: Headers) -> list[str]:
    """The subjects that a kernel cannot have on the CPU simulator, with ptogen's own headers before those at hand.

    What the simulator alone lacks and ptogen supplies is there: that is a defect, and a corrected one.

    Raises:
        PtogenError: PTG505 where not even an empty probe compiles.
    """
    absent = without_file(subjects, compile.OVERLAY / "simulator", headers.include)
    rows = known()
    asked = {subject: row.probe for subject in subjects if (row := rows.get(subject)) and row.probe}
    answers = probe.ask(compiler, headers, asked)
    return [
        subject for subject in dict.fromkeys(subjects) if subject in absent or answers.get(subject, True) is not True
    ]
