"""Elements found by an index, a mask or a comparison; sources as in :mod:`ptogen.ops.elementwise`, flags of MGATHER and
MSCATTER in ``pto/npu/<family>/M*.hpp``."""

from __future__ import annotations

from collections.abc import Mapping

from ptogen.ops.attributes import Value
from ptogen.ops.effects import Access
from ptogen.ops.record import BOTH, Args, Events, Flag, Form, Record, forms, records, slots, touched
from ptogen.platforms import Pipe

S, V, MTE2, MTE3 = Pipe.S, Pipe.V, Pipe.MTE2, Pipe.MTE3


def _packed(family: str, slot: str, args: Args, attributes: Mapping[str, Value]) -> list[Access]:
    """On a5 rows of packed results of 8 bytes follow one another, whatever the pitch of dst (a5/TGather.hpp:279)."""
    tile = args[slot]
    return [touched(slot, True, tile, sure=not (family == "a5" and tile.dtype.bytes == 8))]


def _cleared(family: str, slot: str, args: Args, attributes: Mapping[str, Value]) -> list[Access]:
    """a2a3 writes zeros to all of dst before it writes parts of it (a2a3/TScatter.hpp, InitUBBuffer)."""
    return [touched(slot, True, args[slot], sure=family == "a2a3")]


def _both_ways(*others: Flag) -> tuple[Flag, ...]:
    return (*BOTH, (S, MTE2, 0), (MTE2, S, 0), (S, MTE3, 0), (MTE3, S, 0), *others)


SCATTERED = {"a2a3": Events(BOTH, sure=True)}
"""A scalar loop (a2a3/TScatter.hpp)."""

RECORDS = (
    Record(
        "TGATHER",
        forms=(
            Form(slots("dst+ src?", dst=_packed)),
            *forms("dst+ src? idx tmp~"),
            # Only where a tile holds what is compared with (a2a3/TGather.hpp:170,201).
            *forms("dst! src0 k cdst! tmp~", events={"a2a3": Events(BOTH, sure=True)}),
        ),
    ),
    *records("TGATHERB", "dst+ src? offset?"),
    Record(
        "TSCATTER",
        forms=(
            Form(slots("dst! src?", dst=_cleared), events=SCATTERED),
            Form(slots("dst! src idx", dst=_cleared), events=SCATTERED),
        ),
    ),
    *records(
        "MGATHER",
        "dst! idx",
        "dst! idx scratch~",
        events={"a2a3": Events(_both_ways((MTE2, V, 0), (MTE2, MTE3, 0))), "a5": Events((*BOTH, (S, MTE2, 0)))},
    ),
    *records(
        "MSCATTER",
        "src idx",
        events={"a2a3": Events(_both_ways((MTE3, V, 0), (MTE3, MTE2, 0))), "a5": Events(BOTH)},
    ),
)
