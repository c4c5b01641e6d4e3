"""``--executor local``: the processes of this machine and their ends."""

from __future__ import annotations

import threading
import time

import pytest

from ptogen.executor.local import Processes


def nothing() -> None:
    pass


def slow(task: int) -> int:
    time.sleep(0.2)
    return task


@pytest.mark.parametrize("taken", [0, 1, 8])
def test_no_thread_is_left_when_the_processes_have_ended(taken: int) -> None:
    """One that goes on closes its pipes while Python ends: 'Exception ignored in threading … Bad file descriptor'."""
    before = threading.enumerate()
    workers = Processes(2, nothing)
    results = workers.map(slow, range(8))
    assert [next(results) for _ in range(taken)] == list(range(taken))
    started = time.monotonic()
    workers.close()
    assert threading.enumerate() == before
    assert time.monotonic() - started < 1.5, "what has not begun never does"


def test_an_interrupt_while_they_end(monkeypatch: pytest.MonkeyPatch) -> None:
    before = threading.enumerate()
    workers = Processes(2, nothing)
    next(workers.map(slow, range(8)))
    join, interrupted = threading.Thread.join, []

    def interrupt(thread: threading.Thread, timeout: float | None = None) -> None:
        if not interrupted:
            interrupted.append(thread)
            raise KeyboardInterrupt
        join(thread, timeout)

    monkeypatch.setattr(threading.Thread, "join", interrupt)
    with pytest.raises(KeyboardInterrupt):
        workers.close()
    assert interrupted and threading.enumerate() == before
