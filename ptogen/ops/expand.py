"""A row or a column repeated, alone or combined with a tile; sources as in :mod:`ptogen.ops.elementwise`."""

from __future__ import annotations

from ptogen.ops.record import BOTH, Args, Events, Form, Record, Scratch, forms, records, slots
from ptogen.tiles import Layout


def _column(args: Args) -> bool:
    return args["src1"].layout is Layout.COL_MAJOR


SCRATCH = {"a2a3": Scratch(184 * 1024, 192 * 1024, _column)}
"""TMP_UB_OFFSET and TMP_UB_SIZE of ``pto/common/constants.hpp``, where src1 is column-major and no tmp is given
(a2a3/TRowExpandBinOp.hpp:208)."""

ROWS = (Form(slots("dst+ src0 src1"), scratch=SCRATCH), *forms("dst+ src0 src1 tmp~"))

RECORDS = (
    *records("TROWEXPAND", "dst+ src", events={"a2a3": Events(BOTH)}),
    *records("TCOLEXPAND", "dst+ src"),
    *(Record(f"TROWEXPAND{kind}", forms=ROWS) for kind in ("ADD", "SUB", "MUL", "DIV", "MAX", "MIN", "EXPDIF")),
    *(
        record
        for kind in ("ADD", "SUB", "MUL", "DIV", "MAX", "MIN", "EXPDIF")
        for record in records(f"TCOLEXPAND{kind}", "dst+ src0 src1")
    ),
)
