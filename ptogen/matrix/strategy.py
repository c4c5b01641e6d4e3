"""Which of many combinations are made: all, few that hold every pair of values, or a sample."""

from __future__ import annotations

import hashlib
import heapq
from collections.abc import Hashable, Iterable, Mapping, Sequence
from itertools import combinations
from typing import Any


def pairwise(rows: Sequence[Mapping[str, Hashable]]) -> list[int]:
    """Places of few rows that hold every pair of values of two fields that any row holds.

    Always the row with the most pairs that are still missing, the earliest of equals, so the result depends on nothing
    else. What a row adds only shrinks as others are taken, so the heap holds upper bounds, and a row is counted anew
    only when it comes first.
    """
    numbers: dict[Hashable, int] = {}
    pairs = [
        tuple(
            numbers.setdefault(pair, len(numbers))
            for pair in combinations(sorted(row.items(), key=lambda item: item[0]), 2)
        )
        for row in rows
    ]
    missing = bytearray(b"\1" * len(numbers))
    left = len(numbers)
    heap = [(-len(own), place) for place, own in enumerate(pairs)]
    heapq.heapify(heap)
    # A matrix of one field has no pairs: then every value counts for itself.
    chosen = [] if numbers else list(range(len(rows)))
    while left:
        bound, place = heapq.heappop(heap)
        gain = sum(missing[pair] for pair in pairs[place])
        if gain and -bound > gain:
            heapq.heappush(heap, (-gain, place))
        elif gain:
            chosen.append(place)
            left -= gain
            for pair in pairs[place]:
                missing[pair] = 0
    return sorted(chosen)


def sample(keys: Iterable[str], count: int, seed: int) -> list[int]:
    """Places of ``count`` rows drawn by a hash of the seed and their own key: those that come and go move no other."""
    drawn = heapq.nsmallest(
        count, ((hashlib.sha256(f"{seed}\0{key}".encode()).digest(), place) for place, key in enumerate(keys))
    )
    return sorted(place for _, place in drawn)


def frozen(value: Any) -> Hashable:
    """A value of a spec as something that can be compared and put in a set."""
    if isinstance(value, (list, tuple)):
        return tuple(map(frozen, value))
    if isinstance(value, dict):
        return tuple(sorted((key, frozen(item)) for key, item in value.items()))
    return value
