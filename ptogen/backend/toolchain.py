"""Picks a compiler that works, by compiling a small PTO program with it, and finds the build tools."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from ptogen.backend import cache, compile
from ptogen.backend.compile import Compiler
from ptogen.backend.headers import Headers
from ptogen.errors import Diagnostic, PtogenError

CLANG_MINIMUM, GCC_MINIMUM = 15, 12
"""Oldest that are tried; the trial decides.

pto-isa's own runner takes clang++ 15 and g++ 13. Tried on the pinned snapshot and on 3186c38: with the overlay g++ 12
and clang++ 16 do; clang++ 15 does not, because ``pto/cpu/TBinSOps.hpp`` leaves out a ``typename`` (P0634).
"""

LAUNCHERS = ("ccache", "distcc", "sccache")

PROGRAM = """\
#include <pto/pto-inst.hpp>

int main()
{
    using Values = pto::Tile<pto::TileType::Vec, float, 1, 32>;
    Values left, right, sum;
    pto::TASSIGN(left, 0x0);
    pto::TASSIGN(right, 0x100);
    pto::TASSIGN(sum, 0x200);
    for (int at = 0; at < 32; ++at) {
        left.data()[at] = 1.0f;
        right.data()[at] = static_cast<float>(at);
    }
    pto::TADD(sum, left, right);
    return sum.data()[31] == 32.0f ? 0 : 1;
}
"""


@dataclass(frozen=True)
class Attempt:
    """A compiler that was looked at.

    Attributes:
        name: as it was asked for.
        reason: why it was asked for: ``--compiler``, ``CXX`` or ``PATH``.
        compiler: what it is, or None where it does not start.
        fault: why it does not serve; empty where it does.
        tried: whether the trial program was compiled with it.
    """

    name: str
    reason: str
    compiler: Compiler | None
    fault: str = ""
    tried: bool = False


@dataclass(frozen=True)
class Toolchain:
    """What suites are built with.

    Attributes:
        compiler: works with the headers at hand.
        cmake, ninja: paths.
        attempts: the compilers that were looked at, the last being the one that works.
    """

    compiler: Compiler
    cmake: str
    ninja: str
    attempts: tuple[Attempt, ...]


@dataclass(frozen=True)
class Tool:
    """A program or library that building needs.

    Attributes:
        name: what it is.
        place: where it is, or None where it is missing.
        package: the Debian package that has it.
    """

    name: str
    place: str | None
    package: str


def find(headers: Headers, compiler: str | None = None) -> Toolchain:
    """The toolchain to use: ``--compiler``, then ``CXX``, then the newest clang++, then the newest g++.

    Raises:
        PtogenError: PTG502 where no compiler works (or the one of ``--compiler`` does not), PTG504 where a tool or
            library is missing.
    """
    attempts = try_compilers(headers, compiler)
    if not attempts or attempts[-1].fault:
        raise PtogenError(_no_compiler(attempts, compiler, headers))
    chosen = attempts[-1].compiler
    assert chosen is not None
    found = {tool.name: tool for tool in tools(chosen)}
    missing = [tool for tool in found.values() if tool.place is None]
    if missing:
        hint = f"on Debian or Ubuntu: apt-get install {' '.join(tool.package for tool in missing)}"
        raise PtogenError(Diagnostic("PTG504", f"missing: {', '.join(tool.name for tool in missing)}", hint=hint))
    return Toolchain(chosen, str(found["cmake"].place), str(found["ninja"].place), tuple(attempts))


UNTRIED = "not tried without headers"
"""The fault of a compiler that would do by its version, where there is nothing to compile with it."""


def try_compilers(headers: Headers | None, option: str | None = None, *, all_of_them: bool = False) -> list[Attempt]:
    """Looks at compilers until one works; with ``all_of_them`` at every one.

    Without headers no compiler is tried, and each that might do is :data:`UNTRIED`.
    """
    attempts: list[Attempt] = []
    for name, reason in [(option, "--compiler")] if option else _candidates():
        attempts.append(_attempt(name, reason, headers))
        if not attempts[-1].fault and not all_of_them:
            break
    return attempts


def tools(compiler: Compiler | None) -> list[Tool]:
    """CMake, Ninja and GoogleTest, which only a compiler can find: without one its place is None."""
    return [
        Tool("cmake", shutil.which("cmake"), "cmake"),
        Tool("ninja", shutil.which("ninja"), "ninja-build"),
        Tool("GoogleTest", _googletest(compiler) if compiler is not None else None, "libgtest-dev"),
    ]


def identify(command: tuple[str, ...]) -> Compiler | None:
    """What a command is, or None where it is no clang++ or g++ that starts."""
    try:
        asked = [*command, "--version"]
        version = subprocess.run(
            asked, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", timeout=60
        )
        asked = [*command, "-dumpversion"]
        number = subprocess.run(
            asked, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", timeout=60
        )
        major = int(number.stdout.strip().split(".")[0])
        # g++ says first by which name it was called.
        first = re.sub(r"^\S*\+\+\S* (?=\()", "g++ ", version.stdout.splitlines()[0].strip())
    except (OSError, subprocess.TimeoutExpired, ValueError, IndexError):
        return None
    return Compiler(command, "clang" if "clang" in version.stdout else "gcc", major, first)


def _candidates() -> list[tuple[str, str]]:
    """Names and why they are candidates, best first."""
    names: list[tuple[str, str]] = []
    if os.environ.get("CXX"):
        names.append((os.environ["CXX"], "CXX"))
    for stem in ("clang++", "g++"):
        names += [(name, "PATH") for name in (stem, *_versioned(stem)) if shutil.which(name)]
    return names


def _versioned(stem: str) -> list[str]:
    """Names such as ``clang++-19`` on the PATH, the highest first."""
    pattern = re.compile(re.escape(stem) + r"-(\d+)$")
    numbers: set[int] = set()
    for folder in os.get_exec_path():
        if os.path.isdir(folder):
            numbers.update(int(match[1]) for match in map(pattern.match, os.listdir(folder)) if match)
    return [f"{stem}-{number}" for number in sorted(numbers, reverse=True)]


def _attempt(name: str, reason: str, headers: Headers | None) -> Attempt:
    try:
        words = shlex.split(name)
    except ValueError as error:
        return Attempt(name, reason, None, f"is no command: {str(error).lower()}")
    while len(words) > 1 and Path(words[0]).name in LAUNCHERS:
        words = words[1:]
    path = shutil.which(words[0]) if words else None
    if path is None:
        return Attempt(name, reason, None, "not found")
    compiler = identify((_behind_links(path), *words[1:]))
    if compiler is None:
        return Attempt(name, reason, None, "is neither clang++ nor g++")
    minimum = CLANG_MINIMUM if compiler.kind == "clang" else GCC_MINIMUM
    if compiler.major < minimum:
        return Attempt(name, reason, compiler, f"version {compiler.major} is older than {minimum}")
    if headers is None:
        return Attempt(name, reason, compiler, UNTRIED)
    return Attempt(name, reason, compiler, _fault(compiler, headers), tried=True)


def _behind_links(path: str) -> str:
    """The same compiler by one path, whatever symbolic link leads to it: what is built is kept by that.

    Links are followed as long as the name says C++: clang++ is a link to a program that learns from the name it is
    called by which language it compiles, and the g++ of ccache one that learns so which compiler it is.
    """
    here = found = Path(path)
    while here.is_symlink():
        here = here.parent / here.readlink()
        if "++" in here.name:
            found = here
    return str(found.parent.resolve() / found.name)


def _fault(compiler: Compiler, headers: Headers) -> str:
    """Compiles and runs the trial program; success is remembered, failure is tried again next time."""
    key = cache.digest(
        *compiler.command, compiler.version, str(headers.include), headers.digest, compile.overlay_digest(), PROGRAM
    )
    memory = cache.root() / "toolchains" / f"{key}.json"
    if cache.remembered(memory) == {"works": str(compiler)}:
        return ""
    with tempfile.TemporaryDirectory(prefix="ptogen-") as temporary:
        source, program = Path(temporary) / "trial.cpp", Path(temporary) / "trial"
        source.write_text(PROGRAM, encoding="utf-8")
        run = compile.compile_program(compiler, source, program, compile.include_options(compiler, headers.include))
        if run.returncode != 0:
            return "; ".join(compile.first_errors(run.stderr, 1)) or f"ended with status {run.returncode}"
        if subprocess.run([program], stdin=subprocess.DEVNULL, capture_output=True).returncode != 0:
            return "the program it makes of a small PTO kernel gives a wrong result"
    cache.remember(memory, {"works": str(compiler)})
    return ""


def _googletest(compiler: Compiler) -> str | None:
    """Where GoogleTest is, as far as the compiler finds it by itself.

    CMake is asked where the user set up another place for it.
    """
    places = [name for name in ("CMAKE_PREFIX_PATH", "GTest_ROOT", "GTEST_ROOT", "GTest_DIR") if os.environ.get(name)]
    if places:
        return places[0]
    found = re.search(r"(\S+gtest/gtest\.h)", _preprocessed(compiler, "#include <gtest/gtest.h>\n") or "")
    return found[1] if found else None


def _preprocessed(compiler: Compiler, text: str) -> str | None:
    """The files that a text includes, as a compiler finds them; None where it does not find one."""
    command = [*compiler.command, "-std=c++20", "-x", "c++", "-E", "-M", "-"]
    run = subprocess.run(command, input=text, capture_output=True, text=True, errors="replace")
    return run.stdout if run.returncode == 0 else None


def _broken_header(attempts: list[Attempt], headers: Headers) -> str | None:
    """The header of pto-isa at which every compiler stops that was tried, or None."""
    faults = [attempt.fault for attempt in attempts if attempt.tried]
    files = {re.split(r":\d+:", fault, maxsplit=1)[0] for fault in faults}
    file = files.pop() if len(files) == 1 else ""
    return file if file.startswith(f"{headers.include}/") else None


def _lacks_format(attempts: list[Attempt], header: Path) -> bool:
    """Whether a header includes <format>, and no compiler that was tried has it."""
    if "#include <format>" not in header.read_text(encoding="utf-8", errors="replace"):
        return False
    tried = [attempt.compiler for attempt in attempts if attempt.tried and attempt.compiler]
    return all(_preprocessed(compiler, "#include <format>\n") is None for compiler in tried)


def _no_compiler(attempts: list[Attempt], option: str | None, headers: Headers) -> Diagnostic:
    hint = "on Debian or Ubuntu: apt-get install g++ (12 or newer), or clang (16 or newer)"
    header = _broken_header(attempts, headers)
    if header is not None and _lacks_format(attempts, Path(header)):
        return Diagnostic(
            "PTG502",
            f"the pto-isa headers of {headers.origin} need <format>, which no compiler here has",
            details=tuple(f"{attempt.name} ({attempt.reason}): {attempt.fault}" for attempt in attempts),
            hint="it comes with the standard library of g++ 13 or newer, which clang++ uses, too;\n"
            "on Debian 13 or Ubuntu 24.04: apt-get install g++",
        )
    if header is not None:
        tried = [attempt for attempt in attempts if attempt.tried]
        who = "every compiler stops" if len(tried) > 1 else f"{tried[0].name} stops"
        return Diagnostic(
            "PTG502",
            f"the pto-isa headers of {headers.origin} do not compile: {who} in {header}",
            details=tuple(f"{attempt.name} ({attempt.reason}): {attempt.fault}" for attempt in attempts),
            hint="look at that header, or give other headers with --pto-isa DIR;\n"
            "where the headers are whole, the compiler may be too old for them; " + hint,
        )
    if option:
        attempt = attempts[-1]
        return Diagnostic("PTG502", f"--compiler {attempt.name} does not serve: {attempt.fault}", hint=hint)
    details = tuple(f"{attempt.name} ({attempt.reason}): {attempt.fault}" for attempt in attempts)
    return Diagnostic(
        "PTG502",
        "no C++ compiler that works was found",
        details=details or ("no clang++ and no g++ on the PATH",),
        hint=hint,
    )
