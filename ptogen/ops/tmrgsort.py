"""TMRGSORT: merges sorted lists of 8-byte (value, index) records, four blocks of one tile or two to four tiles."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from ptogen.dtypes import DTYPES, FLOAT16, FLOAT32, UINT32, Dtype
from ptogen.ops.assembly import Assembly, Constant
from ptogen.ops.attributes import Bool, Call, Int, Value
from ptogen.ops.base import Op
from ptogen.ops.case import CaseFields, Fault, common_suffix, data_faults, pin_faults
from ptogen.ops.effects import Access, Effects
from ptogen.ops.notes import OperandNote, Rest
from ptogen.ops.record import Form, slots
from ptogen.ops.sizing import Operand, Part, Role, Sizing, Tensor, align_up
from ptogen.platforms import UB_BLOCK_BYTES, Pipe, Platform
from ptogen.tiles import Region, TileType

RECORD_BYTES = 8
"""A record: the value, padded to 4 bytes, and its index (ISA page TMRGSORT, "value-index pairs")."""

BLOCKS = 4
"""Blocks that the single variant merges into one (ISA page TMRGSORT, variant A)."""

BLOCK_MULTIPLE = 64
"""``block_len`` is a multiple of it (ISA page TMRGSORT, single list; a2a3/TMrgSort.hpp:291, asserted in debug builds
only)."""

REPEAT_MAX = 255
"""Most groups of four blocks (ISA page TMRGSORT; 8 bits in a2a3/TMrgSort.hpp:295, a5/TMrgSort.hpp:273)."""

RECORDS_MAX = 4_095
"""Longest list, in records: the vendor's Ascend C pages of MrgSort. The header cannot notice more, see
``LENGTH_MAX``."""

LENGTH_MAX = 65_535
"""Longest list that the header can say: its length has 16 bits of one register (a2a3/TMrgSort.hpp:88-89,
a5/TMrgSort.hpp:84-85)."""

A2A3_UB_SIZE = 196_608
"""``UB_SIZE`` of a2a3/TMrgSort.hpp:20."""

COUNTS_COLS = 8
"""Columns of the counts tile: 32 bytes of uint32."""


def _first_number(call: Call) -> int:
    return next((value for value in call.scalars if value is not None), 0)


def _last_value(call: Call) -> bool:
    return bool(call.values and call.values[-1])


BLOCK_LEN = Int("block_len", read=_first_number)
"""Columns of a sorted block."""

EXHAUSTED = Bool("exhausted", read=_last_value)
"""Whether the merge stops with a list; the last template argument."""

LISTS = Int("lists")
"""How many counts are stored."""

SOURCES = ("src0 src1", "src0 src1 src2", "src0 src1 src2 src3")

BUFFERED = frozenset({"a2a3", "a5"})
"""The form with tmp writes dst from tmp after everything was read, so that dst may lie on a source
(a2a3/TMrgSort.hpp:63, a5/TMrgSort.hpp:43); the simulator has no such step."""

Count = Annotated[int, Field(ge=1, le=2**31 - 1)]


class TmrgsortCase(CaseFields):
    """One row of records; columns are elements, as the ISA counts them: 2 float or 4 half a record."""

    dtype: str = Field(description="float32 or float16 (also spelt float, half)")
    variant: Literal["single", "multi"] = Field(description="single: every 4 blocks of one tile; multi: 2 to 4 tiles")
    rows: Count | None = Field(None, description="1, the only number of rows that there is")
    cols: Count | None = Field(None, description="single: columns of src, a multiple of 4 * block_len")
    block_len: Count | None = Field(None, description="single: columns of a sorted block, a multiple of 64")
    lists: Annotated[tuple[Count, ...], Field(min_length=2, max_length=4)] | None = Field(
        None, description="multi: valid columns of each list"
    )
    exhausted: bool = Field(
        False, description="multi: stop when a list runs dry, and store how many records each has given"
    )


FIELDS = {"single": ("cols", "block_len"), "multi": ("lists",)}
"""The fields of each variant; another variant's are refused."""


@dataclass(frozen=True)
class Tmrgsort(Op):
    one_shape: bool = False
    """Whether dst has the physical columns of tmp; at most a few blocks of 32 bytes more."""

    Case = TmrgsortCase
    golden_module = "mrgsort"

    def default_name(self, case: TmrgsortCase) -> str:
        if case.variant == "single":
            name = f"case_{case.dtype}_single_{case.cols}_block{case.block_len}"
        else:
            name = f"case_{case.dtype}_multi_{'_'.join(map(str, case.lists or ()))}"
        return name + ("_exhausted" if case.exhausted else "") + common_suffix(case)

    def dtypes(self, platform: Platform) -> tuple[Dtype, ...]:
        # The simulator takes any type that divides 8 bytes; the ISA has only these (ISA page TMRGSORT;
        # a2a3/TMrgSort.hpp:184, a5/TMrgSort.hpp:190).
        return (FLOAT32, FLOAT16)

    def rules(self, case: TmrgsortCase, platform: Platform, mode: str, base: Path) -> list[Fault]:
        """The documents' constraints. Of those the headers check some in debug builds of a2a3 only and a5 none."""
        faults = []
        accepted = [dtype.name for dtype in self.dtypes(platform)]
        if case.dtype not in accepted:
            message = f"{self.name} has no {case.dtype} on {platform}; it has {' and '.join(accepted)}"
            faults.append(Fault("PTG201", "dtype", message))
        faults += _wrong_fields(case)
        if faults:
            return faults
        dtype = DTYPES[case.dtype]
        faults += _single_faults(case, dtype, platform) if case.variant == "single" else _multi_faults(case, dtype)
        if not faults:
            faults += pin_faults(case, self.sizing(case, platform)) if case.ub else []
            faults += data_faults(case, base, dtype, 1, sum(_lists(case)) // record_cols(dtype))
        return faults

    def tensors(self, case: TmrgsortCase) -> tuple[Tensor, ...]:
        dtype = DTYPES[case.dtype]
        total = sum(_lists(case))
        # Whichever list is exhausted first, all of it has been merged.
        least = min(_lists(case)) * dtype.bytes if case.exhausted else 0
        tensors = [Tensor("dst", dtype, 1, total, 1, total, Role.OUT, record=dtype, masked=least)]
        if case.exhausted:
            number = len(_lists(case))
            tensors.append(Tensor("counts", UINT32, 1, number, 1, number, Role.OUT))
        for name, cols in _sources(case).items():
            tensors.append(Tensor(name, dtype, 1, cols, 1, cols, Role.IN, record=dtype))
        return tuple(tensors)

    def sizing(self, case: TmrgsortCase, platform: Platform) -> Sizing:
        """ISA page TMRGSORT: tmp has the columns of all sources together; dst takes what is copied from it in 32-byte
        blocks.

        The consumed counts come back in a variable of the kernel. A second instruction, on the scalar pipe, puts them
        into a tile of their own.
        """
        dtype = DTYPES[case.dtype]

        def operand(name: str, role: Role, cols: int) -> Operand:
            tensor = None if role is Role.TMP else name
            return Operand(dtype, 1, physical(cols, dtype), 1, cols, name, role, UB_BLOCK_BYTES, tensor, scale=0)

        sources = _sources(case)
        total = sum(sources.values())
        inputs = [operand(name, Role.IN, cols) for name, cols in sources.items()]
        dst = operand("dst", Role.OUT, total)
        if case.variant == "single":
            part = Part(0, total, ("dst", "src"), attributes=(("block_len", case.block_len or 0),))
            return Sizing((*inputs, dst), (part,))
        tmp = operand("tmp", Role.TMP, sum(source.cols for source in inputs))
        if self.one_shape:
            dst = replace(dst, cols=tmp.cols)
        # The header reads the counts behind a flag of its own (a2a3/TMrgSort.hpp, GetExhaustedData).
        events = ((Pipe.V, Pipe.S, 0),) if case.exhausted else ()
        merge = Part(0, total, ("dst", "tmp", *sources), attributes=(("exhausted", case.exhausted),), events=events)
        if not case.exhausted:
            return Sizing((*inputs, dst, tmp), (merge,))
        number = len(sources)
        counts = Operand(UINT32, 1, COUNTS_COLS, 1, number, "counts", Role.OUT, UB_BLOCK_BYTES, "counts", scale=0)
        store = Part(0, total, ("counts",), Pipe.S, (("lists", number),))
        return Sizing((*inputs, counts, dst, tmp), (merge, store))

    def effects(self, family: str, args: Mapping[str, TileType], attributes: Mapping[str, Value]) -> Effects:
        if "counts" in args:
            # Tile::SetValue: one element each (pto/common/pto_tile.hpp:1444).
            return Effects(Pipe.S, (Access("counts", True, Region(0, LISTS.of(attributes) * UINT32.bytes)),))
        does = {"a2a3": _effects_a2a3, "a5": _effects_npu, "cpu": _effects_cpu}[family]
        return does(args, attributes)

    def cpp(self, tiles: Mapping[str, str], types: Mapping[str, str], attributes: Mapping[str, Value]) -> list[str]:
        """``exhausted`` cannot be deduced, so the multi variant names all its template arguments.

        Source: pto/common/pto_instr.hpp:847-889.
        """
        if "counts" in tiles:
            counts = tiles["counts"]
            return [
                f"{counts}.SetValue({list_}, executedNumList.mrgSortList{list_});"
                for list_ in range(LISTS.of(attributes))
            ]
        if "tmp" not in tiles:
            return [f"{self.instruction}({tiles['dst']}, {tiles['src']}, {BLOCK_LEN.cpp(BLOCK_LEN.of(attributes))});"]
        dst, *others = tiles.values()
        arguments = ", ".join([*types.values(), EXHAUSTED.cpp(EXHAUSTED.of(attributes))])
        return [
            "MrgSortExecutedNumList executedNumList;",
            f"{self.instruction}<{arguments}>({dst}, executedNumList, {', '.join(others)});",
        ]

    def in_pto_as(self) -> Tmrgsort:
        """The assembler wants dst and tmp in one physical shape (PTOAS 0.27, verifier)."""
        return replace(self, one_shape=True)

    def pto_as(
        self, args: Mapping[str, TileType], attributes: Mapping[str, Value], platform: Platform
    ) -> Assembly | Fault:
        """tmp is the last of the ins. The executed counts are an operand that the assembler only reads."""
        if "tmp" not in args:
            block = BLOCK_LEN.assembly(BLOCK_LEN.of(attributes))
            return Assembly(("src", Constant("block_len", block, BLOCK_LEN.assembly_type)), ("dst",))
        if EXHAUSTED.of(attributes):
            message = "PTO assembly has no text that stores the consumed counts"
            return Fault("PTG303", "exhausted", message, "leave `exhausted` out, or render `--target st`")
        sources = tuple(name for name in args if name.startswith("src"))
        executed = Constant("executed", "dense<0>", "vector<4xi16>")
        return Assembly((*sources, "tmp"), ("dst", executed), f"exhausted = {EXHAUSTED.assembly(False)}")

    def golden_params(self, case: TmrgsortCase, base: Path) -> dict[str, Any]:
        dtype = DTYPES[case.dtype]
        if case.variant == "single":
            lists = [case.block_len or 0] * BLOCKS
        else:
            lists = list(_lists(case))
        params: dict[str, Any] = {
            "dtype": case.dtype,
            "variant": case.variant,
            "lists": [cols // record_cols(dtype) for cols in lists],
            "repeats": sum(_lists(case)) // sum(lists),
            "exhausted": case.exhausted,
            "data": case.data,
            "seed": case.seed,
        }
        if case.data.endswith(".npy"):
            from ptogen.golden.values import load_values

            records = sum(_lists(case)) // record_cols(dtype)
            params |= {"data": "values", "values": load_values(base / case.data, case.dtype, 1, records)}
        return params

    def shapes(self, case: TmrgsortCase) -> tuple[tuple[str, int], tuple[str, int]]:
        if case.variant == "single":
            return ("rows", 1), ("cols", case.cols or 0)
        return ("lists", len(_lists(case))), ("columns of a list", max(_lists(case)))

    def resized(self, case: TmrgsortCase, rows: int, cols: int) -> TmrgsortCase:
        if case.variant == "single":
            return case.model_copy(update={"cols": cols})
        # No list grows, and a merge has at least two.
        return case.model_copy(update={"lists": tuple(min(own, cols) for own in _lists(case)[: max(rows, 2)])})

    def defects_of(self, case: TmrgsortCase, platform: Platform) -> tuple[str, ...]:
        return ()


def record_cols(dtype: Dtype) -> int:
    """Columns that a record takes: 2 of float, 4 of half."""
    return RECORD_BYTES // dtype.bytes


def physical(cols: int, dtype: Dtype) -> int:
    """Columns of a tile for ``cols`` valid ones: whole blocks of 32 bytes."""
    return align_up(cols * dtype.bytes, UB_BLOCK_BYTES) // dtype.bytes


def _lists(case: TmrgsortCase) -> tuple[int, ...]:
    """Valid columns of each source tile."""
    return (case.lists or ()) if case.variant == "multi" else (case.cols or 0,)


def _sources(case: TmrgsortCase) -> dict[str, int]:
    """Valid columns of the source tiles by the ISA's names."""
    names = ["src"] if case.variant == "single" else [f"src{number}" for number in range(len(_lists(case)))]
    return dict(zip(names, _lists(case), strict=True))


def _wrong_fields(case: TmrgsortCase) -> list[Fault]:
    """Fields that the variant lacks or does not have."""
    faults = []
    for variant, fields in FIELDS.items():
        for field in fields:
            given = getattr(case, field) is not None
            if variant == case.variant and not given:
                hint = TmrgsortCase.model_fields[field].description
                faults.append(Fault("PTG202", field, f"variant {variant} needs {field}", f"{field}: {hint}"))
            if variant != case.variant and given:
                message = f"{field} is a field of variant {variant}, not of {case.variant}"
                faults.append(Fault("PTG202", field, message, f"remove {field}, or write variant: {variant}"))
    if case.exhausted and case.variant == "single":
        message = "exhausted is a field of variant multi: single merges whole groups of 4 blocks"
        faults.append(Fault("PTG202", "exhausted", message, "remove exhausted, or write variant: multi"))
    if case.rows not in (None, 1):
        faults.append(Fault("PTG202", "rows", f"{case.rows} rows: every tile of TMRGSORT has 1", "remove rows"))
    return faults


def _nearest(value: int, step: int, most: int) -> str:
    """The multiples of ``step`` next to ``value``, not below one step and not above ``most``."""
    below = min(value, most) // step * step
    return " and ".join(str(near) for near in (below, below + step) if step <= near <= most) or "none"


def _single_faults(case: TmrgsortCase, dtype: Dtype, platform: Platform) -> list[Fault]:
    cols, block = case.cols or 0, case.block_len or 0
    if block % BLOCK_MULTIPLE:
        near = _nearest(block, BLOCK_MULTIPLE, RECORDS_MAX * record_cols(dtype))
        return [
            Fault("PTG202", "block_len", f"block_len {block} is not a multiple of {BLOCK_MULTIPLE}", f"nearest: {near}")
        ]
    if fault := _too_long("block_len", "a block", block, dtype, BLOCK_MULTIPLE):
        return [fault]
    group = BLOCKS * block
    # UB limit of the document: src and dst together stay below UB_SIZE. What breaks it by more than reaching it does
    # not fit, which the planner says.
    fits = (platform.ub_bytes - 1) // (2 * dtype.bytes) // group * group
    most = min(REPEAT_MAX * group, fits)
    if cols % group:
        message = f"cols {cols} is not a multiple of 4 * block_len = {group}"
        return [Fault("PTG202", "cols", message, f"nearest: {_nearest(cols, group, max(most, group))}")]
    if cols // group > REPEAT_MAX:
        message = f"cols {cols} is {cols // group} groups of 4 * block_len = {group}, more than {REPEAT_MAX}"
        return [Fault("PTG202", "cols", message, f"at most {most} columns at this block_len")]
    if 2 * cols * dtype.bytes == platform.ub_bytes:
        message = f"src and dst take all {platform.ub_bytes:,} B of UB on {platform}; TMRGSORT needs them to stay below"
        hint = f"at most {most} columns at this block_len" if most else "make block_len smaller"
        return [Fault("PTG202", "cols", message, hint)]
    return []


def _multi_faults(case: TmrgsortCase, dtype: Dtype) -> list[Fault]:
    """The document's UB limits need no rule: sources, tmp and dst, which all are as large, must fit together."""
    faults = []
    step = record_cols(dtype)
    for number, cols in enumerate(_lists(case)):
        if cols % step:
            message = f"list {number} has {cols} columns; a record of {dtype} takes {step}"
            near = _nearest(cols, step, RECORDS_MAX * step)
            faults.append(Fault("PTG202", f"lists.{number}", message, f"nearest: {near}"))
        elif fault := _too_long(f"lists.{number}", f"list {number}", cols, dtype, step):
            faults.append(fault)
    return faults


def _too_long(field: str, what: str, cols: int, dtype: Dtype, step: int) -> Fault | None:
    records = cols // record_cols(dtype)
    if records <= RECORDS_MAX:
        return None
    message = f"{what} has {records:,} records; a merge takes lists of at most {RECORDS_MAX:,}"
    return Fault("PTG202", field, message, f"at most {RECORDS_MAX * record_cols(dtype) // step * step} columns")


# What the headers do. Offsets count from the first byte of each operand.


def _effects_npu(args: Mapping[str, TileType], attributes: Mapping[str, Value]) -> Effects:
    """a5/TMrgSort.hpp and, the assertions aside, a2a3/TMrgSort.hpp.

    Only a2a3 has a barrier between the merge into tmp and the copy to dst.
    """
    effects = _effects_multi(args, attributes) if "tmp" in args else _effects_single(args, attributes)
    return replace(effects, defects=(*_static_defects(args), *effects.defects))


def _static_defects(args: Mapping[str, TileType]) -> list[str]:
    """What does not compile (a2a3/TMrgSort.hpp:177-214, a5/TMrgSort.hpp:183-212)."""
    tall = [name for name, arg in args.items() if arg.rows != 1]
    types = {arg.dtype.name for arg in args.values()}
    defects = [f"{' and '.join(tall)} must have 1 row: it does not compile"] if tall else []
    if len(types) > 1 or not types <= {FLOAT32.name, FLOAT16.name}:
        defects.append(f"all tiles must be float32 or all float16, not {', '.join(sorted(types))}: it does not compile")
    return defects


def _effects_multi(args: Mapping[str, TileType], attributes: Mapping[str, Value]) -> Effects:
    """Merge into tmp, then copy the valid columns of dst in whole blocks.

    With ``exhausted`` how much is merged depends on the values. What is claimed then is a merge of everything; the mask
    of the output says what counts. The counts are read behind a flag of the header's own (``GetExhaustedData``).

    Source: a2a3/TMrgSort.hpp:62-128, a5/TMrgSort.hpp:42-126.
    """
    dtype = args["dst"].dtype
    accesses, defects = [], []
    merged = 0
    for name, arg in args.items():
        if name in ("dst", "tmp"):
            continue
        records = arg.valid_cols // record_cols(dtype)
        accesses.append(Access(name, False, Region(0, records * RECORD_BYTES)))
        merged += records * RECORD_BYTES
        if arg.valid_cols % record_cols(dtype):
            defects.append(f"{arg.valid_cols} columns of {name} are not whole records: the last one is left out")
        if records == 0:
            defects.append(f"{name} has no record")
        if records > LENGTH_MAX:
            defects.append(f"{records:,} records of {name} do not fit the 16 bits of its length")
    moved = args["dst"].valid_cols * dtype.bytes
    blocks = align_up(moved, UB_BLOCK_BYTES)
    accesses += [
        Access("tmp", True, Region(0, merged)),
        Access("tmp", False, Region(0, moved)),
        Access("dst", True, Region(0, moved)),
    ]
    if blocks > moved:
        rest = Region(moved, blocks - moved)
        accesses += [Access("tmp", False, rest, defined=False), Access("dst", True, rest, defined=False)]
    events = ((Pipe.V, Pipe.S, 0),) if EXHAUSTED.of(attributes) else ()
    return Effects(Pipe.V, tuple(accesses), tuple(defects), events)


def _effects_single(args: Mapping[str, TileType], attributes: Mapping[str, Value]) -> Effects:
    """Groups of four blocks, each merged into its place in dst.

    The repeat is kept in 8 bits, and columns behind the last whole group are left out without a word.

    Source: a2a3/TMrgSort.hpp:130-156,279-300; a5/TMrgSort.hpp:128-155,264-275.
    """
    dtype, cols = args["src"].dtype, args["src"].valid_cols
    block = BLOCK_LEN.of(attributes)
    group = BLOCKS * block
    if not group:
        return Effects(Pipe.V, (), ("block_len is 0: the header divides by it",))
    groups, repeat = cols // group, cols // group % 256
    defects = []
    if block % BLOCK_MULTIPLE:
        defects.append(f"block_len {block} is not a multiple of {BLOCK_MULTIPLE}")
    if block // record_cols(dtype) > LENGTH_MAX:
        defects.append(f"{block // record_cols(dtype):,} records of a block do not fit the 16 bits of its length")
    if cols % group:
        defects.append(f"the last {cols % group} of {cols} columns are no group of {group} and are left out")
    if repeat == 0:
        defects.append(f"{groups} groups of {group} columns: vmrgsort4 gets repeat 0")
    elif repeat != groups:
        defects.append(f"{groups} groups of {group} columns: the repeat has 8 bits, so {repeat} are merged")
    length = repeat * group * dtype.bytes
    return Effects(
        Pipe.V, (Access("src", False, Region(0, length)), Access("dst", True, Region(0, length))), tuple(defects)
    )


def _effects_a2a3(args: Mapping[str, TileType], attributes: Mapping[str, Value]) -> Effects:
    """With the assertion of debug builds on the sum of the tiles (a2a3/TMrgSort.hpp:218,244,266,286)."""
    effects = _effects_npu(args, attributes)
    counted = [name for name in args if name != "dst" or "tmp" not in args]
    total = sum(args[name].valid_cols * args[name].dtype.bytes for name in counted)
    if total < A2A3_UB_SIZE:
        return effects
    message = f"{', '.join(counted)} take {total:,} B together; the header asserts less than {A2A3_UB_SIZE:,} B"
    return replace(effects, defects=(*effects.defects, message))


def _effects_cpu(args: Mapping[str, TileType], attributes: Mapping[str, Value]) -> Effects:
    """The simulator (cpu/TMrgSort.hpp): it counts the columns of dst and merges straight into it.

    It leaves tmp and flags alone; but kernels for it keep the forms of a2a3, so what a2a3 does to tmp, and its flag,
    are claimed here too.
    """
    npu = _effects_a2a3(args, attributes)
    dtype, cols = args["dst"].dtype, args["dst"].valid_cols
    if "tmp" in args:
        sources = [access for access in npu.accesses if access.operand not in ("dst", "tmp")]
        claimed = [replace(access, defined=False) for access in npu.accesses if access.operand == "tmp"]
        total = min(cols // record_cols(dtype) * RECORD_BYTES, sum(access.region.length for access in sources))
        return replace(npu, accesses=(*sources, Access("dst", True, Region(0, total)), *claimed))
    block = BLOCK_LEN.of(attributes)
    if block == 0 or block % record_cols(dtype):
        return replace(npu, accesses=(), defects=(*npu.defects, f"block_len {block}: the simulator does nothing"))
    length = cols // (BLOCKS * block) * BLOCKS * block * dtype.bytes
    accesses = (Access("src", False, Region(0, length)), Access("dst", True, Region(0, length)))
    return replace(npu, accesses=accesses)


RECORDS = (
    Tmrgsort(
        name="tmrgsort",
        instruction="TMRGSORT",
        forms=(
            Form(slots("dst+ src")),
            *(Form(slots(f"dst+ tmp~ {sources}"), buffered=BUFFERED) for sources in SOURCES),
            Form(slots("counts+"), Pipe.S),
        ),
        attributes=(BLOCK_LEN, EXHAUSTED, LISTS),
        sources=(
            "the ISA's page TMRGSORT (variants, constraints, tmp)",
            "pto/npu/a2a3/TMrgSort.hpp, pto/npu/a5/TMrgSort.hpp (a5 and Kirin), pto/cpu/TMrgSort.hpp",
        ),
        operands=(
            OperandNote("dst", Role.OUT, "dtype", "1 x cols; multi: 1 x sum of the lists' columns"),
            OperandNote("counts", Role.OUT, "uint32", "exhausted: 1 x 8, records that each list has given"),
            OperandNote("tmp", Role.TMP, "dtype", "multi: 1 x sum of the lists' physical columns"),
            OperandNote("src", Role.IN, "dtype", "single: 1 x cols"),
            OperandNote("src0..src3", Role.IN, "dtype", "multi: 1 x columns of the list, to 32 bytes"),
        ),
        constraints=(
            "columns and block_len count elements: a record is 2 float or 4 half",
            "single: block_len is a multiple of 64, cols one of 4 * block_len, cols / (4 * block_len) is 1 to 255",
            "multi: 2 to 4 lists of whole records",
            "a list, and a block of block_len columns, has at most 4,095 records",
            "dst, tmp and the sources share no bytes",
        ),
        rests=(
            Rest("order", "descending by value; the records of each list in the order they have there", "document"),
            Rest(
                "ties", "of equal values in several lists (or blocks) the one of the lower list comes first", "assumed"
            ),
            Rest("zeros", "-0.0 and +0.0 are equal values", "assumed"),
            Rest(
                "record bits",
                "value, padding and index are moved as they are, signed zeros and subnormals too",
                "assumed",
            ),
            Rest("NaN", "refused as input: its order is undefined", "assumed"),
            Rest("length", "lists of more than 4,095 records are refused", "document"),
            Rest(
                "exhausted: end",
                "the merge stops behind the record that empties a list",
                "document; behind which record: simulator",
            ),
            Rest("exhausted: counts", "records, not columns, that each list has given", "header"),
            Rest("exhausted: rest of dst", "undefined behind the merged records, not compared", "header"),
            Rest("counts without exhausted", "mean nothing and are not stored", "document"),
        ),
    ),
)
