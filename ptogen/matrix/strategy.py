"""Which of many combinations are made: all, few that hold every pair of values, or a sample.

Of few enough combinations each is looked at (:func:`pairwise`, :func:`sample`). Of more, the same is drawn from their
axes (:func:`covering`, :func:`drawn`), at a price that does not grow with how many there are.
"""

from __future__ import annotations

import hashlib
import heapq
from bisect import bisect_right
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, combinations, product
from math import prod
from random import Random
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


def drawn(total: int, seed: int, most: int) -> Iterator[int]:
    """Different numbers below ``total``, each as likely as the others, at most ``most`` of them; ``seed`` decides."""
    chance = Random(f"sample {seed}")
    seen: set[int] = set()
    while len(seen) < min(most, total):
        place = chance.randrange(total)
        if place not in seen:
            seen.add(place)
            yield place


Digits = tuple["int | None", ...]
"""A value of each axis by its number; None for any."""


class Covering:
    """Few combinations that hold every pair of values of two axes that exists, made value by value.

    Each begins with a pair that is still missing and takes for axis after axis the value that adds most missing pairs
    (D. M. Cohen et al., The AETG System, 1997). Where that comes to nothing, the pair is put into combinations that are
    there, and then into random ones, or into all if they are few.

    Args:
        sizes: how many values each axis has.
        exists: whether a combination does, or where it is open, whether it may.
        seed: decides between equals.
        tries: combinations that are asked for one pair, before it counts as one that none has.
        budget: combinations that are asked for in all; near its end each pair gets fewer.
    """

    def __init__(
        self, sizes: Sequence[int], exists: Callable[[Digits], bool], seed: int, tries: int = 1_000, budget: int = 10**6
    ) -> None:
        self._sizes = sizes
        self._exists = exists
        self._chance = Random(f"pairwise {seed}")
        self._tries = tries
        self._left = budget
        self._first = list(accumulate(sizes, initial=0))
        self._uses = [0] * self._first[-1]
        self._alive: set[int] = set()
        self.rows: list[tuple[int, ...]] = []
        self.pairs = 0
        """How many there are."""
        self.held = 0
        """How many of them are in a combination."""
        self.lost: list[tuple[tuple[int, int], ...]] = []
        """What is in no combination that was found, as (axis, digit): single values, and pairs of others."""
        self._missing = self._all_pairs()
        self._cover()

    def _all_pairs(self) -> dict[tuple[int, int], None]:
        """Pairs of values, each by its number over all axes; those of the longest axes first, which decide how many
        combinations it takes."""
        axes = sorted(
            combinations(range(len(self._sizes)), 2), key=lambda two: -self._sizes[two[0]] * self._sizes[two[1]]
        )
        return {
            (self._first[one] + left, self._first[two] + right): None
            for one, two in axes
            for left in range(self._sizes[one])
            for right in range(self._sizes[two])
        }

    def _cover(self) -> None:
        self.pairs = len(self._missing)
        if len(self._sizes) == 1:
            self.rows = [(digit,) for digit in range(self._sizes[0]) if self._exists((digit,))]
        dead: set[int] = set()
        lost: list[tuple[int, ...]] = []
        for pair in list(self._missing):
            if pair not in self._missing:
                continue
            tries = min(self._tries, max(10, self._left // 100))
            if not dead.isdisjoint(pair) or self._found(pair, tries):
                continue
            # Perhaps one of the values is in no combination at all; then none of its pairs is looked for any more.
            fresh = [value for value in pair if value not in self._alive and not self._found((value,), tries)]
            dead.update(fresh)
            lost += [(value,) for value in fresh] or [pair]
        # Some were in a combination that was made for another pair.
        lost = [values for values in lost if self._alive.isdisjoint(values) or values in self._missing]
        self.lost = [tuple(map(self._axis, values)) for values in lost]
        self.held = self.pairs - len(self._missing)

    def _axis(self, value: int) -> tuple[int, int]:
        """Axis and digit of a value."""
        axis = bisect_right(self._first, value) - 1
        return axis, value - self._first[axis]

    def _found(self, values: tuple[int, ...], tries: int) -> bool:
        """Adds a combination that holds these values, if there is one."""
        fixed = dict(map(self._axis, values))
        start = tuple(fixed.get(axis) for axis in range(len(self._sizes)))
        for row in self._candidates(start, tries):
            row = self._improved(row, start)
            numbers = [first + digit for first, digit in zip(self._first, row, strict=False)]
            self._alive.update(numbers)
            for number in numbers:
                self._uses[number] += 1
            for pair in combinations(numbers, 2):
                self._missing.pop(pair, None)
            self.rows.append(row)
            return True
        return False

    def _candidates(self, start: Digits, tries: int) -> Iterator[tuple[int, ...]]:
        """Combinations that exist and begin with ``start``, the best first."""
        if not self._exists(start):
            return
        asked = self._left
        if row := self._greedy(start, tries):
            yield row
        open_ = [axis for axis, digit in enumerate(start) if digit is None]
        if prod(self._sizes[axis] for axis in open_) <= tries:
            for digits in product(*(range(self._sizes[axis]) for axis in open_)):
                if row := self._asked(start, dict(zip(open_, digits, strict=True))):
                    yield row
            return
        for other in self.rows[: -tries // 10 : -1]:
            if row := self._asked(start, {axis: other[axis] for axis in open_}):
                yield row
        while asked - self._left < tries:
            if row := self._random(start, open_):
                yield row

    def _asked(self, start: Digits, rest: Mapping[int, int]) -> tuple[int, ...] | None:
        row = tuple(rest[axis] if digit is None else digit for axis, digit in enumerate(start))
        self._left -= 1
        return row if self._exists(row) else None

    def _greedy(self, start: Digits, tries: int) -> tuple[int, ...] | None:
        digits = list(start)
        open_ = sorted((axis for axis, digit in enumerate(start) if digit is None), key=lambda axis: -self._sizes[axis])
        for axis in open_:
            fixed = [self._first[other] + digit for other, digit in enumerate(digits) if digit is not None]
            for value in sorted(
                range(self._sizes[axis]), key=lambda value: self._worth(self._first[axis] + value, fixed)
            ):
                digits[axis] = value
                self._left -= 1
                tries -= 1
                if self._exists(tuple(digits)):
                    break
                if not tries:
                    return None
            else:
                return None
        return tuple(digit for digit in digits if digit is not None)

    def _improved(self, row: tuple[int, ...], start: Digits) -> tuple[int, ...]:
        """The same with other values, one after the other, that add more missing pairs."""
        for axis in [axis for axis, digit in enumerate(start) if digit is None]:
            fixed = [
                first + digit
                for other, (first, digit) in enumerate(zip(self._first, row, strict=False))
                if other != axis
            ]
            worth = {value: self._worth(self._first[axis] + value, fixed)[0] for value in range(self._sizes[axis])}
            better = [value for value in worth if worth[value] < worth[row[axis]]]
            for value in sorted(better, key=worth.__getitem__)[:4]:
                self._left -= 1
                if self._exists(other := (*row[:axis], value, *row[axis + 1 :])):
                    row = other
                    break
        return row

    def _worth(self, number: int, fixed: Sequence[int]) -> tuple[int, int]:
        """What comes first adds most pairs, or else was taken least."""
        gain = sum((min(number, other), max(number, other)) in self._missing for other in fixed)
        return -gain, self._uses[number]

    def _random(self, start: Digits, open_: Sequence[int]) -> tuple[int, ...] | None:
        """A combination at random, with a few more throws for a value that cannot be with those before it."""
        digits = list(start)
        for axis in self._chance.sample(open_, len(open_)):
            for _ in range(4):
                digits[axis] = self._chance.randrange(self._sizes[axis])
                if None not in digits or self._exists(tuple(digits)):
                    break
        self._left -= 1
        row = tuple(digit for digit in digits if digit is not None)
        return row if self._exists(row) else None


def frozen(value: Any) -> Hashable:
    """A value of a spec as something that can be compared and put in a set."""
    if isinstance(value, (list, tuple)):
        return tuple(map(frozen, value))
    if isinstance(value, dict):
        return tuple(sorted((key, frozen(item)) for key, item in value.items()))
    return value
