"""TLOAD and TSTORE of row-major tiles: what the headers move between GM and UB.

Not part of the catalogue: a spec never asks for them, every program has them.
"""

from __future__ import annotations

from ptogen.ops.base import Access, Arg, Effects, Region, align_up
from ptogen.platforms import UB_BLOCK_BYTES, Pipe, Platform


def load_effects(platform: Platform, tile: Arg) -> Effects:
    """TLOAD into ``tile``: one burst a row.

    NPUs write the valid columns; what they write behind them, up to the next 32 bytes, is not documented and taken as
    undefined (a2a3/TLoad.hpp:112). The simulator fills the rest of the physical tile with zeros (cpu/TLoad.hpp, TLoad).
    """
    used = tile.valid_cols * tile.dtype.bytes
    accesses = [Access("dst", True, Region(0, used, tile.valid_rows, tile.pitch))]
    end = tile.pitch if platform.family == "cpu" else align_up(used, UB_BLOCK_BYTES)
    if end > used:
        accesses.append(Access("dst", True, Region(used, end - used, tile.valid_rows, tile.pitch), defined=False))
    if platform.family == "cpu" and tile.rows > tile.valid_rows:
        rest = Region(tile.valid_rows * tile.pitch, tile.pitch, tile.rows - tile.valid_rows, tile.pitch)
        accesses.append(Access("dst", True, rest, defined=False))
    return Effects(Pipe.MTE2, tuple(accesses))


def store_effects(platform: Platform, tile: Arg) -> Effects:
    """TSTORE from ``tile``: the valid columns of each valid row (a2a3/TStore.hpp, TStoreUb2gmInstr; cpu/TStore.hpp)."""
    region = Region(0, tile.valid_cols * tile.dtype.bytes, tile.valid_rows, tile.pitch)
    return Effects(Pipe.MTE3, (Access("src", False, region),))
