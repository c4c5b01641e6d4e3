"""Hand-written addresses of pto-isa's own tests that are known to be wrong, each with the severity that it deserves:
declared ranges collide, and nothing live is lost. (Tiles that no step uses: ``memory.cpp``, ``unused``.)"""

from __future__ import annotations

import json

import pytest

from ptogen.check.memcheck import memcheck
from ptogen.ops import instructions
from ptogen.platforms import PLATFORMS
from ptogen.sanitize.reader import Reader
from ptogen.sanitize.recording import cores

SIZES = {"float32": 4, "uint32": 4, "float16": 2}


def tile(at: int, rows: int, cols: int, valid: int | None = None, dtype: str = "float32"):
    shape = {"r": rows, "c": cols, "vr": rows, "vc": cols if valid is None else valid, "row": 1, "box": 0, "id": at}
    return {"k": "tile", "d": dtype, "s": SIZES[dtype], "loc": 0, "at": at, **shape}


def sort(*, dst: int, src: int, idx: int, tmp: int, rows: int, cols: int, valid: int, scratch: int, dtype="float32"):
    """TSORT32 of ``rows`` x ``valid`` in tiles of ``cols`` columns."""
    records = 2 * 4 // SIZES[dtype]
    tiles = [
        tile(dst, rows, records * cols, records * valid, dtype),
        tile(src, rows, cols, valid, dtype),
        tile(idx, rows, cols, cols, "uint32"),
        tile(tmp, 1, scratch, dtype=dtype),
    ]
    return {"t": "op", "n": "TSORT32", "v": [], "a": tiles, "pc": 1}


def merge(lists: list[int], cols: int):
    """TMRGSORT of lists that stand at once behind one another, in tiles of ``cols`` columns each."""
    starts = [4 * sum(lists[:place]) for place in range(len(lists) + 1)]
    total = sum(lists)
    tiles = [
        tile(starts[-1], 1, total),
        {"k": "other", "bytes": 8},
        tile(starts[-1] + 4 * total, 1, cols * len(lists)),
        *(tile(start, 1, cols, own) for start, own in zip(starts, lists, strict=False)),
    ]
    return {"t": "op", "n": "TMRGSORT", "v": [0], "a": tiles, "pc": 1}


def found(platform: str, line) -> set[tuple[str, str, tuple[str, ...]]]:
    recorded, memory = cores([json.dumps(line)])
    run, _ = Reader(PLATFORMS[platform], instructions(), {}, memory).trace(recorded[0])
    findings = memcheck(run, declared=False)
    return {(one.severity, one.code, tuple(range_.name for range_ in one.ranges)) for one in findings}


A5 = {"dst": 0x1F000, "src": 0, "idx": 0xF800, "tmp": 0x3E000}


@pytest.mark.parametrize(
    ("platform", "line", "expected"),
    [
        pytest.param(
            "a2a3",
            sort(dst=0x16000, src=0, idx=0x8000, tmp=0x20000, rows=1, cols=8192, valid=8192, scratch=8192),
            {("warning", "PTG403", ("dst", "tmp"))},
            id="a2a3 tsort32 case3: tmp inside dst, not touched for whole blocks",
        ),
        pytest.param(
            "a2a3",
            sort(dst=0x16000, src=0, idx=0x8000, tmp=0x20000, rows=2, cols=16, valid=13, scratch=16),
            {
                ("warning", "PTG404", ("dst",)),
                ("warning", "PTG404", ("tmp",)),
                ("note", "PTG404", ("idx",)),
                ("note", "PTG402", ()),
            },
            id="a2a3 tsort32 case4: tmp and dst too small",
        ),
        pytest.param(
            "a5",
            sort(**A5, rows=1, cols=8192, valid=8192, scratch=8192),
            {("warning", "PTG401", ("tmp",))},
            id="a5 tsort32 case3: tmp past UB",
        ),
        pytest.param(
            "a5",
            sort(**A5, rows=1, cols=8192, valid=4164, scratch=4168),
            {("warning", "PTG401", ("tmp",))},
            id="a5 tsort32 case5: tmp past UB",
        ),
        pytest.param(
            "a5",
            sort(**A5, rows=2, cols=3072, valid=2084, scratch=2088),
            {("warning", "PTG401", ("tmp",))},
            id="a5 tsort32 case6: tmp past UB",
        ),
        pytest.param(
            "cpu",
            sort(dst=0x800, src=0, idx=0x400, tmp=0xC00, rows=8, cols=32, valid=32, scratch=32),
            {("warning", "PTG403", ("dst", "tmp"))},
            id="cpu tsort32: tmp inside dst",
        ),
        pytest.param(
            "a2a3",
            merge([128, 128, 128, 64], 128),
            {("warning", "PTG403", ("dst", "src3"))},
            id="a2a3 tmrgsort multi3: dst on the declared end of the last list",
        ),
        pytest.param(
            "a5",
            merge([128, 128, 64], 128),
            {("warning", "PTG403", ("dst", "src2"))},
            id="a5 tmrgsort multi4: the same",
        ),
        pytest.param(
            "cpu",
            merge([128, 128, 64], 128),
            {("warning", "PTG403", ("dst", "src2"))},
            id="cpu tmrgsort multi4: the same",
        ),
    ],
)
def test_known_addresses(platform, line, expected):
    assert found(platform, line) == expected
