"""Elements moved from tile to tile; sources as in :mod:`ptogen.ops.elementwise`."""

from __future__ import annotations

from ptogen.ops.record import (
    ALL,
    BOTH,
    NEWEST,
    PINNED,
    V_S,
    Args,
    Events,
    Form,
    Record,
    brought,
    forms,
    records,
    since,
    slots,
)
from ptogen.platforms import UB_BLOCK_BYTES, Pipe
from ptogen.tiles import Layout

S, V, MTE2, MTE3 = Pipe.S, Pipe.V, Pipe.MTE2, Pipe.MTE3


def _ragged(args: Args) -> bool:
    src0 = args["src0"]
    return src0.valid_cols * src0.dtype.bytes % UB_BLOCK_BYTES != 0


def _to_z_3d(args: Args) -> bool:
    return args["dst"].layout is Layout.FRACTAL_Z_3D


TAIL = (V_S, (MTE2, S, 0))

RECORDS = (
    *records("TMOV", "dst+ src", "dst+ src tmp~"),
    Record(
        "TTRANS",
        forms=(
            Form(
                slots("dst+ src tmp~"),
                events={"a2a3": Events((*BOTH, (V, MTE3, 0), (MTE3, V, 0), (S, MTE3, 0), (MTE3, S, 0)))},
                # For each slice (a2a3/TTrans.hpp:783).
                handshakes={"a2a3": Events(((MTE3, V, 0),), when=_to_z_3d)},
            ),
        ),
    ),
    Record(
        "TCONCAT",
        forms=(
            # Only where the columns of src0 are no whole blocks (a2a3/TConcat.hpp:47).
            Form(slots("dst! src0 src1"), events={"a2a3": Events(TAIL, when=_ragged)}),
            *forms(
                "dst! src0 src1 src0Idx? src1Idx?",
                "dst! src0 src1 dstIdx! src0Idx? src1Idx?",
                events={"a2a3": Events(TAIL)},
            ),
        ),
        since=since("TCONCAT", "TConcat", dict.fromkeys(ALL, PINNED)),
    ),
    *records("TEXTRACT", "dst+ src?", "dst0+ dst1+ src?", events=dict.fromkeys(("a2a3", "a5"), Events(BOTH))),
    *records("TINSERT", "dst! src", events={"a5": Events(BOTH)}),
    brought(NEWEST, "TInterleave", "dst1+ dst0+ src1 src0", families=("a5", "cpu")),
    brought(NEWEST, "TDeInterleave", "dst1+ dst0+ src", "dst1+ dst0+ src1 src0", families=("a5", "cpu")),
    brought(PINNED, "THistogram", "dst! src idx?", families=("a5", "cpu")),
)
