"""Input data: deterministic arrays of the kinds that a spec may ask for.

The bits come from a counter-based generator that stands here (SplitMix64), not from ``numpy.random``, whose streams
may differ between versions of NumPy. What follows uses integer arithmetic, exact comparison and correctly rounded
conversion only, so equal parameters give equal bytes with every NumPy from 1.22 on and on every machine.
"""

from __future__ import annotations

import numpy as np

FLOATS: dict[str, np.dtype] = {"float32": np.dtype("<f4"), "float16": np.dtype("<f2")}

# A record is the value's bits, zero bytes up to 4, and the index.
RECORDS = {
    "float32": np.dtype([("value", "<f4"), ("index", "<u4")]),
    "float16": np.dtype([("value", "<f2"), ("padding", "<u2"), ("index", "<u4")]),
}

# Streams of random bits: what is drawn for one purpose never depends on what is drawn for another.
VALUES, EXPONENTS, PLACES, OUTSIDE, INDICES = range(5)


def random_bits(seed: int, stream: int, rows: int, cols: int) -> np.ndarray:
    """``rows`` x ``cols`` random 64-bit words of one stream: SplitMix64 of a counter."""
    counter = np.arange(1, rows * cols + 1, dtype=np.uint64).reshape(rows, cols)
    start = (seed * 0xD1342543DE82EF95 + stream * 0xAF251AF3B0F025B5) % 2**64
    word = counter * np.uint64(0x9E3779B97F4A7C15) + np.uint64(start)
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return word ^ (word >> np.uint64(31))


def shuffled_columns(seed: int, stream: int, rows: int, cols: int) -> np.ndarray:
    """A random permutation of the column numbers in each row."""
    return np.argsort(random_bits(seed, stream, rows, cols), axis=1, kind="stable")


def random_floats(dtype: np.dtype, rows: int, cols: int, seed: int) -> np.ndarray:
    """Finite values of both signs, from thousandths to thousands."""
    fraction = (random_bits(seed, VALUES, rows, cols) >> np.uint64(11)).astype(np.float64) / 2.0**52 - 1.0
    exponent = (random_bits(seed, EXPONENTS, rows, cols) % np.uint64(20)).astype(np.int32) - 8
    return np.ldexp(fraction, exponent).astype(dtype)


def extreme_floats(dtype: np.dtype) -> np.ndarray:
    """The values at the edges of a floating-point type, both signs of each."""
    limits = np.finfo(dtype)
    tiny, least = limits.tiny, np.nextafter(dtype.type(0), dtype.type(1))
    positive = [np.inf, limits.max, 1.0, tiny, np.nextafter(tiny, dtype.type(0)), least, 0.0]
    return np.array([sign * dtype.type(value) for value in positive for sign in (1, -1)], dtype)


def dealt(deck: np.ndarray, rows: int, cols: int, seed: int) -> np.ndarray:
    """The values of ``deck`` in equal numbers, going on from row to row, at random places of each row."""
    cards = deck[np.arange(rows * cols) % len(deck)].reshape(rows, cols)
    return np.take_along_axis(cards, shuffled_columns(seed, PLACES, rows, cols), axis=1)


def float_values(kind: str, dtype: str, rows: int, cols: int, seed: int) -> np.ndarray:
    """``rows`` x ``cols`` values without NaN; ``kind`` is one of the spec's data kinds."""
    float_type = FLOATS[dtype]
    if kind == "ties":
        return dealt(np.array([0.0, -1.5, -0.0, 2.0, 1.0], float_type), rows, cols, seed)
    if kind == "extremes":
        return dealt(extreme_floats(float_type), rows, cols, seed)
    values = random_floats(float_type, rows, cols, seed)
    if kind == "random":
        return values
    ascending = np.sort(values, axis=1, kind="stable")
    return {"sorted": ascending, "reversed": ascending[:, ::-1]}[kind]


def values_within(domain: tuple[float, float], kind: str, dtype: str, rows: int, cols: int, seed: int) -> np.ndarray:
    """``rows`` x ``cols`` values from the least to the greatest of ``domain``; both are among ties and extremes."""
    float_type = FLOATS[dtype]
    low, high = np.array(domain, float_type)
    # Rounded inwards.
    low = low if float(low) >= domain[0] else np.nextafter(low, float_type.type(np.inf))
    high = high if float(high) <= domain[1] else np.nextafter(high, float_type.type(-np.inf))
    if kind in ("ties", "extremes"):
        deck = extreme_floats(float_type) if kind == "extremes" else np.array([0.0, -0.0, 1.0, -1.5, 2.0], float_type)
        deck = np.concatenate([deck[(low <= deck) & (deck <= high)], [low, high]])
        return dealt(deck, rows, cols, seed)
    fraction = (random_bits(seed, VALUES, rows, cols) >> np.uint64(11)).astype(np.float64) / 2.0**53
    values = np.clip((domain[0] * (1.0 - fraction) + domain[1] * fraction).astype(float_type), low, high)
    if kind == "random":
        return values
    ascending = np.sort(values, axis=1, kind="stable")
    return ascending if kind == "sorted" else ascending[:, ::-1]


def large_floats(dtype: str, rows: int, cols: int, seed: int) -> np.ndarray:
    """Positive values near the end of the range, for places that a kernel must not read: they would lead every sort."""
    float_type = FLOATS[dtype]
    fraction = (random_bits(seed, OUTSIDE, rows, cols) >> np.uint64(11)).astype(np.float64) / 2.0**53
    return (float(np.finfo(float_type).max) * (0.875 + fraction / 16)).astype(float_type)


def shuffled_indices(rows: int, cols: int, seed: int) -> np.ndarray:
    """uint32 indices: unique within a row, shuffled, different from row to row.

    A third of them is small, a third lies above 2**30 and a third above 2**31.
    """
    number = shuffled_columns(seed, INDICES, rows, cols) + np.arange(rows)[:, np.newaxis]
    high_bits = np.array([1 << 31, 0, 1 << 30], np.int64)
    return (number + high_bits[number % 3]).astype("<u4")
