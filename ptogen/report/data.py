"""A check as JSON-ready data."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from ptogen import __version__
from ptogen.report.model import CheckReport, SuiteResult


def as_data(report: CheckReport) -> dict[str, Any]:
    """Everything that the report holds, in a fixed order."""
    return {
        "ptogen": __version__,
        "backend": report.backend,
        "headers": report.headers,
        "compiler": report.compiler,
        "pristine": report.pristine,
        "command": list(report.command),
        "seconds": round(report.seconds, 3),
        "counts": {str(outcome): count for outcome, count in report.counts.items()},
        "suites": [_suite(suite) for suite in report.suites],
        "defects": [asdict(row) for row in report.defects],
        "notes": [note.as_dict() for note in report.notes],
    }


def _suite(suite: SuiteResult) -> dict[str, Any]:
    return {
        "key": suite.key,
        "op": suite.op,
        "platform": suite.platform,
        "mode": suite.mode,
        "test_suite": suite.test_suite,
        "directory": suite.directory,
        "calls": [
            {"instruction": calls.instruction, "upstream": calls.upstream, "corrected": dict(calls.corrected)}
            for calls in suite.calls
        ],
        "pipes": suite.pipes,
        "cases": [
            {
                "name": case.name,
                "outcome": str(case.outcome),
                "seconds": round(case.seconds, 3),
                "code": case.code,
                "reason": case.reason,
                "output": list(case.output),
                "defects": list(case.defects),
                "fields": dict(case.fields),
                "costs": [asdict(cost) for cost in case.costs],
                "pipes": case.pipes,
            }
            for case in suite.cases
        ],
    }
