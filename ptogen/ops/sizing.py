"""What a case needs, from the op's documents: GM tensors, tiles, instructions."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from ptogen.dtypes import Dtype
from ptogen.ops.attributes import Attributes
from ptogen.platforms import Pipe
from ptogen.tiles import Layout, Region, TileType


class Role(str, Enum):
    """What an instruction does with an operand."""

    IN = "in"
    OUT = "out"
    INOUT = "inout"
    TMP = "tmp"

    __hash__ = str.__hash__

    @property
    def reads(self) -> bool:
        """Whether the value that stands there before counts."""
        return self in (Role.IN, Role.INOUT)

    @property
    def writes(self) -> bool:
        """Whether a value stands there afterwards."""
        return self in (Role.OUT, Role.INOUT)


@dataclass(frozen=True)
class Tensor:
    """A tensor in GM.

    Attributes:
        name: kernel parameter; also names its array in the golden, ``golden_<name>`` the result of an INOUT.
        dtype: element type.
        rows, cols: shape in elements.
        valid_rows, valid_cols: the region at the origin that the kernel reads or writes.
        role: IN, OUT or INOUT.
        record: for a tensor of 8-byte (value, index) records the dtype of the value, else None.
        masked: other than 0 where only a part of the valid region is defined, and the golden says which
            (``mask_<name>``): how many bytes are at least.
        pitch: elements from one line to the next, a line being a row, or a column of a column-major tensor; None for
            lines that follow one another.
        layout: row-major or column-major (``Layout::ND``, ``Layout::DN`` of ``pto/common/type.hpp``).
        ulp: of an output: how many units in the last place its floats may be off; 0 for bit for bit.
        domain: of an input: the least and the greatest value for which the instruction keeps to ``ulp``; None for all.
    """

    name: str
    dtype: Dtype
    rows: int
    cols: int
    valid_rows: int
    valid_cols: int
    role: Role
    record: Dtype | None = None
    masked: int = 0
    pitch: int | None = None
    layout: Layout = Layout.ROW_MAJOR
    ulp: float = 0
    domain: tuple[float, float] | None = None

    @property
    def strides(self) -> tuple[int, int]:
        """Elements from one row to the next, and from one column to the next."""
        return (1, self.pitch or self.rows) if self.layout is Layout.COL_MAJOR else (self.pitch or self.cols, 1)

    @property
    def bytes(self) -> int:
        """From the first element to the end of the last line."""
        return max(self.rows * self.strides[0], self.cols * self.strides[1]) * self.dtype.bytes

    def region(self, rows: int, cols: int) -> Region:
        """The bytes of ``rows`` x ``cols`` elements at the origin, a run a line."""
        row, col = (stride * self.dtype.bytes for stride in self.strides)
        if self.layout is Layout.COL_MAJOR:
            return Region(0, rows * row, cols, col)
        return Region(0, cols * col, rows, row)


@dataclass(frozen=True)
class Operand(TileType):
    """A tile that an op needs.

    Attributes:
        name: the ISA's name of the operand.
        role: read, written, or scratch.
        align: alignment of its first byte.
        tensor: the GM tensor it is loaded from or stored to, or None for scratch.
        scale: its columns for each column of the op; 0 where it is not cut with the columns.
    """

    name: str
    role: Role
    align: int
    tensor: str | None = None
    scale: int = 1


@dataclass(frozen=True)
class Part:
    """Columns ``start`` to ``stop`` of the op, served by one instruction.

    Attributes:
        start, stop: in the op's columns.
        args: operand names in the order of the instruction's parameters.
        pipe: where the document says that it runs.
        attributes: what it takes besides tiles, such as a block length, by name.
        events: (source pipe, destination pipe, event id) that it uses inside, which the kernel leaves alone.
    """

    start: int
    stop: int
    args: tuple[str, ...]
    pipe: Pipe = Pipe.V
    attributes: Attributes = ()
    events: tuple[tuple[Pipe, Pipe, int], ...] = ()

    @property
    def cols(self) -> int:
        return self.stop - self.start


@dataclass(frozen=True)
class Sizing:
    """What a case needs, from the op's documents.

    Attributes:
        operands: in the order of placement: inputs, outputs, then scratch.
        parts: one instruction each; more than one only where a header would go wrong on the whole.
        row_by_row: whether each row takes an instruction of its own.
        apart: whether each part has tiles of its own, in manual mode too; otherwise parts are windows, row by row.
        inplace: (operand, the one in whose tiles it stands), the second of the same shape and loaded first.
    """

    operands: tuple[Operand, ...]
    parts: tuple[Part, ...]
    row_by_row: bool = False
    apart: bool = False
    inplace: tuple[tuple[str, str], ...] = ()

    @property
    def hosts(self) -> tuple[Operand, ...]:
        """The operands that have tiles of their own."""
        guests = dict(self.inplace)
        return tuple(one for one in self.operands if one.name not in guests)


def align_up(value: int, multiple: int) -> int:
    """The least multiple that is not below ``value``."""
    return -(-value // multiple) * multiple
