"""The TPART golden against a second implementation in plain Python numbers that shares nothing with it."""

from __future__ import annotations

import struct
import sys
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ptogen.golden import part_arg as args
from ptogen.golden.part import generate, numbers, part, storage

# Fraction bits and exponent bits.
FORMATS = {"float32": (23, 8), "float16": (10, 5), "bfloat16": (7, 8)}
INTEGERS = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
DTYPES = (*FORMATS, *INTEGERS)
KINDS = ("random", "ties", "sorted", "reversed", "extremes")


def bits_of(dtype: str) -> int:
    return sum(FORMATS[dtype]) + 1 if dtype in FORMATS else int(dtype.lstrip("uint"))


def decoded(bits: int, dtype: str) -> Fraction | float:
    """The number of float bits: exact, or an infinity or NaN as a Python float."""
    fraction_bits, exponent_bits = FORMATS[dtype]
    fraction, exponent = bits % 2**fraction_bits, bits >> fraction_bits & 2**exponent_bits - 1
    sign = -1 if bits >> fraction_bits + exponent_bits else 1
    if exponent == 2**exponent_bits - 1:
        return sign * float("inf") if fraction == 0 else float("nan")
    least = 2 - 2 ** (exponent_bits - 1) - fraction_bits
    if exponent:
        fraction, least = fraction + 2**fraction_bits, least + exponent - 1
    return sign * fraction * Fraction(2) ** least


def encoded(number: Fraction, negative: bool, dtype: str) -> int:
    """The bits of the nearest number, found by looking for it among all of them."""
    fraction_bits, exponent_bits = FORMATS[dtype]
    infinity = (2**exponent_bits - 1) << fraction_bits
    low, high = 0, infinity
    while high - low > 1:  # the largest bits whose number is not above; the infinity stands for 2 ** its exponent
        middle = (low + high) // 2
        low, high = (middle, high) if decoded(middle, dtype) <= abs(number) else (low, middle)
    above = decoded(high, dtype) if high < infinity else Fraction(2) ** 2 ** (exponent_bits - 1)
    under, over = abs(number) - decoded(low, dtype), above - abs(number)
    nearest = low if under < over or (under == over and low % 2 == 0) else high
    return nearest | (negative << fraction_bits + exponent_bits)


def by_hand(op: str, dtype: str, left: int, right: int) -> int | None:
    """The bits of one result of two operands as bits; None for a NaN."""
    width = bits_of(dtype)
    if dtype not in FORMATS:
        signed = dtype.startswith("int")
        one, two = (bits - 2**width if signed and bits >> width - 1 else bits for bits in (left, right))
        wanted = {"min": min(one, two), "max": max(one, two), "add": one + two, "mul": one * two}[op]
        return wanted % 2**width
    one, two = decoded(left, dtype), decoded(right, dtype)
    if op == "min":
        return right if two < one else left
    if op == "max":
        return right if two > one else left
    negative = [bool(bits >> width - 1) for bits in (left, right)]
    infinity = encoded(Fraction(2) ** 300, False, dtype)
    infinite = [abs(number) == float("inf") for number in (one, two)]
    if op == "mul":
        sign = negative[0] != negative[1]
        if any(infinite):
            return None if 0 in (one, two) else infinity | sign << width - 1
        return encoded(one * two, sign, dtype)
    if all(infinite):
        return None if negative[0] != negative[1] else left
    if any(infinite):
        return left if infinite[0] else right
    total = one + two
    return encoded(total, total < 0 or (total == 0 and all(negative)), dtype)


def as_bits(array: np.ndarray) -> list[int]:
    return array.view(f"<u{array.dtype.itemsize}").reshape(-1).tolist()


def from_bits(bits: list[int], dtype: str) -> np.ndarray:
    return np.array(bits, f"<u{bits_of(dtype) // 8}").view(storage(dtype)).reshape(1, -1)


@st.composite
def pairs(draw: st.DrawFn) -> tuple[str, list[tuple[int, int]]]:
    dtype = draw(st.sampled_from(DTYPES))
    width = bits_of(dtype)
    special = [0, 1, 2 ** (width - 1), 2 ** (width - 1) + 1, 2 ** (width - 1) - 1, 2**width - 1]
    if dtype in FORMATS:
        digits, exponent = FORMATS[dtype]
        infinity = (2**exponent - 1) << digits
        edges = (infinity, infinity - 1, 1 << digits, (1 << digits) - 1)
        special = [0, 2 ** (width - 1), 1, *edges, *(edge | 2 ** (width - 1) for edge in edges)]
    element = st.integers(0, 2**width - 1) | st.sampled_from(special)
    if dtype in FORMATS:
        element = element.filter(lambda bits: decoded(bits, dtype) == decoded(bits, dtype))
    return dtype, draw(st.lists(st.tuples(element, element), min_size=1, max_size=20))


@settings(deadline=None, max_examples=400)
@given(pairs())
def test_every_element_agrees_with_exact_arithmetic(drawn):
    dtype, elements = drawn
    left, right = (from_bits([pair[side] for pair in elements], dtype) for side in (0, 1))
    for op in ("min", "max", "add", "mul"):
        result = part(op, dtype, left.shape, left, right)
        wanted = [by_hand(op, dtype, one, two) for one, two in elements]
        found = [None if want is None else bits for want, bits in zip(wanted, as_bits(result), strict=True)]
        assert found == wanted, op
        for want, number in zip(wanted, numbers(dtype, result)[0], strict=True):
            assert want is not None or np.isnan(number)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("op", ["add", "mul"])
def test_narrow_floats_are_rounded_once_where_rounding_is_hardest(dtype, op):
    """Subnormals, and operands whose exponents are far apart: where a detour through another type would show."""
    digits, exponent = FORMATS[dtype]
    exponents = sorted({0, 1, 2, 2**exponent // 4, 2**exponent // 4 + 1, 2**exponent // 2 - 1, 2**exponent - 2})
    operands = [e << digits | f for e in exponents for f in (0, 1, 2 ** (digits - 1), 2**digits - 1)]
    pairs = [(one, two | sign << digits + exponent) for one, two, sign in product(operands, operands, (0, 1))]
    left, right = (from_bits([pair[side] for pair in pairs], dtype) for side in (0, 1))
    found = as_bits(part(op, dtype, left.shape, left, right))
    assert found == [by_hand(op, dtype, one, two) for one, two in pairs]


def test_the_second_implementation_knows_the_formats():
    for value in (0.0, 1.0, -1.5, 65504.0, 5.960464477539063e-08, 0.1, 3.0e38):
        single = struct.unpack("<I", struct.pack("<f", value))[0]
        assert decoded(single, "float32") == Fraction(struct.unpack("<f", struct.pack("<f", value))[0])
        assert encoded(Fraction(value), value < 0, "float32") == single
        if abs(value) < 65520:
            assert encoded(Fraction(value), value < 0, "float16") == struct.unpack("<H", struct.pack("<e", value))[0]
    assert encoded(Fraction(65520), False, "float16") == 0x7C00
    assert encoded(Fraction(0x1008000, 0x1000000), False, "bfloat16") == 0x3F80
    assert sys.float_info.mant_dig == 53


@st.composite
def regions(draw: st.DrawFn):
    rows, cols = draw(st.integers(0, 4)), draw(st.integers(0, 5))
    smaller = (draw(st.integers(0, rows)), draw(st.integers(0, cols)))
    sources = draw(st.permutations([(rows, cols), smaller]))
    return (rows, cols), *sources


@settings(deadline=None, max_examples=200)
@given(regions(), st.sampled_from(("min", "max", "add", "mul")), st.sampled_from(DTYPES), st.sampled_from(KINDS))
def test_what_one_source_has_alone_is_copied(shapes, op, dtype, kind):
    dst, src0, src1 = shapes
    data = generate(op=op, dtype=dtype, dst=dst, src0=src0, src1=src1, data=kind, seed=1)
    bits = {name: as_bits(array) for name, array in data.items()}
    assert {name: array.shape for name, array in data.items()} == {"src0": src0, "src1": src1, "dst": dst}

    def at(name: str, row: int, col: int) -> int | None:
        rows, cols = data[name].shape
        return bits[name][row * cols + col] if row < rows and col < cols else None

    for row, col in product(range(dst[0]), range(dst[1])):
        one, two = at("src0", row, col), at("src1", row, col)
        wanted = two if one is None else one if two is None else by_hand(op, dtype, one, two)
        assert wanted is not None and at("dst", row, col) == wanted


@settings(deadline=None, max_examples=200)
@given(regions(), st.sampled_from(["argmin", "argmax"]), st.sampled_from(list(FORMATS)[:2]), st.sampled_from(KINDS))
def test_an_index_belongs_to_the_value_that_was_taken(shapes, op, dtype, kind):
    dst, src0, src1 = shapes
    data = args.generate(op=op, dtype=dtype, dst=dst, src0=src0, src1=src1, data=kind, seed=1, idx_dtype="int32")
    for row, col in product(range(dst[0]), range(dst[1])):
        inside = [row < shape[0] and col < shape[1] for shape in (src0, src1)]
        taken = 0 if inside[0] else 1
        if all(inside):
            one, two = (decoded(as_bits(data[name][row, col : col + 1])[0], dtype) for name in ("src0", "src1"))
            taken = int(two < one if op == "argmin" else two > one)
        assert data["dstIdx"][row, col] == data[f"src{taken}Idx"][row, col]
        assert data["dst"][row, col].tobytes() == data[f"src{taken}"][row, col].tobytes()


def test_equal_values_leave_the_index_of_src0():
    values = np.array([[1.0, -0.0, 0.0]], "<f4")
    other = np.array([[1.0, 0.0, -0.0]], "<f4")
    first, second = np.array([[10, 11, 12]], "<u4"), np.array([[20, 21, 22]], "<u4")
    for op in ("argmin", "argmax"):
        taken, indices = args.part_arg(op, "float32", (1, 3), values, other, first, second)
        assert indices.tolist() == [[10, 11, 12]]
        assert taken.tobytes() == values.tobytes()


def test_zeros_of_both_signs_are_equal_and_src0_is_taken():
    zeros, other = np.array([[0.0, -0.0]], "<f2"), np.array([[-0.0, 0.0]], "<f2")
    for op in ("min", "max"):
        assert part(op, "float16", (1, 2), zeros, other).tobytes() == zeros.tobytes()


def test_integers_wrap():
    left, right = np.array([[127, -128]], "i1"), np.array([[1, -1]], "i1")
    assert part("add", "int8", (1, 2), left, right).tolist() == [[-128, 127]]
    assert part("mul", "uint16", (1, 1), *(np.array([[0xFFFF]], "<u2"),) * 2).tolist() == [[1]]


# What the data promise.


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("op", ["min", "max", "add", "mul"])
@pytest.mark.parametrize("kind", KINDS)
def test_data_hold_no_nan_and_leave_the_range_of_their_type_in_extremes_only(op, dtype, kind):
    shape = (4, 64)
    data = generate(op=op, dtype=dtype, dst=shape, src0=shape, src1=shape, data=kind, seed=3)
    assert data["src0"].dtype == storage(dtype)
    assert data["src0"].tobytes() != data["src1"].tobytes()
    if dtype in FORMATS:
        for array in data.values():
            assert not np.isnan(numbers(dtype, array)).any()
            assert kind == "extremes" or np.isfinite(numbers(dtype, array)).all()
    elif op in ("add", "mul"):
        one, two = (data[name].astype(object) for name in ("src0", "src1"))
        exact = one + two if op == "add" else one * two
        assert bool((exact != data["dst"].astype(object)).any()) == (kind == "extremes")


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kind", KINDS)
def test_sources_meet_in_equal_values_where_they_should(dtype, kind):
    data = generate(op="min", dtype=dtype, dst=(4, 64), src0=(4, 64), src1=(4, 64), data=kind, seed=3)
    equal = (numbers(dtype, data["src0"]) == numbers(dtype, data["src1"])).sum()
    assert (equal > 10) == (kind in ("ties", "extremes"))
    assert len(set(as_bits(data["src0"]))) >= 4


@pytest.mark.parametrize("dtype", DTYPES)
def test_extremes_meet_each_other(dtype):
    data = generate(op="max", dtype=dtype, dst=(8, 300), src0=(8, 300), src1=(8, 300), data="extremes", seed=0)
    deck = set(as_bits(data["src0"]))
    assert len(deck) == (14 if dtype in FORMATS else 7)
    pairs = set(zip(as_bits(data["src0"]), as_bits(data["src1"]), strict=True))
    assert len(pairs) == len(deck) ** 2


@pytest.mark.parametrize("dtype", DTYPES)
def test_rows_of_sorted_rise_and_those_of_reversed_fall(dtype):
    for kind, sign in (("sorted", 1), ("reversed", -1)):
        data = generate(op="mul", dtype=dtype, dst=(3, 50), src0=(3, 50), src1=(3, 50), data=kind, seed=1)
        for name in ("src0", "src1"):
            rising = numbers(dtype, data[name]).astype(object)
            assert (sign * np.diff(rising, axis=1) >= 0).all()


@pytest.mark.parametrize("idx_dtype", ["uint16", "int16", "uint32", "int32"])
def test_indices_differ_between_the_sources_and_use_all_their_bits(idx_dtype):
    shape = (3, 100)
    data = args.generate(
        op="argmax", dtype="float16", dst=shape, src0=shape, src1=shape, data="ties", seed=0, idx_dtype=idx_dtype
    )
    one, two = data["src0Idx"], data["src1Idx"]
    assert one.dtype == np.dtype(idx_dtype) and (one % 2 == 0).all() and (two % 2 == 1).all()
    bits = np.iinfo(idx_dtype).bits
    raw = one.view(f"u{bits // 8}").astype("i8")
    assert (raw >= 1 << (bits - 1)).any() and (raw < 1 << (bits - 2)).any()
    assert len(set(raw[0].tolist())) == shape[1]


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_same_seed_gives_the_same_bytes(dtype):
    def whole(seed: int) -> bytes:
        data = generate(op="add", dtype=dtype, dst=(3, 40), src0=(3, 40), src1=(2, 40), data="random", seed=seed)
        return b"".join(array.tobytes() for array in data.values())

    assert whole(7) == whole(7) != whole(8)
