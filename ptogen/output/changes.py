"""What a run does, or would do, to the files of a tree."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ptogen.output.places import MANIFESTS

WRITE, UNCHANGED, REMOVE = "write", "unchanged", "remove"


@dataclass(frozen=True)
class Change:
    """What becomes of one file.

    Attributes:
        path: relative to the output root, with forward slashes.
        action: ``write``, ``unchanged`` or ``remove``.
        old: text that stands there now, or None where there is no file.
        new: text that will stand there, or None where the file goes.
        suite: key of the suite that the file belongs to; empty for one that suites share.
        foreign: whether what stands there is not ptogen's, so that only ``force`` changes it.
        linked: whether a symbolic link stands on the way to it, which nothing follows.
    """

    path: str
    action: str
    old: str | None
    new: str | None
    suite: str = ""
    foreign: bool = False
    linked: bool = False

    @property
    def is_manifest(self) -> bool:
        """Whether it is ptogen's record and not a file of the suite."""
        return self.path.startswith(f"{MANIFESTS}/")


def decoded(data: bytes | None) -> str | None:
    """The text of a file that may hold anything."""
    return None if data is None else data.decode(errors="replace")


def diff(changes: Iterable[Change]) -> str:
    """The changes as one unified diff that ``patch -p1`` and ``git apply`` understand."""
    from difflib import unified_diff

    lines: list[str] = []
    for change in changes:
        if change.action == UNCHANGED:
            continue
        old, new = _lines(change.old), _lines(change.new)
        source = "/dev/null" if change.old is None else f"a/{change.path}"
        target = "/dev/null" if change.new is None else f"b/{change.path}"
        for line in unified_diff(old, new, source, target):
            lines.append(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n")
    return "".join(lines)


def _lines(text: str | None) -> list[str]:
    """Lines as ``diff`` counts them: only a line feed ends one."""
    *whole, rest = (text or "").split("\n")
    return [f"{line}\n" for line in whole] + ([rest] if rest else [])
