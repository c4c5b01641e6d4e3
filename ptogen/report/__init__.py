"""Reports of a check: text, JSON, JUnit, HTML."""

from __future__ import annotations

import json
from pathlib import Path

from ptogen.errors import Diagnostic, Position, PtogenError
from ptogen.report.model import CheckReport

ENDINGS = (".json", ".xml", ".html")
"""File endings that :func:`write` knows: JSON, JUnit and a page for a person."""


def write(report: CheckReport, path: Path) -> None:
    """Writes a report in the form that the file's ending names.

    Raises:
        PtogenError: PTG113 where it cannot be written.
    """
    if path.suffix == ".xml":
        from ptogen.report.junit import as_xml

        text = as_xml(report)
    elif path.suffix == ".html":
        from ptogen.report.html import as_html

        text = as_html(report)
    else:
        from ptogen.report.data import as_data

        text = json.dumps(as_data(report), indent=2, ensure_ascii=False) + "\n"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        message = f"the report cannot be written: {(error.strerror or str(error)).lower()}"
        raise PtogenError(Diagnostic("PTG113", message, Position(str(path)))) from error
