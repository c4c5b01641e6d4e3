"""TMRGSORT as PTO assembly."""

from __future__ import annotations

import pytest
from assembled import check, prepared, text_of

from ptogen.errors import PtogenError


@pytest.mark.parametrize("level", [2, 3])
@pytest.mark.parametrize("platform", ["a2a3", "a5"])
@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_every_variant_is_read_back_as_planned(level: int, platform: str, dtype: str) -> None:
    single = [{"variant": "single", "cols": 4 * 64 * number, "block_len": 64} for number in (1, 3)]
    multi = [{"variant": "multi", "lists": lists} for lists in ([64, 64], [4, 68, 12], [8, 12, 20, 100])]
    cases = [{"dtype": dtype, **fields} for fields in (*single, *multi)]
    check(level, op="tmrgsort", platform=platform, cases=cases)


def test_the_block_length_and_the_lists_with_tmp_behind_them() -> None:
    lists = {"variant": "multi", "lists": [64, 64]}
    cases = [{"dtype": "float32", **fields} for fields in ({"variant": "single", "cols": 256, "block_len": 64}, lists)]
    text = check(3, op="tmrgsort", cases=cases)
    assert "pto.tmrgsort ins(%src, %block_len : !pto.tile_buf<vec, 1x256xf32>, i32) outs(%dst : " in text
    assert "pto.tmrgsort ins(%src0, %src1, %tmp {exhausted = false} : " in text
    assert ") outs(%dst, %executed : !pto.tile_buf<vec, 1x128xf32>, vector<4xi16>)" in text


def test_the_documents_form() -> None:
    suite, plans = prepared(1, op="tmrgsort", dtype="float32", variant="single", cols=256, block_len=64)
    tile = "!pto.tile<vec, f32, 1, 256, row_major, none_box, 512, 0>"
    assert f"%dst = pto.tmrgsort %src, %block_len : ({tile}, i32) -> {tile}" in text_of(suite, plans, 1)


def test_counts_cannot_be_stored() -> None:
    lists = {"variant": "multi", "lists": [64, 64], "exhausted": True}
    suite, plans = prepared(op="tmrgsort", dtype="float32", **lists)
    with pytest.raises(PtogenError, match="PTG303: case_.*: PTO assembly has no text that stores the consumed counts"):
        text_of(suite, plans)
