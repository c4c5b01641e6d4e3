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
    """Runs the cases of a program in the order given.

    GoogleTest writes its record when all have ended, and only that counts. Where a case ends the program before, those
    around it are run without it.

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
    told: set[str] = set()

    def tell(case: str) -> None:
        if case not in told:
            told.add(case)
            finished(case)

    # Each with a record of its own where the first failure is the last.
    rest = [[case] for case in cases] if fail_fast else [list(cases)] if cases else []
    while rest:
        some = rest.pop(0)
        batch = _batch(test_suite, some)
        ending = gtest.play(program, folder or program.parent, test_suite, batch, runs, environment, timeout, tell)
        before, behind = batch[:0], some[len(batch) :]
        if ending.tested is None or ending.returncode not in (0, 1):
            # It ended in a case; or after one, where a destructor may have found the heap damaged; or before the first,
            # and then none of them can run.
            hit = [case for case in (ending.current or ending.last,) if case] or batch
            for case in hit:
                runs[case].status, runs[case].reason = "crashed", _how(ending.returncode, timeout)
                runs[case].output += ending.stderr
                tell(case)
            if ending.tested is None and hit != batch:
                place = batch.index(hit[0])
                before, behind = batch[:place], batch[place + 1 :] + behind
        rest = [one for one in (before, behind, *rest) if one]
        if fail_fast and any(runs[case].status in ("failed", "crashed") for case in batch):
            break
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
