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
DTYPES["a5"] = (*DTYPES["a2a3"], "bfloat16", "int8")


def cases(dtype: str) -> list[dict]:
    return [{"dtype": dtype, **dict(zip(("dst", "src0", "src1"), shapes, strict=True))} for shapes in SHAPES]


@pytest.mark.parametrize("level", [2, 3])
@pytest.mark.parametrize("op", ["tpartmin", "tpartmax", "tpartadd", "tpartmul"])
@pytest.mark.parametrize("platform", ["a2a3", "a5"])
def test_every_region_and_dtype_is_read_back_as_planned(platform: str, op: str, level: int) -> None:
    for dtype in DTYPES[platform]:
        check(level, op=op, platform=platform, cases=cases(dtype))


@pytest.mark.parametrize(
    ("op", "platform", "dtype", "said"),
    [
        ("tpartmin", "a5", "uint8", "has no uint8 for tpartmin on a5; it has float32, float16, bfloat16"),
        ("tpartmin", "a5", "int64", "has no int64 for tpartmin on a5; it has float32"),
        ("tpartadd", "a5", "uint32", "has no uint32 for tpartadd"),
    ],
)
def test_dtypes_that_have_no_text(op: str, platform: str, dtype: str, said: str) -> None:
    suite, plans = prepared(op=op, platform=platform, cases=cases(dtype)[:1])
    with pytest.raises(PtogenError, match=f"PTG303: PTO assembly {said}"):
        text_of(suite, plans)


@pytest.mark.parametrize("op", ["tpartargmax", "tpartargmin"])
def test_the_arg_forms_have_no_text(op: str) -> None:
    suite, plans = prepared(op=op, cases=[{**cases("float32")[0], "idx_dtype": "int32"}])
    with pytest.raises(PtogenError, match=f"PTG303: PTO assembly has no text for {op}"):
        text_of(suite, plans)
