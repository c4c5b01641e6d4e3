"""Elements of two tiles combined, or a tile's with those of dst.

Order and names of operands are those of ``pto/common/pto_instr.hpp`` (pto-isa 3186c38), pipes those of
``pto/common/event.hpp``, flags the set_flag and PtoSetWaitFlag in ``pto/npu/<family>/T*.hpp``."""

from __future__ import annotations

from ptogen.ops.record import BOTH, NEWEST, NPUS, PINNED, Events, Record, brought, forms, records, since

SCALAR_PATH = {"a2a3": Events(BOTH, sure=True)}
"""a2a3/TShl.hpp, TShr.hpp, TPow.hpp."""

POWER = {**dict.fromkeys(NPUS, PINNED), "cpu": NEWEST}
"""Which snapshot brings TPOW and TPOWS to a family."""

RECORDS = (
    *records("TADD TMUL TDIV TMAX TMIN TAND TOR TFMOD", "dst+ src0 src1"),
    brought(NEWEST, "TSubRelu", "dst+ src0 src1"),
    *(brought(NEWEST, file, "dst+ src0 src1", families=NPUS) for file in ("TAddReluConv", "TSubReluConv")),
    Record("TSUB", forms=forms("dst+ src0 src1"), cancels=True),
    *records("TSHL TSHR", "dst+ src0 src1", events=SCALAR_PATH),
    Record("TXOR", forms=forms("dst+ src0 src1 tmp~"), cancels=True),
    *records("TPRELU TREM", "dst+ src0 src1 tmp~"),
    # No header includes a5/TAddDeqRelu.hpp.
    brought(NEWEST, "TAddDeqRelu", "dst+ src0 src1 tmp~", families=("a2a3", "cpu")),
    Record("TPOW", forms=forms("dst+ src0 src1 tmp~", events=SCALAR_PATH), since=since("TPOW", "TPow", POWER)),
    *(brought(NEWEST, file, "dst= src0 src1") for file in ("TMulAddDst", "TFusedMulAdd", "TFusedMulAddRelu")),
    *records("TADDC TSUBC", "dst+ src0 src1 src2"),
    *records("TADDSC TSUBSC", "dst+ src0 src1"),
)
