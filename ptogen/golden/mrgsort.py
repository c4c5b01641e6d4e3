"""TMRGSORT: sorted lists of 8-byte records, merged descending by value; of equal values the lower list's is first."""

from __future__ import annotations

import base64
import io

import numpy as np

from ptogen.golden.data import RECORDS, float_values, shuffled_indices

RECORD_BYTES = 8


def sorted_lists(values: np.ndarray, indices: np.ndarray, lengths: list[int]) -> list[np.ndarray]:
    """Values and indices as records, cut into lists of these lengths, each sorted descending by value."""
    records = np.zeros(len(values), RECORDS[values.dtype.name])
    records["value"], records["index"] = values, indices
    lists = np.split(records, np.cumsum(lengths)[:-1])
    return [one[np.argsort(-one["value"], kind="stable")] for one in lists]


def merge(lists: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """The records of sorted lists in one, and the number of the list that each comes from.

    Sorting what stands one behind the other keeps equal values in the order of their lists. -0.0 and +0.0 are equal.
    """
    records = np.concatenate(lists)
    number = np.repeat(np.arange(len(lists)), [len(one) for one in lists])
    order = np.argsort(-records["value"], kind="stable")
    return records[order], number[order]


def until_exhausted(number: np.ndarray) -> int:
    """How many records are merged when the merge stops behind the first one that is the last of its list."""
    last = [np.flatnonzero(number == one)[-1] for one in range(number.max() + 1)]
    return int(min(last)) + 1


def generate(
    *,
    dtype: str,
    variant: str,
    lists: list[int],
    repeats: int,
    exhausted: bool,
    data: str,
    seed: int,
    values: str | None = None,
) -> dict[str, np.ndarray]:
    """Sources and golden: ``src`` (single) or ``src0`` to ``src3`` (multi) and ``dst``, one row of records each.

    With ``exhausted`` also ``counts``, the records that each list has given, and ``mask_dst``: 1 for each byte of
    ``dst`` that is defined, 0 behind them.

    The lists are sorted in themselves whatever the data are. ``random``, ``ties`` and ``extremes`` spread their values
    over all lists; ``sorted`` has no value in a list that is above one of a list before it, so that the merge takes
    one list after the other; ``reversed`` is the same from the last list to the first.

    Args:
        dtype: ``float32`` or ``float16``.
        variant: ``single`` or ``multi``.
        lists: records of each list that is merged; in ``single`` of each of the four blocks of a group.
        repeats: groups, one behind the other; 1 in ``multi``.
        exhausted: stop when a list has run dry.
        data: ``random``, ``ties``, ``sorted``, ``reversed`` or ``extremes``; unused where ``values`` are given.
        seed: of the data.
        values: 1 x all records, as the base85 text of a .npy file; cut into the lists, then sorted in each.
    """
    lengths = lists * repeats
    total = sum(lengths)
    if values is not None:
        value = np.load(io.BytesIO(base64.b85decode(values)), allow_pickle=False)
    else:
        # Sorted lists are descending, sorted rows of numbers are not.
        kind = {"sorted": "reversed", "reversed": "sorted"}.get(data, data)
        value = float_values(kind, dtype, 1, total, seed)
    sources = sorted_lists(value[0], shuffled_indices(1, total, seed)[0], lengths)
    if variant == "single":
        groups = [sources[start : start + len(lists)] for start in range(0, len(sources), len(lists))]
        return {"src": np.concatenate(sources), "dst": np.concatenate([merge(group)[0] for group in groups])}
    dst, number = merge(sources)
    tensors = {f"src{place}": source for place, source in enumerate(sources)}
    if not exhausted:
        return {**tensors, "dst": dst}
    defined = until_exhausted(number)
    dst[defined:] = 0
    counts = np.bincount(number[:defined], minlength=len(lists)).astype("<u4")
    mask = (np.arange(total * RECORD_BYTES) < defined * RECORD_BYTES).astype(np.uint8)
    return {**tensors, "dst": dst, "counts": counts, "mask_dst": mask}
