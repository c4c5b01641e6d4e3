"""TSORT32 by its documents and headers: what it allocates, how columns are cut, what the headers touch, what is
refused."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from ptogen.check import check_suite
from ptogen.dtypes import FLOAT16, FLOAT32, UINT32
from ptogen.errors import PtogenError
from ptogen.ops import catalogue
from ptogen.plan.model import Instruction, KernelPlan, unroll
from ptogen.plan.suite import plan_suite
from ptogen.platforms import PLATFORMS
from ptogen.spec.load import load_text
from ptogen.tiles import TileType

TSORT32 = catalogue()["tsort32"]


def plan(base: Path = Path(), **fields) -> KernelPlan:
    """The plan of one case, through the loader, judged by the checkers."""
    text = json.dumps({"op": "tsort32", "platform": "a2a3", **fields})
    (suite,) = load_text(text, "spec.yaml", base)
    plans = plan_suite(suite)
    check_suite(suite, plans)
    return plans[0]


def refusal(**fields) -> list[str]:
    """What is said of a case that is refused."""
    with pytest.raises(PtogenError) as caught:
        plan(**fields)
    return [str(diagnostic) for diagnostic in caught.value.diagnostics]


def cols(plan: KernelPlan) -> dict[str, int]:
    return {tile.name: tile.cols for tile in plan.tiles}


def calls(plan: KernelPlan) -> list[tuple[int, tuple[str, ...]]]:
    """(valid columns, operands) of every TSORT32 that is issued."""
    found = []
    for step, _, _ in unroll(plan.program):
        if isinstance(step, Instruction):
            found.append((dict(step.args)["src"].valid_cols, tuple(name for name, _ in step.args)))
    return found


# Small inputs that trip people, each with what the documents and headers say.


def test_a_tail_of_13_columns():
    made = plan(dtype="float32", rows=2, cols=13)
    assert cols(made) == {"src": 32, "idx": 32, "tmp": 32, "dst": 64}
    assert [tensor.cols for tensor in made.tensors] == [26, 13, 13]


def test_33_columns_are_two_blocks():
    made = plan(dtype="float16", rows=3, cols=33)
    assert cols(made) == {"src": 64, "idx": 64, "tmp": 64, "dst": 256}


def test_256_blocks_need_no_tmp():
    made = plan(dtype="float32", rows=1, cols=8192)
    assert set(cols(made)) == {"src", "idx", "dst"}
    assert made.used_bytes == 131_072
    assert calls(made) == [(8192, ("dst", "src", "idx"))]


@pytest.mark.parametrize(("columns", "tmp"), [(8159, 8160), (8193, 32)])
def test_the_threshold_of_tmp_on_a2a3_counts_elements(columns, tmp):
    made = plan(dtype="float32", rows=1, cols=columns)
    assert cols(made)["tmp"] == tmp
    assert calls(made) == [(columns, ("dst", "src", "idx", "tmp"))]


@pytest.mark.parametrize("platform", ["a5", "kirin9030", "kirinx90", "kirindev0000"])
@pytest.mark.parametrize(
    ("dtype", "columns", "tmp"),
    [
        ("float32", 2039, 2048), ("float32", 2041, 32), ("float32", 4079, 32), ("float32", 4081, 32),
        ("float16", 2039, 2048), ("float16", 2041, 2048), ("float16", 4079, 4096), ("float16", 4081, 32),
    ],
)  # fmt: skip
def test_the_threshold_of_tmp_on_a5_counts_bytes(platform, dtype, columns, tmp):
    assert cols(plan(platform=platform, dtype=dtype, rows=1, cols=columns))["tmp"] == tmp


@pytest.mark.parametrize("platform", ["a2a3", "a5"])
@pytest.mark.parametrize("columns", [8161, 8191])
def test_a_tail_behind_255_blocks_is_cut_off(platform, columns):
    made = plan(platform=platform, dtype="float16", rows=1, cols=columns)
    assert calls(made) == [(8160, ("dst", "src", "idx")), (columns - 8160, ("dst", "src", "idx", "tmp"))]


@pytest.mark.parametrize("platform", ["a5", "kirin9030"])
@pytest.mark.parametrize("columns", [8129, 8150, 8159])
def test_255_blocks_with_a_tail_are_cut_on_a5(platform, columns):
    made = plan(platform=platform, dtype="float32", rows=1, cols=columns)
    assert calls(made) == [(8128, ("dst", "src", "idx")), (columns - 8128, ("dst", "src", "idx", "tmp"))]


def test_510_blocks_are_cut_where_they_fit_and_refused_where_not():
    made = plan(platform="a5", dtype="float16", rows=1, cols=16320)
    assert calls(made) == [(16288, ("dst", "src", "idx")), (32, ("dst", "src", "idx"))]
    (message,) = refusal(platform="a5", dtype="float32", rows=1, cols=16320)
    assert "PTG301: UB overflow: 261,120 B needed, 253,952 B on a5" in message and "largest cols is 15872" in message


@pytest.mark.parametrize("platform", list(PLATFORMS))
@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_no_call_ever_meets_a_defect_of_its_header(platform, dtype):
    """Every width from one block below to one above each multiple of 255 blocks that fits, by the headers' own
    arithmetic."""
    row = PLATFORMS[platform]
    for blocks in (1, 2, 254, 255, 256, 257, 509, 510, 511):
        for columns in range(blocks * 32 - 33, blocks * 32 + 34):
            if columns < 1:
                continue
            case = TSORT32.Case(name="case", dtype=dtype, rows=1, cols=columns)
            for part in TSORT32.sizing(case, row).parts:
                width = -(-part.cols // 32) * 32
                args = {
                    "dst": TileType(FLOAT32 if dtype == "float32" else FLOAT16, 1, width * 4, 1, part.cols * 4),
                    "src": TileType(FLOAT32 if dtype == "float32" else FLOAT16, 1, width, 1, part.cols),
                    "idx": TileType(UINT32, 1, width, 1, part.cols),
                    "tmp": TileType(FLOAT32 if dtype == "float32" else FLOAT16, 1, 8192, 1, 8192),
                }
                assert not TSORT32.effects(row.family, {name: args[name] for name in part.args}, {}).defects


def test_one_row_of_indices_for_all_rows():
    made = plan(dtype="float32", rows=4, cols=64, idx="broadcast")
    idx = next(tile for tile in made.tiles if tile.name == "idx")
    assert (idx.rows, idx.valid_rows) == (1, 1)


def test_the_simulators_traps_are_planned_around_where_it_is_the_target():
    made = plan(platform="cpu", dtype="float16", rows=2, cols=100, idx="broadcast")
    assert [columns for columns, _ in calls(made)] == [32, 32, 32, 4] * 2
    assert all(
        window.valid_rows == 1
        for step, _, _ in unroll(made.program)
        if isinstance(step, Instruction)
        for _, window in step.args
    )
    assert [columns for columns, _ in calls(plan(platform="cpu", dtype="float32", rows=2, cols=100))] == [100]


def test_operands_stand_at_the_alignment_of_the_sort_hardware():
    made = plan(dtype="float16", rows=3, cols=33)
    offsets = {tile.name: tile.offset for tile in made.tiles}
    assert offsets["src"] % 64 == offsets["idx"] % 128 == offsets["dst"] % 256 == 0
    dst, tmp = (next(tile for tile in made.tiles if tile.name == name) for name in ("dst", "tmp"))
    assert tmp.offset == dst.end


def test_auto_mode_cuts_into_tiles_of_their_own():
    made = plan(platform="a5", mode="auto", dtype="float16", rows=2, cols=8150)
    assert [tile.name for tile in made.tiles] == ["src0", "src1", "idx0", "idx1", "dst0", "dst1", "tmp"]
    assert sum(tile.bytes for tile in made.tiles) == sum(
        tile.bytes for tile in plan(platform="a5", dtype="float16", rows=2, cols=8150).tiles
    )


# What is refused, and how.


def test_int32_is_refused_with_the_dtypes_there_are():
    (message,) = refusal(dtype="int32", rows=1, cols=32)
    assert "PTG201" in message and "float32 and float16" in message


def test_what_does_not_fit_names_what_does():
    (message,) = refusal(platform="kirin9030", dtype="float32", rows=16, cols=2048)
    assert all(text in message for text in ("PTG301", "src", "131,072 B", "262,144 B", "the largest rows is 4"))


def test_pinned_tiles_that_overlap():
    ub = {"src": 0, "idx": 0x8000, "dst": 0x16000, "tmp": 0x20000}
    messages = refusal(dtype="float32", rows=1, cols=8123, ub=ub)
    assert any("dst [0x16000, 0x25e00) and tmp [0x20000, 0x27f00) overlap" in message for message in messages)


def test_pinned_tiles_past_the_end():
    ub = {"src": 0, "idx": 0xF800, "dst": 0x1F000, "tmp": 0x3F000}
    messages = refusal(platform="a5", dtype="float32", rows=1, cols=2030, ub=ub)
    assert any("PTG401" in message and "tmp" in message and "0x3e000" in message for message in messages)


def test_pinned_tiles_that_are_not_aligned():
    messages = refusal(dtype="float32", rows=1, cols=32, ub={"src": 4})
    assert any("src stands at 0x4" in message and "needs a multiple of 128 B" in message for message in messages)


def test_a_sound_pinned_plan_is_served():
    made = plan(dtype="float32", rows=1, cols=8123, ub={"src": 0, "idx": 0x8000, "dst": 0x10000, "tmp": 0x20000})
    assert [tile.offset for tile in made.tiles] == [0, 0x8000, 0x10000, 0x20000]


def test_pins_of_operands_that_are_not_there():
    (message,) = refusal(dtype="float32", rows=1, cols=32, ub={"tmp": 0})
    assert "PTG204" in message and "src, idx, dst" in message


def test_a_valid_region_larger_than_its_tensor():
    (message,) = refusal(dtype="float32", rows=2, cols=32, valid=[3, 32])
    assert "PTG202" in message and "3x32" in message


def test_values_from_a_file(tmp_path):
    np.save(tmp_path / "values.npy", np.arange(64, dtype=np.float32).reshape(2, 32))
    assert plan(tmp_path, dtype="float32", rows=2, cols=32, data="values.npy").case == "case_float32_2x32_values"
    np.save(tmp_path / "nan.npy", np.full((2, 32), np.nan, np.float32))
    (message,) = refusal(base=tmp_path, dtype="float32", rows=2, cols=32, data="nan.npy")
    assert "PTG205" in message and "NaN" in message
    (message,) = refusal(base=tmp_path, dtype="float32", rows=2, cols=33, data="values.npy")
    assert "PTG205" in message


def test_hostile_names_never_reach_a_path():
    (message,) = refusal(dtype="float32", rows=1, cols=32, name='../../etc/x"); system("id')
    assert "PTG108" in message


def test_a_5000_row_tensor_with_a_small_valid_region_fits():
    made = plan(dtype="float32", rows=5000, cols=300, valid=[3, 13])
    assert made.used_bytes < 2048


def test_minus_infinity_is_kept_out_of_the_block_that_is_padded(tmp_path):
    values = np.zeros((2, 40), np.float32)
    values[1, 3] = -np.inf
    np.save(tmp_path / "values.npy", values)
    assert plan(tmp_path, dtype="float32", rows=2, cols=40, data="values.npy")
    values[1, 35] = -np.inf
    np.save(tmp_path / "values.npy", values)
    (message,) = refusal(base=tmp_path, dtype="float32", rows=2, cols=40, data="values.npy")
    assert "PTG205" in message and "-inf in columns 32 to 39" in message


@pytest.mark.parametrize("name", ["EOF", "AICORE", "EVENT_ID0", "errno", "DISABLED_x", "class"])
def test_names_that_would_not_survive_the_host_program(name):
    case = {"name": name, "dtype": "float32", "rows": 1, "cols": 32}
    with pytest.raises(PtogenError, match="PTG108"):
        load_text(json.dumps({"op": "tsort32", "platform": "a2a3", "cases": [case]}), "spec.yaml")


@pytest.mark.parametrize("name", ["all", "test", "help", "clean", "install", "gtest_main", "pthread"])
def test_suite_names_that_cmake_has_already(name):
    (message,) = refusal(dtype="float32", rows=1, cols=32, name=name)
    assert "PTG108" in message and "target" in message


def test_a_hopeless_shape_is_refused_at_once():
    (message,) = refusal(platform="cpu", dtype="float16", rows=1, cols=20_000_000)
    assert "UB overflow: at least 280,000,000 B needed" in message and "the largest cols is 14016" in message


def test_auto_mode_takes_no_less_room_than_manual_mode():
    """In auto mode the compiler may share bytes; a plan does not count on it."""
    for mode in ("manual", "auto"):
        (message,) = refusal(platform="kirindev0000", mode=mode, dtype="float32", rows=1, cols=8161, idx="broadcast")
        assert "UB overflow: 131,200 B needed, 131,072 B" in message


def test_pins_leave_gaps_that_are_used():
    made = plan(dtype="float32", rows=1, cols=8123, ub={"src": 0x10800})
    assert {tile.name: tile.offset for tile in made.tiles}["src"] == 0x10800
    (message,) = refusal(dtype="float32", rows=5, cols=4100, ub={"src": 0})
    assert "PTG301" in message and "around src pinned there is no room" in message
