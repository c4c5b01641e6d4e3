"""TLOAD and TSTORE between GM and UB, where a line of the tile is a line of the tensor: what the headers move.

Not part of the catalogue: a spec never asks for them, every program has them.
"""

from __future__ import annotations

from ptogen.ops.effects import Access, Effects
from ptogen.ops.sizing import align_up
from ptogen.platforms import UB_BLOCK_BYTES, Pipe
from ptogen.tiles import Region, TileType


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
