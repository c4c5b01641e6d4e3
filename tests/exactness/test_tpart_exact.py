"""The TPART family on the CPU backend: every pattern of valid regions, every dtype, narrow and wide rows."""

from __future__ import annotations

import json
from collections import Counter
from itertools import product

import pytest

from ptogen import output
from ptogen.backend import cpu_sim
from ptogen.check import check_suite
from ptogen.dtypes import DTYPES
from ptogen.ops import catalogue
from ptogen.ops.tpart import INDEX_DTYPES
from ptogen.plan.model import Instruction, Load, Store, unroll
from ptogen.plan.suite import plan_suite
from ptogen.platforms import PLATFORMS
from ptogen.render.st import render
from ptogen.report.model import Outcome
from ptogen.spec.load import load_text

OPS = [name for name in catalogue() if name.startswith("tpart")]
KINDS = ("random", "ties", "sorted", "reversed", "extremes")
NARROW, WIDE = (5, 7), (3, 200)


def patterns(rows: int, cols: int) -> dict[str, dict[str, tuple[int, int]]]:
    """Valid regions by name."""
    smaller = {
        "rows": (rows - 2, cols),
        "cols": (rows, cols - 3),
        "both": (1, cols // 2 - 1),
        "no_rows": (0, cols),
        "no_cols": (rows, 0),
    }
    dst = (rows, cols)
    found = {"equal": {"dst": dst, "src0": dst, "src1": dst}}
    found |= {name: {"dst": dst, "src0": dst, "src1": shape} for name, shape in smaller.items()}
    found |= {f"{name}_swapped": {"dst": dst, "src0": shape, "src1": dst} for name, shape in smaller.items()}
    return found


def typed(op: str, platform: str) -> list[dict[str, str]]:
    """The dtypes of a case, without bfloat16, which needs another compiler."""
    dtypes = [dtype for dtype in catalogue()[op].dtypes(PLATFORMS[platform]) if dtype.name != "bfloat16"]
    if "arg" not in op:
        return [{"dtype": dtype.name} for dtype in dtypes]
    return [{"dtype": dtype.name, "idx_dtype": idx.name} for dtype in dtypes for idx in INDEX_DTYPES[dtype]]


def cases(op: str, platform: str, full: bool) -> list[dict]:
    made = []
    for dtypes, shape in product(typed(op, platform), (NARROW, WIDE)):
        prefix = "_".join((*dtypes.values(), "narrow" if shape == NARROW else "wide"))
        for name, regions in patterns(*shape).items():
            made.append({**dtypes, **regions, "data": KINDS[len(made) % 5], "name": f"{prefix}_{name}"})
        if not (platform == "a2a3" and "arg" in op):
            empty = (0, shape[1]) if shape == NARROW else (shape[0], 0)
            made.append({**dtypes, "dst": empty, "src0": empty, "src1": (0, 0), "name": f"{prefix}_empty"})
    # On the platforms that share their headers with a5, and in auto mode, a sample of them is enough.
    return made if full else made[::5]


SUITES = [
    (op, platform, "manual", platform in ("a2a3", "a5"))
    for op in OPS
    for platform in ("a2a3", "a5", "kirin9030", "cpu")
] + [(op, "a5", "auto", False) for op in ("tpartmin", "tpartargmax")]


@pytest.fixture(scope="module")
def suites():
    found = []
    for op, platform, mode, full in SUITES:
        listed = cases(op, platform, full)
        spec = {"op": op, "platform": platform, "mode": mode, "name": f"{op}_{mode}", "cases": listed}
        found += load_text(json.dumps(spec), "spec.yaml")
    return found


@pytest.fixture(scope="module")
def report(tmp_path_factory, headers, toolchain, suites):
    rendered = []
    for suite in suites:
        plans = plan_suite(suite)
        check_suite(suite, plans)
        rendered.append(render(suite, plans))
    # One place for all runs, so that a second run of the tests finds its builds again.
    tree = tmp_path_factory.getbasetemp().parent / "tpart-exact"
    output.write(tree, rendered, force=True)
    return cpu_sim.check(tree, headers=headers, toolchain=toolchain)


def test_every_case_is_exact(report):
    wrong = [(suite.key, case) for suite, case in report.cases if case.outcome is not Outcome.PASSED]
    assert not wrong
    assert len(list(report.cases)) > 1000


def test_every_dtype_of_a2a3_and_of_a5_is_among_them(suites):
    ran = {(suite.graph.name, suite.platform.name): {case.dtype for case in suite.cases} for suite in suites}
    for op in OPS:
        for platform in ("a2a3", "a5"):
            expected = {dtype.name for dtype in catalogue()[op].dtypes(PLATFORMS[platform])} - {"bfloat16"}
            assert ran[op, platform] == expected
    assert ran["tpartmin", "a5"] == set(DTYPES) - {"bfloat16"}
    assert ran["tpartmul", "a5"] == set(DTYPES) - {"bfloat16", "int64", "uint64"}


def test_upstream_computes_wherever_no_listed_defect_applies(report, suites):
    present = {row.id for row in report.defects if row.present}
    by_key = {f"{suite.platform.name}-{suite.name}": suite for suite in suites}
    for suite in report.suites:
        called = {call.instruction: call for call in suite.calls}
        own = by_key[suite.key]
        expected, issued = 0, Counter()
        for case, plan in zip(own.cases, plan_suite(own), strict=True):
            steps = Counter(type(step) for step, _, _ in unroll(plan.program))
            expected += steps[Instruction] * (not present & set(own.graph.defects_of(case, own.platform)))
            issued += steps
        call = called[own.graph.ops[0].instruction]
        assert set(call.corrected) <= present
        assert call.upstream + sum(call.corrected.values()) == issued[Instruction]
        assert (called["TLOAD"].upstream, called["TSTORE"].upstream) == (issued[Load], issued[Store])
        # A plan may be cut, and a part where the sources do not overlap has no ties.
        assert call.upstream >= expected
        if "arg" not in suite.op:
            assert call.upstream == expected
