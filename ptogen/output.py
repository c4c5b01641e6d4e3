"""Writes rendered suites into a tree that people work in as well.

``OUT/.ptogen/<key>.json``, the manifest of a suite, records the hash of every file that ptogen wrote. A file is
ptogen's while it still has that hash; anything else belongs to a person and is refused, together with all its like,
before the first byte is written.

A run may be cut short anywhere. It first writes a journal, ``<key>.pending``, with every hash that a file of the suite
may have until the run is over; then every new text to a temporary file in its own directory; then the temporary files
take their names; the manifest comes last and the journal goes. A journal that is still there tells the next run, of
this spec or of a changed one, that the files in it are ptogen's too.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from ptogen import __version__
from ptogen.errors import Diagnostic, Position, PtogenError
from ptogen.render.suite import RenderedSuite

MANIFESTS = ".ptogen"
"""Directory of the manifests in an output tree."""

TEMPORARY = ".ptogen-tmp-"
"""How the name of a file that is not yet in place begins."""

WRITE, UNCHANGED, REMOVE = "write", "unchanged", "remove"


@dataclass(frozen=True)
class Change:
    """What becomes of one file.

    Attributes:
        path: relative to the output root, with forward slashes.
        action: ``write``, ``unchanged`` or ``remove``.
        old: text that stands there now, or None where there is no file.
        new: text that will stand there, or None where the file goes.
        suite: key of the suite that the file belongs to.
        foreign: whether what stands there is not ptogen's, so that only ``force`` changes it.
    """

    path: str
    action: str
    old: str | None
    new: str | None
    suite: str = ""
    foreign: bool = False

    @property
    def is_manifest(self) -> bool:
        """Whether it is ptogen's record and not a file of the suite."""
        return self.path.startswith(f"{MANIFESTS}/")


@dataclass(frozen=True)
class Manifest:
    """What a tree records of one suite.

    Attributes:
        key: ``<platform>-<name>``.
        ptogen: version that wrote it.
        suite: ``op``, ``platform``, ``mode``, ``name``, ``test_suite``, ``ub_bytes`` and the hashes ``spec`` and
            ``templates``.
        directory: ST directory relative to the tree.
        cases: ``{"name", "fields", "defects"}`` of each case.
        files: SHA-256 by path relative to the tree.
    """

    key: str
    ptogen: str
    suite: Mapping[str, Any]
    directory: str
    cases: Sequence[Mapping[str, Any]]
    files: Mapping[str, str]

    def text(self) -> str:
        """Its JSON, the same on every machine."""
        return self._text

    @cached_property
    def _text(self) -> str:
        data = {
            "ptogen": self.ptogen,
            "suite": dict(self.suite),
            "directory": self.directory,
            "cases": [dict(case) for case in self.cases],
            "files": dict(self.files),
        }
        return _indented(data) + "\n"

    @classmethod
    def of(cls, suite: RenderedSuite) -> Manifest:
        facts = {name: value for name, value in suite.meta.items() if name != "cases"}
        files = {path: _hash(text.encode()) for path, text in suite.files.items()}
        return cls(suite.key, __version__, facts, suite.directory, suite.meta.get("cases", ()), files)

    @classmethod
    def parse(cls, key: str, text: bytes) -> Manifest:
        """Raises ValueError where the text is not a manifest."""
        data = _json(text)
        kinds = {"ptogen": str, "suite": dict, "directory": str, "cases": list, "files": dict}
        for name, kind in kinds.items():
            if not isinstance(data.get(name), kind):
                raise ValueError(f"no {name}")
        if not all(isinstance(case, dict) for case in data["cases"]):
            raise ValueError("a case is not an object")
        for path, digest in data["files"].items():
            if not isinstance(digest, str) or _unsafe(path):
                raise ValueError(f"a file entry that ptogen does not write: {path!r}")
            if not path.startswith(f"{data['directory']}/"):
                raise ValueError(f"a file outside the suite's directory {data['directory']!r}: {path!r}")
        if _unsafe(data["directory"]) or data["directory"].split("/")[0] == MANIFESTS:
            raise ValueError(f"a directory that ptogen does not write: {data['directory']!r}")
        return cls(key, **{name: data[name] for name in kinds})


def read(tree: Path) -> list[Manifest]:
    """The manifests of a tree, by key; none where ptogen never wrote there."""
    manifests, faults = [], []
    for path in sorted((tree / MANIFESTS).glob("*.json")):
        try:
            if path.exists() and not path.is_file():  # a named pipe may never end
                raise OSError("it is not a regular file")
            manifests.append(Manifest.parse(path.stem, path.read_bytes()))
        except OSError as error:
            faults.append(Diagnostic("PTG100", f"the manifest cannot be read: {_reason(error)}", Position(str(path))))
        except ValueError as error:
            hint = "render the suite again with --force"
            faults.append(
                Diagnostic("PTG100", f"this is not a manifest of ptogen: {error}", Position(str(path)), hint=hint)
            )
    if faults:
        raise PtogenError(faults)
    return manifests


def write(out: Path, suites: Sequence[RenderedSuite], *, dry_run: bool = False, force: bool = False) -> list[Change]:
    """Makes the tree hold these suites and says what that took, suite by suite, the manifest of each last.

    Suites that the tree holds and that are not given stay as they are.

    Args:
        out: root of the tree; made where it is missing.
        suites: what to write.
        dry_run: only say what would be done.
        force: also replace files that ptogen does not own; never through a symbolic link.

    Raises:
        PtogenError: PTG110 to PTG113; for the first three nothing at all has been written.
    """
    _check_suites(suites)
    manifests = [Manifest.of(suite) for suite in suites]
    try:
        # A tree that needs nothing is not touched, so the first look takes no lock; another ptogen can mislead it.
        try:
            works = _examine(out, suites, manifests, force)
            must_lock = not dry_run and not all(work.is_idle for work in works)
        except PtogenError as error:
            must_lock = not dry_run and _all_foreign(error) and (out / MANIFESTS).is_dir()
            if not must_lock:
                raise
        if must_lock:
            with _lock(out):
                works = _examine(out, suites, manifests, force)
                _apply(out, works)
        return [change for work in works for change in work.changes]
    except OSError as error:
        raise PtogenError(
            Diagnostic("PTG113", f"the output cannot be written: {_reason(error)}", Position(_place(error, out)))
        ) from error


def remove(out: Path, keys: Iterable[str], *, dry_run: bool = False) -> list[Change]:
    """Takes suites out of a tree: their files, then the folders that this leaves empty, the manifest of each last.

    A file that is not ptogen's any more stays; its change says ``unchanged`` and ``foreign``.

    Raises:
        PtogenError: PTG111, where a manifest is damaged; PTG113.
    """
    try:
        if not (out / MANIFESTS).is_dir():
            return []
        if dry_run:
            return _leavings(out, keys)
        with _lock(out):
            changes = _leavings(out, keys)
            _sweep({out / MANIFESTS, *((out / change.path).parent for change in changes)})
            # Records go last, so that a run that is cut short leaves the rest to the next one.
            for change in sorted(changes, key=lambda change: change.is_manifest):
                if change.action == REMOVE:
                    _remove(out, change.path)
        return changes
    except OSError as error:
        raise PtogenError(
            Diagnostic("PTG113", f"the output cannot be written: {_reason(error)}", Position(_place(error, out)))
        ) from error


def clean(out: Path, *, dry_run: bool = False) -> list[Change]:
    """Removes every suite of a tree and ptogen's own records of it; see :func:`remove`."""
    folder = out / MANIFESTS
    keys = {path.stem for ending in ("json", "pending") for path in folder.glob(f"*.{ending}")}
    changes = remove(out, sorted(keys), dry_run=dry_run)
    if not dry_run and folder.is_dir():
        try:
            for path in folder.glob("*.matrix"):
                path.unlink(missing_ok=True)
            with suppress(OSError):  # something else stands there
                folder.rmdir()
        except OSError as error:
            raise PtogenError(
                Diagnostic("PTG113", f"the output cannot be written: {_reason(error)}", Position(_place(error, out)))
            ) from error
    return changes


def _leavings(out: Path, keys: Iterable[str]) -> list[Change]:
    look = _Look(out)
    damaged: list[tuple[str, str]] = []
    changes = []
    for key in keys:
        owned = look.owned(key, damaged)
        for path in sorted(owned):
            links = len(look.links)
            old = look.text(path)
            if len(look.links) > links:
                changes.append(Change(path, UNCHANGED, None, None, key, foreign=True))
            elif old is not None:
                own = _hash(old) in owned[path]
                text = _decoded(old)
                changes.append(Change(path, REMOVE if own else UNCHANGED, text, None if own else text, key, not own))
        for record in (_record(key, "json"), _record(key, "pending")):
            if (old := look.text(record)) is not None:
                changes.append(Change(record, REMOVE, _decoded(old), None, key))
    if damaged:
        hint = "write the suite anew with --force, or remove its files and this manifest yourself"
        raise PtogenError(
            Diagnostic("PTG111", f"this manifest is damaged ({reason})", Position(str(out / path)), hint=hint)
            for path, reason in damaged
        )
    return changes


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


def _json(text: bytes) -> dict[str, Any]:
    try:
        data = json.loads(text)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    if not isinstance(data, dict):
        raise ValueError("not a JSON object")
    return data


def _indented(value: Any, margin: str = "\n") -> str:
    """``json.dumps`` with ``indent=2`` and ``sort_keys``, not ``ensure_ascii``; that takes several times as long."""
    inner = margin + "  "
    if isinstance(value, dict) and value:
        items = [f"{_indented(key)}: {_indented(item, inner)}" for key, item in sorted(value.items())]
        return f"{{{inner}{f',{inner}'.join(items)}{margin}}}"
    if isinstance(value, (list, tuple)) and value:
        items = [_indented(item, inner) for item in value]
        return f"[{inner}{f',{inner}'.join(items)}{margin}]"
    return _encode(value)


_encode = json.JSONEncoder(ensure_ascii=False).encode


def _hash(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _reason(error: OSError) -> str:
    return (error.strerror or str(error) or type(error).__name__).lower()


def _place(error: OSError, out: Path) -> str:
    """What the error is about, in the user's terms."""
    names = [
        os.fsdecode(name) for name in (error.filename2, error.filename) if isinstance(name, (str, bytes, os.PathLike))
    ]
    place = Path(names[0]) if names else out
    return str(place.parent if place.name.startswith(TEMPORARY) else place)


def _unsafe(path: str) -> bool:
    """Whether a path is anything but plain names below the root."""
    return any(part in ("", ".", "..") for part in path.split("/")) or any(sign in path for sign in "\\\0\n\r")


def _check_suites(suites: Sequence[RenderedSuite]) -> None:
    """No path leaves the tree, and no two suites share a place, not even on a disk that ignores letter case."""
    faults = []
    for suite in suites:
        paths = [
            ("the suite key", suite.key),
            ("the directory", suite.directory),
            *(("the file", path) for path in suite.files),
        ]
        for what, path in paths:
            if _unsafe(path) or (what == "the suite key" and "/" in path) or path.split("/")[0] == MANIFESTS:
                faults.append(Diagnostic("PTG112", f"{what} {path!r} is no place in the output directory"))
    for place, one, other in collisions((suite.key, (suite.directory, suite.key, *suite.files)) for suite in suites):
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


def _all_foreign(error: PtogenError) -> bool:
    return all(diagnostic.code == "PTG111" for diagnostic in error.diagnostics)


@contextmanager
def _lock(out: Path) -> Iterator[None]:
    """Waits until no other ptogen writes into this tree. The manifests' directory is the lock: no file stays behind."""
    import fcntl

    directory = out / MANIFESTS
    directory.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


class _Look:
    """What stands in a tree now."""

    def __init__(self, out: Path) -> None:
        self.out = out
        self.links: list[str] = []
        self._folders: set[str] = set()
        if out.exists() and not out.is_dir():
            raise NotADirectoryError(20, "this is a file and not a directory", str(out))

    def text(self, path: str) -> bytes | None:
        """The bytes at ``path``, None where nothing stands there; symbolic links are noted and not followed."""
        parts = path.split("/")
        for depth in range(1, len(parts) + 1):
            below = "/".join(parts[:depth])
            if below in self._folders:
                continue
            place = os.path.join(self.out, below)
            try:
                mode = os.lstat(place).st_mode
            except FileNotFoundError:
                return None
            if stat.S_ISLNK(mode):
                if below not in self.links:
                    self.links.append(below)
                return None
            if depth < len(parts):
                if not stat.S_ISDIR(mode):
                    raise NotADirectoryError(20, "a file stands where a directory is needed", place)
                self._folders.add(below)
            elif not stat.S_ISREG(mode):
                raise IsADirectoryError(21, "something stands there that is not a regular file", place)
        try:
            with open(place, "rb") as file:
                return file.read()
        except FileNotFoundError:  # gone since: another ptogen is at work
            return None

    def owned(self, key: str, damaged: list[tuple[str, str]], directory: str | None = None) -> dict[str, set[str]]:
        """The hashes that make a file the suite's, by path; records that say nothing are added to ``damaged``.

        No file outside the directory of the manifest, or outside ``directory``, where the suite goes now, is the
        suite's, whatever a record says.
        """
        owned: dict[str, set[str]] = {}
        places = [] if directory is None else [directory]
        for ending in ("json", "pending"):
            record = _record(key, ending)
            text = self.text(record)
            if text is None:
                continue
            try:
                if ending == "json":
                    manifest = Manifest.parse(key, text)
                    places.append(manifest.directory)
                    files = {path: [digest] for path, digest in manifest.files.items()}
                else:
                    files = _files_of_journal(text, places)
            except ValueError as error:
                damaged.append((record, str(error)))
            else:
                for path, digests in files.items():
                    owned.setdefault(path, set()).update(digests)
        return owned


def _files_of_journal(text: bytes, places: Sequence[str]) -> dict[str, list[str]]:
    files = _json(text)
    for path, digests in files.items():
        if places and not any(path.startswith(f"{place}/") for place in places):
            raise ValueError(f"a file outside the suite's directory {places[0]!r}: {path!r}")
        if _unsafe(path) or not isinstance(digests, list) or not all(isinstance(digest, str) for digest in digests):
            raise ValueError(f"a file entry that ptogen does not write: {path!r}")
    return files


@dataclass(frozen=True)
class _Work:
    """The changes of one suite."""

    changes: list[Change]
    manifest: Manifest
    owned: Mapping[str, set[str]]

    @property
    def is_idle(self) -> bool:
        return all(change.action == UNCHANGED for change in self.changes)

    def journal(self) -> str:
        files = {path: set(digests) for path, digests in self.owned.items()}
        for path, digest in self.manifest.files.items():
            files.setdefault(path, set()).add(digest)
        return json.dumps({path: sorted(digests) for path, digests in files.items()}, indent=2, sort_keys=True) + "\n"


def _examine(out: Path, suites: Sequence[RenderedSuite], manifests: Sequence[Manifest], force: bool) -> list[_Work]:
    """Every change, or every reason why there can be none."""
    look = _Look(out)
    works: list[_Work] = []
    damaged: list[tuple[str, str]] = []
    for suite, manifest in zip(suites, manifests, strict=True):
        owned = look.owned(suite.key, damaged, suite.directory)
        changes = [
            _change(look, suite.key, path, text.encode(), owned.get(path, set()))
            for path, text in sorted(suite.files.items())
        ]
        old_paths = sorted(owned.keys() - suite.files.keys())
        changes += [_change(look, suite.key, path, None, owned[path]) for path in old_paths]
        # ptogen's own records never count as foreign: a damaged one has been refused by itself.
        for path, text in (
            (_record(suite.key, "json"), manifest.text().encode()),
            (_record(suite.key, "pending"), None),
        ):
            changes.append(_change(look, suite.key, path, text, None))
        works.append(_Work([change for change in changes if (change.old, change.new) != (None, None)], manifest, owned))
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
    edited = [change.path for work in works for change in work.changes if change.foreign]
    if (edited or damaged) and not force:
        raise PtogenError(_refusals(out, edited, damaged))
    return works


def _record(key: str, ending: str) -> str:
    return f"{MANIFESTS}/{key}.{ending}"


def _refusals(out: Path, edited: Sequence[str], damaged: Sequence[tuple[str, str]]) -> Iterator[Diagnostic]:
    if edited:
        count = "1 file that is" if len(edited) == 1 else f"{len(edited)} files that are"
        yield Diagnostic(
            "PTG111",
            f"nothing was written: {count} not ptogen's, or edited since, would be overwritten or removed",
            Position(str(out)),
            details=tuple(edited),
            hint="look with --diff; then overwrite with --force, move the files away, or choose another place with -o",
        )
    for path, reason in damaged:
        yield Diagnostic(
            "PTG111",
            f"nothing was written: this manifest is damaged, so ptogen cannot tell which files are its own ({reason})",
            Position(str(out / path)),
            hint="write the suite anew with --force",
        )


def _decoded(data: bytes | None) -> str | None:
    return None if data is None else data.decode(errors="replace")


def _change(look: _Look, suite: str, path: str, new: bytes | None, owned: set[str] | None) -> Change:
    old = look.text(path)
    if old == new:
        action = UNCHANGED
    else:
        action = REMOVE if new is None else WRITE
    foreign = old is not None and old != new and owned is not None and _hash(old) not in owned
    return Change(path, action, _decoded(old), _decoded(new), suite, foreign)


def _apply(out: Path, works: Sequence[_Work]) -> None:
    """Carries the changes out, under the lock."""
    works = [work for work in works if not work.is_idle]
    changes = [change for work in works for change in work.changes if not change.is_manifest]
    journals = {out / _record(work.manifest.key, "pending"): work.journal() for work in works}
    manifests = {out / _record(work.manifest.key, "json"): work.manifest.text() for work in works}
    new_journals = [path for path in journals if not path.exists()]
    _sweep({out / MANIFESTS, *((out / change.path).parent for change in changes)})
    _replace(journals)
    try:
        stage = _Stage(
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
            _remove(out, change.path)
    _replace(manifests)
    for path in journals:
        path.unlink()


def _replace(texts: Mapping[Path, str]) -> None:
    with _Stage(texts) as stage:
        stage.commit()


class _Stage:
    """Texts in temporary files, each in its target's directory; what has no name at the end leaves no trace."""

    def __init__(self, texts: Mapping[Path, str]) -> None:
        self._waiting: list[tuple[Path, Path]] = []
        self._made: list[Path] = []
        try:
            for target, text in texts.items():
                self._add(target, text.encode())
        except BaseException:
            self.__exit__()
            raise

    def __enter__(self) -> _Stage:
        return self

    def __exit__(self, *_: object) -> None:
        for temporary, _target in self._waiting:
            with suppress(OSError):
                temporary.unlink()
        for directory in reversed(self._made):
            with suppress(OSError):  # it holds files by now
                directory.rmdir()

    def commit(self) -> None:
        while self._waiting:
            os.replace(*self._waiting[0])
            self._waiting.pop(0)

    def _add(self, target: Path, text: bytes) -> None:
        self._make(target.parent)
        temporary = target.parent / f"{TEMPORARY}{len(self._waiting)}"
        self._waiting.append((temporary, target))
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o666)
        with open(descriptor, "wb") as file:
            with suppress(FileNotFoundError):  # a file keeps the mode that its user gave it
                os.fchmod(descriptor, stat.S_IMODE(target.lstat().st_mode))
            file.write(text)

    def _make(self, directory: Path) -> None:
        missing = []
        while not directory.is_dir():
            missing.append(directory)
            directory = directory.parent
        for path in reversed(missing):
            path.mkdir(exist_ok=True)
            self._made.append(path)


def _sweep(directories: Iterable[Path]) -> None:
    """Removes what a killed run left."""
    for directory in directories:
        for path in directory.glob(f"{TEMPORARY}*") if directory.is_dir() else ():
            path.unlink(missing_ok=True)


def _remove(out: Path, path: str) -> None:
    """Removes a file and the directories that it leaves empty."""
    place = out / path
    place.unlink(missing_ok=True)
    for directory in list(place.parents)[: path.count("/")]:
        try:
            directory.rmdir()
        except OSError:
            return
