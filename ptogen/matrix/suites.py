"""From the rows of a matrix to suites of a sensible size, with names of their own."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from ptogen.errors import Diagnostic, PtogenError
from ptogen.graph.model import Graph
from ptogen.matrix.expand import CHOSEN, DUPLICATE, Expanded, Group, Row, Slice
from ptogen.matrix.strategy import frozen, pairwise, sample
from ptogen.ops import catalogue
from ptogen.platforms import PLATFORMS
from ptogen.spec.case import apart
from ptogen.spec.load_matrix import MAX_COMBINATIONS
from ptogen.spec.matrix import Matrix
from ptogen.spec.model import Path, Suite

MAX_PAIRWISE = 200_000
"""Most combinations that ``pairwise`` chooses from: it looks at all of their pairs."""


@dataclass(frozen=True)
class SuiteRows:
    """The cases of one ST directory, still as rows."""

    group: Group
    name: str
    rows: tuple[Row, ...]

    @property
    def key(self) -> str:
        """As in :class:`ptogen.render.suite.RenderedSuite`."""
        return f"{self.group.platform}-{self.name}"

    def suite(self, matrix: Matrix, ub_bytes: int | None) -> Suite:
        """The same as a suite to plan; faults point at the map that its op stands in."""
        op, platform = catalogue()[self.group.op], PLATFORMS[self.group.platform]
        path: Path = next(space.path for space in matrix.spaces if self.group.op in space.axes["op"].values)
        cases = tuple(op.Case.model_validate_json(row.text).model_copy(update={"name": row.name}) for row in self.rows)
        return Suite(
            graph=Graph.of(op),
            platform=platform,
            mode=self.group.mode,
            name=self.name,
            cases=cases,
            ub_bytes=ub_bytes or platform.ub_bytes,
            marks=matrix.marks,
            paths=(path,) * len(cases),
            base=matrix.base,
        )


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


def suites(matrix: Matrix, results: Iterable[tuple[Slice, Expanded]], dropped: Dropped) -> Iterator[SuiteRows]:
    """The suites of a matrix, from what its slices became; what is left out is counted on the way.

    With the strategies ``pairwise`` and ``sample`` all rows are looked at before the first suite comes.

    Raises:
        PtogenError: PTG103, where there are too many combinations, and whatever the slices report.
    """
    groups: Iterable[tuple[Group, Sequence[Row]]] = _by_group(results, dropped)
    if matrix.strategy in ("pairwise", "sample"):
        groups = _chosen(matrix, groups, dropped)
    for group, rows in groups:
        prefix = _prefix(matrix, group)
        unique = _unique(group, rows, dropped)
        for number, start in enumerate(range(0, len(unique), matrix.max_cases), 1):
            yield SuiteRows(group, f"{prefix}_{number}", tuple(unique[start : start + matrix.max_cases]))


def _by_group(results: Iterable[tuple[Slice, Expanded]], dropped: Dropped) -> Iterator[tuple[Group, Sequence[Row]]]:
    faults: list[Diagnostic] = []
    total = 0
    for group, pieces in groupby(results, key=lambda result: result[0].group):
        rows: list[Row] = []
        for piece, expanded in pieces:
            dropped.add(piece.group, expanded)
            faults += expanded.faults
            rows += expanded.rows
            total += len(expanded.rows)
            if total > MAX_COMBINATIONS:
                message = f"the matrix has more than {MAX_COMBINATIONS:,} cases"
                raise PtogenError(
                    Diagnostic("PTG103", message, hint="give fewer values, or split it into several files")
                )
        if not faults:
            yield group, rows
    if faults:
        shown = sorted(dict.fromkeys(faults), key=lambda fault: str(fault.position))
        more = len(shown) - 200
        note = [Diagnostic(shown[200].code, f"and {more:,} more", severity="note")] if more > 0 else []
        raise PtogenError([*shown[:200], *note])


def _chosen(
    matrix: Matrix, groups: Iterable[tuple[Group, Sequence[Row]]], dropped: Dropped
) -> list[tuple[Group, Sequence[Row]]]:
    rows = [(group, row) for group, own in groups for row in own]
    places = [place for place, (_, row) in enumerate(rows) if row.free]
    if matrix.strategy == "sample":
        keys = (" ".join((*group, row.text)) for group, row in (rows[place] for place in places))
        chosen = sample(keys, matrix.sample, matrix.seed)
    else:
        if len(places) > MAX_PAIRWISE:
            message = f"pairwise chooses from at most {MAX_PAIRWISE:,} combinations, and there are {len(places):,}"
            raise PtogenError(
                Diagnostic("PTG103", message, matrix.marks.at(("strategy",)), hint="give fewer values, or use sample")
            )
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


def _unique(group: Group, rows: Sequence[Row], dropped: Dropped) -> list[Row]:
    """The rows without repetitions, each with a name of its own."""
    named: dict[str, Row] = {}
    seen: set[str] = set()
    for row in rows:
        if row.text in seen:
            dropped.counts[group, row.dtype, DUPLICATE] += 1
            continue
        seen.add(row.text)
        if row.name in named:
            row = row._replace(name=apart(row.name, row.text))
        named[row.name] = row
    return list(named.values())


def _prefix(matrix: Matrix, group: Group) -> str:
    ops = {op for space in matrix.spaces for op in space.axes["op"].values}
    name = group.op if matrix.name is None else matrix.name if len(ops) == 1 else f"{matrix.name}_{group.op}"
    return f"{name}_auto" if group.mode == "auto" else name
