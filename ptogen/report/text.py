"""A check as text: tables on a terminal, aligned columns elsewhere."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, TextIO

from ptogen.report.model import CaseResult, CheckReport, Outcome

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

CASE_ROWS = 60
"""Up to so many cases each has a row of its own; above, only the suites and the cases that did not pass."""

STYLES = {Outcome.PASSED: "green", Outcome.FAILED: "bold red", Outcome.KNOWN_DEFECT: "yellow", Outcome.NOT_RUN: "cyan"}


def show(report: CheckReport, stream: TextIO) -> None:
    """Prints a report; in colour on a terminal unless ``NO_COLOR`` is set."""
    from rich.console import Console
    from rich.text import Text

    terminal = stream.isatty()
    options = {} if terminal else {"width": 200, "color_system": None}
    colour = not os.environ.get("NO_COLOR")
    console = Console(file=stream, highlight=False, no_color=not colour, emoji=False, markup=False, **options)
    console.print(f"backend {report.backend}, headers: {report.headers}", soft_wrap=True)
    console.print(f"compiler {report.compiler}{', pristine simulator' if report.pristine else ''}", soft_wrap=True)
    console.print()
    whole = sum(report.counts.values()) <= CASE_ROWS
    if whole:
        _cases(report, console, terminal)
        console.print()
    _suites(report, console, terminal)
    for suite, case in report.cases:
        # The table of the cases has the reason of those that have no more to say.
        if case.outcome is Outcome.FAILED or (case.outcome is not Outcome.PASSED and not whole):
            label = Text(str(case.outcome), style=STYLES[case.outcome])
            console.print()
            console.print(Text.assemble(label, f" {suite.key}.{case.name}: {_why(case)}"), soft_wrap=True)
            for line in case.output if case.outcome is Outcome.FAILED else ():
                console.print(f"    {printable(line)}", soft_wrap=True)
    _defects(report, console)
    console.print()
    console.print(f"{summary(report)} in {report.seconds:.1f} s", soft_wrap=True)


def summary(report: CheckReport) -> str:
    """The counts of the outcomes and of the simulator functions in one line."""
    counts = ", ".join(f"{count} {outcome}" for outcome, count in report.counts.items() if count) or "no cases"
    upstream, corrected = (sum(getattr(suite, name) for suite in report.suites) for name in ("upstream", "corrected"))
    if upstream + corrected:
        counts += f"; counted simulator calls: {upstream} by pto-isa, {corrected} by ptogen's corrections"
    return counts


def _cases(report: CheckReport, console: Console, terminal: bool) -> None:
    from rich.text import Text

    explained = any(case.outcome in (Outcome.KNOWN_DEFECT, Outcome.NOT_RUN) for _, case in report.cases)
    heads = [("suite", "left"), ("case", "left"), ("outcome", "left"), ("ms", "right")]
    table = _table(terminal, *heads, *([("reason", "left")] if explained else []))
    for suite, case in report.cases:
        outcome = Text(str(case.outcome), style=STYLES[case.outcome])
        row = [printable(suite.key), printable(case.name), outcome, f"{case.seconds * 1000:.0f}"]
        table.add_row(*row, *([_why(case)] if explained else []))
    console.print(table)


def _suites(report: CheckReport, console: Console, terminal: bool) -> None:
    from rich.text import Text

    heads = [("suite", "left"), ("mode", "left"), ("cases", "right")]
    heads += [(str(outcome), "right") for outcome in Outcome]
    heads += [] if report.pristine else [("calls upstream", "right"), ("corrected", "right")]
    table = _table(terminal, *heads)
    for suite in report.suites:
        row: list[str | Text] = [printable(suite.key), suite.mode, str(len(suite.cases))]
        for outcome in Outcome:
            count = suite.count(outcome)
            row.append(Text(str(count), style=STYLES[outcome] if count else ""))
        table.add_row(*row, *([] if report.pristine else [str(suite.upstream), str(suite.corrected)]))
    console.print(table)


def _why(case: CaseResult) -> str:
    return printable(f"{case.code}: {case.reason}" if case.code else case.reason)


def _defects(report: CheckReport, console: Console) -> None:
    met = [row for row in report.defects if row.cases]
    if not met:
        return
    console.print()
    console.print("known defects of the simulator that these cases meet:")
    for row in met:
        state = "in these headers" if row.present else "vanished: these headers no longer have it"
        count = f"{row.cases} case{'s' * (row.cases != 1)}"
        console.print(f"    {row.id} ({count}, {state}): {row.condition}: {row.reason}; {row.header}", soft_wrap=True)


def _table(terminal: bool, *columns: tuple[str, str]) -> Table:
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD if terminal else None, pad_edge=False, show_edge=False)
    for name, justify in columns:
        table.add_column(name, justify=justify, no_wrap=True)  # type: ignore[arg-type]
    return table


def printable(text: str) -> str:
    """The text without the control characters that would steer a terminal; a program can print any."""
    return "".join(sign if sign.isprintable() or sign == "\t" else ascii(sign)[1:-1] for sign in text)
