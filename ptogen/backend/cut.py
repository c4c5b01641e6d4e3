"""A suite without some of its kernels, so that one which these headers refuse costs its own cases only."""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from ptogen.backend import children, compile, host_kernel
from ptogen.backend.compile import Compiler
from ptogen.backend.runtime import Runtime
from ptogen.errors import Diagnostic, Position
from ptogen.output import Manifest


def kernel_of(case: Mapping[str, object]) -> str:
    """The kernel that a case of a manifest calls, ``Launch_<kernel>``; cases that differ in their data share one."""
    return str(case.get("kernel", case["name"]))


def kernels(manifest: Manifest) -> list[str]:
    """Every kernel of a suite, in the order of its cases."""
    return list(dict.fromkeys(map(kernel_of, manifest.cases)))


def without(text: str, left_out: Collection[str]) -> str:
    """The text of a kernel file without these kernels, which its launcher then does not know; lines keep their numbers.

    A function is a part of the file that ends at an empty line outside of all braces.
    """
    if not left_out:
        return text
    names = "|".join(map(re.escape, left_out))
    function = re.compile(rf"^[^\n;{{}}/]*\b(?:Run|Launch)_(?:{names})\s*\([^;{{}}]*\)\s*\{{", re.MULTILINE)
    branch = re.compile(rf'^    if \([^{{}};]*"(?:{names})"[^{{}};]*\) \{{[^{{}}]*\}}', re.MULTILINE)
    parts: list[str] = []
    lines: list[str] = []
    depth = 0
    for line in [*text.split("\n"), ""]:
        code = line.partition("//")[0]
        depth += code.count("{") - code.count("}")
        lines.append(line)
        if depth <= 0 and not line.strip():
            part = branch.sub(lambda found: "\n" * found[0].count("\n"), "\n".join(lines))
            parts.append("\n" * part.count("\n") if function.search(part) else part)
            lines, depth = [], 0
    return "\n".join([*parts, *lines])[: -1 if not lines else None]


def lay_out(folder: Path, source: Path, left_out: Collection[str]) -> None:
    """Makes ``folder`` hold the ST directory ``source`` without these kernels."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(source, folder)
    for path in folder.glob("*_kernel.cpp"):
        path.write_text(without(host_kernel.read(path), left_out), encoding="utf-8", errors="surrogateescape")


def culprits(source: Path, names: Sequence[str], runtime: Runtime, compiler: Compiler) -> dict[str, Diagnostic]:
    """The kernels of an ST directory that do not compile, each with what the compiler says of it alone (PTG505).

    None of them where the file does not compile without any: then it is no kernel's fault.
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
