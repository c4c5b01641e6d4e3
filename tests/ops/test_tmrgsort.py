"""TMRGSORT by its documents and headers: what it allocates, what the headers touch, what is refused and how."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from ptogen.check import check_suite
from ptogen.dtypes import FLOAT16, FLOAT32, UINT32
from ptogen.errors import PtogenError
from ptogen.golden.mrgsort import generate
from ptogen.graph.model import Graph
from ptogen.ops import catalogue
from ptogen.ops.effects import Effects
from ptogen.ops.sizing import Role
from ptogen.plan.fit import planned
from ptogen.plan.model import Instruction, KernelPlan, SetFlag, Store, WaitFlag
from ptogen.plan.suite import plan_suite
from ptogen.platforms import PLATFORMS, Pipe
from ptogen.render.kernel import kernel_cpp, kernels
from ptogen.spec.load import load, load_text
from ptogen.tiles import TileType

TMRGSORT = catalogue()["tmrgsort"]
NPUS = [name for name, row in PLATFORMS.items() if row.family != "cpu"]
SINGLE = {"variant": "single", "cols": 256, "block_len": 64}
LISTS = {"variant": "multi", "lists": [64, 64]}
SPECS = Path(__file__).parents[2] / "specs"


def plan(base: Path = Path(), ub_bytes: int | None = None, **fields) -> KernelPlan:
    """The plan of one case, through the loader, judged by the checkers."""
    text = json.dumps({"op": "tmrgsort", "platform": "a2a3", "dtype": "float32", **fields})
    (suite,) = load_text(text, "spec.yaml", base, ub_bytes=ub_bytes)
    plans = plan_suite(suite)
    check_suite(suite, plans)
    return plans[0]


def single(cols: int, block_len: int, **fields) -> KernelPlan:
    return plan(variant="single", cols=cols, block_len=block_len, **fields)


def multi(*lists: int, **fields) -> KernelPlan:
    return plan(variant="multi", lists=list(lists), **fields)


def refusal(**fields) -> str:
    """What is said of a case that is refused for one reason."""
    with pytest.raises(PtogenError) as caught:
        plan(**fields)
    (diagnostic,) = caught.value.diagnostics
    return str(diagnostic)


def cols(plan: KernelPlan) -> dict[str, tuple[int, int]]:
    """Physical and valid columns of every tile."""
    return {tile.name: (tile.cols, tile.valid_cols) for tile in plan.tiles}


def text(made: KernelPlan) -> str:
    return " ".join(kernel_cpp(kernels([made]), "").split())


# What the documents and headers say.


@pytest.mark.parametrize("platform", list(PLATFORMS))
@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_single_needs_no_tmp(platform, dtype):
    made = single(256, 64, platform=platform, dtype=dtype)
    assert cols(made) == {"src": (256, 256), "dst": (256, 256)}
    assert "TMRGSORT(dstTile, srcTile, 64);" in text(made)


def test_tmp_is_the_sum_of_the_lists():
    assert cols(multi(1024, 1024)) == {
        "src0": (1024, 1024),
        "src1": (1024, 1024),
        "dst": (2048, 2048),
        "tmp": (2048, 2048),
    }


def test_tiles_follow_the_valid_columns_rounded_up_to_32_bytes():
    made = cols(multi(2, 10, 8))
    assert made == {"src0": (8, 2), "src1": (16, 10), "src2": (8, 8), "dst": (24, 20), "tmp": (32, 32)}
    assert cols(multi(4, 20, dtype="half")) == {"src0": (16, 4), "src1": (32, 20), "dst": (32, 24), "tmp": (48, 48)}


def test_tmp_stands_right_behind_dst_and_tensors_start_with_the_outputs():
    made = multi(64, 128, 2, exhausted=True)
    tiles = {tile.name: tile for tile in made.tiles}
    assert tiles["tmp"].offset == tiles["dst"].end
    assert [tensor.name for tensor in made.tensors] == ["dst", "counts", "src0", "src1", "src2"]
    assert [tensor.role for tensor in made.tensors] == [Role.OUT] * 2 + [Role.IN] * 3


@pytest.mark.parametrize("lists", [(64, 128), (64, 128, 2), (64, 128, 2, 32)])
def test_the_multi_form_names_its_template_arguments(lists):
    made = text(multi(*lists))
    tiles = ["dst", "tmp", *(f"src{number}" for number in range(len(lists)))]
    call = made[made.index("MrgSortExecutedNumList executedNumList;") :]
    types = [f"UbTile<float, 1, {own[0]}, 1, {own[1]}>" for own in (cols(multi(*lists))[name] for name in tiles)]
    arguments = ["dstTile", "executedNumList", *(f"{name}Tile" for name in tiles[1:])]
    assert "".join(f"TMRGSORT<{', '.join(types)}, false>({', '.join(arguments)});".split()) in "".join(call.split())


def test_the_counts_are_written_by_the_scalar_pipe_and_stored():
    made = multi(64, 128, exhausted=True)
    counts = next(tensor for tensor in made.tensors if tensor.name == "counts")
    assert (counts.dtype, counts.rows, counts.cols, counts.record, counts.masked) == (UINT32, 1, 2, None, False)
    assert cols(made)["counts"] == (8, 2)
    steps = made.program
    (merge, write) = [step for step in steps if isinstance(step, Instruction)]
    assert (merge.pipe, write.pipe) == (Pipe.V, Pipe.S)
    (store,) = [place for place, step in enumerate(steps) if isinstance(step, Store) and step.src.tile == "counts"]
    flag = (Pipe.S, Pipe.MTE3, 0)
    assert steps[steps.index(write) + 1] == SetFlag(*flag) and WaitFlag(*flag) in steps[:store]
    assert "SetValue(0, executedNumList.mrgSortList0)" in text(made) and "mrgSortList2" not in text(made)


def test_without_exhausted_nothing_is_masked_and_nothing_counted():
    made = multi(64, 128)
    assert [tensor.name for tensor in made.tensors] == ["dst", "src0", "src1"]
    assert not any(tensor.masked for tensor in made.tensors)
    assert [tensor.masked for tensor in multi(64, 128, exhausted=True).tensors] == [64 * 4, 0, 0, 0]


def test_one_call_is_one_round_of_up_to_255_groups():
    made = single(255 * 256, 64, platform="a5", dtype="half", ub_bytes=262_144)
    assert cols(made)["src"] == (65_280, 65_280)
    assert len([step for step in made.program if isinstance(step, Instruction)]) == 1


def test_flags_are_as_few_as_they_can_be():
    flags = [step for step in multi(64, 64, 64, 64).program if isinstance(step, SetFlag)]
    assert [(flag.src, flag.dst) for flag in flags] == [(Pipe.MTE2, Pipe.V), (Pipe.V, Pipe.MTE3)]


def test_auto_mode_has_the_same_tiles():
    for exhausted in (False, True):
        auto, manual = (multi(64, 10, mode=mode, exhausted=exhausted) for mode in ("auto", "manual"))
        assert cols(auto) == cols(manual) and auto.used_bytes == manual.used_bytes


# The documents' worked examples.


@pytest.mark.parametrize("platform", ["a2a3", "a5"])
@pytest.mark.parametrize(
    ("name", "tiles"),
    [
        ("single", {"src": 256, "dst": 256}),
        ("single_manual", {"src": 256, "dst": 256}),
        ("multi4", {"src0": 128, "src1": 128, "src2": 128, "src3": 128, "dst": 512, "tmp": 512}),
        ("exhausted", {"src0": 64, "src1": 64, "counts": 8, "dst": 128, "tmp": 128}),
    ],
)
def test_the_documents_examples(platform, name, tiles):
    suite = next(
        suite for suite in load(SPECS / "documents" / f"tmrgsort_{name}.yaml") if suite.platform.name == platform
    )
    plans = plan_suite(suite)
    check_suite(suite, plans)
    assert {tile.name: tile.cols for tile in plans[0].tiles} == tiles
    if name == "single_manual":
        assert [(tile.name, tile.offset) for tile in plans[0].tiles] == [("src", 0x1000), ("dst", 0x2000)]


# What is refused, and how.


def test_five_blocks_are_no_group():
    message = refusal(variant="single", cols=320, block_len=64)
    assert "PTG202: cols 320 is not a multiple of 4 * block_len = 256" in message and "nearest: 256 and 512" in message


@pytest.mark.parametrize(("columns", "near"), [(64, "256"), (255, "256"), (257, "256 and 512"), (65281, "24320")])
def test_the_nearest_columns_can_be_used(columns, near):
    assert f"nearest: {near}\n" in refusal(variant="single", cols=columns, block_len=64) + "\n"
    for each in near.split(" and "):
        single(int(each), 64)


@pytest.mark.parametrize(("block", "near"), [(63, "64"), (1, "64"), (100, "64 and 128")])
@pytest.mark.parametrize("platform", ["a5", "a2a3", "cpu"])
def test_a_block_is_a_multiple_of_64(platform, block, near):
    message = refusal(platform=platform, variant="single", cols=4 * block, block_len=block)
    assert f"PTG202: block_len {block} is not a multiple of 64" in message and f"nearest: {near}\n" in message + "\n"


def test_a_block_of_64_half_is_16_records():
    assert single(256, 64, dtype="float16")
    assert (
        generate(**TMRGSORT.golden_params(case(variant="single", cols=256, block_len=64, dtype="float16"), Path()))[
            "src"
        ].size
        == 64
    )


def test_more_than_255_groups():
    message = refusal(variant="single", cols=256 * 256, block_len=64, dtype="half")
    assert "cols 65536 is 256 groups of 4 * block_len = 256, more than 255" in message
    assert "at most 48896 columns at this block_len" in message
    assert single(48_896, 64, dtype="half")


@pytest.mark.parametrize(
    ("platform", "columns", "most"), [("a2a3", 24_576, 24_320), ("kirin9030", 16_384, 16_128), ("cpu", 24_576, 24_320)]
)
def test_single_stays_below_the_end_of_ub(platform, columns, most):
    message = refusal(platform=platform, variant="single", cols=columns, block_len=64)
    assert "TMRGSORT needs them to stay below" in message and f"at most {most} columns" in message
    assert single(most, 64, platform=platform)


def test_what_does_not_fit_names_what_does():
    message = refusal(variant="single", cols=32_768, block_len=64)
    assert (
        "PTG301: UB overflow: 262,144 B needed, 196,608 B on a2a3" in message and "the largest cols is 24320" in message
    )
    message = refusal(variant="multi", lists=[8190, 8190, 100], dtype="float32")
    assert "PTG301" in message and "the largest columns of a list is 81" in message
    assert refusal(variant="multi", lists=[8190, 8190, 8190]).count("PTG301") == 1


@pytest.mark.parametrize(
    ("lists", "number", "text"),
    [
        ([64, 65], 1, "list 1 has 65 columns; a record of float32 takes 2|nearest: 64 and 66"),
        ([1, 64], 0, "list 0 has 1 columns; a record of float32 takes 2|nearest: 2"),
        (
            [64, 64, 131_072],
            2,
            "list 2 has 65,536 records; a merge takes lists of at most 4,095|at most 8190 columns",
        ),
    ],
)
def test_a_list_is_whole_records_and_not_too_many(lists, number, text):
    with pytest.raises(PtogenError) as caught:
        multi(*lists)
    (diagnostic,) = caught.value.diagnostics
    assert all(part in str(diagnostic) for part in text.split("|")) and diagnostic.code == "PTG202"


def test_half_records_are_4_columns():
    assert "a record of float16 takes 4" in refusal(dtype="half", variant="multi", lists=[64, 6])


def test_a_block_of_too_many_records():
    message = refusal(variant="single", cols=4 * 131_072, block_len=131_072)
    assert "a block has 65,536 records" in message and "at most 8128 columns" in message


@pytest.mark.parametrize(
    ("fields", "place", "text"),
    [
        ({"variant": "single", "cols": 256}, (), "variant single needs block_len"),
        ({"variant": "single", "block_len": 64}, (), "variant single needs cols"),
        ({"variant": "multi"}, (), "variant multi needs lists"),
        ({**SINGLE, "lists": [64, 64]}, "lists", "lists is a field of variant multi"),
        ({**LISTS, "cols": 128}, "cols", "cols is a field of variant single"),
        ({**LISTS, "block_len": 64}, "block_len", "block_len is a field of variant single"),
        ({**SINGLE, "exhausted": True}, "exhausted", "exhausted is a field of variant multi"),
        ({**LISTS, "rows": 2}, "rows", "2 rows: every tile of TMRGSORT has 1"),
    ],
)
def test_fields_that_do_not_belong_together(fields, place, text):
    lines = [
        "op: tmrgsort",
        "platform: a5",
        "dtype: float32",
        *(f"{key}: {json.dumps(value)}" for key, value in fields.items()),
    ]
    with pytest.raises(PtogenError) as caught:
        load_text("\n".join(lines), "spec.yaml")
    (diagnostic,) = caught.value.diagnostics
    assert text in diagnostic.message and diagnostic.hint and diagnostic.code == "PTG202"
    line = next((number for number, line in enumerate(lines, 1) if place and line.startswith(place)), 1)
    assert diagnostic.position and diagnostic.position.line == line


def test_one_row_may_be_written():
    assert single(256, 64, rows=1)


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"variant": "multi", "lists": [64]}, "lists has 1 item"),
        ({"variant": "multi", "lists": [64] * 5}, "lists has 5 items"),
        ({"variant": "multi", "lists": [64, 0]}, "item 2 of lists is 0"),
        ({"variant": "multi", "lists": 64}, "lists is not a list"),
        ({"variant": "single", "cols": 256, "block_len": 0}, "block_len is 0"),
        ({"variant": "single", "cols": -256, "block_len": 64}, "cols is -256"),
        ({"variant": "single", "cols": 2**31, "block_len": 64}, "more than 2,147,483,647"),
        ({"variant": "both", "cols": 256, "block_len": 64}, "variant is not one of single, multi"),
        ({"variant": "multi", "lists": [64, 64], "exhausted": "yes"}, "exhausted is not true or false"),
    ],
)
def test_hostile_values(fields, text):
    assert text in refusal(**fields)


@pytest.mark.parametrize("value", [2**31 - 1, 2**31 - 256, 2**30])
def test_huge_columns_are_refused_without_delay(value):
    assert "PTG" in refusal(variant="single", cols=value, block_len=64)
    assert "PTG202" in refusal(variant="single", cols=value, block_len=2**30)
    assert "PTG202" in refusal(variant="multi", lists=[64, value - value % 2])


def test_dtypes():
    assert "float32 and float16" in refusal(dtype="int32", variant="single", cols=256, block_len=64)


@pytest.mark.parametrize(
    ("ub", "code"),
    [
        ({"src0": 0, "src1": 0x80}, "PTG403"),
        ({"src0": 0x200, "dst": 0x200}, "PTG403"),
        ({"tmp": 0x30000}, "PTG401"),
        ({"src1": 16}, "PTG402"),
        ({"src": 0}, "PTG204"),
    ],
)
def test_pinned_tiles_are_judged(ub, code):
    with pytest.raises(PtogenError) as caught:
        multi(64, 64, ub=ub)
    assert code in {diagnostic.code for diagnostic in caught.value.diagnostics}


def test_values_from_a_file(tmp_path):
    np.save(tmp_path / "values.npy", np.arange(128, dtype=np.float32).reshape(1, 128))
    assert single(256, 64, base=tmp_path, data="values.npy").case == "case_float32_single_256_block64_values"
    assert multi(192, 64, base=tmp_path, data="values.npy")
    assert "1 x 128, the case needs 1 x 96" in refusal(
        base=tmp_path, variant="multi", lists=[128, 64], data="values.npy"
    )
    np.save(tmp_path / "nan.npy", np.full((1, 128), np.nan, np.float32))
    assert "NaN" in refusal(base=tmp_path, variant="single", cols=256, block_len=64, data="nan.npy")


# What the headers do, written from the headers.


def case(**fields):
    return TMRGSORT.Case(**{"name": "case", "dtype": "float32", **fields})


def effects(platform: str, attributes: dict, **columns: tuple[int, int]) -> Effects:
    """Effects on float tiles of these (physical, valid) columns."""
    args = {name: TileType(FLOAT32, 1, own[0], 1, own[1]) for name, own in columns.items()}
    return TMRGSORT.effects(PLATFORMS[platform].family, args, attributes)


def touched(found: Effects) -> set[tuple[str, bool, int, int, bool]]:
    return {
        (one.operand, one.writes, one.region.start, one.region.end, one.defined)
        for one in found.accesses
        if one.region.runs()
    }


MULTI = {"dst": (24, 20), "tmp": (32, 32), "src0": (8, 2), "src1": (24, 18)}


@pytest.mark.parametrize("platform", NPUS)
def test_npus_merge_into_tmp_and_copy_whole_blocks(platform):
    assert touched(effects(platform, {"exhausted": False}, **MULTI)) == {
        ("src0", False, 0, 8, True),
        ("src1", False, 0, 72, True),
        ("tmp", True, 0, 80, True),
        ("tmp", False, 0, 80, True),
        ("tmp", False, 80, 96, False),
        ("dst", True, 0, 80, True),
        ("dst", True, 80, 96, False),
    }


def test_the_simulator_merges_into_dst():
    found = touched(effects("cpu", {"exhausted": False}, **MULTI))
    assert ("dst", True, 0, 80, True) in found and not any(one[0] == "tmp" and one[4] for one in found)


@pytest.mark.parametrize("platform", list(PLATFORMS))
def test_exhausted_uses_a_flag_of_its_own(platform):
    assert effects(platform, {"exhausted": True}, **MULTI).events == ((Pipe.V, Pipe.S, 0),)
    assert effects(platform, {"exhausted": False}, **MULTI).events == ()
    counts = TMRGSORT.effects(PLATFORMS[platform].family, {"counts": TileType(UINT32, 1, 8, 1, 3)}, {"lists": 3})
    assert counts.pipe is Pipe.S and touched(counts) == {("counts", True, 0, 12, True)}


@pytest.mark.parametrize("platform", list(PLATFORMS))
@pytest.mark.parametrize(
    ("src", "block", "read", "defect"),
    [
        (512, 64, 512, ""),
        (320, 64, 256, "the last 64 of 320 columns"),
        (252, 63, 252, "not a multiple of 64"),
        (192, 64, 0, "repeat 0"),
        (256 * 256, 64, 0, "256 groups of 256 columns: vmrgsort4 gets repeat 0"),
        (257 * 256, 64, 256, "so 1 are merged"),
        (256, 0, 0, "block_len is 0"),
        (131_072 * 4, 131_072, 131_072 * 4, "do not fit the 16 bits"),
    ],
)
def test_what_a_single_list_would_run_into(platform, src, block, read, defect):
    found = effects(platform, {"block_len": block}, dst=(src, src), src=(src, src))
    if platform != "cpu":
        expected = {("src", False, 0, read * 4, True), ("dst", True, 0, read * 4, True)} if read else set()
        assert touched(found) == expected
    message = " ".join(found.defects)
    assert defect in message if defect else not found.defects


@pytest.mark.parametrize("platform", list(PLATFORMS))
@pytest.mark.parametrize(
    ("src1", "defect"),
    [((8, 0), "src1 has no record"), ((8, 3), "3 columns of src1"), ((131_072, 131_072), "65,536 records of src1")],
)
def test_what_a_list_would_run_into(platform, src1, defect):
    assert defect in " ".join(effects(platform, {"exhausted": False}, **{**MULTI, "src1": src1}).defects)


def test_a2a3_asserts_less_than_its_ub():
    whole = {"dst": (24_576, 24_576), "src": (24_576, 24_576)}
    assert "asserts less than 196,608 B" in " ".join(effects("a2a3", {"block_len": 64}, **whole).defects)
    assert not effects("a5", {"block_len": 64}, **whole).defects


def test_tiles_of_several_rows_or_types_do_not_compile():
    tall = {"dst": TileType(FLOAT32, 2, 256, 2, 256), "src": TileType(FLOAT16, 1, 256, 1, 256)}
    text = " ".join(TMRGSORT.effects("a5", tall, {"block_len": 64}).defects)
    assert "dst must have 1 row" in text and "float16, float32" in text


@pytest.mark.parametrize("platform", list(PLATFORMS))
def test_no_plan_meets_a_defect_of_its_header(platform):
    row = PLATFORMS[platform]
    cases = [
        case(variant="single", cols=count * 4 * block, block_len=block)
        for block in (64, 128, 192)
        for count in (1, 2, 9)
    ]
    cases += [case(variant="multi", lists=lists, exhausted=True) for lists in ((2, 2), (2, 1000, 66), (8, 6, 4, 2))]
    for one in cases:
        sizing = TMRGSORT.sizing(one, row)
        tiles = {own.name: own.type for own in sizing.operands}
        for part in sizing.parts:
            assert not TMRGSORT.effects(
                row.family, {name: tiles[name] for name in part.args}, dict(part.attributes)
            ).defects


def test_the_flag_that_the_header_uses_inside_is_left_to_it():
    """V -> S EVENT_ID0 is the header's own where counts are read (facts of TMrgSort.hpp, GetExhaustedData)."""
    op = catalogue()["tmrgsort"]
    for exhausted in (True, False):
        case = op.Case(name="case", dtype="float32", variant="multi", lists=(64, 128), exhausted=exhausted)
        merge = op.sizing(case, PLATFORMS["a2a3"]).parts[0]
        assert merge.events == (((Pipe.V, Pipe.S, 0),) if exhausted else ())
        plan = planned(Graph.of(op), case, PLATFORMS["a2a3"], "manual", PLATFORMS["a2a3"].ub_bytes)
        assert [step.events for step in plan.program if isinstance(step, Instruction)][0] == merge.events
