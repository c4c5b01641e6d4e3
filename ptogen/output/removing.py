"""Takes suites out of a tree."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from ptogen.errors import Diagnostic, Position, PtogenError
from ptogen.output.changes import REMOVE, UNCHANGED, Change, decoded
from ptogen.output.disk import lock, refusals, remove_file, sweep
from ptogen.output.look import Look
from ptogen.output.manifest import record
from ptogen.output.places import IGNORED, IGNORING, MANIFESTS, digest_of, is_shared


def remove(out: Path, keys: Iterable[str], *, dry_run: bool = False) -> list[Change]:
    """Takes suites out of a tree: their files, then the folders that this leaves empty, the manifest of each last.

    A file that is not ptogen's any more stays; its change says ``unchanged`` and ``foreign``. One that suites share
    goes with the last of them.

    Raises:
        PtogenError: PTG111, where a manifest is damaged; PTG113.
    """
    with refusals(out):
        if not (out / MANIFESTS).is_dir():
            return []
        if dry_run:
            return _leavings(out, keys)
        with lock(out):
            changes = _leavings(out, keys)
            sweep({out / MANIFESTS, *((out / change.path).parent for change in changes)})
            # Records go last, so that a run that is cut short leaves the rest to the next one.
            for change in sorted(changes, key=lambda change: change.is_manifest):
                if change.action == REMOVE:
                    remove_file(out, change.path)
            _tidy(out)
        return changes


def clean(out: Path, *, dry_run: bool = False) -> list[Change]:
    """Removes every suite of a tree and ptogen's own records of it; see :func:`remove`."""
    folder = out / MANIFESTS
    keys = {path.stem for ending in ("json", "pending") for path in folder.glob(f"*.{ending}")}
    changes = remove(out, sorted(keys), dry_run=dry_run)
    if not dry_run and folder.is_dir():
        with refusals(out):
            for path in folder.glob("*.matrix"):
                path.unlink(missing_ok=True)
            _tidy(out)
    return changes


def _tidy(out: Path) -> None:
    """Removes the directory of the manifests where nothing is left that says anything."""
    folder = out / MANIFESTS
    ignoring = folder / IGNORING
    with suppress(FileNotFoundError):
        only = [path.name for path in folder.iterdir()] == [IGNORING]
        if only and digest_of(ignoring.read_bytes()) == digest_of(IGNORED.encode()):
            ignoring.unlink()
    with suppress(OSError):  # something else stands there
        folder.rmdir()


def _leavings(out: Path, keys: Iterable[str]) -> list[Change]:
    look, keys = Look(out), list(keys)
    damaged: list[tuple[str, str]] = []
    changes: dict[str, Change] = {}
    for key in keys:
        for path, digests in sorted(look.owned(key, damaged).items()):
            if path not in changes and (change := _leaving(look, key, path, digests, keys)):
                changes[path] = change
        for place in (record(key, "json"), record(key, "pending")):
            if (old := look.text(place)) is not None:
                changes[place] = Change(place, REMOVE, decoded(old), None, key)
    if damaged:
        hint = "write the suite anew with --force, or remove its files and this manifest yourself"
        raise PtogenError(
            Diagnostic("PTG111", f"this manifest is damaged ({reason})", Position(str(out / path)), hint=hint)
            for path, reason in damaged
        )
    return list(changes.values())


def _leaving(look: Look, key: str, path: str, digests: set[str], keys: Sequence[str]) -> Change | None:
    """What becomes of a file when its suite goes; None where it is gone already, or stays for other suites."""
    if shared := is_shared(path, *digests):
        key = ""
    old = look.text(path)
    if look.is_linked(path):
        return Change(path, UNCHANGED, None, None, key, foreign=True, linked=True)
    if old is None or (shared and look.needed(path, keys)):
        return None
    own, text = digest_of(old) in digests, decoded(old)
    return Change(path, REMOVE if own else UNCHANGED, text, None if own else text, key, not own)
