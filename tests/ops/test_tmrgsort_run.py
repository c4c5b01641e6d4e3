"""TMRGSORT from the spec to the comparison of every byte, on the CPU backend."""

from __future__ import annotations

from itertools import product

import pytest
import yaml

from ptogen import output
from ptogen.backend import cpu_sim
from ptogen.backend.headers import Headers
from ptogen.backend.toolchain import Toolchain
from ptogen.cli._render import render_specs
from ptogen.report.model import CheckReport, Outcome

DTYPES = ("float32", "float16")
KINDS = ("random", "ties", "sorted", "reversed", "extremes")

RECORDS = [
    (32, 64), (1, 1), (1, 300), (513, 2), (7, 100),
    (32, 64, 1), (1, 1, 1), (300, 1, 7), (1, 2, 511), (64, 64, 64),
    (32, 32, 32, 16), (1, 1, 1, 1), (1, 400, 3, 60), (511, 5, 1, 2), (9, 8, 7, 6),
]  # fmt: skip
"""Records of each list: equal, unequal, single ones, very different ones; on 32-byte boundaries and off them."""


def single(platform: str) -> dict:
    cases = [
        {
            "dtype": dtype,
            "variant": "single",
            "cols": 4 * block * repeats,
            "block_len": block,
            "data": KINDS[number % 5],
        }
        for number, (dtype, block, repeats) in enumerate(product(DTYPES, (64, 128, 256), (1, 2, 5)))
    ]
    return {"op": "tmrgsort", "platform": platform, "name": "merge_single", "cases": cases}


def multi(platform: str, turn: int) -> dict:
    """Every combination of dtype and exhausted for all lengths; each platform sees other data with them."""
    cases = []
    for number, (records, (dtype, exhausted)) in enumerate(product(RECORDS, product(DTYPES, (False, True)))):
        lists = [own * (2 if dtype == "float32" else 4) for own in records]
        kind = KINDS[(number // 4 + number + turn) % 5]
        cases.append(
            {"dtype": dtype, "variant": "multi", "lists": lists, "exhausted": exhausted, "data": kind, "seed": turn}
        )
    return {"op": "tmrgsort", "platform": platform, "name": "merge_multi", "cases": cases}


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory, headers: Headers, toolchain: Toolchain) -> CheckReport:
    root = tmp_path_factory.mktemp("merge")
    specs = [
        single("a2a3"),
        *(multi(platform, turn) for turn, platform in enumerate(("a2a3", "a5", "kirin9030", "cpu"))),
    ]
    paths = []
    for number, spec in enumerate(specs):
        paths.append(root / f"{number}.yaml")
        paths[-1].write_text(yaml.safe_dump(spec))
    output.write(root / "tree", render_specs(paths))
    return cpu_sim.check(root / "tree", headers=headers, toolchain=toolchain)


def test_every_case_is_exact(report: CheckReport) -> None:
    wrong = [
        f"{suite.key}.{case.name}: {case.reason} {' '.join(case.output)[:300]}"
        for suite in report.suites
        for case in suite.cases
        if case.outcome is not Outcome.PASSED
    ]
    assert not wrong
    assert sum(len(suite.cases) for suite in report.suites) == 18 + 4 * 60
