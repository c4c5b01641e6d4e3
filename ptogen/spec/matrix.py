"""Reads a matrix file: the fields of a spec, each with one value or many, and what to make of their combinations.

    matrix:                       # or a list of such maps
      op: tsort32
      platform: [a2a3, a5]
      dtype: [float32, float16]
      rows: {min: 1, max: 9, step: 4}
      cols: {boundaries: [1, 8192]}
      valid: [default, [1, 5]]
    strategy: pairwise            # all | pairwise | boundaries | sample: 100
    where: rows * cols < 100000

Nothing is combined here. A :class:`Space` is one map: its fields are axes, and a combination takes one value of each.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from math import prod
from pathlib import Path as FilePath
from typing import Any, get_args

from ptogen.dtypes import DTYPES
from ptogen.errors import Diagnostic
from ptogen.ops.base import Op
from ptogen.ops.case import DATA_KINDS
from ptogen.platforms import PLATFORMS
from ptogen.spec.carried import Carried
from ptogen.spec.expression import Expression, ExpressionError
from ptogen.spec.load import MODES
from ptogen.spec.model import Marks, Path

MAX_COMBINATIONS = 1_000_000
"""Most combinations of a matrix that are looked at, and most cases of one."""

MAX_PAIRWISE = 200_000
"""Most combinations from which ``pairwise`` chooses, and most pairs of values that it looks for where there are more:
it holds all of them at once."""

HEAD = ("op", "platform", "mode")
"""The axes that say which suite a combination belongs to."""

DEFAULT = "default"
"""The value that leaves a field out."""


@dataclass(frozen=True)
class Axis:
    """A field and its values.

    Attributes:
        values: in the order of the file; a range stays one.
        path: where they stand.
        listed: whether each value has a place of its own below ``path``.
        bounded: whether only the values count at which the rules of the op change.
    """

    values: Sequence[Any]
    path: Path
    listed: bool = False
    bounded: bool = False

    def place(self, value: Any) -> Path:
        """Where a value stands."""
        return (*self.path, list(self.values).index(value)) if self.listed and value in self.values else self.path


@dataclass(frozen=True)
class Space:
    """One map of axes; ``op``, ``platform`` and ``mode`` come first and are never missing."""

    path: Path
    axes: Mapping[str, Axis]

    @property
    def free(self) -> dict[str, Axis]:
        """The axes besides ``op``, ``platform`` and ``mode`` whose values depend on nothing."""
        return {field: axis for field, axis in self.axes.items() if field not in HEAD and not axis.bounded}

    @property
    def combinations(self) -> int:
        """How many there are, before boundaries are found."""
        return prod(len(axis.values) for axis in self.axes.values() if not axis.bounded)

    @property
    def bounded(self) -> dict[str, Axis]:
        """The axes whose values are found for each combination of the others, in the order of the file."""
        return {field: axis for field, axis in self.axes.items() if axis.bounded}


@dataclass(frozen=True)
class Matrix:
    """A matrix file that has been read.

    Attributes:
        stem: what the file is called, without its ending; names the record of what it made.
        name: put in front of the names of its suites, or None.
        spaces: the maps under ``matrix``.
        include: spaces whose combinations are made whatever the strategy and the filters say.
        exclude: partial combinations; what agrees with one in every field is left out.
        where: a condition that every combination of ``spaces`` must meet.
        strategy: ``all``, ``pairwise``, ``boundaries`` or ``sample``.
        sample, seed: how many combinations ``sample`` draws, and from which seed.
        max_cases: cases of one ST directory at most.
        strict: whether a combination that cannot exist is an error.
        marks: places in the file.
        base: folder that a ``.npy`` path in ``data`` is relative to.
        digest: SHA-256 of all that the file says, the data files that it names included.
        data_files: those files, as they are named; a matrix that is pickled takes them along.
    """

    stem: str
    name: str | None
    spaces: tuple[Space, ...]
    include: tuple[Space, ...]
    exclude: tuple[Mapping[str, Axis], ...]
    where: Expression | None
    strategy: str
    sample: int
    seed: int
    max_cases: int
    strict: bool
    marks: Marks
    base: FilePath
    digest: str
    data_files: tuple[str, ...] = ()

    @property
    def is_drawn(self) -> bool:
        """Whether there are so many combinations that its strategy draws from them, and never looks at each."""
        most = {"sample": MAX_COMBINATIONS, "pairwise": MAX_PAIRWISE}.get(self.strategy)
        return most is not None and sum(space.combinations for space in self.spaces) > most

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "base": Carried(self.base, self.data_files)}

    def where_fault(self, error: ExpressionError) -> Diagnostic:
        """What is wrong with ``where`` for the values that it met."""
        return Diagnostic("PTG114", f"where: {error.message}", self.marks.at(("where",)), hint=error.hint)


def fields_of(ops: Mapping[str, Op], names: Iterable[str]) -> list[str]:
    """The fields that an expression about combinations of these ops may name."""
    fields = chain.from_iterable(ops[name].Case.model_fields for name in dict.fromkeys(names))
    return list(dict.fromkeys([*HEAD, *(field for field in fields if field not in ("name", "ub"))]))


def words_of(ops: Mapping[str, Op]) -> list[str]:
    """The words that stand for themselves in an expression."""
    literals = (
        word for op in ops.values() for field in op.Case.model_fields.values() for word in _literals(field.annotation)
    )
    return list(dict.fromkeys([*ops, *PLATFORMS, *MODES, *DTYPES, *DATA_KINDS, *literals]))


def _literals(annotation: Any) -> Iterator[str]:
    for arg in get_args(annotation):
        if isinstance(arg, str):
            yield arg
        else:
            yield from _literals(arg)
