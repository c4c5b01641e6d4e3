"""One process of a GoogleTest program: what it prints, what it records, how it ends."""

from __future__ import annotations

import json
import os
import re
import selectors
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from ptogen.backend import children

OUTPUT_LINES, STDERR_LINES, LINE_LETTERS = 40, 8, 500


@dataclass
class CaseRun:
    """What became of one case.

    Attributes:
        status: ``passed``, ``failed``, ``skipped`` or ``crashed``; ``missing`` where no record says that it ran.
        seconds: run time.
        output: what it printed.
        reason: for a crash, how it ended.
    """

    status: str = "missing"
    seconds: float = 0.0
    output: list[str] = field(default_factory=list)
    reason: str = ""


@dataclass
class Ending:
    """How one process ended.

    Its status, or None where it was stopped; the case it was in and the last that it left, by what it printed;
    GoogleTest's own record of each test, or None where it wrote none.
    """

    returncode: int | None
    current: str | None
    last: str | None
    tested: Mapping[str, str] | None
    stderr: list[str]


def listed(program: Path, folder: Path, environment: Mapping[str, str], timeout: float) -> set[str] | None:
    """``<suite>.<test>`` of every test that a program holds; None where it does not say, which its run will show."""
    process = children.start(
        [str(program), "--gtest_list_tests", "--gtest_filter=*", "--gtest_color=no"],
        cwd=folder,
        env=_clean(environment),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    try:
        said = process.communicate(timeout=timeout)[0].decode("utf-8", "replace")
    except subprocess.TimeoutExpired:
        return None
    finally:
        children.end(process)
        children.forget(process)
    if process.returncode != 0:
        return None
    tests, suite = set(), ""
    for line in said.splitlines():
        if found := re.match(r"(\w[\w/]*)\.(\s|$)", line):
            suite = found[1]
        elif suite and (found := re.match(r"  (\w[\w/]*)(\s|$)", line)):
            tests.add(f"{suite}.{found[1]}")
    return tests


def _clean(environment: Mapping[str, str]) -> dict[str, str]:
    """Without GoogleTest's own variables."""
    return {
        name: value for name, value in environment.items() if not name.startswith(("GTEST_", "TEST_", "TESTBRIDGE_"))
    }


def play(
    program: Path,
    folder: Path,
    test_suite: str,
    batch: Sequence[str],
    runs: dict[str, CaseRun],
    environment: Mapping[str, str],
    timeout: float,
    finished: Callable[[str], None],
) -> Ending:
    """One process. What it prints between the start and the end of a case belongs to that case.

    Only GoogleTest's record says what became of a case: a kernel can print what it likes.
    """
    with tempfile.TemporaryDirectory(prefix="ptogen-") as temporary:
        result = Path(temporary) / "result.json"
        command = [
            str(program),
            f"--gtest_filter={':'.join(f'{test_suite}.{case}' for case in batch)}",
            f"--gtest_output=json:{result}",
        ]
        with open(Path(temporary) / "stderr", "w+b") as stderr:
            process = children.start(
                [*command, "--gtest_color=no"],
                cwd=folder,
                env=_clean(environment),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=stderr,
            )
            stopped = True
            current = last = None
            try:
                current, last, stopped = _follow(process, test_suite, batch, runs, timeout, finished)
            finally:
                _end(process, stopped)
                children.forget(process)
            stderr.seek(max(0, stderr.seek(0, os.SEEK_END) - 8192))
            lines = stderr.read().decode("utf-8", "replace").splitlines()
        tested = None if stopped else _tested(result, test_suite)
    if tested is not None:
        for case in batch:
            runs[case].status = tested.get(case, "missing")
    return Ending(
        None if stopped else process.returncode,
        current,
        last,
        tested,
        [line[:LINE_LETTERS] for line in lines[-STDERR_LINES:]],
    )


def _follow(
    process: subprocess.Popen[bytes],
    test_suite: str,
    batch: Sequence[str],
    runs: dict[str, CaseRun],
    timeout: float,
    finished: Callable[[str], None],
) -> tuple[str | None, str | None, bool]:
    """Reads what a program prints.

    Gives the case that it is in at the end, the one that it left last, and whether it must be stopped.
    """
    assert process.stdout is not None
    mark = re.compile(rf"\[\s*(RUN|OK|FAILED|SKIPPED)\s*\] {re.escape(test_suite)}\.(\w+)")
    current: str | None = None
    last: str | None = None
    line: str | None = ""
    started = 0.0
    for line in _lines(process.stdout, timeout, lambda text: "[ RUN " in text):
        if line is None:
            break
        found = mark.search(line)
        name = str(found[2]) if found is not None else ""
        if found is None or name not in batch:
            if current is not None and len(runs[current].output) < OUTPUT_LINES:
                runs[current].output.append(line[:LINE_LETTERS])
        elif found[1] == "RUN":
            current, started = name, time.monotonic()
            runs[name].output.clear()
        elif current == name:
            runs[name].seconds = _seconds(line)
            finished(name)
            current, last = None, name
    if current is not None:
        runs[current].seconds = time.monotonic() - started
    return current, last, line is None


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
    children.end(process)


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
