"""Lines of rendered suites beside those that pto-isa's own system tests have for the same cases.

``specs/upstream`` holds the cases of five tests on A2/A3 that a spec can say. Kernel, host program and data generator
count, licence headers included; the header that all rendered suites share counts once.

Usage: ``python benchmarks/lines.py CHECKOUT``: a pto-isa checkout, which is only read.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from ptogen import cli

ROOT = Path(__file__).resolve().parents[1]
TESTS = Path("tests/npu/a2a3/src/st/testcase")


def lines(folder: Path) -> int:
    """Of the files of a suite; CMakeLists.txt is a line in both."""
    files = [*folder.glob("*.cpp"), *folder.glob("*.py")]
    return sum(len(file.read_text(encoding="utf-8").splitlines()) for file in files)


def main() -> None:
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    checkout, specs = Path(sys.argv[1]), sorted((ROOT / "specs" / "upstream").glob("*.yaml"))
    with tempfile.TemporaryDirectory(prefix="ptogen-bench-") as name:
        out = Path(name)
        if cli.main(["kernel", *map(str, specs), "-o", str(out)]) != 0:
            raise SystemExit(1)
        rows = [(spec.stem, lines(out / TESTS / spec.stem), lines(checkout / TESTS / spec.stem)) for spec in specs]
        (header,) = (out / "tests" / "common").iterdir()
        rows.append(("the shared header", len(header.read_text(encoding="utf-8").splitlines()), 0))
    rows.append(("all", sum(row[1] for row in rows), sum(row[2] for row in rows)))
    print("\n| suite | rendered | by hand | ratio |\n|---|--:|--:|--:|")
    for suite, rendered, by_hand in rows:
        compared = f"{by_hand:,} | {rendered / by_hand:.2f}" if by_hand else "|"
        print(f"| {suite} | {rendered:,} | {compared} |")


if __name__ == "__main__":
    main()
