"""From the axes of a matrix to the cases that exist, slice by slice, so that slices can be expanded anywhere."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from math import prod
from random import Random
from typing import Any, NamedTuple

from pydantic import ValidationError

from ptogen.errors import Diagnostic, PtogenError
from ptogen.graph.model import Graph
from ptogen.matrix.boundaries import Boundaries
from ptogen.ops import catalogue
from ptogen.ops.base import Op
from ptogen.ops.case import CaseFields
from ptogen.plan.planner import fits, plan_case
from ptogen.platforms import PLATFORMS, Platform
from ptogen.spec.case import case_name
from ptogen.spec.expression import ExpressionError
from ptogen.spec.fields import shaped
from ptogen.spec.matrix import DEFAULT, HEAD, MAX_COMBINATIONS, Axis, Matrix

SLICE = 2_048
"""Combinations of the free axes that are expanded at a time."""

MAX_FAULTS = 200

EXCLUDED, DUPLICATE, CHOSEN = "excluded", "duplicate", "strategy"
"""Why a combination is left out, besides the code of a rule that it breaks."""


class Group(NamedTuple):
    """What the cases of one run of suites have in common."""

    op: str
    platform: str
    mode: str


class Row(NamedTuple):
    """A case: its name, its fields as JSON, and its dtype for the table."""

    name: str
    text: str
    dtype: str
    free: bool = True
    """Whether a strategy may leave it out."""


class Slice(NamedTuple):
    """Some combinations of the axes of a space, for one group; inclusions count behind spaces."""

    group: Group
    space: int
    places: Sequence[int]
    """Numbers of combinations of the free axes, the last axis counting fastest."""
    drawn: int | None = None
    """A seed where each place stands for one combination, and not for all boundaries that its free axes have."""


@dataclass
class Expanded:
    """What became of a slice.

    Attributes:
        rows: the cases that exist.
        dropped: how many others there are, by dtype and reason.
        examples: a message for each reason.
        faults: the same as errors, where the matrix wants them.
    """

    rows: list[Row] = field(default_factory=list)
    dropped: Counter[tuple[str, str]] = field(default_factory=Counter)
    examples: dict[str, str] = field(default_factory=dict)
    faults: list[Diagnostic] = field(default_factory=list)


def groups_of(matrix: Matrix) -> dict[Group, list[int]]:
    """The spaces of each group, by their numbers."""
    groups: dict[Group, list[int]] = {}
    for number, space in enumerate((*matrix.spaces, *matrix.include)):
        for group in product(*(space.axes[key].values for key in HEAD)):
            groups.setdefault(Group(*group), []).append(number)
    return groups


def slices(matrix: Matrix, included_only: bool = False) -> Iterator[Slice]:
    """All of a matrix, group by group."""
    spaces = (*matrix.spaces, *matrix.include)
    for group, numbers in groups_of(matrix).items():
        for number in numbers[bisect_left(numbers, len(matrix.spaces)) if included_only else 0 :]:
            total = prod(len(axis.values) for axis in spaces[number].free.values())
            for start in range(0, total, SLICE):
                yield Slice(group, number, range(start, min(start + SLICE, total)))


class Expander:
    """Expands slices of one matrix; remembers the boundaries that it has found."""

    def __init__(self, matrix: Matrix, ub_bytes: int | None) -> None:
        self.matrix = matrix
        self.ub_bytes = ub_bytes
        self.found = Boundaries()
        self._at_work: dict[tuple[Group, int], Combinations] = {}

    def of(self, group: Group, space: int) -> Combinations:
        """The combinations of a space for a group."""
        if (group, space) not in self._at_work:
            self._at_work[group, space] = Combinations(self, group, space)
        return self._at_work[group, space]

    def expand(self, piece: Slice) -> Expanded:
        """The cases of a slice."""
        return self.of(piece.group, piece.space).expanded(piece.places, piece.drawn)


class Combinations:
    """Those of one space for one group."""

    def __init__(self, owner: Expander, group: Group, number: int) -> None:
        self.matrix = owner.matrix
        self.found = owner.found
        self.space = (*owner.matrix.spaces, *owner.matrix.include)[number]
        self.filtered = number < len(owner.matrix.spaces)
        self.op: Op = catalogue()[group.op]
        self.platform: Platform = PLATFORMS[group.platform]
        self.mode = group.mode
        self.ub_bytes = owner.ub_bytes or self.platform.ub_bytes
        self.head = group._asdict()
        self.defaults = {
            name: info.default for name, info in self.op.Case.model_fields.items() if not info.is_required()
        }
        self.axes = {name: self._values(name, axis) for name, axis in self.space.free.items()}
        self.result = Expanded()

    def expanded(self, places: Iterable[int], drawn: int | None = None) -> Expanded:
        """The cases at these places."""
        self.result = Expanded()
        for place in places:
            for fields in self._bounded(self._fields(place), list(self.space.bounded.items()), drawn):
                if len(self.result.rows) > MAX_COMBINATIONS:
                    message = f"the matrix has more than {MAX_COMBINATIONS:,} combinations"
                    where = self.matrix.marks.at(self.space.path)
                    self.result.faults.append(Diagnostic("PTG103", message, where, hint="give fewer values"))
                    return self.result
                if self.filtered and self._is_excluded(fields):
                    self.result.dropped[fields.get("dtype", ""), EXCLUDED] += 1
                else:
                    self._case(fields)
        return self.result

    def may_exist(self, digits: Mapping[str, int | None]) -> bool:
        """False where ``exclude`` and ``where`` leave no combination with these values, each by its place on its axis;
        None stands for any, as do the op's defaults where the op is open."""
        if not self.matrix.exclude and not self.matrix.where:
            return True
        values = {**self.defaults, **self.head}
        open_: set[str] = set()
        if digits["op"] is None:
            open_.update(name for name in self.defaults if name not in digits)
        for name, digit in digits.items():
            if digit is None:
                open_.add(name)
            elif name not in HEAD and (value := self.axes[name][digit]) != DEFAULT:
                values[name] = value
        if any(open_.isdisjoint(item) and self._agrees(values, item) for item in self.matrix.exclude):
            return False
        return self.matrix.where is None or self.matrix.where.may_hold(values, open_)

    def _fields(self, place: int) -> dict[str, Any]:
        """The fields of a combination of the free axes, without ``op``, ``platform`` and ``mode``."""
        fields: dict[str, Any] = {}
        for name in reversed(self.axes):
            place, own = divmod(place, len(self.axes[name]))
            if (value := self.axes[name][own]) != DEFAULT:
                fields[name] = value
        return dict(reversed(fields.items()))

    def _values(self, name: str, axis: Axis) -> Sequence[Any]:
        annotation = self.op.Case.model_fields[name].annotation
        return axis.values if isinstance(axis.values, range) else [shaped(annotation, value) for value in axis.values]

    def _bounded(
        self, fields: dict[str, Any], axes: list[tuple[str, Axis]], drawn: int | None
    ) -> Iterator[dict[str, Any]]:
        """One after the other: those that are still to come count with their smallest value."""
        if not axes:
            yield fields
            return
        (name, axis), *rest = axes
        context = {**fields, **{other: later.values[0] for other, later in rest}}
        values = self.found.of(
            self.op, context, name, axis.values, self.platform, self.mode, self.ub_bytes, self.matrix.base
        )
        if drawn is not None:
            values = (Random(f"{drawn} {name} {context}").choice(values),)
        for value in values:
            yield from self._bounded({**fields, name: value}, rest, drawn)

    def _agrees(self, values: Mapping[str, Any], item: Mapping[str, Axis]) -> bool:
        return all(_among(values.get(name), axis, self.defaults.get(name)) for name, axis in item.items())

    def _is_excluded(self, fields: Mapping[str, Any]) -> bool:
        if not self.matrix.exclude and not self.matrix.where:
            return False
        values = {**self.defaults, **self.head, **fields}
        if any(self._agrees(values, item) for item in self.matrix.exclude):
            return True
        try:
            return self.matrix.where is not None and not self.matrix.where.holds(values)
        except ExpressionError as error:
            if not self.result.faults:
                self.result.faults.append(self.matrix.where_fault(error))
            return True

    def _case(self, fields: dict[str, Any]) -> None:
        try:
            case = self.op.Case.model_validate(fields)
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            name = str(first["loc"][0]) if first["loc"] else ""
            self._drop(fields, name, "PTG106", f"{name or 'the case'}: {first['msg'].lower()}")
            return
        name = case_name(self.op, case)
        if self.mode not in self.platform.modes:
            self._drop(fields, "mode", "PTG203", f"mode {self.mode} does not exist on platform {self.platform}")
        elif faults := self.op.rules(case, self.platform, self.mode, self.matrix.base):
            for fault in faults if self.matrix.strict else faults[:1]:
                self._drop(fields, fault.field, fault.code, fault.message, fault.hint, name)
        elif not self._fits(case):
            message = f"{name} does not fit the {self.ub_bytes:,} B of UB on {self.platform}"
            self._drop(fields, "", "PTG301", message)
        elif short := self._short_of_flags(case):
            self._drop(fields, "", short.code, f"{name} on {self.platform}: {short.message}", short.hint)
        else:
            text = case.model_dump_json(exclude_none=True, exclude={"name"})
            self.result.rows.append(Row(name, text, fields.get("dtype", ""), self.filtered))

    def _fits(self, case: CaseFields) -> bool:
        return fits(Graph.of(self.op), self.op.sizing(case, self.platform), self.mode, self.ub_bytes, case.ub)

    def _short_of_flags(self, case: CaseFields) -> Diagnostic | None:
        """PTG302; only a case of several instructions can need so many flags, and is planned to see it."""
        sizing = self.op.sizing(case, self.platform)
        if self.mode == "auto" or len(sizing.parts) * len(sizing.operands) <= self.platform.event_ids:
            return None
        try:
            plan_case(Graph.of(self.op), case, self.platform, self.mode, self.ub_bytes)
        except PtogenError as error:
            return error.diagnostics[0]
        return None

    def _drop(
        self, fields: Mapping[str, Any], at: str, code: str, message: str, hint: str | None = None, name: str = ""
    ) -> None:
        self.result.dropped[fields.get("dtype", ""), code] += 1
        self.result.examples.setdefault(code, message)
        if self.matrix.strict and len(self.result.faults) < MAX_FAULTS:
            top = at.split(".")[0]
            axis = self.space.axes.get(top)
            value = {**self.head, **fields}.get(top)
            path = axis.place(list(value) if isinstance(value, tuple) else value) if axis else self.space.path
            message = f"{message} (the combination {name})" if name and name not in message else message
            self.result.faults.append(Diagnostic(code, message, self.matrix.marks.at(path), hint=hint))


def _among(value: Any, axis: Axis, default: Any) -> bool:
    if isinstance(axis.values, range):
        return type(value) is int and value in axis.values  # anything else would be looked for one by one
    value = list(value) if isinstance(value, tuple) else value
    return value in axis.values or (DEFAULT in axis.values and value == default)
