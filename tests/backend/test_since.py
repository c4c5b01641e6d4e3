"""What a checkout has not got is not run, and says so."""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import replace

import pytest

from ptogen import output
from ptogen.backend import cpu_sim, cut, since
from ptogen.backend.headers import Headers
from ptogen.cli import main
from ptogen.errors import ExitCode
from ptogen.plan.suite import plan_suite
from ptogen.render.st import render
from ptogen.report.model import Outcome
from ptogen.spec.load import load_text


@pytest.fixture
def older(headers: Headers, tmp_path) -> Headers:
    """The headers at hand without TPARTARGMAX, and without the file that a5 has TPARTARGMIN in."""
    include = tmp_path / "include"
    shutil.copytree(headers.include, include, copy_function=os.symlink)
    instructions = include / "pto" / "common" / "pto_instr.hpp"
    text = instructions.read_text()
    instructions.unlink()
    instructions.write_text(text.replace("TPARTARGMAX(", "TPARTARGLATER("))
    (include / "pto" / "npu" / "a5" / "TPartArgMin.hpp").unlink()
    return Headers(include, "a checkout", f"{headers.digest}-older")


def test_every_row_names_all_its_facts():
    for subject, row in since.known().items():
        assert subject == row.subject and row.snapshot and (row.header or row.probe)


def test_what_headers_lack_is_decided_by_probes(headers: Headers, older: Headers, toolchain):
    asked = [f"TPARTARG{kind} on {family}" for kind in ("MAX", "MIN") for family in ("a2a3", "a5", "cpu")]
    assert since.lacking(asked, toolchain.compiler, headers) == []
    assert since.lacking(asked, toolchain.compiler, older) == [*asked[:3], "TPARTARGMIN on a5"]
    assert since.without_file(asked, older.include) == [
        one for one in asked if one.endswith("on cpu") and not _has(headers, one) or one == "TPARTARGMIN on a5"
    ]


def _has(headers: Headers, subject: str) -> bool:
    return (headers.include / since.known()[subject].header).is_file()


def test_cases_that_need_it_are_not_run(tmp_path, older: Headers, toolchain):
    region = {"dst": [2, 8], "src0": [2, 8], "src1": [1, 8]}
    for op in ("tpartargmax", "tpartmin"):
        case = {"op": op, "platform": "a5", "dtype": "float32", **region}
        case |= {"idx_dtype": "uint32"} if "arg" in op else {}
        (suite,) = load_text(json.dumps(case), "spec.yaml")
        output.write(tmp_path / "tree", [render(suite, plan_suite(suite))])
    report = cpu_sim.check(tmp_path / "tree", headers=older, toolchain=toolchain)
    missing, there = report.suites
    assert [case.outcome for case in (*missing.cases, *there.cases)] == [Outcome.NOT_RUN, Outcome.PASSED]
    assert missing.cases[0].reason == "these headers have no TPARTARGMAX on a5" and report.exit_code == ExitCode.OK
    nothing = replace(report, suites=(missing,))
    assert nothing.nothing_ran and nothing.exit_code == ExitCode.USAGE


def test_a_checkout_that_lacks_it_takes_no_suite(tmp_path, capsys):
    spec = tmp_path / "spec.yaml"
    spec.write_text(
        "op: tpartargmax\nplatform: a5\ndtype: float32\nidx_dtype: uint32\ndst: [2, 8]\nsrc0: [2, 8]\nsrc1: [1, 8]\n"
    )
    checkout = tmp_path / "pto-isa"
    lists = checkout / "tests/npu/a5/src/st/testcase/CMakeLists.txt"
    for file, text in ((lists, "set(ALL_TESTCASES\n    tadd\n)\n"), (checkout / "include/pto/pto-inst.hpp", "")):
        file.parent.mkdir(parents=True)
        file.write_text(text)
    assert main(["kernel", str(spec), "--into", str(checkout)]) == ExitCode.USAGE
    said = "PTG116: a5-tpartargmax cannot be built there: the headers have no TPARTARGMAX on a5"
    assert f"error {said}" in capsys.readouterr().err and not (checkout / ".ptogen").exists()
    assert main(["kernel", str(spec), "--into", str(checkout), "--force"]) == ExitCode.OK
    assert f"warning {said}" in capsys.readouterr().err and (lists.parent / "tpartargmax" / "main.cpp").is_file()
    header = checkout / "include/pto/npu/a5/TPartArgMax.hpp"
    header.parent.mkdir(parents=True)
    header.touch()
    assert main(["kernel", str(spec), "--into", str(checkout)]) == ExitCode.OK
    assert not capsys.readouterr().err.count("PTG116")


KERNEL = """\
// Not a word of RunLONELY here.
template <typename T, int kRows>
__global__ AICORE void RunSHARED(__gm__ T* dst)
{

    TADD();
}

template <typename T, int... kNumbers>
void LaunchSHARED(void* const* gm, void* stream)
{
    RunSHARED<T, kNumbers...><<<1, nullptr, stream>>>(static_cast<T*>(gm[0]));
}

// UB: 2,816 B
__global__ AICORE void RunLONELY(
    __gm__ half* dst)
{
    TMUL();  // }
}

void LaunchLONELY(void* const* gm, void* stream)
{
    RunLONELY<<<1, nullptr, stream>>>(static_cast<half*>(gm[0]));
}

void LaunchCase(const std::string& name, void* const* gm, void* stream)
{
    const auto launch = [&](const char* own, void (*launcher)(void* const* gm, void* stream)) {
        if (name == own) {
            launcher(gm, stream);
        }
    };
    launch("case_a", LaunchSHARED<float, 1>);
    launch(
        "case_a_b",
        LaunchSHARED<half, 2>);
    launch("lonely", LaunchLONELY);
}
"""


@pytest.mark.parametrize(
    ("left_out", "gone"),
    [
        ({"case_a"}, {"SHARED<float, 1>"}),
        ({"case_a_b"}, {"SHARED<half, 2>", '"case_a_b"'}),
        ({"lonely"}, {"RunLONELY(", "TMUL", "LaunchLONELY"}),
    ],
)
def test_a_case_is_left_out_and_the_others_keep_their_lines(left_out, gone):
    lines, before = cut.without(KERNEL, left_out).split("\n"), KERNEL.split("\n")
    assert len(lines) == len(before)
    assert all(one in (other, "") for one, other in zip(lines, before, strict=True))
    text = "\n".join(lines)
    assert not any(words in text for words in gone)
    assert lines.count("{") == before.count("{") - 2 * ("lonely" in left_out)
    names = {"case_a", "case_a_b", "lonely"}
    assert {name for name in names if f'"{name}"' in text} == names - left_out
    assert cut.without(KERNEL, ()) == KERNEL
