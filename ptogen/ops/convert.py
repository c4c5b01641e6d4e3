"""Conversions of element types, and quantisation; sources as in :mod:`ptogen.ops.elementwise`."""

from __future__ import annotations

from ptogen.ops.record import BOTH, Events, records

RECORDS = (
    *records("TCVT", "dst+ src", "dst+ src tmp~"),
    *records(
        "TQUANT",
        "dst! src para?",
        "dst! src para? tmp~",
        "dst! src exp! max! scaling!",
        "dst! src exp! max! scaling! exp_zz!",
    ),
    *records("TDEQUANT", "dst+ src scale? offset?", events={"a2a3": Events(BOTH, sure=True)}),
)
