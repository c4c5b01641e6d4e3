"""What a cost model says, as tables."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ptogen.report.model import CaseResult, CheckReport, Cost, SuiteResult

if TYPE_CHECKING:
    from rich.table import Table

CASE_ROWS = 20
"""Up to so many cases with costs, each has its instructions listed; above, each suite has."""

MEANING = (
    "Cycles are those of pto-isa's cost model: a model, not a measurement. It takes one instruction at a time: pipes "
    "that run at the same time are not in it, nor are flags and barriers between instructions."
)

Row = tuple[str, ...]
MakeTable = Callable[..., "Table"]


Heads = list[tuple[str, str]]
"""Name and justification of each column."""


def table(report: CheckReport, make: MakeTable) -> Table | None:
    """The rows as a table; None where there are no costs.

    Args:
        report: of a check.
        make: makes an empty table of the heads.
    """
    heads, found = rows(report)
    if not found:
        return None
    made = make(*heads)
    for row in found:
        made.add_row(*row)
    return made


def rows(report: CheckReport) -> tuple[Heads, list[Row]]:
    """A row an instruction, with its heads: of each case where there are few, else of each suite."""
    costed = [(suite, case) for suite, case in report.cases if case.costs]
    few = len(costed) <= CASE_ROWS
    found = [row for pair in costed for row in _of_case(*pair)] if few else []
    for suite in report.suites if not few else ():
        found += _of_suite(suite)
    second = ("case", "left") if few else ("cycles a case", "right")
    heads = [("suite", "left"), ("instruction", "left"), ("calls", "right"), ("cycles", "right")]
    heads = [*heads[:1], second, *heads[1:]] if few else [*heads, second]
    return [*heads, ("pipe", "left"), ("sum of the pipe", "right")], found


def lines(case: CaseResult) -> list[str]:
    """A case in lines of text."""
    found = [f"{cost.instruction}: calls {cost.calls}, cycles {cost.cycles}, {cost.pipe}" for cost in case.costs]
    return found + [f"{pipe}: cycles {cycles}" for pipe, cycles in case.pipes.items()]


def _of_case(suite: SuiteResult, case: CaseResult) -> list[Row]:
    return [(suite.key, case.name, *_common(cost), cost.pipe, f"{case.pipes[cost.pipe]:,}") for cost in case.costs]


def _of_suite(suite: SuiteResult) -> list[Row]:
    """Sums over the cases, with the least and the most that one case takes."""
    found: dict[tuple[str, str], list[Cost]] = {}
    for case in suite.cases:
        for cost in case.costs:
            found.setdefault((cost.instruction, cost.pipe), []).append(cost)
    rows: list[Row] = []
    for (instruction, pipe), costs in found.items():
        total = Cost(instruction, sum(cost.calls for cost in costs), sum(cost.cycles for cost in costs), pipe)
        least, most = min(cost.cycles for cost in costs), max(cost.cycles for cost in costs)
        spread = f"{least:,}" if least == most else f"{least:,} to {most:,}"
        rows.append((suite.key, *_common(total), spread, pipe, f"{suite.pipes[pipe]:,}"))
    return rows


def _common(cost: Cost) -> tuple[str, str, str]:
    return cost.instruction, f"{cost.calls:,}", f"{cost.cycles:,}"
