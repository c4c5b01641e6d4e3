"""Elements of two tiles combined, or a tile's with those of dst.

Order and names of operands are those of ``pto/common/pto_instr.hpp`` (pto-isa 3186c38), pipes those of
``pto/common/event.hpp``, flags the set_flag and PtoSetWaitFlag in ``pto/npu/<family>/T*.hpp``."""

from __future__ import annotations

from ptogen.ops.record import BOTH, Events, Record, forms, records

SCALAR_PATH = {"a2a3": Events(BOTH, sure=True)}
"""a2a3/TShl.hpp, TShr.hpp, TPow.hpp."""

RECORDS = (
    *records("TADD TMUL TDIV TMAX TMIN TAND TOR TFMOD TSUBRELU TADDRELUCONV TSUBRELUCONV", "dst+ src0 src1"),
    Record("TSUB", forms=forms("dst+ src0 src1"), cancels=True),
    *records("TSHL TSHR", "dst+ src0 src1", events=SCALAR_PATH),
    Record("TXOR", forms=forms("dst+ src0 src1 tmp~"), cancels=True),
    *records("TPRELU TREM TADDDEQRELU", "dst+ src0 src1 tmp~"),
    *records("TPOW", "dst+ src0 src1 tmp~", events=SCALAR_PATH),
    *records("TMULADDDST TFUSEDMULADD TFUSEDMULADDRELU", "dst= src0 src1"),
    *records("TADDC TSUBC", "dst+ src0 src1 src2"),
    *records("TADDSC TSUBSC", "dst+ src0 src1"),
)
