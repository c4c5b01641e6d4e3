"""Files that come and go whole: what a run that is cut short leaves can be told from what it was to write."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from ptogen.errors import Diagnostic, Position, PtogenError
from ptogen.output.places import MANIFESTS

TEMPORARY = ".ptogen-tmp-"
"""How the name of a file that is not yet in place begins."""


@contextmanager
def lock(out: Path) -> Iterator[None]:
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


@contextmanager
def refusals(out: Path) -> Iterator[None]:
    """What the system refuses becomes PTG113, with the place in the user's terms."""
    try:
        yield
    except OSError as error:
        names = [
            os.fsdecode(name)
            for name in (error.filename2, error.filename)
            if isinstance(name, (str, bytes, os.PathLike))
        ]
        place = Path(names[0]) if names else out
        place = place.parent if place.name.startswith(TEMPORARY) else place
        message = f"the output cannot be written: {reason(error)}"
        raise PtogenError(Diagnostic("PTG113", message, Position(str(place)))) from error


def reason(error: OSError) -> str:
    """Why the system refused, as a part of a sentence."""
    return (error.strerror or str(error) or type(error).__name__).lower()


def replace(texts: Mapping[Path, str]) -> None:
    """Puts texts in their places, all of them or, where one cannot be stored, none."""
    with Stage(texts) as stage:
        stage.commit()


class Stage:
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

    def __enter__(self) -> Stage:
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


def sweep(directories: Iterable[Path]) -> None:
    """Removes what a killed run left."""
    for directory in directories:
        for path in directory.glob(f"{TEMPORARY}*") if directory.is_dir() else ():
            path.unlink(missing_ok=True)


def remove_file(out: Path, path: str) -> None:
    """Removes a file and the directories that it leaves empty."""
    place = out / path
    place.unlink(missing_ok=True)
    for directory in list(place.parents)[: path.count("/")]:
        try:
            directory.rmdir()
        except OSError:
            return
