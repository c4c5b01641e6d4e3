"""Tries ptogen on a checkout of pto-isa and prints ``docs/upstream.md``; ``make upstream CHECKOUT=DIR`` puts it in its
place.

``ptogen check`` runs the suites of ``specs/*.yaml`` and a seeded part of the curated matrix with the headers of the
checkout. Then ``ptogen kernel --into`` puts the suites for platform cpu, under names of their own, into a copy of the
checkout, whose ``tests/run_cpu.py`` runs them. The checkout itself is only read.

Usage: ``python docs/upstream.py CHECKOUT [CXX]``; status 1 where a case failed. CXX is the compiler, by default the one
that ptogen finds.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parent.parent
SPECS = sorted(path for path in (ROOT / "specs").glob("*.yaml") if "matrix:" not in path.read_text(encoding="utf-8"))
CURATED = ROOT / "specs" / "matrices" / "curated.yaml"
PART = 100

PAGE = """\
# pto-isa's own headers and runner

What became of ptogen's suites on a checkout of pto-isa: {commit}, with {compiler}. This page is made by
`make upstream CHECKOUT=DIR`; do not edit it.

`ptogen check` builds the suites of `specs/*.yaml` and {part} cases of the curated matrix, drawn with a seed, with the
checkout's headers. `run_cpu.py` is the checkout's own runner, on what `ptogen kernel --into` put into a copy of it.

| run by | suite | passed | failed | not run | why |
|---|---|--:|--:|--:|---|
"""


@dataclass
class Row:
    """What became of the cases of one suite."""

    runner: str
    suite: str
    passed: int = 0
    failed: int = 0
    not_run: int = 0
    reasons: Counter[str] = field(default_factory=Counter)

    def __str__(self) -> str:
        why = "; ".join(f"{reason} ({number})" for reason, number in self.reasons.most_common())
        cells = (self.runner, f"`{self.suite}`", self.passed, self.failed, self.not_run, why.replace("|", "\\|"))
        return f"| {' | '.join(map(str, cells))} |"


def main() -> None:
    if len(sys.argv) not in (2, 3):
        raise SystemExit(__doc__)
    checkout, cxx = Path(sys.argv[1]).resolve(), sys.argv[2] if len(sys.argv) == 3 else None
    if not (checkout / "include" / "pto").is_dir():
        raise SystemExit(f"{checkout} is no checkout of pto-isa: it has no include/pto")
    with tempfile.TemporaryDirectory(prefix="ptogen-upstream-") as name:
        folder = Path(name)
        compiler, rows = _checked(checkout, cxx, folder)
        rows += _run_by_pto_isa(checkout, cxx, folder)
    total = Row("all", f"{len(rows)} suites", *(sum(getattr(row, of) for row in rows) for of in COUNTS))
    print(PAGE.format(commit=_commit(checkout), compiler=compiler, part=PART), end="")
    print(*rows, total, sep="\n")
    sys.exit(1 if total.failed else 0)


COUNTS = ("passed", "failed", "not_run")


def _commit(checkout: Path) -> str:
    command = ["git", "-C", str(checkout), "rev-parse", "--show-toplevel", "HEAD"]
    said = subprocess.run(command, capture_output=True, text=True)
    top, _, commit = said.stdout.strip().partition("\n")
    return f"commit {commit}" if said.returncode == 0 and Path(top) == checkout else "of an unknown commit"


def _checked(checkout: Path, cxx: str | None, folder: Path) -> tuple[str, list[Row]]:
    """The compiler's name, and a row for each suite of ``ptogen check``."""
    part = folder / "part.yaml"
    text = CURATED.read_text(encoding="utf-8")
    part.write_text(f"{text}strategy: {{sample: {PART}}}\n", encoding="utf-8")
    _ptogen("kernel", *map(str, SPECS), "-o", str(folder / "specs"))
    _ptogen("matrix", str(part), "-o", str(folder / "part"))
    compiler, rows = "", []
    for tree in ("specs", "part"):
        command = ["check", str(folder / tree), "--pto-isa", str(checkout), "--format", "json"]
        said = _ptogen(*command, *(("--compiler", cxx) if cxx else ()), allowed=(0, 1))
        report = json.loads(said)
        compiler = report["compiler"].partition(" (")[2].removesuffix(")") or report["compiler"]
        for suite in report["suites"]:
            row = Row("`ptogen check`", suite["key"])
            for case in suite["cases"]:
                outcome = {"passed": "passed", "failed": "failed"}.get(case["outcome"], "not_run")
                setattr(row, outcome, getattr(row, outcome) + 1)
                if outcome != "passed":
                    row.reasons[case["reason"].splitlines()[0] if case["reason"] else case["outcome"]] += 1
            rows.append(row)
    return compiler, rows


def _run_by_pto_isa(checkout: Path, cxx: str | None, folder: Path) -> Iterator[Row]:
    """A row for each suite that the checkout's own runner ran; none where it has no such runner."""
    if not (checkout / "tests" / "run_cpu.py").is_file():
        return
    copy = folder / "pto-isa"
    shutil.copytree(checkout, copy, ignore=shutil.ignore_patterns(".git", "build"), symlinks=True)
    for spec in SPECS:
        fields = yaml.safe_load(spec.read_text(encoding="utf-8"))
        name = f"ptogen{fields['op']}"
        own = folder / f"{name}.yaml"
        fields |= {"platform": "cpu", "mode": "manual", "name": name}
        own.write_text(yaml.safe_dump(fields), encoding="utf-8")
        # The runner has the simulator as it is: a case that meets a known defect of it would show that defect alone.
        command = ["check", str(own), "--pto-isa", str(checkout), "--pristine", "--format", "json"]
        (pristine,) = json.loads(_ptogen(*command, *(("--compiler", cxx) if cxx else ()), allowed=(0, 1)))["suites"]
        row = Row("`run_cpu.py`", name)
        cases = []
        for case, found in zip(fields["cases"], pristine["cases"], strict=True):
            if found["outcome"] == "known-defect":
                row.not_run += 1
                row.reasons["a known defect of the simulator"] += 1
            else:
                cases.append(case)
        own.write_text(yaml.safe_dump({**fields, "cases": cases}), encoding="utf-8")
        _ptogen("kernel", str(own), "--into", str(copy))
        command = [sys.executable, "tests/run_cpu.py", "-t", name, "--no-install", "--verbose"]
        command += [
            "--build-type",
            "Debug",
            "--build-dir",
            str(folder / "build" / name),
            *(("--cxx", cxx) if cxx else ()),
        ]
        done = subprocess.run(command, cwd=copy, capture_output=True, text=True, errors="replace")
        said = done.stdout + done.stderr
        row.passed, row.failed = (
            sum(map(int, re.findall(rf"\[  {word}  \] (\d+) test", said))) for word in ("PASSED", "FAILED")
        )
        if not row.passed + row.failed or (done.returncode and not row.failed):
            # A runner that finds no compiler that it takes stops before it configures a build.
            if (folder / "build" / name / "CMakeCache.txt").is_file():
                row.failed += 1
            else:
                row.not_run += 1
            lines = [line.strip() for line in said.replace(f"{folder}/", "").splitlines() if line.strip()]
            errors = [line for line in lines if "error" in line.lower()]
            row.reasons[(errors or lines[-1:] or ["it said nothing"])[0]] += 1
        yield row


def _ptogen(*arguments: str, allowed: tuple[int, ...] = (0,)) -> str:
    done = subprocess.run([sys.executable, "-m", "ptogen", *arguments], cwd=ROOT, capture_output=True, text=True)
    if done.returncode not in allowed:
        raise SystemExit(f"ptogen {' '.join(arguments)} ended with status {done.returncode}:\n{done.stderr[-2000:]}")
    return done.stdout


if __name__ == "__main__":
    main()
