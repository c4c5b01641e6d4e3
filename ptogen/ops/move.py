"""TLOAD and TSTORE between GM and UB: what the headers move.

No spec asks for them, every program has them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from ptogen.ops.effects import Access, Effects
from ptogen.ops.record import Form, Record, slots
from ptogen.ops.sizing import align_up
from ptogen.platforms import UB_BLOCK_BYTES, Pipe
from ptogen.tiles import Layout, Region, TileType

MOST_RUNS = 4096
"""Most separate runs of bytes of one GM access that are followed one by one."""


def load_effects(family: str, tile: TileType) -> Effects:
    """TLOAD into ``tile``: one burst a line, which is a row, or a column of a column-major tile.

    NPUs write the valid elements of a line; what they write behind them, up to the next 32 bytes, is not documented and
    taken as undefined (a2a3/TLoad.hpp:112). The simulator fills the rest of the physical tile with zeros
    (cpu/TLoad.hpp, TLoad).
    """
    valid, pitch = tile.valid, tile.pitch
    accesses = [Access("dst", True, valid)]
    end = pitch if family == "cpu" else align_up(valid.length, UB_BLOCK_BYTES)
    if end > valid.length:
        behind = Region(valid.length, end - valid.length, valid.lines, pitch)
        accesses.append(Access("dst", True, behind, defined=False))
    lines = tile.bytes // pitch
    if family == "cpu" and lines > valid.lines:
        rest = Region(valid.lines * pitch, pitch, lines - valid.lines, pitch)
        accesses.append(Access("dst", True, rest, defined=False))
    return Effects(Pipe.MTE2, tuple(accesses))


def store_effects(family: str, tile: TileType) -> Effects:
    """TSTORE from ``tile``: the valid elements of each line (a2a3/TStore.hpp, TStoreUb2gmInstr; cpu/TStore.hpp)."""
    return Effects(Pipe.MTE3, (Access("src", False, tile.valid),))


@dataclass(frozen=True)
class GlobalTensor:
    """GM as a load or store sees it (``GlobalTensor`` of ``pto/common/pto_tile.hpp``).

    Attributes:
        shape, strides: five each, in elements.
        layout: which elements stand side by side; FRACTAL for whatever is not followed.
    """

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    layout: Layout


@dataclass(frozen=True)
class Moved:
    """What a load or store does.

    Attributes:
        effects: to its tile.
        gm: bytes from where the tensor starts, a run a line; none where they are not followed.
        sure: whether all of ``gm`` is touched.
    """

    effects: Effects
    gm: tuple[Region, ...] = ()
    sure: bool = False


def moved(record: Record, family: str, tile: TileType, tensor: GlobalTensor, padded: bool = False) -> Moved:
    """What a load or store does to a tile, and to GM, whatever their shapes and layouts.

    NPUs take the number of lines from the tensor's shape and the length of a line from the tile's valid region. On a2a3
    the next line in GM starts behind what was moved plus the tensor's own gap, so lines go astray where the two lengths
    differ (``pto/common/arch/memory/tload_common.hpp:54``, ``tstore_common.hpp:367``); on a5 it starts at the stride
    (``pto/npu/a5/TLoad.hpp:44``). Where one is fractal, or they have not one layout, the tile moves as a whole.

    Args:
        record: of :data:`RECORDS`.
        padded: whether the tile's type has a pad value.
    """
    loads, form = record is TLOAD, record.forms[0]
    *outer, rows, cols = tensor.shape
    *others, row, col = tensor.strides
    length, total = tile.valid_cols, tile.valid_rows
    if tile.layout is Layout.COL_MAJOR:
        rows, cols, row, length, total = cols, rows, col, total, length
    if tensor.layout is not tile.layout or tile.layout.fractal or min(tensor.shape) <= 0:
        return Moved(form.effects(family, {form.names[0]: tile}, {}))
    defects: tuple[str, ...] = ()
    times, step = outer[0] * outer[1] * outer[2], row
    if family != "cpu":
        total = times * rows
    if family == "a2a3":
        step = row + length - cols
        if length != cols and rows > 1:
            defects = (
                f"{record.instruction} moves lines of {length} elements, the tensor's have {cols}: "
                f"the second line starts at element {step} of GM, not at {row}",
            )
    column = tile.layout is Layout.COL_MAJOR
    lines = replace(tile, valid_cols=total) if column else replace(tile, valid_rows=total)
    found = (load_effects if loads else store_effects)(family, lines)
    if loads and padded and family != "cpu":
        # What stands behind a line up to the next 32 bytes is the pad value (tload_common.hpp:58).
        found = replace(found, accesses=tuple(replace(access, defined=True) for access in found.accesses))
    size = tile.dtype.bytes
    gm = tuple(
        Region((a * others[0] + b * others[1] + c * others[2]) * size, length * size, rows, step * size)
        for a in range(outer[0])
        for b in range(outer[1])
        for c in range(outer[2])
    )
    if times * rows <= MOST_RUNS:
        return Moved(replace(found, defects=defects), gm, True)
    start, end = min(line.start for line in gm), max(line.end for line in gm)
    return Moved(replace(found, defects=defects), (Region(start, end - start),))


TLOAD = Record("TLOAD", forms=(Form(slots("dst+"), Pipe.MTE2),))
TSTORE = Record("TSTORE", forms=(Form(slots("src"), Pipe.MTE3),))
RECORDS = (TLOAD, TSTORE)
