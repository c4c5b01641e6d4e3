"""The TPART family as PTO assembly."""

from __future__ import annotations

import pytest
from assembled import check, prepared, text_of

from ptogen.errors import PtogenError

SHAPES = [
    ([16, 32], [16, 32], [16, 32]),
    ([16, 32], [16, 32], [7, 32]),
    ([16, 40], [16, 9], [16, 40]),
    ([5, 7], [3, 4], [5, 7]),
    ([3, 200], [3, 200], [2, 65]),
    ([1, 2], [1, 2], [0, 2]),
]
DTYPES = {"a2a3": ("float32", "float16", "int32", "int16")}
DTYPES["a5"] = (*DTYPES["a2a3"], "bfloat16", "int8", "uint8", "uint16", "uint32")


def cases(dtype: str) -> list[dict]:
    return [{"dtype": dtype, **dict(zip(("dst", "src0", "src1"), shapes, strict=True))} for shapes in SHAPES]


@pytest.mark.parametrize("level", [2, 3])
@pytest.mark.parametrize("op", ["tpartmin", "tpartmax", "tpartadd", "tpartmul"])
@pytest.mark.parametrize("platform", ["a2a3", "a5"])
def test_every_region_and_dtype_is_read_back_as_planned(platform: str, op: str, level: int) -> None:
    for dtype in DTYPES[platform]:
        check(level, op=op, platform=platform, cases=cases(dtype))


@pytest.mark.parametrize("level", [2, 3])
@pytest.mark.parametrize("src1", [[0, 2], [1, 0], [0, 0]])
def test_an_empty_source_comes_with_operands(src1: list[int], level: int) -> None:
    text = check(level, op="tpartadd", dtype="float32", dst=[1, 2], src0=[1, 2], src1=src1)
    rows, cols = src1
    assert f"valid_row = %c{rows} valid_col = %c{cols} : !pto.tile_buf<vec, 1x8xf32, valid=?x?>" in text


@pytest.mark.parametrize(
    ("op", "platform", "dtype", "said"),
    [
        ("tpartmin", "a5", "int64", "has no int64 for tpartmin on a5; it has float32, float16, bfloat16"),
        ("tpartadd", "a5", "uint64", "has no uint64 for tpartadd"),
    ],
)
def test_dtypes_that_have_no_text(op: str, platform: str, dtype: str, said: str) -> None:
    suite, plans = prepared(op=op, platform=platform, cases=cases(dtype)[:1])
    with pytest.raises(PtogenError, match=f"PTG303: {plans[0].case}: PTO assembly {said}"):
        text_of(suite, plans)


@pytest.mark.parametrize("op", ["tpartargmax", "tpartargmin"])
def test_the_arg_forms_have_no_text(op: str) -> None:
    suite, plans = prepared(op=op, cases=[{**cases("float32")[0], "idx_dtype": "int32"}])
    with pytest.raises(PtogenError, match=f"PTG303: {plans[0].case}: PTO assembly has no text for {op}"):
        text_of(suite, plans)
