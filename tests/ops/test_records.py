"""The catalogue as a whole: which instructions it has, and what every record keeps to."""

from __future__ import annotations

import re
import subprocess
from itertools import combinations, product

import pytest

from ptogen.backend import compile
from ptogen.dtypes import FLOAT32, INT32
from ptogen.ops import catalogue, instructions
from ptogen.ops.attributes import Call
from ptogen.ops.base import Op
from ptogen.ops.move import TLOAD, TSTORE, GlobalTensor, moved
from ptogen.ops.record import Form, Record, slots
from ptogen.ops.sizing import Role
from ptogen.platforms import PLATFORMS, Pipe
from ptogen.sanitize.recorder import names
from ptogen.tiles import Layout, Region, TileType

CUBE = "of the cube unit: its tiles stand outside UB"
QUEUE = "of a queue between cores: its tiles have no address of their own"
UNKNOWN = {
    **dict.fromkeys(("TMATMUL", "TMATMUL_ACC", "TMATMUL_BIAS", "TMATMUL_MX"), CUBE),
    **dict.fromkeys(("TGEMV", "TGEMV_ACC", "TGEMV_BIAS", "TGEMV_MX"), CUBE),
    **dict.fromkeys(("SETFMATRIX", "SET_IMG2COL_PADDING", "SET_IMG2COL_RPT", "TIMG2COL", "TGET_SCALE_ADDR"), CUBE),
    **dict.fromkeys(
        ("TEXTRACT_FP", "TINSERT_FP", "TMOV_FP", "TSTORE_FP", "SET_QUANT_SCALAR", "SET_QUANT_VECTOR"), CUBE
    ),
    **dict.fromkeys(("TALLOC", "TPUSH", "TPOP", "TFREE"), QUEUE),
    "TPREFETCH_ASYNC": "of GM only",
}
"""Instructions without a record, each with the reason."""

FAMILIES = sorted({platform.family for platform in PLATFORMS.values()})

RECORDS = list(instructions().values())

every_record = pytest.mark.parametrize("record", RECORDS, ids=lambda record: record.instruction)


def tiles(form: Form, layout: Layout = Layout.ROW_MAJOR) -> dict[str, TileType]:
    return {name: TileType(FLOAT32, 8, 64, 8, 60, layout=layout) for name in form.names}


def test_every_instruction_of_the_headers_has_a_record_or_a_reason(headers):
    declared = set(names(headers.include))
    assert sorted(declared - instructions().keys() - UNKNOWN.keys()) == []
    assert sorted(instructions().keys() & UNKNOWN.keys()) == []


def test_ops_are_records_of_the_same_catalogue():
    assert len(catalogue()) == 8
    assert all(instructions()[op.instruction] is op for op in catalogue().values())
    assert {record.instruction for record in RECORDS if isinstance(record, Op)} == {
        op.instruction for op in catalogue().values()
    }


def test_each_record_stands_in_one_file():
    from importlib import import_module
    from pkgutil import iter_modules

    from ptogen import ops

    modules = [import_module(f"ptogen.ops.{module.name}") for module in iter_modules(ops.__path__)]
    found = [record.instruction for module in modules for record in getattr(module, "RECORDS", ())]
    assert len(found) == len(set(found)) == len(RECORDS)


@every_record
def test_forms_are_told_apart(record):
    for one, two in combinations(record.forms, 2):
        assert len(one.slots) != len(two.slots) or one.takes or two.takes
        assert set(one.names) != set(two.names)
    assert all(len(set(form.names)) == len(form.slots) for form in record.forms)


@every_record
def test_a_slot_has_one_role_in_all_forms(record):
    for slot in {slot.name for form in record.forms for slot in form.slots}:
        assert {one.role for form in record.forms for one in form.slots if one.name == slot} == {record.role(slot)}


@every_record
def test_flags_are_such_that_a_kernel_could_set_them(record):
    least = min(platform.event_ids for platform in PLATFORMS.values())
    for form in record.forms:
        assert {*form.events, *form.handshakes, *form.scratch, *form.buffered} <= set(FAMILIES)
        for events in (*form.events.values(), *form.handshakes.values()):
            assert all(one is not two and 0 <= number < least for one, two, number in events.flags)
        for family, events in form.handshakes.items():
            assert set(events.flags) <= set(form.events[family].flags)
        for family, scratch in form.scratch.items():
            room = min(row.ub_bytes for row in PLATFORMS.values() if row.family == family)
            assert 0 <= scratch.start < scratch.end <= room


@every_record
def test_a_form_touches_its_tiles_and_no_more(record):
    for form, family, layout in product(record.forms, FAMILIES, Layout):
        args = tiles(form, layout)
        effects = form.effects(family, args, {})
        assert effects.pipe is form.pipe
        for slot in form.slots:
            touched = [access for access in effects.accesses if access.operand == slot.name]
            assert all(0 <= one.region.start and one.region.end <= args[slot.name].bytes for one in touched)
            both = slot.role is Role.TMP
            assert {one.writes for one in touched} == {
                writes for writes, does in ((False, slot.role.reads), (True, slot.role.writes)) if does or both
            }
            assert not (layout.fractal and any(one.sure for one in touched))
        assert {access.operand for access in effects.accesses} <= set(form.names)


def test_a_form_can_be_told_by_what_else_a_call_passes():
    def has_number(call: Call) -> bool:
        return bool(call.scalars)

    record = Record("TX", forms=(Form(slots("dst+ index"), takes=has_number), Form(slots("dst+ src"))))
    assert record.called(2, Call((1,))).names == ("dst", "index")
    assert record.called(2, Call()).names == ("dst", "src")
    assert record.called(3, Call()) is None


@pytest.mark.parametrize(
    ("name", "call", "expected"),
    [
        ("TMRGSORT", Call((64,)), {"block_len": 64, "exhausted": False}),
        ("TMRGSORT", Call((None,), (1,)), {"block_len": 0, "exhausted": True}),
        ("SetValue", Call((3, None)), {"offset": 3}),
        ("SetValue", Call((1, 2, None)), {}),
        ("GetValue", Call((3,)), {"offset": 3}),
        ("GetValue", Call((1, 2)), {}),
        ("TADDS", Call((3,)), {}),
    ],
)
def test_attributes_of_a_call(name, call, expected):
    assert instructions()[name].read(call) == expected


def test_set_value_writes_one_element():
    record = instructions()["SetValue"]
    args = {"tile": TileType(INT32, 2, 8, 2, 8, layout=Layout.COL_MAJOR)}
    (access,) = record.effects("a2a3", args, {"offset": 5}).accesses
    assert (access.region, access.writes, access.sure) == (Region(20, 4), True, True)
    (access,) = record.effects("a2a3", args, {}).accesses
    assert (access.region, access.writes, access.sure) == (Region(0, 64), True, False)


def test_a_row_expansion_has_a_scratch_of_its_own_where_its_column_is_one():
    form = instructions()["TROWEXPANDMUL"].form(("dst", "src0", "src1"))
    args = tiles(form)
    assert form.effects("a2a3", args, {}).scratch == ()
    args["src1"] = TileType(FLOAT32, 8, 1, 8, 1, layout=Layout.COL_MAJOR)
    assert form.effects("a2a3", args, {}).scratch == ((188_416, 196_608),)
    assert form.effects("a5", args, {}).scratch == ()


TALL = TileType(FLOAT32, 16, 3, 13, 3, layout=Layout.COL_MAJOR)
"""13 of 16 rows, in columns of 64 bytes."""


def test_a_column_major_load_moves_columns():
    gm = GlobalTensor((1, 1, 1, 13, 3), (0, 0, 0, 1, 20), Layout.COL_MAJOR)
    does = moved(TLOAD, "a2a3", TALL, gm)
    assert does.effects.pipe is Pipe.MTE2
    assert [(one.region, one.defined) for one in does.effects.accesses] == [
        (Region(0, 52, 3, 64), True),
        (Region(52, 12, 3, 64), False),
    ]
    assert (does.gm, does.sure) == ((Region(0, 52, 3, 80),), True)


def test_lines_of_another_length_go_astray_on_a2a3():
    gm = GlobalTensor((1, 1, 1, 12, 3), (0, 0, 0, 1, 20), Layout.COL_MAJOR)
    does = moved(TSTORE, "a2a3", TALL, gm)
    assert does.gm == (Region(0, 52, 3, 84),)
    (defect,) = does.effects.defects
    assert defect == (
        "TSTORE moves lines of 13 elements, the tensor's have 12: the second line starts at element 21 of GM, not at 20"
    )
    assert moved(TSTORE, "a5", TALL, gm).gm == (Region(0, 52, 3, 80),)


def test_a_tile_and_a_tensor_of_two_layouts_move_as_a_whole():
    gm = GlobalTensor((1, 1, 1, 13, 3), (0, 0, 0, 3, 1), Layout.ROW_MAJOR)
    does = moved(TSTORE, "a2a3", TALL, gm)
    assert (does.gm, does.sure) == ((), False)
    assert [one.region for one in does.effects.accesses] == [TALL.valid]


def test_since_is_what_the_pinned_headers_show(headers, toolchain, tmp_path):
    """Files by a look, and the functions of the simulator by one program that names each on a line of its own."""
    rows = [row for record in RECORDS for row in record.since if not isinstance(record, Op)]
    assert len({row.subject for row in rows}) == len(rows) > 40
    files = [row for row in rows if row.header]
    wrong = [row for row in files if (headers.include / row.header).is_file() is not (row.snapshot == "pinned")]
    assert wrong == []
    asked = [row for row in rows if row.probe and not row.header]
    source = tmp_path / "since.cpp"
    lines = [f"bool answer{number} = {row.probe};" for number, row in enumerate(asked, 2)]
    source.write_text("\n".join(["#include <pto/pto-inst.hpp>", *lines]), encoding="utf-8")
    compiler = toolchain.compiler
    options = [compiler.standard, *compile.PREINCLUDES, "-D__CPU_SIM", "-w", "-fsyntax-only"]
    options += compile.include_options(compiler, headers.include)
    run = subprocess.run([*compiler.command, *options, str(source)], capture_output=True, text=True, errors="replace")
    refused = {int(line) for line in re.findall(r"since\.cpp:(\d+):\d+: error", run.stderr)}
    assert refused == {number for number, row in enumerate(asked, 2) if row.snapshot != "pinned"}
