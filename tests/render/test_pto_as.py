"""PTO assembly of a plan, read back by the tests' own reader and held against the plan."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pto_as_parser import ELEMENTS as SIZES
from pto_as_parser import Event, Gm, Rejected, Tile, TileBuf, read

from ptogen.check import check_suite
from ptogen.dtypes import DTYPES, INT32
from ptogen.errors import PtogenError
from ptogen.ops.base import Assembly, Constant, Fault, Op
from ptogen.plan import plan_suite
from ptogen.plan.model import (
    Affine,
    Barrier,
    GmWindow,
    Instruction,
    KernelPlan,
    Load,
    Loop,
    SetFlag,
    Store,
    WaitFlag,
    Window,
    unroll,
)
from ptogen.platforms import Pipe
from ptogen.render import pto_as
from ptogen.spec.load import load_text
from ptogen.spec.model import Suite

sys.path.insert(0, str(Path(__file__).parents[1] / "plan"))
import programs  # noqa: E402


def prepared(level: int | None = None, **fields) -> tuple[Suite, tuple[KernelPlan, ...]]:
    (suite,) = load_text(json.dumps({"op": "tsort32", "platform": "a2a3", **fields}), "spec.yaml", Path())
    suite = pto_as.prepare(suite, level)
    plans = plan_suite(suite)
    check_suite(suite, plans)
    return suite, plans


def text_of(suite: Suite, plans: tuple[KernelPlan, ...], level: int | None = None) -> str:
    (text,) = pto_as.render(suite, plans, level=level).files.values()
    return text


# What the text says, against the plan


def tile_of(plan: KernelPlan, window: Window, variables) -> tuple[int | None, TileBuf]:
    tile = plan.tile(window.tile)
    start = (window.row.at(variables) * tile.cols + window.col.at(variables)) * tile.dtype.bytes
    element = pto_as.ELEMENTS[tile.dtype.name]
    kind = TileBuf("vec", element, window.rows, window.cols, window.valid_rows, window.valid_cols)
    return (tile.offset + start if plan.mode == "manual" else None), kind


def gm_of(plan: KernelPlan, window: GmWindow, variables) -> Gm:
    tensor = plan.tensor(window.tensor)
    offsets = window.row.at(variables), window.col.at(variables)
    shape, strides = (tensor.rows, tensor.cols), (tensor.cols, 1)
    return Gm(f"%{tensor.name}_gm", shape, strides, offsets, (window.rows, window.cols))


def said(value: Tile | Gm | int) -> object:
    return (value.address, value.type) if isinstance(value, Tile) else value


def hold(plan: KernelPlan, events: list[Event]) -> None:
    """Every event is a step of the plan, in its order, with its tiles, addresses, parts of GM, roles, pipes and ids."""
    steps = list(unroll(plan.program))
    assert len(events) == len(steps)
    for event, (step, variables, _) in zip(events, steps, strict=True):
        if isinstance(step, (Load, Store)):
            sides = [said(one) for one in (*event.ins, *event.outs)]
            if isinstance(step, Load):
                expected = "tload", [gm_of(plan, step.src, variables), tile_of(plan, step.dst, variables)]
            else:
                expected = "tstore", [tile_of(plan, step.src, variables), gm_of(plan, step.dst, variables)]
            assert (event.name, sides) == expected
        elif isinstance(step, Instruction):
            windows = {name: tile_of(plan, window, variables) for name, window in step.args}
            assert event.name == step.op
            assert [said(one) for one in event.outs if isinstance(one, Tile)] == [windows["dst"]]
            ins = [said(one) for one in event.ins if isinstance(one, Tile)]
            tmp = [windows.pop("tmp")] if "tmp" in windows else []
            assert ins == [windows[name] for name in windows if name != "dst"] + tmp
        elif isinstance(step, (SetFlag, WaitFlag)):
            name = "set_flag" if isinstance(step, SetFlag) else "wait_flag"
            assert event == Event(name, attributes=(step.src.value, step.dst.value, step.event))
        else:
            assert isinstance(step, Barrier) and event == Event("barrier", attributes=(step.pipe.value,))


def check(level: int, **fields) -> str:
    suite, plans = prepared(level, **fields)
    text = text_of(suite, plans, level)
    module = read(text, level)
    assert module.arch == {"a2a3": "a3", "a5": "a5"}[suite.platform.name]
    assert list(module.functions) == [plan.case for plan in plans]
    for plan in plans:
        function = module.functions[plan.case]
        assert {name: kind.dtype for name, kind in function.parameters.items()} == {
            f"%{tensor.name}_gm": pto_as.ELEMENTS[tensor.dtype.name] for tensor in plan.tensors
        }
        assert list(function.parameters) == [f"%{tensor.name}_gm" for tensor in plan.tensors]
        hold(plan, function.events())
    with pytest.raises(Rejected):
        read(text, 5 - level)
    return text


SHAPES = [
    {"dtype": "float32", "rows": 2, "cols": 13},
    {"dtype": "float16", "rows": 4, "cols": 64, "idx": "broadcast"},
    {"dtype": "float32", "rows": 4, "cols": 64, "valid": [3, 50]},
    {"dtype": "float32", "rows": 1, "cols": 8192},
    {"dtype": "float16", "rows": 1, "cols": 8170},
]
WIDE = [
    {"dtype": "float32", "rows": 1, "cols": 8150},
    {"dtype": "float16", "rows": 2, "cols": 8170},
    {"dtype": "float16", "rows": 1, "cols": 16320},
]


@pytest.mark.parametrize("level", [2, 3])
@pytest.mark.parametrize("platform", ["a2a3", "a5"])
def test_a_suite_is_read_back_as_planned(platform: str, level: int) -> None:
    check(level, platform=platform, cases=SHAPES if platform == "a2a3" else SHAPES + WIDE)


@settings(max_examples=60, deadline=None)
@given(
    level=st.sampled_from([2, 3]),
    platform=st.sampled_from(["a2a3", "a5"]),
    dtype=st.sampled_from(["float16", "float32"]),
    rows=st.integers(1, 5),
    cols=st.integers(1, 600),
    idx=st.sampled_from(["per_row", "broadcast"]),
)
def test_any_case_is_read_back_as_planned(level: int, **fields) -> None:
    check(level, **fields)


def test_rows_of_a_wide_tile_are_windows_in_a_loop() -> None:
    text = check(3, platform="a5", **WIDE[1])
    assert text.count("scf.for %row = %c0 to %c2 step %c1 {") == 1
    assert text.count("pto.tsort32 ") == 2 and "arith.index_cast" in text


def test_level_2_has_neither_addresses_nor_flags() -> None:
    text = check(2, **SHAPES[0])
    assert "addr" not in text and "flag[" not in text and "barrier <" not in text
    assert "--pto-level=level2 --enable-insert-sync" in text


def test_the_level_follows_the_mode() -> None:
    for mode, level in (("manual", 3), ("auto", 2)):
        suite, plans = prepared(mode=mode, **SHAPES[0])
        assert pto_as.render(suite, plans).meta["level"] == level
        assert text_of(suite, plans) == text_of(suite, plans, level)


def test_a_pinned_case_has_its_addresses() -> None:
    text = check(3, **SHAPES[0], ub={"src": 0x1000, "tmp": 0x200})
    assert "src [0x1000, 0x1100)" in text


def test_the_text_is_the_same_everywhere_and_has_the_header_on_top() -> None:
    suite, plans = prepared(**SHAPES[0])
    one, two = (pto_as.render(suite, plans, license_header="Mine\n") for _ in range(2))
    assert one == two and next(iter(one.files.values())).startswith("// Mine\n//\n// Generated by ptogen ")
    assert list(one.files) == ["pto_as/a2a3/tsort32/tsort32.pto"]
    assert (one.key, one.meta["target"]) == ("a2a3-tsort32-pto_as", "pto_as")


# Level 1, which no assembler reads


def test_level_1_is_the_form_of_the_documents_and_says_so() -> None:
    suite, plans = prepared(1, **SHAPES[0])
    text = text_of(suite, plans, 1)
    lines = [" ".join(line.split()) for line in text.splitlines()]
    src, idx, dst = (
        f"!pto.tile<vec, {kind}, row_major, none_box, 512, 0>" for kind in ("f32, 2, 32", "ui32, 2, 32", "f32, 2, 64")
    )
    view = "!pto.partition_tensor_view<2x26xf32>"
    assert f"%dst = pto.tsort32 %src, %idx : ({src}, {idx}) -> {dst}" in lines
    assert f"%src = pto.tload %src_view : !pto.partition_tensor_view<2x13xf32> -> {src}" in lines
    assert f"pto.tstore %dst, %dst_view : ({dst}, {view}) -> ()" in lines
    assert "does not read this file" in text
    for level in (1, 2, 3):
        with pytest.raises(Rejected):
            read(text, level)


def test_level_1_sorts_a_wide_row_in_pieces() -> None:
    suite, plans = prepared(1, platform="a5", **WIDE[0])
    text = text_of(suite, plans, 1)
    assert "%dst0 = pto.tsort32 %src0, %idx0 :" in text and "%dst1 = pto.tsort32 %src1, %idx1 :" in text


# Programs and ops that the catalogue need not have


def hand_made(op: Op, plan: KernelPlan, level: int | None = None) -> str:
    (suite,) = load_text("{op: tsort32, platform: a2a3, dtype: float32, rows: 1, cols: 32}", "spec.yaml", Path())
    return text_of(replace(suite, op=op, mode=plan.mode), (plan,), level)


class Combine(Op):
    """An op as the assembler has it, on any tiles."""

    def pto_as(self, args, attributes, platform):
        if "limit" in attributes:
            return Fault("PTG303", "rows", f"{self.name} has no text for {attributes['limit']}", "take less")
        if "length" in attributes:
            return Assembly(("src", Constant("length", str(attributes["length"]), "i32")), ("dst",))
        if "exhausted" in attributes:
            sources = tuple(name for name in args if name.startswith("src"))
            executed = Constant("executed", "dense<0>", "vector<4xi16>")
            return Assembly((*sources, "tmp"), ("dst", executed), "exhausted = false")
        return super().pto_as(args, attributes, platform)

    def defects_of(self, case, platform):
        return ()

    def golden_params(self, case, base):
        return {}


def combine(name: str) -> Combine:
    return Combine(name, name.upper(), Pipe.V, (), ())


TILES = tuple(
    replace(programs.tile(name, offset), cols=cols, rows=1, valid_rows=1, valid_cols=cols)
    for name, offset, cols in (("src0", 0, 128), ("src1", 512, 128), ("dst", 1024, 256), ("tmp", 2048, 256))
)


def whole(name: str) -> Window:
    own = next(tile for tile in TILES if tile.name == name)
    return Window(name, 1, own.cols, 1, own.cols)


def merge_plan(mode: str, args: dict[str, str], **attributes) -> KernelPlan:
    step = Instruction(
        "tmrgsort", tuple((name, whole(tile)) for name, tile in args.items()), Pipe.V, tuple(attributes.items())
    )
    return KernelPlan("case", "tmrgsort", "a2a3", mode, 196_608, (), TILES, (step, step), 0)


@pytest.mark.parametrize("mode", ["manual", "auto"])
def test_a_merge_of_lists_has_tmp_last_and_counts_among_the_outs(mode: str) -> None:
    args = {"dst": "dst", "tmp": "tmp", "src0": "src0", "src1": "src1"}
    plan = merge_plan(mode, args, exhausted=False)
    level = 3 if mode == "manual" else 2
    events = read(hand_made(combine("tmrgsort"), plan), level).functions["case"].events()
    hold(plan, events)
    assert [tile.name for tile in events[0].ins] == ["%src0", "%src1", "%tmp"]
    assert (events[0].outs[1], events[0].attributes) == (0, (("exhausted", False),))


def test_a_merge_of_one_list_has_its_block_length() -> None:
    plan = merge_plan("manual", {"dst": "dst", "src": "tmp"}, length=64)
    text = hand_made(combine("tmrgsort"), plan)
    events = read(text, 3).functions["case"].events()
    assert [said(one) for one in events[0].ins] == [(2048, events[0].outs[0].type), 64]
    assert text.count("%length = arith.constant 64 : i32") == 1


def test_the_documents_name_no_tmp_at_level_1() -> None:
    plan = merge_plan("auto", {"dst": "dst", "tmp": "tmp", "src0": "src0", "src1": "src1"}, exhausted=False)
    loads = tuple(Load(whole(name), GmWindow("in", 1, 128)) for name in ("src0", "src1"))
    tensor = replace(programs.tensors("in")[0], rows=1, cols=128, valid_rows=1, valid_cols=128)
    text = hand_made(combine("tmrgsort"), replace(plan, tensors=(tensor,), program=(*loads, plan.program[0])), 1)
    (line,) = [line for line in text.splitlines() if "tmrgsort %" in line]
    assert line.strip().startswith("%dst, %executed = pto.tmrgsort %src0, %src1 {exhausted = false} : (!pto.tile<vec, ")
    assert line.endswith(", vector<4xi16>)")


@pytest.mark.parametrize("mode", ["manual", "auto"])
@pytest.mark.parametrize("name", ["tpartmin", "tpartmax", "tpartadd", "tpartmul"])
def test_a_part_op_needs_no_words_of_its_own(name: str, mode: str) -> None:
    tiles = tuple(
        replace(programs.tile(own, 4096 * number), dtype=INT32, rows=32, cols=32, valid_rows=rows, valid_cols=30)
        for number, (own, rows) in enumerate((("src0", 31), ("src1", 7), ("dst", 31)))
    )
    windows = {tile.name: Window(tile.name, 32, 32, tile.valid_rows, tile.valid_cols) for tile in tiles}
    step = Instruction(name, tuple((own, windows[own]) for own in ("dst", "src0", "src1")))
    plan = KernelPlan("case", name, "a2a3", mode, 196_608, (), tiles, (step,), 0)
    level = 3 if mode == "manual" else 2
    hold(plan, read(hand_made(combine(name), plan), level).functions["case"].events())


def test_nested_loops_flags_and_parts_of_gm() -> None:
    """Rows of a tile in two loops, at addresses and at places of GM that depend on their variables."""

    def row(name: str, place: Affine) -> Window:
        return Window(name, 1, programs.COLS, 1, programs.COLS, place)

    outer, both = Affine(0, (("i", 1),)), Affine(1, (("i", 1), ("j", 1)))
    args = (("dst", row("b", outer)), ("src0", row("a", both)), ("src1", row("a", Affine(2))))
    body = (
        Load(row("a", outer), GmWindow("in", 1, programs.COLS, outer)),
        SetFlag(Pipe.MTE2, Pipe.V, 3),
        WaitFlag(Pipe.MTE2, Pipe.V, 3),
        Loop("j", 2, (Instruction("tpartadd", args), Barrier(Pipe.V))),
        Store(GmWindow("out", 1, 4, outer, Affine(4)), replace(row("b", outer), valid_cols=4)),
    )
    tiles = (programs.tile("a", 64), programs.tile("b", 1024))
    program = (Loop("i", 2, body), Loop("i", 1, (Barrier(Pipe.MTE2),)))
    plan = KernelPlan("case", "tpartadd", "a2a3", "manual", 4096, programs.tensors("in", "out"), tiles, program, 0)
    hold(plan, read(hand_made(combine("tpartadd"), plan), 3).functions["case"].events())


# Refusals


def refusal(op: Op, plan: KernelPlan, level: int | None = None) -> str:
    with pytest.raises(PtogenError) as caught:
        hand_made(op, plan, level)
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code == "PTG303"
    return str(diagnostic)


def test_what_an_op_has_no_text_for_is_refused_at_its_field() -> None:
    plan = merge_plan("manual", {"dst": "dst", "src": "tmp"}, limit=5)
    said = refusal(combine("tmrgsort"), plan)
    assert said.startswith("spec.yaml:1:")
    assert said.endswith("error PTG303: tmrgsort has no text for 5\n  hint: take less")


def test_a_part_of_a_tile_takes_an_address() -> None:
    part = Window("a", 1, programs.COLS, 1, programs.COLS)
    tiles = (programs.tile("a", 0), programs.tile("b", 96))
    step = Instruction("tpartadd", (("dst", part), ("src0", part), ("src1", part)))
    plan = KernelPlan("case", "tpartadd", "a2a3", "auto", 4096, (), tiles, (step,), 0)
    assert "src0 is 1x8 of a, which takes an address to say" in refusal(combine("tpartadd"), plan, 2)


def test_nothing_to_move_is_refused() -> None:
    window = Window("a", programs.ROWS, programs.COLS, 0, programs.COLS)
    step = Load(window, GmWindow("in", 0, programs.COLS))
    plan = KernelPlan("case", "x", "a2a3", "manual", 96, programs.tensors("in"), (programs.tile("a", 0),), (step,), 0)
    assert "in has 0x8 elements to move; the assembler moves at least 1x1" in refusal(combine("x"), plan)


def test_a_loop_has_no_ssa_text() -> None:
    plan = KernelPlan("case", "x", "a2a3", "auto", 96, (), (), (Loop("i", 3, ()),), 0)
    assert "repeats steps 3 times" in refusal(combine("x"), plan, 1)


@pytest.mark.parametrize("platform", ["cpu", "kirin9030", "kirinx90", "kirindev0000"])
def test_platforms_that_the_assembler_does_not_have_are_refused(platform: str) -> None:
    suite, plans = prepared(platform=platform, **SHAPES[0])
    with pytest.raises(PtogenError, match=f"PTG303: the PTO assembler has no {platform}; it has a2a3 and a5"):
        pto_as.render(suite, plans)


def test_every_dtype_has_an_element_type() -> None:
    assert pto_as.ELEMENTS.keys() == DTYPES.keys()
    assert {pto_as.ELEMENTS[name]: dtype.bytes for name, dtype in DTYPES.items()} == SIZES
