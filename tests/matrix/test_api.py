"""``import ptogen`` for people who script: light, lazy, typed, and as ``docs/api.md`` says."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import ptogen
from ptogen.backend.headers import Headers
from ptogen.backend.toolchain import Toolchain
from ptogen.check.finding import Finding
from ptogen.plan.model import KernelPlan

PAGE = Path(__file__).parents[2] / "docs" / "api.md"


def test_the_page_prints_what_it_says(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    headers: Headers,
    toolchain: Toolchain,
) -> None:
    monkeypatch.chdir(tmp_path)
    code, said = re.findall(r"```(?:python|text)\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    exec(compile(code, str(PAGE), "exec"), {})
    assert capsys.readouterr().out == said


def test_importing_costs_nothing() -> None:
    script = "import sys, ptogen; print(*[name for name in sys.modules if name.partition('.')[0] in %r])"
    heavy = ("pydantic", "numpy", "jinja2", "yaml", "rich", "click")
    done = subprocess.run([sys.executable, "-c", script % (heavy,)], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


@pytest.mark.parametrize(
    "first", ["import ptogen.plan, ptogen.check.finding, ptogen.render.st", "import ptogen.api", "pass"]
)
def test_the_steps_can_be_called_whatever_was_imported_before(first: str) -> None:
    called = "assert all(map(callable, (ptogen.plan_suite, ptogen.check_plans, ptogen.render_suite)))"
    script = f"{first}\nimport ptogen\n{called}\nptogen.load; ptogen.run"
    subprocess.run([sys.executable, "-c", script], check=True)


def test_check_gives_findings(tmp_path: Path) -> None:
    spec = tmp_path / "spec.yaml"
    spec.write_text(
        "op: tsort32\nplatform: a2a3\ndtype: float32\nrows: 1\ncols: 2\nub: {src: 0x0, idx: 0x40, dst: 0x200}\n"
    )
    (suite,) = ptogen.load(spec)
    plans = ptogen.plan_suite(suite)
    findings = ptogen.check_plans(suite, plans)
    assert plans and all(isinstance(plan, KernelPlan) for plan in plans)
    assert findings and all(isinstance(finding, Finding) for finding in findings)


def test_every_backend_runs_a_spec(tmp_path: Path, headers, toolchain) -> None:
    spec = tmp_path / "spec.yaml"
    spec.write_text("op: tsort32\nplatform: a2a3\ndtype: float32\nrows: 2\ncols: 13\n")
    report = ptogen.run(spec, backend="npu-static")
    (case,) = report.suites[0].cases
    assert str(case.outcome) == "passed" and [cost.instruction for cost in case.costs] == ["TLOAD", "TSORT32", "TSTORE"]
    with pytest.raises(ValueError, match="no backend 'npu'; there are cpu-sim, npu-static"):
        ptogen.run(spec, backend="npu")


def test_there_is_nothing_else() -> None:
    assert set(ptogen.__all__) <= set(dir(ptogen))
    with pytest.raises(AttributeError):
        ptogen.lode  # type: ignore[attr-defined]  # noqa: B018
