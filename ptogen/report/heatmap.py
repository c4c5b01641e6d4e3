"""Where in the space of dtypes and shapes the cases of a check failed.

The cases of an op are laid out in a table. With few shapes each has a column of its own; with many, the columns of
the table are the columns of the shapes, each dtype has a row for each number of rows, and numbers that are too many to
stand alone are taken together: all between two powers of two, or a half, a quarter and so on of them where the table
bears it.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ptogen.report.model import CaseResult, CheckReport, Outcome, SuiteResult

MOST_SHAPES = 14
"""Up to so many shapes each has a column."""

MOST_ROWS, MOST_COLS = 12, 20
"""Up to so many numbers of rows, and of columns, each stands alone."""

FINEST = 5
"""Numbers between two powers of two are cut into halves so many times at most."""

MOST_FIELD_VALUES = 12
"""A field with more values says nothing about what the failures share."""

Sizes = tuple[tuple[str, int], tuple[str, int]]
"""Names and values of the two numbers that size a case."""


@dataclass(frozen=True)
class Place:
    """Where a case stands.

    Attributes:
        map: number of its map.
        group: platform and mode.
        dtype: of the case.
        row, col: numbers of the row and of the column of its dtype's part of the map.
    """

    map: int
    group: str
    dtype: str
    row: int
    col: int


@dataclass
class Cell:
    """The cases of one place.

    Attributes:
        label: the place in words.
        counts: its cases by outcome.
    """

    label: str
    counts: Counter[Outcome] = field(default_factory=Counter)

    @property
    def worst(self) -> Outcome:
        """What the cell is coloured by."""
        order = (Outcome.FAILED, Outcome.KNOWN_DEFECT, Outcome.NOT_RUN)
        return next((outcome for outcome in order if self.counts[outcome]), Outcome.PASSED)

    @property
    def share(self) -> float:
        """How much of it the worst outcome is."""
        return self.counts[self.worst] / self.counts.total()


@dataclass(frozen=True)
class Axis:
    """What stands along one side of a map.

    Attributes:
        name: such as ``rows``; empty where the map has no such side.
        labels: in order.
    """

    name: str
    labels: tuple[str, ...]


@dataclass(frozen=True)
class HeatMap:
    """The cases of one op.

    Attributes:
        op: its name.
        rows: inside each dtype; one label without a name where every shape has a column.
        cols: the columns of the table.
        cells: by place; a place without cases has none.
    """

    op: str
    rows: Axis
    cols: Axis
    cells: Mapping[Place, Cell]

    @property
    def groups(self) -> dict[str, dict[str, list[int]]]:
        """The rows that have cases: by platform and mode, then by dtype."""
        found: dict[str, dict[str, list[int]]] = {}
        for place in sorted(self.cells, key=lambda place: (place.group, place.dtype, place.row)):
            rows = found.setdefault(place.group, {}).setdefault(place.dtype, [])
            if place.row not in rows:
                rows.append(place.row)
        return found


@dataclass(frozen=True)
class Share:
    """How the cases with one value of a field did.

    Attributes:
        op, field, value: whose.
        failed, ran: cases.
    """

    op: str
    field: str
    value: str
    failed: int
    ran: int


def sizes(op: str, fields: Mapping[str, Any]) -> Sizes | None:
    """What sizes a case, asked of its op; None where the catalogue has no such op or the fields are not its own."""
    from pydantic import ValidationError

    from ptogen.ops import catalogue

    entry = catalogue().get(op)
    if entry is None:
        return None
    try:
        return entry.shapes(entry.Case.model_validate_json(json.dumps(fields)))
    except (ValidationError, ValueError, TypeError):
        return None


def dtype(case: CaseResult) -> str:
    """Of a case, a dash where its fields have none."""
    return str(case.fields.get("dtype", "\N{EN DASH}"))


def heat_maps(report: CheckReport) -> tuple[list[HeatMap], dict[int, Place]]:
    """The maps of a report, and the place of each case by its number in ``report.cases``."""
    families: dict[tuple[str, tuple[str, ...]], list[tuple[int, SuiteResult, CaseResult, Sizes | None]]] = {}
    for number, (suite, case) in enumerate(report.cases):
        size = sizes(suite.op, case.fields)
        names = tuple(name for name, _ in size) if size else ()
        families.setdefault((suite.op, names), []).append((number, suite, case, size))
    maps: list[HeatMap] = []
    places: dict[int, Place] = {}
    for (op, names), members in sorted(families.items()):
        shapes = {number: _shape(case, size) for number, _, case, size in members if size}
        rows, cols, at = _axes(names, shapes.values())
        cells: dict[Place, Cell] = {}
        for number, suite, case, size in members:
            row, col = at[shapes[number]] if size else (0, 0)
            place = Place(len(maps), f"{suite.platform}, {suite.mode}", dtype(case), row, col)
            if place not in cells:
                cells[place] = Cell(_label(op, place, rows, cols))
            cells[place].counts[case.outcome] += 1
            places[number] = place
        maps.append(HeatMap(op, rows, cols, cells))
    return maps, places


Shape = tuple[int, int, str]
"""The two numbers that size a case; and for a case that is sized by a list, its items."""


def _shape(case: CaseResult, size: Sizes) -> Shape:
    items = case.fields.get(size[0][0])
    return size[0][1], size[1][1], " + ".join(f"{item:,}" for item in items) if isinstance(items, list) else ""


def _axes(names: Sequence[str], shapes: Iterable[Shape]) -> tuple[Axis, Axis, dict[Shape, tuple[int, int]]]:
    """Both sides of a map, and the row and column of each shape."""
    distinct = sorted(set(shapes))
    if not distinct:
        return Axis("", ("",)), Axis("shape", ("any",)), {}
    if len(distinct) <= MOST_SHAPES:
        title = names[0] if distinct[0][2] else " \N{MULTIPLICATION SIGN} ".join(names)
        labels = tuple(items or f"{rows:,} \N{MULTIPLICATION SIGN} {cols:,}" for rows, cols, items in distinct)
        return Axis("", ("",)), Axis(title, labels), {shape: (0, at) for at, shape in enumerate(distinct)}
    row_labels, row_of = _bins({rows for rows, _, _ in distinct}, MOST_ROWS)
    col_labels, col_of = _bins({cols for _, cols, _ in distinct}, MOST_COLS)
    places = {shape: (row_of[shape[0]], col_of[shape[1]]) for shape in distinct}
    return Axis(names[0], row_labels), Axis(names[1], col_labels), places


def _bins(values: Iterable[int], most: int) -> tuple[tuple[str, ...], dict[int, int]]:
    """Labels in order, at most ``most`` if powers of two are enough, and the number of that of each value."""
    ordered = sorted(values)
    if len(ordered) <= most:
        return tuple(f"{value:,}" for value in ordered), {value: at for at, value in enumerate(ordered)}
    for cuts in range(FINEST, -1, -1):
        bins: dict[tuple[int, int], list[int]] = {}
        for value in ordered:
            octave = value.bit_length()
            bins.setdefault((octave, value >> max(octave - 1 - cuts, 0)), []).append(value)
        if len(bins) <= most:
            break
    labels = tuple(
        f"{held[0]:,}" if len(held) == 1 else f"{held[0]:,}\N{EN DASH}{held[-1]:,}" for held in bins.values()
    )
    return labels, {value: at for at, held in enumerate(bins.values()) for value in held}


def _label(op: str, place: Place, rows: Axis, cols: Axis) -> str:
    words = [f"{op} on {place.group}", place.dtype]
    words += [f"{axis.name} {axis.labels[at]}" for axis, at in ((rows, place.row), (cols, place.col)) if axis.name]
    return ": ".join((words[0], ", ".join(words[1:])))


def shares(report: CheckReport) -> list[Share]:
    """What the failures of an op share: its fields whose values failed in different measure, the most telling first.

    To the fields of the spec come platform, mode, and the largest power of two that divides the columns, which tells
    tails from whole blocks.
    """
    counts: dict[tuple[str, str], dict[str, Counter[bool]]] = {}
    for suite, case in report.cases:
        # A case that was not run says nothing; one that the compiler refused says nothing of its values either.
        if case.outcome is Outcome.NOT_RUN or (case.outcome is Outcome.FAILED and case.code == "PTG505"):
            continue
        for name, value in _traits(suite, case):
            counts.setdefault((suite.op, name), {}).setdefault(value, Counter())[case.outcome is Outcome.FAILED] += 1
    telling = []
    for (op, name), values in counts.items():
        rates = [count[True] / count.total() for count in values.values()]
        if 1 < len(values) <= MOST_FIELD_VALUES and max(rates) > min(rates):
            telling.append((op, min(rates) - max(rates), name, values))
    return [
        Share(op, name, value, count[True], count.total())
        for op, _, name, values in sorted(telling, key=lambda row: row[:3])
        for value, count in sorted(
            values.items(), key=lambda item: (-item[1][True] / item[1].total(), _natural(item[0]))
        )
    ]


def _traits(suite: SuiteResult, case: CaseResult) -> list[tuple[str, str]]:
    """What a case has in common with others, by name."""
    found = [("platform", suite.platform), ("mode", suite.mode)]
    found += [
        (name, as_text(value))
        for name, value in case.fields.items()
        if name not in ("name", "ub") and value is not None
    ]
    if size := sizes(suite.op, case.fields):
        name, value = size[1]
        power = value & -value
        found.append((f"power of two that divides {name}", str(power) if power < 64 else "64 or more"))
    return found


def as_text(value: Any) -> str:
    """A value of a field as the spec writes it."""
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False)


def _natural(text: str) -> tuple[int, str]:
    """Numbers in order, before words."""
    digits = text.replace(",", "")
    return (int(digits), "") if digits.isascii() and digits.isdigit() else (1 << 62, text)
