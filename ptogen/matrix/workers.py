"""Runs the same function on many inputs, in order, in this process or in several."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any, TypeVar

Task = TypeVar("Task")
Result = TypeVar("Result")


class Workers:
    """A pool whose :meth:`map` holds few results at a time: a producer is never far ahead of its consumer.

    Workers are forked, so that they start with everything imported and with what :func:`prepare` left in this process. They leave interrupts to
    the parent, and end when it is gone.
    """

    def __init__(self, jobs: int, prepare: Callable[..., None], *args: Any) -> None:
        prepare(*args)
        self.jobs = jobs
        self._pool: ProcessPoolExecutor | None = None
        if jobs > 1:
            self._pool = ProcessPoolExecutor(jobs, get_context("fork"), _begin, (os.getpid(),))
            # The processes start now, before this one has threads.
            self._pool.submit(_nothing).result()

    def map(self, work: Callable[[Task], Result], tasks: Iterable[Task]) -> Iterator[Result]:
        """The results in the order of the tasks."""
        if self._pool is None:
            yield from map(work, tasks)
            return
        waiting: deque[Future[Result]] = deque()
        for task in tasks:
            waiting.append(self._pool.submit(work, task))
            while len(waiting) > 2 * self.jobs:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()

    def close(self) -> None:
        """Waits for what is being done; what has not begun never does."""
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)


def _nothing() -> None:
    pass


def _begin(parent: int) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()


def _end_with(parent: int) -> None:
    """A parent that is killed cannot tell its workers, which would wait for it for good."""
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(1)


def processors() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
