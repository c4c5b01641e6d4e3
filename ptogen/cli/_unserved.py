"""What ``ptogen sanitize`` could not judge, or not to its end, as SARIF and GitHub annotations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from ptogen.errors import Position
from ptogen.report.findings import Sanitized, _escape, _property, _relative, as_github, as_sarif


def _faults(result: Sanitized) -> Iterator[tuple[str, str, Position]]:
    """Title, text and place of each."""
    main = Path(result.place) / "main.cpp"
    place = Position(str(main) if main.is_file() else result.place)
    if result.fault:
        text = "\n".join((result.fault.message, *result.fault.details, *filter(None, [result.fault.hint])))
        yield result.fault.code, text, result.fault.position or place
    for name, why in result.incomplete:
        yield "incomplete", f"{name} is incomplete: {why}", place


def sarif(results: Sequence[Sanitized]) -> dict[str, Any]:
    """The findings, and as notifications of the run what is not served."""
    notifications = []
    for title, text, position in (fault for result in results for fault in _faults(result)):
        place: dict[str, Any] = {"artifactLocation": {"uri": _relative(position.file)}}
        if position.line:
            place["region"] = {"startLine": position.line}
        notifications.append(
            {
                "level": "error",
                "message": {"text": f"{title}: {text}"},
                "locations": [{"physicalLocation": place}],
            }
        )
    invocation: dict[str, Any] = {"executionSuccessful": not notifications}
    if notifications:
        invocation["toolExecutionNotifications"] = notifications
    made = as_sarif(results)
    made["runs"][0]["invocations"] = [invocation]
    return made


def github(results: Sequence[Sanitized]) -> str:
    """The findings, and what is not served, each at its file."""
    lines = []
    for result in results:
        judged = Sanitized(result.place, result.platform, cases=result.cases)
        lines += as_github([judged]).splitlines()
        for title, text, position in _faults(result):
            place = f"file={_property(_relative(position.file))}" + (f",line={position.line}" if position.line else "")
            lines.append(f"::error {place},title={_property(title)}::{_escape(text)}")
    return "\n".join(lines)
