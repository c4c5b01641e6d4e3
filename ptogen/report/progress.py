"""What a person sees while a check runs; always on stderr."""

from __future__ import annotations

import sys
import threading
from typing import TextIO

from ptogen.report.model import Outcome, SuiteResult, printable


class Progress:
    """Says nothing; the others build on it. Called from several threads."""

    def line(self, text: str) -> None:
        """A new stage, or something that happens once."""

    def start(self, total: int) -> None:
        """Cases will be run."""

    def advance(self, suite: str, case: str) -> None:
        """A case ended."""

    def ended(self, result: SuiteResult) -> None:
        """A suite ended."""

    def close(self) -> None:
        """Nothing follows."""


class PlainProgress(Progress):
    """A line a stage, and one a suite or so many cases, for logs and pipes."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stderr
        self._total = self._done = 0
        self._lock = threading.Lock()

    def line(self, text: str) -> None:
        print(text, file=self._stream, flush=True)

    def start(self, total: int) -> None:
        self._total, self._done = total, 0

    def ended(self, result: SuiteResult) -> None:
        with self._lock:
            self._done += len(result.cases)
            self.line(f"{self._done}/{self._total} {outcomes(result)}")
            for line in faults(result):
                self.line(line)


class TerminalProgress(Progress):
    """A bar on a terminal, gone when the work is done."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, SpinnerColumn, TextColumn
        from rich.progress import Progress as Bars

        columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
        self._bars = Bars(*columns, console=Console(stderr=True), transient=True)
        self._task = self._bars.add_task("", total=None)
        self._lock = threading.Lock()
        self._bars.start()

    def line(self, text: str) -> None:
        self._bars.update(self._task, description=text)

    def start(self, total: int) -> None:
        self._bars.update(self._task, total=total, completed=0)

    def advance(self, suite: str, case: str) -> None:
        with self._lock:
            self._bars.update(self._task, description=f"{suite}.{case}", advance=1)

    def ended(self, result: SuiteResult) -> None:
        with self._lock:
            for line in faults(result):
                self._bars.console.print(line, markup=False, highlight=False, soft_wrap=True)

    def close(self) -> None:
        self._bars.stop()


def outcomes(result: SuiteResult) -> str:
    """A suite in a line."""
    counts = ", ".join(f"{count} {outcome}" for outcome in Outcome if (count := result.count(outcome)))
    return f"{result.key}: {counts}"


def faults(result: SuiteResult, most: int = 10) -> list[str]:
    """The cases of a suite that failed, a line each."""
    failed = [case for case in result.cases if case.outcome is Outcome.FAILED]
    lines = [f"failed {result.key}.{case.name}: {printable(case.reason)}" for case in failed[:most]]
    return lines + [f"and {len(failed) - most} more of {result.key}"] * (len(failed) > most)


def for_stderr() -> Progress:
    """A bar where stderr is a terminal, else lines."""
    return TerminalProgress() if sys.stderr.isatty() else PlainProgress()
