"""``ptogen sanitize`` from the command line."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

from ptogen.cli import cli

FIXTURES = Path(__file__).parent / "fixtures"


@pytest.fixture(autouse=True)
def _tools(headers, toolchain):
    """The command finds the same headers and compiler by itself."""


def run(*words: str):
    return CliRunner().invoke(cli, ["sanitize", *map(str, words)])


def test_a_clean_kernel():
    result = run(FIXTURES / "clean.cpp", "--platform", "a2a3")
    assert result.exit_code == 0, result.output
    assert "5 cases" in result.output and "no findings" in result.output


def test_an_exception_leaves_a_test_incomplete_and_a_failure_does_not(tmp_path):
    kernel = tmp_path / "kernel.cpp"
    kernel.write_text(
        "#include <gtest/gtest.h>\n#include <pto/pto-inst.hpp>\n"
        "void Kernel() { pipe_barrier(PIPE_ALL); }\n"
        'TEST(A, throws) { ptogen::Launch("Kernel()", 1, Kernel); throw 1; }\n'
        'TEST(A, fails) { ptogen::Launch("Kernel()", 1, Kernel); FAIL() << "C++ exception"; }\n',
        encoding="utf-8",
    )
    result = run(kernel, "--platform", "a2a3")
    assert result.exit_code == 2, result.output
    assert "A.throws: incomplete: Unknown C++ exception thrown in the test body" in result.output
    assert "A.fails: incomplete" not in result.output


def test_one_case_as_json():
    result = run(FIXTURES / "races.cpp", "--platform", "a2a3", "--case", "missing_wait", "--format", "json")
    assert result.exit_code == 1
    (kernel,) = json.loads(result.stdout)["kernels"]
    (case,) = kernel["cases"]
    assert case["name"] == "Races.missing_wait"
    assert {finding["code"] for finding in case["findings"]} == {"PTG411", "PTG421"}


def test_sarif_and_github_say_what_is_not_served(tmp_path):
    broken, ends = tmp_path / "broken.cpp", tmp_path / "ends.cpp"
    broken.write_text("#include <gtest/gtest.h>\nTEST(A, b) { nonsense(); }\n", encoding="utf-8")
    ends.write_text("#include <gtest/gtest.h>\nTEST(A, b) { throw 1; }\n", encoding="utf-8")
    words = (broken, ends, "--platform", "a2a3", "--format")
    result = run(*words, "sarif")
    assert result.exit_code == 2
    (invocation,) = json.loads(result.stdout)["runs"][0]["invocations"]
    assert invocation["executionSuccessful"] is False
    first, second = invocation["toolExecutionNotifications"]
    assert first["message"]["text"].startswith("PTG505: the kernel does not build for recording\n")
    place = first["locations"][0]["physicalLocation"]
    assert place == {"artifactLocation": {"uri": str(broken)}, "region": {"startLine": 2}}
    assert second["message"]["text"].startswith("incomplete: A.b is incomplete: Unknown C++ exception")
    assert second["locations"][0]["physicalLocation"] == {"artifactLocation": {"uri": str(ends)}}
    result = run(*words, "github")
    assert f"::error file={broken},line=2,title=PTG505::the kernel does not build for recording%0A" in result.stdout
    assert f"::error file={ends},title=incomplete::A.b is incomplete: Unknown C++ exception" in result.stdout
    result = run(FIXTURES / "clean.cpp", "--platform", "a2a3", "--format", "sarif")
    assert json.loads(result.stdout)["runs"][0]["invocations"] == [{"executionSuccessful": True}]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupt_ends_the_kernel(tmp_path, number):
    pid, temporary = tmp_path / "pid", tmp_path / "temporary"
    temporary.mkdir()
    kernel = tmp_path / "kernel.cpp"
    kernel.write_text(
        "#include <pto/pto-inst.hpp>\n#include <cstdio>\n#include <unistd.h>\n"
        "void Launch(float*) {\n"
        f'    std::FILE* file = std::fopen("{pid}.new", "w");\n'
        '    std::fprintf(file, "%d", static_cast<int>(getpid()));\n'
        "    std::fclose(file);\n"
        f'    std::rename("{pid}.new", "{pid}");\n'
        "    sleep(60);\n"
        "}\n",
        encoding="utf-8",
    )
    words = [kernel, "--platform", "a2a3", "--call", "Launch(float[8])"]
    command = [sys.executable, "-m", "ptogen", "sanitize", *map(str, words)]
    environment = {**os.environ, "TMPDIR": str(temporary)}
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment) as run:
        while not pid.exists() and run.poll() is None:
            time.sleep(0.1)
        run.send_signal(number)
        _, said = run.communicate()
    assert run.returncode == 130 and said.endswith("ptogen: interrupted\n"), said
    assert list(temporary.iterdir()) == []
    # Who was killed and is not yet waited for is no program any more.
    state = Path(f"/proc/{pid.read_text()}/stat")
    assert not state.exists() or state.read_text().rpartition(")")[2].split()[0] == "Z"


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ([FIXTURES / "clean.cpp"], "its path does not say for which platform"),
        ([FIXTURES / "clean.cpp", "--platform", "a2a3", "--case", "nothing*"], "no test matches 'nothing*'"),
        ([FIXTURES, "--platform", "a2a3"], "there is no main.cpp here"),
    ],
)
def test_what_cannot_be_served(words, says):
    result = run(*words)
    assert result.exit_code == 2
    assert says in result.output


def test_a_signal_has_its_name(tmp_path):
    kernel = tmp_path / "kernel.cpp"
    text = "#include <gtest/gtest.h>\n#include <csignal>\nTEST(A, b) { std::raise(SIGSEGV); }\n"
    kernel.write_text(text, encoding="utf-8")
    result = run(kernel, "--platform", "a2a3")
    assert result.exit_code == 2
    assert "A.b: incomplete: the program ended by SIGSEGV" in result.output


def test_a_file_that_cannot_be_served_is_named_as_it_was_given(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("k.cpp").write_text("#include <gtest/gtest.h>\nTEST(A, b) {}\nTEST(A, c) {}\n", encoding="utf-8")
    result = run("k.cpp")
    assert "k.cpp: error PTG507: its path does not say" in result.output
    assert "hint: give --platform with one of a2a3, a5, cpu, " in result.output
    assert json.loads(run("k.cpp", "--format", "json").stdout)["kernels"][0]["fault"]["file"] == "k.cpp"
    result = run("k.cpp", "--platform", "a2a3", "--case", "d")
    assert "k.cpp: error PTG507: no test matches 'd'\n    it has A.b, A.c\n" in result.output
    result = run("k.cpp", "--platform", "a2a3", "--call", "F(int8[1])", "--case", "d")
    assert "k.cpp: error PTG507: no test matches 'd'\n    it has Call.F\n" in result.output


def test_a_kernel_that_does_not_compile(tmp_path):
    (tmp_path / "broken.cpp").write_text("#include <gtest/gtest.h>\nTEST(A, b) { nonsense(); }\n", encoding="utf-8")
    result = run(tmp_path / "broken.cpp", "--platform", "a2a3")
    assert result.exit_code == 2
    assert f"{tmp_path}/broken.cpp:2:" in result.output
    assert "PTG505" in result.output
    assert sorted(path.name for path in tmp_path.iterdir()) == ["broken.cpp"]


def test_a_linked_test_is_the_platforms_that_its_path_says(tmp_path):
    from ptogen.cli.sanitize import _platform

    own = tmp_path / "npu" / "a2a3" / "src" / "st" / "testcase" / "tx"
    own.mkdir(parents=True)
    linked = tmp_path / "npu" / "a5" / "src" / "st" / "testcase"
    linked.mkdir(parents=True)
    (linked / "tx").symlink_to(own, target_is_directory=True)
    (tmp_path / "mine").symlink_to(own, target_is_directory=True)
    assert [_platform(place) for place in (own, linked / "tx", tmp_path / "mine", tmp_path)] == [
        "a2a3",
        "a5",
        "a2a3",
        None,
    ]
