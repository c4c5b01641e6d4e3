"""Tasks in this process, or in several of this machine."""

from __future__ import annotations

import gc
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


class Local:
    """Processes of this machine."""

    shares_files = True

    def __init__(self, jobs: int) -> None:
        self._jobs = jobs

    def workers(self, prepare: Callable[..., None] | None = None, *args: Any) -> Processes:
        """As in :class:`Executor`."""
        return Processes(self._jobs, prepare or _nothing, *args)

    def __enter__(self) -> Local:
        return self

    def __exit__(self, *error: object) -> None:
        pass


class Processes:
    """Processes whose :meth:`map` holds few results at a time: a producer is never far ahead of its consumer.

    Workers are forked, so that they start with everything imported and with what ``prepare`` left in this process. They
    leave interrupts to the parent, and end when it is gone. They are :class:`ptogen.executor.Workers`.
    """

    shares_files = True

    def __init__(self, jobs: int, prepare: Callable[..., None], *args: Any) -> None:
        prepare(*args)
        self.jobs = jobs
        self._pools: list[ProcessPoolExecutor] = []
        self._waiting: set[Future[Any]] = set()
        if jobs > 1:
            context = get_context("fork")
            self._pools = [ProcessPoolExecutor(1, context, _begin, (os.getpid(),)) for _ in range(jobs)]
            # The processes start now, before this one has threads of its own.
            for started in [pool.submit(_nothing) for pool in self._pools]:
                started.result()

    def map(
        self, work: Callable[[Task], Result], tasks: Iterable[Task], route: Callable[[Task], int] | None = None
    ) -> Iterator[Result]:
        """The results in the order of the tasks; those of one ``route`` are done by one worker, which may remember."""
        if not self._pools:
            yield from map(work, tasks)
            return
        waiting: deque[Future[Result]] = deque()

        def first() -> Result:
            future = waiting.popleft()
            self._waiting.discard(future)
            return future.result()

        for number, task in enumerate(tasks):
            pool = self._pools[(number if route is None else route(task)) % self.jobs]
            waiting.append(pool.submit(work, task))
            self._waiting.add(waiting[-1])
            while len(waiting) > 3 * self.jobs:
                yield first()
        while waiting:
            yield first()

    def completed(
        self,
        work: Callable[[Task], Result],
        tasks: Iterable[Task],
        *,
        route: Callable[[Task], int] | None = None,
        lost: Any = None,
    ) -> Iterator[tuple[Task, Result]]:
        """Each task with its result; a worker that is lost is a fault of ptogen's own here."""
        given: deque[Task] = deque()

        def noted() -> Iterator[Task]:
            for task in tasks:
                given.append(task)
                yield task

        for result in self.map(work, noted(), route):
            yield given.popleft(), result

    def close(self) -> None:
        """Waits for what is being done; what has not begun never does.

        No thread of a pool is left: Python's own end would meet it while it closes its pipes. ``shutdown(wait=False)``
        forgets the thread, so that nothing can wait for it any more.
        """
        for future in self._waiting:
            future.cancel()
        try:
            self._end()
        finally:
            self._end()  # where an interrupt came in between

    def _end(self) -> None:
        for pool in self._pools:
            pool.shutdown()


def _nothing() -> None:
    pass


def _begin(parent: int) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # What was there before the fork stays shared, and is not looked through again and again.
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()


def _end_with(parent: int) -> None:
    """A parent that is killed cannot tell its workers, which would wait for it for good."""
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(1)


def processors() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
