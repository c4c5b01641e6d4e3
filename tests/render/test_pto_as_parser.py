"""The reader of PTO assembly takes and rejects what the assembler took and rejected when it was tried."""

from __future__ import annotations

import re

import pytest
from pto_as_parser import Rejected, TileBuf, read

F32, TAIL, WIDE, IDX, TMP = (
    f"!pto.tile_buf<vec, {text}>"
    for text in ("2x32xf32", "2x64xf32, valid=2x40", "2x128xf32, valid=2x80", "2x64xui32, valid=2x40", "1x64xf32")
)
LONG = (
    "!pto.tile_buf<loc=vec, dtype=f32, rows=2, cols=64, v_row=2, v_col=40, "
    "blayout=row_major, slayout=none_box, fractal=512, pad=0>"
)


def module(*lines: str, parameters: str = "", head: str = "module") -> str:
    """A module with one function of these lines; ``%i<n>`` and ``%a<n>`` stand for constants of index and i64."""
    body = "\n".join(lines)
    constants = [f"%i{n} = arith.constant {n} : index" for n in sorted({*re.findall(r"%i(\d+)\b", body)}, key=int)]
    constants += [f"%a{n} = arith.constant {n} : i64" for n in sorted({*re.findall(r"%a(\d+)\b", body)}, key=int)]
    return "\n".join([f"{head} {{", f"func.func @case({parameters}) {{", *constants, body, "return", "}", "}"])


def accepted(*lines: str, level: int = 2, parameters: str = "", **options) -> None:
    read(module(*lines, parameters=parameters), level, **options)


def rejected(*lines: str, reason: str | None = None, level: int = 2, **options) -> None:
    with pytest.raises(Rejected, match=reason):
        accepted(*lines, level=level, **options)


def tile(name: str, kind: str) -> str:
    return f"%{name} = pto.alloc_tile : {kind}"


def tiles(**kinds: str) -> list[str]:
    return [tile(name, kind) for name, kind in kinds.items()]


# The whole of a kernel


def whole_module(arch: str = "") -> str:
    """A sort of 2 x 40 columns with its tail, at addresses and with flags."""
    views, moves = [], {}
    for number, (name, element, cols) in enumerate((("v", "f32", 40), ("n", "ui32", 40), ("r", "f32", 80))):
        kinds = f"!pto.tensor_view<?x?x{element}>", f"!pto.partition_tensor_view<2x{cols}x{element}>"
        extent = f"shape = [%i2, %i{cols}], strides = [%i{cols}, %i1]"
        views += [
            f"%t{number} = pto.make_tensor_view %{name}, {extent} : {kinds[0]}",
            f"%p{number} = pto.partition_view %t{number}, offsets = [%i0, %i0], sizes = [%i2, %i{cols}] : "
            f"{kinds[0]} -> {kinds[1]}",
        ]
        moves[name] = f"%p{number} : {kinds[1]}"
    return module(
        *views,
        *(
            f"%{name} = pto.alloc_tile addr = %a{address} : {kind}"
            for name, address, kind in (("x", 0, TAIL), ("k", 512, IDX), ("y", 1024, WIDE), ("s", 2048, TMP))
        ),
        f"pto.tload ins({moves['v']}) outs(%x : {TAIL})",
        f"pto.tload ins({moves['n']}) outs(%k : {IDX})",
        "pto.set_flag[<PIPE_MTE2>, <PIPE_V>, <EVENT_ID0>]",
        "pto.wait_flag[<PIPE_MTE2>, <PIPE_V>, <EVENT_ID0>]",
        f"pto.tsort32 ins(%x, %k, %s : {TAIL}, {IDX}, {TMP}) outs(%y : {WIDE})",
        "pto.set_flag[<PIPE_V>, <PIPE_MTE3>, <EVENT_ID0>]",
        "pto.wait_flag[<PIPE_V>, <PIPE_MTE3>, <EVENT_ID0>]",
        f"pto.tstore ins(%y : {WIDE}) outs({moves['r']})",
        "pto.barrier <PIPE_ALL>",
        parameters="%v: !pto.ptr<f32>, %n: !pto.ptr<ui32>, %r: !pto.ptr<f32>",
        head=f'module attributes {{pto.target_arch = "{arch}"}}' if arch else "module",
    )


def test_a_complete_module_is_read() -> None:
    events = read(whole_module(), 3).functions["case"].events()
    assert [event.name for event in events] == [
        "tload", "tload", "set_flag", "wait_flag", "tsort32", "set_flag", "wait_flag", "tstore", "barrier",
    ]  # fmt: skip
    sort, store = events[4], events[7]
    assert [one.address for one in (*sort.ins, *sort.outs)] == [0, 512, 2048, 1024]
    assert (store.outs[0].pointer, store.outs[0].sizes, store.outs[0].strides) == ("%r", (2, 80), (80, 1))


def test_the_architecture_comes_from_the_module_or_from_outside() -> None:
    assert read(whole_module("a5"), 3).arch == "a5"
    assert read(whole_module("a5"), 3, arch="a3").arch == "a3"
    with pytest.raises(Rejected):
        read(whole_module("a7"), 3)


def test_loops_run_and_compute_addresses() -> None:
    text = module(
        "scf.for %r = %i0 to %i3 step %i1 {",
        "%b = arith.muli %r, %i128 : index",
        "%o = arith.addi %b, %i256 : index",
        "%a = arith.index_cast %o : index to i64",
        f"%x = pto.alloc_tile addr = %a : {F32}",
        f"pto.tpartadd ins(%x, %x : {F32}, {F32}) outs(%x : {F32})",
        "}",
    )
    events = read(text, 3).functions["case"].events()
    assert [event.outs[0].address for event in events] == [256, 384, 512]


# Types


@pytest.mark.parametrize(
    "kind",
    [
        LONG,
        LONG.replace(" ", ""),
        LONG.replace("pad=0", "pad=3, compact=1"),
        "!pto.tile_buf<vec, 2x64xf32, valid=2x40>",
        "!pto.tile_buf<vec, 2x64xf32, pad=1, fractal=512, valid=2x40, blayout=row_major, slayout=none_box, compact=0>",
        *(LONG.replace("loc=vec", f"loc={loc}") for loc in ("mat", "left", "right", "acc", "bias", "scaling")),
        *(LONG.replace("f32", element) for element in ("f16", "bf16", "i8", "i16", "i32", "ui8", "ui16", "ui32")),
    ],
)
def test_tile_types_that_are_taken(kind: str) -> None:
    accepted(tile("x", kind))


def test_both_forms_say_the_same() -> None:
    texts = (LONG, "!pto.tile_buf<vec, 2x64xf32, valid=2x40>")
    kinds = [read(module(tile("x", kind), _store(kind)), 2).functions["case"].events()[0].ins[0].type for kind in texts]
    assert kinds[0] == kinds[1] == TileBuf("vec", "f32", 2, 64, 2, 40)


def _store(kind: str) -> str:
    return f"pto.tpartadd ins(%x, %x : {kind}, {kind}) outs(%x : {kind})"


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        (LONG.replace(", pad=0", ""), "expected ','"),
        (LONG.replace("rows=2, cols=64", "cols=64, rows=2"), "expected 'rows'"),
        (LONG.replace("loc=vec", "loc=ub"), "'ub' is no location"),
        (LONG.replace("pad=0", "pad=zero"), "expected an integer"),
        (LONG.replace("pad=0", "pad=4"), "pad 4"),
        (LONG.replace("f32", "float"), "'float' is no element type"),
        (LONG.replace("f32", "u32"), "'u32' is no element type"),
        ("!pto.tile_buf<ub, 2x64xf32>", "'ub' is no location"),
        ("!pto.tile_buf<vec, 2x64xu32>", "'u32' is no element type"),
        ("!pto.tile_buf<vec, 2x64xf32, valid=2x40, valid=2x40>", "stands twice"),
        ("!pto.tile<vec, f32, 2, 64>", "no type"),
    ],
)
def test_tile_types_that_are_rejected(kind: str, reason: str) -> None:
    rejected(tile("x", kind), reason=reason)


def test_dynamic_valid_sizes_come_with_operands() -> None:
    kind = LONG.replace("v_row=2", "v_row=?")
    accepted(f"%x = pto.alloc_tile valid_row = %i2 : {kind}")
    rejected(tile("x", kind), reason="valid_row is required")
    rejected(f"%x = pto.alloc_tile valid_row = %i2 : {LONG}", reason="valid_row must be absent")


def test_an_empty_region_compiles_only_where_it_comes_with_operands() -> None:
    kinds = "!pto.tile_buf<vec, 2x104xf32, valid=0x100>", "!pto.tile_buf<vec, 2x104xf32, valid=?x?>"
    for operands, kind in zip(("", "valid_row = %i0 valid_col = %i100 "), kinds, strict=True):
        (event,) = read(module(f"%x = pto.alloc_tile {operands}: {kind}", _store(kind)), 2).functions["case"].events()
        (tile,) = event.outs
        assert tile.type == TileBuf("vec", "f32", 2, 104, 0, 100)
        assert tile.declared.compiles == bool(operands)


def test_a_module_of_several_functions_has_the_kernels_that_are_marked() -> None:
    one = module("pto.barrier <PIPE_ALL>")
    assert read(one).kernels == ["case"]
    head, function, end = one.partition("{")[0], one[one.index("func") : one.rindex("}")], "}"
    other = function.replace("@case()", "@other()")
    assert read("\n".join([head, "{", function, other, end])).kernels == []
    marked = other.replace("@other()", "@other() attributes {pto.entry}")
    assert read("\n".join([head, "{", function, marked, end])).kernels == ["other"]


# Levels


def test_addresses_belong_to_level_3() -> None:
    placed, free = f"%x = pto.alloc_tile addr = %a64 : {F32}", tile("x", F32)
    accepted(placed, level=3)
    rejected(free, level=3, reason="requires 'addr'")
    for level in (1, 2):
        accepted(free, level=level)
        rejected(placed, level=level, reason="unexpected 'addr'")


def test_an_address_is_an_i64() -> None:
    rejected(f"%x = pto.alloc_tile addr = %i64 : {F32}", level=3, reason="used as i64")


def test_tassign_belongs_to_level_3_without_automatic_flags() -> None:
    lines = f"%x = pto.alloc_tile addr = %a64 : {F32}", f"%y = pto.tassign %x, %a128 : {F32} -> {F32}"
    accepted(*lines, level=3)
    rejected(*lines, level=3, insert_sync=True)
    rejected(tile("x", F32), lines[1], level=2)


@pytest.mark.parametrize(
    "text",
    [
        f"%r = pto.tsort32 ins(%x, %k : {F32}, !pto.tile_buf<vec, 2x32xui32>) -> {F32}",
        f"%r = pto.tsort32 %x, %k : ({F32}, !pto.tile_buf<vec, 2x32xui32>) -> {F32}",
    ],
)
def test_the_ssa_form_is_no_text(text: str) -> None:
    for level in (1, 2):
        rejected(*tiles(x=F32, k="!pto.tile_buf<vec, 2x32xui32>"), text, level=level, reason="expected '(outs|ins)'")


# Moves

VIEW = "!pto.partition_tensor_view<2x40xf32>"
MOVED = (
    "%t = pto.make_tensor_view %g, shape = [%i2, %i40], strides = [%i40, %i1] : !pto.tensor_view<?x?xf32>",
    f"%p = pto.partition_view %t, offsets = [%i0, %i0], sizes = [%i2, %i40] : !pto.tensor_view<?x?xf32> -> {VIEW}",
)
POINTER = "%g: !pto.ptr<f32>"


def test_moves() -> None:
    for line in (f"pto.tload ins(%p : {VIEW}) outs(%x : {TAIL})", f"pto.tstore ins(%x : {TAIL}) outs(%p : {VIEW})"):
        accepted(*MOVED, tile("x", TAIL), line, parameters=POINTER)


def test_a_layout_may_stand_behind_a_view() -> None:
    first = MOVED[0].replace("] :", "] {layout = nd} :")
    accepted(first, MOVED[1], parameters=POINTER)


def test_a_store_moves_as_many_elements_as_the_valid_region_has() -> None:
    flat = "!pto.tile_buf<vec, 1x80xf32>"
    accepted(*MOVED, tile("x", flat), f"pto.tstore ins(%x : {flat}) outs(%p : {VIEW})", parameters=POINTER)
    for kind in (F32, "!pto.tile_buf<vec, 2x64xf32>"):
        lines = *MOVED, tile("x", kind)
        rejected(*lines, f"pto.tstore ins(%x : {kind}) outs(%p : {VIEW})", reason="elements", parameters=POINTER)
        accepted(*lines, f"pto.tload ins(%p : {VIEW}) outs(%x : {kind})", parameters=POINTER)


def test_a_load_wants_elements_of_one_size_and_positive_sizes() -> None:
    for kind, reason in (("2x64xf16, valid=2x40", "same size"), ("2x64xf32, valid=0x40", "positive")):
        own = f"!pto.tile_buf<vec, {kind}>"
        line = f"pto.tload ins(%p : {VIEW}) outs(%x : {own})"
        rejected(*MOVED, tile("x", own), line, reason=reason, parameters=POINTER)
    accepted(*MOVED, tile("x", IDX), f"pto.tload ins(%p : {VIEW}) outs(%x : {IDX})", parameters=POINTER)


# tsort32

SHORT_IDX = "!pto.tile_buf<vec, 2x32xui32>"


def sort(src: str = F32, idx: str = SHORT_IDX, dst: str = "!pto.tile_buf<vec, 2x64xf32>") -> tuple[str, ...]:
    return *tiles(x=src, k=idx, y=dst), f"pto.tsort32 ins(%x, %k : {src}, {idx}) outs(%y : {dst})"


def test_sorts() -> None:
    accepted(*sort())
    accepted(*sort("!pto.tile_buf<vec, 4x64xf16>", dst="!pto.tile_buf<vec, 4x256xf16>"))
    lines = tiles(x=TAIL, k=IDX, s=TMP, y=WIDE)
    accepted(*lines, f"pto.tsort32 ins(%x, %k, %s : {TAIL}, {IDX}, {TMP}) outs(%y : {WIDE})")


@pytest.mark.parametrize(
    ("kinds", "reason"),
    [
        ({"src": F32.replace("vec", "mat")}, "tiles in vec"),
        ({"src": LONG.replace("blayout=row_major", "blayout=col_major")}, "row_major"),
        ({"src": "!pto.tile_buf<vec, 2x32xf32, valid=2x40>"}, "inside the shape"),
        ({"dst": "!pto.tile_buf<vec, 2x64xf16>"}, "one type"),
        ({"src": "!pto.tile_buf<vec, 2x32xi32>", "dst": "!pto.tile_buf<vec, 2x64xi32>"}, "f16 or f32"),
        ({"idx": "!pto.tile_buf<vec, 2x32xi32>"}, "ui32"),
    ],
)
def test_sorts_that_are_rejected(kinds: dict[str, str], reason: str) -> None:
    rejected(*sort(**kinds), reason=reason)


def test_operands_stand_before_types() -> None:
    rejected(*sort()[:3], f"pto.tsort32 ins(%x : {F32}, %k : {SHORT_IDX}) outs(%y : {F32})")


# tmrgsort

LIST, PAIR, FOUR = (f"!pto.tile_buf<vec, 1x{cols}xf32>" for cols in (128, 256, 512))
EXECUTED = "%e = arith.constant dense<0> : vector<4xi16>"


@pytest.mark.parametrize("kind", ["i32", "i64"])
def test_a_single_merge(kind: str) -> None:
    length = f"%l = arith.constant 64 : {kind}"
    accepted(*tiles(x=PAIR, y=PAIR), length, f"pto.tmrgsort ins(%x, %l : {PAIR}, {kind}) outs(%y : {PAIR})")


@pytest.mark.parametrize(
    ("src", "dst", "length", "reason"),
    [
        (PAIR, PAIR, 63, "multiple of 64"),
        (PAIR, PAIR, 0, "multiple of 64"),
        (PAIR, FOUR, 64, "equal columns"),
        (F32, F32, 64, "one row"),
        ("!pto.tile_buf<vec, 1x256xi32>", "!pto.tile_buf<vec, 1x256xi32>", 64, "f16 or f32"),
        (PAIR, PAIR.replace("f32", "f16"), 64, "one type"),
    ],
)
def test_single_merges_that_are_rejected(src: str, dst: str, length: int, reason: str) -> None:
    constant = f"%l = arith.constant {length} : i32"
    line = f"pto.tmrgsort ins(%x, %l : {src}, i32) outs(%y : {dst})"
    rejected(*tiles(x=src, y=dst), constant, line, reason=reason)


def merge(number: int, attribute: str = "{exhausted = false}", dst: str = "", tmp: str = "") -> list[str]:
    """A merge of lists with tmp behind them."""
    dst = dst or f"!pto.tile_buf<vec, 1x{128 * number}xf32>"
    tmp = tmp or dst
    names = [f"l{one}" for one in range(number)]
    lines = tiles(**dict.fromkeys(names, LIST), y=dst, s=tmp)
    operands = ", ".join(f"%{name}" for name in [*names, "s"])
    kinds = ", ".join([*[LIST] * number, tmp])
    line = f"pto.tmrgsort ins({operands} {attribute} : {kinds}) outs(%y, %e : {dst}, vector<4xi16>)"
    return [EXECUTED, *lines, line]


@pytest.mark.parametrize("number", [2, 3, 4])
@pytest.mark.parametrize("attribute", ["{exhausted = false}", "{exhausted = true}"])
def test_merges_of_lists(number: int, attribute: str) -> None:
    accepted(*merge(number, attribute))


def test_five_lists_are_rejected() -> None:
    rejected(*merge(5), reason="2 to 4 lists")


def test_tmp_among_the_outs_is_rejected() -> None:
    line = (
        f"pto.tmrgsort ins(%l0, %l1 {{exhausted = false}} : {LIST}, {LIST}) "
        f"outs(%y, %s, %e : {PAIR}, {PAIR}, vector<4xi16>)"
    )
    rejected(*merge(2)[:-1], line)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"tmp": FOUR}, "one shape"),
        ({"dst": PAIR.replace("f32", "f16")}, "one element type"),
    ],
)
def test_merges_that_are_rejected(options: dict[str, str], reason: str) -> None:
    rejected(*merge(2, **options), reason=reason)


def test_the_counts_are_four() -> None:
    lines = [line.replace("vector<4xi16>", "vector<2xi16>") for line in merge(2)]
    rejected(*lines, reason=r"vector<4xi16>")


# tpart*

PARTS = ("tpartmin", "tpartmax", "tpartadd", "tpartmul")


def part(name: str, dst: str, src0: str, src1: str) -> tuple[str, ...]:
    kinds = [f"!pto.tile_buf<vec, {kind}>" for kind in (src0, src1, dst)]
    return (
        *tiles(x=kinds[0], z=kinds[1], y=kinds[2]),
        f"pto.{name} ins(%x, %z : {kinds[0]}, {kinds[1]}) outs(%y : {kinds[2]}) {{note = 1}}",
    )


@pytest.mark.parametrize("name", PARTS)
def test_parts(name: str) -> None:
    accepted(*part(name, "32x32xf32", "32x32xf32", "32x32xf32"))
    accepted(*part(name, "32x32xi16", "32x32xi16", "32x32xi16, valid=16x32"))
    for element in ("i8", "bf16", "ui8", "ui16", "ui32"):
        lines = part(name, *[f"32x32x{element}"] * 3)
        accepted(*lines, arch="a5")
        rejected(*lines, arch="a3", reason="expects i32")
    for element in ("i64", "ui64"):
        for arch in ("a3", "a5"):
            rejected(*part(name, *[f"32x32x{element}"] * 3), arch=arch, reason="expects i32")


@pytest.mark.parametrize("name", PARTS)
def test_a3_holds_the_rule_of_valid_regions_and_a5_does_not(name: str) -> None:
    for shapes in (
        ("32x32xf32, valid=3x4", "32x32xf32, valid=3x3", "32x32xf32, valid=2x4"),
        ("32x32xf32, valid=3x4", "32x32xf32, valid=3x4", "32x32xf32, valid=4x4"),
    ):
        rejected(*part(name, *shapes), arch="a3", reason="valid region")
        accepted(*part(name, *shapes), arch="a5")


@pytest.mark.parametrize("name", PARTS)
def test_min_and_max_want_one_physical_shape(name: str) -> None:
    lines = part(name, "32x32xf32", "32x32xf32", "16x32xf32")
    for arch in ("a3", "a5"):
        if name in ("tpartmin", "tpartmax"):
            rejected(*lines, arch=arch, reason="one shape")
        else:
            accepted(*lines, arch=arch)


@pytest.mark.parametrize("name", ["tpartargmax", "tpartargmin"])
def test_the_arg_forms_are_no_text(name: str) -> None:
    rejected(*part(name, *["32x32xf32"] * 3), reason="no operation")


# Flags


@pytest.mark.parametrize(
    "line",
    [
        *(f"pto.set_flag[<PIPE_MTE2>, <PIPE_V>, <EVENT_ID{number}>]" for number in (0, 7)),
        "pto.wait_flag[<PIPE_V>, <PIPE_MTE3>, <EVENT_ID0>]",
        "pto.barrier <PIPE_ALL>",
        "pto.barrier <PIPE_V>",
        *(
            f"pto.{verb}_event[#pto.sync_op_type<TLOAD>, #pto.sync_op_type<TVEC>, #pto.event<EVENT_ID0>]"
            for verb in ("record", "wait")
        ),
    ],
)
def test_order(line: str) -> None:
    accepted(line)


@pytest.mark.parametrize(
    "line",
    [
        "pto.set_flag[<PIPE_MTE2>, <PIPE_V>, <EVENT_ID9>]",
        "pto.wait_flag[<PIPE_MTE2>, <PIPE_W>, <EVENT_ID0>]",
        "pto.record_event[#pto.pipe_event_type<EVENT_LOAD_FROM_GM>, #pto.sync_op_type<TVEC>, #pto.event<EVENT_ID0>]",
        "pto.set_flag <PIPE_MTE2>, <PIPE_V>, <EVENT_ID0>",
    ],
)
def test_order_that_is_rejected(line: str) -> None:
    rejected(line)


# Capacity, which the assembler plans at level 2


@pytest.mark.parametrize(("more", "arch", "fits"), [(0, "a3", True), (32, "a3", False), (32, "a5", True)])
def test_three_tiles_of_192_kib(more: int, arch: str, fits: bool) -> None:
    cols = 12288
    wide = f"!pto.tile_buf<vec, 1x{2 * cols + more // 4}xf32, valid=1x{2 * cols}>"
    lines = sort(f"!pto.tile_buf<vec, 1x{cols}xf32>", f"!pto.tile_buf<vec, 1x{cols}xui32>", wide)
    if fits:
        accepted(*lines, arch=arch)
    else:
        rejected(*lines, arch=arch, reason="requires 1573120 bits while 1572864 bits")


def test_tiles_that_are_not_used_together_may_exceed_ub() -> None:
    kind = "!pto.tile_buf<vec, 1x12288xf32>"
    lines = [line for number in range(5) for line in (tile(f"x{number}", kind), _part_of(f"x{number}", kind))]
    accepted(*lines)


def _part_of(name: str, kind: str) -> str:
    return f"pto.tpartadd ins(%{name}, %{name} : {kind}, {kind}) outs(%{name} : {kind})"


# What the assembler leaves to the author


def test_what_is_wrong_and_accepted() -> None:
    accepted(*sort(dst="!pto.tile_buf<vec, 1x32xf32>"))  # dst too small
    accepted(*tiles(x=TAIL, k=IDX, y=WIDE), f"pto.tsort32 ins(%x, %k : {TAIL}, {IDX}) outs(%y : {WIDE})")  # no tmp
    short = "!pto.tile_buf<vec, 1x8xf32>"
    lines = tiles(x=TAIL, k=IDX, s=short, y=WIDE)
    accepted(*lines, f"pto.tsort32 ins(%x, %k, %s : {TAIL}, {IDX}, {short}) outs(%y : {WIDE})")  # a short tmp
    accepted("pto.wait_flag[<PIPE_V>, <PIPE_MTE3>, <EVENT_ID3>]")  # nobody sets it
    placed = (f"%{name} = pto.alloc_tile addr = %a{at} : {F32}" for name, at in (("x", 0), ("y", 128), ("z", 300000)))
    accepted(*placed, level=3)  # they overlap and leave UB


# Names


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        ((tile("x", F32), tile("x", F32)), "redefinition"),
        ((f"pto.tpartadd ins(%x, %x : {F32}, {F32}) outs(%x : {F32})",), "undeclared"),
        ((tile("x", F32), _part_of("x", TMP)), "used as"),
        (("scf.for %r = %i0 to %i2 step %i1 {", tile("x", F32), "}", _part_of("x", F32)), "undeclared"),
        (("pto.tfrob",), "no operation"),
        (("pto.barrier <PIPE_ALL>", "}"), "no operation"),
    ],
)
def test_names_and_structure(lines: tuple[str, ...], reason: str) -> None:
    rejected(*lines, reason=reason)
