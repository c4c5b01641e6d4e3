"""A seeded tenth of ``specs/matrices/curated.yaml``, as ``ptogen matrix`` and ``ptogen check`` make and judge it."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from ptogen.backend import cpu_sim
from ptogen.platforms import PLATFORMS
from ptogen.report.model import Outcome

CURATED = Path(__file__).parents[2] / "specs" / "matrices" / "curated.yaml"
TENTH = 326


@pytest.mark.campaign
def test_a_tenth_of_the_curated_matrix_is_exact(tmp_path, headers, toolchain):
    spec = tmp_path / "tenth.yaml"
    text = CURATED.read_text(encoding="utf-8")
    assert "strategy:" not in text
    spec.write_text(f"{text}strategy: {{sample: {TENTH}}}\n", encoding="utf-8")
    command = [sys.executable, "-m", "ptogen", "matrix", str(spec), "-o", str(tmp_path / "tree")]
    made = subprocess.run(command, capture_output=True, text=True)
    assert made.returncode == 0, made.stderr
    report = cpu_sim.check(tmp_path / "tree", headers=headers, toolchain=toolchain)
    assert sum(report.counts.values()) == TENTH
    # Some compilers have no bfloat16; nothing else may keep a case from running.
    not_run = [case for _, case in report.cases if case.outcome is Outcome.NOT_RUN]
    assert all(case.fields["dtype"] == "bfloat16" and "has no bfloat16" in case.reason for case in not_run)
    wrong = [f"{suite.key}.{case.name}" for suite, case in report.cases if case.outcome is Outcome.FAILED]
    assert report.counts[Outcome.PASSED] == TENTH - len(not_run), wrong
    covered = Counter((suite.op, suite.platform) for suite, _ in report.cases)
    assert {op for op, _ in covered} == {
        "tsort32", "tmrgsort", "tpartadd", "tpartmul", "tpartmin", "tpartmax", "tpartargmin", "tpartargmax",
    }  # fmt: skip
    assert {platform for _, platform in covered} == set(PLATFORMS)
