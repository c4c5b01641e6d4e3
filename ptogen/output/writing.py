"""Makes a tree hold suites.

A run may be cut short anywhere. It first writes a journal, ``<key>.pending``, with every hash that a file of the suite
may have until the run is over; then every new text to a temporary file in its own directory; then the temporary files
take their names; the manifest comes last and the journal goes. A journal that is still there tells the next run, of
this spec or of a changed one, that the files in it are ptogen's too.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from ptogen.errors import Diagnostic, Position, PtogenError
from ptogen.output.changes import REMOVE, UNCHANGED, WRITE, Change, decoded
from ptogen.output.disk import Stage, lock, refusals, remove_file, replace, sweep
from ptogen.output.look import Look
from ptogen.output.manifest import AGAIN, Manifest, record
from ptogen.output.places import IGNORED, IGNORING, MANIFESTS, check_suites, digest_of, is_shared
from ptogen.render.suite import RenderedSuite

Force = bool | Collection[str]
"""Whether to replace what is not ptogen's; or globs of the paths below the tree at which to do so."""


def write(out: Path, suites: Sequence[RenderedSuite], *, dry_run: bool = False, force: Force = False) -> list[Change]:
    """Makes the tree hold these suites and says what that took: shared files, then suite by suite, its manifest last.

    Suites that the tree holds and that are not given stay as they are.

    Args:
        out: root of the tree; made where it is missing.
        suites: what to write.
        dry_run: only say what would be done.
        force: also replace files that ptogen does not own, all or those that one of these globs matches; never through
            a symbolic link.

    Raises:
        PtogenError: PTG110 to PTG113; for the first three nothing at all has been written.
    """
    check_suites(suites)
    manifests = [Manifest.of(suite) for suite in suites]
    with refusals(out):
        # A tree that needs nothing is not touched, so the first look takes no lock; another ptogen can mislead it.
        try:
            works = _examine(out, suites, manifests, force)
            must_lock = not dry_run and not all(work.is_idle for work in works)
        except PtogenError as error:
            must_lock = not dry_run and _all_foreign(error) and (out / MANIFESTS).is_dir()
            if not must_lock:
                raise
        if must_lock:
            with lock(out):
                works = _examine(out, suites, manifests, force)
                _apply(out, works)
        return [change for work in works for change in work.changes]


def _all_foreign(error: PtogenError) -> bool:
    return all(diagnostic.code == "PTG111" for diagnostic in error.diagnostics)


@dataclass(frozen=True)
class _Work:
    """The changes of one suite, or those of the files that suites share, which has no manifest."""

    changes: list[Change]
    manifest: Manifest | None = None
    owned: Mapping[str, set[str]] | None = None

    @property
    def is_idle(self) -> bool:
        return all(change.action == UNCHANGED for change in self.changes)

    def journal(self) -> str:
        files = {path: set(digests) for path, digests in (self.owned or {}).items()}
        for path, digest in (self.manifest.all_files if self.manifest else {}).items():
            files.setdefault(path, set()).add(digest)
        return json.dumps({path: sorted(digests) for path, digests in files.items()}, indent=2, sort_keys=True) + "\n"


def _examine(out: Path, suites: Sequence[RenderedSuite], manifests: Sequence[Manifest], force: Force) -> list[_Work]:
    """Every change, or every reason why there can be none."""
    look = Look(out)
    works: list[_Work] = []
    damaged: list[tuple[str, str]] = []
    shared = {path: text.encode() for suite in suites for path, text in suite.shared.items()}
    dropped: dict[str, set[str]] = {}
    for suite, manifest in zip(suites, manifests, strict=True):
        owned = look.owned(suite.key, damaged, suite.directory)
        changes = [
            _change(look, suite.key, path, text.encode(), owned.get(path, set()))
            for path, text in sorted(suite.files.items())
        ]
        for path in sorted(owned.keys() - suite.files.keys()):
            if is_shared(path, *owned[path]):
                dropped[path] = owned[path]
            else:
                changes.append(_change(look, suite.key, path, None, owned[path]))
        # ptogen's own records never count as foreign: a damaged one has been refused by itself.
        for path, text in (
            (record(suite.key, "json"), manifest.text().encode()),
            (record(suite.key, "pending"), None),
        ):
            changes.append(_change(look, suite.key, path, text, None))
        works.append(_Work(_any(changes), manifest, owned))
    keys = {suite.key for suite in suites}
    changes = [_change(look, "", path, text, set()) for path, text in sorted(shared.items())]
    for path in sorted(dropped.keys() - shared.keys()):
        if not look.needed(path, keys):
            changes.append(_change(look, "", path, None, dropped[path]))
    works.insert(0, _Work(_any(changes)))
    if look.links:
        raise PtogenError(
            Diagnostic(
                "PTG112",
                "ptogen does not write through a symbolic link",
                Position(str(out / link)),
                hint="replace the link by what it points to, or choose another output directory with -o",
            )
            for link in look.links
        )
    edited = [
        change.path for work in works for change in work.changes if change.foreign and not _yields(change.path, force)
    ]
    damaged = [(path, reason) for path, reason in damaged if not _yields(path, force)]
    if edited or damaged:
        raise PtogenError(_refusals(out, edited, damaged))
    return works


def _yields(path: str, force: Force) -> bool:
    return force if isinstance(force, bool) else any(fnmatchcase(path, glob) for glob in force)


def _any(changes: Sequence[Change]) -> list[Change]:
    """Without those of a file that neither is there nor comes."""
    return [change for change in changes if (change.old, change.new) != (None, None)]


def _change(look: Look, suite: str, path: str, new: bytes | None, owned: set[str] | None) -> Change:
    old = look.text(path)
    if old == new or (old and new and digest_of(old) == digest_of(new)):
        action = UNCHANGED
    else:
        action = REMOVE if new is None else WRITE
    foreign = old is not None and action != UNCHANGED and owned is not None and digest_of(old) not in owned
    return Change(path, action, decoded(old), decoded(new), suite, foreign)


def _refusals(out: Path, edited: Sequence[str], damaged: Sequence[tuple[str, str]]) -> Iterator[Diagnostic]:
    if edited:
        count = "1 file that is" if len(edited) == 1 else f"{len(edited)} files that are"
        yield Diagnostic(
            "PTG111",
            f"nothing was written: {count} not ptogen's, or edited since, would be overwritten or removed",
            Position(str(out)),
            details=tuple(edited),
            hint="look with --diff; then overwrite with --force or --force-path GLOB, move the files away, "
            "or choose another place with -o",
        )
    for path, reason in damaged:
        yield Diagnostic(
            "PTG111",
            f"nothing was written: this manifest is damaged, so ptogen cannot tell which files are its own ({reason})",
            Position(str(out / path)),
            hint=f"{AGAIN} with --force",
        )


def _apply(out: Path, works: Sequence[_Work]) -> None:
    """Carries the changes out, under the lock."""
    works = [work for work in works if not work.is_idle]
    changes = [change for work in works for change in work.changes if not change.is_manifest]
    journals: dict[Path, str] = {}
    records: dict[Path, str] = {}
    for work in works:
        if work.manifest is not None:
            journals[out / record(work.manifest.key, "pending")] = work.journal()
            records[out / record(work.manifest.key, "json")] = work.manifest.text()
    if not (out / MANIFESTS / IGNORING).exists():
        records[out / MANIFESTS / IGNORING] = IGNORED
    new_journals = [path for path in journals if not path.exists()]
    sweep({out / MANIFESTS, *((out / change.path).parent for change in changes)})
    replace(journals)
    try:
        stage = Stage(
            {out / change.path: change.new for change in changes if change.action == WRITE and change.new is not None}
        )
    except BaseException:
        for path in new_journals:
            with suppress(OSError):
                path.unlink()
        raise
    with stage:
        stage.commit()
    for change in changes:
        if change.action == REMOVE:
            remove_file(out, change.path)
    replace(records)
    for path in journals:
        path.unlink()
