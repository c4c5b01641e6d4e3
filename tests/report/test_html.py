"""The report as an HTML page."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from ptogen import report as reports
from ptogen.errors import Diagnostic
from ptogen.report import heatmap
from ptogen.report.html import GLYPHS, MOST_DETAILED, as_html
from ptogen.report.model import Calls, CaseResult, CheckReport, Cost, DefectRow, Outcome, SuiteResult

VOID = {"meta", "br", "input", "link", "img", "hr"}


class Page(HTMLParser):
    """The tags of a page, which have to be balanced; and the text of its elements."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.cells: list[tuple[str, str]] = []
        self.text = ""
        self.feed(text)
        self.close()
        assert not self.open, f"not closed: {self.open}"

    def handle_starttag(self, tag, attrs):
        names = [name for name, _ in attrs]
        assert len(names) == len(set(names)), f"an attribute of {tag} comes twice"
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)
        if tag == "td":
            self.cells.append((dict(attrs).get("class") or "", ""))

    def handle_endtag(self, tag):
        assert self.open and self.open.pop() == tag, f"</{tag}> closes something else"

    def handle_data(self, data):
        if self.open and self.open[-1] not in ("style", "script"):
            self.text += data
            if "td" in self.open:
                kind, text = self.cells.pop()
                self.cells.append((kind, text + data))

    def attributes(self, name: str) -> list[str]:
        return [value for _, found in self.tags if (value := found.get(name)) is not None]

    def counts(self) -> Counter[Outcome]:
        """The sum of the cells of all maps."""
        found: Counter[Outcome] = Counter()
        for kind, text in self.cells:
            if "cell" in kind.split():
                for outcome, glyph in GLYPHS.items():
                    for count in re.findall(f"{glyph}([\\d,]+)", text):
                        found[outcome] += int(count.replace(",", ""))
        return found


def sort_case(rows: int, cols: int, outcome: Outcome = Outcome.PASSED, dtype: str = "float32", **more) -> CaseResult:
    name = f"case_{dtype}_{rows}x{cols}_{more.pop('tag', '')}"
    fields = {"name": name, "dtype": dtype, "rows": rows, "cols": cols, "data": "random", "seed": 0, "idx": "per_row"}
    if outcome is Outcome.FAILED:
        more = {"reason": "the test failed", "output": (f"dst[row 0, column {cols}]: golden 1, actual 2",), **more}
    return CaseResult(name, outcome, 0.01, fields=fields, **more)


def suite_of(*cases: CaseResult, number: int = 1, platform: str = "a2a3", op: str = "tsort32") -> SuiteResult:
    return SuiteResult(f"{platform}-{op}_{number}", op, platform, "manual", "SuiteTest", f"tests/{op}_{number}", cases)


def report_of(*suites: SuiteResult, **more) -> CheckReport:
    return CheckReport("cpu-sim", "some headers", "g++", False, suites, seconds=1.5, **more)


@pytest.fixture
def mixed() -> CheckReport:
    cases = (
        sort_case(2, 13),
        sort_case(2, 13, tag="again"),
        sort_case(2, 13, Outcome.FAILED, tag="bad"),
        sort_case(4, 64, Outcome.FAILED, "float16", code="PTG506", reason="ended by SIGSEGV", output=("a last word",)),
        sort_case(4, 64, Outcome.KNOWN_DEFECT, reason="OP_WRONG", defects=("OP_WRONG",)),
        sort_case(1, 1, Outcome.NOT_RUN, reason="the compiler has no bfloat16"),
    )
    merge = CaseResult("merge", Outcome.PASSED, fields={"dtype": "float32", "variant": "multi", "lists": [64, 8]})
    suites = (
        replace(suite_of(*cases), calls=(Calls("TSORT32", 3, {"OP_WRONG": 4}),)),
        suite_of(sort_case(2, 13, dtype="float16"), platform="cpu"),
        suite_of(merge, op="tmrgsort"),
        suite_of(CaseResult("unknown", Outcome.PASSED), op="no_such_op"),
    )
    rows = (
        DefectRow("OP_WRONG", "tsort32", "always", "op.hpp:1", "it is wrong", True, 1),
        DefectRow("OP_OLD", "tsort32", "never", "op.hpp:2", "it was wrong", False, 2),
    )
    notes = (Diagnostic("PTG111", "edited since", severity="note", hint="look at it"),)
    return report_of(*suites, defects=rows, notes=notes, command=("ptogen", "check", "my out"))


def test_the_page_is_whole(mixed):
    page = Page(as_html(mixed))
    for words in (
        "2 of 9 cases failed",
        "some headers",
        "a2a3-tsort32_1.case_float32_2x13_bad",
        "dst[row 0, column 13]: golden 1, actual 2",
        "PTG506: ended by SIGSEGV",
        "a last word",
        "ptogen check 'my out' --select a2a3-tsort32_1.case_float32_2x13_bad",
        "OP_WRONG",
        "no: they no longer have it",
        "the compiler has no bfloat16",
        "note PTG111",
        "hint: look at it",
        "lists",
    ):
        assert words in page.text, words


def test_the_maps_count_every_case(mixed):
    assert Page(as_html(mixed)).counts() == Counter(mixed.counts)


def test_cells_lead_to_what_they_count(mixed):
    page = Page(as_html(mixed))
    ids = page.attributes("id")
    assert len(ids) == len(set(ids))
    links = [link for link in page.attributes("href") if link.startswith("#")]
    assert {link[1:] for link in links} <= set(ids)
    assert {"#place-1", "#place-2", "#defects", "#not-run"} <= set(links)


def test_headers_of_tables_say_what_they_head(mixed):
    page = Page(as_html(mixed))
    assert all("scope" in found for tag, found in page.tags if tag == "th")
    assert ("html", {"lang": "en"}) in page.tags
    images = [found for _, found in page.tags if found.get("role") == "img"]
    assert images and all(found["aria-label"] for found in images)


def test_nothing_comes_from_elsewhere(mixed):
    text = as_html(mixed)
    page = Page(text)
    assert "://" not in text and "url(" not in text and "@import" not in text
    assert not page.attributes("src") and all(link.startswith("#") for link in page.attributes("href"))
    assert {tag for tag, _ in page.tags}.isdisjoint({"link", "img", "iframe", "object", "form"})
    (policy,) = (found["content"] for tag, found in page.tags if found.get("http-equiv"))
    assert policy.startswith("default-src 'none'")


def test_what_programs_and_manifests_say_is_no_markup():
    evil = "</pre></script><script>alert(1)</script>\x00\x1b[31m\udcff\"'&amp;{{ 7 * 7 }}"
    fields = {"dtype": evil, evil: evil, "rows": [evil], "ub": {evil: 1}}
    cases = [CaseResult(evil, outcome, 0.0, None, evil, (evil,), (evil,), fields) for outcome in Outcome]
    suite = SuiteResult(evil, evil, evil, evil, evil, evil, tuple(cases), (Calls(evil, 1, {evil: 2}),))
    shared = tuple(CaseResult(f"{evil}{at}", Outcome.FAILED, 0.0, "PTG505", evil, (evil,)) for at in range(2))
    rows = (DefectRow(evil, evil, evil, evil, evil, True, 1),)
    notes = (Diagnostic("PTG111", evil, details=(evil,), severity="note", hint=evil),)
    report = CheckReport(
        evil, evil, evil, True, (suite, replace(suite, cases=shared)), rows, notes, command=("ptogen", evil)
    )
    text = as_html(report)
    page = Page(text)
    assert [tag for tag, _ in page.tags].count("script") == 1
    assert "<script>alert" not in text and "49" not in page.text
    assert not [sign for sign in text if ord(sign) < 32 and sign != "\n"] and text.encode()
    assert "<script>alert(1)</script>\\x00\\x1b[31m\\udcff\"'&amp;{{ 7 * 7 }}" in page.text


def test_failures_that_a_whole_suite_shares_are_told_once():
    cases = [
        sort_case(1, cols, Outcome.FAILED, code="PTG505", reason="does not build", output=("an error",))
        for cols in range(1, 65)
    ]
    page = Page(as_html(report_of(suite_of(*cases))))
    assert page.text.count("an error") == 1 and "a2a3-tsort32_1: 64 cases" in page.text
    assert "--select 'a2a3-tsort32_1.*'" in page.text
    assert all(case.name in page.text for case in cases)
    assert "#whole-suites" in page.attributes("href")


def big(failing: float) -> CheckReport:
    """12,000 cases, of which about so many fail."""
    suites = []
    for number in range(200):
        cases = []
        for at in range(60):
            rows, cols = 1 + number * 7 % 300, 1 + (number * 60 + at) * 37 % 8192
            failed = (number * 60 + at) * 7919 % 1000 < failing * 1000
            case = sort_case(rows, cols, Outcome.FAILED if failed else Outcome.PASSED, tag=f"{at}")
            lines = tuple(f"  dst[row {row}, record {at}]: golden {number} (0x6575), actual {at}" for row in range(12))
            cases.append(replace(case, output=lines) if failed else case)
        suites.append(suite_of(*cases, number=number))
    return report_of(*suites)


@pytest.mark.parametrize("failing", [0.0, 0.05, 1.0])
def test_many_cases_make_no_large_page(failing):
    report = big(failing)
    text = as_html(report)
    assert len(text.encode()) < 3_000_000
    page = Page(text)
    assert page.counts() == Counter({outcome: count for outcome, count in report.counts.items() if count})
    failed = [(suite, case) for suite, case in report.cases if case.outcome is Outcome.FAILED]
    named = set(re.findall(r"a2a3-tsort32_\d+\.case_\w+", page.text))
    assert {f"{suite.key}.{case.name}" for suite, case in failed} <= named
    detailed = page.text.count("Run again: ")
    assert detailed == len(failed) if len(failed) <= MOST_DETAILED else MOST_DETAILED / 2 < detailed <= MOST_DETAILED
    if detailed == len(failed):
        assert all("\n".join(case.output) in page.text for _, case in failed)


def test_equal_reports_give_equal_bytes():
    assert as_html(big(0.05)) == as_html(big(0.05))


def test_few_shapes_have_a_column_each_and_many_are_taken_together():
    few, _ = heatmap.heat_maps(report_of(suite_of(sort_case(2, 13), sort_case(10, 4), sort_case(2, 64))))
    assert few[0].cols == heatmap.Axis("rows × cols", ("2 × 13", "2 × 64", "10 × 4"))
    cases = [sort_case(1 + at % 3, 1 + at * 11) for at in range(200)]
    (many,), places = heatmap.heat_maps(report_of(suite_of(*cases)))
    assert many.rows == heatmap.Axis("rows", ("1", "2", "3"))
    assert many.cols.name == "cols" and len(many.cols.labels) <= heatmap.MOST_COLS
    assert many.cols.labels[0] == "1" and many.cols.labels[-1] == "2,058–2,190"
    for number, case in enumerate(cases):
        first, _, last = many.cols.labels[places[number].col].replace(",", "").partition("–")
        assert int(first) <= case.fields["cols"] <= int(last or first)


def test_lists_are_shown_as_they_are():
    lists = ([2, 1024, 64], [64, 128], [2, 1024, 128])
    fields = [{"variant": "multi", "dtype": "float32", "lists": one, "exhausted": False} for one in lists]
    cases = tuple(CaseResult(f"case_{at}", Outcome.PASSED, fields=one) for at, one in enumerate(fields))
    suite = SuiteResult("a2a3-tmrgsort", "tmrgsort", "a2a3", "manual", "T", "d", cases)
    (found,), _ = heatmap.heat_maps(CheckReport("cpu-sim", "h", "c", False, (suite,)))
    assert found.cols == heatmap.Axis("lists", ("64 + 128", "2 + 1,024 + 128", "2 + 1,024 + 64"))


def test_the_page_says_what_failures_share():
    cases = [
        sort_case(2, cols, Outcome.FAILED if cols % 32 and dtype == "float16" else Outcome.PASSED, dtype)
        for cols in (13, 31, 32, 64)
        for dtype in ("float32", "float16")
    ]
    shares = heatmap.shares(report_of(suite_of(*cases)))
    first = [(row.field, row.value, row.failed, row.ran) for row in shares]
    assert ("dtype", "float16", 2, 4) in first and ("dtype", "float32", 0, 4) in first
    assert ("power of two that divides cols", "1", 2, 4) in first
    assert not [row for row in shares if row.field in ("data", "seed", "platform")], "these are equal for all"


def test_nothing_failed():
    page = Page(as_html(report_of(suite_of(sort_case(2, 13), sort_case(2, 14)))))
    assert "All 2 cases passed" in page.text and "#failures" not in page.attributes("href")


def test_the_ending_chooses_the_page(mixed, tmp_path):
    reports.write(mixed, tmp_path / "report.html")
    assert (tmp_path / "report.html").read_text(encoding="utf-8") == as_html(mixed)


def test_cycles_are_a_table():
    cost = Cost("TLOAD", 2, 1200, "PIPE_MTE2")
    suite = suite_of(sort_case(2, 13, costs=(cost, Cost("TSORT32", 1, 78, "PIPE_V"))))
    page = Page(as_html(replace(report_of(suite), backend="npu-static")))
    assert "#cycles" in page.attributes("href") and "pipes that run at the same time are not in it" in page.text
    cells = [text for _, text in page.cells]
    at = cells.index("TLOAD")
    assert cells[at - 2 : at + 5] == [suite.key, suite.cases[0].name, "TLOAD", "2", "1,200", "PIPE_MTE2", "1,200"]
    assert "#cycles" not in Page(as_html(report_of(suite_of(sort_case(2, 13))))).attributes("href")
