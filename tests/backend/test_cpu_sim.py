"""The backend on small ST trees: each way in which a case can end, and that nothing else can make one pass."""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from small_trees import edit_manifest, make_tree

from ptogen import output
from ptogen.backend import build, cache, cpu_sim, probe, runtime, since, suite_run
from ptogen.backend.selection import Selection, choose
from ptogen.cli import main
from ptogen.errors import Diagnostic, ExitCode, PtogenError
from ptogen.ops import catalogue
from ptogen.platforms import PLATFORMS
from ptogen.render.suite import shared_file
from ptogen.report.model import Outcome
from ptogen.report.progress import Progress

SUMS = ["good", "wrong", "crash", "hang", "leave", "overflow", "last", "skipped", "absent"]
SORTS = {
    "floats": ["TSORT32_INDEX_VALUE"],
    "broadcast": ["TSORT32_INDEX_VALUE", "TSORT32_IDX_SHAPE"],
    "halves": ["TSORT32_INDEX_VALUE", "TSORT32_HALF_BLOCKS"],
}


def break_kernel(directory: Path) -> None:
    (directory / "sums_kernel.cpp").write_text("#include <pto/pto-inst.hpp>\nint x = nothing;\n")


@pytest.fixture(scope="module")
def tree(tmp_path_factory) -> Path:
    """Four suites: sums, sorts in both modes, and one that does not compile."""
    root = tmp_path_factory.mktemp("tree")
    make_tree(root, "sums", SUMS)
    make_tree(root, "sorts", list(SORTS), defects=SORTS)
    make_tree(root, "sorts", list(SORTS), defects=SORTS, platform="a5", mode="auto")
    make_tree(root, "sums", ["good"], platform="a5", edit=break_kernel)
    return root


@pytest.fixture(scope="module")
def place(tmp_path_factory) -> Path:
    """Where several tests in turn make their tree, so that its program is built once."""
    return tmp_path_factory.mktemp("place")


@pytest.fixture(scope="module")
def check(headers, toolchain):
    """Checks a tree with what is at hand; tests run with variables that must not matter."""

    def run(tree: Path, **options):
        return cpu_sim.check(tree, headers=headers, toolchain=toolchain, **{"timeout": 5.0, **options})

    return run


@pytest.fixture(scope="module")
def report(tree, check):
    """The tree as ptogen checks it, in an environment that means ill."""
    before = {path: path.read_bytes() for path in tree.rglob("*") if path.is_file()}
    ill = {"CXXFLAGS": "-DNDEBUG -O9", "GTEST_FILTER": "none", "GTEST_OUTPUT": "xml", "PTOGEN_UB_BYTES": "1"}
    saved = dict(os.environ)
    os.environ.update(ill)
    try:
        found = check(tree)
    finally:
        os.environ.clear()
        os.environ.update(saved)
    assert {path: path.read_bytes() for path in tree.rglob("*") if path.is_file()} == before
    return found


def cases(report, key):
    return {case.name: case for suite in report.suites if suite.key == key for case in suite.cases}


def test_right_results_pass(report):
    for key in ("a2a3-sorts", "a5-sorts"):
        assert [case.outcome for case in cases(report, key).values()] == [Outcome.PASSED] * 3
    sums = cases(report, "a2a3-sums")
    assert sums["good"].outcome is sums["last"].outcome is Outcome.PASSED
    assert report.exit_code is ExitCode.FINDING


def test_a_wrong_result_fails_with_what_the_program_printed(report):
    wrong = cases(report, "a2a3-sums")["wrong"]
    assert (wrong.outcome, wrong.code) == (Outcome.FAILED, None)
    assert wrong.output[0] == "column 40: 40.5 and not 41.5"


@pytest.mark.parametrize(
    ("case", "reason", "words"),
    [
        ("crash", "ended by SIGABRT", "about to fall"),
        ("hang", "no result after 5 s", ""),
        ("leave", "ended with status 0 in the middle of its tests", ""),
        ("overflow", "ended by SIGABRT", "a tile of 256 B at UB 0x30000"),
        ("absent", "the program has no such test", ""),
    ],
)
def test_no_result_is_a_failure(report, case, reason, words):
    found = cases(report, "a2a3-sums")[case]
    assert (found.outcome, found.code, found.reason) == (Outcome.FAILED, "PTG506", reason)
    assert words in "\n".join(found.output)


def test_a_skipped_test_did_not_run(report):
    assert cases(report, "a2a3-sums")["skipped"].outcome is Outcome.NOT_RUN


def test_a_suite_that_does_not_compile_costs_its_own_cases(report):
    (found,) = cases(report, "a5-sums").values()
    assert (found.outcome, found.code) == (Outcome.FAILED, "PTG505")
    assert "sums_kernel.cpp:2:9: the suite does not build" in found.reason
    assert any("error:" in line and "nothing" in line for line in found.output)


def test_calls_are_counted(report, headers, toolchain):
    present = probe.present(toolchain.compiler, headers)
    calls = next(suite for suite in report.suites if suite.key == "a2a3-sorts").calls
    calls = next(one for one in calls if one.instruction == "TSORT32")
    assert calls.upstream + sum(calls.corrected.values()) == 3
    assert set(calls.corrected) <= present
    assert calls.corrected.get("TSORT32_IDX_SHAPE", 0) == ("TSORT32_IDX_SHAPE" in present)


def test_pristine_headers_show_the_known_defects(tree, check, headers, toolchain):
    present = probe.present(toolchain.compiler, headers)
    found = check(tree, pristine=True, select=Selection("*-sorts.*"))
    for name, case in cases(found, "a2a3-sorts").items():
        real = [defect for defect in SORTS[name] if defect in present]
        assert case.outcome is (Outcome.KNOWN_DEFECT if real else Outcome.PASSED)
        assert case.reason == ", ".join(real)
    assert found.exit_code is ExitCode.OK
    assert all(not suite.calls for suite in found.suites)
    assert {row.id for row in found.vanished} == {name for names in SORTS.values() for name in names} - present


def test_what_the_table_does_not_explain_stays_a_failure(tree, check, monkeypatch):
    monkeypatch.setattr(probe, "present", lambda compiler, headers: frozenset())
    found = check(tree, pristine=True, select=Selection("a2a3-sorts.broadcast"))
    assert found.counts[Outcome.FAILED] == 1 and found.exit_code is ExitCode.FINDING
    assert "TSORT32_IDX_SHAPE" in {row.id for row in found.vanished}


def test_a_build_file_that_cmake_cannot_read(tmp_path, check):
    make_tree(tmp_path, "sums", ["good"])
    make_tree(
        tmp_path, "sums", ["good"], platform="a5", edit=lambda place: (place / "CMakeLists.txt").write_text("pto_x(\n")
    )
    found = check(tmp_path)
    assert cases(found, "a2a3-sums")["good"].outcome is Outcome.PASSED
    assert cases(found, "a5-sums")["good"].code == "PTG505"


def test_a_generator_that_fails(place, check):
    script = "import sys\nsys.exit('no numbers today')\n"
    tree = make_tree(place, "sums", ["good", "last"], edit=lambda suite: (suite / "gen_data.py").write_text(script))
    for case in cases(check(tree), "a2a3-sums").values():
        assert (case.code, case.output) == ("PTG506", ("no numbers today",))


def test_a_generator_gets_the_time_of_its_cases(place, check):
    script = "import time\ntime.sleep(60)\n"
    tree = make_tree(place, "sums", ["good", "last"], edit=lambda suite: (suite / "gen_data.py").write_text(script))
    for case in cases(check(tree, timeout=0.5), "a2a3-sums").values():
        assert (case.code, case.reason) == ("PTG506", "gen_data.py gave no result after 1 s (0.5 s a case)")


def test_data_of_an_earlier_run_is_not_used(place, check):
    tree = make_tree(place, "sums", ["good"])
    assert check(tree).counts[Outcome.PASSED] == 1
    (next(tree.rglob("gen_data.py"))).write_text("pass\n")
    assert check(tree).counts[Outcome.FAILED] == 1


def test_fail_fast_leaves_the_rest(place, check):
    tree = make_tree(place, "sums", ["good", "wrong", "last"])
    found = cases(check(tree, fail_fast=True), "a2a3-sums")
    assert [case.outcome for case in found.values()] == [Outcome.PASSED, Outcome.FAILED, Outcome.NOT_RUN]
    assert "--fail-fast" in found["last"].reason


def test_fail_fast_takes_no_shared_header_from_the_cache(monkeypatch):
    """Suites that are neither built nor at fault are no sign of a stale header."""
    kind = runtime.Kind("manual", False, frozenset())
    tried, taken, told = [], [], []

    def one_fault(place, sources, runtimes, toolchain, *, ended, **choices):
        tried.append(len(sources))
        ended("one", fault)

    monkeypatch.setattr(build, "build", one_fault)
    monkeypatch.setattr(runtime, "prepare", lambda *arguments: "header")
    monkeypatch.setattr(runtime, "discard", taken.append)
    arguments = [(key, Path(), kind) for key in ("one", "two")], SimpleNamespace(compiler="g++"), None, 1
    choices = suite_run.Stop(True), Progress(), lambda key, fault: told.append(key)
    fault = Diagnostic("PTG505", "the suite does not build", details=("error: x",))
    cpu_sim._build(None, *arguments, *choices)
    assert (tried, taken, told) == ([2], [], ["one"])
    fault = replace(fault, details=("error: PCH file 'x' has been modified",))
    cpu_sim._build(None, *arguments, *choices)
    assert (tried, told) == ([2, 2, 2], ["one", "one"]) and taken


def test_fail_fast_runs_no_program_that_was_not_built(tmp_path, headers, toolchain):
    """Where Ninja fails and names no step, a program of an earlier run may stand there still."""
    tree, broken, ninja = make_tree(tmp_path / "tree", "sums", ["good"]), tmp_path / "broken", tmp_path / "ninja"
    ninja.write_text(f'#!/bin/sh\n[ ! -e "{broken}" ] || exit 1\nexec {toolchain.ninja} "$@"\n')
    ninja.chmod(0o755)
    tools = replace(toolchain, ninja=str(ninja))
    assert cpu_sim.check(tree, headers=headers, toolchain=tools).counts[Outcome.PASSED] == 1
    broken.touch()
    report = cpu_sim.check(tree, headers=headers, toolchain=tools, fail_fast=True)
    (found,) = cases(report, "a2a3-sums").values()
    assert (found.outcome, found.code) == (Outcome.FAILED, "PTG505")


def programs(tree: Path) -> dict[Path, int]:
    """When each program of a tree was linked; others use the cache at the same time."""
    links = [link for link in cache.root().glob("builds/*/sources/*") if link.resolve().is_relative_to(tree)]
    found = [path for link in links for path in link.parents[1].rglob("bin/program")]
    return {path: path.stat().st_mtime_ns for path in found}


def test_only_what_changed_is_built_again(place, check):
    tree = make_tree(place, "sums", ["good"])
    assert check(tree).counts[Outcome.PASSED] == 1
    before = programs(tree)
    assert before
    second = check(tree)
    assert second.counts[Outcome.PASSED] == 1 and not second.notes
    assert programs(tree) == before
    # The program of the last run must not stand in for one that no longer compiles.
    directory = next(tree.glob("tests/npu/a2a3/src/st/testcase/sums"))
    break_kernel(directory)
    third = check(tree)
    assert cases(third, "a2a3-sums")["good"].code == "PTG505"
    (note,) = third.notes
    assert note.severity == "note" and "sums_kernel.cpp" in str(note.position)


@pytest.mark.parametrize("name", ["main.cpp", "own.h"])
def test_a_text_with_an_old_time_stamp_is_checked(tmp_path, check, name):
    """Such as one that was put back, copied or unpacked with its own."""
    tree = make_tree(tmp_path, "sums", ["wrong"])
    folder = next(tree.glob("tests/npu/a2a3/src/st/testcase/sums"))
    main = (folder / "main.cpp").read_text().replace("wrong) { Compare(0); }", "wrong) { OWN }")
    (folder / "main.cpp").write_text(f'#include "own.h"\n{main}')
    (folder / "own.h").write_text("#define OWN Compare(0);\n")
    assert check(tree).counts[Outcome.FAILED] == 1
    mended = {"main.cpp": main.replace("OWN", ""), "own.h": "#define OWN\n"}
    (folder / name).write_text(mended[name])
    os.utime(folder / name, (1, 1))
    assert check(tree).counts[Outcome.PASSED] == 1


def test_what_suites_share_is_on_the_include_path(tmp_path, check):
    path, text = shared_file("tests/common/own.h", "#define OWN\n")
    name = path.rpartition("/")[2]

    def include(folder: Path) -> None:
        main = (folder / "main.cpp").read_text().replace("wrong) { Compare(0); }", "wrong) { OWN }")
        (folder / "main.cpp").write_text(f'#include "{name}"\n{main}')

    tree = make_tree(tmp_path, "sums", ["wrong"], edit=include, shared={path: text})
    first = check(tree)
    assert first.counts[Outcome.PASSED] == 1 and not first.notes
    (tree / path).write_text("#define OWN Compare(0);\n")
    os.utime(tree / path, (1, 1))
    second = check(tree)
    assert second.counts[Outcome.FAILED] == 1
    assert [str(note.position) for note in second.notes] == [str(tree / path)]
    (tree / path).unlink()
    (fault,) = cases(check(tree), "a2a3-sums").values()
    assert fault.code == "PTG100" and f"{path} is missing" in fault.output


@pytest.mark.parametrize(
    ("select", "count"), [("good", 1), ("a2a3-sums.l*", 2), ("SUMSTest.last", 1), ("SUMSTest.*", 3), (None, 3)]
)
def test_selection(tmp_path, select, count):
    tree = make_tree(tmp_path, "sums", ["good", "leave", "last"])
    ((_, chosen),) = choose(tree, Selection(select))
    assert len(chosen) == count


def test_nothing_to_check(tmp_path, check):
    for place, words in ((tmp_path, "no manifest of ptogen is here"), (tmp_path / "nowhere", "this is no directory")):
        with pytest.raises(PtogenError, match=f"PTG507: {words}"):
            check(place)
    make_tree(tmp_path, "sums", ["good"])
    with pytest.raises(PtogenError, match="PTG507: no case matches 'nothing'"):
        check(tmp_path, select=Selection("nothing"))


@pytest.mark.parametrize("damage", ['"op": 1', '"test_suite": "A.B"', '"ub_bytes": "many"', '"mode": null'])
def test_a_manifest_that_says_too_little(tmp_path, check, damage):
    tree = make_tree(tmp_path, "sums", ["good"])
    edit_manifest(tree, "a2a3-sums", lambda data: data["suite"].update(json.loads(f"{{{damage}}}")))
    with pytest.raises(PtogenError, match=r"a2a3-sums.json: error PTG507: the manifest does not say what to run"):
        check(tree)


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        ({"defects": 5}, "cases[0].defects is no list of names"),
        ({"defects": None}, "cases[0].defects is no list of names"),
        ({"defects": [[1]]}, "cases[0].defects is no list of names"),
        ({"requires": 5}, "cases[0].requires is no list of names"),
        ({"requires": [5]}, "cases[0].requires is no list of names"),
        ({"requires": ["x"]}, "cases[0].requires has 'x', which this version of ptogen does not know"),
        ({"name": "a b"}, "cases[0].name is no C identifier"),
    ],
)
def test_a_manifest_with_a_case_that_makes_no_sense(tmp_path, check, damage, words):
    tree = make_tree(tmp_path, "sums", ["good"])
    edit_manifest(tree, "a2a3-sums", lambda data: data["cases"][0].update(damage))
    with pytest.raises(PtogenError) as error:
        check(tree)
    (fault,) = error.value.diagnostics
    assert fault.code == "PTG507" and words in fault.message and "--force" in str(fault.hint)


@pytest.mark.parametrize(
    "edit",
    [
        lambda data: data["suite"].update(ub_bytes=200_000),
        lambda data: data["cases"].pop(),
        lambda data: data["cases"].append(data["cases"][0]),
    ],
    ids=["ub_bytes", "removed", "doubled"],
)
def test_a_manifest_edited_by_hand_is_not_believed(tmp_path, check, edit):
    tree = make_tree(tmp_path, "sums", ["good", "wrong"])
    path = edit_manifest(tree, "a2a3-sums", edit, sealed=False)
    with pytest.raises(PtogenError) as error:
        check(tree)
    (fault,) = error.value.diagnostics
    assert (fault.code, fault.position.file) == ("PTG100", str(path))
    assert "edited by hand" in fault.message and fault.hint == "render the suite again"


def test_a_test_of_the_program_that_no_manifest_names(tmp_path, check):
    """Such as one that was taken out of the manifest, or was added to main.cpp."""
    tree = make_tree(tmp_path, "sums", ["good", "wrong"])
    edit_manifest(tree, "a2a3-sums", lambda data: data["cases"].pop())
    (good,) = cases(check(tree), "a2a3-sums").values()
    assert (good.outcome, good.code) == (Outcome.FAILED, "PTG506")
    assert good.reason == "the program holds tests that its manifest does not name: SUMSTest.wrong"


def test_a_suite_without_a_manifest_is_named(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("spec.yaml").write_text("op: tsort32\nplatform: [a2a3, cpu]\nname: one\ndtype: float32\nrows: 2\ncols: 13\n")
    assert main(["kernel", "spec.yaml", "-o", "out"]) == 0
    theirs = Path("out/tests/npu/a2a3/src/st/testcase/tadd")
    theirs.mkdir()
    (theirs / "CMakeLists.txt").write_text("pto_vec_st(tadd)\n")
    assert cpu_sim.look(Path("out"), output.read(Path("out"))) == ([], {})
    Path("out/.ptogen/cpu-one.json").unlink()
    ((warning,), faults) = cpu_sim.look(Path("out"), output.read(Path("out")))
    assert (warning.code, warning.severity, faults) == ("PTG507", "warning", {})
    assert (
        warning.position.file == "out/tests/cpu/st/testcase/one" and "no manifest names this suite" in warning.message
    )
    Path("out/.ptogen/a2a3-one.json").unlink()
    with pytest.raises(PtogenError) as error:
        choose(Path("out"), Selection())
    assert [fault.code for fault in error.value.diagnostics] == ["PTG507"] * 3
    assert main(["kernel", "spec.yaml", "-o", "out"]) == 0
    assert cpu_sim.look(Path("out"), output.read(Path("out"))) == ([], {})


@pytest.mark.parametrize("what", ["sums", "sums/main.cpp", "../testcase"])
def test_a_symbolic_link_is_named(tmp_path, what):
    tree = make_tree(tmp_path / "tree", "sums", ["good"])
    place = Path(os.path.normpath(next(tree.rglob("sums")).parent / what))
    place.rename(tmp_path / "elsewhere")
    place.symlink_to(tmp_path / "elsewhere")
    ((note,), faults) = cpu_sim.look(tree, output.read(tree))
    assert (note.code, note.severity, note.position.file, faults) == ("PTG112", "note", str(place), {})
    assert str(tmp_path / "elsewhere") in note.message


def test_every_requirement_of_an_op_is_known():
    op = catalogue()["tpartadd"]
    case = op.Case(dtype="bfloat16", src0=(1, 4), src1=(1, 4), dst=(1, 4))
    required = op.requires(case, PLATFORMS["a5"])
    assert required and set(required) <= {suite_run.BFLOAT16, *since.known()}


def loss(what: str, directory: Path) -> None:
    main = directory / "main.cpp"
    if what == "directory":
        shutil.rmtree(directory)
    else:
        main.unlink()
    if what == "a directory in its place":
        main.mkdir()
    elif what == "a pipe in its place":
        os.mkfifo(main)


@pytest.mark.parametrize(
    ("what", "words"),
    [
        ("file", "main.cpp is missing"),
        ("directory", "the directory of the suite is missing"),
        ("a directory in its place", "main.cpp is not a regular file"),
        ("a pipe in its place", "main.cpp is not a regular file"),
    ],
)
@pytest.mark.parametrize("pristine", [False, True])
def test_a_suite_without_its_files_costs_its_own_cases(tmp_path, check, what, words, pristine):
    make_tree(tmp_path, "sums", ["good"])
    make_tree(tmp_path, "sums", ["good"], platform="a5", defects={"good": ["TPARTADD_DTYPES"]})
    loss(what, tmp_path / "tests/npu/a5/src/st/testcase/sums")
    found = check(tmp_path, pristine=pristine)
    assert cases(found, "a2a3-sums")["good"].outcome is Outcome.PASSED
    case = cases(found, "a5-sums")["good"]
    said = "\n".join((case.reason, *case.output))
    assert (case.outcome, case.code) == (Outcome.FAILED, "PTG100")
    assert words in said and "a5/src/st/testcase/sums" in said and "hint: render the suite again" in said
    assert found.exit_code is ExitCode.FINDING


def test_a_file_that_cannot_be_read_is_named(tmp_path, check, monkeypatch):
    tree = make_tree(tmp_path, "sums", ["good"])
    read = Path.read_bytes

    def refuse(path: Path) -> bytes:
        if path.name == "main.cpp":
            raise PermissionError(13, "Permission denied", str(path))
        return read(path)

    monkeypatch.setattr(Path, "read_bytes", refuse)
    case = cases(check(tree), "a2a3-sums")["good"]
    assert case.code == "PTG100" and "main.cpp cannot be read: permission denied" in case.output[0]


def test_a_stale_precompiled_header_is_recognized():
    lines = "fatal error: file 'x.h' has been modified since the precompiled header 'pto.hpp.pch' was built"
    assert build.is_stale(Diagnostic("PTG505", "the suite does not build", details=(lines,)))
    assert not build.is_stale(Diagnostic("PTG505", "the suite does not build", details=("error: x",)))


ODD = ["a b$c (d);e", "a\\b", "a|b", "a\nb", 'a"b', os.fsdecode(b"a\xffb")]


@pytest.mark.parametrize("name", ODD, ids=ascii)
def test_a_tree_with_odd_signs_in_its_path(tmp_path, check, name):
    """No tool gets to see them, and whoever reads a report sees nothing else."""
    make_tree(tmp_path / "a" / "b", "sums", ["good"], edit=break_kernel)  # CMake takes a backslash for a slash
    odd = make_tree(tmp_path / name, "sums", ["good", "wrong"])
    make_tree(odd, "sums", ["good"], platform="a5", edit=break_kernel)
    place = str(odd / "tests/npu/{}/src/st/testcase/sums")
    found = check(odd)
    good, wrong, broken = (case for _, case in found.cases)
    assert good.outcome is Outcome.PASSED, good
    assert wrong.outcome is Outcome.FAILED and wrong.code is None
    assert any(line.startswith(place.format("a2a3") + "/main.cpp:") for line in wrong.output), wrong
    assert broken.code == "PTG505" and broken.reason.startswith(place.format("a5") + "/sums_kernel.cpp:2:"), broken
    assert broken.output[0].startswith(place.format("a5") + "/sums_kernel.cpp:2:")


def test_a_suite_that_stands_elsewhere_is_built_from_there(tmp_path, check):
    first, other = (tmp_path / "first", tmp_path / "other")
    make_tree(first, "sums", ["good"])
    make_tree(other, "sums", ["good"], edit=break_kernel)
    (tmp_path / "tree").symlink_to(first)
    assert check(tmp_path / "tree").counts[Outcome.PASSED] == 1
    (first / "tests").rename(first / "moved")
    (first / "tests").symlink_to(other / "tests")
    assert cases(check(tmp_path / "tree"), "a2a3-sums")["good"].code == "PTG505"


FOUND = '-- Found GTest: /usr/lib/GTestConfig.cmake (found version "1.12.1")\n'


@pytest.mark.parametrize(
    ("output", "code", "reason"),
    [
        (
            FOUND + "CMake Error at CMakeLists.txt:50 (add_subdirectory):\n  no such folder\n\n\n-- Tail\n",
            "PTG505",
            "no such",
        ),
        (
            "CMake Error at x.cmake:230 (message):\n  Could NOT find GTest (missing: y)\nCall Stack\n",
            "PTG504",
            "Could NOT",
        ),
        ("CMake Error at CMakeLists.txt:14 (find_package):\n\n  By not providing\n  GTest\n", "PTG504", "By not"),
    ],
)
def test_a_project_that_cannot_be_configured(output, code, reason):
    said = build._configure_fault(output)
    assert said.code == code and said.details[0].startswith("CMake Error at ") and reason in said.details[1]
    assert not any("Tail" in line or "Stack" in line or "Found GTest" in line for line in said.details)
