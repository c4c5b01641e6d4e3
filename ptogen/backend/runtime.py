"""What every test program of one kind shares, compiled once for all trees.

That is a precompiled header and the object that GoogleTest's main runs with. Measured on the pinned snapshot: a kernel
file takes 1.4 s without the precompiled header; with it 0.8 s with g++ 12 and 0.5 s with clang++ 19.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ptogen.backend import cache, children, compile, probe
from ptogen.backend.compile import Compiler
from ptogen.backend.headers import Headers
from ptogen.errors import Diagnostic, PtogenError

HEADER = """\
// GoogleTest first: pto-isa's stand-ins for the CANN runtime are macros.
#include <gtest/gtest.h>

#include <pto/pto-inst.hpp>
"""


@dataclass(frozen=True)
class Kind:
    """What makes test programs differ in their options.

    Attributes:
        mode: ``manual`` or ``auto``.
        pristine: none of pto-isa's simulator functions is replaced.
        defects: known defects that the headers have; of no account where pristine.
        bfloat16: ``bfloat16_t`` is one, and no placeholder.
    """

    mode: str
    pristine: bool
    defects: frozenset[str]
    bfloat16: bool = False


@dataclass(frozen=True)
class Runtime:
    """Compiled once, used by many.

    Attributes:
        folder: where it stands in the cache.
        options: compiler options of every file, precompiled header included.
        host: the object file to link.
    """

    folder: Path
    options: tuple[str, ...]
    host: Path


def options_of(kind: Kind, compiler: Compiler, headers: Headers) -> list[str]:
    """Compiler options of every file of a program, without the precompiled header."""
    defines = ["-D__CPU_SIM"] + (["-D__PTO_AUTO__"] if kind.mode == "auto" else [])
    folders: tuple[str, ...] = ("host",)
    if kind.pristine:
        defines.append("-DPTOGEN_PRISTINE")
    else:
        defines += probe.macros(kind.defects)
        folders = ("simulator", "host")
    includes = compile.include_options(compiler, headers.include, folders)
    standard = compile.BFLOAT16 if kind.bfloat16 else (compiler.standard,)
    return [*standard, *compile.OPTIONS, *compile.PREINCLUDES, *defines, *includes]


def prepare(
    kind: Kind, compiler: Compiler, headers: Headers, progress: Callable[[str], None] = lambda line: None
) -> Runtime:
    """Compiles it unless the cache holds it.

    Raises:
        PtogenError: PTG504 where GoogleTest's headers are missing, PTG505 where it does not build otherwise.
    """
    options = options_of(kind, compiler, headers)
    key = cache.digest(*compiler.command, compiler.version, headers.digest, compile.overlay_digest(), HEADER, *options)
    folder = cache.root() / "runtimes" / key
    with cache.locked(folder):
        complete = folder / "complete"
        if not complete.is_file():
            # Built where it stays, because clang++ writes the header's own path into its output.
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
            progress(f"compiling the pto-isa headers once for {kind.mode} mode{' with bfloat16' * kind.bfloat16}")
            _build(folder, compiler, options)
        complete.touch()
    clang = compiler.kind == "clang"
    use = ("-include-pch", str(folder / "pto.hpp.pch")) if clang else ("-include", str(folder / "pto.hpp"))
    return Runtime(folder, (*use, *options), folder / "host.o")


def discard(runtime: Runtime) -> None:
    """Takes it from the cache, because what it was made of has changed, such as the system's own headers."""
    shutil.rmtree(runtime.folder, ignore_errors=True)


def _build(folder: Path, compiler: Compiler, options: list[str]) -> None:
    header = folder / "pto.hpp"
    header.write_text(HEADER, encoding="utf-8")
    if compiler.kind == "clang":
        # Without the time stamps of headers, that a fresh checkout of the same content has anew; with the instances of
        # GoogleTest's templates, which every file would make again otherwise (0.2 s).
        extra = ["-Xclang", "-fno-pch-timestamp", "-fpch-instantiate-templates"]
        pch = [*extra, "-x", "c++-header", str(header), "-o", f"{header}.pch"]
    else:
        pch = ["-x", "c++-header", str(header), "-o", f"{header}.gch"]
    host = ["-c", str(compile.OVERLAY / "host" / "ptogen_host.cpp"), "-o", str(folder / "host.o")]
    for run in children.run(*([*compiler.command, *options, *job] for job in (pch, host))):
        output = run.stderr
        if run.returncode != 0:
            details = compile.first_errors(output)
            if "gtest/gtest.h" in output and "No such file" in output.replace("file not found", "No such file"):
                hint = "on Debian or Ubuntu: apt-get install libgtest-dev"
                raise PtogenError(Diagnostic("PTG504", "missing: GoogleTest", details=details, hint=hint))
            raise PtogenError(
                Diagnostic("PTG505", "the headers do not build with the options of the test programs", details=details)
            )
