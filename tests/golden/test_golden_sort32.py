"""The TSORT32 golden against a second implementation that shares nothing with it, and against the document's words."""

from __future__ import annotations

import functools
import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ptogen.golden.sort32 import BLOCK, RECORDS, generate, sort32

VALUE_BYTES = {"float32": 4, "float16": 2}
KINDS = ("random", "ties", "sorted", "reversed", "extremes")


def number(bits: int, width: int) -> float:
    """The value of float bits, decoded by ``struct`` alone."""
    return struct.unpack("<f" if width == 4 else "<e", bits.to_bytes(width, "little"))[0]


def precedes(left: tuple[int, int], right: tuple[int, int], width: int) -> int:
    """The document: descending order by value; for equal values the smaller index takes precedence."""
    left_value, right_value = number(left[0], width), number(right[0], width)
    if left_value != right_value:
        return -1 if left_value > right_value else 1
    return (left[1] > right[1]) - (left[1] < right[1])


def by_hand(src: np.ndarray, idx: np.ndarray) -> bytes:
    """The records as bytes: pure Python, one record at a time."""
    width = src.dtype.itemsize
    text = b""
    for row in range(src.shape[0]):
        raw = src[row].tobytes()
        values = [int.from_bytes(raw[at : at + width], "little") for at in range(0, len(raw), width)]
        indices = [int(index) for index in idx[row if len(idx) > 1 else 0]]
        pairs = list(zip(values, indices, strict=True))
        for start in range(0, len(pairs), 32):
            key = functools.cmp_to_key(functools.partial(precedes, width=width))
            for bits, index in sorted(pairs[start : start + 32], key=key):
                text += bits.to_bytes(width, "little") + bytes(4 - width) + index.to_bytes(4, "little")
    return text


@st.composite
def tensors(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray]:
    dtype = draw(st.sampled_from(["float32", "float16"]))
    rows, cols = draw(st.integers(1, 3)), draw(st.integers(1, 70))
    element = st.floats(width=8 * VALUE_BYTES[dtype], allow_nan=False)
    if draw(st.booleans()):
        element = st.sampled_from([0.0, -0.0, 1.0, float("inf"), float("-inf")])
    values = draw(st.lists(element, min_size=rows * cols, max_size=rows * cols))
    idx_rows = draw(st.sampled_from([1, rows]))
    row = st.lists(st.integers(0, 2**32 - 1), min_size=cols, max_size=cols, unique=True)
    indices = [draw(row) for _ in range(idx_rows)]
    return np.array(values, np.dtype(dtype).newbyteorder("<")).reshape(rows, cols), np.array(indices, "<u4")


@settings(deadline=None, max_examples=150)
@given(tensors())
def test_agrees_with_a_sort_of_python_numbers(case: tuple[np.ndarray, np.ndarray]) -> None:
    src, idx = case
    assert sort32(src, idx).tobytes() == by_hand(src, idx)


@settings(deadline=None, max_examples=60)
@given(tensors())
def test_every_block_is_a_permutation_in_order(case: tuple[np.ndarray, np.ndarray]) -> None:
    src, idx = case
    bits = f"<u{src.dtype.itemsize}"
    records = sort32(src, idx)
    for row in range(src.shape[0]):
        row_idx = idx[row if len(idx) > 1 else 0]
        for start in range(0, src.shape[1], BLOCK):
            block = slice(start, start + BLOCK)
            before = sorted(zip(src[row, block].copy().view(bits).tolist(), row_idx[block].tolist(), strict=True))
            values, indices = records["value"][row, block], records["index"][row, block]
            after = zip(values.copy().view(bits).tolist(), indices.tolist(), strict=True)
            assert sorted(after) == before
            falls = values[:-1] > values[1:]
            ties = (values[:-1] == values[1:]) & (indices[:-1] < indices[1:])
            assert (falls | ties).all()


def test_float_record_is_value_then_index() -> None:
    records = sort32(np.array([[1.0, 2.0]], "<f4"), np.array([[7, 0x80000001]], "<u4"))
    assert records.tobytes() == bytes.fromhex("00000040 01000080 0000803f 07000000")


def test_half_record_is_value_zero_bytes_and_index() -> None:
    records = sort32(np.array([[1.0, 2.0]], "<f2"), np.array([[7, 31]], "<u4"))
    assert records.tobytes() == bytes.fromhex("0040 0000 1f000000 003c 0000 07000000")


def test_zeros_of_both_signs_tie_and_keep_their_sign() -> None:
    records = sort32(np.array([[0.0, -0.0, 0.0]], "<f4"), np.array([[9, 3, 5]], "<u4"))
    assert records.tobytes() == bytes.fromhex("00000080 03000000 00000000 05000000 00000000 09000000")


def test_indices_compare_as_unsigned_numbers() -> None:
    records = sort32(np.zeros((1, 3), "<f4"), np.array([[0x80000000, 0xFFFFFFFF, 0x7FFFFFFF]], "<u4"))
    assert records["index"].tolist() == [[0x7FFFFFFF, 0x80000000, 0xFFFFFFFF]]


def test_blocks_are_sorted_apart() -> None:
    src = np.arange(40, dtype="<f4").reshape(1, 40)
    idx = np.arange(40, dtype="<u4").reshape(1, 40)
    assert sort32(src, idx)["index"].tolist() == [[*range(31, -1, -1), *range(39, 31, -1)]]


def test_one_row_of_indices_serves_every_row() -> None:
    src = np.array([[1.0, 2.0], [4.0, 3.0]], "<f2")
    assert sort32(src, np.array([[10, 20]], "<u4"))["index"].tolist() == [[20, 10], [10, 20]]


def test_subnormals_are_not_flushed() -> None:
    src = np.array([[1, 3, 2]], "<u2").view("<f2")
    assert sort32(src, np.array([[0, 1, 2]], "<u4"))["index"].tolist() == [[1, 2, 0]]


def whole(dtype: str, rows: int, cols: int, **more: object) -> dict[str, np.ndarray]:
    params = {"valid": (rows, cols), "idx": "per_row", "data": "random", "seed": 0, **more}
    return generate(dtype=dtype, rows=rows, cols=cols, **params)


@pytest.mark.parametrize("dtype", RECORDS)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("idx", ["per_row", "broadcast"])
@pytest.mark.parametrize("shape", [(1, 1), (2, 13), (4, 64), (3, 100)])
def test_shapes_types_and_golden_of_generated_data(dtype: str, kind: str, idx: str, shape: tuple[int, int]) -> None:
    rows, cols = shape
    valid = (max(1, rows - 1), max(1, cols - 5))
    data = whole(dtype, rows, cols, valid=valid, idx=idx, data=kind, seed=3)
    assert list(data) == ["src", "idx", "dst"]
    assert data["src"].shape == shape and data["src"].dtype == np.dtype(dtype)
    assert data["idx"].shape == (1 if idx == "broadcast" else rows, cols) and data["idx"].dtype == np.uint32
    assert data["dst"].shape == valid and data["dst"].dtype.itemsize == 8
    assert not np.isnan(data["src"]).any()
    valid_src, valid_idx = data["src"][: valid[0], : valid[1]], data["idx"][: valid[0], : valid[1]]
    assert data["dst"].tobytes() == by_hand(valid_src, valid_idx)
