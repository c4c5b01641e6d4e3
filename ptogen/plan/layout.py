"""Byte addresses of tiles in UB."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ptogen.ops.sizing import align_up
from ptogen.plan.model import Program, Tile, walk

Lifetime = tuple[int, int]
"""The first and the last step of the program's top level that uses a tile."""


def lifetimes(program: Program) -> dict[str, Lifetime]:
    """When each tile is live. What a loop uses is live for the whole of it: its next turn may read it again."""
    spans: dict[str, Lifetime] = {}
    for place, step in enumerate(program):
        for name in {window.tile for inner in walk((step,)) for _, window in inner.args}:
            spans[name] = (spans.get(name, (place, place))[0], place)
    return spans


def live_bytes(tiles: Sequence[Tile], lives: Mapping[str, Lifetime]) -> int:
    """The largest sum of bytes that are live at one step: no placement needs less."""
    steps = {place for life in lives.values() for place in life}
    return max(
        (sum(tile.bytes for tile in tiles if lives[tile.name][0] <= step <= lives[tile.name][1]) for step in steps),
        default=0,
    )


def place(
    tiles: Sequence[Tile],
    lives: Mapping[str, Lifetime],
    capacity: int,
    pins: Mapping[str, int],
    share: bool = True,
) -> tuple[Tile, ...]:
    """The tiles with their addresses.

    One behind the other while everything fits; otherwise tiles that are never live together share bytes, the largest
    placed first, ties by name. Pinned tiles stand where they were pinned, right or wrong: the checker judges that. A
    result that ends past ``capacity`` does not fit.
    """
    placed = [replace(tile, offset=pins[tile.name]) for tile in tiles if tile.name in pins]
    for tile in tiles:
        if tile.name not in pins:
            # Without pins this is behind the last one; pins leave gaps, and the first that is large enough serves.
            start = placed[-1].end if placed and not pins else 0
            placed.append(replace(tile, offset=_lowest(tile, start, placed)))
    if share and not pins and placed and placed[-1].end > capacity:
        placed = []
        for tile in sorted(tiles, key=lambda tile: (-tile.bytes, tile.name)):
            first, last = lives[tile.name]
            others = [other for other in placed if lives[other.name][0] <= last and first <= lives[other.name][1]]
            placed.append(replace(tile, offset=_lowest(tile, 0, others)))
    by_name = {tile.name: tile for tile in placed}
    return tuple(by_name[tile.name] for tile in tiles)


def _lowest(tile: Tile, start: int, others: Sequence[Tile]) -> int:
    """The lowest aligned address from ``start`` on at which the tile meets none of the others."""
    offset = align_up(start, tile.align)
    for other in sorted(others, key=lambda other: other.offset):
        if offset < other.end and other.offset < offset + tile.bytes:
            offset = align_up(other.end, tile.align)
    return offset
