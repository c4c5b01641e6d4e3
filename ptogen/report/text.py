"""A check as text: tables on a terminal, aligned columns elsewhere."""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING, TextIO

from ptogen.report import costs
from ptogen.report.model import CaseResult, CheckReport, Outcome, printable

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

CASE_ROWS = 60
"""Up to so many cases each has a row of its own; above, only the suites and the cases that did not pass."""

WIDTH = 10_000
"""Columns where no terminal sets a bound: a table is as wide as what stands in it, and nothing is cut."""

STYLES = {Outcome.PASSED: "green", Outcome.FAILED: "bold red", Outcome.KNOWN_DEFECT: "yellow", Outcome.NOT_RUN: "cyan"}


def show(report: CheckReport, stream: TextIO) -> None:
    """Prints a report; in colour on a terminal unless ``NO_COLOR`` is set."""
    from rich.console import Console
    from rich.text import Text

    terminal, colour = stream.isatty(), not os.environ.get("NO_COLOR")

    class Stream(Console):
        def on_broken_pipe(self) -> None:
            """The reader has gone: that is the caller's to say, where rich ends the program with status 1."""
            raise

    console = Stream(
        file=stream, highlight=False, no_color=not colour, emoji=False, markup=False,
        width=None if terminal else WIDTH, color_system="auto" if terminal else None,
    )  # fmt: skip
    console.print(f"backend {report.backend}, headers: {report.headers}", soft_wrap=True)
    console.print(f"compiler {report.compiler}{', pristine simulator' if report.pristine else ''}", soft_wrap=True)
    console.print()
    measured = costs.table(report, partial(_table, terminal))
    if measured is not None:
        console.print(measured)
        console.print()
        console.print(costs.MEANING)
        console.print()
    whole = sum(report.counts.values()) <= CASE_ROWS and measured is None
    if whole:
        _cases(report, console, terminal)
        console.print()
    _suites(report, console, terminal)
    _calls(report, console, terminal)
    for (outcome, _, why, output), names in _alike(report, whole).items():
        name = names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more"
        label = Text(str(outcome), style=STYLES[outcome])
        console.print()
        console.print(Text.assemble(label, f" {name}: {why}"), soft_wrap=True)
        for line in output:
            console.print(f"    {printable(line)}", soft_wrap=True)
    _defects(report, console)
    console.print()
    console.print(f"{summary(report)} in {report.seconds:.1f} s", soft_wrap=True)


def summary(report: CheckReport) -> str:
    """The counts of the outcomes in one line."""
    return ", ".join(f"{count} {outcome}" for outcome, count in report.counts.items() if count) or "no cases"


def _cases(report: CheckReport, console: Console, terminal: bool) -> None:
    from rich.text import Text

    explained = any(case.outcome in (Outcome.KNOWN_DEFECT, Outcome.NOT_RUN) for _, case in report.cases)
    heads = [("suite", "left"), ("case", "left"), ("outcome", "left"), ("ms", "right")]
    table = _table(terminal, *heads, *([("reason", "left")] if explained else []))
    for suite, case in report.cases:
        outcome = Text(str(case.outcome), style=STYLES[case.outcome])
        row: list[str | Text] = [printable(suite.key), printable(case.name), outcome, f"{case.seconds * 1000:.0f}"]
        table.add_row(*row, *([_why(case)] if explained else []))
    console.print(table)


def _suites(report: CheckReport, console: Console, terminal: bool) -> None:
    """Without the outcomes that no case has: a terminal may have 80 columns."""
    from rich.text import Text

    auto = any(suite.mode != "manual" for suite in report.suites)
    outcomes = [outcome for outcome, count in report.counts.items() if count]
    pipes = list(dict.fromkeys(pipe for suite in report.suites for pipe in suite.pipes))
    heads = [("suite", "left"), *([("mode", "left")] if auto else []), ("cases", "right")]
    table = _table(terminal, *heads, *((str(head), "right") for head in (*outcomes, *pipes)))
    for suite in report.suites:
        row: list[str | Text] = [printable(suite.key), *([suite.mode] if auto else []), str(len(suite.cases))]
        for outcome in outcomes:
            count = suite.count(outcome)
            row.append(Text(str(count), style=STYLES[outcome] if count else ""))
        row += [f"{suite.pipes[pipe]:,}" if pipe in suite.pipes else "" for pipe in pipes]
        table.add_row(*row)
    console.print(table)


def _calls(report: CheckReport, console: Console, terminal: bool) -> None:
    """Who computed each instruction."""
    calls = report.calls
    if not calls:
        return
    heads = [("instruction", "left"), ("by pto-isa", "right"), ("by ptogen", "right")]
    table = _table(terminal, *heads, *([("because of", "left")] if any(call.corrected for call in calls) else []))
    for call in calls:
        reasons = ", ".join(f"{name} {count:,}" for name, count in call.corrected.items())
        row = [call.instruction, f"{call.upstream:,}", f"{sum(call.corrected.values()):,}"]
        table.add_row(*row, *([reasons] if len(table.columns) > len(row) else []))
    console.print()
    console.print(table)


def _why(case: CaseResult) -> str:
    return printable(f"{case.code}: {case.reason}" if case.code else case.reason)


def _alike(report: CheckReport, whole: bool) -> dict[tuple[Outcome, str, str, tuple[str, ...]], list[str]]:
    """The cases that did not pass, those together of which the same is to be said.

    The table of the cases, which ``whole`` says is there, has the reason of those that have no more to say.
    """
    found: dict[tuple[Outcome, str, str, tuple[str, ...]], list[str]] = {}
    for suite, case in report.cases:
        failed = case.outcome is Outcome.FAILED
        if failed or (case.outcome is not Outcome.PASSED and not whole):
            fact = (case.outcome, suite.key if failed else "", _why(case), case.output if failed else ())
            found.setdefault(fact, []).append(f"{suite.key}.{case.name}")
    return found


def _defects(report: CheckReport, console: Console) -> None:
    met = [row for row in report.defects if row.cases]
    if any(row.present for row in met):
        console.print()
        console.print("known defects of the simulator that these cases meet:")
    for row in met:
        if row.present:
            count = f"{row.cases} case{'s' * (row.cases != 1)}"
            console.print(f"    {row.id} ({count}): {row.condition}: {row.reason}; {row.header}", soft_wrap=True)
    if report.vanished:
        console.print()
        console.print(f"not in these headers: {', '.join(row.id for row in report.vanished)}", soft_wrap=True)


FOLDED = ("case", "reason", "because of")
"""Columns that are folded where a terminal is too narrow; the others are never cut."""


def _table(terminal: bool, *columns: tuple[str, str]) -> Table:
    from rich import box
    from rich.table import Table

    made = Table(box=box.SIMPLE_HEAD if terminal else None, pad_edge=False, show_edge=False)
    for name, justify in columns:
        right, folds = justify == "right", name in FOLDED
        made.add_column(name, justify="right" if right else "left", no_wrap=not folds, overflow="fold")
    return made
