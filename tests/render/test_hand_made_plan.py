"""A plan that no op makes: two instructions, loads and stores inside a loop, a column-major tile; from tiles without
addresses to the bytes that the program leaves."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ptogen.backend import compile
from ptogen.check import check_plan
from ptogen.dtypes import FLOAT32
from ptogen.ops.base import Op
from ptogen.ops.record import Form, slots
from ptogen.ops.sizing import Role, Tensor
from ptogen.plan.model import Affine, GmWindow, Instruction, KernelPlan, Load, Loop, SetFlag, Store, Tile, walk
from ptogen.plan.planner import completed
from ptogen.platforms import PLATFORMS
from ptogen.render.cpp import format_cpp
from ptogen.render.kernel import kernel_cpp, kernels
from ptogen.tiles import Layout

ROWS, COLS, STEP = 32, 24, 8
BINARY = (Form(slots("dst+ src0 src1")),)
SCALE = Op("TROWEXPANDMUL", "trowexpandmul", (), (), forms=BINARY)
ADD = Op("TADD", "tadd", (), (), forms=BINARY)

MAIN = """
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "kernel.cpp"

std::vector<float> Read(const char* file, size_t count)
{
    std::vector<float> values(count, -1.0f);
    if (FILE* stream = std::fopen(file, "rb")) {
        std::fread(values.data(), sizeof(float), count, stream);
        std::fclose(stream);
    }
    return values;
}

int main(int, char** words)
{
    auto x = Read(words[1], 32 * 24), s = Read(words[2], 32);
    std::vector<float> y(32 * 24, -1.0f);
    void* gm[] = {y.data(), x.data(), s.data()};
    LaunchCase("hand_made", gm, nullptr);
    FILE* stream = std::fopen(words[3], "wb");
    std::fwrite(y.data(), sizeof(float), y.size(), stream);
    return std::fclose(stream);
}
"""


def draft() -> KernelPlan:
    """y = x * s + x, where s has a value a row: eight rows a turn, no address, no flag."""
    turn = Affine(0, (("turn", STEP),))
    x, product, y = (Tile(FLOAT32, STEP, COLS, STEP, COLS, name, name, 32) for name in ("x", "product", "y"))
    s = Tile(FLOAT32, STEP, 1, STEP, 1, "s", "src1", 32, layout=Layout.COL_MAJOR)
    body = (
        Load(x.window, GmWindow("x", STEP, COLS, turn)),
        Load(s.window, GmWindow("s", STEP, 1, turn)),
        Instruction(SCALE, (("dst", product.window), ("src0", x.window), ("src1", s.window))),
        Instruction(ADD, (("dst", y.window), ("src0", product.window), ("src1", x.window))),
        Store(GmWindow("y", STEP, COLS, turn), y.window),
    )
    tensors = (
        Tensor("y", FLOAT32, ROWS, COLS, ROWS, COLS, Role.OUT),
        Tensor("x", FLOAT32, ROWS, COLS, ROWS, COLS, Role.IN),
        Tensor("s", FLOAT32, ROWS, 1, ROWS, 1, Role.IN, layout=Layout.COL_MAJOR),
    )
    program = (Loop("turn", ROWS // STEP, body),)
    return KernelPlan("hand_made", "scaled", "cpu", "manual", 4096, tensors, (x, s, product, y), program, 0)


def flags(plan: KernelPlan) -> int:
    return sum(isinstance(step, SetFlag) for step in walk(plan.program))


@pytest.mark.parametrize("platform", ["a2a3", "a5"])
def test_it_is_planned_and_the_checkers_agree(platform: str) -> None:
    row = PLATFORMS[platform]
    plan = completed(replace(draft(), platform=platform), row.event_ids)
    assert [tile.offset for tile in plan.tiles] == [0, 768, 800, 1568]
    assert flags(plan) >= 4 and check_plan(plan, row) == []


def test_a_step_is_judged_as_its_own_op(monkeypatch: pytest.MonkeyPatch) -> None:
    """A flag less is a race between the two instructions that it kept apart, by their names."""
    plan = completed(replace(draft(), platform="a2a3"), 8)
    (loop,) = plan.program
    assert isinstance(loop, Loop)
    body = tuple(step for step in loop.body if not type(step).__name__ == "Barrier")
    found = check_plan(replace(plan, program=(replace(loop, body=body),)), PLATFORMS["a2a3"])
    assert any("TADD(y, product, x)" in one.message and "TROWEXPANDMUL" in one.message for one in found)


def test_a_tile_of_another_layout_than_its_tensor_is_a_finding() -> None:
    plan = completed(replace(draft(), platform="a2a3"), 8)
    tensors = tuple(replace(tensor, layout=Layout.ROW_MAJOR) for tensor in plan.tensors)
    found = check_plan(replace(plan, tensors=tensors), PLATFORMS["a2a3"])
    assert any("s is column-major, the tensor s is row-major" in one.message for one in found)


def test_it_is_rendered_compiled_and_run(headers, toolchain, tmp_path: Path) -> None:
    plan = completed(draft(), 8)
    text = format_cpp({"kernel": kernel_cpp(kernels([plan]), "Made by hand.")})["kernel"]
    (tmp_path / "kernel.cpp").write_text(text)
    (tmp_path / "main.cpp").write_text(MAIN)
    rng = np.random.default_rng(0)
    x, s = rng.standard_normal((ROWS, COLS)).astype("<f4"), rng.standard_normal(ROWS).astype("<f4")
    x.tofile(tmp_path / "x.bin")
    s.tofile(tmp_path / "s.bin")
    options = compile.include_options(toolchain.compiler, headers.include)
    built = compile.compile_program(toolchain.compiler, tmp_path / "main.cpp", tmp_path / "main", options)
    assert built.returncode == 0, built.stderr
    places = [str(tmp_path / name) for name in ("x.bin", "s.bin", "y.bin")]
    subprocess.run([str(tmp_path / "main"), *places], check=True, timeout=60)
    y = np.fromfile(tmp_path / "y.bin", "<f4").reshape(ROWS, COLS)
    assert y.tobytes() == (x * s[:, None] + x).tobytes()
