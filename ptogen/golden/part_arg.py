"""TPARTARGMAX, TPARTARGMIN: the values of two sources where each has one, and the index of the value that is taken."""

from __future__ import annotations

import numpy as np

from ptogen.golden.data import INDICES, float_values, shuffled_columns
from ptogen.golden.part import covered, overlap, storage, takes_right


def part_arg(
    op: str, dtype: str, shape: tuple[int, int], src0: np.ndarray, src1: np.ndarray, idx0: np.ndarray, idx1: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Values and indices for ``argmin`` or ``argmax``: the index is that of the value taken, of equal ones src0's."""
    dst, dst_idx = covered(shape, src0, src1), covered(shape, idx0, idx1)
    both = overlap(src0, src1)
    right = takes_right(op, dtype, src0[both], src1[both])
    dst[both] = np.where(right, src1[both], src0[both])
    dst_idx[both] = np.where(right, idx1[both], idx0[both])
    return dst, dst_idx


def part_indices(dtype: str, rows: int, cols: int, seed: int, source: int) -> np.ndarray:
    """Shuffled indices, even ones for src0 and odd ones for src1.

    A third of them is small, a third lies in the second quarter of the range and a third in its upper half.
    """
    bits = np.iinfo(dtype).bits
    number = shuffled_columns(seed, INDICES, rows, cols) + np.arange(rows)[:, np.newaxis]
    high_bits = np.array([1 << (bits - 1), 0, 1 << (bits - 2)], np.int64)
    return (2 * number + source + high_bits[number % 3]).astype(f"<u{bits // 8}").view(storage(dtype))


def generate(
    *,
    op: str,
    dtype: str,
    dst: tuple[int, int],
    src0: tuple[int, int],
    src1: tuple[int, int],
    data: str,
    seed: int,
    idx_dtype: str,
) -> dict[str, np.ndarray]:
    """The sources and the golden result, with their indices.

    Args:
        op: ``argmin`` or ``argmax``.
        dtype: of the values, ``float32`` or ``float16``.
        dst, src0, src1: rows and columns.
        data: ``random``, ``ties``, ``sorted``, ``reversed`` or ``extremes``.
        seed: of the data.
        idx_dtype: of the indices.
    """
    seeds = seed + (1 << 32), seed + (2 << 32)
    left, right = float_values(data, dtype, *src0, seeds[0]), float_values(data, dtype, *src1, seeds[1])
    idx0, idx1 = part_indices(idx_dtype, *src0, seeds[0], 0), part_indices(idx_dtype, *src1, seeds[1], 1)
    values, indices = part_arg(op, dtype, dst, left, right, idx0, idx1)
    return {"src0": left, "src1": right, "src0Idx": idx0, "src1Idx": idx1, "dst": values, "dstIdx": indices}
