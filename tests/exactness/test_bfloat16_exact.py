"""bfloat16 on the CPU backend: exact where the compiler has it, and counted as not run where it has not."""

from __future__ import annotations

import json
from itertools import product

import pytest
from test_tpart_exact import KINDS, NARROW, OPS, WIDE, patterns

from ptogen import output
from ptogen.backend import cpu_sim, probe
from ptogen.dtypes import BFLOAT16
from ptogen.ops import catalogue
from ptogen.plan.suite import plan_suite
from ptogen.platforms import PLATFORMS
from ptogen.render.st import render
from ptogen.report.model import Outcome
from ptogen.spec.load import load_text

ARITHMETIC = [name for name in OPS if BFLOAT16 in catalogue()[name].dtypes(PLATFORMS["a5"])]


def cases() -> list[dict]:
    """Every pattern with every kind of data; wide rows with one kind each; no element at all."""
    narrow = list(product(patterns(*NARROW).items(), KINDS))
    wide = [(pattern, KINDS[number % 5]) for number, pattern in enumerate(patterns(*WIDE).items())]
    made = [
        {"dtype": "bfloat16", **regions, "data": kind, "name": f"{size}_{name}_{kind}"}
        for size, listed in (("narrow", narrow), ("wide", wide))
        for (name, regions), kind in listed
    ]
    none = (0, 7)
    return [*made, {"dtype": "bfloat16", "dst": none, "src0": none, "src1": (0, 0), "name": "empty"}]


@pytest.fixture(scope="module")
def report(tmp_path_factory, headers, toolchain):
    rendered = []
    for op in ARITHMETIC:
        for platform, mode, step in (
            ("a5", "manual", 1),
            ("a5", "auto", 7),
            ("kirin9030", "manual", 7),
            ("cpu", "manual", 7),
        ):
            spec = {"op": op, "platform": platform, "mode": mode, "name": f"{op}_{mode}", "cases": cases()[::step]}
            rendered += [render(suite, plan_suite(suite)) for suite in load_text(json.dumps(spec), "spec.yaml")]
    # One place for all runs, so that a second run of the tests finds its builds again.
    tree = tmp_path_factory.getbasetemp().parent / "bfloat16-exact"
    output.write(tree, rendered, force=True)
    return cpu_sim.check(tree, headers=headers, toolchain=toolchain)


def test_four_ops_have_it():
    assert ARITHMETIC == ["tpartadd", "tpartmax", "tpartmin", "tpartmul"]


def test_every_case_is_exact_or_counted_as_not_run(report, headers, toolchain):
    expected = Outcome.PASSED if probe.has_bfloat16(toolchain.compiler, headers) else Outcome.NOT_RUN
    wrong = [(suite.key, case) for suite, case in report.cases if case.outcome is not expected]
    assert not wrong
    assert report.counts[expected] > 300


def test_upstream_computes_them_all(report, headers, toolchain):
    """No listed defect of the simulator is about bfloat16."""
    for suite in report.suites:
        assert suite.corrected == 0
        assert (suite.upstream > 0) is probe.has_bfloat16(toolchain.compiler, headers)
