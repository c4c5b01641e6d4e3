"""What a check found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any

from ptogen.errors import Diagnostic, ExitCode


class Outcome(str, Enum):
    """How a case ended."""

    PASSED = "passed"
    FAILED = "failed"
    KNOWN_DEFECT = "known-defect"
    """It failed on pristine headers, which have a listed defect that the case meets."""
    NOT_RUN = "not-run"

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True)
class Cost:
    """What a cost model says of an instruction of a case.

    Attributes:
        instruction: such as ``TSORT32``.
        calls: how often the case calls it.
        cycles: the sum of its calls, in cycles of the model.
        pipe: where it runs, such as ``PIPE_V``.
    """

    instruction: str
    calls: int
    cycles: int
    pipe: str


@dataclass(frozen=True)
class CaseResult:
    """One case.

    Attributes:
        name: case name.
        outcome: how it ended.
        seconds: run time.
        code: where something other than a difference is the reason: PTG5xx, or PTG100 for files that cannot be read.
        reason: why it did not pass, in one line.
        output: what the host program said, such as the first differences.
        defects: ids of the listed defects that the case meets.
        fields: its spec fields, as the manifest has them; empty where that says none.
        costs: what a cost model says of its instructions, in the order of their first calls.
    """

    name: str
    outcome: Outcome
    seconds: float = 0.0
    code: str | None = None
    reason: str = ""
    output: tuple[str, ...] = ()
    defects: tuple[str, ...] = ()
    fields: Mapping[str, Any] = field(default_factory=dict)
    costs: tuple[Cost, ...] = ()

    @property
    def pipes(self) -> dict[str, int]:
        """Cycles of each pipe: the sum of its instructions, as if none waited for another."""
        return _pipes(self.costs)


@dataclass(frozen=True)
class Calls:
    """Calls of one instruction.

    Attributes:
        instruction: such as ``TSORT32``.
        upstream: computed by pto-isa's own simulator function.
        corrected: computed by ptogen's, by the id of the defect that is the reason.
    """

    instruction: str
    upstream: int
    corrected: Mapping[str, int]


@dataclass(frozen=True)
class SuiteResult:
    """One ST directory.

    Attributes:
        key: ``<platform>-<name>``.
        op, platform, mode, test_suite, directory: as the manifest has them.
        cases: in the order of the manifest.
        calls: simulator functions that were counted; empty on pristine headers.
    """

    key: str
    op: str
    platform: str
    mode: str
    test_suite: str
    directory: str
    cases: tuple[CaseResult, ...]
    calls: tuple[Calls, ...] = ()

    @property
    def upstream(self) -> int:
        """Counted calls that pto-isa's own functions computed."""
        return sum(calls.upstream for calls in self.calls)

    @property
    def corrected(self) -> int:
        """Counted calls that ptogen's functions computed."""
        return sum(sum(calls.corrected.values()) for calls in self.calls)

    @property
    def pipes(self) -> dict[str, int]:
        """Cycles of each pipe, the sum of the cases."""
        return _pipes(cost for case in self.cases for cost in case.costs)

    def count(self, outcome: Outcome) -> int:
        return sum(case.outcome is outcome for case in self.cases)


@dataclass(frozen=True)
class DefectRow:
    """A known defect of the simulator, as the report lists it.

    Attributes:
        id, op, condition, header, reason: from the op's table.
        present: whether the headers at hand have it.
        cases: how many of the checked cases meet its condition.
    """

    id: str
    op: str
    condition: str
    header: str
    reason: str
    present: bool
    cases: int


@dataclass(frozen=True)
class CheckReport:
    """Everything that ``ptogen check`` says.

    Attributes:
        backend: name of the backend.
        headers: which pto-isa headers, in words.
        compiler: which compiler, in words.
        pristine: none of pto-isa's simulator functions was replaced.
        suites: in the order of their keys.
        defects: the listed defects of the ops that were checked.
        notes: what the user should know besides.
        seconds: wall time.
        command: the words that make the same check again; empty where no command line made it.
    """

    backend: str
    headers: str
    compiler: str
    pristine: bool
    suites: tuple[SuiteResult, ...]
    defects: tuple[DefectRow, ...] = ()
    notes: tuple[Diagnostic, ...] = field(default=())
    seconds: float = 0.0
    command: tuple[str, ...] = ()

    @property
    def cases(self) -> Iterator[tuple[SuiteResult, CaseResult]]:
        return ((suite, case) for suite in self.suites for case in suite.cases)

    @property
    def counts(self) -> dict[Outcome, int]:
        """Cases by outcome."""
        found = Counter(case.outcome for _, case in self.cases)
        return {outcome: found[outcome] for outcome in Outcome}

    @property
    def calls(self) -> tuple[Calls, ...]:
        """Calls of each instruction, the sum of the suites."""
        upstream: Counter[str] = Counter()
        corrected: dict[str, Counter[str]] = {}
        for one in (one for suite in self.suites for one in suite.calls):
            upstream[one.instruction] += one.upstream
            corrected.setdefault(one.instruction, Counter()).update(one.corrected)
        return tuple(Calls(name, upstream[name], corrected[name]) for name in sorted(upstream))

    @property
    def nothing_ran(self) -> bool:
        """Whether every case was not run, of those that there are."""
        counts = self.counts
        return counts[Outcome.NOT_RUN] == sum(counts.values())

    @property
    def vanished(self) -> tuple[DefectRow, ...]:
        """Listed defects that cases meet and that the headers at hand no longer have."""
        return tuple(row for row in self.defects if row.cases and not row.present)

    @property
    def exit_code(self) -> ExitCode:
        """1 where a case failed, 2 where none was run; a known defect is no failure."""
        if self.counts[Outcome.FAILED]:
            return ExitCode.FINDING
        return ExitCode.USAGE if self.nothing_ran else ExitCode.OK


def _pipes(costs: Iterable[Cost]) -> dict[str, int]:
    """Cycles by pipe, in the order in which the pipes first appear."""
    sums: dict[str, int] = {}
    for cost in costs:
        sums[cost.pipe] = sums.get(cost.pipe, 0) + cost.cycles
    return sums


def merge(reports: Iterable[CheckReport]) -> CheckReport:
    """One report of several that were made with the same choices; workers of a cluster may have used other headers."""
    first, *others = reports
    suites, notes = list(first.suites), list(first.notes)
    for report in others:
        suites += report.suites
        notes += [note for note in report.notes if note not in notes]
    seconds = first.seconds + sum(report.seconds for report in others)
    return CheckReport(
        first.backend,
        "; ".join(dict.fromkeys(report.headers for report in (first, *others) if report.headers)),
        "; ".join(dict.fromkeys(report.compiler for report in (first, *others) if report.compiler)),
        first.pristine,
        tuple(suites),
        tuple(summed([first, *others]).values()),
        tuple(notes),
        seconds,
        first.command,
    )


def summed(reports: Iterable[CheckReport]) -> dict[str, DefectRow]:
    """The defects of several reports by id; present where one of the headers has it."""
    rows: dict[str, DefectRow] = {}
    for row in (row for report in reports for row in report.defects):
        if known := rows.get(row.id):
            row = replace(row, present=known.present or row.present, cases=known.cases + row.cases)
        rows[row.id] = row
    return rows


def printable(text: str) -> str:
    """The text without the control characters that would steer a terminal; a program can print any."""
    return "".join(sign if sign.isprintable() or sign == "\t" else ascii(sign)[1:-1] for sign in text)
