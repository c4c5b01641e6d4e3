"""Tiles made of no tile, or filled up around one; sources as in :mod:`ptogen.ops.elementwise`."""

from __future__ import annotations

from ptogen.ops.record import PINNED, V_S, Events, Form, Record, brought, records, slots
from ptogen.platforms import Pipe

RECORDS = (
    *records("TEXPANDS TTRI", "dst+"),
    brought(PINNED, "TRandom", "dst+", families=("a5", "cpu")),
    # event.hpp says PIPE_S of TCI, whose form with tmp is the vector unit's all the same (a2a3/TCI.hpp, a5/Tci.hpp).
    Record("TCI", forms=(Form(slots("dst+"), Pipe.S), Form(slots("dst+ tmp~")))),
    *records("TFILLPAD", "dst+ src", events={"a2a3": Events((V_S,))}),
    *records("TFILLPAD_INPLACE TFILLPAD_EXPAND", "dst+ src"),
)
