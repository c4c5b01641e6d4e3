"""The TPART family: two sources combined where both have a value, copied where only one has.

Sources: ISA page TPARTMIN (TPARTMIN in full, the others as its family) and the headers. Line numbers are those of
pto-isa 3186c38; where an older header differs, it is said.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from ptogen.dtypes import (
    BFLOAT16,
    DTYPES,
    FLOAT16,
    FLOAT32,
    INT8,
    INT16,
    INT32,
    INT64,
    UINT8,
    UINT16,
    UINT32,
    UINT64,
    Dtype,
)
from ptogen.ops.assembly import Assembly
from ptogen.ops.attributes import Value
from ptogen.ops.base import Op
from ptogen.ops.case import DATA_KINDS, CaseFields, Fault, pin_faults
from ptogen.ops.effects import Access, Effects
from ptogen.ops.notes import Defect, OperandNote, Rest, Since
from ptogen.ops.record import Form, slots
from ptogen.ops.sizing import Operand, Part, Role, Sizing, Tensor, align_up
from ptogen.platforms import PLATFORMS, UB_BLOCK_BYTES, Pipe, Platform
from ptogen.tiles import Region, TileType

LANES = 64
"""Columns that headers serve where they forget those beyond a vector of 32-bit lanes; see ``columns_at_once``."""

MAX_TENSOR_BYTES = 2**31
"""Largest GM tensor: what a host program can be asked to allocate and compare."""

SIMULATED = (FLOAT32, FLOAT16, BFLOAT16, INT32, INT16)
"""What every version of the simulator computes (cpu/TPartOp.hpp, TPartCheck); int8 and uint8 came later."""

VALUE_DTYPES: dict[str, tuple[Dtype, ...]] = {
    "a2a3": (FLOAT32, FLOAT16, INT32, INT16),
    "a5": (FLOAT32, FLOAT16, BFLOAT16, INT8, UINT8, INT16, UINT16, INT32, UINT32, INT64, UINT64),
    "cpu": (*SIMULATED, INT8, UINT8),
}
"""By family: ISA page TPARTMIN, "Constraints"; a2a3/TPartMin.hpp:75-82, a5/TPartMin.hpp:34-39,
cpu/TPartOp.hpp:79-83."""

INDEX_DTYPES: dict[Dtype, tuple[Dtype, ...]] = {FLOAT32: (UINT32, INT32), FLOAT16: (UINT16, INT16, UINT32, INT32)}
"""By the dtype of the values (a2a3/TPartArgOp.hpp, checkTiles; a5/TPartArgBinOps.hpp, TPartArgCheck).

Older headers want values and indices of one size.
"""

ASSEMBLY_DTYPES: dict[str, tuple[Dtype, ...]] = {
    "a2a3": (FLOAT32, FLOAT16, INT32, INT16),
    "a5": (FLOAT32, FLOAT16, BFLOAT16, INT32, UINT32, INT16, UINT16, INT8, UINT8),
}
"""What the verifier of PTOAS 0.27 accepts, by family."""

INPLACE = (("dst", "src0"), ("dst", "src1"))
INPLACE_INDICES = (("dstIdx", "src0Idx"), ("dstIdx", "src1Idx"))
"""Sources that the result may be written over, where its shape is dst's: every header reads an element of both sources
before it writes it, and copies what only one has (a2a3/TPartMin.hpp:36-66, a2a3/TPartArgOp.hpp:44-140,
a5/TPartBinOps.hpp:88-137, a5/TPartArgBinOps.hpp:60-130, cpu/TPartOp.hpp:18-75)."""

Extent = Annotated[int, Field(ge=0, le=2**31 - 1)]
Shape = tuple[Extent, Extent]


class TpartCase(CaseFields):
    """Valid regions, which are whole tensors in GM; one source's equals that of dst, the other's is no larger."""

    dtype: str = Field(description="element type")
    dst: Shape = Field(description="[rows, columns] of the result")
    src0: Shape = Field(description="[rows, columns] of the first source")
    src1: Shape = Field(description="[rows, columns] of the second source")
    inplace: Literal["src0", "src1"] | None = Field(
        None, description="write dst over a source of the same shape, which saves its room"
    )

    @property
    def host(self) -> str | None:
        """The source in whose tile dst stands: as the case says, or as its pins do."""
        pins = self.ub or {}
        if self.inplace or "dst" not in pins:
            return self.inplace
        same = (name for name in ("src0", "src1") if pins.get(name) == pins["dst"])
        return next((name for name in same if getattr(self, name) == self.dst), None)


class TpartArgCase(TpartCase):
    """Each tensor of values has one of indices of the same shape."""

    idx_dtype: str = Field(description="element type of the indices")


Triple = tuple[str, str, str]
"""Names of dst, src0 and src1, or of their indices."""

VALUES: Triple = ("dst", "src0", "src1")
INDICES: Triple = ("dstIdx", "src0Idx", "src1Idx")


@dataclass(frozen=True)
class Tpart(Op):
    """TPARTMIN, TPARTMAX, TPARTADD or TPARTMUL."""

    kind: str = ""
    """``min``, ``max``, ``add`` or ``mul``; ``argmin`` or ``argmax`` in the subclass."""

    one_shape: bool = False
    """Whether all tiles have the physical shape of the largest."""

    Case: ClassVar[type[CaseFields]] = TpartCase
    golden_module = "part"

    def default_name(self, case: TpartCase) -> str:
        name = f"case_{'_'.join(dtype.name for dtype, _ in self._typed(case))}_{case.dst[0]}x{case.dst[1]}"
        for source in ("src0", "src1"):
            rows, cols = getattr(case, source)
            if (rows, cols) != case.dst:
                name += f"_{source}_{rows}x{cols}"
        if case.inplace:
            name += f"_inplace_{case.inplace}"
        if case.data != "random":
            name += f"_{case.data}" if case.data in DATA_KINDS else "_file"
        if case.seed:
            name += f"_seed{case.seed}"
        return name + ("_pinned" if case.ub else "")

    def dtypes(self, platform: Platform) -> tuple[Dtype, ...]:
        """64 bits: not for TPARTMUL (a5/TPartMul.hpp, TPARTMUL_IMPL), and only on a5 itself: for Kirin the functions
        behind them are declared and not defined (a5/Int64Reduce.hpp:18,240-260).
        """
        wide = self.kind != "mul" and platform.name == "a5"
        return tuple(dtype for dtype in VALUE_DTYPES[platform.family] if wide or dtype.bytes < 8)

    def columns_at_once(self, case: TpartCase, platform: Platform) -> int:
        """How many columns one instruction serves.

        The a5 headers load 64-bit integers once a row, 64 of them, and have no loop over columns
        (a5/Int64Reduce.hpp:32-101).
        """
        if platform.family == "a5" and DTYPES[case.dtype].bytes == 8 and case.dst[1] > LANES:
            return LANES
        return max(case.dst[1], 1)

    def rules(self, case: TpartCase, platform: Platform, mode: str, base: Path) -> list[Fault]:
        faults = self._dtype_faults(case, platform) + self._shape_faults(case, platform)
        if case.data.endswith(".npy"):
            message = f"{case.data}: a .npy file holds one tensor, and {self.name} has two sources"
            faults.append(Fault("PTG205", "data", message, "use random, ties, sorted, reversed or extremes"))
        if not faults:
            faults += self._inplace_faults(case)
        if case.ub and not faults:
            sizing = self.sizing(case, platform)
            faults += pin_faults(case, sizing)
            if len(sizing.parts) > 1 and not faults:
                message = (
                    f"tiles of more than {LANES} columns are cut into {len(sizing.parts)} here and cannot be pinned"
                )
                faults.append(Fault("PTG204", "ub", message, "remove `ub`"))
        return faults

    def _dtype_faults(self, case: TpartCase, platform: Platform) -> list[Fault]:
        dtype, accepted = DTYPES[case.dtype], self.dtypes(platform)
        if dtype in accepted:
            return []
        message = f"{self.name} has no {dtype} on {platform}; it has {', '.join(map(str, accepted))}"
        others = [other.name for other in PLATFORMS.values() if dtype in self.dtypes(other)]
        return [Fault("PTG201", "dtype", message, f"{', '.join(others)} has it" if others else None)]

    def _shape_faults(self, case: TpartCase, platform: Platform) -> list[Fault]:
        """ISA page TPARTMIN, "Constraints". All other shapes are left to each implementation there, and refused here.

        Where neither source equals dst, a2a3 returns without a word, a5 copies from beyond a valid region and the
        simulator writes zeros (a2a3/TPartMin.hpp:52-66, a5/TPartBinOps.hpp:116-137, cpu/TPartOp.hpp:37).
        """
        shapes = {name: getattr(case, name) for name in VALUES}
        (rows, cols), words = case.dst, {name: f"{shape[0]}x{shape[1]}" for name, shape in shapes.items()}
        if case.dst not in (case.src0, case.src1):
            own = f"src0 is {words['src0']}, src1 is {words['src1']}"
            message = f"one source's valid region must equal that of dst, {words['dst']}: {own}"
            hint = f"make src0 or src1 [{rows}, {cols}]; the other must not exceed it"
            return [Fault("PTG202", "dst", message, hint)]
        for name, (own_rows, own_cols) in shapes.items():
            if own_rows > rows or own_cols > cols:
                message = f"{name} {words[name]} exceeds dst {words['dst']} in rows or columns"
                return [Fault("PTG202", name, message, f"at most [{rows}, {cols}]")]
        size = rows * cols * max(dtype.bytes for dtype, _ in self._typed(case))
        if size > MAX_TENSOR_BYTES:
            message = f"the output tensor has {size:,} B in GM, more than {MAX_TENSOR_BYTES:,} B"
            return [Fault("PTG202", "dst", message, "make its rows or columns smaller")]
        return []

    def _inplace_faults(self, case: TpartCase) -> list[Fault]:
        """A source that is smaller than dst has no room for it; and what shares a tile shares its address."""
        faults = []
        if case.inplace and getattr(case, case.inplace) != case.dst:
            (rows, cols), (own_rows, own_cols) = case.dst, getattr(case, case.inplace)
            message = f"dst {rows}x{cols} cannot be written over {case.inplace}, which is {own_rows}x{own_cols}"
            other = next((name for name in ("src0", "src1") if getattr(case, name) == case.dst), None)
            faults.append(Fault("PTG202", "inplace", message, f"inplace: {other}" if other else "remove `inplace`"))
        pins = case.ub or {}
        for guest, host in self._inplace(case) if not faults else ():
            if guest in pins and pins[guest] != pins.get(host):
                message = f"{guest} stands in the tile of {host}, and is pinned elsewhere"
                faults.append(Fault("PTG204", f"ub.{guest}", message, f"pin {host} alone"))
        return faults

    def _inplace(self, case: TpartCase) -> tuple[tuple[str, str], ...]:
        """(operand, the one in whose tile it stands)."""
        if case.host is None:
            return ()
        return tuple((names[0], names[VALUES.index(case.host)]) for _, names in self._typed(case))

    def _typed(self, case: TpartCase) -> tuple[tuple[Dtype, Triple], ...]:
        """The dtypes with the tiles that have them, in the order of the instruction's parameters."""
        return ((DTYPES[case.dtype], VALUES),)

    def tensors(self, case: TpartCase) -> tuple[Tensor, ...]:
        return _tensors(self._typed(case), (case.dst, case.src0, case.src1))

    def sizing(self, case: TpartCase, platform: Platform) -> Sizing:
        typed, step = self._typed(case), self.columns_at_once(case, platform)
        shapes = (case.dst, case.src0, case.src1)
        return _sizing(typed, shapes, step, self.one_shape, platform.family == "cpu", self._inplace(case))

    def effects(self, family: str, args: Mapping[str, TileType], attributes: Mapping[str, Value]) -> Effects:
        effects = {"a2a3": _effects_a2a3, "a5": _effects_masked, "cpu": _effects_masked}[family]
        return _typed(effects(args, (VALUES,)), args, (VALUES,))

    def in_pto_as(self) -> Tpart:
        """The assembler wants one physical shape of the tiles of min and max (PTOAS 0.27, verifier)."""
        return replace(self, one_shape=self.kind in ("min", "max"))

    def pto_as(
        self, args: Mapping[str, TileType], attributes: Mapping[str, Value], platform: Platform
    ) -> Assembly | Fault:
        dtype, accepted = args["dst"].dtype, ASSEMBLY_DTYPES[platform.family]
        if dtype not in accepted:
            names = ", ".join(map(str, accepted))
            message = f"PTO assembly has no {dtype} for {self.name} on {platform}; it has {names}"
            return Fault("PTG303", "dtype", message)
        return super().pto_as(args, attributes, platform)

    def golden_params(self, case: TpartCase, base: Path) -> dict[str, Any]:
        shapes = {name: list(getattr(case, name)) for name in VALUES}
        return {"op": self.kind, "dtype": case.dtype, **shapes, "data": case.data, "seed": case.seed}

    def shapes(self, case: TpartCase) -> tuple[tuple[str, int], tuple[str, int]]:
        return ("rows of dst", case.dst[0]), ("columns of dst", case.dst[1])

    def resized(self, case: TpartCase, rows: int, cols: int) -> TpartCase:
        """The smaller source keeps its size as far as it can."""
        shapes = {
            name: (rows, cols) if shape == case.dst else (min(shape[0], rows), min(shape[1], cols))
            for name in VALUES
            for shape in (getattr(case, name),)
        }
        return case.model_copy(update=shapes)

    def requires(self, case: TpartCase, platform: Platform) -> tuple[str, ...]:
        return ("bfloat16",) if case.dtype == "bfloat16" else ()

    def defects_of(self, case: TpartCase, platform: Platform) -> tuple[str, ...]:
        dtype = DTYPES[case.dtype]
        found = (f"{self.instruction}_MISSING",) if self.kind == "mul" else ()
        if dtype in SIMULATED:
            return found
        return (*found, f"{self.instruction}_8BIT" if dtype.bytes == 1 else f"{self.instruction}_DTYPES")


@dataclass(frozen=True)
class TpartArg(Tpart):
    """TPARTARGMIN or TPARTARGMAX: the chosen value and its index."""

    Case: ClassVar[type[CaseFields]] = TpartArgCase
    golden_module = "part_arg"

    def dtypes(self, platform: Platform) -> tuple[Dtype, ...]:
        # The simulator takes every dtype of TPARTMIN; the ISA has only these.
        return tuple(INDEX_DTYPES)

    def columns_at_once(self, case: Any, platform: Platform) -> int:
        """The a2a3 headers take float16 with 32-bit indices 128 columns at a time and enable 64 of them
        (a2a3/TPartArgOp.hpp:50-107).
        """
        rows, cols = (min(one, two) for one, two in zip(case.src0, case.src1, strict=True))
        mixed = DTYPES[case.dtype].bytes != DTYPES[case.idx_dtype].bytes
        if platform.family == "a2a3" and mixed and rows and cols > LANES:
            return LANES
        return max(case.dst[1], 1)

    def _dtype_faults(self, case: Any, platform: Platform) -> list[Fault]:
        faults = super()._dtype_faults(case, platform)
        accepted = INDEX_DTYPES.get(DTYPES[case.dtype], ())
        if not faults and DTYPES[case.idx_dtype] not in accepted:
            message = f"{self.name} has no {case.idx_dtype} indices of {case.dtype} values"
            faults.append(Fault("PTG201", "idx_dtype", message, f"use {' or '.join(map(str, accepted))}"))
        return faults

    def _shape_faults(self, case: Any, platform: Platform) -> list[Fault]:
        faults = super()._shape_faults(case, platform)
        if not faults and platform.family == "a2a3" and 0 in case.dst:
            message = f"dst {case.dst[0]}x{case.dst[1]} is empty, which {self.instruction} does not allow on {platform}"
            # a2a3/TPartArgOp.hpp, checkTiles: an assertion in debug builds.
            faults.append(Fault("PTG202", "dst", message, "make its rows and columns at least 1"))
        return faults

    def _typed(self, case: Any) -> tuple[tuple[Dtype, Triple], ...]:
        return (DTYPES[case.dtype], VALUES), (DTYPES[case.idx_dtype], INDICES)

    def effects(self, family: str, args: Mapping[str, TileType], attributes: Mapping[str, Value]) -> Effects:
        effects = {"a2a3": _effects_a2a3_arg, "a5": _effects_masked, "cpu": _effects_cpu_arg}[family]
        return _typed(effects(args, (VALUES, INDICES)), args, (VALUES, INDICES))

    def pto_as(
        self, args: Mapping[str, TileType], attributes: Mapping[str, Value], platform: Platform
    ) -> Assembly | Fault:
        return Fault("PTG303", "", f"PTO assembly has no text for {self.name}", "render `--target st`")

    def golden_params(self, case: Any, base: Path) -> dict[str, Any]:
        return {**super().golden_params(case, base), "idx_dtype": case.idx_dtype}

    def requires(self, case: Any, platform: Platform) -> tuple[str, ...]:
        return (f"{self.instruction} on {platform.family}",)

    def meets(self, defect: str, case: Any, base: Path) -> bool:
        """Ties: some value that both sources have is the same in both."""
        if not defect.endswith("_TIES"):
            return True
        from ptogen.golden.part_arg import generate

        arrays = generate(**self.golden_params(case, base))
        one, other = arrays["src0"], arrays["src1"]
        rows, cols = (min(sizes) for sizes in zip(one.shape, other.shape, strict=True))
        return bool((one[:rows, :cols] == other[:rows, :cols]).any())

    def defects_of(self, case: Any, platform: Platform) -> tuple[str, ...]:
        found = [f"{self.instruction}_MISSING"]
        if all(min(one, two) for one, two in zip(case.src0, case.src1, strict=True)):
            found.append(f"{self.instruction}_TIES")
        if platform.family != "cpu" and case.dtype == "float16" and case.idx_dtype.endswith("32"):
            found.append(f"{self.instruction}_PITCH")
        return tuple(found)


Shapes = tuple[tuple[int, int], tuple[int, int], tuple[int, int]]
"""Rows and columns of dst, src0 and src1."""


# Remembered, because the ops of the family, and the platforms, ask the same.


@lru_cache(2_048)
def _tensors(typed: tuple[tuple[Dtype, Triple], ...], shapes: Shapes) -> tuple[Tensor, ...]:
    tensors = [
        Tensor(name, dtype, rows, cols, rows, cols, Role.OUT if field == "dst" else Role.IN)
        for dtype, names in typed
        for name, field, (rows, cols) in zip(names, VALUES, shapes, strict=True)
    ]
    return tuple(sorted(tensors, key=lambda tensor: tensor.role is Role.IN))


@lru_cache(2_048)
def _sizing(
    typed: tuple[tuple[Dtype, Triple], ...],
    shapes: Shapes,
    step: int,
    one_shape: bool,
    simulator: bool,
    inplace: tuple[tuple[str, str], ...],
) -> Sizing:
    """Physical columns fill blocks of 32 bytes, as every row-major tile's do; a zero-size tile has one block. One
    instruction serves ``step`` columns."""
    operands = []
    for dtype, names in typed:
        # The simulator finds an index by the pitch of the values, so there the two agree (cpu/TPartOp.hpp:52-71).
        narrow = min(other.bytes for other, _ in typed) if simulator else dtype.bytes
        for name, field, (rows, cols) in zip(names, VALUES, shapes, strict=True):
            width = align_up(max(cols, 1), UB_BLOCK_BYTES // narrow)
            role = Role.OUT if field == "dst" else Role.IN
            operands.append(Operand(dtype, max(rows, 1), width, rows, cols, name, role, UB_BLOCK_BYTES, name))
    if one_shape:
        height, width = max(operand.rows for operand in operands), max(operand.cols for operand in operands)
        operands = [replace(operand, rows=height, cols=width) for operand in operands]
    args = tuple(operand.name for operand in operands)
    cols = shapes[0][1]
    parts = tuple(Part(start, min(start + step, cols), args) for start in range(0, max(cols, 1), step))
    return Sizing(
        tuple(sorted(operands, key=lambda operand: operand.role is Role.OUT)),
        parts,
        apart=len(parts) > 1,
        inplace=inplace,
    )


# What the headers do. Offsets count from the first byte of each operand.


def _rows(args: Mapping[str, TileType], name: str, rows: int, cols: int, first: int = 0) -> Region:
    """``cols`` columns of ``rows`` rows from row ``first``."""
    arg = args[name]
    return Region(first * arg.pitch, cols * arg.dtype.bytes, rows, arg.pitch)


def _combine(args: Mapping[str, TileType], names: Triple, rows: int, cols: int) -> list[Access]:
    """Both sources read, dst written; lanes behind the columns are masked."""
    dst, src0, src1 = names
    reads = [Access(name, False, _rows(args, name, rows, cols)) for name in (src0, src1)]
    return [*reads, Access(dst, True, _rows(args, dst, rows, cols))]


def _copy(args: Mapping[str, TileType], dst: str, src: str, first: int) -> list[Access]:
    """The rows of src from ``first`` on: whole physical rows where the pitches agree, else whole blocks of 32 bytes
    (a2a3/TPartOp.hpp:17-41, a2a3/TPartArgOp.hpp:17-41).
    """
    source, target = args[src], args[dst]
    rows, used = source.valid_rows - first, source.valid_cols * source.dtype.bytes
    moved = source.pitch if source.cols == target.cols else align_up(used, UB_BLOCK_BYTES)
    accesses = []
    for start, stop, defined in ((0, used, True), (used, moved, False)):
        for name, writes in ((src, False), (dst, True)):
            pitch = args[name].pitch
            accesses.append(Access(name, writes, Region(first * pitch + start, stop - start, rows, pitch), defined))
    return [access for access in accesses if access.region.length]


def _same(args: Mapping[str, TileType], one: str, other: str) -> bool:
    return (args[one].valid_rows, args[one].valid_cols) == (args[other].valid_rows, args[other].valid_cols)


def _shape(args: Mapping[str, TileType], name: str) -> str:
    return f"{name} {args[name].valid_rows}x{args[name].valid_cols}"


def _uncovered(args: Mapping[str, TileType]) -> str:
    """The defect that every header has where the shapes do not go together, in words; empty where they do."""
    dst = args["dst"]
    fits = all(
        args[name].valid_rows <= dst.valid_rows and args[name].valid_cols <= dst.valid_cols for name in ("src0", "src1")
    )
    if fits and (_same(args, "src0", "dst") or _same(args, "src1", "dst")):
        return ""
    shapes = f"{_shape(args, 'src0')} and {_shape(args, 'src1')}"
    return f"{shapes} do not go with {_shape(args, 'dst')}: one must equal it, the other must not exceed it"


def _typed(effects: Effects, args: Mapping[str, TileType], triples: tuple[Triple, ...]) -> Effects:
    """With what does not compile (a2a3/TPartMin.hpp:67, a2a3/TPartArgOp.hpp:168-177, a5/TPartBinOps.hpp:150,
    a5/TPartArgBinOps.hpp:108-116)."""
    defects = []
    for names in triples:
        types = [args[name].dtype.name for name in names]
        if len(set(types)) > 1:
            defects.append(f"{', '.join(names)} are {', '.join(types)} and not of one type: it does not compile")
    if INDICES in triples and (args["dst"].dtype not in INDEX_DTYPES or "int" not in args["dstIdx"].dtype.name):
        both = f"values of {args['dst'].dtype} with indices of {args['dstIdx'].dtype}"
        defects.append(f"{both}: it does not compile")
    return replace(effects, defects=(*defects, *effects.defects)) if defects else effects


def _effects_a2a3(args: Mapping[str, TileType], triples: tuple[Triple, ...]) -> Effects:
    """a2a3/TPartMin.hpp:36-66, a2a3/TPartOp.hpp:150-200; the others of the family are built alike."""
    dst = args["dst"]
    if not (dst.valid_rows and dst.valid_cols):
        return Effects(Pipe.V, ())
    if uncovered := _uncovered(args):
        return Effects(Pipe.V, (), (f"{uncovered}; nothing is done",))
    big, small = ("src0", "src1") if _same(args, "src0", "dst") else ("src1", "src0")
    rows, cols = args[small].valid_rows, args[small].valid_cols
    accesses = []
    if cols < dst.valid_cols:
        accesses = _copy(args, "dst", big, 0)
        accesses += _combine(args, ("dst", small, "dst"), rows, cols)
    else:
        accesses = _combine(args, ("dst", big, small), rows, cols)
        if rows < dst.valid_rows:
            accesses += _copy(args, "dst", big, rows)
    return Effects(Pipe.V, tuple(accesses))


def _effects_a2a3_arg(args: Mapping[str, TileType], triples: tuple[Triple, ...]) -> Effects:
    """a2a3/TPartArgOp.hpp:112-166."""
    dst, src0, src1 = (args[name] for name in VALUES)
    defect = _uncovered(args) or _index_shapes(args)
    if defect or not (dst.valid_rows and dst.valid_cols):
        return Effects(Pipe.V, (), (f"{defect or 'dst is empty'}; nothing is done",))
    rows, cols = min(src0.valid_rows, src1.valid_rows), min(src0.valid_cols, src1.valid_cols)
    combined = [access for names in triples for access in _combine(args, names, rows, cols)]
    copied: list[Access] = []
    if not _same(args, "src0", "src1"):
        big = 1 if _same(args, "src0", "dst") else 2
        first = rows if src0.valid_cols == src1.valid_cols else 0
        copied = [access for names in triples for access in _copy(args, names[0], names[big], first)]
    defects = []
    if rows and cols > LANES and dst.dtype.bytes != args["dstIdx"].dtype.bytes:
        what = f"{dst.dtype} with {args['dstIdx'].dtype} indices"
        defects.append(f"{cols} columns of {what}: those beyond {LANES} are not computed")
    accesses = combined + copied if src0.valid_cols == src1.valid_cols else copied + combined
    return Effects(Pipe.V, tuple(accesses), tuple(defects))


def _effects_masked(args: Mapping[str, TileType], triples: tuple[Triple, ...]) -> Effects:
    """a5 and the simulator read and write valid elements only (a5/TPartBinOps.hpp:88-137, cpu/TPartOp.hpp:18-40).

    On a5 whole vector registers are loaded; lanes behind the valid ones are dropped and not modelled.
    """
    dst = args["dst"]
    uncovered = _uncovered(args) or (_index_shapes(args) if INDICES in triples else "")
    defects = [uncovered] if uncovered else []
    if dst.dtype.bytes == 8 and dst.valid_cols > LANES:
        defects.append(f"{dst.valid_cols} columns of {dst.dtype}: those beyond {LANES} are not computed")
    accesses = []
    for target, *sources in triples:
        for name in sources:
            accesses.append(Access(name, False, _rows(args, name, args[name].valid_rows, args[name].valid_cols)))
        accesses.append(Access(target, True, _rows(args, target, dst.valid_rows, dst.valid_cols)))
    return Effects(Pipe.V, tuple(accesses), tuple(defects))


def _effects_cpu_arg(args: Mapping[str, TileType], triples: tuple[Triple, ...]) -> Effects:
    """The simulator finds indices by the pitch of the values (cpu/TPartOp.hpp:52-71)."""
    effects = _effects_masked(args, triples)
    unlike = [name for name, other in zip(VALUES, INDICES, strict=True) if args[name].cols != args[other].cols]
    if not unlike:
        return effects
    name, index = unlike[0], f"{unlike[0]}Idx"
    pitches = f"{name} has {args[name].cols} physical columns and {index} {args[index].cols}"
    return Effects(effects.pipe, effects.accesses, (*effects.defects, f"{pitches}: the simulator takes other indices"))


def _index_shapes(args: Mapping[str, TileType]) -> str:
    """a2a3/TPartArgOp.hpp:210-214, a5/TPartArgBinOps.hpp, TPartArgCheck."""
    unlike = [(name, other) for name, other in zip(VALUES, INDICES, strict=True) if not _same(args, name, other)]
    return f"{_shape(args, unlike[0][0])} and {_shape(args, unlike[0][1])} differ" if unlike else ""


# The entries.

SHAPES = Rest("valid regions", "one source's equals dst's, the other's is no larger; the rest is refused", "document")
EMPTY = Rest(
    "zero size",
    "an empty source leaves a copy of the other (older a5 headers: nothing); an empty dst leaves all as it is",
    "document, header",
)
NAN = Rest("NaN", "kept out of the sources; what would make one, such as inf - inf, gets 1 as src1", "assumed")
ZEROS = Rest("zeros", "-0.0 and +0.0 are equal; of equal values src0's bits are taken", "simulator; NPUs: assumed")
SUBNORMALS = Rest("subnormals", "are not flushed", "assumed")
BITS = Rest("value bits", "kept as they are", "assumed")
ARITHMETIC = (
    Rest("integer overflow", "wraps; only with data: extremes", "assumed"),
    Rest("rounding", "once, to the nearest, of two to the even one; float16 and bfloat16 too", "assumed"),
    Rest("float overflow", "to infinity; only with data: extremes", "assumed"),
)
TIES = Rest("ties", "the value and the index of src0 (older a2a3 headers take src1)", "header")

HEADERS = "pto/npu/a2a3/{0}.hpp, pto/npu/a5/{0}.hpp (a5 and Kirin), pto/cpu/{0}.hpp"


REGIONS = (
    "one source's valid region equals dst's, the other's is no larger in either dimension",
    "a region may have no rows or no columns; such a tile is neither loaded nor stored",
)
NARROW = "rows x cols of its valid region, columns up to 32 bytes"


def _plain(kind: str, rests: tuple[Rest, ...]) -> Tpart:
    name = f"tpart{kind}"
    missing = Defect(
        f"{name.upper()}_MISSING",
        "always",
        f"pto/cpu has no TPart{kind.capitalize()}.hpp in defdb75; there since the pinned snapshot",
        "the simulator has no such function, so nothing compiles",
        "!ptogen::probe::kHasPartMul",
        compiles=False,
    )
    return Tpart(
        name=name,
        instruction=name.upper(),
        forms=(Form(slots("dst+ src0 src1"), inplace=INPLACE),),
        kind=kind,
        sources=(
            "the ISA's page TPARTMIN" + ("" if kind == "min" else f", which names {name.upper()} in its family"),
            HEADERS.format(f"TPart{kind.capitalize()}"),
            "pto/npu/a2a3/TPartOp.hpp, pto/npu/a5/TPartBinOps.hpp, pto/npu/a5/Int64Reduce.hpp, pto/cpu/TPartOp.hpp",
        ),
        operands=(
            OperandNote("dst", Role.OUT, "dtype", NARROW),
            OperandNote("src0", Role.IN, "dtype", NARROW),
            OperandNote("src1", Role.IN, "dtype", NARROW),
        ),
        constraints=(
            *REGIONS,
            "no tmp",
            "64-bit elements on a5 are cut into parts of 64 columns, which is all that the header computes",
        ),
        costmodel_headers=(f"pto/npu/a2a3/TPart{kind.capitalize()}.hpp",),
        rests=(SHAPES, EMPTY, *rests, NAN, SUBNORMALS),
        defects=(
            Defect(
                f"{name.upper()}_DTYPES",
                "uint16, uint32, int64 or uint64",
                "pto/cpu/TPartOp.hpp:79-83",
                "is not in the simulator's list of dtypes, so nothing compiles",
                "!ptogen::probe::kHasPartDtypes",
                compiles=False,
            ),
            *([missing] if kind == "mul" else []),
            Defect(
                f"{name.upper()}_8BIT",
                "int8 or uint8",
                "pto/cpu/TPartOp.hpp:46-48 in the pinned snapshot; mended in 3186c38 (:79-83)",
                "is not in the simulator's list of dtypes, so nothing compiles",
                "!ptogen::probe::kHasPartArg",
                compiles=False,
            ),
        ),
    )


def _arg(kind: str) -> TpartArg:
    name, maximum = f"tpart{kind}", str(kind == "argmax").lower()
    header = f"TPart{kind[:3].capitalize()}{kind[3:].capitalize()}"
    return TpartArg(
        name=name,
        instruction=name.upper(),
        forms=(Form(slots("dst+ src0 src1 dstIdx+ src0Idx src1Idx"), inplace=(*INPLACE, *INPLACE_INDICES)),),
        kind=kind,
        sources=(
            f"the ISA's page TPARTMIN, which names {name.upper()} in its family",
            f"pto/npu/a2a3/TPartArgOp.hpp, pto/npu/a5/TPartArgBinOps.hpp (a5 and Kirin), pto/cpu/{header}.hpp",
        ),
        operands=(
            OperandNote("dst", Role.OUT, "dtype", NARROW),
            OperandNote("src0", Role.IN, "dtype", NARROW),
            OperandNote("src1", Role.IN, "dtype", NARROW),
            OperandNote("dstIdx", Role.OUT, "idx_dtype", "as dst"),
            OperandNote("src0Idx", Role.IN, "idx_dtype", "as src0"),
            OperandNote("src1Idx", Role.IN, "idx_dtype", "as src1"),
        ),
        constraints=(
            *REGIONS,
            "no tmp",
            "float32 takes uint32 or int32 indices, float16 those and uint16 or int16",
            "half with 32-bit indices on a2a3 is cut into parts of 64 columns, which is all that the header computes",
        ),
        since=tuple(
            Since(f"{name.upper()} on {family}", "pinned", file, f"[] {{ using pto::{name.upper()}; return true; }}()")
            for family, file in (
                ("a2a3", "pto/npu/a2a3/TPartArgOp.hpp"),
                ("a5", f"pto/npu/a5/{header}.hpp"),
                ("cpu", f"pto/cpu/{header}.hpp"),
            )
        ),
        rests=(SHAPES, EMPTY, TIES, ZEROS, BITS, NAN, SUBNORMALS),
        defects=(
            Defect(
                f"{name.upper()}_MISSING",
                "always",
                "pto/cpu has no TPartArg*.hpp in the pinned snapshot; there since 3186c38",
                "the simulator has no such function, so nothing compiles",
                "!ptogen::probe::kHasPartArg",
                compiles=False,
            ),
            Defect(
                f"{name.upper()}_TIES",
                "sources that overlap and hold equal values",
                f"pto/cpu/{header}.hpp:21, pto/cpu/TPartArgCommon.hpp:38",
                "takes the value and the index of src1",
                f"ptogen::probe::PartArg<{maximum}>::TakesSrc1OfEqual()",
            ),
            Defect(
                f"{name.upper()}_PITCH",
                "tiles of indices whose rows have another number of physical columns than those of the values",
                "pto/cpu/TPartOp.hpp:52-71",
                "finds indices by the pitch of the values",
                f"ptogen::probe::PartArg<{maximum}>::MissesIndices()",
            ),
        ),
    )


RECORDS = (
    _plain("min", (ZEROS, BITS)),
    _plain("max", (ZEROS, BITS)),
    _plain("add", ARITHMETIC),
    _plain("mul", ARITHMETIC),
    _arg("argmin"),
    _arg("argmax"),
)
