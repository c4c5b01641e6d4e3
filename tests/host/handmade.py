"""A suite made by hand, its host program built with plain C++ kernels, and its data."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ptogen.dtypes import DTYPES, UINT32
from ptogen.graph.model import Graph
from ptogen.ops.base import Op
from ptogen.ops.case import CaseFields
from ptogen.ops.record import Form, slots
from ptogen.ops.sizing import Role, Tensor
from ptogen.plan.model import KernelPlan
from ptogen.platforms import PLATFORMS
from ptogen.render import host
from ptogen.spec.model import Marks, Suite

HERE = pathlib.Path(__file__).parent
BANNER = "A suite for the tests of the host program.\n\nMade by hand."

SORTS: dict[str, dict[str, Any]] = {
    "f32_part": {"dtype": "float32", "rows": 3, "cols": 50, "valid": (2, 45), "idx": "per_row", "data": "random"},
    "f32_all": {"dtype": "float32", "rows": 2, "cols": 64, "valid": (2, 64), "idx": "per_row", "data": "ties"},
    "f16_part": {"dtype": "float16", "rows": 4, "cols": 70, "valid": (3, 33), "idx": "per_row", "data": "extremes"},
    "f16_all": {"dtype": "float16", "rows": 2, "cols": 32, "valid": (2, 32), "idx": "broadcast", "data": "sorted"},
    "f32_wide": {
        "dtype": "float32",
        "rows": 2,
        "cols": 2000,
        "valid": (1, 1999),
        "idx": "broadcast",
        "data": "reversed",
    },
}
LOOSE = ("float32", "float16", "bfloat16")
COPIES = ("float32", "float16", "bfloat16", "int8", "int16", "int32", "int64", "uint64")
HEADER, HARNESS = host.harness(None)
MASKED = "copy_masked"
DEFINED = 41
"""Bytes of the masked copy's golden that are defined, from the first on: ten elements of 4 bytes and one byte."""
EXACT = {"PTOGEN_EXACT": "1"}


class HandmadeOp(Op):
    """Just enough of an op for the host renderer."""

    golden_module = "sort32"

    def golden_params(self, case: Any, base: pathlib.Path) -> dict[str, Any]:
        return {**SORTS[case.name], "seed": case.seed}

    def tensors(self, case: Any) -> tuple[Tensor, ...]:
        return sort_plan(case.name).tensors


def _plan(case: str, tensors: tuple[Tensor, ...]) -> KernelPlan:
    return KernelPlan(case, "tsort32", "cpu", "manual", 196_608, tensors, (), (), 0)


def sort_plan(case: str) -> KernelPlan:
    params = SORTS[case]
    dtype, rows, cols, (valid_rows, valid_cols) = (params[key] for key in ("dtype", "rows", "cols", "valid"))
    value, scale = DTYPES[dtype], 8 // DTYPES[dtype].bytes
    one = params["idx"] == "broadcast"
    return _plan(
        case,
        (
            Tensor("dst", value, rows, cols * scale, valid_rows, valid_cols * scale, Role.OUT, record=value),
            Tensor("src", value, rows, cols, valid_rows, valid_cols, Role.IN),
            Tensor("idx", UINT32, 1 if one else rows, cols, 1 if one else valid_rows, valid_cols, Role.IN),
        ),
    )


def copy_plan(dtype: str) -> KernelPlan:
    """Tensors of single elements, 3 x 9 of which 2 x 7 count."""
    roles = (("dst", Role.OUT), ("src", Role.IN))
    return _plan(f"copy_{dtype}", tuple(Tensor(name, DTYPES[dtype], 3, 9, 2, 7, role) for name, role in roles))


def masked_plan() -> KernelPlan:
    """A copy of int32 of which only a prefix is defined."""
    dst, src = copy_plan("int32").tensors
    return _plan(MASKED, (replace(dst, masked=DEFINED), src))


def loose_plan(dtype: str) -> KernelPlan:
    """A copy that may be off by two units in the last place."""
    dst, src = copy_plan(dtype).tensors
    return _plan(f"loose_{dtype}", (replace(dst, ulp=2), src))


def sort_suite(name: str = "handmade") -> Suite:
    op = HandmadeOp("TSORT32", name, (), (), forms=(Form(slots("dst+ src idx")),))
    cases = tuple(CaseFields(name=case, seed=place) for place, case in enumerate(SORTS))
    return Suite(
        Graph.of(op), PLATFORMS["cpu"], "manual", name, cases, 196_608, Marks("handmade.yaml", {}), ((),) * len(cases)
    )


def host_text() -> str:
    plans = [*map(sort_plan, SORTS), *map(copy_plan, COPIES), *map(loose_plan, LOOSE), masked_plan()]
    return host.main_cpp(sort_suite(), plans, BANNER, HEADER.rpartition("/")[2])


def gen_data_text(banner: str = BANNER) -> str:
    return host.gen_data(sort_suite(), [sort_plan(case) for case in SORTS], banner)


def compile_host(folder: pathlib.Path, compiler: Sequence[str], *options: str) -> pathlib.Path:
    """The host program with the plain kernels; warnings in our own text are errors."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "main.cpp").write_text(host_text(), encoding="utf-8")
    (folder / HEADER.rpartition("/")[2]).write_text(HARNESS, encoding="utf-8")
    binary = folder / "handmade"
    command = [*compiler, "-Wall", "-Wextra", "-Werror", "-O1", "-g0", *options, "main.cpp", str(HERE / "kernels.cpp")]
    command += ["-o", str(binary), "-lgtest", "-lgtest_main", "-pthread", "-ldl"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return binary


@dataclass
class Workplace:
    """A build folder: the program runs in ``bin``, the data directories stand beside it."""

    root: pathlib.Path
    binary: pathlib.Path

    def data(self, case: str) -> pathlib.Path:
        return self.root / f"HANDMADETest.{case}"

    def run(self, case: str = "*", **environment: str) -> subprocess.CompletedProcess[str]:
        command = [str(self.binary), f"--gtest_filter=HANDMADETest.{case}"]
        return subprocess.run(
            command,
            cwd=self.root / "bin",
            env={**os.environ, **EXACT, **environment},
            capture_output=True,
            text=True,
            errors="replace",
            timeout=120,
        )


def fill_with_data(root: pathlib.Path) -> None:
    """gen_data.py's files, and files for the copies."""
    (root / "bin").mkdir(parents=True)
    (root / "gen_data.py").write_text(gen_data_text(), encoding="utf-8")
    subprocess.run([sys.executable, "-I", "gen_data.py"], cwd=root, check=True)
    copies = [(f"copy_{dtype}", DTYPES[dtype].bytes) for dtype in COPIES]
    copies += [(f"loose_{dtype}", DTYPES[dtype].bytes) for dtype in LOOSE]
    for number, (case, width) in enumerate([*copies, (MASKED, 4)]):
        folder = root / f"HANDMADETest.{case}"
        folder.mkdir()
        src = np.random.RandomState(number).randint(0, 0x70, (3, 9, width)).astype(np.uint8)
        (folder / "input1.bin").write_bytes(src.tobytes())
        (folder / "golden.bin").write_bytes(src[:2, :7].tobytes())
        if case == MASKED:
            (folder / "mask.bin").write_bytes(bytes([1]) * DEFINED + bytes(2 * 7 * width - DEFINED))
