"""TSORT32 on the CPU backend: every shape, platform, mode and kind of index that fits UB is exact, and the rest is
refused with numbers."""

from __future__ import annotations

import json
from collections import Counter
from functools import cache
from itertools import product

import pytest

from ptogen import output
from ptogen.backend import cpu_sim
from ptogen.check import check_suite
from ptogen.errors import PtogenError
from ptogen.graph.model import Graph
from ptogen.ops import catalogue
from ptogen.plan.fit import planned
from ptogen.plan.suite import plan_suite
from ptogen.platforms import PLATFORMS
from ptogen.render.st import render
from ptogen.report.model import Outcome
from ptogen.spec.load import load_text

TSORT32 = catalogue()["tsort32"]
COLS = (1, 13, 31, 32, 33, 64, 100, 2041, 8129, 8150, 8160, 8161, 8192, 16320)
SHAPES = [
    {"dtype": dtype, "rows": rows, "cols": cols, "idx": idx}
    for dtype, rows, cols, idx in product(("float32", "float16"), (1, 2, 5), COLS, ("per_row", "broadcast"))
]
KINDS = ("random", "ties", "sorted", "reversed", "extremes")
SUITES = [(platform, mode) for platform in PLATFORMS for mode in PLATFORMS[platform].modes]


@cache
def split(platform: str, mode: str) -> tuple[list[dict], list[tuple[dict, PtogenError]]]:
    """The shapes that fit, and those that are refused with what is said of them."""
    row = PLATFORMS[platform]
    fits, refused = [], []
    for number, shape in enumerate(SHAPES):
        try:
            planned(Graph.of(TSORT32), TSORT32.Case(name="case", **shape), row, mode, row.ub_bytes)
        except PtogenError as error:
            refused.append((shape, error))
        else:
            fits.append({**shape, "data": KINDS[number % len(KINDS)]})
    return fits, refused


def code(suite) -> dict[str, str]:
    """The C++ of a suite without the line that names it."""
    return {
        path.rsplit("/", 1)[1]: text.split("\n", 1)[1] for path, text in suite.files.items() if path.endswith(".cpp")
    }


def twin(suite, others) -> bool:
    """Whether a Kirin suite has the very C++ of Kirin 9030's, so that building it would compile the same text again."""
    same = suite.key.replace("kirinx90", "kirin9030").replace("kirindev0000", "kirin9030")
    return same != suite.key and code(suite) == code(next(other for other in others if other.key == same))


@pytest.fixture(scope="module")
def report(tmp_path_factory, headers, toolchain):
    suites = []
    for platform, mode in SUITES:
        cases, _ = split(platform, mode)
        spec = {"op": "tsort32", "platform": platform, "mode": mode, "name": f"tsort32_{mode}", "cases": cases}
        suites += load_text(json.dumps(spec), "spec.yaml")
    rendered = []
    for suite in suites:
        plans = plan_suite(suite)
        check_suite(suite, plans)
        rendered.append(render(suite, plans))
    rendered = [suite for suite in rendered if not twin(suite, rendered)]
    # One place for all runs, so that a second run of the tests finds its builds again.
    tree = tmp_path_factory.getbasetemp().parent / "tsort32-exact"
    output.write(tree, rendered, force=True)
    return cpu_sim.check(tree, headers=headers, toolchain=toolchain)


def test_every_shape_that_fits_is_exact(report):
    wrong = [
        (suite.key, case.name, case.reason, case.output[:3])
        for suite, case in report.cases
        if case.outcome is not Outcome.PASSED
    ]
    assert not wrong
    fits = {f"{platform}-tsort32_{mode}": len(split(platform, mode)[0]) for platform, mode in SUITES}
    assert sum(fits.values()) > 1200
    assert {suite.key: len(suite.cases) for suite in report.suites} == {
        key: count for key, count in fits.items() if not key.startswith(("kirinx90", "kirindev0000"))
    }


def test_upstream_computes_wherever_no_listed_defect_applies(report):
    present = {row.id for row in report.defects if row.present}
    for suite in report.suites:
        met = {defect for case in suite.cases for defect in case.defects}
        calls = Counter()
        for call in suite.calls:
            calls["upstream"] += call.upstream
            calls["corrected"] += sum(call.corrected.values())
        assert bool(calls["corrected"]) == bool(met & present)
        assert calls["upstream"] + calls["corrected"] >= len(suite.cases)


@pytest.mark.parametrize(("platform", "mode"), SUITES)
def test_what_does_not_fit_is_refused_with_numbers(platform, mode):
    fits, refused = split(platform, mode)
    assert len(fits) + len(refused) == len(SHAPES)
    for shape, error in refused:
        (fault,) = error.diagnostics
        assert fault.code == "PTG301"
        assert f"{PLATFORMS[platform].ub_bytes:,} B on {platform}" in fault.message
        assert {line.split()[0].rstrip("0123456789") for line in fault.details} >= {"src", "idx", "dst"}
        assert fault.hint and "largest" in fault.hint
        # The least that any plan needs: each column of each row in src, idx and dst, in whole blocks.
        width = -(-shape["cols"] // 32) * 32
        element = 4 if shape["dtype"] == "float32" else 2
        rows = shape["rows"]
        assert (
            width * (rows * element + (1 if shape["idx"] == "broadcast" else rows) * 4 + rows * 8)
            > PLATFORMS[platform].ub_bytes - 32_768
        )
