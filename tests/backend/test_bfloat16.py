"""Cases that require bfloat16: they run where the compiler has it, and are told apart where it has not."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner
from small_trees import make_tree

from ptogen.backend import compile, cpu_sim, probe, runtime
from ptogen.backend.compile import Compiler
from ptogen.backend.selection import Selection
from ptogen.cli import cli
from ptogen.report.model import Outcome


@pytest.fixture
def tree(tmp_path_factory):
    """Two suites; only the first has a case that requires bfloat16."""
    root = tmp_path_factory.getbasetemp() / "bfloat16-tree"
    make_tree(root, "sums", ["good", "last"], requires={"last": ["bfloat16"]})
    make_tree(root, "sums", ["good"], platform="a5")
    return root


def kinds(monkeypatch) -> list[runtime.Kind]:
    """The kinds of programs that checks from now on build."""
    prepared = []
    real = runtime.prepare

    def prepare(kind, *rest):
        prepared.append(kind)
        return real(kind, *rest)

    monkeypatch.setattr(runtime, "prepare", prepare)
    return prepared


def outcomes(report) -> dict[str, Outcome]:
    return {f"{suite.key}.{case.name}": case.outcome for suite, case in report.cases}


def test_without_it_the_case_is_not_run_and_says_so(tree, headers, toolchain, monkeypatch):
    monkeypatch.setattr(probe, "has_bfloat16", lambda compiler, headers: False)
    prepared = kinds(monkeypatch)
    report = cpu_sim.check(tree, headers=headers, toolchain=toolchain)
    assert outcomes(report) == {
        "a2a3-sums.good": Outcome.PASSED,
        "a2a3-sums.last": Outcome.NOT_RUN,
        "a5-sums.good": Outcome.PASSED,
    }
    (reason,) = {case.reason for _, case in report.cases if case.outcome is Outcome.NOT_RUN}
    assert reason == "the compiler has no bfloat16"
    assert [kind.bfloat16 for kind in prepared] == [False]


def test_with_it_the_case_runs_and_its_suite_has_the_options(tree, headers, toolchain, monkeypatch):
    monkeypatch.setattr(probe, "has_bfloat16", lambda compiler, headers: True)
    # In the place of the real options, which this compiler may not know.
    monkeypatch.setattr(compile, "BFLOAT16", (toolchain.compiler.standard, "-DPTOGEN_TEST_BFLOAT16=1"))
    prepared = kinds(monkeypatch)
    report = cpu_sim.check(tree, headers=headers, toolchain=toolchain)
    assert set(outcomes(report).values()) == {Outcome.PASSED}
    assert sorted(kind.bfloat16 for kind in prepared) == [False, True]
    for kind in prepared:
        options = runtime.options_of(kind, toolchain.compiler, headers)
        assert ("-DPTOGEN_TEST_BFLOAT16=1" in options) is kind.bfloat16
        assert sum(option.startswith("-std=") for option in options) == 1


def test_the_options_do_not_hang_on_what_is_selected(tree, headers, toolchain, monkeypatch):
    """Otherwise a selection would build the whole suite once more."""
    monkeypatch.setattr(probe, "has_bfloat16", lambda compiler, headers: True)
    monkeypatch.setattr(compile, "BFLOAT16", (toolchain.compiler.standard, "-DPTOGEN_TEST_BFLOAT16=1"))
    prepared = kinds(monkeypatch)
    cpu_sim.check(tree, headers=headers, toolchain=toolchain, select=Selection("a2a3-sums.good"))
    assert [kind.bfloat16 for kind in prepared] == [True]


def test_nobody_is_asked_where_no_case_requires_it(tree, headers, toolchain, monkeypatch):
    monkeypatch.setattr(probe, "has_bfloat16", None)
    report = cpu_sim.check(tree, headers=headers, toolchain=toolchain, select=Selection(suites=["a5-sums"]))
    assert report.counts[Outcome.PASSED] == 1


def test_the_probe_agrees_with_the_compiler_and_remembers_success(headers, toolchain, monkeypatch, tmp_path):
    monkeypatch.setenv("PTOGEN_CACHE", str(tmp_path / "cache"))
    source = tmp_path / "plain.cpp"
    source.write_text(
        "#include <stdfloat>\n#if __cplusplus < 202302L || !defined(__STDCPP_BFLOAT16_T__)\n#error none\n#endif\n"
        "int main() { return static_cast<float>(static_cast<std::bfloat16_t>(0x1p100f)) == 0x1p100f ? 0 : 1; }\n"
    )
    built = compile.compile_program(toolchain.compiler, source, tmp_path / "plain", ["-std=c++23"])
    found = probe.has_bfloat16(toolchain.compiler, headers)
    assert found is (built.returncode == 0)
    monkeypatch.setattr(compile, "compile_program", None)
    if found:
        assert probe.has_bfloat16(toolchain.compiler, headers)
    else:
        with pytest.raises(TypeError):
            probe.has_bfloat16(toolchain.compiler, headers)


def test_the_placeholder_is_not_taken_for_one(headers, toolchain, monkeypatch, tmp_path):
    """In C++20 the program compiles, with a float16 that has other bits."""
    monkeypatch.setenv("PTOGEN_CACHE", str(tmp_path))
    monkeypatch.setattr(compile, "BFLOAT16", (toolchain.compiler.standard,))
    expected = toolchain.compiler.standard == "-std=c++23"
    assert probe.has_bfloat16(toolchain.compiler, headers) is expected
    monkeypatch.setattr(probe, "BFLOAT16", f"using Stand_in = _Float16;\n{probe.BFLOAT16}".replace(
        "const bfloat16_t stored = static_cast<bfloat16_t>", "const Stand_in stored = static_cast<Stand_in>"
    ))  # fmt: skip
    assert not probe.has_bfloat16(toolchain.compiler, headers)


@pytest.mark.parametrize(
    ("kind", "major", "standard"),
    [("gcc", 12, "20"), ("gcc", 13, "20"), ("gcc", 14, "23"), ("clang", 16, "20"), ("clang", 19, "20")],
)
def test_the_standard_is_that_of_the_headers_own_build(kind, major, standard):
    assert Compiler(("x",), kind, major, "").standard == f"-std=c++{standard}"


@pytest.mark.parametrize(("has", "word"), [(True, "works, with bfloat16"), (False, "works, without bfloat16")])
def test_backend_list_shows_it(headers, toolchain, monkeypatch, has, word):
    monkeypatch.setattr(probe, "has_bfloat16", lambda compiler, headers: has)
    arguments = ["backend", "list", "--pto-isa", str(headers.include), "--compiler", toolchain.compiler.command[0]]
    assert word in CliRunner().invoke(cli, arguments).output
    data = json.loads(CliRunner().invoke(cli, [*arguments, "--format", "json"]).output)
    assert [row["bfloat16"] for row in data["compilers"]] == [has]
