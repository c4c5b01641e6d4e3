"""How one C++ file is compiled for the CPU simulator.

Options and folders stand here for probes, trial programs and test suites alike. Their source is
``tests/cpu/st/CMakeLists.txt`` of pto-isa: C++20 or C++23, ``-D__CPU_SIM``, ``stdint.h`` and ``stddef.h`` included
first, threads, dl.
"""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

from ptogen.backend import cache, children

OVERLAY = Path(__file__).parent / "overlay"
"""Headers of ptogen's own; see the README there."""

OPTIONS = ("-O0", "-UNDEBUG", "-Wno-deprecated-declarations")
"""For every file, after the standard. Assertions stay on, because upstream checks sizes by nothing else.

-O0 is the quickest to build and run together.
"""

BFLOAT16 = ("-std=c++23", "-DPTO_CPU_SIM_ENABLE_BF16=1", "-DCPU_SIM_BFLOAT_ENABLED=1")
"""For files that need ``bfloat16_t`` to be one; what lacks ``std::bfloat16_t`` refuses them."""

SOURCES = (".cpp", ".h", ".hpp", ".inc")
"""Endings of the files of a suite that a compiler may read: when one changes, the suite is compiled again."""

PREINCLUDES = ("-include", "stdint.h", "-include", "stddef.h")

LIBRARIES = ("-pthread", "-ldl")

BINDING = ("TASSIGN", "TSUBVIEW", "TRESHAPE")
"""Instructions that say where a tile lies, and are none of a pipe."""


@dataclass(frozen=True)
class Compiler:
    """A C++ compiler.

    Attributes:
        command: how it is called.
        kind: ``gcc`` or ``clang``.
        major: major version.
        version: first line of ``--version``.
    """

    command: tuple[str, ...]
    kind: str
    major: int
    version: str

    @property
    def needs_overlay(self) -> bool:
        """Whether it refuses ``static_assert(false)`` in a template that nobody instantiates.

        CWG 2518 came with g++ 13 and clang 17.
        """
        return self.major < (17 if self.kind == "clang" else 13)

    @property
    def standard(self) -> str:
        """The option for the C++ standard, as pto-isa's own build has it.

        From 14 on, g++ takes ``exp(half)`` of pto/cpu/ElementOp.h for ambiguous in C++20; in C++23 it has one for half.
        """
        return "-std=c++23" if self.kind == "gcc" and self.major >= 14 else "-std=c++20"

    def __str__(self) -> str:
        return f"{' '.join(self.command)} ({self.version})"


def overlay_digest() -> str:
    """Short hash of ptogen's own headers."""
    return cache.digest_files(OVERLAY, [path for path in OVERLAY.rglob("*") if path.is_file()])


def include_options(compiler: Compiler, include: Path, folders: tuple[str, ...] = ()) -> list[str]:
    """Include folders in the order of search.

    The overlay's folder for the compiler where it needs one, those named, the headers of pto-isa.

    Those of pto-isa are system folders: a warning is about the generated text or about the overlay.
    """
    ours = (["compiler"] if compiler.needs_overlay else []) + list(folders)
    return [f"-I{OVERLAY / folder}" for folder in ours] + ["-isystem", str(include)]


def compile_program(
    compiler: Compiler, source: Path, target: Path, options: list[str]
) -> subprocess.CompletedProcess[str]:
    """Compiles and links one file; the caller reads the result."""
    command = [
        *compiler.command,
        compiler.standard,
        *OPTIONS,
        *PREINCLUDES,
        "-D__CPU_SIM",
        *options,
        str(source),
        "-o",
        str(target),
        *LIBRARIES,
    ]
    return children.run(command)[0]


def first_errors(output: str, limit: int = 5) -> tuple[str, ...]:
    """The lines of a compiler's output that say what is wrong; its last lines where none does.

    The reason of an error of CMake's is in the indented lines below.
    """
    lines = [line.rstrip() for line in output.splitlines() if line.strip() and not line.startswith("ninja: ")]
    errors: list[str] = []
    below = False
    for line in lines:
        if not (below and line.startswith("  ")):
            below = line.startswith("CMake Error")
        if below or re.search(r"\berror\b.*:|undefined reference", line, re.IGNORECASE):
            errors.append(line)
    return tuple(errors[:limit] or lines[-limit:])
