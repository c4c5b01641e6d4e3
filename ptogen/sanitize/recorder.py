"""Compiles a kernel and its host program with the recording layer (``overlay/recorder``) between them and the
upstream headers, and runs it.

The user's folder is only read: sources are compiled from a copy in the cache, whose lines keep the names and numbers
of the originals. Where the simulator cannot compile an instruction that the NPU has, the kernel is compiled once more
so that instructions are recorded and not computed."""

from __future__ import annotations

import fnmatch
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ptogen.backend import cache, children, compile
from ptogen.backend.compile import BINDING, Compiler
from ptogen.backend.headers import Headers
from ptogen.errors import Diagnostic, Position, PtogenError
from ptogen.sanitize import driver
from ptogen.sanitize.driver import Call
from ptogen.sanitize.rewrite import rewrite

RECORDER = compile.OVERLAY / "recorder"

MEMORY_BYTES = 4 << 20
"""Every on-chip memory of the recorded program: larger than any platform's, so that a tile past the end is a finding
and not the end of the run."""

MACROS = dict.fromkeys(BINDING, "BINDING") | {"TRESHAPE": "RESHAPE"}
"""What wraps an instruction, where it is not INSTRUCTION; these are called even where nothing else is computed."""

OWN = ("TSYNC",)
"""Instructions that the recording layer has itself (``ptogen/event.hpp``)."""

HEADER = """\
#include <gtest/gtest.h>
#include <pto/pto-inst.hpp>
#include <ptogen/launch.hpp>
"""

END = re.compile(r'\{"t":"end",.*"exception":("(?:[^"\\]|\\.)*")\}')
"""The line that ends a test, with the exception that it let out; the last line of a recording may be cut."""

CASE_SECONDS = 120.0
GENERATOR_SECONDS = 120.0

MOST_TESTS = 6
"""Tests that a message names."""


@dataclass(frozen=True)
class CaseRun:
    """How the run of one test ended.

    Attributes:
        name: ``Suite.case``.
        fault: why its recording may be incomplete; empty where it ran to its end.
    """

    name: str
    fault: str = ""


@dataclass(frozen=True)
class Recording:
    """What was recorded.

    Attributes:
        lines: the JSON lines, see ``overlay/recorder/ptogen/recorder.hpp``.
        program: the binary, for its line table.
        cases: the tests that were run.
        computed: whether upstream computed the instructions, or they were only recorded.
        reason: the compiler's first error where they were not computed.
    """

    lines: tuple[str, ...]
    program: Path
    cases: tuple[CaseRun, ...]
    computed: bool
    reason: str = ""

    def discard(self) -> None:
        """Takes it from the cache."""
        shutil.rmtree(self.program.parents[1], ignore_errors=True)


def names(include: Path) -> list[str]:
    """The instructions that ``pto_instr.hpp`` of the headers at hand declares."""
    text = (include / "pto" / "common" / "pto_instr.hpp").read_text(encoding="utf-8", errors="replace")
    return sorted(set(re.findall(r"PTO_(?:INST|INTERNAL\s+RecordEvent)\s+[^;{(]*?\b([A-Z][A-Z0-9_]+)\s*\(", text)))


def checkout_of(place: Path) -> Path | None:
    """The pto-isa checkout around a folder: the one whose ``include/`` holds the headers."""
    for folder in place.resolve().parents:
        if (folder / "include" / "pto" / "pto-inst.hpp").is_file():
            return folder
    return None


@dataclass(frozen=True)
class Layer:
    """The recording layer for one compiler and one set of headers, compiled once.

    Attributes:
        options: of every file, precompiled header included.
        host: object file to link.
    """

    options: tuple[str, ...]
    host: Path


def prepare(headers: Headers, compiler: Compiler, computed: bool, npu: bool, progress: Callable[[str], None]) -> Layer:
    """The layer, from the cache where it was made before.

    Raises:
        PtogenError: PTG505 where it does not compile with these headers.
    """
    own = ["-DPTOGEN_NPU"] * npu + ["-DPTOGEN_RECORD_ONLY"] * (not computed)
    options = [
        compiler.standard,
        "-O0",
        "-g1",
        "-fpie",
        "-DNDEBUG",
        "-w",
        *compile.PREINCLUDES,
        "-D__CPU_SIM",
        "-DPTO_COMM_NOT_SUPPORTED",
        *own,
        *compile.include_options(compiler, headers.include, ("recorder", "simulator")),
    ]
    # The options are in the key with the folders of the headers, whose paths a precompiled header holds.
    found = names(headers.include)
    own_texts = (HEADER, *found, *options)
    key = cache.digest(*compiler.command, compiler.version, headers.digest, compile.overlay_digest(), *own_texts)
    folder = cache.root() / "recorders" / key
    options = [f"-I{folder}", *options]
    with cache.locked(folder):
        if not (folder / "complete").is_file():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
            progress(f"compiling the recording layer once{'' if computed else ', without the simulator'}")
            wraps = [
                f"PTOGEN_{MACROS.get(name, 'INSTRUCTION')}({name}, {name}_upstream)\n"
                for name in found
                if name not in OWN
            ]
            begin = "".join(f"#define {name} {name}_upstream\n" for name in found)
            end = "".join(f"#undef {name}\n" for name in found)
            for part, text in (("begin", begin), ("end", end), ("wrap", "".join(wraps))):
                (folder / f"ptogen_names_{part}.inc").write_text(text, encoding="utf-8")
            header = folder / "pto.hpp"
            header.write_text(HEADER, encoding="utf-8")
            clang = compiler.kind == "clang"
            made = f"{header}.{'pch' if clang else 'gch'}"
            # Templates of GoogleTest and of the library that every file would instantiate are instantiated here.
            stamp = ["-Xclang", "-fno-pch-timestamp", "-fpch-instantiate-templates"] if clang else []
            for job in (
                [*stamp, "-x", "c++-header", str(header), "-o", made],
                ["-c", str(RECORDER / "ptogen_host.cpp"), "-o", str(folder / "host.o")],
            ):
                output = _run([*compiler.command, *options, *job])
                if output is not None:
                    details = compile.first_errors(output)
                    message = "the recording layer does not compile with these headers"
                    raise PtogenError(Diagnostic("PTG505", message, details=details))
        (folder / "complete").touch()
    if compiler.kind == "clang":
        use = ["-include-pch", str(folder / "pto.hpp.pch")]
    else:
        use = ["-include", str(folder / "pto.hpp")]
    return Layer((*use, *options), folder / "host.o")


def _program(command: Sequence[str], timeout: float | None = None, **options: Any) -> subprocess.CompletedProcess[str]:
    """A program that has ended: by itself, by an interrupt of ptogen's, or after ``timeout`` seconds.

    Raises:
        subprocess.TimeoutExpired: after those.
    """
    pipe = subprocess.PIPE
    process = children.start(
        command, stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe, text=True, errors="replace", **options
    )
    try:
        output, errors = process.communicate(timeout=timeout)
    finally:
        children.end(process)
        children.forget(process)
    return subprocess.CompletedProcess(command, process.returncode, output, errors)


def _run(command: Sequence[str], cwd: Path | None = None) -> str | None:
    """The output of a command that fails; None where it succeeds."""
    run = _program(command, cwd=cwd, env={**os.environ, "LC_ALL": "C.UTF-8"})
    return None if run.returncode == 0 else run.stdout + run.stderr or f"ended with status {run.returncode}"


def record(
    folder: Path,
    files: Sequence[Path],
    headers: Headers,
    compiler: Compiler,
    *,
    aicore: int = 220,
    select: str | None = None,
    progress: Callable[[str], None] = lambda line: None,
    calls: Sequence[Call] = (),
    given: Path | None = None,
) -> Recording:
    """Compiles ``files`` of ``folder`` and runs their tests.

    ``aicore`` is what the device compiler has as ``__CCE_AICORE__``: 220 on a2a3, 310 on a5; 0 for a kernel of the
    simulator itself. ``calls`` become the tests of the first file, which then needs no host program. ``given`` is the
    place that messages name, if it is not the folder.

    Raises:
        PtogenError: PTG505 where they do not build, PTG507 where no test is selected, PTG509 where a call fits no
            function.
    """
    given = given or folder
    text = files[0].read_text(encoding="utf-8", errors="surrogateescape") if calls else ""
    chosen = [call for call in calls if call.is_selected(select)]
    tests_of_calls = driver.source(chosen, text) if chosen else ""
    key = cache.digest(str(folder.resolve()), *map(str, files), str(headers.include), *map(str, calls))
    # Its program is read after this: another run of the same kernel must not take it away.
    place = cache.root() / "recordings" / f"{key}-{uuid.uuid4().hex[:8]}"
    with cache.locked(place.with_name(key)), _emptied_by_a_fault(place):
        (place / "bin").mkdir(parents=True)
        reason = ""
        for computed in (True, False):
            layer = prepare(headers, compiler, computed, bool(aicore), progress)
            output = _build(place, folder, files, layer, compiler, aicore, tests_of_calls)
            if output is None:
                break
            if chosen and (number := driver.misfit(output)):
                raise PtogenError(_misfit(files[0], text, chosen[number - 1], output))
            if computed:
                reason = (compile.first_errors(output, 1) or ("",))[0]
        if output is not None:
            linking = tuple(line.strip() for line in output.splitlines() if "undefined" in line)[:5]
            details = linking or compile.first_errors(output)
            raise PtogenError(
                Diagnostic("PTG505", "the kernel does not build for recording", _place(details, given), details)
            )
        found = [f"{call.suite}.{call.case}" for call in calls] or _tests(place)
        if not found:
            raise PtogenError(_no_tests(given, files))
        tests = [name for name in found if _is_selected(name, select)]
        if not tests:
            more = f" and {len(found) - MOST_TESTS} more" if len(found) > MOST_TESTS else ""
            details = (f"it has {', '.join(found[:MOST_TESTS])}{more}",)
            raise PtogenError(Diagnostic("PTG507", f"no test matches {select!r}", Position(str(given)), details))
        if not calls:
            _generate(place, folder)
        lines, cases = _cases(place, tests)
        return Recording(tuple(lines), place / "bin" / "program", tuple(cases), computed, reason)


@contextmanager
def _emptied_by_a_fault(place: Path) -> Iterator[None]:
    """Takes a folder away where the block fails."""
    try:
        yield
    except BaseException:
        shutil.rmtree(place, ignore_errors=True)
        raise


def _misfit(file: Path, text: str, call: Call, output: str) -> Diagnostic:
    """PTG509, with the functions that are there."""
    base = call.function.partition("<")[0].strip()
    known = {one.name for one in driver.functions(text)}
    message = f"no function fits the call {call}"
    if base.split("::")[-1] not in known:
        message = f"it has no function {base}, which {call} calls"
    hint = "give the tensors and scalars in the order of the parameters; a stream at the end is passed by itself"
    return Diagnostic("PTG509", message, Position(str(file)), driver.listing(text), hint)


def _no_tests(given: Path, files: Sequence[Path]) -> Diagnostic:
    """PTG507 for a file without tests: what would drive it."""
    if len(files) != 1:
        return Diagnostic("PTG507", "there are no tests", Position(str(given)))
    text = files[0].read_text(encoding="utf-8", errors="replace")
    hint = "give --call 'FUNCTION(float32[2,13], ...)', tensors in the order of its parameters, or --spec SPEC.yaml"
    message = "nothing says how to call the kernel"
    return Diagnostic("PTG507", message, Position(str(files[0])), driver.listing(text), hint)


def _place(details: Sequence[str], given: Path) -> Position:
    for line in details:
        match = re.match(r"(.+?):(\d+):(\d+): (?:fatal )?error", line)
        if match:
            return Position(match[1], int(match[2]), int(match[3]))
    return Position(str(given))


def _build(
    place: Path,
    folder: Path,
    files: Sequence[Path],
    layer: Layer,
    compiler: Compiler,
    aicore: int,
    tests_of_calls: str = "",
) -> str | None:
    """The compiler's output where it fails. ``tests_of_calls`` is put behind the first file.

    Parts of some kernels stand under ``#ifdef __CCE_AICORE__``; the headers, which ask for it as well, are precompiled.
    """
    where = ["-iquote", str(folder)]
    for ancestor in folder.resolve().parents:
        where += [f"-I{ancestor / own}" for own in ("tests/common", "include/common") if (ancestor / own).is_dir()]
    where.append(f"-I{RECORDER / 'tests'}")
    for header in sorted(path for path in folder.iterdir() if path.suffix in (".h", ".hpp", ".inc")):
        _copy(header, place)
    objects = []
    for number, file in enumerate(files):
        target = place / f"{number}.o"
        copy = _copy(file, place, f"#define __CCE_AICORE__ {aicore}\n" if aicore and file.name != "main.cpp" else "")
        if tests_of_calls and not number:
            with copy.open("a", encoding="utf-8", errors="surrogateescape") as stream:
                stream.write(tests_of_calls)
        output = _run([*compiler.command, *layer.options, *where, "-c", str(copy), "-o", str(target)])
        if output is not None:
            return output
        objects.append(str(target))
    program = str(place / "bin" / "program")
    libraries = ["-lgtest", "-lgtest_main", *compile.LIBRARIES]
    return _run([*compiler.command, "-pie", *objects, str(layer.host), "-o", program, *libraries])


def _copy(file: Path, place: Path, before: str = "") -> Path:
    """The source as a host compiler reads it, its lines called by the names of the original."""
    copy = place / file.name
    text = file.read_text(encoding="utf-8", errors="surrogateescape")
    name = driver.string(str(file.resolve()))
    copy.write_text(f"{before}#line 1 {name}\n{rewrite(text)}", encoding="utf-8", errors="surrogateescape")
    return copy


def _is_selected(name: str, select: str | None) -> bool:
    """Whether ``Suite.case`` matches, with or without the suite."""
    return select is None or any(fnmatch.fnmatchcase(one, select) for one in (name, name.partition(".")[2]))


def _tests(place: Path) -> list[str]:
    """``Suite.case`` of every test."""
    run = _program([str(place / "bin" / "program"), "--gtest_list_tests"], cwd=place / "bin")
    found, suite = [], ""
    for line in run.stdout.splitlines():
        word = line.split("#")[0].strip()
        if line.startswith("  "):
            found.append(f"{suite}{word}")
        elif word.endswith("."):
            suite = word
    return found


def _generate(place: Path, folder: Path) -> None:
    """The input data, where gen_data.py makes it; it is zeros otherwise."""
    script = folder / "gen_data.py"
    if not script.is_file():
        return
    shutil.copyfile(script, place / "gen_data.py")
    checkout = checkout_of(folder)
    paths = [str(checkout), str(checkout / "tests" / "cpu" / "st")] if checkout else []
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        _program([sys.executable, "gen_data.py"], GENERATOR_SECONDS, cwd=place, env=environment)
    except subprocess.TimeoutExpired:
        return


def _cases(place: Path, tests: Sequence[str]) -> tuple[list[str], list[CaseRun]]:
    """Runs the tests; after one that ends the program, or does not end, the others."""
    lines: list[str] = []
    cases: list[CaseRun] = []
    rest = list(tests)
    target = place / "recording.jsonl"
    while rest:
        target.unlink(missing_ok=True)
        environment = {**os.environ, "PTOGEN_LEAST_BYTES": str(MEMORY_BYTES), "PTOGEN_RECORDING": str(target)}
        flags = place / "filter.txt"
        flags.write_text(f"--gtest_filter={':'.join(rest)}\n", encoding="utf-8")
        try:
            command = [str(place / "bin" / "program"), f"--gtest_flagfile={flags}"]
            run = _program(command, CASE_SECONDS, cwd=place / "bin", env=environment)
            fault = _fault(run)
        except subprocess.TimeoutExpired:
            fault = f"it did not end within {CASE_SECONDS:g} s, such as a wait for another core"
        recorded = target.read_text(encoding="utf-8", errors="replace").splitlines() if target.is_file() else []
        lines += recorded
        ends = [match[1] for match in map(END.fullmatch, recorded) if match]
        cases += [CaseRun(name, " ".join(json.loads(end).split())[:200]) for name, end in zip(rest, ends, strict=False)]
        if len(ends) < len(rest):
            cases.append(CaseRun(rest[len(ends)], fault or "it was not run"))
        rest = rest[len(ends) + 1 :]
    return lines, cases


def _fault(run: subprocess.CompletedProcess[str]) -> str:
    if run.returncode >= 0:
        return "" if run.returncode in (0, 1) else f"the program ended with status {run.returncode}"
    words = [line.strip() for line in run.stderr.splitlines() if line.strip()]
    try:
        name = signal.Signals(-run.returncode).name
    except ValueError:
        name = f"signal {-run.returncode}"
    return f"the program ended by {name}" + (f": {words[-1][:200]}" if words else "")
