"""TMRGSORT from the spec to the comparison of every byte, on the CPU backend."""

from __future__ import annotations

import subprocess
from itertools import product
from pathlib import Path

import pytest
import yaml

from ptogen import output
from ptogen.backend import cpu_sim, download
from ptogen.backend.compile import PREINCLUDES, include_options
from ptogen.backend.headers import Headers
from ptogen.backend.host_kernel import for_cost_model, for_simulator
from ptogen.backend.toolchain import Toolchain
from ptogen.cli._render import render_specs
from ptogen.report.model import CheckReport, Outcome

DTYPES = ("float32", "float16")
SPECS = Path(__file__).parents[2] / "specs"
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
    """Every dtype, with and without exhausted, for all lengths; 2, 3 and 4 lists have every kind of data with each.

    ``turn`` deals the kinds to other lengths.
    """
    cases = []
    for number, (records, (dtype, exhausted)) in enumerate(product(RECORDS, product(DTYPES, (False, True)))):
        lists = [own * (2 if dtype == "float32" else 4) for own in records]
        kind = KINDS[(number // 4 + number % 4 + turn) % 5]
        cases.append(
            {"dtype": dtype, "variant": "multi", "lists": lists, "exhausted": exhausted, "data": kind, "seed": turn}
        )
    return {"op": "tmrgsort", "platform": platform, "name": "merge_multi", "cases": cases}


def auto() -> dict:
    """A case of each form, where the compiler places the tiles."""
    cases = [{"dtype": "float16", "variant": "single", "cols": 512, "block_len": 64}]
    for more in range(3):
        cases.append({"dtype": "float32", "variant": "multi", "lists": [64, 2] + [10] * more})
        cases.append({"dtype": "float16", "variant": "multi", "lists": [64, 8] + [4] * more, "exhausted": True})
    return {"op": "tmrgsort", "platform": "a5", "mode": "auto", "name": "merge_auto", "cases": cases}


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory, headers: Headers, toolchain: Toolchain) -> CheckReport:
    root = tmp_path_factory.mktemp("merge")
    specs = [
        single("a2a3"),
        auto(),
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
    assert sum(len(suite.cases) for suite in report.suites) == 18 + 7 + 4 * 60


@pytest.fixture
def kernel(tmp_path: Path) -> Path:
    """The a2a3 kernel of the spec that ships."""
    suite = next(suite for suite in render_specs([SPECS / "tmrgsort.yaml"]) if suite.meta["platform"] == "a2a3")
    source = tmp_path / "kernel.cpp"
    source.write_text(suite.files[f"{suite.directory}/tmrgsort_kernel.cpp"])
    return source


@pytest.mark.parametrize("define", [(), ("-D__PTO_AUTO__",)], ids=["manual", "auto"])
def test_the_kernel_compiles_without_a_warning_for_the_simulator(
    define: tuple[str, ...], kernel: Path, headers: Headers, toolchain: Toolchain
) -> None:
    options = [
        toolchain.compiler.standard,
        "-Wall",
        "-Wextra",
        "-Werror",
        "-Wno-deprecated-declarations",
        "-Wno-unused-parameter",
        "-D__CPU_SIM",
        *define,
    ]
    options += include_options(toolchain.compiler, headers.include)
    kernel.write_text(for_simulator(kernel.read_text(), "kernel.cpp") or "")
    subprocess.run([*toolchain.compiler.command, *PREINCLUDES, *options, "-fsyntax-only", str(kernel)], check=True)


def test_the_kernel_compiles_against_the_a2a3_headers(kernel: Path, headers: Headers, toolchain: Toolchain) -> None:
    """The cost model of the pinned snapshot: the real NPU headers, whose static assertions then hold."""
    options = ["-std=c++23", "-D__COSTMODEL", "-D__NPU_ARCH__=2201", "-DPTO_COMM_NOT_SUPPORTED"]
    options += ["-isystem", str(download.include_folder() or headers.include)]
    kernel.write_text(for_cost_model(kernel.read_text(), "kernel.cpp"))
    subprocess.run([*toolchain.compiler.command, *PREINCLUDES, *options, "-fsyntax-only", str(kernel)], check=True)
