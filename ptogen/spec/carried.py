"""Data files of a spec on a machine that has not got its folder."""

from __future__ import annotations

import atexit
import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from functools import cache
from pathlib import Path


class Carried:
    """Stands for the folder that data files are relative to: ``carried / name`` is where the content of one lies.

    Args:
        base: the folder, here.
        names: files, relative to it or absolute; what cannot be read is left out, and is not found there either.
    """

    def __init__(self, base: Path | Carried, names: Iterable[str]) -> None:
        self._contents: dict[str, bytes] = {}
        for name in names:
            with suppress(OSError):
                self._contents[name] = (base / name).read_bytes()

    def __truediv__(self, name: str) -> Path:
        content = self._contents.get(name)
        if content is None:
            return _folder() / "missing"
        place = _folder() / hashlib.sha256(content).hexdigest()
        if not place.exists():
            handle, temporary = tempfile.mkstemp(dir=_folder())
            with os.fdopen(handle, "wb") as file:
                file.write(content)
            os.replace(temporary, place)
        return place


@cache
def _folder() -> Path:
    folder = tempfile.mkdtemp(prefix="ptogen-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)
