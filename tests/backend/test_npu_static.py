"""The backend ``npu-static`` with the pinned headers: a2a3 suites compile with the cost model and have their cycles."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest

import ptogen
from ptogen.backend import download, npu_static
from ptogen.backend import headers as _headers
from ptogen.backend.headers import Headers
from ptogen.errors import PtogenError
from ptogen.report.model import CheckReport, Outcome
from ptogen.report.text import show

SPECS = Path(__file__).parents[2] / "specs"

ONE = "op: tsort32\nplatform: {platform}\ndtype: float32\nrows: 2\ncols: 13\n"

DIRECT = """\
#include <cstdio>
#include <pto/pto-inst.hpp>
#include <pto/npu/a2a3/TPartMin.hpp>
template <typename T, int kRows, int kCols, int kValidRows, int kValidCols>
using UbTile = pto::Tile<pto::TileType::Vec, T, kRows, kCols, pto::BLayout::RowMajor, kValidRows, kValidCols>;
void Say() { std::fprintf(stdout, "%d ", static_cast<int>(pto::mocker::GetLastPtoInstrCycles())); }
int main()
{
    UbTile<float, 2, 32, 2, 13> src;
    UbTile<uint32_t, 2, 32, 2, 13> idx;
    UbTile<float, 2, 64, 2, 26> dst;
    UbTile<float, 1, 32, 1, 32> tmp;
    pto::TSORT32(dst, src, idx, tmp), Say();
    UbTile<half, 4, 64, 4, 64> halves;
    UbTile<uint32_t, 1, 64, 1, 64> row;
    UbTile<half, 4, 256, 4, 256> records;
    pto::TSORT32(records, halves, row), Say();
    UbTile<float, 16, 16, 16, 16> left, right, least;
    pto::TPARTMIN(least, left, right), Say();
    UbTile<float, 1, 256, 1, 256> lists, list;
    pto::TMRGSORT(list, lists, 64), Say();
}
"""
"""Four instructions and what the cost model says of each, without anything of ptogen's."""


def write(root: Path, *specs: str | Path, edit: Callable[[str], str] = lambda text: text) -> Path:
    """A tree of specs, those in files for a2a3 only; ``edit`` changes the kernels afterwards."""
    rendered = []
    for number, spec in enumerate(specs):
        path = root / f"spec{number}.yaml" if isinstance(spec, str) else spec
        if isinstance(spec, str):
            root.mkdir(exist_ok=True)
            path.write_text(spec)
        suites = [suite for suite in ptogen.load(path) if isinstance(spec, str) or suite.platform.name == "a2a3"]
        rendered += [ptogen.render_suite(suite, ptogen.plan_suite(suite)) for suite in suites]
    ptogen.write(root / "tree", rendered)
    for kernel in (root / "tree").rglob("*_kernel.cpp"):
        text = kernel.read_text()
        if edit(text) != text:
            kernel.write_text(edit(text))
    return root / "tree"


@pytest.fixture(scope="module")
def pinned(headers) -> Headers:
    return _headers.fetch()


@pytest.fixture(scope="module")
def check(pinned, toolchain):
    def run(tree: Path, **options) -> CheckReport:
        return npu_static.check(tree, **{"headers": pinned, "toolchain": toolchain, "jobs": 2, **options})

    return run


@pytest.fixture(scope="module")
def tree(tmp_path_factory) -> Path:
    """Every spec that ships, as far as it is for a2a3."""
    return write(tmp_path_factory.mktemp("shipped"), *sorted(SPECS.glob("*.yaml")), *SPECS.glob("documents/*.yaml"))


@pytest.fixture(scope="module")
def report(check, tree) -> CheckReport:
    return check(tree)


def cycles(report: CheckReport, key: str, case: str) -> dict[str, int]:
    (found,) = (one for suite, one in report.cases if (suite.key, one.name) == (key, case))
    return {cost.instruction: cost.cycles for cost in found.costs}


def test_every_shipped_spec_compiles_and_has_its_cycles(report):
    assert len(report.suites) >= 13 and report.exit_code == 0 and not report.notes
    for suite, case in report.cases:
        if suite.op.startswith("tpartarg"):
            assert case.outcome is Outcome.NOT_RUN
            assert case.reason.startswith(f"the cost model of these headers has no {suite.op.upper()} ")
            continue
        assert case.outcome is Outcome.PASSED, (suite.key, case)
        costs = {cost.instruction: cost for cost in case.costs}
        assert {name: cost.pipe for name, cost in costs.items()} == {
            "TLOAD": "PIPE_MTE2",
            suite.op.upper(): "PIPE_V",
            "TSTORE": "PIPE_MTE3",
        }
        assert costs[suite.op.upper()].cycles > 0 and all(cost.calls > 0 for cost in case.costs)
        assert case.pipes == {cost.pipe: cost.cycles for cost in case.costs}
    assert {suite.mode for suite in report.suites} == {"manual", "auto"}


def test_the_cycles_are_those_that_the_model_says_itself(report, pinned, toolchain, tmp_path):
    source, program = tmp_path / "direct.cpp", tmp_path / "direct"
    source.write_text(DIRECT)
    options = ["-std=c++20", "-w", "-include", "stdint.h", "-include", "stddef.h", "-D__COSTMODEL"]
    options += ["-D__NPU_ARCH__=2201", "-DPTO_COMM_NOT_SUPPORTED", "-isystem", str(pinned.include)]
    subprocess.run([*toolchain.compiler.command, *options, source, "-o", program], check=True)
    said = subprocess.run([program], capture_output=True, text=True, check=True).stdout
    assert list(map(int, said.split())) == [
        cycles(report, "a2a3-tsort32", "case_float32_2x13")["TSORT32"],
        cycles(report, "a2a3-tsort32", "case_float16_4x64_broadcast")["TSORT32"],
        cycles(report, "a2a3-tpartmin", "case_float32_16x16")["TPARTMIN"],
        cycles(report, "a2a3-tmrgsort", "case_float32_single_256_block64")["TMRGSORT"],
    ]
    # By hand, from a2a3/TSort32.hpp and cce_costmodel_vector_compute.hpp of the snapshot: in each of four rows a
    # vbitsort of two repeats, 6 + 2 * 2, and a barrier, 1.
    assert int(said.split()[1]) == 4 * (6 + 2 * 2 + 1)


def test_a_case_says_what_it_is(report):
    """As on any backend: the maps of the HTML page are made of it."""
    fields = {case.name: case.fields for suite, case in report.cases if suite.key == "a2a3-tsort32"}
    assert {**fields["case_float32_2x13"], "dtype": "float32", "rows": 2, "cols": 13} == fields["case_float32_2x13"]


def test_calls_of_one_instruction_are_added(report):
    (sort,) = (case for suite, case in report.cases if (suite.key, case.name) == ("a2a3-tsort32", "case_float32_2x13"))
    assert [(cost.instruction, cost.calls) for cost in sort.costs] == [("TLOAD", 2), ("TSORT32", 1), ("TSTORE", 1)]


def test_what_did_not_change_is_not_compiled_again(report, check, tree, monkeypatch):
    monkeypatch.setattr(npu_static, "_call", lambda *_: pytest.fail("a compiler was started"))
    assert [suite.cases for suite in check(tree).suites] == [suite.cases for suite in report.suites]


def test_an_assertion_of_the_headers_fails_the_suite(check, tmp_path):
    def int32(text: str) -> str:
        return re.sub(r"\bfloat\b", "int32_t", text)

    found = check(write(tmp_path, ONE.format(platform="a2a3"), edit=int32))
    ((_, case),) = found.cases
    kernel = tmp_path / "tree/tests/npu/a2a3/src/st/testcase/tsort32/tsort32_kernel.cpp"
    line = next(at for at, text in enumerate(kernel.read_text().splitlines(), 1) if re.search(r"\bTSORT32\(", text))
    assert (case.outcome, case.code) == (Outcome.FAILED, "PTG505") and found.exit_code == 1
    assert case.reason.startswith(f"{kernel}:{line}:"), case.reason
    assert "Dst and src must be half or float" in "\n".join(case.output)
    assert [note.code for note in found.notes] == ["PTG111"]


def test_a_case_that_ends_the_program_costs_only_itself(check, tmp_path):
    """And the kernel may use any of the NPU's event ids, of which the model names one."""
    cases = [
        (9, "one"),
        (10, "two"),
        (11, "three"),
        (12, "four"),
        (9, "five"),
    ]  # the last shares the first one's kernel
    spec = "op: tsort32\nplatform: a2a3\ncases:\n"
    spec += "".join(f"  - {{dtype: float32, rows: 2, cols: {cols}, name: {name}}}\n" for cols, name in cases)
    spec = spec.replace("name: five", "seed: 1, name: five")

    def broken(text: str) -> str:
        for name, what in (("two", "*(volatile int*)dst = 1;"), ("three", "for (volatile int at = 0;; at = 1) {}")):
            head = f'    launch("{name}", '
            assert head in text
            text = text.replace(head, f'    if (name == "{name}") {{ void* dst = gm[0]; (void)dst; {what} }}\n{head}')
        return text.replace("EVENT_ID0", "EVENT_ID7")

    found = check(write(tmp_path, spec, edit=broken), timeout=0.5)
    assert [(case.outcome.value, case.code) for _, case in found.cases] == [
        ("passed", None), ("failed", "PTG506"), ("failed", "PTG506"), ("passed", None), ("passed", None),
    ]  # fmt: skip
    _, two, three, _, _ = (case.reason for _, case in found.cases)
    assert two == "the cost model ended by SIGSEGV" and three == "no result after 0.5 s"


def test_only_a2a3_has_a_cost_model(check, tmp_path):
    tree = write(tmp_path, ONE.format(platform="[a5, cpu]"))
    with pytest.raises(PtogenError) as caught:
        check(tree)
    (said,) = caught.value.diagnostics
    assert (said.code, str(said.position)) == ("PTG507", str(tree))
    assert said.message.startswith("no suite here is for a2a3") and "a5-tsort32 is for a5" in said.details
    both = check(write(tmp_path, ONE.format(platform="[a2a3, a5]")))
    assert [(suite.key, case.outcome.value) for suite, case in both.cases if suite.platform != "cpu"] == [
        ("a2a3-tsort32", "passed"), ("a5-tsort32", "not-run"),
    ]  # fmt: skip
    assert "this suite is for a5" in both.suites[1].cases[0].reason


def test_the_pinned_snapshot_serves_where_the_headers_at_hand_do_not(check, pinned, tmp_path):
    own = tmp_path / "include"
    for path in pinned.include.rglob("*.hpp"):
        if path.name != "trace.hpp":
            link = own / path.relative_to(pinned.include)
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(path)
    tree = write(tmp_path, ONE.format(platform="a2a3"))
    found = check(tree, headers=Headers(own, "--pto-isa mine", "0"))
    (note,) = found.notes
    assert note.code == "PTG508" and note.message.startswith("the cost model of --pto-isa mine does not compile; ")
    assert "trace.hpp" in "\n".join(note.details) and download.PIN.version in found.headers
    assert found.counts[Outcome.PASSED] == 1


def test_the_command(report, tree, tmp_path, pinned):
    """Its forms, and the option that makes no sense here."""

    def run(*arguments: object) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "ptogen", "check", str(tree), "--backend", "npu-static", "--pto-isa"]
        root = {**os.environ, "PYTHONPATH": str(Path(ptogen.__file__).parents[1])}
        return subprocess.run(
            [*command, str(pinned.include), *map(str, arguments)], capture_output=True, text=True, env=root
        )

    shown = run("--select", "a2a3-tsort32.*", "--report", tmp_path / "report.xml")
    assert shown.returncode == 0, shown.stderr
    assert "a model, not a measurement" in shown.stdout and "5 passed in" in shown.stdout
    sort = cycles(report, "a2a3-tsort32", "case_float32_2x13")["TSORT32"]
    row = next(line for line in shown.stdout.splitlines() if "case_float32_2x13" in line and " TSORT32 " in line)
    assert row.split() == ["a2a3-tsort32", "case_float32_2x13", "TSORT32", "1", str(sort), "PIPE_V", str(sort)]
    cases = ElementTree.parse(tmp_path / "report.xml").getroot().iter("testcase")
    assert f"PIPE_V: cycles {sort}" in next(iter(cases)).findtext("system-out")
    data = json.loads(run("--format", "json").stdout)
    suite = next(suite for suite in data["suites"] if suite["key"] == "a2a3-tsort32")
    costs = suite["cases"][0]["costs"]
    assert costs[1] == {"instruction": "TSORT32", "calls": 1, "cycles": sort, "pipe": "PIPE_V"}
    assert suite["cases"][0]["pipes"]["PIPE_V"] == sort and suite["pipes"]["PIPE_V"] > sort
    refused = run("--pristine")
    assert refused.returncode == 2 and "--pristine is for --backend cpu-sim" in refused.stderr


def test_the_readme_shows_what_is_printed(check, tmp_path):
    text = (SPECS.parent / "README.md").read_text()
    spec, table = (
        re.search(f"```{start}(.*?)```", text, re.S)[1] for start in (r"yaml\n# spec.yaml\n", r"text\n(?=suite)")
    )
    stream = io.StringIO()
    show(check(write(tmp_path, spec)), stream)
    assert table in stream.getvalue()
