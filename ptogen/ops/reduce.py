"""Rows, columns or pairs reduced to one element; sources as in :mod:`ptogen.ops.elementwise`."""

from __future__ import annotations

from ptogen.ops.record import ALL, BOTH, NEWEST, PINNED, Events, Record, brought, forms, records, since

SOME = {"a2a3": Events(BOTH)}
"""Flags of some paths (a2a3/TRowReduceOps.hpp, TRowProd.hpp, TRowReduceIdxOps.hpp)."""

ARG = ("dst+ src tmp~", "dstVal+ dstIdx+ src tmp~")

RECORDS = (
    *records("TROWSUM TROWMAX TROWMIN TROWPROD", "dst+ src tmp~", events=SOME),
    *records("TROWARGMAX TROWARGMIN", *ARG, events=SOME),
    *(
        Record(name, forms=forms(*ARG), since=since(name, "TColReduceIdx", dict.fromkeys(ALL, PINNED)))
        for name in ("TCOLARGMAX", "TCOLARGMIN")
    ),
    *records("TCOLSUM", "dst+ src", "dst+ src tmp~"),
    *records("TCOLMAX TCOLMIN TCOLPROD", "dst+ src"),
    brought(NEWEST, "TPairReduceSum", "dst+ src"),
)
