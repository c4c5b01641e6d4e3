"""Pristine headers that lack what a suite needs: the cases at fault are known defects, the others were not run."""

from __future__ import annotations

import json

from ptogen import output
from ptogen.backend import cpu_sim, download, probe
from ptogen.backend.headers import Headers
from ptogen.plan.suite import plan_suite
from ptogen.render.st import render
from ptogen.report.model import Outcome
from ptogen.spec.load import load_text


def test_a_dtype_that_the_simulator_lacks_is_a_known_defect(tmp_path, headers: Headers, toolchain):
    region = {"dst": [2, 8], "src0": [2, 8], "src1": [1, 8]}
    cases = [{"dtype": dtype, **region} for dtype in ("uint32", "float32")]
    (suite,) = load_text(json.dumps({"op": "tpartmin", "platform": "a5", "cases": cases}), "spec.yaml")
    output.write(tmp_path, [render(suite, plan_suite(suite))])
    assert "TPARTMIN_DTYPES" in probe.present(toolchain.compiler, headers), download.PIN
    report = cpu_sim.check(tmp_path, headers=headers, toolchain=toolchain, pristine=True)
    lacking, other = report.suites[0].cases
    assert (lacking.outcome, other.outcome) == (Outcome.KNOWN_DEFECT, Outcome.NOT_RUN)
    assert lacking.output and "other cases" in other.reason
    assert report.exit_code == 0
    corrected = cpu_sim.check(tmp_path, headers=headers, toolchain=toolchain)
    assert [case.outcome for _, case in corrected.cases] == [Outcome.PASSED] * 2
