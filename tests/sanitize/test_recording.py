"""Steps of a recording that no small kernel can make on the simulator, as the checkers see them."""

from __future__ import annotations

import json

import pytest

from ptogen.check import check_trace
from ptogen.ops import instructions
from ptogen.platforms import PLATFORMS, Pipe
from ptogen.sanitize.reader import Reader
from ptogen.sanitize.recording import cores
from ptogen.sanitize.tiles import FRACTAL_Z_3D

A2A3 = PLATFORMS["a2a3"]
V, S, MTE2, MTE3 = 1, 0, 3, 4


def tile(at: int, cols: int = 64, rows: int = 1, dtype: str = "float32", **more):
    shape = {"r": rows, "c": cols, "vr": rows, "vc": cols, "row": 1, "box": 0, "id": at, **more}
    return {"k": "tile", "d": dtype, "s": 4, "loc": 0, "at": at, **shape}


def op(name: str, *args):
    return {"t": "op", "n": name, "v": [], "a": list(args), "pc": 1}


def put(one: int, two: int):
    return {"t": "set", "s": one, "d": two, "e": 0, "pc": 1}


def take(one: int, two: int):
    return {"t": "wait", "s": one, "d": two, "e": 0, "pc": 1}


def read(*lines, platform=A2A3):
    found, memory = cores(map(json.dumps, lines))
    return Reader(platform, instructions(), {}, memory).trace(found[0])


def codes(*lines, platform=A2A3) -> list[str]:
    run, notes = read(*lines, platform=platform)
    return sorted({finding.code for finding in (*check_trace(run, platform, declared=False), *notes)})


def gm(cols: int = 64):
    strides = {"lay": 0, "sh": [1, 1, 1, 1, cols], "st": [cols, cols, cols, cols, 1]}
    return {"k": "gm", "d": "float32", "s": 4, "at": 1 << 40, **strides}


def store(at: int):
    return op("TSTORE", gm(), tile(at))


@pytest.mark.parametrize(("scratch", "expected"), [((), ["PTG411"]), ((tile(0x1000),), [])])
def test_tci_is_scalar_unless_it_has_tmp(scratch, expected):
    start = {"k": "num", "v": 0}
    assert codes(op("TCI", tile(0), start, *scratch), put(V, MTE3), take(V, MTE3), store(0)) == expected


def test_tscatter_writes_all_of_dst():
    kernel = [op("TEXPANDS", tile(0x100)), {"t": "bar", "p": V, "pc": 1}, op("TSCATTER", tile(0), tile(0x100))]
    assert codes(*kernel, store(0)) == ["PTG411"]
    assert codes(*kernel, put(V, MTE3), take(V, MTE3), store(0)) == []


@pytest.mark.parametrize(("pad", "cols", "expected"), [(1, 63, []), (0, 63, ["PTG431"]), (1, 55, ["PTG431"])])
def test_a_load_writes_the_pad_value_up_to_the_next_block(pad, cols, expected):
    flags = [put(MTE2, MTE3), take(MTE2, MTE3)]
    assert codes(op("TLOAD", tile(0, vc=cols, pad=pad), gm(cols)), *flags, store(0)) == expected


def test_two_elements_in_a_byte_are_not_followed():
    packed = "6MXTypeILi1ELi2ELi1ELb1EE"
    memory = {"t": "gm", "at": 1 << 40, "bytes": 128}
    tensor = {**gm(), "d": packed}
    assert codes(memory, op("TLOAD", tile(0, dtype=packed), tensor), platform=PLATFORMS["a5"]) == []
    assert codes(memory, op("TLOAD", tile(0), gm()), platform=PLATFORMS["a5"]) == ["PTG405"]


def test_an_a5_packs_the_rows_that_tgather_takes_of_long_integers():
    """The store takes them at the pitch of the packed rows, not of the tile (pto-isa's tgather)."""
    flags = [put(V, MTE3), take(V, MTE3)]
    made = tile(0, 24, 2, "int64", s=8, vc=12)
    tensor = {**gm(), "s": 8, "sh": [1, 1, 1, 2, 12], "st": [24, 24, 24, 12, 1]}
    lines = [op("TGATHER", made, tile(0x1000, 24, 2, "int64", s=8)), *flags]
    lines.append(op("TSTORE", tensor, tile(0, 12, 2, "int64", s=8)))
    kernel = [op("TEXPANDS", tile(0x1000, 96)), *lines]
    assert codes(*kernel, platform=PLATFORMS["a5"]) == []
    assert codes(*kernel[:1], {"t": "bar", "p": V, "pc": 1}, *kernel[1:]) == ["PTG431"]


def test_an_intrinsic_of_the_device_is_named():
    _, (note,) = read(op("vector_dup"))
    assert (note.code, note.severity) == ("PTG442", "note")
    assert "vector_dup has no record" in note.message


@pytest.mark.parametrize(("layout", "expected"), [(FRACTAL_Z_3D, []), (12, ["PTG423"])])
def test_ttrans_to_fractal_z_3d_waits_for_mte3_itself(layout, expected):
    """Which is why the flag from V to MTE3 can be set again behind it (pto-isa's ttrans_3d)."""
    flag = [put(V, MTE3), take(V, MTE3)]
    trans = op("TTRANS", tile(0, lay=layout, box=1), tile(0x100, box=1), tile(0x200))
    assert codes(*flag, trans, *flag) == expected


@pytest.mark.parametrize(
    ("name", "tiles", "expected"),
    [
        ("TSHL", [tile(0), tile(256), tile(512)], "error"),
        ("TCMPS", [tile(0), tile(256), tile(512)], "error"),
        ("TCMPS", [tile(0), tile(256)], None),
        ("TGATHER", [tile(0), tile(256)], None),
        ("TCONCAT", [tile(0, 128), tile(512, vc=8), tile(1024)], None),
        ("TCONCAT", [tile(0, 128), tile(512, vc=7), tile(1024)], "error"),
        ("TDIVS", [tile(0), tile(256)], "warning"),
        ("TADD", [tile(0), tile(256), tile(512)], None),
    ],
)
def test_flags_inside_an_instruction_by_its_form(name, tiles, expected):
    run, _ = read(put(V, S), op(name, *tiles), take(V, S))
    found = [one.severity for one in check_trace(run, A2A3, declared=False) if one.code == "PTG424"]
    assert found == ([expected] if expected else [])


def test_flags_of_an_instruction_are_of_its_pipes():
    run, _ = read(op("TTRANS", tile(0, lay=FRACTAL_Z_3D, box=1), tile(0x100, box=1), tile(0x200)))
    assert [event.flag for event in run.events if event.flag] == [(Pipe.MTE3, Pipe.V, 0)] * 2
    assert [event.pipe for event in run.events] == [Pipe.V, Pipe.MTE3, Pipe.V]


@pytest.mark.parametrize(("name", "dtype", "expected"), [("TSUB", "int32", []), ("TSUB", "float32", ["PTG431"])])
def test_a_source_less_itself_is_zero_whatever_it_is(name, dtype, expected):
    """Of integers: NaN - NaN is NaN."""
    flags = [put(V, MTE3), take(V, MTE3)]
    assert codes(op(name, tile(0, dtype=dtype), *[tile(0x100, dtype=dtype)] * 2), *flags, store(0)) == expected


def test_scratch_is_what_the_slot_says_whatever_it_is_called():
    run, _ = read(op("MGATHER", tile(0), gm(), tile(0x100), tile(0x200)))
    assert run.events[0].scratch == ("scratch",)
