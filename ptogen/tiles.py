"""The model of a tile: what a header sees of it, and where its elements stand.

One type serves the ops, the planner, the checkers, recordings and the renderers. Offsets count from the tile's first
byte.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

from ptogen.dtypes import Dtype


class Layout(str, Enum):
    """How the elements of a tile or of a GM tensor stand (``BLayout`` and ``SLayout`` of ``pto/common/type.hpp``)."""

    ROW_MAJOR = "row-major"
    COL_MAJOR = "column-major"
    FRACTAL = "fractal"
    """Boxes inside of boxes; only recordings have it, and where one element stands is not followed."""
    FRACTAL_Z_3D = "FRACTAL_Z_3D"
    """That of a tile for a convolution; otherwise as FRACTAL."""

    @property
    def fractal(self) -> bool:
        return self in (Layout.FRACTAL, Layout.FRACTAL_Z_3D)

    __hash__ = str.__hash__

    def __str__(self) -> str:
        return self.value


class Region(NamedTuple):
    """``lines`` runs of ``length`` bytes, ``pitch`` bytes apart, the first at ``start``."""

    start: int
    length: int
    lines: int = 1
    pitch: int = 0

    @property
    def end(self) -> int:
        """One past the last byte."""
        return self.start + (self.lines - 1) * self.pitch + self.length if self.length and self.lines else self.start

    def runs(self) -> tuple[tuple[int, int], ...]:
        """Half-open byte ranges, runs that touch merged."""
        if not self.length or not self.lines:
            return ()
        if self.lines == 1 or self.pitch == self.length:
            return ((self.start, self.end),)
        starts = range(self.start, self.start + self.lines * self.pitch, self.pitch)
        return tuple((start, start + self.length) for start in starts)

    def shifted(self, offset: int) -> Region:
        return Region(self.start + offset, self.length, self.lines, self.pitch)


@dataclass(frozen=True)
class TileType:
    """What a header sees of a tile.

    Attributes:
        dtype: element type.
        rows, cols: physical shape in elements.
        valid_rows, valid_cols: valid region in elements, at the origin.
        layout: which elements stand side by side.
    """

    dtype: Dtype
    rows: int
    cols: int
    valid_rows: int
    valid_cols: int
    layout: Layout = field(default=Layout.ROW_MAJOR, kw_only=True)

    @property
    def type(self) -> TileType:
        """The type alone, without what a subclass adds."""
        return TileType(self.dtype, self.rows, self.cols, self.valid_rows, self.valid_cols, layout=self.layout)

    @property
    def bytes(self) -> int:
        return self.rows * self.cols * self.dtype.bytes

    @property
    def strides(self) -> tuple[int, int]:
        """Elements from one row to the next, and from one column to the next."""
        return (1, self.rows) if self.layout is Layout.COL_MAJOR else (self.cols, 1)

    @property
    def pitch(self) -> int:
        """Bytes from one line to the next: from row to row, or from column to column of a column-major tile."""
        return (self.rows if self.layout is Layout.COL_MAJOR else self.cols) * self.dtype.bytes

    @property
    def empty(self) -> bool:
        """Whether the valid region has no element; such a tile is neither loaded nor stored."""
        return not (self.valid_rows and self.valid_cols)

    @property
    def whole(self) -> Region:
        """Every byte."""
        return Region(0, self.bytes)

    @property
    def valid(self) -> Region:
        """The bytes of the valid region, a run a line; of a fractal tile all of them."""
        if self.layout.fractal:
            return self.whole
        lines, length = self.valid_rows, self.valid_cols
        if self.layout is Layout.COL_MAJOR:
            lines, length = length, lines
        return Region(0, length * self.dtype.bytes, lines, self.pitch)
