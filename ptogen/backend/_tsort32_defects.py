"""TSORT32 on pto-isa's CPU simulator: where it contradicts the ISA (``docs/isa/TSORT32.md``).

Line numbers are those of pto-isa 3186c38. To be moved into the op's own file.
"""

from __future__ import annotations

from ptogen.ops.base import Defect

DEFECTS: tuple[Defect, ...] = (
    Defect(
        "tsort32-half-blocks",
        "float16 with more than 32 valid columns",
        "pto/cpu/TSort32.hpp:51",
        "records of a 32-block start 2 slots a column, not 4, after those of the one before, and overwrite its half",
        "!ptogen::probe::Sort32<half, 1, 64>().Values()",
    ),
    Defect(
        "tsort32-half-index-bits",
        "float16",
        "pto/cpu/TSort32.hpp:78-79 in the pinned snapshot; mended in 3186c38 (:81-83)",
        "the index is converted to two float16 numbers instead of being stored as its 32 bits",
        "!ptogen::probe::Sort32<half, 1, 32>().Indices()",
    ),
    Defect(
        "tsort32-float-index-bits",
        "float32",
        "pto/cpu/TSort32.hpp:82 in the pinned snapshot; mended in 3186c38 (:87-89)",
        "the index is converted to a float32 number instead of being stored as its 32 bits",
        "!ptogen::probe::Sort32<float, 1, 32>().Indices()",
    ),
    Defect(
        "tsort32-idx-broadcast",
        "one row of indices for more than one row of values",
        "pto/cpu/TSort32.hpp:124",
        "returns without sorting, because the valid shapes of src and idx differ",
        "!ptogen::probe::Sort32<float, 2, 32, 1>().Values()",
    ),
    Defect(
        "tsort32-idx-columns",
        "valid columns of idx other than those of src",
        "pto/cpu/TSort32.hpp:124",
        "returns without sorting, because the valid shapes of src and idx differ",
        "!ptogen::probe::Sort32<float, 1, 13, 1, 32>().Values()",
    ),
)
