"""What a worker of a Dask cluster does with a task of ours, and what has to be the same there as here."""

from __future__ import annotations

import hashlib
import pickle
import threading
import zlib
from collections.abc import Mapping
from functools import cache

from ptogen import __version__
from ptogen.errors import Diagnostic, PtogenError


class Prepared:
    """What the tasks of one command have in common."""

    def __init__(self, digest: str, packed: bytes) -> None:
        self.digest, self.packed = digest, packed

    def use(self) -> None:
        """Prepares this process for them."""
        global _current
        if _current != self.digest:
            _current = ""
            prepare, args = pickle.loads(zlib.decompress(self.packed))
            prepare(*args)
            _current = self.digest

    @property
    def is_empty(self) -> bool:
        return self.digest == hashlib.sha256(b"").hexdigest()


_current = ""
_lock = threading.Lock()


def done(prepared: Prepared, code: Mapping[str, str], packed: bytes) -> bytes:
    """One task, in a thread of a worker."""
    if fault := difference(_worker(), code, identity()):
        return pack(("faults", (fault,)))
    work, task = pickle.loads(zlib.decompress(packed))
    try:
        if prepared.is_empty:
            return pack(("result", work(task)))
        with _lock:  # what was prepared belongs to the process
            prepared.use()
            return pack(("result", work(task)))
    except PtogenError as error:
        return pack(("faults", error.diagnostics))


def pack(what: object) -> bytes:
    """Anything as the few bytes that travel."""
    return zlib.compress(pickle.dumps(what), 1)


def _worker() -> str:
    from distributed import get_worker

    return str(get_worker().address)


def end_programs() -> None:
    """Ends what the tasks of this process have started."""
    from ptogen.backend import children

    children.end_all()


@cache
def _installed() -> dict[str, str]:
    from importlib.metadata import version

    from ptogen.matrix.record import DEPENDENCIES, code_digest

    return {**{name: version(name) for name in DEPENDENCIES}, "code": code_digest()[:12]}


def identity() -> dict[str, str]:
    """What has to be the same on all machines, each with its version."""
    return {"ptogen": __version__, **_installed()}


def difference(worker: str, own: Mapping[str, str], other: Mapping[str, str] | BaseException) -> Diagnostic | None:
    """What keeps a worker from doing our work."""
    hint = "install there what is installed here"
    if isinstance(other, BaseException):
        return Diagnostic("PTG521", f"the worker {worker} cannot import ptogen: {other}", hint=hint)
    if own == other:
        return None
    names = [name for name in own if own[name] != other.get(name)]
    parts = [f"{name} {other.get(name, 'missing')} and not {own[name]}" for name in names]
    if names == ["code"]:
        parts = [f"other code of ptogen {__version__} ({other['code']} and not {own['code']})"]
    return Diagnostic("PTG521", f"the worker {worker} has {', '.join(parts)}", hint=hint)
