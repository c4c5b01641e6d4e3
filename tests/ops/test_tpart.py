"""The TPART family by its document and headers: what it allocates, cuts, touches and refuses."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from ptogen.check import check_suite
from ptogen.dtypes import DTYPES, FLOAT16, FLOAT32, INT32, INT64, UINT32
from ptogen.errors import PtogenError
from ptogen.ops import catalogue
from ptogen.ops.effects import Effects
from ptogen.plan.model import Instruction, KernelPlan, Load, SetFlag, Store, unroll
from ptogen.plan.suite import plan_suite
from ptogen.platforms import PLATFORMS
from ptogen.render.kernel import kernel_cpp, kernels
from ptogen.spec.load import load_text
from ptogen.tiles import TileType

OPS = {name: op for name, op in catalogue().items() if name.startswith("tpart")}
PLAIN = ["tpartadd", "tpartmax", "tpartmin", "tpartmul"]
ARG = ["tpartargmax", "tpartargmin"]


def plan(base: Path = Path(), **fields) -> KernelPlan:
    """The plan of one case, through the loader, judged by the checkers."""
    text = json.dumps({"op": "tpartmin", "platform": "a2a3", "dtype": "float32", **fields})
    (suite,) = load_text(text, "spec.yaml", base)
    plans = plan_suite(suite)
    check_suite(suite, plans)
    return plans[0]


def refusal(**fields) -> list[str]:
    """What is said of a case that is refused."""
    with pytest.raises(PtogenError) as caught:
        plan(**fields)
    return [str(diagnostic) for diagnostic in caught.value.diagnostics]


def shapes(plan: KernelPlan) -> dict[str, tuple[int, ...]]:
    """Physical and valid shape of each tile."""
    return {tile.name: (tile.rows, tile.cols, tile.valid_rows, tile.valid_cols) for tile in plan.tiles}


def steps(plan: KernelPlan, kind: type) -> list:
    return [step for step, _, _ in unroll(plan.program) if isinstance(step, kind)]


def regions(dst=(16, 32), src0=None, src1=None) -> dict[str, list[int]]:
    return {"dst": list(dst), "src0": list(src0 or dst), "src1": list(src1 or dst)}


# What the document says.


def test_the_family_is_complete():
    assert list(OPS) == ["tpartadd", "tpartargmax", "tpartargmin", "tpartmax", "tpartmin", "tpartmul"]
    for name, op in OPS.items():
        assert op.instruction == name.upper() and op.rests and op.defects and op.sources


def test_narrow_rows_are_padded_to_32_bytes():
    made = plan(dst=[2, 4], src0=[2, 4], src1=[1, 3])
    assert shapes(made) == {"src0": (2, 8, 2, 4), "src1": (1, 8, 1, 3), "dst": (2, 8, 2, 4)}
    tensors = [(tensor.name, tensor.rows, tensor.cols) for tensor in made.tensors]
    assert tensors == [("dst", 2, 4), ("src0", 2, 4), ("src1", 1, 3)]


@pytest.mark.parametrize("dtype", list(DTYPES))
def test_each_tile_has_the_least_width_of_its_dtype(dtype):
    made = plan(platform="a5", dtype=dtype, **regions((3, 5)))
    assert all(tile.cols * tile.dtype.bytes in (32, 64) for tile in made.tiles)
    assert all(tile.offset % 32 == 0 for tile in made.tiles)


def test_the_documents_example_at_its_addresses():
    text = (Path(__file__).parents[2] / "specs" / "documents" / "tpartmin_manual.yaml").read_text()
    for suite in load_text(text, "spec.yaml"):
        (made,) = plan_suite(suite)
        check_suite(suite, (made,))
        assert {tile.name: (tile.offset, tile.bytes) for tile in made.tiles} == {
            "src0": (0x1000, 1024),
            "src1": (0x2000, 1024),
            "dst": (0x3000, 1024),
        }
        assert "TPARTMIN(dstTile, src0Tile, src1Tile);" in kernel_cpp(kernels((made,)), "")


@pytest.mark.parametrize("name", ARG)
def test_indices_follow_the_values_in_the_order_of_the_isa(name):
    made = plan(op=name, dtype="float16", idx_dtype="int32", **regions((2, 5), src1=(1, 5)))
    (call,) = steps(made, Instruction)
    assert [operand for operand, _ in call.args] == ["dst", "src0", "src1", "dstIdx", "src0Idx", "src1Idx"]
    assert [tensor.name for tensor in made.tensors] == ["dst", "dstIdx", "src0", "src1", "src0Idx", "src1Idx"]
    assert shapes(made)["src1"] == (1, 16, 1, 5) and shapes(made)["src1Idx"] == (1, 8, 1, 5)


def test_where_the_simulator_is_the_target_indices_have_the_pitch_of_their_values():
    made = plan(op="tpartargmax", platform="cpu", dtype="float16", idx_dtype="int32", **regions((2, 5)))
    assert {tile.cols for tile in made.tiles} == {16}


# Zero sizes.


@pytest.mark.parametrize("empty", [(0, 32), (16, 0), (0, 0)])
@pytest.mark.parametrize("source", ["src0", "src1"])
@pytest.mark.parametrize("platform", list(PLATFORMS))
@pytest.mark.parametrize("mode", ["manual", "auto"])
def test_an_empty_source_is_an_argument_that_nobody_loads(mode, platform, source, empty):
    if mode not in PLATFORMS[platform].modes:
        return
    made = plan(platform=platform, mode=mode, **regions(**{source: empty}))
    assert [load.dst.tile for load in steps(made, Load)] == [{"src0": "src1", "src1": "src0"}[source]]
    text = kernel_cpp(kernels((made,)), "")
    assert f"-1, -1> {source}Tile({empty[0]}, {empty[1]});" in text
    assert "TPARTMIN(dstTile, src0Tile, src1Tile);" in text


def test_an_empty_dst_leaves_everything():
    made = plan(dst=[0, 8], src0=[0, 8], src1=[0, 3])
    assert not steps(made, Load) and not steps(made, Store) and len(steps(made, Instruction)) == 1
    (message,) = refusal(op="tpartargmin", idx_dtype="int32", dst=[0, 8], src0=[0, 8], src1=[0, 3])
    assert "PTG202" in message and "0x8 is empty" in message
    assert plan(op="tpartargmin", platform="a5", idx_dtype="int32", dst=[0, 8], src0=[0, 8], src1=[0, 3])


# Columns that the headers would forget.


@pytest.mark.parametrize(("columns", "pieces"), [(64, 1), (65, 2), (200, 4)])
@pytest.mark.parametrize("mode", ["manual", "auto"])
def test_64_bit_integers_are_cut_on_a5(mode, columns, pieces):
    made = plan(platform="a5", mode=mode, dtype="int64", dst=[3, columns], src0=[3, columns], src1=[2, 10])
    calls = steps(made, Instruction)
    assert len(calls) == pieces
    assert sum(dict(call.args)["dst"].valid_cols for call in calls) == columns
    assert [dict(call.args)["src1"].valid_cols for call in calls] == [10] + [0] * (pieces - 1)
    assert len(steps(made, Load)) == pieces + 1 and len(steps(made, Store)) == pieces


@pytest.mark.parametrize(("other", "pieces"), [((2, 64), 1), ((2, 65), 4), ((0, 200), 1), ((1, 200), 4)])
def test_half_with_32_bit_indices_is_cut_on_a2a3_where_more_than_64_columns_are_compared(other, pieces):
    fields = {"op": "tpartargmax", "dtype": "float16", "idx_dtype": "uint32", **regions((3, 200), src0=other)}
    assert len(steps(plan(**fields), Instruction)) == pieces
    assert len(steps(plan(**{**fields, "platform": "a5"}), Instruction)) == 1
    assert len(steps(plan(**{**fields, "idx_dtype": "uint16"}), Instruction)) == 1


def test_tiles_that_are_cut_cannot_be_pinned():
    (message,) = refusal(platform="a5", dtype="int64", **regions((1, 65)), ub={"dst": 0})
    assert "PTG204" in message and "more than 64 columns are cut into 2" in message


@pytest.mark.parametrize("platform", list(PLATFORMS))
@pytest.mark.parametrize("name", list(OPS))
def test_no_plan_meets_a_defect_of_its_header(name, platform):
    op, row = OPS[name], PLATFORMS[platform]
    for dtype in op.dtypes(row):
        extra = {"idx_dtype": "int32"} if name in ARG else {}
        for columns in (1, 63, 64, 65, 128, 129, 200):
            for other in ((3, columns), (2, columns), (3, columns - 1), (1, max(columns - 70, 0)), (0, columns)):
                for fields in (regions((3, columns), src1=other), regions((3, columns), src0=other)):
                    plan(op=name, platform=platform, dtype=dtype.name, **fields, **extra)


# What is refused, and how.


def test_no_source_covers_dst():
    (message,) = refusal(dst=[3, 4], src0=[3, 3], src1=[2, 4])
    assert "PTG202" in message and "one source's valid region must equal that of dst, 3x4" in message
    assert "src0 is 3x3, src1 is 2x4" in message and "the other must not exceed it" in message
    assert "make src0 or src1 [3, 4]" in message


@pytest.mark.parametrize("shape", [(4, 4), (3, 5), (2, 5)])
@pytest.mark.parametrize("source", ["src0", "src1"])
def test_a_source_exceeds_dst(source, shape):
    (message,) = refusal(**regions((3, 4), **{source: shape}))
    assert f"{source} {shape[0]}x{shape[1]} exceeds dst 3x4" in message and "at most [3, 4]" in message


def test_dtypes_of_each_platform():
    (message,) = refusal(dtype="uint8", **regions(src1=(8, 32)))
    assert "PTG201" in message and "tpartmin has no uint8 on a2a3; it has float32, float16, int32, int16" in message
    assert "a5" in message
    assert plan(platform="a5", dtype="uint8", **regions(src1=(8, 32)))
    (message,) = refusal(op="tpartmul", platform="a5", dtype="int64", **regions())
    assert "tpartmul has no int64 on a5" in message
    for kirin in ("kirin9030", "kirinx90", "kirindev0000"):
        (message,) = refusal(platform=kirin, dtype="int64", **regions())
        assert f"tpartmin has no int64 on {kirin}" in message and "hint: a5 has it" in message
    (message,) = refusal(op="tpartargmax", dtype="float32", idx_dtype="uint16", **regions())
    assert "no uint16 indices of float32 values" in message and "uint32 or int32" in message
    (message,) = refusal(op="tpartargmax", dtype="int32", idx_dtype="int32", **regions())
    assert "it has float32, float16" in message


def test_the_dtypes_of_the_headers():
    a2a3 = OPS["tpartadd"].dtypes(PLATFORMS["a2a3"])
    assert [dtype.name for dtype in a2a3] == ["float32", "float16", "int32", "int16"]
    assert {dtype.name for dtype in OPS["tpartadd"].dtypes(PLATFORMS["a5"])} == set(DTYPES)
    assert {dtype.name for dtype in OPS["tpartmul"].dtypes(PLATFORMS["a5"])} == set(DTYPES) - {"int64", "uint64"}
    assert {dtype.name for dtype in OPS["tpartmax"].dtypes(PLATFORMS["kirin9030"])} == set(DTYPES) - {"int64", "uint64"}


def test_a_data_file_is_refused_because_there_are_two_sources(tmp_path):
    np.save(tmp_path / "values.npy", np.zeros((16, 32), np.float32))
    (message,) = refusal(base=tmp_path, data="values.npy", **regions())
    assert "PTG205" in message and "two sources" in message


def test_what_does_not_fit_names_what_does():
    (message,) = refusal(**regions((1000, 100), src1=(500, 100)))
    assert "PTG301" in message and "196,608 B on a2a3" in message and "largest rows of dst is" in message


def test_pins_of_operands_that_are_not_there():
    (message,) = refusal(**regions(), ub={"tmp": 0})
    assert "PTG204" in message and "src0, src1, dst" in message


# What the headers touch.


def effects(name: str, platform: str, **shapes: tuple) -> Effects:
    """Of tiles given as dtype, rows, physical columns, valid rows, valid columns."""
    tiles = {operand: TileType(*shape) for operand, shape in shapes.items()}
    return OPS[name].effects(PLATFORMS[platform].family, tiles, {})


def written(found: Effects, operand: str, defined: bool) -> set[int]:
    return {
        byte
        for access in found.accesses
        if access.operand == operand and access.writes and access.defined is defined
        for start, stop in access.region.runs()
        for byte in range(start, stop)
    }


def test_a2a3_copies_whole_physical_rows_where_the_pitches_agree():
    tiles = {"dst": (FLOAT32, 2, 16, 2, 4), "src0": (FLOAT32, 2, 16, 2, 4), "src1": (FLOAT32, 1, 8, 1, 4)}
    found = effects("tpartmin", "a2a3", **tiles)
    assert written(found, "dst", True) == {*range(16), *range(64, 80)}
    assert written(found, "dst", False) == set(range(80, 128))
    tiles["src0"] = (FLOAT32, 2, 8, 2, 4)
    assert written(effects("tpartmin", "a2a3", **tiles), "dst", False) == set(range(80, 96))
    for platform in ("a5", "cpu"):
        found = effects("tpartmin", platform, **tiles)
        assert written(found, "dst", True) == {*range(16), *range(64, 80)} and not written(found, "dst", False)


def test_with_fewer_columns_a2a3_reads_dst_again_behind_the_copy():
    tiles = {"dst": (INT32, 2, 8, 2, 8), "src0": (INT32, 2, 8, 2, 3), "src1": (INT32, 2, 8, 2, 8)}
    touched = [(access.operand, access.writes) for access in effects("tpartadd", "a2a3", **tiles).accesses]
    assert touched == [("src1", False), ("dst", True), ("src0", False), ("dst", False), ("dst", True)]


def test_shapes_that_do_not_go_together_are_a_defect_of_every_header():
    tiles = {"dst": (INT32, 3, 8, 3, 4), "src0": (INT32, 3, 8, 3, 3), "src1": (INT32, 2, 8, 2, 4)}
    for platform in ("a2a3", "a5", "cpu"):
        (defect,) = effects("tpartmin", platform, **tiles).defects
        assert "src0 3x3 and src1 2x4 do not go with dst 3x4" in defect
    assert not effects("tpartmin", "a2a3", **tiles).accesses


def test_forgotten_columns_are_defects():
    wide = {name: (INT64, 1, 68, 1, 65) for name in ("dst", "src0", "src1")}
    (defect,) = effects("tpartmin", "a5", **wide).defects
    assert "65 columns of int64" in defect
    values = {name: (FLOAT16, 1, 80, 1, 65) for name in ("dst", "src0", "src1")}
    indices = {name: (UINT32, 1, 80, 1, 65) for name in ("dstIdx", "src0Idx", "src1Idx")}
    (defect,) = effects("tpartargmax", "a2a3", **values, **indices).defects
    assert "65 columns of float16 with uint32 indices" in defect
    assert not effects("tpartargmax", "a5", **values, **indices).defects


def test_the_simulator_wants_equal_pitches_of_values_and_indices():
    values = {name: (FLOAT16, 2, 16, 2, 5) for name in ("dst", "src0", "src1")}
    indices = {name: (UINT32, 2, 8, 2, 5) for name in ("dstIdx", "src0Idx", "src1Idx")}
    (defect,) = effects("tpartargmin", "cpu", **values, **indices).defects
    assert "dst has 16 physical columns and dstIdx 8" in defect


# What is known of the simulator, and of compilers.


def test_a_bfloat16_case_says_what_it_requires():
    op = OPS["tpartmin"]
    assert op.requires(op.Case(dtype="bfloat16", **regions_of((1, 4))), PLATFORMS["a5"]) == ("bfloat16",)
    assert op.requires(op.Case(dtype="float16", **regions_of((1, 4))), PLATFORMS["a5"]) == ()


def regions_of(shape: tuple[int, int]) -> dict[str, tuple[int, int]]:
    return {"dst": shape, "src0": shape, "src1": shape}


@pytest.mark.parametrize("name", PLAIN)
def test_the_simulator_lacks_dtypes(name):
    op, a5 = OPS[name], PLATFORMS["a5"]
    met = {dtype.name: op.defects_of(op.Case(dtype=dtype.name, **regions_of((1, 4))), a5) for dtype in op.dtypes(a5)}
    # The first simulator has no TPARTMUL at all.
    whole = ("TPARTMUL_MISSING",) if name == "tpartmul" else ()
    assert met["float32"] == met["int16"] == whole
    assert met["int8"] == met["uint8"] == (*whole, f"{op.instruction}_8BIT")
    assert met["uint16"] == met["uint32"] == (*whole, f"{op.instruction}_DTYPES")


@pytest.mark.parametrize("name", ARG)
def test_the_simulators_faults_with_indices(name):
    op = OPS[name]
    listed = {defect.id for defect in op.defects}
    case = op.Case(dtype="float16", idx_dtype="uint32", **regions_of((1, 4)))
    assert set(op.defects_of(case, PLATFORMS["a5"])) == listed
    assert set(op.defects_of(case, PLATFORMS["cpu"])) == listed - {f"{op.instruction}_PITCH"}
    apart = case.model_copy(update={"src1": (0, 4)})
    assert f"{op.instruction}_TIES" not in op.defects_of(apart, PLATFORMS["a5"])


def test_names_tell_the_cases_apart():
    op = OPS["tpartargmax"]
    case = op.Case(dtype="float16", idx_dtype="int32", dst=(2, 9), src0=(1, 8), src1=(2, 9), data="ties", seed=3)
    assert op.default_name(case) == "case_float16_int32_2x9_src0_1x8_ties_seed3"


# In place, and many parts


@pytest.mark.parametrize("platform", ["a2a3", "a5", "kirin9030", "cpu"])
def test_a_result_in_place_of_the_larger_source_takes_no_room(platform):
    shapes = {"dst": [80, 128], "src0": [40, 128], "src1": [80, 128]}
    apart = plan(op="tpartadd", platform=platform, dtype="float32", **shapes)
    shared = plan(op="tpartadd", platform=platform, dtype="float32", **shapes, inplace="src1")
    assert [tile.name for tile in shared.tiles] == ["src0", "src1"]
    assert apart.used_bytes - shared.used_bytes == 80 * 128 * 4
    (step,) = [step for step in shared.program if isinstance(step, Instruction)]
    assert [(name, window.tile) for name, window in step.args] == [("dst", "src1"), ("src0", "src0"), ("src1", "src1")]
    assert [step.src.tile for step in shared.program if isinstance(step, Store)] == ["src1"]


def test_what_does_not_fit_apart_fits_in_place():
    fields = {"platform": "a2a3", "dtype": "float32", "dst": [160, 128], "src0": [160, 128], "src1": [80, 128]}
    assert "204,800 B needed" in refusal(op="tpartmin", **fields)[0]
    assert plan(op="tpartmin", **fields, inplace="src0").used_bytes == 122_880


def test_a_pin_of_both_at_one_address_says_the_same():
    fields = {"op": "tpartadd", "dtype": "int32", "dst": [1, 8], "src0": [1, 8], "src1": [1, 8]}
    pinned, said = plan(**fields, ub={"dst": 64, "src1": 64}), plan(**fields, inplace="src1", ub={"src1": 64})
    assert (pinned.tiles, pinned.program) == (said.tiles, said.program)


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"src1": [1, 7], "inplace": "src1"}, "dst 1x8 cannot be written over src1, which is 1x7|hint: inplace: src0"),
        ({"inplace": "src0", "ub": {"dst": 32, "src0": 0}}, "dst stands in the tile of src0, and is pinned elsewhere"),
        ({"src1": [1, 7], "ub": {"dst": 0, "src1": 0}}, "PTG403"),
    ],
)
def test_in_place_of_the_smaller_source_or_elsewhere_is_refused(fields, text):
    shapes = {"dst": [1, 8], "src0": [1, 8], "src1": [1, 8], "dtype": "int32"}
    said = " ".join(refusal(op="tpartadd", **{**shapes, **fields}))
    assert all(part in said for part in text.split("|"))


@pytest.mark.parametrize("platform", ["a2a3", "cpu"])
def test_values_and_indices_go_in_place_together(platform):
    shapes = {"dst": [2, 40], "src0": [2, 40], "src1": [1, 40]}
    made = plan(op="tpartargmin", platform=platform, dtype="float32", idx_dtype="int32", **shapes, inplace="src0")
    assert [tile.name for tile in made.tiles] == ["src0", "src1", "src0Idx", "src1Idx"]


@pytest.mark.parametrize(
    ("fields", "parts"),
    [
        ({"op": "tpartmax", "platform": "a5", "dtype": "int64"}, 16),
        ({"op": "tpartargmax", "platform": "a2a3", "dtype": "float16", "idx_dtype": "uint32"}, 16),
    ],
)
def test_many_parts_use_their_event_ids_again(fields, parts):
    """More flags than ids: an id serves again where its source knows that it was taken, which the checkers agree to."""
    shape = [2, parts * 64]
    made = plan(dst=shape, src0=shape, src1=shape, **fields)
    assert sum(isinstance(step, Instruction) for step in made.program) == parts
    sets = [step for step in made.program if isinstance(step, SetFlag)]
    assert len(sets) > 2 * parts and {step.event for step in sets} == set(range(8))
