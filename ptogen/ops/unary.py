"""Functions of one element; sources as in :mod:`ptogen.ops.elementwise`."""

from __future__ import annotations

from ptogen.ops.record import records

RECORDS = (
    *records("TABS TNEG TEXP TLOG TSQRT TRECIP TRELU TNOT", "dst+ src"),
    *records("TRSQRT", "dst+ src", "dst+ src tmp~"),
)
