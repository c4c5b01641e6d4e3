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

_lock = threading.Lock()
_running: set[subprocess.Popen[Any]] = set()
_refusing = False


class Interrupted(Exception):
    """The check is being ended, so nothing is started any more."""


def start(command: Sequence[str], **options: Any) -> subprocess.Popen[Any]:
    """Starts a program whose group :func:`end` can end; the caller waits for it and then calls :func:`forget`.

    Raises:
        Interrupted: while a check is being ended.
    """
    with _lock:
        if _refusing:
            raise Interrupted
        process = subprocess.Popen(command, start_new_session=True, **options)
        _running.add(process)
    return process


def end(process: subprocess.Popen[Any]) -> None:
    """Ends a program with all its children."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def forget(process: subprocess.Popen[Any]) -> None:
    """Says that a program has ended and was waited for."""
    with _lock:
        _running.discard(process)


@contextmanager
def pool(threads: int) -> Iterator[ThreadPoolExecutor]:
    """Threads that start programs; an exception in the block, an interrupt above all, ends every program that runs.

    Threads are waited for, and none of them starts another program.
    """
    global _refusing
    executor = ThreadPoolExecutor(threads)
    try:
        yield executor
    except BaseException:
        with _lock:
            _refusing = True
            for process in _running:
                if process.returncode is None:
                    with suppress(ProcessLookupError):
                        os.killpg(process.pid, signal.SIGKILL)
        raise
    finally:
        executor.shutdown(cancel_futures=True)
        with _lock:
            _refusing = False
