"""A check as JUnit XML, in the form that CI systems read."""

from __future__ import annotations

from xml.etree import ElementTree

from ptogen.report import costs
from ptogen.report.model import CaseResult, CheckReport, Outcome, SuiteResult


def as_xml(report: CheckReport) -> str:
    """``testsuites`` with a ``testsuite`` each and a ``testcase`` each; known defects and cases not run are skipped."""
    root = ElementTree.Element("testsuites", {"name": f"ptogen check ({report.backend})", **_totals(report.suites)})
    for suite in report.suites:
        node = ElementTree.SubElement(root, "testsuite", {"name": suite.key, **_totals((suite,))})
        properties = ElementTree.SubElement(node, "properties")
        facts = {"backend": report.backend, "headers": report.headers, "compiler": report.compiler, "mode": suite.mode}
        facts |= {"calls.upstream": str(suite.upstream), "calls.corrected": str(suite.corrected)}
        for name, value in facts.items():
            ElementTree.SubElement(properties, "property", name=name, value=_legal(value))
        for case in suite.cases:
            _case(node, suite, case)
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def _totals(suites: tuple[SuiteResult, ...]) -> dict[str, str]:
    cases = [case for suite in suites for case in suite.cases]
    skipped = sum(case.outcome in (Outcome.KNOWN_DEFECT, Outcome.NOT_RUN) for case in cases)
    failures = sum(case.outcome is Outcome.FAILED and case.code is None for case in cases)
    errors = sum(case.outcome is Outcome.FAILED and case.code is not None for case in cases)
    seconds = sum(case.seconds for case in cases)
    return {
        "tests": str(len(cases)),
        "failures": str(failures),
        "errors": str(errors),
        "skipped": str(skipped),
        "time": f"{seconds:.3f}",
    }


def _case(parent: ElementTree.Element, suite: SuiteResult, case: CaseResult) -> None:
    """A difference is a failure; a program that does not build or ends without a result is an error."""
    names = {"name": case.name, "classname": f"{suite.platform}.{suite.test_suite}", "time": f"{case.seconds:.3f}"}
    node = ElementTree.SubElement(parent, "testcase", names)
    output = "\n".join(_legal(line) for line in (*case.output, *costs.lines(case)))
    if case.outcome is Outcome.FAILED:
        kind = "failure" if case.code is None else "error"
        message = f"{case.code}: {case.reason}" if case.code else case.reason
        found = ElementTree.SubElement(node, kind, message=_legal(message), type=case.code or "difference")
        found.text = output
    elif case.outcome in (Outcome.KNOWN_DEFECT, Outcome.NOT_RUN):
        ElementTree.SubElement(node, "skipped", message=_legal(f"{case.outcome}: {case.reason}"))
    if output:
        ElementTree.SubElement(node, "system-out").text = output


def _legal(text: str) -> str:
    """The text without the characters that XML 1.0 cannot hold."""
    return "".join(sign if sign in "\t\n" or _is_legal(ord(sign)) else "\N{REPLACEMENT CHARACTER}" for sign in text)


def _is_legal(point: int) -> bool:
    return 0x20 <= point < 0xD800 or 0xE000 <= point < 0xFFFE or point >= 0x10000
