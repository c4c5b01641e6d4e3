"""What a person sees while a check runs; always on stderr."""

from __future__ import annotations

import sys
import threading
from typing import TextIO


class Progress:
    """Says nothing; the others build on it. Called from several threads."""

    def line(self, text: str) -> None:
        """A new stage, or something that happens once."""

    def start(self, total: int) -> None:
        """Cases will be run."""

    def advance(self, suite: str, case: str) -> None:
        """A case ended."""

    def close(self) -> None:
        """Nothing follows."""


class PlainProgress(Progress):
    """A line a stage, for logs and pipes."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stderr

    def line(self, text: str) -> None:
        print(text, file=self._stream, flush=True)

    def start(self, total: int) -> None:
        self.line(f"running {total} case{'s' * (total != 1)}")


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
        self._bars.update(self._task, description="running", total=total, completed=0)

    def advance(self, suite: str, case: str) -> None:
        with self._lock:
            self._bars.update(self._task, description=f"running {suite}.{case}", advance=1)

    def close(self) -> None:
        self._bars.stop()


def for_stderr() -> Progress:
    """A bar where stderr is a terminal, else lines."""
    return TerminalProgress() if sys.stderr.isatty() else PlainProgress()
