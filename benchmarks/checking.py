"""How many cases a CPU second checks, beside pto-isa's own flow, with one compiler in one run on one machine.

pto-isa's flow is ``tests/run_cpu.py -t NAME`` on its hand-written STs of tsort32, tmrgsort and tpartmin: configure,
build, make data, run. ptogen's is ``ptogen matrix`` and ``ptogen check`` of ``specs/matrices/checking.yaml``, the same
ops on platform cpu, against the same headers and with an empty cache: finding out what the compiler can do and
compiling the headers is counted. Each goes once at pto-isa's own build type, Release (-O2 -DNDEBUG), and once without
optimisation and with assertions, which is pto-isa's Debug (that has -g, too) and what ``ptogen check`` does. ccache is
off.

Usage: ``python benchmarks/checking.py CHECKOUT [CXX]``: a pto-isa checkout, which is copied and not changed, and the
compiler, by default clang++-19.
"""

from __future__ import annotations

import json
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
MATRIX = ROOT / "specs" / "matrices" / "checking.yaml"
OPS = ("tsort32", "tmrgsort", "tpartmin")
RELEASE = ("-O2", "-DNDEBUG", "-Wno-deprecated-declarations")


def main() -> None:
    if len(sys.argv) < 2:
        raise SystemExit(__doc__)
    checkout, cxx = Path(sys.argv[1]).resolve(), sys.argv[2] if len(sys.argv) > 2 else "clang++-19"
    with tempfile.TemporaryDirectory(prefix="ptogen-bench-") as name:
        folder = Path(name)
        copy = folder / "pto-isa"
        shutil.copytree(checkout, copy, ignore=shutil.ignore_patterns(".git", "build"), symlinks=True)
        print(f"{'flow':<30}  {'build':<16}  {'cases':>6}  {'CPU s':>6}  {'a case':>7}")
        for label, options, build_type in (("-O2 -DNDEBUG", RELEASE, "Release"), ("-O0, assertions", None, "Debug")):
            theirs = _row("pto-isa, tests/run_cpu.py", label, *_upstream(copy, build_type, cxx, folder))
            ours = _row("ptogen matrix and check", label, *_ptogen(copy, options, cxx, folder / build_type))
            print(f"{'cases a CPU second':<30}  {label:<16}  {theirs / ours:.1f} times pto-isa's; target: at least 10")
    print(f"compiler {cxx}")


def _upstream(copy: Path, build_type: str, cxx: str, folder: Path) -> tuple[int, float]:
    """Cases and CPU seconds of pto-isa's flow."""
    cases, before = 0, _spent()
    for op in OPS:
        command = [sys.executable, "tests/run_cpu.py", "-t", op, "--build-type", build_type, "--cxx", cxx, "--verbose"]
        command += ["--no-install", "--build-dir", str(folder / "build" / build_type / op)]
        said = _run(command, cwd=copy, env=_environment())
        passed = re.findall(r"\[  PASSED  \] (\d+) test", said)
        if not passed:
            raise SystemExit(f"{' '.join(command)} passed no test:\n{said[-2000:]}")
        cases += sum(map(int, passed))
    return cases, _spent() - before


def _ptogen(copy: Path, options: tuple[str, ...] | None, cxx: str, place: Path) -> tuple[int, float]:
    """Cases and CPU seconds of ptogen's flow; with other options of the compiler than its own, if given."""
    environment = {**_environment(), "PTOGEN_CACHE": str(place / "cache")}
    set_options = f"from ptogen.backend import compile; compile.OPTIONS = {options!r}; " if options else ""
    start = [sys.executable, "-c", f"{set_options}from ptogen.cli import main; raise SystemExit(main())"]
    before = _spent()
    _run([*start, "matrix", str(MATRIX), "-o", str(place / "tree")], env=environment)
    check = [*start, "check", str(place / "tree"), "--pto-isa", str(copy), "--compiler", cxx, "--format", "json"]
    counts = json.loads(_run(check, env=environment))["counts"]
    if counts["failed"] or counts["known-defect"]:
        raise SystemExit(f"not every case passed: {counts}")
    return counts["passed"], _spent() - before


def _environment() -> dict[str, str]:
    path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    return {**os.environ, "CCACHE_DISABLE": "1", "PYTHONPATH": path}


def _run(command: list[str], **options: object) -> str:
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", **options)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} ended with status {done.returncode}:\n{done.stderr[-2000:]}")
    return done.stdout + (done.stderr if "run_cpu" in command[1] else "")


def _spent() -> float:
    """CPU seconds of all processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _row(flow: str, build: str, cases: int, seconds: float) -> float:
    """Prints a line; gives CPU seconds a case."""
    print(f"{flow:<30}  {build:<16}  {cases:>6,}  {seconds:>6.1f}  {seconds / cases:>7.3f}", flush=True)
    return seconds / cases


if __name__ == "__main__":
    main()
