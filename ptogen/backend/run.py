"""Runs a GoogleTest program case by case: one that crashes or hangs costs its own case, not those after it."""

from __future__ import annotations

import signal
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from ptogen.backend import gtest
from ptogen.backend.gtest import CaseRun

FILTER_BYTES = 60_000
"""The longest filter that is given to a program; Linux takes 131,072 bytes an argument."""


def run_cases(
    program: Path,
    test_suite: str,
    cases: Sequence[str],
    *,
    environment: Mapping[str, str],
    timeout: float,
    folder: Path | None = None,
    fail_fast: bool = False,
    finished: Callable[[str], None] = lambda case: None,
) -> dict[str, CaseRun]:
    """Runs the cases of a program in the order given and starts it again after a crash.

    Args:
        program: that holds them.
        test_suite: GoogleTest's name of the suite.
        cases: expected names.
        environment: for the program; GoogleTest's own variables are dropped.
        timeout: seconds for one case.
        folder: where the program is started; default: where it stands.
        fail_fast: stop after the first case that does not pass.
        finished: told of each case that ended.
    """
    runs = {case: CaseRun() for case in cases}
    rest = list(cases)
    while rest:
        batch = _batch(test_suite, rest)
        place = folder or program.parent
        ending = gtest.play(program, place, test_suite, batch, runs, environment, timeout, fail_fast, finished)
        done = {case for case in batch if runs[case].status != "missing"}
        broken = [case for case in batch if runs[case].status in ("failed", "crashed")]
        if fail_fast and broken:
            break
        if ending.tested is not None and ending.returncode in (0, 1):
            done = set(batch)
        else:
            # It ended in a case; or after one, where a destructor may have found the heap damaged; or before the first,
            # and then none of them can run.
            ended = [case for case in batch if case in done]
            hit = [ending.current] if ending.current else ended[-1:] or batch
            for case in hit:
                runs[case].status, runs[case].reason = "crashed", _how(ending.returncode, timeout)
                runs[case].output += ending.stderr
                finished(case)
            done = done | set(hit) if ending.tested is None else set(batch)
            if fail_fast:
                break
        rest = [case for case in rest if case not in done]
    return runs


def _batch(test_suite: str, cases: Sequence[str]) -> list[str]:
    """As many cases as a command line can name."""
    size = 0
    for count, case in enumerate(cases):
        size += len(test_suite) + len(case) + 2
        if size > FILTER_BYTES and count:
            return list(cases[:count])
    return list(cases)


def _how(returncode: int | None, timeout: float) -> str:
    if returncode is None:
        return f"no result after {timeout:g} s"
    if returncode < 0:
        try:
            name = signal.Signals(-returncode).name
        except ValueError:
            name = f"signal {-returncode}"
        return f"ended by {name}"
    return f"ended with status {returncode} in the middle of its tests"
