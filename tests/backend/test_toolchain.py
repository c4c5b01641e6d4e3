"""The choice of the compiler, and what is said where something is missing."""

from __future__ import annotations

import shlex
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from ptogen.backend import compile
from ptogen.backend import toolchain as toolchains
from ptogen.backend.compile import Compiler
from ptogen.backend.headers import Headers
from ptogen.errors import PtogenError


def fake_compiler(folder: Path, name: str, version: str, then: str = "exit 1") -> Path:
    """A command that says a version and cannot compile."""
    path = folder / name
    first = f"clang version {version}" if "clang" in name else f"g++ {version}"
    path.write_text(
        f'#!/bin/sh\ncase "$1" in\n--version) echo "{first}";;\n-dumpversion) echo {version};;\n'
        f"*) echo 'x.cpp:1:1: error: I am not real' >&2; {then};;\nesac\n"
    )
    path.chmod(0o755)
    return path


@pytest.fixture
def empty_path(monkeypatch, tmp_path) -> Path:
    """A PATH with nothing on it but what a test puts there."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for tool in ("sh", "echo", "as", "ld"):
        (folder / tool).symlink_to(shutil.which(tool))
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.delenv("CXX", raising=False)
    return folder


def test_the_choice_works_and_is_remembered(headers, toolchain, monkeypatch):
    assert toolchain.attempts[-1].compiler == toolchain.compiler and not toolchain.attempts[-1].fault
    monkeypatch.setattr(compile, "compile_program", None)
    assert toolchains.find(headers).compiler == toolchain.compiler


def test_no_compiler_at_all(headers, empty_path):
    with pytest.raises(PtogenError) as error:
        toolchains.find(headers)
    assert "PTG502: no C++ compiler that works was found" in str(error.value)
    assert "no clang++ and no g++ on the PATH" in str(error.value)
    assert "apt-get install g++" in str(error.value)


def test_every_compiler_that_fails_is_named(headers, empty_path, monkeypatch):
    fake_compiler(empty_path, "g++", "11.2.0")
    fake_compiler(empty_path, "clang++-16", "16.0.1")
    fake_compiler(empty_path, "clang++-9", "9.0.0")
    monkeypatch.setenv("CXX", "nothing-here")
    with pytest.raises(PtogenError) as error:
        toolchains.find(headers)
    details = error.value.diagnostics[0].details
    assert [detail.split(" (")[0] for detail in details] == ["nothing-here", "clang++-16", "clang++-9", "g++"]
    assert "not found" in details[0]
    assert "I am not real" in details[1]
    assert "version 9 is older than 15" in details[2]
    assert "version 11 is older than 12" in details[3]


def test_a_chosen_compiler_is_not_passed_over(headers, tmp_path):
    fake = fake_compiler(tmp_path, "g++-99", "99.0")
    for name, words in ((str(fake), "I am not real"), ("no-such-compiler", "not found"), ("true", "neither clang")):
        with pytest.raises(PtogenError, match="PTG502") as error:
            toolchains.find(headers, name)
        assert f"--compiler {name} does not serve" in str(error.value) and words in str(error.value)


def test_cxx_comes_first_and_gives_way_where_it_fails(headers, toolchain, monkeypatch, tmp_path):
    monkeypatch.setenv("CXX", f"ccache {toolchain.compiler.command[0]}")
    assert toolchains.find(headers).attempts[0].reason == "CXX"
    assert toolchains.find(headers).compiler.command == toolchain.compiler.command
    monkeypatch.setenv("CXX", str(fake_compiler(tmp_path, "g++", "99.0")))
    found = toolchains.find(headers)
    assert found.attempts[0].reason == "CXX" and "I am not real" in found.attempts[0].fault
    assert not found.attempts[-1].fault and found.compiler == found.attempts[-1].compiler


def test_a_program_that_computes_wrongly_does_not_serve(headers, tmp_path):
    then = 'while [ "$1" != -o ]; do shift; done; printf "#!/bin/sh\\nexit 1\\n" > "$2"; chmod +x "$2"; exit 0'
    with pytest.raises(PtogenError, match="gives a wrong result"):
        toolchains.find(headers, str(fake_compiler(tmp_path, "g++-98", "98.0", then)))


def broken(headers, tmp_path: Path) -> Headers:
    """Headers with a fault of their own."""
    include = tmp_path / "include"
    shutil.copytree(headers.include, include)
    with (include / "pto" / "pto-inst.hpp").open("a") as file:
        file.write("\nint ptogen_test = nothing_here;\n")
    return Headers(include, "--pto-isa somewhere", "broken")


@pytest.mark.parametrize("named", [False, True])
def test_headers_that_do_not_compile_are_to_blame(headers, toolchain, tmp_path, named):
    found = broken(headers, tmp_path)
    with pytest.raises(PtogenError) as error:
        toolchains.find(found, toolchain.compiler.command[0] if named else None)
    (fault,) = error.value.diagnostics
    assert fault.code == "PTG502"
    assert fault.message.startswith("the pto-isa headers of --pto-isa somewhere do not compile: ")
    assert fault.message.endswith(f" in {found.include}/pto/pto-inst.hpp")
    assert "nothing_here" in fault.details[0] and "--pto-isa DIR" in str(fault.hint)


def test_a_command_that_no_shell_would_take(headers):
    with pytest.raises(PtogenError, match="PTG502: --compiler .* is no command: no closing quotation"):
        toolchains.find(headers, "g++ '")


def test_missing_tools_are_named_with_their_packages(headers, toolchain, empty_path, monkeypatch):
    monkeypatch.setattr(toolchains, "_googletest", lambda compiler: None)
    with pytest.raises(PtogenError) as error:
        toolchains.find(headers, toolchain.compiler.command[0])
    assert "PTG504: missing: cmake, ninja, GoogleTest" in str(error.value)
    assert "apt-get install cmake ninja-build libgtest-dev" in str(error.value)


@pytest.mark.parametrize(
    ("kind", "major", "expected"), [("gcc", 12, True), ("gcc", 13, False), ("clang", 16, True), ("clang", 17, False)]
)
def test_who_needs_the_overlay(kind, major, expected):
    assert Compiler(("x",), kind, major, "").needs_overlay is expected


def test_a_link_to_a_compiler_is_that_compiler(headers, toolchain, tmp_path):
    """By another path everything would be built again."""
    (tmp_path / "one").symlink_to(toolchain.compiler.command[0])
    (tmp_path / "c++").symlink_to("one")
    (tmp_path / "folder").symlink_to(Path(toolchain.compiler.command[0]).parent)
    name = Path(toolchain.compiler.command[0]).name
    for path in (tmp_path / "c++", tmp_path / "folder" / name):
        (attempt,) = toolchains.try_compilers(None, str(path))
        assert attempt.compiler == toolchain.compiler


def test_a_compiler_that_goes_by_its_name_keeps_it(tmp_path):
    """clang++ is a link to clang, and the g++ of ccache one to ccache."""
    driver = tmp_path / "bin" / "driver-1"
    driver.parent.mkdir()
    driver.write_text("#!/bin/sh\n")
    (tmp_path / "bin" / "clang++").symlink_to("driver-1")
    (tmp_path / "c++").symlink_to("bin/clang++")
    assert toolchains._behind_links(str(tmp_path / "c++")) == str(tmp_path / "bin" / "clang++")
    assert toolchains._behind_links(str(driver)) == str(driver)


def test_a_header_that_wants_format_says_which_library_has_it(headers, toolchain, tmp_path):
    include = tmp_path / "include"
    (include / "pto").mkdir(parents=True)
    (include / "pto" / "pto-inst.hpp").write_text("#include <format>\n#error no\n")
    has_it = toolchains._preprocessed(toolchain.compiler, "#include <format>\n") is not None
    with pytest.raises(PtogenError) as raised:
        toolchains.find(replace(headers, include=include, digest="format"), shlex.join(toolchain.compiler.command))
    assert ("the standard library of g++ 13" in str(raised.value)) is not has_it
