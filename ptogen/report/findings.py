"""What ``ptogen sanitize`` says, as text, JSON, SARIF and GitHub annotations."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ptogen import __version__
from ptogen.check.finding import Finding
from ptogen.errors import CODES, Diagnostic, Position
from ptogen.sanitize.judge import SEVERITIES, CaseFindings

MOST_NAMES = 4
"""Cases named at a finding that many share."""


@dataclass(frozen=True)
class Sanitized:
    """One kernel that was looked at.

    Attributes:
        place: directory or file, as it was given.
        platform: whose rules it was held to.
        headers: where the pto-isa headers are from.
        cases: findings test by test.
        incomplete: why the recording of a test may be incomplete, by test.
        computed: whether the simulator computed, or instructions were only recorded; then ``reason`` is the compiler's.
        fault: why it is not served at all, if so.
        seconds: what it took.
    """

    place: str
    platform: str
    headers: str = ""
    cases: tuple[CaseFindings, ...] = ()
    incomplete: tuple[tuple[str, str], ...] = ()
    computed: bool = True
    reason: str = ""
    fault: Diagnostic | None = None
    seconds: float = 0.0

    def count(self) -> Counter[str]:
        """Findings by severity, those that cases share counted once."""
        return Counter(group[0][1].severity for group in grouped(self.cases))


def exit_code(results: Sequence[Sanitized]) -> int:
    """1 where there is an error or a warning, else 2 where something is not served, else 0."""
    if any(result.count()["error"] or result.count()["warning"] for result in results):
        return 1
    return 2 if any(result.fault or result.incomplete for result in results) else 0


def grouped(cases: Iterable[CaseFindings]) -> list[list[tuple[str, Finding]]]:
    """(test, finding) of the same rule at the same steps of the source together, errors first."""
    groups: dict[tuple, list[tuple[str, Finding]]] = {}
    for case in cases:
        for finding in case.findings:
            tiles = tuple(one.name for one in finding.ranges)
            where = (finding.message,) if finding.code == "PTG442" else (finding.positions, tiles)
            groups.setdefault((finding.code, finding.severity, *where), []).append((case.name, finding))
    return sorted(groups.values(), key=lambda group: SEVERITIES.index(group[0][1].severity))


def as_text(results: Sequence[Sanitized]) -> str:
    """A block for each finding, then a line for each kernel and the sums."""
    lines = []
    for result in results:
        for group in grouped(result.cases):
            _, finding = group[0]
            lines.append(str(diagnostic(finding)))
            names = list(dict.fromkeys(name for name, _ in group))
            more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
            lines += [f"    in: {', '.join(names[:MOST_NAMES])}{more}", ""]
        if result.fault:
            lines += [str(result.fault), ""]
        lines += [f"{result.place}: {name}: incomplete: {why}" for name, why in result.incomplete]
    for result in results:
        lines.append(f"{result.place} ({result.platform}): {_summary(result)}")
    total = sum((result.count() for result in results), Counter())
    if len(results) > 1:
        served = [result for result in results if not result.fault]
        steps = sum(case.steps for result in served for case in result.cases)
        cases = sum(len(result.cases) for result in served)
        text = f"{len(served)} of {len(results)} kernels judged, {_many(cases, 'case')}, {_many(steps, 'step')}"
        lines.append(f"{text}: {_numbers(total)}")
    return "\n".join(lines)


def _summary(result: Sanitized) -> str:
    if result.fault:
        return f"not served: {result.fault.message}"
    steps = sum(case.steps for case in result.cases)
    text = f"{_many(len(result.cases), 'case')}, {_many(steps, 'step')}: {_numbers(result.count())}"
    if result.incomplete:
        text += f"; {len(result.incomplete)} incomplete"
    return text if result.computed else f"{text}; recorded without computing"


def _many(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'s' * (count != 1)}"


def _numbers(count: Counter[str]) -> str:
    words = [_many(count[severity], severity) for severity in SEVERITIES if count[severity]]
    return ", ".join(words) or "no findings"


def diagnostic(finding: Finding) -> Diagnostic:
    """The finding at the later of its steps."""
    made = finding.diagnostic(finding.positions[0] if finding.positions else None)
    others = [f"also at: {position}" for position in finding.positions[1:]]
    return Diagnostic(made.code, made.message, made.position, (*made.details, *others), made.hint, made.severity)


def as_data(results: Sequence[Sanitized]) -> dict[str, Any]:
    """JSON-ready."""
    return {
        "tool": "ptogen sanitize",
        "version": __version__,
        "exit_code": exit_code(results),
        "kernels": [
            {
                "place": result.place,
                "platform": result.platform,
                "headers": result.headers,
                "computed": result.computed,
                "reason": result.reason or None,
                "fault": result.fault.as_dict() if result.fault else None,
                "seconds": round(result.seconds, 2),
                "incomplete": [{"case": name, "reason": why} for name, why in result.incomplete],
                "cases": [
                    {"name": case.name, "steps": case.steps, "findings": [_finding(one) for one in case.findings]}
                    for case in result.cases
                ],
            }
            for result in results
        ],
    }


def _finding(finding: Finding) -> dict[str, Any]:
    return {
        "code": finding.code,
        "severity": finding.severity,
        "message": finding.message,
        "ranges": [
            {"name": one.name, "memory": one.memory, "start": one.start, "end": one.end} for one in finding.ranges
        ],
        "steps": list(finding.steps),
        "positions": [{"file": one.file, "line": one.line} for one in finding.positions],
        "hint": finding.hint,
    }


def as_sarif(results: Sequence[Sanitized]) -> dict[str, Any]:
    """SARIF 2.1.0: one run; findings that cases share are one result."""
    groups = [group for result in results for group in grouped(result.cases)]
    codes = sorted({group[0][1].code for group in groups})
    return {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "ptogen",
                        "version": __version__,
                        "rules": [{"id": code, "shortDescription": {"text": CODES[code]}} for code in codes],
                    }
                },
                "results": [_sarif(group, codes) for group in groups],
                "invocations": [_invocation(results)],
            }
        ],
    }


def _invocation(results: Sequence[Sanitized]) -> dict[str, Any]:
    """Whether everything was judged to its end, and what was not."""
    notifications = []
    for title, text, position in (fault for result in results for fault in _unjudged(result)):
        place: dict[str, Any] = {"artifactLocation": {"uri": _relative(position.file)}}
        if position.line:
            place["region"] = {"startLine": position.line}
        message = {"text": f"{title}: {text}"}
        notifications.append({"level": "error", "message": message, "locations": [{"physicalLocation": place}]})
    done: dict[str, Any] = {"executionSuccessful": not notifications}
    return {**done, "toolExecutionNotifications": notifications} if notifications else done


def _unjudged(result: Sanitized) -> Iterator[tuple[str, str, Position]]:
    """Title, text and place of what could not be judged, or not to its end."""
    main = Path(result.place) / "main.cpp"
    place = Position(str(main) if main.is_file() else result.place)
    if result.fault:
        text = "\n".join((result.fault.message, *result.fault.details, *filter(None, [result.fault.hint])))
        yield result.fault.code, text, result.fault.position or place
    for name, why in result.incomplete:
        yield "incomplete", f"{name} is incomplete: {why}", place


def _sarif(group: list[tuple[str, Finding]], codes: list[str]) -> dict[str, Any]:
    _, finding = group[0]
    text = f"{finding.message}; in {', '.join(dict.fromkeys(name for name, _ in group))}"
    places = [
        {
            "physicalLocation": {
                "artifactLocation": {"uri": _relative(position.file)},
                "region": {"startLine": position.line},
            }
        }
        for position in finding.positions
    ]
    made: dict[str, Any] = {
        "ruleId": finding.code,
        "ruleIndex": codes.index(finding.code),
        "level": finding.severity,
        "message": {"text": f"{text}. {finding.hint}" if finding.hint else text},
        "locations": places[:1],
    }
    if places[1:]:
        made["relatedLocations"] = places[1:]
    return made


def as_github(results: Sequence[Sanitized]) -> str:
    """Workflow commands that GitHub shows at the lines of a change."""
    lines = []
    for result in results:
        for group in grouped(result.cases):
            _, finding = group[0]
            place = ""
            if finding.positions:
                place = f"file={_property(_relative(finding.positions[0].file))},line={finding.positions[0].line},"
            kind = "notice" if finding.severity == "note" else finding.severity
            text = f"{finding.message}\n{finding.hint}" if finding.hint else finding.message
            lines.append(
                f"::{kind} {place}title={_property(f'{finding.code}: {CODES[finding.code]}')}::{_escape(text)}"
            )
        for title, text, position in _unjudged(result):
            place = f"file={_property(_relative(position.file))}" + (f",line={position.line}" if position.line else "")
            lines.append(f"::error {place},title={_property(title)}::{_escape(text)}")
    return "\n".join(lines)


def _relative(file: str) -> str:
    """The path as a checkout of the working directory knows it."""
    path = os.path.relpath(file)
    return file if path.startswith("..") else path.replace(os.sep, "/")


def _escape(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _escape(text).replace(":", "%3A").replace(",", "%2C")
