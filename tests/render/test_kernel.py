"""The rendered suite: one text on every machine, in pto-isa's style, that every compiler of ours takes as it is."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from ptogen.backend.host_kernel import for_cost_model, for_simulator
from ptogen.check import check_suite
from ptogen.plan.suite import plan_suite
from ptogen.platforms import PLATFORMS
from ptogen.render.cpp import format_cpp
from ptogen.render.instances import TYPE, Sheet, families
from ptogen.render.st import render
from ptogen.render.suite import RenderedSuite
from ptogen.spec.load import load_text

CASES = """
  - {dtype: float32, rows: 2, cols: 13}
  - {dtype: float16, rows: 4, cols: 64, idx: broadcast, name: one_row}
  - {dtype: float16, rows: 4, cols: 64, valid: [3, 50], name: part}
  - {dtype: float16, rows: 1, cols: 8161}
  - {dtype: float32, rows: 1, cols: 8150, data: ties}
  - {dtype: float16, rows: 2, cols: 2041, idx: broadcast}
"""


def rendered(platform: str, mode: str = "manual", cases: str = CASES) -> RenderedSuite:
    (suite,) = load_text(f"op: tsort32\nplatform: {platform}\nmode: {mode}\ncases:{cases}", "spec.yaml")
    plans = plan_suite(suite)
    check_suite(suite, plans)
    return render(suite, plans)


def kernel(suite: RenderedSuite) -> str:
    return next(text for path, text in suite.files.items() if path.endswith("_kernel.cpp"))


def test_the_files_stand_where_pto_isa_has_them():
    suite = rendered("kirinx90")
    folder = "tests/npu/kirinX90/src/st/testcase/tsort32"
    assert sorted(suite.files) == [
        f"{folder}/{name}" for name in ("CMakeLists.txt", "gen_data.py", "main.cpp", "tsort32_kernel.cpp")
    ]
    assert suite.files[f"{folder}/CMakeLists.txt"].splitlines()[-1] == "pto_vec_st(tsort32)"
    assert "pto_cpu_sim_st(tsort32)" in rendered("cpu").files["tests/cpu/st/testcase/tsort32/CMakeLists.txt"]


def test_a_name_is_written_once_and_used_everywhere():
    suite = rendered("a2a3")
    texts = {path.rsplit("/", 1)[1]: text for path, text in suite.files.items()}
    assert "TEST_F(TSORT32Test, one_row)" in texts["main.cpp"]
    assert '"one_row": {' in texts["gen_data.py"] and 'SUITE = "TSORT32Test"' in texts["gen_data.py"]
    assert 'launch("one_row", LaunchTSORT32' in texts["tsort32_kernel.cpp"]


def launchers(text: str) -> dict[str, str]:
    """What launches each case."""
    return dict(re.findall(r'\blaunch\(\s*"(\w+)",\s*(Launch[^;]*)\);', text))


def test_cases_whose_programs_have_the_same_steps_are_instances_of_one_template():
    text = kernel(
        rendered(
            "a2a3",
            cases="""
  - {dtype: float32, rows: 2, cols: 13, name: first}
  - {dtype: float16, rows: 3, cols: 13, name: halves}
  - {dtype: float32, rows: 2, cols: 13, name: second, data: ties}
  - {dtype: float32, rows: 2, cols: 64, name: aligned}
  - {dtype: float32, rows: 2, cols: 13, name: narrower, valid: [2, 12]}
""",
        )
    )
    assert re.findall(r"AICORE void (\w+)", text) == ["RunTSORT32_1", "RunTSORT32_2"]
    parameters = (
        "typename T, int kRows, int kCols, int kDstCols, int kDstPitch, int kDstTileCols, int kDstAddr, int kTmpAddr"
    )
    assert f"template <{parameters}>" in " ".join(text.split()).replace("< ", "<")
    assert launchers(text) == {
        "first": "LaunchTSORT32_1<float, 2, 13, 26, 26, 64, 0x200, 0x400>",
        "halves": "LaunchTSORT32_1<half, 3, 13, 52, 52, 128, 0x300, 0x600>",
        "second": "LaunchTSORT32_1<float, 2, 13, 26, 26, 64, 0x200, 0x400>",
        "aligned": "LaunchTSORT32_2",
        "narrower": "LaunchTSORT32_1<float, 2, 12, 24, 26, 64, 0x200, 0x400>",
    }
    assert "UbTile<float, 2, 64, 2, 64> srcTile;" in text  # nothing of a single case is a parameter
    assert "UbTile<T, kRows, 32, kRows, kCols> srcTile;" in text  # nor what all cases share


def test_values_that_differ_in_what_they_count_never_share_a_parameter():
    """Rows and columns that are equal in every case are two parameters, and a type is none with a number."""
    one, other = Sheet(), Sheet()
    for sheet, rows, cols, kind in ((one, 4, 4, "half"), (other, 8, 8, "float")):
        words = [sheet.slot("src", TYPE, kind), sheet.slot("src", "Rows", rows), sheet.slot("src", "Cols", cols)]
        words += [sheet.slot("dst", "Rows", rows), sheet.slot("dst", "TileCols", 32), sheet.slot("dst", "Addr", rows)]
        sheet.text = " ".join(words)
    (family,) = families([one, other])
    assert family.text() == "T kRows kSrcCols kRows 32 kDstAddr"
    assert [family.arguments(place) for place in (0, 1)] == [["half", "4", "4", "4"], ["float", "8", "8", "8"]]
    other.text += " "
    assert [found.members for found in families([one, other])] == [(0,), (1,)]


def test_attributes_that_are_numbers_are_parameters_and_others_are_not():
    cases = "".join(
        f"  - {{dtype: float32, variant: single, cols: {cols}, block_len: {block}}}\n"
        for cols, block in ((256, 64), (512, 128))
    )
    cases += "".join(
        f"  - {{dtype: float32, variant: multi, lists: [4, 8], exhausted: {word}}}\n" for word in ("true", "false")
    )
    (suite,) = load_text(f"op: tmrgsort\nplatform: a2a3\ncases:\n{cases}", "spec.yaml")
    text = kernel(render(suite, plan_suite(suite)))
    assert "TMRGSORT(dstTile, srcTile, kBlockLen);" in text
    assert list(launchers(text).values())[:2] == [
        "LaunchTMRGSORT_1<256, 0x400, 64>", "LaunchTMRGSORT_1<512, 0x800, 128>",
    ]  # fmt: skip
    assert len(set(launchers(text).values())) == 4


def test_manual_kernels_guard_their_flags_and_auto_kernels_have_none():
    text = kernel(rendered("a2a3"))
    depth = 0
    for line in text.splitlines():
        depth += line.startswith("#ifndef __PTO_AUTO__")
        if line.strip().startswith(("set_flag", "wait_flag", "pipe_barrier")):
            assert depth == 1, line
        if depth and line.startswith("#endif"):
            depth = 0
    auto = kernel(rendered("a5", "auto"))
    assert not any(word in auto for word in ("TASSIGN", "set_flag", "wait_flag", "pipe_barrier", "__PTO_AUTO__"))


def test_text_is_in_pto_isas_style_and_stays_so():
    for path, text in rendered("a5").files.items():
        if path.endswith(".cpp"):
            assert format_cpp({"text": text})["text"] == text
            assert all(len(line) <= 120 for line in text.splitlines())
            assert "\t" not in text and not any(line != line.rstrip() for line in text.splitlines())


def test_it_names_its_version_and_content_and_nothing_of_the_machine(tmp_path):
    one, other = rendered("a2a3"), rendered("a2a3", cases=CASES.replace("13", "14"))
    assert one.meta["spec"] != other.meta["spec"]
    assert one.meta["spec"][:16] in kernel(one)
    assert not any(str(Path.cwd()) in text or os.uname().nodename in text.split() for text in one.files.values())


def test_a_licence_header_stands_on_top():
    (suite,) = load_text("op: tsort32\nplatform: a2a3\ndtype: float32\nrows: 1\ncols: 32\n", "spec.yaml")
    for path, text in render(
        suite, plan_suite(suite), license_header="Copyright of somebody\nAll rights"
    ).files.items():
        first = text.splitlines()[:2]
        assert any("Copyright of somebody" in line for line in first), path


def test_the_same_bytes_whatever_the_hash_seed_the_folder_and_the_output(tmp_path):
    spec = tmp_path / "spec.yaml"
    spec.write_text(f"op: tsort32\nplatform: [a2a3, cpu]\ncases:{CASES}")
    trees = []
    for number, seed in enumerate(("0", "1", "random")):
        folder = tmp_path / f"cwd{number}"
        folder.mkdir()
        command = [sys.executable, "-m", "ptogen", "kernel", os.path.relpath(spec, folder), "-o", f"out{number}"]
        subprocess.run(command, check=True, cwd=folder, env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True)
        out = folder / f"out{number}"
        trees.append({str(path.relative_to(out)): path.read_bytes() for path in out.rglob("*") if path.is_file()})
    assert trees[0] and trees[0] == trees[1] == trees[2]


@pytest.mark.parametrize("platform", PLATFORMS)
@pytest.mark.parametrize("mode", ["manual", "auto"])
def test_a_kernel_has_no_word_of_what_stands_in_for_an_npu(platform, mode):
    """Nor a header of one platform; what a compiler of the host needs is said in the build."""
    if mode not in PLATFORMS[platform].modes:
        return
    spec = f"platform: {platform}\nmode: {mode}\ndtype: float32\n"
    texts = [kernel(rendered(platform, mode))]
    for op in (
        "op: tmrgsort\nvariant: multi\nlists: [6, 20]\nexhausted: true\n",
        "op: tpartadd\ndst: [3, 13]\nsrc0: [2, 13]\nsrc1: [3, 13]\n",
    ):
        (suite,) = load_text(spec + op, "spec.yaml")
        texts.append(kernel(render(suite, plan_suite(suite))))
    for text in texts:
        assert "__CPU_SIM" not in text and "__COSTMODEL" not in text
        includes = [line for line in text.splitlines() if line.startswith("#include")]
        assert includes == ["#include <string>", "#include <pto/pto-inst.hpp>"]
        assert ("<<<1, nullptr, stream>>>" in text) == (platform != "cpu")


def test_a_copy_for_the_host_keeps_its_lines_and_names_the_original():
    text = "void f()\n{\n    g<1><<<1, nullptr,\n        stream>>>(a);\n    tile.SetValue(0,\n        x);\n}\n"
    simulator, model = for_simulator(text, 'a "b".cpp'), for_cost_model(text, "k.cpp")
    assert simulator.splitlines()[0] == '#line 1 "a \\"b\\".cpp"' and model.splitlines()[0] == '#line 1 "k.cpp"'
    assert len(simulator.splitlines()) == len(model.splitlines()) == 1 + len(text.splitlines())
    assert "    g<1>\n(a);\n" in simulator and "    g<1>\n(a);\n" in model
    assert "(void)tile.data(), tile.SetValue(0,\n        x);" in simulator and "SetValue" not in model
    assert for_simulator("int a = b << 1;\n", "k.cpp") is None


SIM = ("-include", "stdint.h", "-include", "stddef.h", "-D__CPU_SIM")


@pytest.mark.parametrize("define", [(), ("-D__PTO_AUTO__",)], ids=["manual", "auto"])
@pytest.mark.parametrize("platform", ["a2a3", "a5", "kirindev0000"])
def test_the_kernel_compiles_unchanged_for_the_simulator(platform, define, headers, toolchain, tmp_path):
    from ptogen.backend.compile import include_options

    source = tmp_path / "kernel.cpp"
    source.write_text(for_simulator(kernel(rendered(platform)), "kernel.cpp"))
    options = [
        toolchain.compiler.standard,
        *SIM,
        *define,
        "-Wall",
        "-Wextra",
        "-Werror",
        "-Wno-deprecated-declarations",
        "-Wno-unused-parameter",
        *include_options(toolchain.compiler, headers.include),
    ]
    subprocess.run([*toolchain.compiler.command, *options, "-fsyntax-only", str(source)], check=True)


@pytest.mark.parametrize("mode", PLATFORMS["a2a3"].modes)
def test_the_kernel_compiles_unchanged_against_the_a2a3_headers(mode, headers, toolchain, tmp_path):
    """The cost model of the pinned snapshot: the real NPU headers, whose static assertions then hold."""
    from ptogen.backend import download

    source = tmp_path / "kernel.cpp"
    source.write_text(for_cost_model(kernel(rendered("a2a3", mode)), "kernel.cpp"))
    include = download.include_folder() or headers.include
    options = [
        "-std=c++20",
        *SIM[:4],
        "-D__COSTMODEL",
        "-D__NPU_ARCH__=2201",
        "-DPTO_COMM_NOT_SUPPORTED",
        "-DEVENT_ID1=1",  # the model names the first id only; see overlay/costmodel/ptogen/cycles.hpp
        "-isystem",
        str(include),
    ]
    subprocess.run([*toolchain.compiler.command, *options, "-fsyntax-only", str(source)], check=True)
    source.write_text(source.read_text().replace("float", "int32_t").replace("half", "int32_t"))
    refused = subprocess.run(
        [*toolchain.compiler.command, *options, "-fsyntax-only", str(source)], capture_output=True, text=True
    )
    assert "Dst and src must be half or float" in refused.stderr


@pytest.mark.parametrize("op", ["tpartmin", "tpartmax", "tpartadd", "tpartmul"])
def test_partial_ops_compile_against_the_a2a3_headers(op, headers, toolchain, tmp_path):
    from ptogen.backend import download

    spec = f"op: {op}\nplatform: a2a3\ndtype: int16\ndst: [3, 13]\nsrc0: [2, 13]\nsrc1: [3, 13]\n"
    (suite,) = load_text(spec, "spec.yaml")
    source = tmp_path / "kernel.cpp"
    headers_of_op = "".join(f"#include <{header}>\n" for header in suite.graph.ops[0].costmodel_headers)
    text = for_cost_model(kernel(render(suite, plan_suite(suite))), "kernel.cpp")
    source.write_text(f"#include <pto/pto-inst.hpp>\n{headers_of_op}{text}")
    include = download.include_folder() or headers.include
    options = [
        "-std=c++20",
        *SIM[:4],
        "-D__COSTMODEL",
        "-D__NPU_ARCH__=2201",
        "-DPTO_COMM_NOT_SUPPORTED",
        "-isystem",
        str(include),
    ]
    subprocess.run([*toolchain.compiler.command, *options, "-fsyntax-only", str(source)], check=True)


def test_the_kernel_is_cpp17_its_launch_line_aside(toolchain, tmp_path):
    """Against a stand-in for pto-inst.hpp that is C++17 itself: what ptogen writes needs nothing newer."""
    source = tmp_path / "kernel.cpp"
    source.write_text(for_simulator(kernel(rendered("a2a3")), "kernel.cpp"))
    stand_in = Path(__file__).parent / "stand_in"
    options = ["-std=c++17", "-pedantic-errors", "-I", str(stand_in), "-fsyntax-only"]
    subprocess.run([*toolchain.compiler.command, *options, str(source)], check=True)
