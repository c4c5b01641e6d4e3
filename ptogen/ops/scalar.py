"""Elements of a tile combined with a scalar, which is no tile; sources as in :mod:`ptogen.ops.elementwise`."""

from __future__ import annotations

from ptogen.ops.elementwise import POWER
from ptogen.ops.record import BOTH, PINNED, V_S, Events, Record, brought, forms, records, since

RECORDS = (
    *records("TADDS TSUBS TMULS TMAXS TMINS TANDS TORS TSHLS TSHRS TLRELU TFMODS", "dst+ src"),
    *records("TDIVS", "dst+ src", events={"a2a3": Events(BOTH), "a5": Events((V_S,))}),
    *records("TREMS TXORS", "dst+ src tmp~"),
    Record(
        "TPOWS",
        forms=forms("dst+ src tmp~", events={"a2a3": Events(BOTH, sure=True)}),
        since=since("TPOWS", "TPow", POWER),
    ),
    brought(PINNED, "TAxpy", "dst= src"),
)
