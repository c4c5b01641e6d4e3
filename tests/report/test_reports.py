"""The forms of a report: text, JSON and JUnit."""

from __future__ import annotations

import io
import json
import re
from dataclasses import replace
from xml.etree import ElementTree

import pytest

from ptogen import report as reports
from ptogen.errors import Diagnostic, ExitCode, PtogenError
from ptogen.report import text
from ptogen.report.data import as_data
from ptogen.report.junit import as_xml
from ptogen.report.model import Calls, CaseResult, CheckReport, Cost, DefectRow, Outcome, SuiteResult, merge


def make_report(**changes) -> CheckReport:
    cases = (
        CaseResult("good", Outcome.PASSED, 0.012, fields={"rows": 2}),
        CaseResult("bad", Outcome.FAILED, 0.5, None, "the test failed", ("row 1: <5> & \x1b[31m\x00", "[bold]x[/]")),
        CaseResult("gone", Outcome.FAILED, 0.0, "PTG506", "ended by SIGSEGV"),
        CaseResult("known", Outcome.KNOWN_DEFECT, 0.1, None, "OP_WRONG", defects=("OP_WRONG",)),
        CaseResult("other", Outcome.NOT_RUN, reason="the compiler has no bfloat16"),
    )
    suite = SuiteResult("a5-op", "op", "a5", "manual", "OPTest", "tests/op", cases, (Calls("OP", 3, {"OP_WRONG": 4}),))
    rows = (
        DefectRow("OP_WRONG", "op", "always", "op.hpp:1", "wrong", True, 1),
        DefectRow("OP_OLD", "op", "never", "op.hpp:2", "was wrong", False, 2),
    )
    facts = {"backend": "cpu-sim", "headers": "mine", "compiler": "g++", "pristine": False, "suites": (suite,)}
    facts |= {"defects": rows, "notes": (Diagnostic("PTG111", "edited", severity="note"),), "seconds": 1.5}
    return CheckReport(**{**facts, **changes})


def shown(report: CheckReport) -> str:
    stream = io.StringIO()
    text.show(report, stream)
    return stream.getvalue()


def test_text_says_everything():
    out = shown(make_report())
    assert "1 passed, 2 failed, 1 known-defect, 1 not-run" in out
    assert [line.split() for line in out.splitlines() if line.startswith("OP ")] == [["OP", "3", "4", "OP_WRONG", "4"]]
    assert "failed a5-op.gone: PTG506: ended by SIGSEGV" in out
    assert "the compiler has no bfloat16" in out
    assert "not in these headers: OP_OLD\n" in out
    assert "    [bold]x[/]\n" in out, "what a program prints is no markup"


def test_text_is_plain_where_no_terminal_is():
    out = shown(make_report())
    assert "\x1b" not in out and "\x00" not in out
    assert not [line for line in out.splitlines() if line.startswith(("a5-op  good", "suite")) and "…" in line]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_tables_stay_readable_at_80_columns(monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "80")
    name = "case_float16_multi_256_4_128_64_extremes_pinned_seed7"
    reason = "these headers have no TPARTARGMAX on kirindev0000"
    cases = (CaseResult(name, Outcome.PASSED), CaseResult("other", Outcome.NOT_RUN, reason=reason))
    suite = SuiteResult("kirindev0000-tmrgsort", "op", "a5", "auto", "OPTest", "tests/op", cases)
    stream = Terminal()
    text.show(make_report(suites=(suite,)), stream)
    lines = [line.rstrip() for line in re.sub(r"\x1b\[\d*m", "", stream.getvalue()).splitlines()]
    assert all(len(line) <= 80 and "…" not in line for line in lines[3:] if "op.hpp" not in line)
    rows = [line.split() for line in lines if line.startswith("kirindev0000-tmrgsort")]
    assert rows[0][2:4] == ["passed", "0"] and rows[-1] == ["kirindev0000-tmrgsort", "auto", "2", "1", "1"]
    # A name that is folded is there to its last letter.
    folded = lines[lines.index(next(line for line in lines if "passed" in line and "case_" in line)) :][:4]
    assert name in "".join(line[21:].split()[0] for line in folded if line[21:].split())


@pytest.mark.parametrize(("value", "coloured"), [(None, True), ("1", False)])
def test_colour_follows_no_color(monkeypatch, value, coloured):
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    if value:
        monkeypatch.setenv("NO_COLOR", value)
    stream = Terminal()
    text.show(make_report(), stream)
    assert ("\x1b[31m" in stream.getvalue() or "\x1b[1;31m" in stream.getvalue()) is coloured


def test_many_cases_have_no_row_each():
    (suite,) = make_report().suites
    cases = tuple(CaseResult(f"case_{at}", Outcome.PASSED) for at in range(100)) + suite.cases
    many = SuiteResult("a5-op", "op", "a5", "manual", "OPTest", "tests/op", cases)
    out = shown(make_report(suites=(many,)))
    assert "case_7" not in out and "failed a5-op.bad" in out and "known-defect a5-op.known: OP_WRONG" in out


def test_json_holds_everything():
    data = json.loads(json.dumps(as_data(make_report())))
    assert data["counts"] == {"passed": 1, "failed": 2, "known-defect": 1, "not-run": 1}
    (suite,) = data["suites"]
    assert suite["calls"] == [{"instruction": "OP", "upstream": 3, "corrected": {"OP_WRONG": 4}}]
    assert [case["outcome"] for case in suite["cases"]] == ["passed", "failed", "failed", "known-defect", "not-run"]
    assert [case["fields"] for case in suite["cases"][:2]] == [{"rows": 2}, {}]
    assert data["defects"][1]["present"] is False
    assert data["notes"][0]["code"] == "PTG111"


def test_junit_is_what_ci_systems_read():
    root = ElementTree.fromstring(as_xml(make_report()).encode())
    assert root.tag == "testsuites"
    assert {name: root.get(name) for name in ("tests", "failures", "errors", "skipped")} == {
        "tests": "5",
        "failures": "1",
        "errors": "1",
        "skipped": "2",
    }
    (suite,) = root.findall("testsuite")
    cases = {case.get("name"): case for case in suite.findall("testcase")}
    assert cases["good"].get("classname") == "a5.OPTest" and cases["good"].get("time") == "0.012"
    assert [child.tag for child in cases["good"]] == []
    assert [child.tag for child in cases["bad"]] == ["failure", "system-out"]
    assert cases["bad"][0].text.startswith("row 1: <5> & ")
    assert cases["gone"].find("error").get("message") == "PTG506: ended by SIGSEGV"
    assert cases["known"].find("skipped").get("message") == "known-defect: OP_WRONG"
    assert cases["other"].find("skipped") is not None


def test_exit_status():
    assert make_report().exit_code is ExitCode.FINDING
    (suite,) = make_report().suites
    known = SuiteResult(
        "k", "op", "a5", "manual", "OPTest", "t", tuple(c for c in suite.cases if c.name in ("good", "known"))
    )
    assert make_report(suites=(known,)).exit_code is ExitCode.OK


def test_merge():
    both = merge([make_report(), make_report()])
    assert len(both.suites) == 2 and both.seconds == 3.0 and len(both.notes) == 1
    assert [row.cases for row in both.defects] == [2, 4]
    assert (both.headers, both.compiler) == (make_report().headers, make_report().compiler)


def test_merge_of_what_workers_with_other_headers_made():
    first = make_report()
    second = replace(first, headers="other", defects=tuple(replace(row, present=False) for row in first.defects))
    assert [row.present for row in merge([first, second]).defects] == [row.present for row in first.defects]
    assert merge([first, second]).headers == f"{first.headers}; other"


def test_the_ending_chooses_the_form(tmp_path):
    reports.write(make_report(), tmp_path / "new" / "report.xml")
    assert (tmp_path / "new" / "report.xml").read_text().startswith("<?xml")
    reports.write(make_report(), tmp_path / "report.json")
    assert json.loads((tmp_path / "report.json").read_text())["backend"] == "cpu-sim"
    with pytest.raises(PtogenError, match="PTG113"):
        reports.write(make_report(), tmp_path / "report.json" / "report.json")


def costed(cases: int) -> CheckReport:
    costs = (Cost("TLOAD", 2, 1200, "PIPE_MTE2"), Cost("OP", 1, 7, "PIPE_V"), Cost("OTHER", 1, 5, "PIPE_V"))
    found = (CaseResult("nothing", Outcome.NOT_RUN, reason="the model has no OP"),)
    found += tuple(CaseResult(f"case_{at}", Outcome.PASSED, costs=costs[: 2 + at % 2]) for at in range(cases))
    suite = SuiteResult("a2a3-op", "op", "a2a3", "manual", "OPTest", "tests/op", found)
    return make_report(backend="npu-static", suites=(suite,), defects=(), notes=())


def test_costs_of_few_cases_are_listed_by_case_with_the_sum_of_their_pipe():
    out = shown(costed(2))
    rows = [line.split() for line in out.splitlines() if line.startswith("a2a3-op")]
    assert ["a2a3-op", "case_1", "OP", "1", "7", "PIPE_V", "12"] in rows
    assert ["a2a3-op", "case_0", "TLOAD", "2", "1,200", "PIPE_MTE2", "1,200"] in rows
    assert ["a2a3-op", "3", "2", "1", "2,400", "19"] in rows
    assert "a model, not a measurement" in out and "not-run a2a3-op.nothing: the model has no OP" in out
    assert "calls upstream" not in out


def test_costs_of_many_cases_are_listed_by_suite():
    out = shown(costed(40))
    assert "case_7" not in out
    rows = [line.split() for line in out.splitlines() if line.startswith("a2a3-op")]
    assert ["a2a3-op", "OTHER", "20", "100", "5", "PIPE_V", "380"] in rows


def test_what_is_to_be_said_of_many_cases_is_said_once():
    cases = tuple(CaseResult(name, Outcome.FAILED, 0.0, "PTG505", "no", ("why",)) for name in ("one", "two", "three"))
    suite = SuiteResult("a5-op", "op", "a5", "manual", "OPTest", "tests/op", cases)
    out = shown(make_report(suites=(suite,), defects=()))
    assert out.count("PTG505") == 1 and "failed a5-op.one and 2 more: PTG505: no\n    why\n" in out


def test_nothing_is_cut_where_there_is_no_terminal():
    reason = "the end of a long reason is " + "far " * 40 + "away"
    case = CaseResult("c" * 90, Outcome.NOT_RUN, reason=reason)
    report = replace(make_report(), suites=(replace(make_report().suites[0], key="s" * 90, cases=(case,)),))
    stream = io.StringIO()
    text.show(report, stream)
    assert reason in stream.getvalue() and "c" * 90 in stream.getvalue() and "…" not in stream.getvalue()
