"""What these headers refuse costs the cases that need it: known defects on pristine headers, failures elsewhere."""

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
    assert (lacking.outcome, other.outcome) == (Outcome.KNOWN_DEFECT, Outcome.PASSED)
    assert lacking.output and lacking.code == "PTG505"
    assert report.exit_code == 0
    corrected = cpu_sim.check(tmp_path, headers=headers, toolchain=toolchain)
    assert [case.outcome for _, case in corrected.cases] == [Outcome.PASSED] * 2


def test_a_kernel_that_does_not_compile_fails_alone(tmp_path, headers: Headers, toolchain):
    region = {"dst": [2, 8], "src0": [2, 8], "src1": [1, 8]}
    cases = [
        {"name": name, "dtype": dtype, **region} for name, dtype in (("a", "int16"), ("b", "int32"), ("b_a", "float32"))
    ]
    (suite,) = load_text(json.dumps({"op": "tpartmin", "platform": ["a5"], "cases": cases}), "spec.yaml")
    rendered = render(suite, plan_suite(suite))
    output.write(tmp_path, [rendered])
    kernel = tmp_path / rendered.directory / "tpartmin_kernel.cpp"
    lines = kernel.read_text().split("\n")
    number = next(at for at, line in enumerate(lines) if line.startswith("    TPARTMIN("))
    lines[number] = '    static_assert(sizeof(T) != 2, "not this one");' + lines[number]
    kernel.write_text("\n".join(lines))
    report = cpu_sim.check(tmp_path, headers=headers, toolchain=toolchain)
    found = {case.name: case for _, case in report.cases}
    assert [found[name].outcome for name in ("a", "b", "b_a")] == [Outcome.FAILED, Outcome.PASSED, Outcome.PASSED]
    assert found["a"].reason.startswith(f"{kernel}:") and found["a"].reason.endswith("the kernel does not build")
    assert any("not this one" in line for line in found["a"].output)
