"""The plan: the frozen result of planning one case. The checker and every renderer read it; nobody changes it.

A program is a tree: loops hold steps. Positions inside a loop are affine in the loop variables, so a plan stays as long
as its text and not as its run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, Generic, TypeVar

from ptogen.ops.attributes import Attributes
from ptogen.ops.base import Op
from ptogen.ops.sizing import Tensor
from ptogen.platforms import Pipe
from ptogen.tiles import TileType


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
        if other is ZERO:
            return self
        if not self.terms and not other.terms:
            return Affine(self.const + other.const)
        factors = dict(self.terms)
        for name, factor in other.terms:
            factors[name] = factors.get(name, 0) + factor
        return Affine(self.const + other.const, tuple((name, factor) for name, factor in factors.items() if factor))

    def times(self, factor: int) -> Affine:
        if self is ZERO or factor == 1:
            return self
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
class Tile(TileType):
    """A tile in UB.

    Attributes:
        name: unique in the plan.
        operand: the ISA operand that it serves.
        align: alignment of its first byte.
        offset: byte address in UB. In auto mode the compiler places tiles; the number then only proves that they fit.
    """

    name: str
    operand: str
    align: int
    offset: int = 0

    @property
    def end(self) -> int:
        """One past its last byte."""
        return self.offset + self.bytes

    @property
    def window(self) -> Window:
        """All of it."""
        return Window(self.dtype, self.rows, self.cols, self.valid_rows, self.valid_cols, self.name, layout=self.layout)


def _offset(row: Affine, col: Affine, within: TileType | Tensor) -> Affine:
    """Elements from the first of ``within`` to the one at a place."""
    if row is ZERO and col is ZERO:
        return ZERO
    down, along = within.strides
    return row.times(down) + col.times(along)


@dataclass(frozen=True)
class Window(TileType):
    """What a step uses of a tile: all of it, or consecutive elements that are a tile of their own for a header.

    Attributes:
        tile: name of the tile.
        row, col: where it starts in the tile.
    """

    tile: str
    row: Affine = ZERO
    col: Affine = ZERO

    def address(self, tile: Tile) -> Affine:
        """Its first byte in UB, given its tile."""
        return Affine(tile.offset) + _offset(self.row, self.col, tile).times(tile.dtype.bytes)


@dataclass(frozen=True)
class GmWindow:
    """A rectangle of a GM tensor, in elements."""

    tensor: str
    rows: int
    cols: int
    row: Affine = ZERO
    col: Affine = ZERO

    def offset(self, tensor: Tensor) -> Affine:
        """Elements from the first of the tensor to its own first."""
        return _offset(self.row, self.col, tensor)


@dataclass(frozen=True)
class Load:
    """TLOAD on PIPE_MTE2."""

    dst: Window
    src: GmWindow

    @property
    def args(self) -> tuple[tuple[str, Window], ...]:
        """(operand name, window) of its one tile."""
        return (("dst", self.dst),)

    @property
    def window(self) -> Window:
        """What it uses in UB."""
        return self.dst

    @property
    def gm(self) -> GmWindow:
        """What it uses in GM."""
        return self.src


@dataclass(frozen=True)
class Store:
    """TSTORE on PIPE_MTE3."""

    dst: GmWindow
    src: Window

    @property
    def args(self) -> tuple[tuple[str, Window], ...]:
        """(operand name, window) of its one tile."""
        return (("src", self.src),)

    @property
    def window(self) -> Window:
        """What it uses in UB."""
        return self.src

    @property
    def gm(self) -> GmWindow:
        """What it uses in GM."""
        return self.dst


@dataclass(frozen=True)
class Instruction:
    """A PTO instruction.

    Attributes:
        op: its entry in the catalogue; every stage asks this one.
        args: (operand name, window) in the order of its parameters.
        pipe: where the planner expects it to run.
        attributes: what it takes besides tiles, by name.
        events: (source pipe, destination pipe, event id) that it uses inside.
    """

    op: Op
    args: tuple[tuple[str, Window], ...]
    pipe: Pipe = Pipe.V
    attributes: Attributes = ()
    events: tuple[tuple[Pipe, Pipe, int], ...] = ()


@dataclass(frozen=True)
class SetFlag:
    args: ClassVar[tuple[tuple[str, Window], ...]] = ()
    src: Pipe
    dst: Pipe
    event: int


@dataclass(frozen=True)
class WaitFlag:
    args: ClassVar[tuple[tuple[str, Window], ...]] = ()
    src: Pipe
    dst: Pipe
    event: int


@dataclass(frozen=True)
class Barrier:
    """pipe_barrier: later steps of the pipe start after the earlier ones have ended."""

    args: ClassVar[tuple[tuple[str, Window], ...]] = ()
    pipe: Pipe


@dataclass(frozen=True)
class Loop:
    """``body`` for each ``variable`` from 0 to ``count - 1``."""

    args: ClassVar[tuple[tuple[str, Window], ...]] = ()
    variable: str
    count: int
    body: tuple[Step, ...]


Step = Load | Store | Instruction | SetFlag | WaitFlag | Barrier | Loop
Program = tuple[Step, ...]

R = TypeVar("R")


class Visitor(Generic[R]):
    """Does something with each kind of step; what a subclass does not say falls to :meth:`other`."""

    def visit(self, step: Step) -> R:
        """What the method of the step's kind gives."""
        result: R = getattr(self, _METHODS[type(step)])(step)
        return result

    def other(self, step: Step) -> R:
        raise AssertionError(f"{type(self).__name__} is not made for {step}")

    def load(self, step: Load) -> R:
        return self.other(step)

    def store(self, step: Store) -> R:
        return self.other(step)

    def instruction(self, step: Instruction) -> R:
        return self.other(step)

    def set_flag(self, step: SetFlag) -> R:
        return self.other(step)

    def wait_flag(self, step: WaitFlag) -> R:
        return self.other(step)

    def barrier(self, step: Barrier) -> R:
        return self.other(step)

    def loop(self, step: Loop) -> R:
        return self.other(step)


_METHODS = {
    Load: "load",
    Store: "store",
    Instruction: "instruction",
    SetFlag: "set_flag",
    WaitFlag: "wait_flag",
    Barrier: "barrier",
    Loop: "loop",
}


@dataclass(frozen=True)
class KernelPlan:
    """The plan of one case.

    Attributes:
        case: case name.
        name: of the kernel: the op's, or that of a kernel of several.
        platform, mode: names.
        ub_bytes: capacity it was planned for.
        tensors: GM tensors in the order of the kernel's parameters.
        tiles: in the order of placement.
        program: the steps.
        live_bytes: the largest sum of bytes that are live at one moment, a lower bound of ``used_bytes``.
    """

    case: str
    name: str
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

    @cached_property
    def _tiles(self) -> dict[str, Tile]:
        return {tile.name: tile for tile in self.tiles}

    @cached_property
    def _tensors(self) -> dict[str, Tensor]:
        return {tensor.name: tensor for tensor in self.tensors}

    def tile(self, name: str) -> Tile:
        return self._tiles[name]

    def tensor(self, name: str) -> Tensor:
        return self._tensors[name]


def walk(program: Program) -> Iterator[Step]:
    """Every step of the text, loops and what stands in them once."""
    for step in program:
        yield step
        if isinstance(step, Loop):
            yield from walk(step.body)


def rewritten(program: Program, change: Callable[[Step], tuple[Step, ...]]) -> Program:
    """The program with every step replaced by what ``change`` makes of it, those in loops first."""
    steps = (replace(step, body=rewritten(step.body, change)) if isinstance(step, Loop) else step for step in program)
    return tuple(new for step in steps for new in change(step))


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
