"""TSORT32: sorts every 32 columns of a row, values with their indices, into 8-byte records."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from ptogen.dtypes import DTYPES, FLOAT16, FLOAT32, UINT32, Dtype
from ptogen.ops.attributes import Value
from ptogen.ops.base import Op
from ptogen.ops.case import CaseFields, Fault, common_suffix, data_faults, pin_faults
from ptogen.ops.effects import Access, Effects
from ptogen.ops.notes import Defect, OperandNote, Rest
from ptogen.ops.record import Form, slots
from ptogen.ops.sizing import Operand, Part, Role, Sizing, Tensor, align_up
from ptogen.platforms import Pipe, Platform
from ptogen.tiles import Region, TileType

BLOCK = 32
"""Columns that the hardware sorts at a time (ISA page TSORT32, "Hardware: VBS32")."""

RECORD_BYTES = 8
"""A record: the value, padded with zeros to 4 bytes, and its index (ISA page TSORT32, "Tile Size and Data Types")."""

REPEAT_MAX = 255
"""Most blocks of one vbitsort (ISA page TSORT32; ``pto/common/constants.hpp``)."""

SMALL_ROW = 32 * 255
"""Longest row that the headers copy to tmp as a whole: elements on a2a3, bytes on a5 (ISA page TSORT32, "tmp Size
Formula"; a2a3/TSort32.hpp:122, a5/TSort32.hpp:133)."""

MAX_TENSOR_BYTES = 2**28
"""Largest GM tensor: what a host program and a data generator can be asked to hold several times over."""

Count = Annotated[int, Field(ge=1, le=2**31 - 1)]


class Tsort32Case(CaseFields):
    """``rows`` x ``cols`` values and their indices in GM; ``valid`` is the region that is sorted."""

    dtype: str = Field(description="float32 or float16 (also spelt float, half)")
    rows: Count = Field(description="rows of the tensor in GM")
    cols: Count = Field(description="columns of the tensor in GM, in elements; its pitch")
    valid: tuple[Count, Count] | None = Field(
        None, description="[rows, columns] of the valid region; default all of it"
    )
    idx: Literal["per_row", "broadcast"] = Field("per_row", description="one row of indices a row, or one for all rows")

    @property
    def valid_shape(self) -> tuple[int, int]:
        return self.valid or (self.rows, self.cols)


def blocks_of(cols: int) -> int:
    """32-column blocks, the last one perhaps incomplete."""
    return -(-cols // BLOCK)


def tmp_cols(cols: int, dtype: Dtype, platform: Platform) -> int:
    """Columns of tmp that one instruction on ``cols`` valid columns needs; 0 for whole blocks.

    Source: ISA page TSORT32, "tmp Size Formula (4-Parameter)"; the unit of the threshold depends on the platform.
    """
    if cols % BLOCK == 0:
        return 0
    length = cols * dtype.bytes if platform.family == "a5" else cols
    return align_up(cols, BLOCK) if length <= SMALL_ROW else BLOCK


def is_trap(cols: int, dtype: Dtype, platform: Platform) -> bool:
    """Whether one instruction on ``cols`` valid columns would go wrong, so that the columns must be cut.

    NPU headers: long rows are cut into groups of 255 blocks and the rest of the division is taken as the repeat of the
    last group; a rest of 0, and for an incomplete row a rest of 1 too, issues a sort with repeat 0 or -1
    (a2a3/TSort32.hpp:44,90; a5/TSort32.hpp:45,79,220). The simulator overwrites records of a half row with more than
    one block (cpu/TSort32.hpp:51).
    """
    if platform.family == "cpu":
        return dtype is FLOAT16 and cols > BLOCK
    rest = blocks_of(cols) % REPEAT_MAX
    if cols % BLOCK == 0:
        return blocks_of(cols) > REPEAT_MAX and rest == 0
    length = cols * dtype.bytes if platform.family == "a5" else cols
    return length > SMALL_ROW and rest in (0, 1)


def cut(cols: int, dtype: Dtype, platform: Platform) -> tuple[tuple[int, int], ...]:
    """Column ranges that together serve ``cols`` columns, none of them a trap: the last block is cut off as often as
    needed.

    Blocks are independent, so a cut at a multiple of 32 changes no result.
    """
    ranges: list[tuple[int, int]] = []
    while is_trap(cols, dtype, platform):
        start = (cols - 1) // BLOCK * BLOCK
        ranges.append((start, cols))
        cols = start
    return ((0, cols), *reversed(ranges))


def _pad_faults(case: Tsort32Case, base: Path) -> list[Fault]:
    """-inf in the last, incomplete block of a user's values (PTG205): where the pad value sorts against it is not
    known."""
    rows, cols = case.valid_shape
    if not case.data.endswith(".npy") or cols % BLOCK == 0:
        return []
    from ptogen.golden.values import read_values

    start = cols // BLOCK * BLOCK
    tail = read_values(base / case.data, case.dtype, case.rows, case.cols)[:rows, start:cols]
    if not (tail == float("-inf")).any():
        return []
    message = f"{case.data}: -inf in columns {start} to {cols - 1}, the block that is padded, where their order is open"
    return [Fault("PTG205", "data", message, "use a finite value there, or columns that are a multiple of 32")]


class Tsort32(Op):
    Case = Tsort32Case
    golden_module = "sort32"

    def default_name(self, case: Tsort32Case) -> str:
        name = f"case_{case.dtype}_{case.rows}x{case.cols}"
        if case.valid:
            name += f"_valid_{case.valid[0]}x{case.valid[1]}"
        if case.idx == "broadcast":
            name += "_broadcast"
        return name + common_suffix(case)

    def dtypes(self, platform: Platform) -> tuple[Dtype, ...]:
        # The simulator accepts int32, int16 and bfloat16 too; the ISA has only these (a2a3/TSort32.hpp CheckStatic, a5
        # the same).
        return (FLOAT32, FLOAT16)

    def rules(self, case: Tsort32Case, platform: Platform, mode: str, base: Path) -> list[Fault]:
        faults = []
        accepted = [dtype.name for dtype in self.dtypes(platform)]
        if case.dtype not in accepted:
            message = f"{self.name} has no {case.dtype} on {platform}; it has {' and '.join(accepted)}"
            faults.append(Fault("PTG201", "dtype", message))
        size = case.rows * case.cols * RECORD_BYTES
        if size > MAX_TENSOR_BYTES:
            message = f"the output tensor has {size:,} B in GM, more than {MAX_TENSOR_BYTES:,} B"
            faults.append(Fault("PTG202", "cols", message, "make rows or cols smaller"))
            return faults
        rows, cols = case.valid_shape
        if rows > case.rows or cols > case.cols:
            message = f"the valid region {rows}x{cols} is larger than the tensor {case.rows}x{case.cols}"
            faults.append(Fault("PTG202", "valid", message, f"at most [{case.rows}, {case.cols}]"))
        if not faults:
            faults += pin_faults(case, self.sizing(case, platform)) if case.ub else []
            faults += data_faults(case, base, DTYPES[case.dtype], case.rows, case.cols) or _pad_faults(case, base)
        return faults

    def tensors(self, case: Tsort32Case) -> tuple[Tensor, ...]:
        return _tensors(DTYPES[case.dtype], case.rows, case.cols, *case.valid_shape, case.idx == "broadcast")

    def sizing(self, case: Tsort32Case, platform: Platform) -> Sizing:
        return _sizing(DTYPES[case.dtype], *case.valid_shape, case.idx == "broadcast", platform)

    def effects(self, family: str, args: Mapping[str, TileType], attributes: Mapping[str, Value]) -> Effects:
        effects = {"a2a3": _effects_a2a3, "a5": _effects_a5, "cpu": _effects_cpu}[family](args)
        # Each hardware iteration reads and writes at these addresses (pypto_pro page sort32, constraint 1).
        source = BLOCK * args["src"].dtype.bytes
        defects = (*_static_defects(args), *effects.defects)
        align = (("src", source), ("idx", 128), ("dst", 256), ("tmp", source))
        return replace(effects, defects=defects, align=align)

    def golden_params(self, case: Tsort32Case, base: Path) -> dict[str, Any]:
        params: dict[str, Any] = {
            "dtype": case.dtype,
            "rows": case.rows,
            "cols": case.cols,
            "valid": list(case.valid_shape),
            "idx": case.idx,
            "data": case.data,
            "seed": case.seed,
        }
        if case.data.endswith(".npy"):
            from ptogen.golden.values import load_values

            params |= {"data": "values", "values": load_values(base / case.data, case.dtype, case.rows, case.cols)}
        return params

    def shapes(self, case: Tsort32Case) -> tuple[tuple[str, int], tuple[str, int]]:
        rows, cols = case.valid_shape
        return ("rows", rows), ("cols", cols)

    def resized(self, case: Tsort32Case, rows: int, cols: int) -> Tsort32Case:
        return case.model_copy(update={"rows": rows, "cols": cols, "valid": None})

    def defects_of(self, case: Tsort32Case, platform: Platform) -> tuple[str, ...]:
        found = ["TSORT32_INDEX_VALUE"]
        if platform.family != "cpu":
            rows, _ = case.valid_shape
            parts = self.sizing(case, platform).parts
            if case.dtype == "float16" and any(part.cols > BLOCK for part in parts):
                found.append("TSORT32_HALF_BLOCKS")
            if case.idx == "broadcast" and rows > 1 and len(parts) == 1:
                found.append("TSORT32_IDX_SHAPE")
        return tuple(found)


@lru_cache(2_048)
def _tensors(
    dtype: Dtype, rows: int, cols: int, valid_rows: int, valid_cols: int, broadcast: bool
) -> tuple[Tensor, ...]:
    coef = RECORD_BYTES // dtype.bytes
    shape = (1, cols, 1, valid_cols) if broadcast else (rows, cols, valid_rows, valid_cols)
    return (
        Tensor("dst", dtype, rows, cols * coef, valid_rows, valid_cols * coef, Role.OUT, record=dtype),
        Tensor("src", dtype, rows, cols, valid_rows, valid_cols, Role.IN),
        Tensor("idx", UINT32, *shape, Role.IN),
    )


@lru_cache(2_048)
def _part(start: int, stop: int, with_tmp: bool) -> Part:
    return Part(start, stop, ("dst", "src", "idx", "tmp") if with_tmp else ("dst", "src", "idx"))


@lru_cache(2_048)
def _sizing(dtype: Dtype, rows: int, cols: int, broadcast: bool, platform: Platform) -> Sizing:
    """ISA page TSORT32 for shapes and tmp, pypto_pro page sort32 for the alignment that the sort hardware wants of each
    operand.

    Remembered, because it is asked for again at every stage.
    """
    width = align_up(cols, BLOCK)
    coef = RECORD_BYTES // dtype.bytes
    src_align = BLOCK * dtype.bytes
    idx_rows = 1 if broadcast else rows
    parts = []
    tmp = 0
    for start, stop in cut(cols, dtype, platform):
        own = tmp_cols(stop - start, dtype, platform)
        tmp = max(tmp, own)
        parts.append(_part(start, stop, own > 0))
    operands = [
        Operand(dtype, rows, width, rows, cols, "src", Role.IN, src_align, "src"),
        Operand(UINT32, idx_rows, width, idx_rows, cols, "idx", Role.IN, 128, "idx"),
        Operand(dtype, rows, width * coef, rows, cols * coef, "dst", Role.OUT, 256, "dst", scale=coef),
    ]
    if tmp:
        operands.append(Operand(dtype, 1, tmp, 1, tmp, "tmp", Role.TMP, src_align, scale=0))
    # The simulator returns without sorting where the valid rows of idx differ from those of src (cpu/TSort32.hpp:124).
    row_by_row = platform.family == "cpu" and idx_rows != rows
    return Sizing(tuple(operands), tuple(parts), row_by_row)


# What the headers do. Offsets count from the first byte of each operand.


def _rows(args: Mapping[str, TileType], operand: str, count: int, start: int, length: int) -> Region:
    """The same columns of every row; a one-row idx is read again for each row (idxStride 0)."""
    arg = args[operand]
    if operand == "idx" and arg.valid_rows == 1:
        count = 1
    return Region(start, length, count, arg.pitch)


def _static_defects(args: Mapping[str, TileType]) -> list[str]:
    """What does not compile (a2a3/TSort32.hpp:144-149, a5/TSort32.hpp:166-171)."""
    dst, src, idx = (args[name].dtype for name in ("dst", "src", "idx"))
    if dst is src and dst in (FLOAT32, FLOAT16) and idx is UINT32:
        return []
    return [f"dst of {dst}, src of {src} and idx of {idx}: it does not compile"]


def _sort(
    args: Mapping[str, TileType], rows: int, first: int, blocks: int, valid: int, source: str = "src"
) -> list[Access]:
    """One vbitsort a row on blocks ``first`` to ``first + blocks``: it reads whole blocks and writes a record for each
    element.

    ``valid`` columns of them count; what stands in the lanes behind reaches only records behind the valid ones.
    """
    b = args["src"].dtype.bytes
    start = first * BLOCK
    lanes = blocks * BLOCK
    accesses = []
    if source == "src":
        accesses.append(Access("src", False, _rows(args, "src", rows, start * b, lanes * b)))
    else:
        accesses.append(Access("tmp", False, Region(0, lanes * b)))
    accesses.append(Access("idx", False, _rows(args, "idx", rows, start * 4, valid * 4)))
    if lanes > valid:
        accesses.append(
            Access("idx", False, _rows(args, "idx", rows, (start + valid) * 4, (lanes - valid) * 4), defined=False)
        )
    accesses.append(Access("dst", True, _rows(args, "dst", rows, start * RECORD_BYTES, valid * RECORD_BYTES)))
    if lanes > valid:
        behind = _rows(args, "dst", rows, (start + valid) * RECORD_BYTES, (lanes - valid) * RECORD_BYTES)
        accesses.append(Access("dst", True, behind, defined=False))
    return accesses


def _copy_row(args: Mapping[str, TileType], rows: int, start: int, cols: int) -> list[Access]:
    """``cols`` columns of src from ``start`` to the front of tmp, in blocks of 32 bytes."""
    b = args["src"].dtype.bytes
    used, moved = cols * b, align_up(cols * b, 32)
    accesses = [Access("src", False, _rows(args, "src", rows, start * b, used)), Access("tmp", True, Region(0, used))]
    if moved > used:
        accesses.append(Access("src", False, _rows(args, "src", rows, start * b + used, moved - used), defined=False))
        accesses.append(Access("tmp", True, Region(used, moved - used), defined=False))
    return accesses


def _pad(args: Mapping[str, TileType], cols: int) -> Access:
    """The pad value in the lanes of tmp behind ``cols`` columns, up to the end of the block."""
    b = args["src"].dtype.bytes
    return Access("tmp", True, Region(cols * b, (align_up(cols, BLOCK) - cols) * b))


def _effects_whole(args: Mapping[str, TileType], rows: int, cols: int) -> Effects:
    """The form without a tail: a2a3/TSort32.hpp:73-103, a5/TSort32.hpp:28-57."""
    blocks = cols // BLOCK
    defects = []
    if blocks == 0:
        defects.append(f"{cols} columns are {blocks} whole blocks: vbitsort gets repeat 0")
    if blocks > REPEAT_MAX and blocks % REPEAT_MAX == 0:
        defects.append(
            f"{blocks} blocks are a multiple of {REPEAT_MAX}: the last group gets repeat 0 and is not sorted"
        )
    if cols % BLOCK:
        defects.append(f"the 3-argument form drops the last {cols % BLOCK} of {cols} columns")
    return Effects(Pipe.V, tuple(_sort(args, rows, 0, blocks, blocks * BLOCK)), tuple(defects))


def _effects_large(args: Mapping[str, TileType], rows: int, cols: int) -> Effects:
    """Long rows with a tail: whole blocks from src, the last one through tmp (a2a3/TSort32.hpp:24-70,
    a5/TSort32.hpp:60-114)."""
    blocks, tail = blocks_of(cols), cols % BLOCK
    rest = blocks % REPEAT_MAX
    defects = []
    if rest == 0:
        defects.append(f"{blocks} blocks are a multiple of {REPEAT_MAX}: the last group gets repeat 0 - 1")
    if rest == 1:
        defects.append(f"{blocks} blocks leave 1 behind the groups of {REPEAT_MAX}: vbitsort gets repeat 0")
    accesses = _sort(args, rows, 0, blocks - 1, (blocks - 1) * BLOCK)
    accesses += _copy_row(args, rows, (blocks - 1) * BLOCK, tail)
    accesses.append(_pad(args, tail))
    accesses += _sort(args, rows, blocks - 1, 1, tail, source="tmp")
    return Effects(Pipe.V, tuple(accesses), tuple(defects))


def _effects_small(args: Mapping[str, TileType], rows: int, cols: int) -> Effects:
    """Short rows with a tail: the row goes through tmp (a2a3/TSort32.hpp:108-139, a5/TSort32.hpp:119-161).

    On a5 the pad step also reads a whole vector register from the last block of tmp; those lanes are dropped and not
    modelled.
    """
    blocks = blocks_of(cols)
    accesses = [*_copy_row(args, rows, 0, cols), _pad(args, cols), *_sort(args, rows, 0, blocks, cols, source="tmp")]
    defects = [f"{blocks} blocks in one vbitsort, at most {REPEAT_MAX}"] if blocks > REPEAT_MAX else []
    return Effects(Pipe.V, tuple(accesses), tuple(defects))


def _effects_npu(args: Mapping[str, TileType], length: int) -> Effects:
    rows, cols = args["dst"].valid_rows, args["src"].valid_cols
    if "tmp" not in args or cols % BLOCK == 0:
        return _effects_whole(args, rows, cols)
    return _effects_small(args, rows, cols) if length <= SMALL_ROW else _effects_large(args, rows, cols)


def _effects_a2a3(args: Mapping[str, TileType]) -> Effects:
    return _effects_npu(args, args["src"].valid_cols)


def _effects_a5(args: Mapping[str, TileType]) -> Effects:
    return _effects_npu(args, args["src"].valid_cols * args["src"].dtype.bytes)


def _effects_cpu(args: Mapping[str, TileType]) -> Effects:
    """The simulator (cpu/TSort32.hpp): only valid columns move.

    It leaves tmp alone; but kernels for it keep the forms of a2a3, so what a2a3 does to tmp is claimed here too.
    """
    src, idx = args["src"], args["idx"]
    rows, cols = src.valid_rows, src.valid_cols
    if (idx.valid_rows, idx.valid_cols) != (rows, cols):
        shapes = f"{idx.valid_rows}x{idx.valid_cols} of idx and {rows}x{cols} of src"
        return Effects(Pipe.V, (), (f"the valid regions {shapes} differ: the simulator returns without sorting",))
    defects = []
    if idx.cols != src.cols:
        defects.append(f"src has {src.cols} physical columns and idx {idx.cols}: the simulator does not compile")
    if src.dtype is FLOAT16 and cols > BLOCK:
        defects.append(
            f"{blocks_of(cols)} blocks of half: the simulator overwrites records of each block with the next one's"
        )
    accesses = (
        Access("src", False, Region(0, cols * src.dtype.bytes, rows, src.pitch)),
        Access("idx", False, Region(0, cols * 4, rows, idx.pitch)),
        Access("dst", True, Region(0, cols * RECORD_BYTES, rows, args["dst"].pitch)),
    )
    claimed = [replace(access, defined=False) for access in _effects_a2a3(args).accesses if access.operand == "tmp"]
    return Effects(Pipe.V, (*accesses, *claimed), tuple(defects))


RECORDS = (
    Tsort32(
        name="tsort32",
        instruction="TSORT32",
        forms=(Form(slots("dst+ src idx")), Form(slots("dst+ src idx tmp~"))),
        sources=(
            "the ISA's page TSORT32 (semantics, tile sizes, tmp)",
            "pypto_pro.language.sort32 (alignment of the sort hardware, physical columns)",
            "pto/npu/a2a3/TSort32.hpp, pto/npu/a5/TSort32.hpp (a5 and Kirin), pto/cpu/TSort32.hpp",
        ),
        operands=(
            OperandNote("dst", Role.OUT, "dtype", "rows x 2 * ceil32(cols) float, 4 * ceil32(cols) half", "256"),
            OperandNote("src", Role.IN, "dtype", "rows x ceil32(cols)", "128 float, 64 half"),
            OperandNote("idx", Role.IN, "uint32", "rows x ceil32(cols), or one row for all", "128"),
            OperandNote(
                "tmp", Role.TMP, "dtype", "1 x ceil32(cols), or 1 x 32 for long rows; none for whole blocks", "as src"
            ),
        ),
        constraints=(
            "ceil32 rounds the valid columns up to a multiple of 32",
            "a row is long, for tmp, above 8160 columns on a2a3 and cpu, above 8160 bytes on a5 and Kirin",
            "columns that are a multiple of 32 take the form with three arguments, others the one with tmp",
            "columns are cut at a multiple of 32 where a header would sort with repeat 0 or -1",
            "the valid region is not larger than the tensor",
        ),
        rests=(
            Rest("order", "descending by value within every 32 columns", "document"),
            Rest(
                "ties", "equal values by smaller index; -0.0 and +0.0 are equal", "document; the two zeros: simulator"
            ),
            Rest("value bits", "kept as they are, signed zeros and subnormals too", "assumed"),
            Rest("padding", "a half value is followed by two zero bytes", "document"),
            Rest("pad value", "sorts behind every value of the last block; -inf is kept out of it", "assumed"),
            Rest("NaN", "refused as input: its order is undefined", "document"),
            Rest(
                "records behind the valid ones",
                "written by NPUs up to the end of the block, never stored to GM",
                "header",
            ),
        ),
        # Seen by running pto-isa 3186c38 and the pinned snapshot; line numbers are those of 3186c38 unless the row
        # says otherwise.
        defects=(
            Defect(
                "TSORT32_INDEX_VALUE",
                "always, except an index of 0",
                "pto/cpu/TSort32.hpp:78-79 (half) and :82 (float) in the pinned snapshot; mended in 3186c38 (:81-83, "
                ":87-89)",
                "the index is converted to the number of the value's type instead of being stored as its 32 bits",
                "!ptogen::probe::Sort32<float, 1, 32>().Indices() || !ptogen::probe::Sort32<half, 1, 32>().Indices()",
            ),
            Defect(
                "TSORT32_HALF_BLOCKS",
                "float16 with more than 32 valid columns",
                "pto/cpu/TSort32.hpp:51",
                "records of a 32-block start 2 slots a column, not 4, after those of the one before, and overwrite "
                "its half",
                "!ptogen::probe::Sort32<half, 1, 64>().Values()",
            ),
            Defect(
                "TSORT32_IDX_SHAPE",
                "valid shape of idx other than that of src: one row of indices for all rows (broadcast), or more "
                "columns",
                "pto/cpu/TSort32.hpp:124",
                "returns without sorting",
                "!ptogen::probe::Sort32<float, 2, 32, 1>().Values() || !ptogen::probe::Sort32<float, 1, 13, 1, "
                "32>().Values()",
            ),
        ),
    ),
)
