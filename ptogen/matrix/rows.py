"""The rows of a matrix, group by group: all cases that exist, or those that its strategy chooses."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate, groupby, islice
from math import prod

from ptogen.errors import Diagnostic, PtogenError
from ptogen.matrix.expand import CHOSEN, SLICE, Expanded, Expander, Group, Row, Slice, groups_of, slices
from ptogen.matrix.strategy import Covering, Digits, drawn, frozen, pairwise, sample
from ptogen.spec.faults import listing
from ptogen.spec.matrix import HEAD, MAX_COMBINATIONS, MAX_PAIRWISE, Matrix

Expand = Callable[[Iterable[Slice]], Iterator[Expanded]]
"""What becomes of slices, in their order."""

ROUND = 16 * SLICE
"""Most combinations that are drawn at a time."""


class Dropped:
    """What a matrix leaves out: how much by group, dtype and reason, and a message for each reason of a code."""

    def __init__(self) -> None:
        self.counts: Counter[tuple[Group, str, str]] = Counter()
        self.examples: dict[str, str] = {}

    def add(self, group: Group, expanded: Expanded) -> None:
        for (dtype, reason), count in expanded.dropped.items():
            self.counts[group, dtype, reason] += count
        for reason, message in expanded.examples.items():
            self.examples.setdefault(reason, message)


def rows_of(
    matrix: Matrix, expand: Expand, dropped: Dropped, ub_bytes: int | None = None
) -> Iterable[tuple[Group, Sequence[Row]]]:
    """The rows of each group.

    Args:
        matrix: where they come from.
        expand: what becomes of its slices.
        dropped: counts what is left out; of a matrix that is drawn from, only of what was looked at.
        ub_bytes: as for :class:`Expander`.

    Raises:
        PtogenError: PTG103, where there are too many; PTG115, where a sample finds too few; what the slices report.
    """
    if not matrix.is_drawn:
        groups = _by_group(slices(matrix), expand, dropped)
        return _chosen(matrix, groups, dropped) if matrix.strategy in ("pairwise", "sample") else groups
    made: dict[Group, list[Row]] = {group: [] for group in groups_of(matrix)}
    choose = _sampled(matrix, expand, dropped) if matrix.strategy == "sample" else _covering(matrix, ub_bytes, dropped)
    for group, row in choose:
        made[group].append(row)
    for group, rows in _by_group(slices(matrix, included_only=True), expand, dropped):
        made[group] += rows
    return [(group, rows) for group, rows in made.items() if rows]


def _by_group(pieces: Iterable[Slice], expand: Expand, dropped: Dropped) -> Iterator[tuple[Group, Sequence[Row]]]:
    pieces = list(pieces)
    faults: list[Diagnostic] = []
    total = 0
    for group, own in groupby(zip(pieces, expand(pieces), strict=True), key=lambda result: result[0].group):
        rows: list[Row] = []
        for piece, expanded in own:
            dropped.add(piece.group, expanded)
            faults += expanded.faults
            rows += expanded.rows
            total += len(expanded.rows)
            if total > MAX_COMBINATIONS:
                message = f"the matrix has more than {MAX_COMBINATIONS:,} cases"
                hint = "give fewer values, or split it into several files"
                raise PtogenError(Diagnostic("PTG103", message, hint=hint))
        if not faults:
            yield group, rows
    if faults:
        shown = sorted(dict.fromkeys(faults), key=lambda fault: str(fault.position))
        more = len(shown) - 200
        note = [Diagnostic(shown[200].code, f"and {more:,} more", severity="note")] if more > 0 else []
        raise PtogenError([*shown[:200], *note])


# Of rows that are all there


def _chosen(
    matrix: Matrix, groups: Iterable[tuple[Group, Sequence[Row]]], dropped: Dropped
) -> list[tuple[Group, Sequence[Row]]]:
    rows = [(group, row) for group, own in groups for row in own]
    places = [place for place, (_, row) in enumerate(rows) if row.free]
    if matrix.strategy == "sample":
        chosen = sample((_key(*rows[place]) for place in places), matrix.sample, matrix.seed)
    else:
        if len(places) > MAX_PAIRWISE:
            message = f"pairwise chooses from at most {MAX_PAIRWISE:,} cases, and there are {len(places):,}"
            hint = "give lists in place of boundaries, fewer values, or take a sample"
            raise PtogenError(Diagnostic("PTG103", message, matrix.marks.at(("strategy",)), hint=hint))
        fields = [
            {
                **rows[place][0]._asdict(),
                **{key: frozen(value) for key, value in json.loads(rows[place][1].text).items()},
            }
            for place in places
        ]
        chosen = pairwise(fields)
    kept = {places[place] for place in chosen}
    made: dict[Group, list[Row]] = {}
    for place, (group, row) in enumerate(rows):
        if place in kept or not row.free:
            made.setdefault(group, []).append(row)
        else:
            dropped.counts[group, row.dtype, CHOSEN] += 1
    return list(made.items())


def _key(group: Group, row: Row) -> str:
    return " ".join((*group, row.text))


# Of combinations that nobody looks through


def _sampled(matrix: Matrix, expand: Expand, dropped: Dropped) -> list[tuple[Group, Row]]:
    """As many rows as are wanted, drawn from all combinations until so many exist."""
    parts = [(group, space) for group, spaces in groups_of(matrix).items() for space in spaces]
    parts = [(group, space) for group, space in parts if space < len(matrix.spaces)]
    ends = list(accumulate(prod(len(axis.values) for axis in matrix.spaces[space].free.values()) for _, space in parts))
    places = drawn(ends[-1], matrix.seed, MAX_COMBINATIONS)
    found: dict[str, tuple[Group, Row]] = {}
    looked_at = 0
    while len(found) < matrix.sample and (batch := sorted(islice(places, min(ROUND, 4 * matrix.sample + 64)))):
        pieces = []
        for part, own in groupby(batch, key=lambda place: bisect_right(ends, place)):
            start = ends[part - 1] if part else 0
            group, space = parts[part]
            inside = [place - start for place in own]
            pieces += [
                Slice(group, space, inside[first : first + SLICE], matrix.seed)
                for first in range(0, len(inside), SLICE)
            ]
        for group, rows in _by_group(pieces, expand, dropped):
            found.update((_key(group, row), (group, row)) for row in rows)
        looked_at += len(batch)
    if len(found) < matrix.sample:
        message = (
            f"{len(found):,} of {looked_at:,} combinations that were drawn exist, and {matrix.sample:,} are wanted"
        )
        details = tuple(f"{reason}: {example}" for reason, example in sorted(dropped.examples.items()))
        hint = "give values that go together more often" + (f", or {{sample: {len(found)}}}" if found else "")
        raise PtogenError(Diagnostic("PTG115", message, matrix.marks.at(("strategy",)), details, hint))
    dropped.examples[CHOSEN] = (
        f"{looked_at:,} of {ends[-1]:,} combinations were looked at, to find {matrix.sample:,} cases"
    )
    keys = list(found)
    return [found[keys[place]] for place in sample(keys, matrix.sample, matrix.seed)]


def _covering(matrix: Matrix, ub_bytes: int | None, dropped: Dropped) -> Iterator[tuple[Group, Row]]:
    """Few rows that hold the pairs of values of each map."""
    expander = Expander(matrix, ub_bytes)
    pairs = held = cases = 0
    lost: list[str] = []
    for number in range(len(matrix.spaces)):
        space = _Axes(expander, number)
        made = Covering(space.sizes, space.exists, matrix.seed)
        pairs += made.pairs
        held += made.held
        cases += len(made.rows)
        lost += [listing(space.named(*value) for value in pair) for pair in made.lost]
        for digits in sorted(made.rows):
            group, found = space.expanded(digits)
            yield group, found.rows[0]
    total = sum(space.combinations for space in matrix.spaces)
    message = f"{cases:,} of {total:,} combinations hold {held:,} of {pairs:,} pairs of values"
    if lost:
        message += f"; no case was found for {'; '.join(lost[:3])}" + (
            f"; and {len(lost) - 3:,} more" if lost[3:] else ""
        )
    dropped.examples[CHOSEN] = message


class _Axes:
    """A space whose combinations have a digit for each axis, those of the suite first."""

    def __init__(self, expander: Expander, number: int) -> None:
        space = expander.matrix.spaces[number]
        self.axes = {**{key: space.axes[key] for key in HEAD}, **space.free}
        self.sizes = [len(axis.values) for axis in self.axes.values()]
        self._expander = expander
        self._number = number

    def named(self, axis: int, digit: int) -> str:
        """A value with its field."""
        name = list(self.axes)[axis]
        return f"{name} {self.axes[name].values[digit]}"

    def expanded(self, digits: Sequence[int]) -> tuple[Group, Expanded]:
        """What becomes of a combination."""
        place = 0
        for size, digit in zip(self.sizes[len(HEAD) :], digits[len(HEAD) :], strict=True):
            place = place * size + digit
        group = self._group(digits)
        return group, self._expander.of(group, self._number).expanded((place,))

    def exists(self, digits: Digits) -> bool:
        """Whether a combination does, or may where it is open.

        Raises:
            PtogenError: what the matrix wants to be an error.
        """
        known = [0 if size == 1 else digit for size, digit in zip(self.sizes, digits, strict=True)]
        whole = [digit for digit in known if digit is not None]
        if len(whole) < len(known):
            one = self._expander.of(self._group([digit or 0 for digit in known]), self._number)
            return one.may_exist(dict(zip(self.axes, known, strict=True)))
        _, found = self.expanded(whole)
        if found.faults:
            raise PtogenError(found.faults)
        return bool(found.rows)

    def _group(self, digits: Sequence[int]) -> Group:
        return Group(*(self.axes[key].values[digit] for key, digit in zip(HEAD, digits, strict=False)))
