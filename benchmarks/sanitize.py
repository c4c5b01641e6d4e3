"""What sanitizing a suite costs, against building and running it on the CPU simulator.

The suites are those of ``generated/`` for one platform. Every round does both from nothing, in turn: the folder of the
build and that of the recording are removed, ccache is off, and only what all suites share (the precompiled headers,
what is known of the compiler) is left from a first round that does not count. Both run as many compilers at once.
Usage: ``python benchmarks/sanitize.py [ROUNDS [PLATFORM]]``.
"""

from __future__ import annotations

import os
import resource
import shutil
import statistics
import subprocess
import sys
import sysconfig
import tempfile
import time
from pathlib import Path

from ptogen.platforms import PLATFORMS

GENERATED = Path(__file__).resolve().parents[1] / "generated"
PTOGEN = str(Path(sysconfig.get_path("scripts")) / "ptogen")
PARTS = ("builds", "recordings")
"""Folders of the cache that hold what is made for a suite alone."""


def measure(command: list[str], environment: dict[str, str]) -> tuple[float, float]:
    """CPU and wall seconds of a command, its children included."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    run = subprocess.run(command, env=environment, capture_output=True, text=True)
    after, wall = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter() - start
    if run.returncode:
        sys.exit(f"{' '.join(command)} ended with status {run.returncode}:\n{run.stdout}{run.stderr}")
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, wall


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    platform = sys.argv[2] if len(sys.argv) > 2 else "a2a3"
    jobs = ["-j", str(os.cpu_count() or 1)]
    with tempfile.TemporaryDirectory(prefix="ptogen-bench-") as name:
        places = sorted({str(path.parent) for path in (GENERATED / PLATFORMS[platform].st_root).rglob("main.cpp")})
        commands = {
            "ptogen check (builds and runs)": [PTOGEN, "check", str(GENERATED), "--select", f"{platform}-*.*", *jobs],
            "ptogen sanitize": [PTOGEN, "sanitize", *places, *jobs],
        }
        environment = {**os.environ, "CCACHE_DISABLE": "1", "PTOGEN_CACHE": name}
        _share_headers(Path(name))
        times: dict[str, list[tuple[float, float]]] = {what: [] for what in commands}
        for turn in range(rounds + 1):
            for what, command in commands.items():
                for part in PARTS:
                    shutil.rmtree(Path(name) / part, ignore_errors=True)
                spent = measure(command, environment)
                if turn:  # the first round compiles the shared headers
                    times[what].append(spent)
    medians = {what: [statistics.median(column) for column in zip(*rows, strict=True)] for what, rows in times.items()}
    (cpu, wall), (own_cpu, own_wall) = medians.values()
    print(f"{'command':<32}  {'CPU s':>6}  {'wall s':>6}")
    for what, (one, two) in medians.items():
        print(f"{what:<32}  {one:>6.2f}  {two:>6.2f}")
    print(f"{'ratio (target: at most 2)':<32}  {own_cpu / cpu:>6.2f}  {own_wall / wall:>6.2f}")
    print(f"{len(places)} suites of {platform}, medians of {rounds} alternating runs from nothing, {jobs[1]} jobs")


def _share_headers(cache: Path) -> None:
    """The download of the headers, if the user has it, is not made again."""
    import platformdirs

    download = Path(os.environ.get("PTOGEN_CACHE") or platformdirs.user_cache_path("ptogen")) / "pto-isa"
    if download.is_dir():
        (cache / "pto-isa").symlink_to(download, target_is_directory=True)


if __name__ == "__main__":
    main()
