"""Runs a GoogleTest program case by case: one that crashes or hangs costs its own case, not those after it."""

from __future__ import annotations

import json
import os
import re
import selectors
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

OUTPUT_LINES, STDERR_LINES, FILTER_BYTES = 40, 8, 60_000


@dataclass
class CaseRun:
    """What became of one case.

    Attributes:
        status: ``passed``, ``failed``, ``skipped`` or ``crashed``; ``missing`` where the program never ran it.
        seconds: run time.
        output: what it printed.
        reason: for a crash, how it ended.
    """

    status: str = "missing"
    seconds: float = 0.0
    output: list[str] = field(default_factory=list)
    reason: str = ""


@dataclass
class _Ending:
    """How one process ended.

    Its status, or None where it was stopped; the case it was in; GoogleTest's own record of each test.
    """

    returncode: int | None
    current: str | None
    tested: Mapping[str, str] | None
    stderr: list[str]


def run_cases(
    program: Path,
    test_suite: str,
    cases: Sequence[str],
    *,
    environment: Mapping[str, str],
    timeout: float,
    fail_fast: bool = False,
    finished: Callable[[str], None] = lambda case: None,
) -> dict[str, CaseRun]:
    """Runs the cases of a program in the order given and starts it again after a crash.

    Args:
        program: started in its own folder.
        test_suite: GoogleTest's name of the suite.
        cases: expected names.
        environment: for the program; GoogleTest's own variables are dropped.
        timeout: seconds for one case.
        fail_fast: stop after the first case that does not pass.
        finished: told of each case that ended.
    """
    runs = {case: CaseRun() for case in cases}
    rest = list(cases)
    while rest:
        batch = _batch(test_suite, rest)
        ending = _run(program, test_suite, batch, runs, environment, timeout, fail_fast, finished)
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


def _run(
    program: Path,
    test_suite: str,
    batch: Sequence[str],
    runs: dict[str, CaseRun],
    environment: Mapping[str, str],
    timeout: float,
    fail_fast: bool,
    finished: Callable[[str], None],
) -> _Ending:
    """One process. What it prints between the start and the end of a case belongs to that case."""
    with tempfile.TemporaryDirectory(prefix="ptogen-") as temporary:
        result = Path(temporary) / "result.json"
        command = [
            str(program),
            f"--gtest_filter={':'.join(f'{test_suite}.{case}' for case in batch)}",
            f"--gtest_output=json:{result}",
        ]
        clean = {
            name: value
            for name, value in environment.items()
            if not name.startswith(("GTEST_", "TEST_", "TESTBRIDGE_"))
        }
        with open(Path(temporary) / "stderr", "w+b") as stderr:
            process = subprocess.Popen(
                [*command, "--gtest_color=no"],
                cwd=program.parent,
                env=clean,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=stderr,
                start_new_session=True,
            )
            stopped = True
            try:
                current, stopped = _follow(process, test_suite, runs, timeout, fail_fast, finished)
            finally:
                _end(process, stopped)
            stderr.seek(max(0, stderr.seek(0, os.SEEK_END) - 8192))
            lines = stderr.read().decode("utf-8", "replace").splitlines()
        tested = None if stopped else _tested(result, test_suite)
    if tested is not None:
        for case in batch:
            # GoogleTest's own record is what counts; a line that looks like one of its marks is not.
            runs[case].status = tested.get(case, "missing")
    return _Ending(
        None if stopped else process.returncode, current, tested, [line[:500] for line in lines[-STDERR_LINES:]]
    )


def _follow(
    process: subprocess.Popen[bytes],
    test_suite: str,
    runs: dict[str, CaseRun],
    timeout: float,
    fail_fast: bool,
    finished: Callable[[str], None],
) -> tuple[str | None, bool]:
    """Reads what a program prints; gives the case that it is in at the end, and whether it must be stopped."""
    assert process.stdout is not None
    mark = re.compile(rf"\[\s*(RUN|OK|FAILED|SKIPPED)\s*\] {re.escape(test_suite)}\.(\w+)")
    current: str | None = None
    line: str | None = ""
    started = 0.0
    for line in _lines(process.stdout, timeout, lambda text: "[ RUN " in text):
        if line is None:
            break
        found = mark.search(line)
        if found is None or found[2] not in runs:
            if current is not None and len(runs[current].output) < OUTPUT_LINES:
                runs[current].output.append(line[:500])
        elif found[1] == "RUN":
            current, started = found[2], time.monotonic()
            runs[current].output.clear()
        elif current == found[2]:
            run = runs[current]
            run.status, run.seconds = (
                {"OK": "passed", "FAILED": "failed", "SKIPPED": "skipped"}[found[1]],
                _seconds(line),
            )
            finished(current)
            current = None
            if fail_fast and run.status == "failed":
                return None, True
    if current is not None:
        runs[current].seconds = time.monotonic() - started
    return current, line is None


def _lines(stream: IO[bytes], timeout: float, restarts: Callable[[str], bool]) -> Iterator[str | None]:
    """Lines as they come; None, and the end, where no line that ``restarts`` the clock came for ``timeout`` seconds."""
    deadline = time.monotonic() + timeout
    rest = b""
    with selectors.DefaultSelector() as selector:
        selector.register(stream, selectors.EVENT_READ)
        while True:
            if not selector.select(max(0.0, deadline - time.monotonic())):
                yield None
                return
            chunk = os.read(stream.fileno(), 65536)
            *lines, rest = (rest + chunk).split(b"\n")
            if not chunk:
                if rest:
                    yield rest.decode("utf-8", "replace")
                return
            for line in lines:
                text = line.decode("utf-8", "replace")
                if restarts(text):
                    deadline = time.monotonic() + timeout
                yield text
            rest = rest[-65536:]
            if time.monotonic() > deadline:
                yield None
                return


def _end(process: subprocess.Popen[bytes], stopped: bool) -> None:
    """Waits for a program that has closed its output.

    Ends, with all its children, one that must be stopped or does not end.
    """
    if not stopped:
        try:
            process.wait(timeout=10)
            return
        except subprocess.TimeoutExpired:
            pass
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _tested(result: Path, test_suite: str) -> dict[str, str] | None:
    """Status of each test by GoogleTest's own record, or None where it wrote none."""
    try:
        data = json.loads(result.read_text(encoding="utf-8", errors="replace"))
        tests = [test for suite in data["testsuites"] if suite["name"] == test_suite for test in suite["testsuite"]]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    kinds = {"COMPLETED": "passed", "SKIPPED": "skipped"}
    return {
        test["name"]: "failed" if test.get("failures") else kinds.get(test.get("result", ""), "missing")
        for test in tests
    }


def _seconds(line: str) -> float:
    found = re.search(r"\((\d+) ms\)", line)
    return int(found[1]) / 1000 if found else 0.0


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
