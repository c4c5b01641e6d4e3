"""TSORT32 on pto-isa's CPU simulator: where it contradicts the ISA (``docs/isa/TSORT32.md``).

Line numbers are those of pto-isa 3186c38 unless the row says otherwise. Seen by running both that commit and the pinned
snapshot; the snapshot has all three, the commit has no TSORT32_INDEX_VALUE. To be moved into the op's own file.
"""

from __future__ import annotations

from ptogen.ops.base import Defect

DEFECTS: tuple[Defect, ...] = (
    Defect(
        "TSORT32_INDEX_VALUE",
        "always, except an index of 0",
        "pto/cpu/TSort32.hpp:78-79 (half) and :82 (float) in the pinned snapshot; mended in 3186c38 (:81-83, :87-89)",
        "the index is converted to the number of the value's type instead of being stored as its 32 bits",
        "!ptogen::probe::Sort32<float, 1, 32>().Indices() || !ptogen::probe::Sort32<half, 1, 32>().Indices()",
    ),
    Defect(
        "TSORT32_HALF_BLOCKS",
        "float16 with more than 32 valid columns",
        "pto/cpu/TSort32.hpp:51",
        "records of a 32-block start 2 slots a column, not 4, after those of the one before, and overwrite its half",
        "!ptogen::probe::Sort32<half, 1, 64>().Values()",
    ),
    Defect(
        "TSORT32_IDX_SHAPE",
        "valid shape of idx other than that of src: one row of indices for all rows (broadcast), or more columns",
        "pto/cpu/TSort32.hpp:124",
        "returns without sorting",
        "!ptogen::probe::Sort32<float, 2, 32, 1>().Values() || !ptogen::probe::Sort32<float, 1, 13, 1, 32>().Values()",
    ),
)
