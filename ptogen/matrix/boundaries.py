"""The values at which an op's rules change, found by asking the op itself.

Every value of the interval is asked for its *signature*: what the rules say of it, leaving out the numbers that grow
with it. Where two neighbours differ the rules have changed. A change comes back all along a long interval (each block
of 32 columns has an edge), so of each kind of change, the signatures before and after it, the first and the last place
count.

Nothing is taken for granted, such as that the rules change only at multiples of a block, so no change can be missed.
The price is a question for every value: about 50 microseconds, or half a second for an interval of 8,192 values, a
platform and a dtype. Answers are kept, so combinations that differ in their data only ask once.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from ptogen.graph.model import Graph
from ptogen.ops.base import Op
from ptogen.ops.case import CaseFields
from ptogen.ops.sizing import Operand, Sizing
from ptogen.plan.planner import fits
from ptogen.platforms import Platform

MANY = 3
"""From so many parts on, one more is no change of the rules."""


def signature(op: Op, case: CaseFields, platform: Platform, mode: str, ub_bytes: int, base: Path) -> Hashable:
    """What the rules say of a case: refused and why, or the form of its tiles and instructions and whether they fit."""
    if mode not in platform.modes:
        return ()
    if faults := op.rules(case, platform, mode, base):
        return tuple(sorted({(fault.code, fault.field) for fault in faults}))
    sizing = op.sizing(case, platform)
    return _form(sizing), fits(Graph.of(op), sizing, mode, ub_bytes, case.ub)


def _form(sizing: Sizing) -> Hashable:
    """The form of tiles and instructions, without the numbers that grow with a case."""
    operands = tuple([_operand(operand, sizing) for operand in sizing.operands])
    does = groupby(sizing.parts, key=attrgetter("args", "pipe", "attributes"))
    forms = [(args, pipe, tuple(name for name, _ in attributes)) for (args, pipe, attributes), _ in does]
    return operands, (min(len(sizing.parts), MANY), tuple(form for form, _ in groupby(forms))), sizing.row_by_row


def _operand(operand: Operand, sizing: Sizing) -> Hashable:
    """Whether a tile is as large as its valid region, and whether smaller or larger than the first one."""
    first = sizing.operands[0]
    return (
        operand.name,
        operand.valid_rows == operand.rows,
        operand.valid_cols == operand.cols,
        operand.rows == 1,
        (operand.rows > first.rows) - (operand.rows < first.rows),
        (operand.cols > first.cols) - (operand.cols < first.cols),
    )


def boundaries(values: Sequence[int], signatures: Sequence[Hashable]) -> tuple[int, ...]:
    """The first and the last value, and both sides of every kind of change at its first and its last place."""
    chosen = {0, len(values) - 1}
    last: dict[tuple[Hashable, Hashable], int] = {}
    for place in range(1, len(values)):
        change = signatures[place - 1], signatures[place]
        if change[0] != change[1]:
            if change not in last:
                chosen.update((place - 1, place))
            last[change] = place
    for place in last.values():
        chosen.update((place - 1, place))
    return tuple(values[place] for place in sorted(chosen))


class Boundaries:
    """Finds boundaries and remembers them."""

    def __init__(self) -> None:
        self._known: dict[Hashable, tuple[int, ...]] = {}

    def of(
        self,
        op: Op,
        fields: dict[str, Any],
        field: str,
        values: Sequence[int],
        platform: Platform,
        mode: str,
        ub_bytes: int,
        base: Path,
    ) -> tuple[int, ...]:
        """The boundaries of ``field`` in ``values``, the other fields given."""
        # Neither the values of the data nor their names reach a rule about shapes.
        context = {key: value for key, value in fields.items() if key not in ("data", "seed", "name")}
        known = (
            op.name,
            platform.name,
            mode,
            ub_bytes,
            field,
            tuple(values[:2]),
            len(values),
            repr(sorted(context.items())),
        )
        if known not in self._known:
            signatures = [
                self._signature(op, {**context, field: value}, platform, mode, ub_bytes, base) for value in values
            ]
            self._known[known] = boundaries(values, signatures)
        return self._known[known]

    @staticmethod
    def _signature(
        op: Op, fields: dict[str, Any], platform: Platform, mode: str, ub_bytes: int, base: Path
    ) -> Hashable:
        try:
            case = op.Case.model_validate(fields)
        except ValidationError as error:
            return tuple(
                item["loc"] for item in error.errors(include_url=False, include_context=False, include_input=False)
            )
        return signature(op, case, platform, mode, ub_bytes, base)
