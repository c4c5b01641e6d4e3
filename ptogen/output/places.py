"""Which paths a suite may have in a tree."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from pathlib import Path

from ptogen.errors import Diagnostic, PtogenError
from ptogen.render.suite import RenderedSuite, shared_path

MANIFESTS = ".ptogen"
"""Directory of the manifests in an output tree."""

IGNORING = ".gitignore"
IGNORED = "*.pending\n*.matrix\n.ptogen-tmp-*\n"
"""What is not to be committed with the manifests: journals, and what is remembered of a run."""


def digest_of(data: bytes) -> str:
    """SHA-256 of a file as ptogen wrote it: a checkout may have changed its line ends."""
    return hashlib.sha256(data.replace(b"\r\n", b"\n")).hexdigest()


def unsafe(path: str) -> bool:
    """Whether a path is anything but plain names below the root."""
    return any(part in ("", ".", "..") for part in path.split("/")) or any(sign in path for sign in "\\\0\n\r")


def link_on(root: Path, path: str) -> str | None:
    """The first part of a path below the root that is a symbolic link."""
    parts = path.split("/")
    for depth in range(1, len(parts) + 1):
        part = "/".join(parts[:depth])
        if (root / part).is_symlink():
            return part
    return None


def is_shared(path: str, *digests: str) -> bool:
    """Whether a path is that of a shared file whose text has one of the hashes; no record can make another file one."""
    known = not unsafe(path) and path.split("/")[0] != MANIFESTS
    return known and any(path == shared_path(path, digest) for digest in digests)


def check_suites(suites: Sequence[RenderedSuite]) -> None:
    """No path leaves the tree, and no two suites share a place, not even on a disk that ignores letter case."""
    faults = []
    for suite in suites:
        paths = [
            ("the suite key", suite.key),
            ("the directory", suite.directory),
            *(("the file", path) for path in suite.files),
        ]
        for what, path in paths:
            if unsafe(path) or (what == "the suite key" and "/" in path) or path.split("/")[0] == MANIFESTS:
                faults.append(Diagnostic("PTG112", f"{what} {path!r} is no place in the output directory"))
        for path, text in suite.shared.items():
            if not is_shared(path, digest_of(text.encode())):
                faults.append(Diagnostic("PTG112", f"the shared file {path!r} is no place in the output directory"))
    owners = [(suite.key, (suite.directory, suite.key, *suite.files)) for suite in suites]
    shared = dict.fromkeys(path for suite in suites for path in suite.shared)
    for place, one, other in collisions([*owners, *((path, (path,)) for path in shared)]):
        hint = "give one of them another `name`, or write them to two output directories"
        faults.append(Diagnostic("PTG110", f"the suites {one} and {other} would both be written to {place}", hint=hint))
    if faults:
        raise PtogenError(faults)


def collisions(owners: Iterable[tuple[str, Iterable[str]]]) -> list[tuple[str, str, str]]:
    """The first shared (place, first owner, later owner) of each two owners; letter case makes no difference."""
    taken: dict[str, tuple[int, str]] = {}
    found: dict[tuple[int, int], tuple[str, str, str]] = {}
    for number, (owner, places) in enumerate(owners):
        for place in places:
            holder, name = taken.setdefault(place.casefold(), (number, owner))
            if holder != number:
                found.setdefault((holder, number), (place, name, owner))
    return list(found.values())
