"""Elements of a tile combined with a scalar, which is no tile; sources as in :mod:`ptogen.ops.elementwise`."""

from __future__ import annotations

from ptogen.ops.record import BOTH, V_S, Events, records

RECORDS = (
    *records("TADDS TSUBS TMULS TMAXS TMINS TANDS TORS TSHLS TSHRS TLRELU TFMODS", "dst+ src"),
    *records("TDIVS", "dst+ src", events={"a2a3": Events(BOTH), "a5": Events((V_S,))}),
    *records("TREMS TXORS", "dst+ src tmp~"),
    *records("TPOWS", "dst+ src tmp~", events={"a2a3": Events(BOTH, sure=True)}),
    *records("TAXPY", "dst= src"),
)
