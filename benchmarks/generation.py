"""How fast matrices become suites, beside NVIDIA's generator of CUTLASS kernels, in one run on one machine.

``ptogen matrix`` plans, checks, renders, lays out and writes ``specs/matrices/bench.yaml``, at most 64 cases a suite.
``cutlass_library`` (package nvidia-cutlass 4.2.0, installed into a throwaway environment) writes its GEMM kernels for
sm_80, about 7,000; it plans nothing and lays nothing out. Rounds alternate; the medians count.
Everything that the rate is made of is printed: cases, files, lines.

Usage: ``python benchmarks/generation.py [ROUNDS]``. nvidia-cutlass comes from the package index, unless CUTLASS_PYTHON
is an interpreter that has it.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BENCH = ROOT / "specs" / "matrices" / "bench.yaml"
CUTLASS = "nvidia-cutlass==4.2.0"
CASES = (1_000, 10_000)


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    with tempfile.TemporaryDirectory(prefix="ptogen-bench-") as name:
        folder = Path(name)
        python = Path(os.environ.get("CUTLASS_PYTHON") or _cutlass(folder / "venv"))
        specs = {cases: _sample(folder, cases) for cases in CASES}
        rows: dict[str, list[tuple[float, float]]] = {"first": [], "again": [], "cutlass": []}
        for turn in range(rounds):
            out = folder / f"out{turn}"
            rows["first"].append(timed(lambda out=out: _matrix(specs[CASES[-1]], out)))
            rows["again"].append(timed(lambda out=out: _matrix(specs[CASES[-1]], out)))
            rows["cutlass"].append(timed(lambda turn=turn: _emit(python, folder / f"cutlass{turn}")))
            if turn:
                shutil.rmtree(out)
                shutil.rmtree(folder / f"cutlass{turn}")
        data = json.loads(_matrix(specs[CASES[-1]], folder / "out0", "--format", "json"))
        kernels = len(list((folder / "cutlass0").rglob("*.cu"))) - _directories(folder / "cutlass0")
        peaks = {cases: _peak(specs[cases], folder / f"peak{cases}") for cases in CASES}
        print(f"{'what':<34}  {'number':>7}  {'files':>6}  {'lines':>9}  {'seconds':>7}  {'CPU s':>6}  {'a second':>8}")
        _row("ptogen matrix, first run", data["cases"], folder / "out0", rows["first"])
        _row("ptogen matrix, nothing to do", data["cases"], folder / "out0", rows["again"])
        _row("cutlass_library, GEMM, sm_80", kernels, folder / "cutlass0", rows["cutlass"])
    first, again, other = (statistics.median(wall for wall, _ in rows[name]) for name in rows)
    cpu, other_cpu = (statistics.median(own for _, own in rows[name]) for name in ("first", "cutlass"))
    print()
    print(f"cases a second to kernels a second   {data['cases'] / first / (kernels / other):.2f}   target: at least 1")
    print(f"the same by CPU seconds              {data['cases'] / cpu / (kernels / other_cpu):.2f}")
    print(f"a run with nothing to do             {again / first:.3f}  of the first; target: at most 0.1")
    low, high = (peaks[cases] for cases in CASES)
    print(f"peak memory of all processes         {low} MiB for {CASES[0]:,} cases, {high} MiB for {CASES[-1]:,}")
    print(f"medians of {rounds} alternating rounds, {os.cpu_count()} processors")


def _cutlass(folder: Path) -> Path:
    venv.create(folder, with_pip=True)
    python = folder / "bin" / "python"
    subprocess.run([python, "-m", "pip", "install", "--quiet", "--no-deps", CUTLASS], check=True)
    return python


def _sample(folder: Path, cases: int) -> Path:
    """The benchmark's matrix, all of it or a sample."""
    if cases == CASES[-1]:
        return BENCH
    place = folder / f"bench{cases}.yaml"
    place.write_text(f"{BENCH.read_text(encoding='utf-8')}strategy: {{sample: {cases}}}\n", encoding="utf-8")
    return place


def _matrix(spec: Path, out: Path, *options: str) -> str:
    command = [sys.executable, "-m", "ptogen", "matrix", str(spec), "-o", str(out), *options]
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]),
    }
    done = subprocess.run(
        command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment
    )
    return done.stdout


def _emit(python: Path, out: Path) -> None:
    script = "import cutlass_library, os; print(os.path.dirname(cutlass_library.__file__))"
    library = subprocess.run([python, "-c", script], check=True, capture_output=True, text=True).stdout.strip()
    out.mkdir()
    options = ["--operations=gemm", "--architectures=80", "--kernels", "all"]
    places = ["--build-dir", str(out), "--curr-build-dir", str(out)]
    subprocess.run(
        [python, f"{library}/generator.py", *options, *places],
        check=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def _directories(tree: Path) -> int:
    """How many of CUTLASS's files only call the others: they are named all_* and initialise a family."""
    return len(list(tree.rglob("all_*.cu"))) + len(list(tree.rglob("initialize_all*.cu")))


def timed(work: Callable[[], object]) -> tuple[float, float]:
    """Wall time and CPU time, that of all processes."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    work()
    wall = time.perf_counter() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _peak(spec: Path, out: Path) -> int:
    """The largest sum of what the processes hold for themselves alone, in MiB, looked at all the time."""
    command = [sys.executable, "-m", "ptogen", "matrix", str(spec), "-o", str(out)]
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]),
    }
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment)
    peak = 0
    while process.poll() is None:
        peak = max(peak, sum(map(_proportional, _family(process.pid))))
        time.sleep(0.02)
    if process.returncode:
        raise SystemExit(f"{' '.join(command)} ended with status {process.returncode}")
    return peak // 1024


def _family(pid: int) -> list[int]:
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return []
    return [pid, *(member for child in children for member in _family(int(child)))]


def _proportional(pid: int) -> int:
    """KiB of a process, pages that it shares counted in part."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("Pss:")), 0)


def _row(what: str, number: int, tree: Path, times: list[tuple[float, float]]) -> None:
    files = [path for path in tree.rglob("*") if path.is_file() and ".ptogen" not in path.parts]
    lines = sum(path.read_bytes().count(b"\n") for path in files)
    wall, cpu = (statistics.median(column) for column in zip(*times, strict=True))
    print(f"{what:<34}  {number:>7,}  {len(files):>6,}  {lines:>9,}  {wall:>7.2f}  {cpu:>6.2f}  {number / wall:>8,.0f}")


if __name__ == "__main__":
    main()
