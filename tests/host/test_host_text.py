"""The text of main.cpp, and its compilation against the real headers."""

from __future__ import annotations

import os
import pathlib
import re
import shutil
from collections.abc import Callable

import pytest
from handmade import (
    BANNER,
    COPIES,
    DEFINED,
    HARNESS,
    HEADER,
    HERE,
    LOOSE,
    MASKED,
    SORTS,
    Workplace,
    compile_host,
    host_text,
)

from ptogen.backend.compile import OVERLAY
from ptogen.backend.headers import Headers
from ptogen.backend.toolchain import Toolchain
from ptogen.render import environment, host
from ptogen.render.cpp import clang_format


def test_each_case_is_one_test_named_as_its_data_directory() -> None:
    tests = re.findall(r"^TEST_F\((\w+), (\w+)\) \{ Check", host_text(), re.MULTILINE)
    copies = [*(f"copy_{dtype}" for dtype in COPIES), *(f"loose_{dtype}" for dtype in LOOSE), MASKED]
    assert tests == [("HANDMADETest", case) for case in [*SORTS, *copies]]


def test_tensors_are_in_the_order_of_the_plan_and_a_case_says_what_differs() -> None:
    text = host_text()
    assert re.search(
        r"void Check1\((.*)\)\n\{\n.*\n"
        r' +Output\("dst", type, rows, dstCols, dstValidRows, dstValidCols\)\.Records\(\),\n'
        r' +Input\("src", type, rows, cols\),\n +Input\("idx", kUint32, idxRows, cols\),\n',
        text,
    )
    assert "TEST_F(HANDMADETest, f16_all) { Check1(kFloat16, 2, 128, 2, 128, 32, 1); }\n" in text
    assert "TEST_F(HANDMADETest, copy_int64) { Check2(kInt64); }\n" in text
    assert ".Within(2)" in text and f".Masked({DEFINED})" in text


def test_the_harness_is_laid_out_as_pto_isa_has_it() -> None:
    assert clang_format({"text": HARNESS})["text"] == HARNESS
    assert all(len(line) <= 120 for line in HARNESS.splitlines())


def test_the_harness_is_the_same_for_every_suite_and_has_a_licence_where_one_is_given() -> None:
    assert host.harness(None) == (HEADER, HARNESS)
    assert re.fullmatch(r"tests/common/ptogen_st_[0-9a-f]{8}\.hpp", HEADER)
    path, text = host.harness("Copyright of somebody")
    assert path != HEADER and text.startswith("// Copyright of somebody\n//\n// Part of ptogen ")


def test_banner_is_a_comment() -> None:
    assert host_text().splitlines()[:3] == ["// " + BANNER.splitlines()[0], "//", "// Made by hand."]


def test_text_says_nothing_of_the_machine() -> None:
    assert str(pathlib.Path.home()) not in host_text() and os.getcwd() not in host_text()
    assert host_text() == host_text()
    assert host_text().isascii() and host_text().endswith("}\n")


def test_template_digest_covers_names_and_texts(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    st = tmp_path / "st"
    shutil.copytree(environment.template_root() / "st", st)
    digest = environment.template_digest.__wrapped__
    monkeypatch.setattr(environment, "template_root", lambda: tmp_path)
    first = digest("st", "sort32")
    assert re.fullmatch("[0-9a-f]{64}", first)
    assert digest("st", "sort32") == first == environment.template_digest("st", "sort32")
    (st / "main.cpp.j2").rename(st / "other.cpp.j2")
    second = digest("st", "sort32")
    (st / "other.cpp.j2").write_text("x")
    assert len({first, second, digest("st", "sort32")}) == 3


def test_template_digest_covers_the_goldens_of_its_suite_only(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(environment.GOLDEN, tmp_path / "golden")
    monkeypatch.setattr(environment, "GOLDEN", tmp_path / "golden")
    digest, modules = environment.template_digest.__wrapped__, environment.golden_modules
    modules.cache_clear()
    try:
        assert modules("sort32") == ("data", "sort32")
        before = {name: digest("st", name) for name in ("sort32", "part", None)}
        assert len(set(before.values())) == 3
        (tmp_path / "golden" / "new.py").write_text("from ptogen.golden.part import storage\n")
        assert {name: digest("st", name) for name in before} == before
        for module, changed in (("part", {"part"}), ("data", {"part", "sort32"})):
            before = {name: digest("st", name) for name in before}
            with open(tmp_path / "golden" / f"{module}.py", "a") as file:
                file.write("# more\n")
            assert {name for name in before if digest("st", name) != before[name]} == changed
    finally:
        modules.cache_clear()


def test_templates_of_an_installed_package_come_first(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environment, "PACKAGE", tmp_path)
    root = environment.template_root.__wrapped__
    assert root() == tmp_path.parent / "templates"
    (tmp_path / "templates").mkdir()
    assert root() == tmp_path / "templates"


COMPILERS = [command for command in ("g++", "clang++-19") if shutil.which(command)]
FORCED = ["-include", "stdint.h", "-include", "stddef.h"]


def test_the_simulator_build_compiles_cleanly_and_judges_alike(
    toolchain: Toolchain,
    headers: Headers,
    tmp_path: pathlib.Path,
    new_workplace: Callable[[pathlib.Path], Workplace],
) -> None:
    includes = [f"-isystem{OVERLAY / 'compiler'}"] if toolchain.compiler.needs_overlay else []
    options = [toolchain.compiler.standard, "-D__CPU_SIM", *FORCED, *includes, f"-isystem{headers.include}"]
    workplace = new_workplace(compile_host(tmp_path / "program", toolchain.compiler.command, *options))
    done = workplace.run()
    assert done.returncode == 0, done.stdout
    for fault in ("wrong_index", "byte_after", "outside_columns", "input_first", "unwritten"):
        done = workplace.run("f16_part", HOST_FAULT=fault)
        assert done.returncode == 1 and "1 FAILED TEST" in done.stdout, fault


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("standard", ["c++17", "c++20"])
def test_the_npu_build_compiles_cleanly(compiler: str, standard: str, tmp_path: pathlib.Path) -> None:
    compile_host(tmp_path, [compiler], f"-std={standard}", "-Wpedantic", "-Wconversion", *FORCED, f"-I{HERE / 'stub'}")
