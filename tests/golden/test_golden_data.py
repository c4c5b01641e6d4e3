"""What the generators promise."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest

from ptogen.golden.data import extreme_floats, float_values, large_floats, random_bits, shuffled_indices
from ptogen.golden.sort32 import generate

KINDS = ("random", "ties", "sorted", "reversed", "extremes")
DTYPES = ("float32", "float16")


def whole(dtype: str, rows: int, cols: int, **more: object) -> dict[str, np.ndarray]:
    params = {"valid": (rows, cols), "idx": "per_row", "data": "random", "seed": 0, **more}
    return generate(dtype=dtype, rows=rows, cols=cols, **params)


def test_random_bits_are_splitmix64() -> None:
    """The published first outputs of SplitMix64 with state 0."""
    first = [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F, 0xF88BB8A8724C81EC]
    assert random_bits(0, 0, 2, 2).reshape(-1).tolist() == first


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kind", KINDS)
def test_same_seed_same_bytes_other_seed_other_bytes(dtype: str, kind: str) -> None:
    first, again, other = (whole(dtype, 3, 40, data=kind, seed=seed) for seed in (7, 7, 8))
    for name, array in first.items():
        assert array.tobytes() == again[name].tobytes()
        assert array.tobytes() != other[name].tobytes()


def test_bytes_are_fixed_for_good() -> None:
    """The same with every NumPy. A change here changes the data of every rendered suite: it must be meant."""
    digest = hashlib.sha256()
    for dtype in DTYPES:
        for kind in KINDS:
            for array in whole(dtype, 3, 77, valid=(2, 70), data=kind, seed=5).values():
                digest.update(array.tobytes())
    assert digest.hexdigest() == "264e09a302de62ac3d2494de03e921527113f7b6644017fc69b3ddbbf0d255dc"


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kind", KINDS)
def test_no_kind_is_degenerate(dtype: str, kind: str) -> None:
    data = whole(dtype, 2, 64, data=kind)
    bits = data["src"].view(f"u{data['src'].itemsize}")
    assert all(len(set(row)) >= 4 for row in bits.tolist())
    assert bits[0].tolist() != bits[1].tolist()


@pytest.mark.parametrize("dtype", DTYPES)
def test_random_values_have_both_signs_and_many_magnitudes(dtype: str) -> None:
    values = float_values("random", dtype, 4, 256, 0)
    assert 0.4 < np.mean(values < 0) < 0.6
    assert np.isfinite(values).all()
    assert len(np.unique(np.frexp(values)[1])) > 12


@pytest.mark.parametrize("dtype", DTYPES)
def test_ties_hold_zeros_of_both_signs(dtype: str) -> None:
    values = float_values("ties", dtype, 2, 64, 0)
    for row in values:
        assert len(np.unique(row)) <= 5
        zeros = row[row == 0]
        assert np.signbit(zeros).any() and not np.signbit(zeros).all()


@pytest.mark.parametrize("dtype", DTYPES)
def test_sorted_rises_and_reversed_falls_along_a_row(dtype: str) -> None:
    assert (np.diff(float_values("sorted", dtype, 3, 50, 1).astype("f8"), axis=1) >= 0).all()
    assert (np.diff(float_values("reversed", dtype, 3, 50, 1).astype("f8"), axis=1) <= 0).all()


def test_extreme_values_of_half() -> None:
    expected = {0x7C00, 0x7BFF, 0x3C00, 0x0400, 0x03FF, 0x0001, 0x0000}
    assert set(extreme_floats(np.dtype("<f2")).view("<u2").tolist()) == expected | {bits | 0x8000 for bits in expected}


def test_extreme_values_of_float() -> None:
    expected = {0x7F800000, 0x7F7FFFFF, 0x3F800000, 0x00800000, 0x007FFFFF, 0x00000001, 0x00000000}
    negative = {bits | 0x80000000 for bits in expected}
    assert set(extreme_floats(np.dtype("<f4")).view("<u4").tolist()) == expected | negative


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("seed", range(5))
def test_extremes_hold_every_value_in_each_row_but_no_minus_infinity_beside_padding(dtype: str, seed: int) -> None:
    valid_cols = 77
    src = whole(dtype, 3, 90, valid=(2, valid_cols), data="extremes", seed=seed)["src"]
    bits = f"u{src.itemsize}"
    for row in src[:2, :64]:
        assert set(extreme_floats(src.dtype).view(bits).tolist()) <= set(row.view(bits).tolist())
    assert (src[:2, :64] == -np.inf).any()
    assert not (src[:2, 64:valid_cols] == -np.inf).any()


@pytest.mark.parametrize("dtype", DTYPES)
def test_complete_blocks_may_end_in_minus_infinity(dtype: str) -> None:
    assert any((whole(dtype, 1, 64, data="extremes", seed=seed)["src"][:, 32:] == -np.inf).any() for seed in range(5))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kind", ["random", "ties", "sorted", "reversed"])
def test_values_outside_the_valid_region_would_lead_every_sort(dtype: str, kind: str) -> None:
    src = whole(dtype, 4, 64, valid=(3, 50), data=kind)["src"]
    outside = np.ones(src.shape, bool)
    outside[:3, :50] = False
    assert np.isfinite(src).all()
    assert src[outside].min() > 0.8 * np.finfo(src.dtype).max
    assert src[outside].min() > src[:3, :50].max()
    assert len(np.unique(src[outside])) > 4


def test_large_values_differ() -> None:
    assert len(np.unique(large_floats("float32", 1, 32, 0))) == 32


@pytest.mark.parametrize("cols", [1, 2, 13, 32, 100, 8192])
@pytest.mark.parametrize("rows", [1, 2, 5])
def test_indices(rows: int, cols: int) -> None:
    indices = shuffled_indices(rows, cols, 0)
    assert indices.dtype == np.uint32 and indices.shape == (rows, cols)
    for row in indices:
        assert len(set(row.tolist())) == cols
    assert len({row.tobytes() for row in indices}) == rows
    assert (indices > 2**31 - 1).any()
    if cols >= 3:
        for row in indices:
            assert (row > 2**31).any() and ((row > 2**24) & (row < 2**31)).any() and (row < 2**24).any()
    if cols >= 13:
        assert (np.diff(indices.astype("i8"), axis=1) < 0).any() and (np.diff(indices.astype("i8"), axis=1) > 0).any()


def test_some_indices_do_not_survive_a_conversion_to_float32() -> None:
    indices = shuffled_indices(1, 32, 0)
    assert (indices.astype("f4").astype("f8") != indices.astype("f8")).any()
