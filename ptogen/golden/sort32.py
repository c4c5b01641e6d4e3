"""TSORT32: every 32 columns of a row, sorted descending by value and then ascending by index, as 8-byte records."""

from __future__ import annotations

import base64
import io

import numpy as np

from ptogen.golden.data import FLOATS, RECORDS, float_values, large_floats, shuffled_indices

BLOCK = 32


def sort32(src: np.ndarray, idx: np.ndarray) -> np.ndarray:
    """The records of ``src`` with its indices ``idx`` (one row for each row of ``src``, or one for all).

    -0.0 and +0.0 are equal values; the bits of a value are kept. NaN has no place in this order.
    """
    idx = np.broadcast_to(idx, src.shape)
    records = np.zeros(src.shape, RECORDS[src.dtype.name])
    for start in range(0, src.shape[1], BLOCK):
        block = slice(start, start + BLOCK)
        value, index = src[:, block], idx[:, block]
        order = np.lexsort((index, -value), axis=1)  # the last key counts first
        records["value"][:, block] = np.take_along_axis(value, order, axis=1)
        records["index"][:, block] = np.take_along_axis(index, order, axis=1)
    return records


def generate(
    *,
    dtype: str,
    rows: int,
    cols: int,
    valid: tuple[int, int] | None,
    idx: str,
    data: str,
    seed: int,
    values: str | None = None,
) -> dict[str, np.ndarray]:
    """The inputs ``src`` and ``idx``, whole tensors, and the golden ``dst`` of the valid region.

    Args:
        dtype: ``float32`` or ``float16``.
        rows, cols: shape of ``src``.
        valid: rows and columns that are sorted; None for all.
        idx: ``per_row`` or ``broadcast``.
        data: ``random``, ``ties``, ``sorted``, ``reversed`` or ``extremes``; unused where ``values`` are given.
        seed: of the data.
        values: ``src`` as the base85 text of a .npy file.
    """
    valid_rows, valid_cols = valid or (rows, cols)
    if values is not None:
        src = np.load(io.BytesIO(base64.b85decode(values)), allow_pickle=False)
    else:
        src = large_floats(dtype, rows, cols, seed)
        src[:valid_rows, :valid_cols] = float_values(data, dtype, valid_rows, valid_cols, seed)
        if data == "extremes":
            # How the hardware orders -inf against the padding of an incomplete block is not known.
            tail = src[:valid_rows, valid_cols - valid_cols % BLOCK : valid_cols]
            tail[tail == -np.inf] = np.finfo(FLOATS[dtype]).min
    indices = shuffled_indices(1 if idx == "broadcast" else rows, cols, seed)
    dst = sort32(src[:valid_rows, :valid_cols], indices[:valid_rows, :valid_cols])
    return {"src": src, "idx": indices, "dst": dst}
