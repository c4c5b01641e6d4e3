"""Comparisons into masks of packed bits, and choices by them; sources as in :mod:`ptogen.ops.elementwise`."""

from __future__ import annotations

from ptogen.ops.record import S_V, V_S, Events, Form, Record, forms, records, slots
from ptogen.platforms import Pipe

RECORDS = (
    *records("TCMP", "dst! src0 src1"),
    Record(
        "TCMPS",
        forms=(
            *forms("dst! src0"),
            # Only where a tile holds what is compared with (a2a3/TCmps.hpp:139).
            Form(slots("dst! src0 src1?"), events={"a2a3": Events((V_S, (Pipe.MTE2, Pipe.S, 0)), sure=True)}),
        ),
    ),
    *records("TSEL", "dst+ mask? src0 src1 tmp~"),
    *records("TSELS", "dst+ mask? src tmp~", events={"a2a3": Events((S_V,))}),
)
