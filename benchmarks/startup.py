"""What a start of ptogen costs, against the imports that nobody can avoid.

Every round runs each command once, in turn, so that a busy machine slows all of them; the table shows the medians.
Each `ptogen kernel` writes into a fresh directory.
Usage: ``python benchmarks/startup.py [ROUNDS]``.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import sysconfig
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PTOGEN = str(Path(sysconfig.get_path("scripts")) / "ptogen")
SPEC = "op: tsort32\nplatform: a2a3\ndtype: float32\nrows: 2\ncols: 13\n"


def measure(commands: dict[str, list[str]], rounds: int, cwd: str) -> dict[str, float]:
    """The median wall time of each command in seconds."""
    times: dict[str, list[float]] = {name: [] for name in commands}
    for turn in range(rounds + 2):
        for name, command in commands.items():
            start = time.perf_counter()
            subprocess.run([part.format(turn=turn) for part in command], cwd=cwd, stdout=subprocess.DEVNULL, check=True)
            if turn >= 2:  # the first rounds fill the caches
                times[name].append(time.perf_counter() - start)
    return {name: statistics.median(values) for name, values in times.items()}


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 30
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "one.yaml").write_text(SPEC)
        shipped = str(ROOT / "specs" / "tsort32.yaml")
        commands = {
            "python -c 'import click'": [sys.executable, "-c", "import click"],
            "ptogen --help": [PTOGEN, "--help"],
            "python -c 'import pydantic, jinja2, numpy, yaml'": [
                sys.executable,
                "-c",
                "import pydantic, jinja2, numpy, yaml",
            ],
            "ptogen kernel one.yaml (1 suite, 1 case)": [PTOGEN, "kernel", "one.yaml", "-o", "one{turn}"],
            "ptogen kernel specs/tsort32.yaml (all its suites)": [PTOGEN, "kernel", shipped, "-o", "all{turn}"],
        }
        medians = measure(commands, rounds, folder)
    click, help_, libraries, one, shipped = medians.values()
    rows = [("command", "median", "ratio", "target")]
    for (name, median), ratio, target in zip(
        medians.items(),
        ("", f"{help_ / click:.2f}", "", f"{one / libraries:.2f}", f"{shipped / libraries:.2f}"),
        ("", "at most 2", "", "at most 4", ""),
        strict=True,
    ):
        rows.append((name, f"{median * 1000:.0f} ms", ratio, target))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        print(f"{row[0]:<{widths[0]}}  {row[1]:>{widths[1]}}  {row[2]:>{widths[2]}}  {row[3]}".rstrip())
    print(f"medians of {rounds} alternating runs; a ratio is to the plain imports above it")


if __name__ == "__main__":
    main()
