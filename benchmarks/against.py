"""What a start and a matrix cost here, against another revision, in one run on one machine.

The revision is checked out into a throwaway worktree and runs with this interpreter and its packages. Every round runs
each command in both places, the order changing from round to round; a ratio is the median of those of the rounds, this
checkout to the revision, so that a busy machine slows both. Status 1 where a ratio of wall times is above 1.05.

Usage: ``python benchmarks/against.py REV [ROUNDS]``; a tenth of the rounds, but at least 3, for the matrix.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path

from generation import BENCH, ROOT, timed
from startup import SPEC

LIMIT = 1.05

HERE, THERE = "here", "there"


def main() -> None:
    if len(sys.argv) < 2:
        raise SystemExit(__doc__)
    revision, rounds = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 30
    with tempfile.TemporaryDirectory(prefix="ptogen-against-") as name:
        folder = Path(name)
        other = folder / "revision"
        subprocess.run(["git", "-C", ROOT, "worktree", "add", "--quiet", "--detach", other, revision], check=True)
        try:
            worse = _compare(revision, {HERE: ROOT, THERE: other}, folder, rounds)
        finally:
            subprocess.run(["git", "-C", ROOT, "worktree", "remove", "--force", other], check=True)
    sys.exit(1 if worse else 0)


def _compare(revision: str, places: dict[str, Path], folder: Path, rounds: int) -> bool:
    (folder / "one.yaml").write_text(SPEC, encoding="utf-8")
    commands = {
        "ptogen --help": (["--help"], rounds),
        "ptogen kernel one.yaml": (["kernel", "one.yaml", "-o", "one{turn}{place}"], rounds),
        "ptogen matrix, first run": (["matrix", str(BENCH), "-o", "out{turn}{place}"], max(rounds // 10, 3)),
        "ptogen matrix, nothing to do": (["matrix", str(BENCH), "-o", "out0{place}"], max(rounds // 10, 3)),
    }
    head = ("command", "rounds", "here, s", f"{revision}, s", "ratio", "of CPU s")
    print(f"{head[0]:<28}  {head[1]:>6}  {head[2]:>8}  {head[3]:>14}  {head[4]:>6}  {head[5]:>8}")
    worse = False
    for what, (arguments, turns) in commands.items():
        times: dict[str, list[tuple[float, float]]] = {place: [] for place in places}
        for turn in range(turns + 1):
            for place in sorted(places, reverse=bool(turn % 2)):
                said = [part.format(turn=turn, place=place) for part in arguments]
                spent = timed(partial(_ptogen, places[place], said, folder))
                if turn:  # the first round fills the caches
                    times[place].append(spent)
        wall, cpu = (
            statistics.median(one[kind] / two[kind] for one, two in zip(times[HERE], times[THERE], strict=True))
            for kind in (0, 1)
        )
        here, there = (statistics.median(wall for wall, _ in times[place]) for place in (HERE, THERE))
        print(f"{what:<28}  {turns:>6}  {here:>8.3f}  {there:>14.3f}  {wall:>6.3f}  {cpu:>8.3f}", flush=True)
        worse |= wall > LIMIT
    print(f"ratios are medians of those of the rounds; wanted: at most {LIMIT}")
    return worse


def _ptogen(checkout: Path, arguments: list[str], folder: Path) -> None:
    """One run of a checkout's ptogen, whose own package comes before the one that is installed."""
    command = [sys.executable, "-m", "ptogen", *arguments]
    environment = {**os.environ, "PYTHONPATH": str(checkout)}
    subprocess.run(
        command, cwd=folder, env=environment, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )


if __name__ == "__main__":
    main()
