"""A suite without some of its cases, so that one whose kernel these headers refuse fails alone."""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Collection, Sequence
from pathlib import Path

from ptogen.backend import children, compile, host_kernel
from ptogen.backend.compile import Compiler
from ptogen.backend.runtime import Runtime
from ptogen.errors import Diagnostic, Position

DEFINED = re.compile(r"^[^\n;{}/]*\bvoid (?!LaunchCase\b)(\w+)\([^;{}]*\)\s*\{", re.MULTILINE)
"""A function; one that is no template is compiled whether it is called or not."""


def without(text: str, left_out: Collection[str]) -> str:
    """The text of a kernel file whose ``LaunchCase`` does not know these cases; lines keep their numbers.

    Functions that nothing names any more go with them. A part of the file ends at an empty line outside of all braces.
    """
    if not left_out:
        return text
    names = "|".join(map(re.escape, left_out))
    launched = re.compile(rf'^    launch\(\s*"(?:{names})",[^;]*;', re.MULTILINE)
    text = launched.sub(lambda found: "\n" * found[0].count("\n"), text)
    parts = _parts(text)
    while True:
        words = [set(re.findall(r"\w+", re.sub(r"//.*", "", part))) for part in parts]
        for at, part in enumerate(parts):
            name = DEFINED.search(part)
            if name and not any(name[1] in own for other, own in enumerate(words) if other != at):
                parts[at] = "\n" * part.count("\n")
                break
        else:
            return "".join(parts)


def _parts(text: str) -> list[str]:
    parts: list[str] = []
    part, depth = "", 0
    for line in text.splitlines(keepends=True):
        code = line.partition("//")[0]
        depth += code.count("{") - code.count("}")
        part += line
        if depth <= 0 and not line.strip():
            parts.append(part)
            part, depth = "", 0
    return [*parts, part]


def lay_out(folder: Path, source: Path, left_out: Collection[str]) -> None:
    """Makes ``folder`` hold the ST directory ``source`` without these cases."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(source, folder)
    for path in folder.glob("*_kernel.cpp"):
        path.write_text(without(host_kernel.read(path), left_out), encoding="utf-8", errors="surrogateescape")


def culprits(source: Path, names: Sequence[str], runtime: Runtime, compiler: Compiler) -> dict[str, Diagnostic]:
    """The cases of an ST directory whose kernels do not compile, each with what is said of it alone (PTG505).

    None where the file does not compile without any: then it is no case's fault.
    """
    files = list(source.glob("*_kernel.cpp"))
    if len(files) != 1 or len(names) < 2:
        return {}
    text = host_kernel.read(files[0])
    text = host_kernel.for_simulator(text, str(files[0])) or f"#line 1 {host_kernel.quoted(str(files[0]))}\n{text}"
    faults: dict[str, Diagnostic] = {}
    with tempfile.TemporaryDirectory(prefix="ptogen-") as temporary:

        def command(number: int, kept: Collection[str]) -> list[str]:
            copy = Path(temporary) / f"{number}.cpp"
            copy.write_text(without(text, set(names) - set(kept)), encoding="utf-8", errors="surrogateescape")
            where = ["-iquote", str(source), "-fsyntax-only"]
            return [*compiler.command, *runtime.options, *where, str(copy)]

        if children.run(command(0, ()))[0].returncode != 0:
            return {}
        suspects: list[Sequence[str]] = [names[: len(names) // 2], names[len(names) // 2 :]]
        while suspects:
            pair, suspects = suspects[:2], suspects[2:]
            runs = children.run(*(command(number, kept) for number, kept in enumerate(pair)))
            for kept, run in zip(pair, runs, strict=True):
                if run.returncode == 0:
                    continue
                if len(kept) == 1:
                    place, details = _position(files[0], run.stderr), compile.first_errors(run.stderr)
                    faults[kept[0]] = Diagnostic("PTG505", "the kernel does not build", place, details)
                else:
                    suspects += [kept[: len(kept) // 2], kept[len(kept) // 2 :]]
    return faults


def _position(file: Path, said: str) -> Position:
    """The first line of the kernel file that a compiler names; an assertion itself stands in a header."""
    found = re.search(rf"{re.escape(str(file))}:(\d+):(\d+):", said)
    return Position(str(file), int(found[1]), int(found[2])) if found else Position(str(file))
