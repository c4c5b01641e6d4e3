"""From the rows of a matrix to suites of a sensible size, with names of their own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ptogen.graph.model import Graph
from ptogen.matrix.expand import DUPLICATE, Group, Row
from ptogen.matrix.rows import Dropped, Expand, rows_of
from ptogen.ops import catalogue
from ptogen.platforms import PLATFORMS
from ptogen.spec.case import apart
from ptogen.spec.matrix import Matrix
from ptogen.spec.model import Path, Suite


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


def suites(matrix: Matrix, expand: Expand, dropped: Dropped, ub_bytes: int | None = None) -> Iterator[SuiteRows]:
    """The suites of a matrix, from the rows that :func:`rows_of` gives; the arguments are the same.

    With the strategies ``pairwise`` and ``sample`` all rows are chosen before the first suite comes.
    """
    for group, rows in rows_of(matrix, expand, dropped, ub_bytes):
        prefix = _prefix(matrix, group)
        unique = _unique(group, rows, dropped)
        for number, start in enumerate(range(0, len(unique), matrix.max_cases), 1):
            yield SuiteRows(group, f"{prefix}_{number}", tuple(unique[start : start + matrix.max_cases]))


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
