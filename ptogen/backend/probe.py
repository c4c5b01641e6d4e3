"""Learns what the headers at hand have: which known defects, and a bfloat16 with this compiler.

Programs are run for it that use pto-isa's own functions and types.
"""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Mapping, Sequence
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

    Raises:
        PtogenError: PTG505 where not even an empty probe compiles.
    """
    answers = ask(compiler, headers, {name: row.defect.probe for name, row in known().items()})
    return frozenset(name for name, answer in answers.items() if answer)


def ask(compiler: Compiler, headers: Headers, probes: Mapping[str, str]) -> dict[str, bool | None]:
    """Answers each probe by itself: whether its C++ expression is true of upstream's own functions.

    It is None where the expression does not compile with these headers, or gives no answer. Answers are remembered for
    each compiler and each content of the headers.

    Args:
        compiler: whatever :func:`ptogen.backend.toolchain.find` gives.
        headers: at hand.
        probes: expressions by name, written with ``overlay/probe/ptogen/probe.hpp``.

    Raises:
        PtogenError: PTG505 where not even an empty probe compiles.
    """
    key = cache.digest(
        *compiler.command, compiler.version, str(headers.include), headers.digest, compile.overlay_digest()
    )
    memory = cache.root() / "probes" / f"{key}.json"
    remembered = cache.remembered(memory)
    answers = remembered if isinstance(remembered, dict) else {}
    new = [text for text in dict.fromkeys(probes.values()) if text not in answers]
    if new:
        answers |= _answers(compiler, headers, new)
        cache.remember(memory, answers)
    return {name: answers[text] for name, text in probes.items()}


def program(probes: Sequence[str]) -> str:
    """The C++ text that answers probes by their numbers."""
    lines = ["#include <ptogen/probe.hpp>", "", "int main()", "{"]
    lines += [f"    ptogen::probe::Report({number}, [] {{ return {text}; }});" for number, text in enumerate(probes)]
    return "\n".join([*lines, "    return 0;", "}", ""])


def macros(defects: frozenset[str]) -> list[str]:
    """Compiler options that tell the overlay which defects there are."""
    return [f"-D{row.macro}=1" for name, row in known().items() if name in defects]


def _answers(compiler: Compiler, headers: Headers, probes: Sequence[str]) -> dict[str, bool | None]:
    """From one program where all compile together; else from halves, until each that does not compile is alone."""
    answers: dict[str, bool | None] = {}
    with tempfile.TemporaryDirectory(prefix="ptogen-") as temporary:
        binary = Path(temporary) / "probe"
        rest = [list(probes)]
        while rest:
            some = rest.pop()
            if not _build(compiler, headers, some, binary):
                answers |= _run(binary, some)
            elif len(some) == 1:
                # Nothing is held against the probe where no program compiles at all.
                if said := _build(compiler, headers, [], binary):
                    message = "no program that looks at the headers compiles with them"
                    raise PtogenError(Diagnostic("PTG505", message, details=compile.first_errors(said)))
                answers[some[0]] = None
            else:
                rest += [some[: len(some) // 2], some[len(some) // 2 :]]
    return answers


def _build(compiler: Compiler, headers: Headers, probes: Sequence[str], binary: Path) -> str:
    """What the compiler says of a program that it refuses; empty where it stands."""
    source = binary.with_suffix(".cpp")
    source.write_text(program(probes), encoding="utf-8")
    options = compile.include_options(compiler, headers.include, ("probe",))
    built = compile.compile_program(compiler, source, binary, options)
    return "" if built.returncode == 0 else built.stderr or f"ended with status {built.returncode}"


def _run(binary: Path, probes: Sequence[str]) -> dict[str, bool | None]:
    run = subprocess.run(
        [binary], stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", timeout=120
    )
    said = dict(line.split() for line in run.stdout.splitlines() if len(line.split()) == 2)
    return {text: {"0": False, "1": True}.get(said.get(str(number), "")) for number, text in enumerate(probes)}
