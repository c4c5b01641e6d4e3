"""Learns what the headers at hand have: which known defects, and a bfloat16 with this compiler.

Programs are run for it that use pto-isa's own functions and types.
"""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

from ptogen.backend import cache, compile
from ptogen.backend.compile import Compiler
from ptogen.backend.defects import known
from ptogen.backend.headers import Headers
from ptogen.errors import Diagnostic, PtogenError

BFLOAT16 = """\
#include <cstdint>
#include <cstring>

#include <pto/pto-inst.hpp>

static_assert(sizeof(bfloat16_t) == 2);

struct Known {
    float value;
    std::uint16_t bits;
};

// The last three are rounded: two ties, which go to the even one, and one beyond the end.
constexpr Known kKnown[] = {{0.0f, 0},          {1.5f, 0x3fc0},        {-3.140625f, 0xc049},  {0x1p-133f, 1},
                            {0x1.fep127f, 0x7f7f}, {0x1.01p0f, 0x3f80}, {0x1.03p0f, 0x3f82}, {0x1.ffp127f, 0x7f80}};

int main()
{
    for (const Known& known : kKnown) {
        volatile float value = known.value;
        const bfloat16_t stored = static_cast<bfloat16_t>(value);
        std::uint16_t bits = 0;
        std::memcpy(&bits, &stored, sizeof(bits));
        if (bits != known.bits) {
            return 1;
        }
    }
    return 0;
}
"""


def has_bfloat16(compiler: Compiler, headers: Headers) -> bool:
    """Whether ``bfloat16_t`` is one, bit for bit, with the options for it (``compile.BFLOAT16``).

    In C++20 it is another type of two bytes. g++ has ``std::bfloat16_t`` from 13 on, but the headers only believe one
    that says C++23 in full, as 14 does. Success is remembered, failure is tried again next time: it is quick.
    """
    key = cache.digest(
        *compiler.command, compiler.version, str(headers.include), headers.digest, *compile.BFLOAT16, BFLOAT16
    )
    memory = cache.root() / "probes" / f"bfloat16-{key}.json"
    if cache.remembered(memory) == {"bfloat16": True}:
        return True
    with tempfile.TemporaryDirectory(prefix="ptogen-") as temporary:
        source, binary = Path(temporary) / "bfloat16.cpp", Path(temporary) / "bfloat16"
        source.write_text(BFLOAT16, encoding="utf-8")
        options = [*compile.BFLOAT16, "-Wfatal-errors", *compile.include_options(compiler, headers.include)]
        if compile.compile_program(compiler, source, binary, options).returncode != 0:
            return False
        if subprocess.run([binary], stdin=subprocess.DEVNULL, capture_output=True).returncode != 0:
            return False
    cache.remember(memory, {"bfloat16": True})
    return True


def present(compiler: Compiler, headers: Headers) -> frozenset[str]:
    """Ids of the known defects that the headers have.

    One program with a probe for each defect (``Defect.probe``, written with ``overlay/probe/ptogen/probe.hpp``) is
    compiled against upstream's functions only, once for each compiler and each content of the headers.

    Raises:
        PtogenError: PTG505 where the program does not build, PTG506 where it does not run.
    """
    text = program()
    key = cache.digest(
        *compiler.command, compiler.version, str(headers.include), headers.digest, compile.overlay_digest(), text
    )
    memory = cache.root() / "probes" / f"{key}.json"
    answers = cache.remembered(memory)
    if not isinstance(answers, dict) or answers.keys() != known().keys():
        answers = _run(compiler, headers, text)
        cache.remember(memory, answers)
    return frozenset(name for name, answer in answers.items() if answer)


def program() -> str:
    """The C++ text of the probes."""
    lines = ["#include <ptogen/probe.hpp>", "", "int main()", "{"]
    lines += [
        f'    ptogen::probe::Report("{name}", [] {{ return {row.defect.probe}; }});' for name, row in known().items()
    ]
    return "\n".join([*lines, "    return 0;", "}", ""])


def macros(defects: frozenset[str]) -> list[str]:
    """Compiler options that tell the overlay which defects there are."""
    return [f"-D{row.macro}=1" for name, row in known().items() if name in defects]


def _run(compiler: Compiler, headers: Headers, text: str) -> dict[str, bool]:
    with tempfile.TemporaryDirectory(prefix="ptogen-") as temporary:
        source, binary = Path(temporary) / "probe.cpp", Path(temporary) / "probe"
        source.write_text(text, encoding="utf-8")
        options = compile.include_options(compiler, headers.include, ("probe",))
        built = compile.compile_program(compiler, source, binary, options)
        if built.returncode != 0:
            message = "the program that looks for known defects of the headers does not build"
            raise PtogenError(Diagnostic("PTG505", message, details=compile.first_errors(built.stderr)))
        run = subprocess.run(
            [binary], stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", timeout=120
        )
    answers = dict(line.split() for line in run.stdout.splitlines() if len(line.split()) == 2)
    if run.returncode != 0 or answers.keys() != known().keys() or not set(answers.values()) <= {"0", "1"}:
        message = f"the program that looks for known defects of the headers ended with status {run.returncode}"
        raise PtogenError(Diagnostic("PTG506", message, details=tuple(run.stderr.splitlines()[-3:])))
    return {name: answer == "1" for name, answer in answers.items()}
