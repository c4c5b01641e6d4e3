"""The element types of PTO tiles.

Sources: the ISA's C++ names stand in ``pto/common/type.hpp``; sizes are theirs.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Dtype:
    """One element type.

    Attributes:
        name: the spec's name, which is NumPy's name where NumPy has the type.
        bytes: size of one element.
        ctype: the type in a PTO kernel.
        is_float: whether it has NaN and infinities.
    """

    name: str
    bytes: int
    ctype: str
    is_float: bool = False

    def __hash__(self) -> int:
        return hash(self.name)

    def __str__(self) -> str:
        return self.name


FLOAT32 = Dtype("float32", 4, "float", True)
FLOAT16 = Dtype("float16", 2, "half", True)
BFLOAT16 = Dtype("bfloat16", 2, "bfloat16_t", True)
INT8 = Dtype("int8", 1, "int8_t")
UINT8 = Dtype("uint8", 1, "uint8_t")
INT16 = Dtype("int16", 2, "int16_t")
UINT16 = Dtype("uint16", 2, "uint16_t")
INT32 = Dtype("int32", 4, "int32_t")
UINT32 = Dtype("uint32", 4, "uint32_t")
INT64 = Dtype("int64", 8, "int64_t")
UINT64 = Dtype("uint64", 8, "uint64_t")

DTYPES: dict[str, Dtype] = {
    dtype.name: dtype
    for dtype in (FLOAT32, FLOAT16, BFLOAT16, INT8, UINT8, INT16, UINT16, INT32, UINT32, INT64, UINT64)
}

ALIASES: dict[str, str] = {"float": "float32", "half": "float16"}
"""The ISA's own names of the two types that a sort takes."""
