"""The programs that a check starts, each in a process group of its own, so that no interrupt leaves one behind."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

MARK = "PTOGEN_CHILD"
"""Set in the environment of every program that a check starts."""


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
    environment = {**(options.pop("env", None) or os.environ), MARK: "1"}
    with family.lock:
        if family.refusing:
            raise Interrupted
        process = subprocess.Popen(command, start_new_session=True, env=environment, **options)
        family.running.add(process)
    return process


def run(*commands: Sequence[str]) -> list[subprocess.CompletedProcess[str]]:
    """Runs programs, all at the same time, to their ends; an interrupt ends them with their children.

    Raises:
        Interrupted: while a check is being ended.
    """
    pipe = subprocess.PIPE
    processes: list[subprocess.Popen[str]] = []
    try:
        for command in commands:
            options = {"stdin": subprocess.DEVNULL, "stdout": pipe, "stderr": pipe, "text": True, "errors": "replace"}
            processes.append(start(command, **options))
        said = [process.communicate() for process in processes]
    finally:
        for process in processes:
            end(process)
            forget(process)
    return [
        subprocess.CompletedProcess(process.args, process.returncode, *streams)
        for process, streams in zip(processes, said, strict=True)
    ]


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


def end_in(folder: Path) -> None:
    """Ends what a check that was killed has left at work in a folder: it would go on writing there.

    Nothing happens where the system does not say who is at work where.
    """
    for _ in range(500):
        found = list(_at_work_in(os.path.realpath(folder)))
        if not found:
            return
        for pid in found:
            with suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.01)


def _at_work_in(folder: str) -> Iterator[int]:
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if f"{os.readlink(entry / 'cwd')}/".startswith(f"{folder}/"):
                if f"{MARK}=1".encode() in (entry / "environ").read_bytes().split(b"\0"):
                    yield int(entry.name)


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
