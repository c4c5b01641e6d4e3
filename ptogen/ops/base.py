"""What an entry of the catalogue is: the contract between an op and the rest of ptogen.

An op says two things of its operands, from two sources. Its *sizing* rule comes from the documents and tells the
planner what to allocate; its *effects* come from the headers and tell the checker which bytes really move. Neither is
computed from the other, so a wrong formula shows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from pydantic import BaseModel, ConfigDict, Field

from ptogen.dtypes import Dtype
from ptogen.platforms import Pipe, Platform

DATA_KINDS = ("random", "ties", "sorted", "reversed", "extremes")


class CaseFields(BaseModel):
    """The fields that every case has; an op adds its own.

    The models are strict: YAML's accidental types (``no``, ``1e3``) are errors and not converted.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    name: str | None = Field(None, description="case name, a C identifier; made from the fields where absent")
    data: str = Field("random", description="random, ties, sorted, reversed, extremes, or the path of a .npy file")
    seed: int = Field(0, ge=0, lt=2**32, description="seed of the input data")
    ub: dict[str, int] | None = Field(None, description="pinned byte addresses in UB, by the ISA's operand names")


@dataclass(frozen=True)
class Fault:
    """A rule of an op that a case breaks.

    Attributes:
        code: PTG2xx.
        field: the spec field to point at.
        message: the rule and the numbers.
        hint: a way out.
    """

    code: str
    field: str
    message: str
    hint: str | None = None


class Role(str, Enum):
    """What an instruction does with an operand."""

    IN = "in"
    OUT = "out"
    TMP = "tmp"


@dataclass(frozen=True)
class Tensor:
    """A row-major tensor in GM; the pitch of a row is ``cols`` elements.

    Attributes:
        name: kernel parameter; also names its data file (``input_<name>.bin``, ``golden_<name>.bin``).
        dtype: element type.
        rows, cols: shape in elements.
        valid_rows, valid_cols: the region at the origin that the kernel reads or writes.
        role: IN or OUT.
        record: for a tensor of 8-byte (value, index) records the dtype of the value, else None.
        masked: whether only a part of the valid region is defined; the golden then says which (``mask_<name>.bin``).
    """

    name: str
    dtype: Dtype
    rows: int
    cols: int
    valid_rows: int
    valid_cols: int
    role: Role
    record: Dtype | None = None
    masked: bool = False

    @property
    def bytes(self) -> int:
        return self.rows * self.cols * self.dtype.bytes


@dataclass(frozen=True)
class Operand:
    """A tile that an op needs.

    Attributes:
        name: the ISA's name of the operand.
        role: read, written, or scratch.
        dtype: element type.
        rows, cols: physical shape in elements.
        valid_rows, valid_cols: valid region in elements; one that is empty is neither loaded nor stored.
        align: alignment of its first byte.
        tensor: the GM tensor it is loaded from or stored to, or None for scratch.
        scale: its columns for each column of the op; 0 where it is not cut with the columns.
    """

    name: str
    role: Role
    dtype: Dtype
    rows: int
    cols: int
    valid_rows: int
    valid_cols: int
    align: int
    tensor: str | None = None
    scale: int = 1

    @property
    def bytes(self) -> int:
        return self.rows * self.cols * self.dtype.bytes


@dataclass(frozen=True)
class Part:
    """Columns ``start`` to ``stop`` of the op, served by one instruction.

    Attributes:
        start, stop: in the op's columns.
        args: operand names in the order of the instruction's parameters.
        pipe: where the document says that it runs.
        attributes: what it takes besides tiles, such as a block length, by name.
        events: (source pipe, destination pipe, event id) that it uses inside, which the kernel leaves alone.
    """

    start: int
    stop: int
    args: tuple[str, ...]
    pipe: Pipe = Pipe.V
    attributes: tuple[tuple[str, int | bool], ...] = ()
    events: tuple[tuple[Pipe, Pipe, int], ...] = ()

    @property
    def cols(self) -> int:
        return self.stop - self.start


@dataclass(frozen=True)
class Sizing:
    """What a case needs, from the op's documents.

    Attributes:
        operands: in the order of placement: inputs, outputs, then scratch.
        parts: one instruction each; more than one only where a header would go wrong on the whole.
        row_by_row: whether each row takes an instruction of its own.
        apart: whether each part has tiles of its own, in manual mode too; otherwise parts are windows, row by row.
    """

    operands: tuple[Operand, ...]
    parts: tuple[Part, ...]
    row_by_row: bool = False
    apart: bool = False


class Region(NamedTuple):
    """``count`` runs of ``length`` bytes, ``pitch`` bytes apart, the first at ``start``."""

    start: int
    length: int
    count: int = 1  # type: ignore[assignment]
    pitch: int = 0

    @property
    def end(self) -> int:
        """One past the last byte."""
        return self.start + (self.count - 1) * self.pitch + self.length if self.length and self.count else self.start

    def runs(self) -> tuple[tuple[int, int], ...]:
        """Half-open byte ranges, runs that touch merged."""
        if not self.length or not self.count:
            return ()
        if self.count == 1 or self.pitch == self.length:
            return ((self.start, self.end),)
        starts = range(self.start, self.start + self.count * self.pitch, self.pitch)
        return tuple((start, start + self.length) for start in starts)

    def shifted(self, offset: int) -> Region:
        return Region(self.start + offset, self.length, self.count, self.pitch)


@dataclass(frozen=True)
class Access:
    """Bytes of an operand that an instruction touches, relative to the operand's first byte.

    Attributes:
        operand: its name.
        writes: whether they are written.
        region: which bytes.
        defined: for a read, whether the value can reach a defined result; for a write, whether what is written is
            defined.
        sure: whether the bytes are known to be touched; otherwise this is the most that can be.
    """

    operand: str
    writes: bool
    region: Region
    defined: bool = True
    sure: bool = True


@dataclass(frozen=True)
class Effects:
    """What the header of one instruction does.

    Attributes:
        pipe: where it runs.
        accesses: every byte it touches.
        defects: why the header would go wrong on these arguments, in words; empty where it does not.
        events: (source pipe, destination pipe, event id) that it sets and waits for by itself.
        sure_events: whether it does so with these arguments; otherwise some form of it does.
        align: alignment in bytes that it needs of operands, where that is more than the 32 of every tile.
        scratch: byte addresses of UB, start and end, that it uses without an operand.
    """

    pipe: Pipe
    accesses: tuple[Access, ...]
    defects: tuple[str, ...] = ()
    events: tuple[tuple[Pipe, Pipe, int], ...] = ()
    align: tuple[tuple[str, int], ...] = ()
    scratch: tuple[tuple[int, int], ...] = ()
    sure_events: bool = True


@dataclass(frozen=True)
class Arg:
    """What a header sees of a tile: element type, physical shape, valid region."""

    dtype: Dtype
    rows: int
    cols: int
    valid_rows: int
    valid_cols: int

    @property
    def pitch(self) -> int:
        """Bytes from one row to the next."""
        return self.cols * self.dtype.bytes

    @property
    def bytes(self) -> int:
        return self.rows * self.pitch


@dataclass(frozen=True)
class Constant:
    """What an instruction takes in PTO assembly besides tiles.

    Attributes:
        name: for the reader of the text.
        value, type: as written, such as 64 and i32.
    """

    name: str
    value: str
    type: str


@dataclass(frozen=True)
class Assembly:
    """How PTO assembly says an instruction.

    Attributes:
        ins, outs: operand names, or constants, in the order of the text.
        attributes: what stands in braces behind the ins, such as ``exhausted = false``.
    """

    ins: tuple[str | Constant, ...]
    outs: tuple[str | Constant, ...]
    attributes: str = ""


@dataclass(frozen=True)
class OperandNote:
    """What a person should know of an operand; the planner and the checker have their own, exact words for it.

    Attributes:
        name: the ISA's name.
        role: what the instruction does with it.
        dtype: element type, by the spec's fields.
        shape: physical rows and columns.
        align: alignment of its first byte.
    """

    name: str
    role: Role
    dtype: str
    shape: str
    align: str = "32"


@dataclass(frozen=True)
class Rest:
    """A row of an op's table of what "exact" rests on.

    Attributes:
        subject: such as "ties".
        rule: what ptogen takes as right.
        basis: document, header, simulator or assumed.
    """

    subject: str
    rule: str
    basis: str


@dataclass(frozen=True)
class Defect:
    """A known contradiction between the CPU simulator and the ISA.

    Attributes:
        id: stable name.
        condition: when it applies, in words.
        header: where it stands in the pto-isa headers.
        reason: what goes wrong.
        probe: C++ expression that is true where the header at hand has the defect; see ``ptogen/backend/probe.py``.
        compiles: whether a kernel that meets it still compiles.
    """

    id: str
    condition: str
    header: str
    reason: str
    probe: str
    compiles: bool = True


@dataclass(frozen=True)
class Op:
    """An entry of the catalogue. A family subclasses it; ptogen asks an op nothing else."""

    name: str
    """The spec's name; also the default ST directory."""
    instruction: str
    """The PTO instruction, such as ``TSORT32``."""
    pipe: Pipe
    """Where the document says it runs."""
    sources: tuple[str, ...]
    """Documents and headers that the entry was written from."""
    rests: tuple[Rest, ...]
    defects: tuple[Defect, ...] = field(default=())
    operands: tuple[OperandNote, ...] = field(default=())
    """In the order of the instruction's parameters."""
    constraints: tuple[str, ...] = field(default=())
    """Rules of shapes and forms, tmp among them, in words."""
    costmodel_headers: tuple[str, ...] = field(default=())
    """Headers of a2a3 that ``pto/costmodel/pto_instr.hpp`` of the pinned snapshot leaves out."""

    Case: ClassVar[type[CaseFields]]
    golden_module: ClassVar[str]
    """Module in ``ptogen.golden`` with ``generate(**params)``; see :meth:`golden_params`."""

    def default_name(self, case: Any) -> str:
        """A case name made from the fields: a C identifier, different for cases that differ in what is ordinary."""
        raise NotImplementedError

    def rules(self, case: Any, platform: Platform, mode: str, base: Path) -> list[Fault]:
        """Every rule of the op that the case breaks on this platform (PTG2xx); the planner may rely on an empty list.

        ``base`` is the folder that a ``.npy`` path in ``data`` is relative to.
        """
        raise NotImplementedError

    def dtypes(self, platform: Platform) -> tuple[Dtype, ...]:
        """The dtypes that the platform's headers accept."""
        raise NotImplementedError

    def tensors(self, case: Any) -> tuple[Tensor, ...]:
        """GM tensors in the order of the kernel's parameters, outputs first."""
        raise NotImplementedError

    def sizing(self, case: Any, platform: Platform) -> Sizing:
        """What to allocate and which instructions to issue, from the documents."""
        raise NotImplementedError

    def effects(self, platform: Platform, args: Mapping[str, Arg], attributes: Mapping[str, int | bool]) -> Effects:
        """What the instruction does with these tiles, from the headers of ``platform.family``."""
        raise NotImplementedError

    def cpp(
        self, tiles: Mapping[str, str], types: Mapping[str, str], attributes: Mapping[str, int | bool]
    ) -> list[str]:
        """The C++ statements of one instruction.

        Args:
            tiles: C++ names of its tiles by operand, in the order of its parameters.
            types: C++ types of the tiles by operand.
            attributes: as in :class:`Part`.
        """
        return [f"{self.instruction}({', '.join(tiles.values())});"]

    def pto_as(
        self, args: Mapping[str, Arg], attributes: Mapping[str, int | bool], platform: Platform
    ) -> Assembly | Fault:
        """How PTO assembly says one instruction, or why it has no text for it (PTG303).

        Args:
            args: its tiles by operand, in the order of its parameters.
            attributes: as in :class:`Part`.
            platform: whose rules the assembler applies.
        """
        return Assembly(tuple(name for name in args if name != "dst"), ("dst",))

    def in_pto_as(self) -> Op:
        """The op to plan for PTO assembly, where the assembler wants larger tiles than the instruction needs."""
        return self

    def golden_params(self, case: Any, base: Path) -> dict[str, Any]:
        """Keyword arguments, plain Python values, of ``generate`` in the golden module; ``base`` as in
        :meth:`rules`."""
        raise NotImplementedError

    def shapes(self, case: Any) -> tuple[tuple[str, int], tuple[str, int]]:
        """The two fields that size the case (rows, cols) with their values.

        The planner searches them for what fits, and a report lays the cases out by them.
        """
        raise NotImplementedError

    def resized(self, case: Any, rows: int, cols: int) -> Any:
        """The same case with another size, for a hint; one that breaks a rule is not proposed."""
        raise NotImplementedError

    def requires(self, case: Any) -> tuple[str, ...]:
        """What the case needs of a host compiler beyond C++20: ``bfloat16`` or nothing."""
        return ()

    def defects_of(self, case: Any, platform: Platform) -> tuple[str, ...]:
        """Ids of the simulator's defects that the plan of this case meets when it runs on the CPU backend."""
        raise NotImplementedError


def align_up(value: int, multiple: int) -> int:
    """The least multiple that is not below ``value``."""
    return -(-value // multiple) * multiple


def common_suffix(case: CaseFields) -> str:
    """The end of a default name that the fields of every case make: data, seed and pins that are not the defaults."""
    name = ""
    if case.data != "random":
        stem = Path(case.data).stem
        name += "_" + "".join(letter if letter.isalnum() and letter.isascii() else "_" for letter in stem)
    if case.seed:
        name += f"_seed{case.seed}"
    return name + ("_pinned" if case.ub else "")


def pin_faults(case: CaseFields, sizing: Sizing) -> list[Fault]:
    """Names in ``ub`` that are not operands of this case (PTG204); where the addresses lead is the checker's to
    judge."""
    names = [operand.name for operand in sizing.operands]
    return [
        Fault("PTG204", f"ub.{name}", f"{name} is not an operand of this case; it has {', '.join(names)}")
        for name in case.ub or {}
        if name not in names
    ]


def data_faults(case: CaseFields, base: Path, dtype: Dtype, rows: int, cols: int) -> list[Fault]:
    """What is wrong with a ``.npy`` file as the input of a case (PTG205): unreadable, another shape or dtype, NaN."""
    if not case.data.endswith(".npy"):
        return []
    from ptogen.golden.values import load_values

    try:
        load_values(base / case.data, dtype.name, rows, cols)
    except (OSError, ValueError) as error:
        return [Fault("PTG205", "data", f"{case.data}: {error}")]
    return []
