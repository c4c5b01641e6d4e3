"""Addresses: in a row while everything fits, shared by lifetime otherwise."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from programs import copy, load, store

from ptogen.dtypes import FLOAT32
from ptogen.errors import PtogenError
from ptogen.graph.model import Graph
from ptogen.ops import catalogue
from ptogen.plan import layout
from ptogen.plan.fit import planned
from ptogen.plan.model import Tile
from ptogen.platforms import PLATFORMS

TSORT32 = catalogue()["tsort32"]


def tile(name: str, size: int, align: int = 32) -> Tile:
    return Tile(FLOAT32, 1, size // 4, 1, size // 4, name, name, align, 0)


def test_tiles_stand_in_a_row_each_at_its_alignment():
    tiles = (tile("a", 96), tile("b", 128, align=128), tile("c", 512, align=256), tile("tmp", 64, align=64))
    placed = layout.place(tiles, dict.fromkeys(("a", "b", "c", "tmp"), (0, 3)), 4096, {})
    assert [one.offset for one in placed] == [0, 128, 256, 768]


def test_lifetimes_and_the_lower_bound():
    program = (load("a"), copy("b", "a"), copy("c", "b"), store("c"))
    lives = layout.lifetimes(program)
    assert lives == {"a": (0, 1), "b": (1, 2), "c": (2, 3)}
    tiles = (tile("a", 96), tile("b", 64), tile("c", 32))
    assert layout.live_bytes(tiles, lives) == 160


def test_tiles_that_do_not_fit_in_a_row_share_bytes_the_largest_first():
    program = (load("a"), copy("b", "a"), copy("c", "b"), store("c"))
    tiles = (tile("a", 64), tile("b", 64), tile("c", 96))
    placed = {one.name: one for one in layout.place(tiles, layout.lifetimes(program), 160, {})}
    assert placed["c"].offset == 0 and placed["a"].offset == 0 and placed["b"].offset == 96


def test_nothing_is_shared_while_everything_fits():
    program = (load("a"), copy("b", "a"), copy("c", "b"), store("c"))
    tiles = (tile("a", 64), tile("b", 64), tile("c", 96))
    assert [one.offset for one in layout.place(tiles, layout.lifetimes(program), 224, {})] == [0, 64, 128]


def test_pinned_tiles_stay_and_the_others_keep_clear_of_them():
    tiles = (tile("a", 64), tile("b", 64), tile("c", 64))
    placed = layout.place(tiles, dict.fromkeys("abc", (0, 2)), 4096, {"b": 32})
    assert [one.offset for one in placed] == [96, 32, 160]


SIZES = st.lists(
    st.tuples(st.integers(1, 8), st.integers(0, 5), st.integers(0, 5), st.sampled_from((32, 64, 256))),
    min_size=1,
    max_size=7,
)


@given(SIZES, st.integers(0, 1024))
def test_live_tiles_never_meet(drawn, capacity):
    tiles = [tile(f"t{number}", 32 * size, align) for number, (size, _, _, align) in enumerate(drawn)]
    lives = {f"t{number}": (min(one, two), max(one, two)) for number, (_, one, two, _) in enumerate(drawn)}
    placed = layout.place(tiles, lives, capacity, {})
    assert all(one.offset % one.align == 0 for one in placed)
    for one, two in combinations(placed, 2):
        together = lives[one.name][0] <= lives[two.name][1] and lives[two.name][0] <= lives[one.name][1]
        assert not together or one.end <= two.offset or two.end <= one.offset
    assert max(one.end for one in placed) >= layout.live_bytes(tiles, lives)


def overflow(platform: str, mode: str = "manual", **fields):
    case = TSORT32.Case(name="case", **fields)
    with pytest.raises(PtogenError) as caught:
        planned(Graph.of(TSORT32), case, PLATFORMS[platform], mode, PLATFORMS[platform].ub_bytes)
    return caught.value.diagnostics[0]


def test_overflow_names_the_bytes_of_each_tile_and_what_fits():
    fault = overflow("kirin9030", dtype="float32", rows=16, cols=2048)
    assert fault.code == "PTG301" and fault.message == "UB overflow: 524,288 B needed, 131,072 B on kirin9030"
    assert [line.split()[0] for line in fault.details] == ["src", "idx", "dst"]
    assert [line.split()[-2] for line in fault.details] == ["131,072", "131,072", "262,144"]
    assert (
        fault.hint
        == "at cols 2048 the largest rows is 4; at rows 16 the largest cols is 512; the nearest smaller shape is 4x2048"
    )


@pytest.mark.parametrize(
    ("platform", "fields"),
    [
        ("kirin9030", {"dtype": "float32", "rows": 16, "cols": 2048}),
        ("a2a3", {"dtype": "float32", "rows": 2, "cols": 8192}),
        ("a2a3", {"dtype": "float16", "rows": 3, "cols": 8159}),
        ("a5", {"dtype": "float32", "rows": 1, "cols": 16320}),
        ("a2a3", {"dtype": "float32", "rows": 700, "cols": 3}),
        ("a5", {"dtype": "float16", "rows": 9, "cols": 5000, "idx": "broadcast"}),
        ("a2a3", {"dtype": "float32", "rows": 5000, "cols": 30000}),
    ],
)
def test_what_the_hint_promises_fits_and_one_more_does_not(platform, fields):
    words = (overflow(platform, **fields).hint or "").replace(";", "").split()
    row = PLATFORMS[platform]

    def fits(rows: int, cols: int) -> bool:
        case = TSORT32.Case(name="case", **{**fields, "rows": rows, "cols": cols})
        try:
            planned(Graph.of(TSORT32), case, row, "manual", row.ub_bytes)
        except PtogenError:
            return False
        return True

    text = " ".join(words)
    if "largest rows" in text:
        rows = int(words[words.index("rows", words.index("largest")) + 2])
        assert fits(rows, fields["cols"]) and not fits(rows + 1, fields["cols"])
    if "largest cols" in text:
        cols = int(text.split("largest cols is ")[1].split()[0])
        assert fits(fields["rows"], cols)
        assert not any(fits(fields["rows"], cols + more) for more in range(1, 200) if cols + more <= fields["cols"])
    rows, cols = map(int, text.split("nearest smaller shape is ")[1].split("x"))
    assert fits(rows, cols)
