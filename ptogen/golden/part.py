"""TPARTMIN, TPARTMAX, TPARTADD, TPARTMUL.

Where both sources have a value the two are combined, where one has it is copied. bfloat16, which NumPy has not, is
carried as its bits in uint16.
"""

from __future__ import annotations

import numpy as np

from ptogen.golden.data import FLOATS, VALUES, dealt, float_values, random_bits

# Binary digits of a type that is computed in float64, and the exponent of its least subnormal.
NARROW = {"float16": (11, -24), "bfloat16": (8, -133)}

BFLOAT16_EXTREMES = (0x7F80, 0x7F7F, 0x3F80, 0x0080, 0x007F, 0x0001, 0x0000)


def storage(dtype: str) -> np.dtype:
    """The NumPy type that carries a dtype."""
    return np.dtype("<u2" if dtype == "bfloat16" else dtype).newbyteorder("<")


def numbers(dtype: str, array: np.ndarray) -> np.ndarray:
    """What the elements are worth; exact."""
    return (array.astype("<u4") << np.uint32(16)).view("<f4") if dtype == "bfloat16" else array


def rounded(dtype: str, exact: np.ndarray) -> np.ndarray:
    """float64 numbers as float16 or bfloat16: to the nearest, of two to the even one, beyond the end to infinity."""
    digits, least = NARROW[dtype]
    step = np.maximum(np.frexp(exact)[1] - digits, least)
    nearest = np.ldexp(np.rint(np.ldexp(exact, -step)), step)
    with np.errstate(over="ignore"):
        if dtype == "bfloat16":
            return (nearest.astype("<f4").view("<u4") >> np.uint32(16)).astype("<u2")
        return nearest.astype("<f2")


def calculated(op: str, dtype: str, left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Sums or products: integers wrap, floats are rounded once.

    float16 and bfloat16 are computed in float64, where their products and sums of float16 are exact. A sum of bfloat16
    may be rounded there to 53 digits first; with more than twice the digits of the result that changes nothing.
    """
    add = op == "add"
    if left.dtype.kind in "iu" and dtype != "bfloat16":
        unsigned = f"<u{left.dtype.itemsize}"
        one, two = left.view(unsigned), right.view(unsigned)
        return (one + two if add else one * two).view(left.dtype)
    one, two = numbers(dtype, left), numbers(dtype, right)
    with np.errstate(all="ignore"):
        if dtype == "float32":
            return one + two if add else one * two
        one, two = one.astype("<f8"), two.astype("<f8")
        return rounded(dtype, one + two if add else one * two)


def takes_right(op: str, dtype: str, left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Where a minimum or maximum is the right value: only where that is strictly better, so of equal ones, -0.0 and
    +0.0 among them, the left one is taken.
    """
    one, two = numbers(dtype, left), numbers(dtype, right)
    return two < one if op.endswith("min") else two > one


def overlap(src0: np.ndarray, src1: np.ndarray) -> tuple[slice, slice]:
    """Where both sources have a value."""
    return slice(min(src0.shape[0], src1.shape[0])), slice(min(src0.shape[1], src1.shape[1]))


def covered(shape: tuple[int, int], src0: np.ndarray, src1: np.ndarray) -> np.ndarray:
    """The values where one source has one; where both have, those of src1."""
    result = np.zeros(shape, src0.dtype)
    for source in (src0, src1):
        result[: source.shape[0], : source.shape[1]] = source
    return result


def part(op: str, dtype: str, shape: tuple[int, int], src0: np.ndarray, src1: np.ndarray) -> np.ndarray:
    """``op`` is ``min``, ``max``, ``add`` or ``mul``; one source has the result's shape, the other is no larger."""
    dst, both = covered(shape, src0, src1), overlap(src0, src1)
    left, right = src0[both], src1[both]
    if op in ("min", "max"):
        dst[both] = np.where(takes_right(op, dtype, left, right), right, left)
    else:
        dst[both] = calculated(op, dtype, left, right)
    return dst


def int_values(op: str, kind: str, dtype: str, rows: int, cols: int, seed: int) -> np.ndarray:
    """As :func:`part_values`, of an integer type."""
    integer, limits = storage(dtype), np.iinfo(dtype)
    least, most = int(limits.min), int(limits.max)
    if kind == "ties":
        return dealt(np.array([0, 1, 3, 7, -2 if least else 9], integer), rows, cols, seed)
    if kind == "extremes":
        middle = (-1, 0, 1) if least else (2, most // 2, most // 2 + 1)
        return dealt(np.array([least, least + 1, *middle, most - 1, most], integer), rows, cols, seed)
    width = {"add": limits.bits - 1, "mul": limits.bits // 2}.get(op, limits.bits)
    words = random_bits(seed, VALUES, rows, cols).view("<i8" if least else "<u8")
    values = (words >> words.dtype.type(64 - width)).astype(integer)
    return values if kind == "random" else _in_order(kind, values, values)


def _in_order(kind: str, values: np.ndarray, worth: np.ndarray) -> np.ndarray:
    order = np.argsort(worth, axis=1, kind="stable")
    return np.take_along_axis(values, order if kind == "sorted" else order[:, ::-1], axis=1)


def part_values(op: str, kind: str, dtype: str, rows: int, cols: int, seed: int) -> np.ndarray:
    """``rows`` x ``cols`` values of a source, without NaN; ``kind`` is one of the spec's data kinds.

    Only of ``extremes`` a sum or product leaves the range of the type.
    """
    if dtype not in FLOATS and dtype != "bfloat16":
        return int_values(op, kind, dtype, rows, cols, seed)
    if dtype == "bfloat16" and kind == "extremes":
        deck = [sign | bits for bits in BFLOAT16_EXTREMES for sign in (0, 0x8000)]
        return dealt(np.array(deck, "<u2"), rows, cols, seed)
    values = float_values(kind, "float32" if dtype == "bfloat16" else dtype, rows, cols, seed)
    if op == "mul" and kind not in ("ties", "extremes"):
        values = values * values.dtype.type(1 / 16)  # a product of float16 stays finite
    return rounded(dtype, values.astype("<f8")) if dtype == "bfloat16" else values


def defined(op: str, dtype: str, src0: np.ndarray, src1: np.ndarray) -> np.ndarray:
    """``src1`` with 1 in the place of what would make a NaN of ``src0``: its bits are not defined."""
    both = overlap(src0, src1)
    left, right = numbers(dtype, src0[both]), numbers(dtype, src1[both])
    with np.errstate(all="ignore"):
        lost = np.isnan(left + right if op == "add" else left * right)
    result = src1.copy()
    result[both][lost] = 0x3F80 if dtype == "bfloat16" else 1
    return result


def generate(
    *, op: str, dtype: str, dst: tuple[int, int], src0: tuple[int, int], src1: tuple[int, int], data: str, seed: int
) -> dict[str, np.ndarray]:
    """The sources and the golden result.

    Args:
        op: ``min``, ``max``, ``add`` or ``mul``.
        dtype: of the values.
        dst, src0, src1: rows and columns.
        data: ``random``, ``ties``, ``sorted``, ``reversed`` or ``extremes``.
        seed: of the data.
    """
    left, right = (
        part_values(op, data, dtype, *shape, seed + (source << 32)) for source, shape in ((1, src0), (2, src1))
    )
    if op in ("add", "mul") and (dtype in FLOATS or dtype == "bfloat16"):
        right = defined(op, dtype, left, right)
    return {"src0": left, "src1": right, "dst": part(op, dtype, dst, left, right)}
