"""Configures and builds the project, and tells the suites that do not build from those that do."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from ptogen.backend import cache, children, compile, project
from ptogen.backend.project import Place
from ptogen.backend.runtime import Kind, Runtime
from ptogen.backend.toolchain import Toolchain
from ptogen.errors import Diagnostic, Position, PtogenError

Source = tuple[str, Path, Kind]
"""Key, ST directory and kind of a suite."""

STALE = ("precompiled header", "PCH file", "AST file", "pto.hpp.gch")
"""What a compiler says when something under a precompiled header has changed, such as the system's own headers."""


Ended = Callable[[str, "Diagnostic | None"], None]
"""Told of each suite, once, that it is built, or why it is not."""


def build(
    place: Place,
    suites: Sequence[Source],
    runtimes: dict[Kind, Runtime],
    toolchain: Toolchain,
    *,
    jobs: int,
    fail_fast: bool,
    ended: Ended,
    stop: Callable[[], bool] = lambda: False,
) -> None:
    """Builds the suites; PTG505 for each that does not build.

    The others are built all the same, unless ``fail_fast``: then some end neither way.

    Args:
        ended: called as soon as a program stands, so that it can run while others are built.
        stop: asked again and again whether to leave the rest.

    Raises:
        PtogenError: PTG504 where CMake finds no GoogleTest, PTG505 where the project as a whole cannot be configured.
    """
    rest = list(suites)
    while rest:
        output = _configure(place, rest, runtimes, toolchain)
        if output is None:
            break
        said = output.replace("\n", " ")
        culprits = [key for key, _, _ in rest if f"{place.source(key)}/CMakeLists.txt" in said]
        if not culprits:
            raise PtogenError(_configure_fault(output))
        for key, source, _ in rest:
            if key in culprits:
                position = Position(str(source / "CMakeLists.txt"))
                details = tuple(_own(line, place.source(key), source) for line in compile.first_errors(output))
                ended(key, Diagnostic("PTG505", "CMake cannot read the suite", position, details))
        rest = [suite for suite in rest if suite[0] not in culprits]
    if rest and not (fail_fast and len(rest) < len(suites)):
        _drop_outdated(place, rest)
        _make(place, rest, toolchain, jobs, fail_fast, ended, stop)


def is_stale(fault: Diagnostic) -> bool:
    """Whether a precompiled header is to blame."""
    return any(word in line for line in fault.details for word in STALE)


def _configure(
    place: Place, suites: Sequence[Source], runtimes: dict[Kind, Runtime], toolchain: Toolchain
) -> str | None:
    """Runs CMake where the project or what it was configured with is new; gives its output where it fails."""
    changed = project.write(place, suites, runtimes)
    ccache = shutil.which("ccache")
    compiler = toolchain.compiler.command
    command = [
        toolchain.cmake, "-S", str(place.project), "-B", str(place.build), "-G", "Ninja",
        f"-DCMAKE_MAKE_PROGRAM={toolchain.ninja}",
        f"-DCMAKE_CXX_COMPILER={';'.join(compiler)}", f"-DCMAKE_CXX_COMPILER_LAUNCHER={ccache or ''}",
    ]  # fmt: skip
    stamp = place.root / "configured.json"
    read = [_digest(source / "CMakeLists.txt") for _, source, _ in suites]
    if not changed and cache.remembered(stamp) == [command, read] and (place.build / "build.ninja").is_file():
        return None
    stamp.unlink(missing_ok=True)
    run = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", env=_environment()
    )
    if run.returncode != 0:
        return run.stdout + run.stderr
    cache.remember(stamp, [command, read])
    return None


def _drop_outdated(place: Place, suites: Sequence[Source]) -> None:
    """Takes away what was compiled of another text.

    Ninja goes by time stamps, and a file that is put back, copied or unpacked may bring along one that is older than
    the program of the text that stood there meanwhile.
    """
    for key, source, _ in suites:
        stamp = place.work(key) / "compiled.json"
        read = [path for path in source.rglob("*") if path.suffix in compile.SOURCES and path.is_file()]
        text = {path.relative_to(source).as_posix(): _digest(path) for path in read} | _shared(place, source)
        known = cache.remembered(stamp)
        if text == known:
            continue
        known = known if isinstance(known, dict) else {}
        changed = {name for name in text.keys() | known.keys() if text.get(name) != known.get(name)}
        every = not known or any(not name.endswith(".cpp") for name in changed)
        for compiled in (place.build / "suites" / key).rglob("*.o"):
            if every or compiled.name.removesuffix(".o") in changed:
                compiled.unlink()
        cache.remember(stamp, text)


def _shared(place: Place, source: Path) -> dict[str, str]:
    """The digests of the files of ``tests/common`` that a suite's program names."""
    try:
        program = (source / "main.cpp").read_bytes()
    except OSError:
        return {}
    return {path.name: _digest(path) for path in place.common.glob("*.h*") if path.name.encode() in program}


def _digest(path: Path) -> str:
    """Of a file's content; empty where it cannot be read, which the compiler will say."""
    try:
        return cache.digest_files(path.parent, [path])
    except OSError:
        return ""


def _make(
    place: Place,
    suites: Sequence[Source],
    toolchain: Toolchain,
    jobs: int,
    fail_fast: bool,
    ended: Ended,
    stop: Callable[[], bool],
) -> None:
    keys = [key for key, _, _ in suites]
    command = [toolchain.ninja, "-C", str(place.build), "-j", str(jobs), "-k", "1" if fail_fast else "0", *keys]
    built: set[str] = set()
    lines: list[str] = []
    linked: str | None = None
    for line in _lines(command, stop):
        # Ninja names a step when it has ended, and says in the line below if it has failed.
        if linked is not None and not line.startswith("FAILED: "):
            built.add(linked)
            ended(linked, None)
        found = re.match(r"\[\d+/\d+\] Linking CXX executable .*work/([^/]+)/bin/program$", line.rstrip())
        linked = found[1] if found else None
        lines.append(line)
    if linked is not None and not stop():
        built.add(linked)
        ended(linked, None)
    output = "".join(lines)
    blocks = _failures(output, keys)
    whole = "ninja: no work to do." in output
    for key, source, _ in suites:
        if key in built:
            continue
        if key not in blocks and (whole or _is_current(place, key, toolchain)):
            ended(key, None)
        elif key in blocks or not ((fail_fast and blocks) or stop()):
            errors = compile.first_errors(blocks.get(key, "" if blocks else output))
            link = place.source(key)
            details = tuple(_own(line, link, source) for line in errors)
            ended(key, Diagnostic("PTG505", "the suite does not build", _position(link, source, errors), details))


def _lines(command: Sequence[str], stop: Callable[[], bool]) -> Iterator[str]:
    """What a build says, line by line; it is ended where ``stop`` says so, or with whoever reads."""
    with subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        env=_environment(),
    ) as process:
        assert process.stdout is not None
        try:
            for line in process.stdout:
                yield line
                if stop():
                    break
        finally:
            if process.poll() is None:
                # Ninja then ends its compilers and takes away what they have left half written.
                process.terminate()


def _is_current(place: Place, key: str, toolchain: Toolchain) -> bool:
    """Whether Ninja has nothing left to do for a suite.

    A program of an earlier run may stand there although its text changed.
    """
    command = [toolchain.ninja, "-C", str(place.build), "-n", key]
    run = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace")
    return run.returncode == 0 and "no work to do" in run.stdout


def _failures(output: str, keys: Sequence[str]) -> dict[str, str]:
    """Ninja's output cut at its status lines: what belongs to each suite that failed."""
    blocks: dict[str, str] = {}
    for block in re.split(r"^(?=\[\d+/\d+\] )|^(?=FAILED: )", output, flags=re.MULTILINE):
        if block.startswith("FAILED: "):
            first, _, rest = block.partition("\n")
            for key in keys:
                if f"suites/{key}/" in first or f"work/{key}/bin" in first:
                    blocks[key] = blocks.get(key, "") + rest.partition("\n")[2]
    return blocks


def _own(line: str, link: Path, source: Path) -> str:
    """A line that somebody said who knows a suite by its link."""
    return line.replace(f"{link}/", f"{source}/")


def _position(link: Path, source: Path, errors: Sequence[str]) -> Position:
    """The place that the compiler's first error names, if it lies in the suite."""
    for line in errors:
        match = re.match(r"(.+?):(\d+):(\d+): (?:fatal )?error", line)
        if match and Path(match[1]).is_relative_to(link):
            return Position(_own(match[1], link, source), int(match[2]), int(match[3]))
    return Position(str(source))


def _environment() -> dict[str, str]:
    """ccache may use results although a precompiled header is at work: its content stands in its path.

    Its depend mode spares the preprocessing: measured, a first build of a main.cpp is 0.2 to 0.6 s quicker.
    """
    dropped = ("CXXFLAGS", "CPPFLAGS", "LDFLAGS", "CXX", "CMAKE_BUILD_TYPE", "CMAKE_GENERATOR", "NINJA_STATUS")
    environment = {name: value for name, value in os.environ.items() if name not in dropped}
    environment.setdefault("CCACHE_SLOPPINESS", "pch_defines,time_macros,include_file_mtime,include_file_ctime")
    environment.setdefault("CCACHE_DEPEND", "1")
    return environment | {"LC_ALL": "C.UTF-8", children.MARK: "1"}


NO_GTEST = re.compile(r"^CMake Error.*(?:\n|\n  .*)*?GTest", re.MULTILINE)
"""An error of CMake that has to do with GoogleTest: its reason is indented."""


def _configure_fault(output: str) -> Diagnostic:
    if NO_GTEST.search(output):
        hint = "on Debian or Ubuntu: apt-get install libgtest-dev"
        return Diagnostic("PTG504", "missing: GoogleTest", details=compile.first_errors(output), hint=hint)
    return Diagnostic("PTG505", "the build cannot be configured", details=compile.first_errors(output))
