"""Where tiles stand, how pipes and cores wait, and single elements.

An instruction without forms touches no tile that a checker follows (``pto/common/pto_instr.hpp``, pto-isa 3186c38).
"""

from __future__ import annotations

from collections.abc import Mapping

from ptogen.ops.attributes import Call, Int, Value
from ptogen.ops.effects import Access
from ptogen.ops.record import Args, Form, Record, records, slots, touched
from ptogen.platforms import Pipe
from ptogen.tiles import Region


def _stored_at(call: Call) -> int | None:
    return call.scalars[0] if len(call.scalars) == 2 else None


def _read_at(call: Call) -> int | None:
    return call.scalars[0] if len(call.scalars) == 1 else None


def _element(writes: bool, slot: str, args: Args, attributes: Mapping[str, Value]) -> list[Access]:
    """One element, counted from the tile's first (Tile::SetValue, ``pto/common/pto_tile.hpp:1444``)."""
    tile = args[slot]
    if "offset" not in attributes:
        return [touched(slot, writes, tile)]
    size = tile.dtype.bytes
    return [Access(slot, writes, Region(int(attributes["offset"]) * size, size))]


def _stores(family: str, slot: str, args: Args, attributes: Mapping[str, Value]) -> list[Access]:
    return _element(True, slot, args, attributes)


def _loads(family: str, slot: str, args: Args, attributes: Mapping[str, Value]) -> list[Access]:
    return _element(False, slot, args, attributes)


RECORDS = (
    Record("TASSIGN", places=True),
    Record("SYNCALL", joins=True),
    *records("TSUBVIEW TRESHAPE TPREFETCH TPRINT TSYNC"),
    # The scalar unit's, as TMRGSORT's counts are.
    Record(
        "SetValue",
        forms=(Form(slots("tile!", tile=_stores), Pipe.S),),
        attributes=(Int("offset", read=_stored_at),),
        member=True,
    ),
    Record(
        "GetValue",
        forms=(Form(slots("tile?", tile=_loads), Pipe.S),),
        attributes=(Int("offset", read=_read_at),),
        member=True,
    ),
)
