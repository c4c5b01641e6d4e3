"""The user's cache: downloads, what was learnt of compilers, builds. Everything in it can be deleted at any time."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import shutil
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from ptogen.errors import Diagnostic, PtogenError

KEEP_SECONDS = 30 * 24 * 3600
"""What nobody used for so long leaves the cache."""

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EROFS)
"""What the system says where nothing more can be written."""


def root() -> Path:
    """Folder of the cache: ``PTOGEN_CACHE``, else the user's cache folder as platformdirs has it."""
    chosen = os.environ.get("PTOGEN_CACHE")
    if chosen:
        return Path(chosen).expanduser().absolute()
    import platformdirs

    return platformdirs.user_cache_path("ptogen")


@contextlib.contextmanager
def locked(place: Path) -> Iterator[None]:
    """Keeps other processes of ptogen from working on ``place``, which need not exist yet, meanwhile.

    Raises:
        PtogenError: PTG510 where the cache cannot be written, by this or by the block.
    """
    import filelock

    with contextlib.ExitStack() as stack:
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
            stack.enter_context(filelock.FileLock(f"{place}.lock"))
        except OSError as error:
            raise _unwritable(error) from error
        try:
            yield
        except OSError as error:
            if error.errno in FULL or (error.filename and Path(os.fsdecode(error.filename)).is_relative_to(root())):
                raise _unwritable(error) from error
            raise


def _unwritable(error: OSError) -> PtogenError:
    message = f"the cache {root()} cannot be written: {(error.strerror or str(error)).lower()}"
    hint = "set PTOGEN_CACHE to a folder that can be written, with space"
    return PtogenError(Diagnostic("PTG510", message, hint=hint))


def write_if_changed(path: Path, text: str) -> bool:
    """Writes a file in one step, unless it already has this text; says whether it wrote."""
    with contextlib.suppress(OSError):
        if path.read_text(encoding="utf-8", errors="surrogateescape") == text:
            return False
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", errors="surrogateescape") as file:
            file.write(text)
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise
    return True


def remembered(path: Path) -> Any:
    """What :func:`remember` wrote, or None: a damaged file counts as absent."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


def remember(path: Path, data: Any) -> None:
    """Keeps JSON-ready data for another run; where that cannot be written, it is forgotten with what stood there."""
    try:
        write_if_changed(path, json.dumps(data, indent=1, sort_keys=True) + "\n")
    except OSError:
        with contextlib.suppress(OSError):
            path.unlink()


def prune(*patterns: str) -> None:
    """Takes out what nobody used for a month; locks stay, because somebody may be waiting for one.

    Args:
        patterns: of files and folders below the root; a folder with a file ``complete`` is as old as that.
    """
    for pattern in patterns:
        for place in root().glob(pattern):
            if place.suffix == ".lock":
                continue
            stamp = place / "complete"
            with contextlib.suppress(OSError):
                if time.time() - (stamp if stamp.is_file() else place).stat().st_mtime <= KEEP_SECONDS:
                    continue
                if place.is_dir():
                    shutil.rmtree(place, ignore_errors=True)
                else:
                    place.unlink()


def digest(*parts: str) -> str:
    """A short key of these strings, for names in the cache."""
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogateescape")).hexdigest()[:16]


def digest_files(base: Path, paths: Iterable[Path]) -> str:
    """A short key of the names (relative to ``base``) and contents of files."""
    total = hashlib.sha256()
    for path in sorted(paths):
        content = path.read_bytes()
        total.update(f"{path.relative_to(base).as_posix()}\0{len(content)}\0".encode())
        total.update(content)
    return total.hexdigest()[:16]
