"""A check as one HTML page for a person: where it failed, how, and how to see it again.

The page stands alone: it asks for nothing from elsewhere, and without JavaScript only sorting, searching and copying
are missing. Equal reports give equal bytes.
"""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ptogen import __version__
from ptogen.render.environment import environment
from ptogen.report import costs, heatmap
from ptogen.report.heatmap import Place
from ptogen.report.model import CaseResult, CheckReport, Outcome, SuiteResult, printable

WORDS = {
    Outcome.PASSED: "passed",
    Outcome.FAILED: "failed",
    Outcome.KNOWN_DEFECT: "known defect",
    Outcome.NOT_RUN: "not run",
}

GLYPHS = {Outcome.PASSED: "✓", Outcome.FAILED: "✗", Outcome.KNOWN_DEFECT: "◆", Outcome.NOT_RUN: "–"}
"""Colour is never the only sign of an outcome."""

MOST_DETAILED = 1000
"""So many failures at most are shown with what the program said; the others by name and reason."""

MOST_LETTERS = 600_000
"""So much of what programs said goes into a page."""

MOST_LINES, LINE_LETTERS = 40, 400
"""Of what a program said of one case."""

MOST_OPEN = 20
"""So many failures are unfolded from the start."""

MOST_SUITES = 8
"""So many suites are named beside a reason."""


@dataclass
class Failure:
    """A failure, or one that all cases of a suite share.

    Attributes:
        suite: key of the suite.
        names: cases.
        reason: in one line.
        output: what was said, cut to what a page bears; of all lines there are ``lines``.
        fields: name and value of each, of a single case.
        command: how to see it again.
        lines: lines that there are.
        detailed: whether the page has the output.
        open: whether it is unfolded from the start.
    """

    suite: str
    names: list[str]
    reason: str
    output: list[str]
    fields: list[tuple[str, str]]
    command: str
    lines: int
    detailed: bool = False
    open: bool = False

    @property
    def title(self) -> str:
        return f"{self.suite}.{self.names[0]}" if len(self.names) == 1 else f"{self.suite}: {len(self.names):,} cases"


@dataclass
class Section:
    """Failures with one place in the maps, or that cases of a suite share.

    Attributes:
        id: what links lead to.
        title: the place in words.
        failures: in the order of the report.
    """

    id: str
    title: str
    failures: list[Failure] = field(default_factory=list)

    @property
    def detailed(self) -> list[Failure]:
        return [failure for failure in self.failures if failure.detailed]

    @property
    def brief(self) -> dict[str, list[Failure]]:
        """The others by their reason."""
        found: dict[str, list[Failure]] = {}
        for failure in self.failures:
            if not failure.detailed:
                found.setdefault(failure.reason, []).append(failure)
        return found


@dataclass(frozen=True)
class Reason:
    """Cases that were not run, or met a known defect, for one reason.

    Attributes:
        text: the reason.
        count: cases.
        suites: keys with the number of their cases.
    """

    text: str
    count: int
    suites: Sequence[tuple[str, int]]


def as_html(report: CheckReport) -> str:
    """The page."""
    maps, places = heatmap.heat_maps(report)
    sections, links = _sections(report, maps, places)
    # Other templates are no markup, and what they are given was made by ptogen.
    page = environment().overlay(autoescape=True, finalize=_visible)
    page.filters = {**page.filters, "number": "{:,}".format, "seconds": _seconds}
    return page.get_template("report/page.html.j2").render(
        report=report,
        version=__version__,
        Outcome=Outcome,
        words=WORDS,
        glyphs=GLYPHS,
        headline=_headline(report),
        counts=report.counts,
        total=sum(report.counts.values()),
        maps=maps,
        links=links,
        shares=_by_op(heatmap.shares(report)),
        tally=tally,
        word=word,
        Place=Place,
        sections=sections,
        defects=[row for row in report.defects if row.cases],
        known=_reasons(report, Outcome.KNOWN_DEFECT),
        not_run=_reasons(report, Outcome.NOT_RUN),
        most_suites=MOST_SUITES,
        calls=[(one.instruction, one.upstream, sorted(one.corrected.items())) for one in report.calls],
        costs=costs.rows(report),
        meaning=costs.MEANING,
        seconds=[sum(case.seconds for case in suite.cases) for suite in report.suites],
        passed=[
            (suite.key, [case.name for case in suite.cases if case.outcome is Outcome.PASSED])
            for suite in report.suites
        ],
    )


def tally(counts: Mapping[Outcome, int]) -> str:
    """The outcomes in words, the worst first, those without a case left out."""
    order = (Outcome.FAILED, Outcome.KNOWN_DEFECT, Outcome.NOT_RUN, Outcome.PASSED)
    return ", ".join(f"{counts[outcome]:,} {word(outcome, counts[outcome])}" for outcome in order if counts[outcome])


def word(outcome: Outcome, count: int) -> str:
    """An outcome behind a number of cases."""
    return WORDS[outcome] + "s" * (outcome is Outcome.KNOWN_DEFECT and count != 1)


def _headline(report: CheckReport) -> str:
    counts, total = report.counts, sum(report.counts.values())
    cases = f"{total:,} case{'s' * (total != 1)}"
    if counts[Outcome.FAILED]:
        return f"{counts[Outcome.FAILED]:,} of {cases} failed"
    if counts[Outcome.PASSED] == total:
        return f"All {cases} passed" if total > 1 else f"{cases} passed" if total else "No cases"
    return f"No failure in {cases}: {tally(counts)}"


def _sections(
    report: CheckReport, maps: Sequence[heatmap.HeatMap], places: Mapping[int, Place]
) -> tuple[list[Section], dict[Place, str]]:
    """The failures by place, those of whole suites first; and where the cell of each place leads."""
    cases = list(report.cases)
    groups: dict[Hashable, list[int]] = {}
    for number, (suite, case) in enumerate(cases):
        if case.outcome is Outcome.FAILED:
            # Two trees may have suites of one key: the object tells them apart. A difference is each case's own.
            key = (id(suite), case.code, case.reason, case.output) if case.code else number
            groups.setdefault(key, []).append(number)
    whole = Section("whole-suites", "Whole suites")
    single: dict[Place, Section] = {}
    links: dict[Place, str] = {}
    for numbers in groups.values():
        failure = _failure(report, cases[numbers[0]][0], [cases[number][1] for number in numbers])
        if len(numbers) > 1:
            whole.failures.append(failure)
            links |= {places[number]: whole.id for number in numbers}
        else:
            place = places[numbers[0]]
            section = single.setdefault(place, Section("", maps[place.map].cells[place].label))
            section.failures.append(failure)
    order = sorted(single, key=lambda place: (place.map, place.group, place.dtype, place.row, place.col))
    for at, place in enumerate(order, 1):
        single[place].id = f"place-{at}"
        links[place] = single[place].id
    sections = [*([whole] if whole.failures else []), *(single[place] for place in order)]
    _spend(sections)
    return sections, links


def _failure(report: CheckReport, suite: SuiteResult, cases: Sequence[CaseResult]) -> Failure:
    case = cases[0]
    select = f"{suite.key}.{case.name}" if len(cases) == 1 else f"{suite.key}.*"
    command = shlex.join([*(report.command or ("ptogen", "check", "TREE")), "--select", select])
    return Failure(
        suite.key,
        [one.name for one in cases],
        f"{case.code}: {case.reason}" if case.code else case.reason,
        [line if len(line) <= LINE_LETTERS else line[:LINE_LETTERS] + "…" for line in case.output[:MOST_LINES]],
        [(name, heatmap.as_text(value)) for name, value in case.fields.items() if name != "name"]
        if len(cases) == 1
        else [],
        command,
        len(case.output),
    )


def _spend(sections: Sequence[Section]) -> None:
    """Chooses what is shown in full: the first failure of every place, then the second, while the page has room."""
    ranked = sorted(
        ((rank, at, failure) for at, section in enumerate(sections) for rank, failure in enumerate(section.failures)),
        key=lambda item: item[:2],
    )
    letters = 0
    for number, (_, _, failure) in enumerate(ranked[:MOST_DETAILED]):
        letters += sum(map(len, failure.output))
        if letters > MOST_LETTERS:
            break
        failure.detailed, failure.open = True, number < MOST_OPEN


def _by_op(rows: Iterable[heatmap.Share]) -> dict[str, dict[str, list[heatmap.Share]]]:
    found: dict[str, dict[str, list[heatmap.Share]]] = {}
    for row in rows:
        found.setdefault(row.op, {}).setdefault(row.field, []).append(row)
    return found


def _reasons(report: CheckReport, outcome: Outcome) -> list[Reason]:
    """The most frequent first."""
    found: dict[str, Counter[str]] = {}
    for suite, case in report.cases:
        if case.outcome is outcome:
            reason = f"{case.code}: {case.reason}" if case.code else case.reason
            found.setdefault(reason, Counter())[suite.key] += 1
    rows = [Reason(text, suites.total(), sorted(suites.items())) for text, suites in found.items()]
    return sorted(rows, key=lambda row: (-row.count, row.text))


def _visible(value: Any) -> Any:
    """A value as it is put into the page: without control characters, which markup cannot hold."""
    return printable(value) if type(value) is str else value


def _seconds(value: float) -> str:
    return f"{value:,.1f}" if value >= 10 else f"{value:.2f}"
