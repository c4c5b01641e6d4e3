"""The programs that a check starts, each in a process group of its own, so that no interrupt leaves one behind."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import Any


class Interrupted(Exception):
    """The check is being ended, so nothing is started any more."""


class _Family:
    """The programs of one check: on a cluster, a process may be at several."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.running: set[subprocess.Popen[Any]] = set()
        self.refusing = False

    def end(self) -> None:
        """Ends every program that runs, and starts no other."""
        with self.lock:
            self.refusing = True
            for process in self.running:
                if process.returncode is None:
                    with suppress(ProcessLookupError):
                        os.killpg(process.pid, signal.SIGKILL)


_families: list[_Family] = [_Family()]
"""The first one is of threads that belong to no check."""

_own = threading.local()


def _family() -> _Family:
    return getattr(_own, "family", _families[0])


def start(command: Sequence[str], **options: Any) -> subprocess.Popen[Any]:
    """Starts a program whose group :func:`end` can end; the caller waits for it and then calls :func:`forget`.

    Raises:
        Interrupted: while a check is being ended.
    """
    family = _family()
    with family.lock:
        if family.refusing:
            raise Interrupted
        process = subprocess.Popen(command, start_new_session=True, **options)
        family.running.add(process)
    return process


def end(process: subprocess.Popen[Any]) -> None:
    """Ends a program with all its children."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def forget(process: subprocess.Popen[Any]) -> None:
    """Says that a program has ended and was waited for."""
    family = _family()
    with family.lock:
        family.running.discard(process)


def end_all() -> None:
    """Ends the programs of every check of this process; what they were started for fails."""
    for family in list(_families):
        family.end()


@contextmanager
def pool(threads: int) -> Iterator[ThreadPoolExecutor]:
    """Threads that start programs; an exception in the block, an interrupt above all, ends every program that runs.

    Threads are waited for, and none of them starts another program.
    """
    family = _Family()
    _families.append(family)
    executor = ThreadPoolExecutor(threads, initializer=setattr, initargs=(_own, "family", family))
    try:
        yield executor
    except BaseException:
        family.end()
        raise
    finally:
        executor.shutdown(cancel_futures=True)
        _families.remove(family)
