"""The checkers over a recording: every test, every core."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path

from ptogen.check import check_trace
from ptogen.check.corecheck import corecheck
from ptogen.check.finding import Finding
from ptogen.check.trace import Trace
from ptogen.ops import instructions
from ptogen.platforms import IN_ORDER, Platform
from ptogen.sanitize import source
from ptogen.sanitize.reader import Reader
from ptogen.sanitize.recording import cores

SEVERITIES = ("error", "warning", "note")


@dataclass(frozen=True)
class CaseFindings:
    """What was found in one test.

    Attributes:
        name: ``Suite.case``.
        steps: how many steps were judged.
        findings: errors first.
    """

    name: str
    steps: int
    findings: tuple[Finding, ...]


def sanitize(lines: Iterable[str], program: Path, platform: Platform) -> list[CaseFindings]:
    """Judges a recording; a finding that several cores or tests of the same steps share is reported for each test
    once."""
    recorded, memory = cores(lines)
    where = source.positions(program, (line["pc"] for core in recorded for line in core.lines))
    records = instructions()
    barriers = {name for name, record in records.items() if record.joins}
    reader = Reader(platform, records, where, memory)
    tests: dict[str, tuple[int, dict[tuple, Finding]]] = {}
    for _, together in groupby(recorded, key=lambda core: (core.test, core.launch)):
        launched = list(together)
        runs = {core.block: reader.trace(core) for core in launched}
        findings = [
            finding for block, (run, notes) in runs.items() for finding in (*_judge(run, block, platform), *notes)
        ]
        barrier = any(line.get("n") in barriers for core in launched for line in core.lines)
        if len(launched) > 1 and not barrier:
            findings += corecheck({block: run for block, (run, _) in runs.items()})
        steps, found = tests.get(launched[0].test, (0, {}))
        for finding in findings:
            found.setdefault((finding.code, finding.message), finding)
        tests[launched[0].test] = steps + sum(len(core.lines) for core in launched), found
    return [
        CaseFindings(name, steps, tuple(sorted(found.values(), key=lambda one: SEVERITIES.index(one.severity))))
        for name, (steps, found) in tests.items()
    ]


def _judge(run: Trace, block: int, platform: Platform) -> list[Finding]:
    """Everything that is wrong on one core."""
    # The simulator runs one instruction after the other: flags mean nothing there.
    flags = platform.family != "cpu"
    findings = check_trace(run, platform, declared=False, in_order=IN_ORDER[platform.family], flags=flags)
    if block:
        findings = [replace(finding, message=f"{finding.message} (block {block})") for finding in findings]
    return findings
