"""The TMRGSORT golden against a merge of Python numbers that shares nothing with it, and the document's words."""

from __future__ import annotations

import base64
import heapq
import io
import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ptogen.golden.data import RECORDS
from ptogen.golden.mrgsort import generate, merge, sorted_lists, until_exhausted

KINDS = ("random", "ties", "sorted", "reversed", "extremes")
RECORD = 8


def cut(raw: bytes) -> list[bytes]:
    return [raw[at : at + RECORD] for at in range(0, len(raw), RECORD)]


def value(record: bytes, dtype: str) -> float:
    """The value of a record, decoded by ``struct`` alone."""
    return struct.unpack("<f" if dtype == "float32" else "<e", record[: 4 if dtype == "float32" else 2])[0]


def merged_by_hand(lists: list[list[bytes]], dtype: str, exhausted: bool) -> tuple[list[bytes], list[int]]:
    """The records in order and how many are of each list: always the largest head, of equal ones the lower list's."""
    counts = [0] * len(lists)
    out: list[bytes] = []
    while any(count < len(one) for count, one in zip(counts, lists, strict=True)):
        heads = [
            (-value(one[count], dtype), number)
            for number, (count, one) in enumerate(zip(counts, lists, strict=True))
            if count < len(one)
        ]
        _, number = min(heads)
        out.append(lists[number][counts[number]])
        counts[number] += 1
        if exhausted and counts[number] == len(lists[number]):
            break
    return out, counts


@st.composite
def cases(draw: st.DrawFn) -> tuple[str, list[np.ndarray]]:
    dtype = draw(st.sampled_from(list(RECORDS)))
    lengths = draw(st.lists(st.integers(1, 12), min_size=2, max_size=4))
    total = sum(lengths)
    element = st.floats(width=32 if dtype == "float32" else 16, allow_nan=False)
    if draw(st.booleans()):
        element = st.sampled_from([0.0, -0.0, 1.0, float("inf"), float("-inf")])
    values = np.array(draw(st.lists(element, min_size=total, max_size=total)), dtype)
    indices = np.array(draw(st.lists(st.integers(0, 2**32 - 1), min_size=total, max_size=total, unique=True)), "<u4")
    return dtype, sorted_lists(values, indices, lengths)


@settings(deadline=None, max_examples=200)
@given(cases())
def test_agrees_with_a_merge_of_python_numbers(case: tuple[str, list[np.ndarray]]) -> None:
    dtype, lists = case
    records, number = merge(lists)
    raw = [cut(one.tobytes()) for one in lists]
    assert (cut(records.tobytes()), [len(one) for one in raw]) == merged_by_hand(raw, dtype, exhausted=False)
    defined = until_exhausted(number)
    counts = np.bincount(number[:defined], minlength=len(lists)).tolist()
    assert (cut(records[:defined].tobytes()), counts) == merged_by_hand(raw, dtype, exhausted=True)


@settings(deadline=None, max_examples=100)
@given(cases())
def test_agrees_with_the_merge_of_the_standard_library(case: tuple[str, list[np.ndarray]]) -> None:
    dtype, lists = case
    keyed = ([(-value(record, dtype), number) for record in cut(one.tobytes())] for number, one in enumerate(lists))
    records, number = merge(lists)
    assert [(-value(record, dtype), own) for record, own in zip(cut(records.tobytes()), number, strict=True)] == list(
        heapq.merge(*keyed)
    )


@settings(deadline=None, max_examples=100)
@given(cases())
def test_lists_are_sorted_and_keep_their_records(case: tuple[str, list[np.ndarray]]) -> None:
    for one in case[1]:
        assert (one["value"][:-1] >= one["value"][1:]).all()
        assert len(set(one["index"].tolist())) == len(one)


def made(**fields) -> dict[str, np.ndarray]:
    params = {
        "dtype": "float32",
        "variant": "multi",
        "repeats": 1,
        "exhausted": False,
        "data": "random",
        "seed": 0,
        **fields,
    }
    return generate(**params)


@pytest.mark.parametrize("dtype", RECORDS)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("exhausted", [False, True])
@pytest.mark.parametrize("lengths", [[1, 1], [1, 100], [33, 2, 70], [5, 4, 3, 2]])
def test_multi(dtype: str, kind: str, exhausted: bool, lengths: list[int]) -> None:
    data = made(dtype=dtype, lists=lengths, data=kind, exhausted=exhausted, seed=7)
    names = [f"src{number}" for number in range(len(lengths))]
    assert list(data) == [*names, "dst", *(["counts", "mask_dst"] if exhausted else [])]
    assert [data[name].nbytes for name in names] == [8 * length for length in lengths]
    lists = [cut(data[name].tobytes()) for name in names]
    golden, counts = merged_by_hand(lists, dtype, exhausted)
    dst = cut(data["dst"].tobytes())
    assert len(dst) == sum(lengths) and dst[: len(golden)] == golden
    if exhausted:
        assert data["counts"].dtype == np.uint32 and data["counts"].tolist() == counts
        mask = data["mask_dst"]
        assert (mask.dtype, mask.size, mask.sum()) == (np.uint8, 8 * sum(lengths), 8 * len(golden))
        assert mask[: 8 * len(golden)].all()
    else:
        assert len(golden) == len(dst)


@pytest.mark.parametrize("dtype", RECORDS)
@pytest.mark.parametrize("kind", KINDS)
def test_single_merges_each_group_of_four_blocks(dtype: str, kind: str) -> None:
    data = made(dtype=dtype, variant="single", lists=[16] * 4, repeats=3, data=kind)
    assert list(data) == ["src", "dst"]
    src, dst = cut(data["src"].tobytes()), cut(data["dst"].tobytes())
    expected = []
    for group in range(3):
        blocks = [src[start : start + 16] for start in range(group * 64, group * 64 + 64, 16)]
        for block in blocks:
            assert [value(record, dtype) for record in block] == sorted(
                (value(record, dtype) for record in block), reverse=True
            )
        expected += merged_by_hand(blocks, dtype, exhausted=False)[0]
    assert dst == expected


def test_indices_are_unique_shuffled_and_large() -> None:
    data = made(lists=[50, 3, 50])
    indices = np.concatenate([data[f"src{number}"]["index"] for number in range(3)])
    assert len(set(indices.tolist())) == 103
    assert (indices > 2**31).any() and ((indices > 2**24) & (indices < 2**31)).any() and (indices < 2**24).any()
    assert (np.diff(indices.astype(np.int64)) < 0).any() and (np.diff(indices.astype(np.int64)) > 0).any()
    assert len(set(made(lists=[1, 1])["dst"]["index"].tolist())) == 2


def test_kinds_mean_what_they_say() -> None:
    ahead = made(lists=[4, 9, 3], data="sorted", exhausted=True)
    assert (
        ahead["src0"]["value"].min()
        >= ahead["src1"]["value"].max()
        >= ahead["src1"]["value"].min()
        >= ahead["src2"]["value"].max()
    )
    assert ahead["counts"].tolist() == [4, 0, 0]
    behind = made(lists=[4, 9, 3], data="reversed", exhausted=True)
    assert behind["counts"].tolist() == [0, 0, 3]
    ties = made(lists=[30, 30], data="ties")
    assert set(ties["src0"]["value"].tolist()) == set(ties["src1"]["value"].tolist())
    extremes = made(dtype="float16", lists=[30, 30], data="extremes")["dst"]["value"]
    assert np.isinf(extremes[[0, -1]]).all() and (extremes == 0).any() and not np.isnan(extremes).any()


def test_of_equal_values_the_lower_list_comes_first_and_zeros_are_equal() -> None:
    lists = sorted_lists(np.array([-0.0, 0.0, 0.0, -0.0], "<f4"), np.array([9, 8, 7, 6], "<u4"), [2, 2])
    records, number = merge(lists)
    assert records["index"].tolist() == [9, 8, 7, 6] and number.tolist() == [0, 0, 1, 1]
    assert np.signbit(records["value"]).tolist() == [True, False, False, True]


def test_the_merge_stops_at_the_record_that_empties_a_list() -> None:
    lists = sorted_lists(np.array([5, 3, 4, 2, 1], "<f4"), np.arange(5, dtype="<u4"), [2, 3])
    records, number = merge(lists)
    assert records["value"].tolist() == [5, 4, 3, 2, 1]
    assert until_exhausted(number) == 3


def test_a_half_record_is_value_zero_bytes_and_index() -> None:
    (one,) = sorted_lists(np.array([1.0, 2.0], "<f2"), np.array([7, 31], "<u4"), [2])
    assert one.tobytes() == bytes.fromhex("0040 0000 1f000000 003c 0000 07000000")


def test_values_of_a_file_are_cut_into_the_lists_and_sorted_there() -> None:
    buffer = io.BytesIO()
    np.save(buffer, np.array([[1, 2, 3, 4, 5]], "<f4"))
    data = made(lists=[2, 3], data="values", values=base64.b85encode(buffer.getvalue()).decode())
    assert data["src0"]["value"].tolist() == [2, 1] and data["src1"]["value"].tolist() == [5, 4, 3]
    assert data["dst"]["value"].tolist() == [5, 4, 3, 2, 1]


def test_the_seed_counts() -> None:
    first, again, other = (made(lists=[20, 20], seed=seed)["dst"].tobytes() for seed in (1, 1, 2))
    assert first == again != other
