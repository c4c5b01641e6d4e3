"""The plan: the frozen result of planning one case. The checker and every renderer read it; nobody changes it.

A program is a tree: loops hold steps. Positions inside a loop are affine in the loop variables, so a plan stays as long
as its text and not as its run.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ptogen.dtypes import Dtype
from ptogen.ops.base import Arg, Tensor
from ptogen.platforms import Pipe


@dataclass(frozen=True)
class Affine:
    """``const`` plus the sum of ``factor * variable``; the variables are those of the enclosing loops."""

    const: int = 0
    terms: tuple[tuple[str, int], ...] = ()

    def at(self, variables: Mapping[str, int]) -> int:
        if not self.terms:
            return self.const
        return self.const + sum(factor * variables[name] for name, factor in self.terms)

    def __add__(self, other: Affine) -> Affine:
        if not self.terms and not other.terms:
            return Affine(self.const + other.const)
        factors = dict(self.terms)
        for name, factor in other.terms:
            factors[name] = factors.get(name, 0) + factor
        return Affine(self.const + other.const, tuple((name, factor) for name, factor in factors.items() if factor))

    def times(self, factor: int) -> Affine:
        if not self.terms:
            return Affine(self.const * factor)
        return Affine(self.const * factor, tuple((name, own * factor) for name, own in self.terms if factor))

    def __str__(self) -> str:
        parts = [f"{name} * {factor}" if factor != 1 else name for name, factor in self.terms]
        if self.const or not parts:
            parts.insert(0, str(self.const))
        return " + ".join(parts)


ZERO = Affine()


@dataclass(frozen=True)
class Tile:
    """A row-major tile in UB.

    Attributes:
        name: unique in the plan.
        operand: the ISA operand that it serves.
        dtype: element type.
        rows, cols: physical shape in elements.
        valid_rows, valid_cols: valid region in elements.
        align: alignment of its first byte.
        offset: byte address in UB. In auto mode the compiler places tiles; the number then only proves that they fit.
    """

    name: str
    operand: str
    dtype: Dtype
    rows: int
    cols: int
    valid_rows: int
    valid_cols: int
    align: int
    offset: int

    @property
    def bytes(self) -> int:
        return self.rows * self.cols * self.dtype.bytes

    @property
    def end(self) -> int:
        """One past its last byte."""
        return self.offset + self.bytes


@dataclass(frozen=True)
class Window:
    """The part of a tile that a step uses: all of it, or consecutive columns of one row.

    Attributes:
        tile: name of the tile.
        rows, cols: physical shape of the part.
        valid_rows, valid_cols: its valid region.
        row, col: where it starts in the tile.
    """

    tile: str
    rows: int
    cols: int
    valid_rows: int
    valid_cols: int
    row: Affine = ZERO
    col: Affine = ZERO

    def arg(self, dtype: Dtype) -> Arg:
        """What a header sees of it."""
        return Arg(dtype, self.rows, self.cols, self.valid_rows, self.valid_cols)


@dataclass(frozen=True)
class GmWindow:
    """A rectangle of a GM tensor, in elements."""

    tensor: str
    rows: int
    cols: int
    row: Affine = ZERO
    col: Affine = ZERO


@dataclass(frozen=True)
class Load:
    """TLOAD on PIPE_MTE2."""

    dst: Window
    src: GmWindow


@dataclass(frozen=True)
class Store:
    """TSTORE on PIPE_MTE3."""

    dst: GmWindow
    src: Window


@dataclass(frozen=True)
class Instruction:
    """A PTO instruction.

    Attributes:
        op: name of the op in the catalogue.
        args: (operand name, window) in the order of its parameters.
        pipe: where the planner expects it to run.
        attributes: what it takes besides tiles, by name.
        events: (source pipe, destination pipe, event id) that it uses inside.
    """

    op: str
    args: tuple[tuple[str, Window], ...]
    pipe: Pipe = Pipe.V
    attributes: tuple[tuple[str, int | bool], ...] = ()
    events: tuple[tuple[Pipe, Pipe, int], ...] = ()


@dataclass(frozen=True)
class SetFlag:
    src: Pipe
    dst: Pipe
    event: int


@dataclass(frozen=True)
class WaitFlag:
    src: Pipe
    dst: Pipe
    event: int


@dataclass(frozen=True)
class Barrier:
    """pipe_barrier: later steps of the pipe start after the earlier ones have ended."""

    pipe: Pipe


@dataclass(frozen=True)
class Loop:
    """``body`` for each ``variable`` from 0 to ``count - 1``."""

    variable: str
    count: int
    body: tuple[Step, ...]


Step = Load | Store | Instruction | SetFlag | WaitFlag | Barrier | Loop
Program = tuple[Step, ...]


@dataclass(frozen=True)
class KernelPlan:
    """The plan of one case.

    Attributes:
        case: case name.
        op, platform, mode: names.
        ub_bytes: capacity it was planned for.
        tensors: GM tensors in the order of the kernel's parameters.
        tiles: in the order of placement.
        program: the steps.
        live_bytes: the largest sum of bytes that are live at one moment, a lower bound of ``used_bytes``.
    """

    case: str
    op: str
    platform: str
    mode: str
    ub_bytes: int
    tensors: tuple[Tensor, ...]
    tiles: tuple[Tile, ...]
    program: Program
    live_bytes: int

    @property
    def used_bytes(self) -> int:
        """One past the last byte of the last tile."""
        return max((tile.end for tile in self.tiles), default=0)

    def tile(self, name: str) -> Tile:
        return next(tile for tile in self.tiles if tile.name == name)

    def tensor(self, name: str) -> Tensor:
        return next(tensor for tensor in self.tensors if tensor.name == name)


def unroll(
    program: Program, variables: Mapping[str, int] | None = None, path: tuple[int, ...] = ()
) -> Iterator[tuple[Step, Mapping[str, int], tuple[int, ...]]]:
    """Every step in the order of issue, loops run, with the loop variables and the step's place in the tree."""
    variables = variables or {}
    for place, step in enumerate(program):
        if isinstance(step, Loop):
            for turn in range(step.count):
                yield from unroll(step.body, {**variables, step.variable: turn}, (*path, place))
        else:
            yield step, variables, (*path, place)
