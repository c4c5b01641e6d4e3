"""What an entry of the catalogue is: the contract between an op and the rest of ptogen.

An op says two things of its operands, from two sources. Its *sizing* rule comes from the documents and tells the
planner what to allocate; its *effects* come from the headers and tell the checker which bytes really move. Neither is
computed from the other, so a wrong formula shows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from ptogen.dtypes import Dtype
from ptogen.ops.assembly import Assembly
from ptogen.ops.attributes import Value
from ptogen.ops.case import CaseFields, Fault
from ptogen.ops.notes import Defect, OperandNote, Rest
from ptogen.ops.record import Record
from ptogen.ops.sizing import Sizing, Tensor
from ptogen.platforms import Platform
from ptogen.tiles import TileType


@dataclass(frozen=True)
class Op(Record):
    """An entry of the catalogue: the record of an instruction that ptogen renders. A family subclasses it; ptogen asks
    an op nothing else."""

    name: str
    """The spec's name; also the default ST directory."""
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

    def __hash__(self) -> int:
        return hash(self.name)

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

    def cpp(self, tiles: Mapping[str, str], types: Mapping[str, str], attributes: Mapping[str, Value]) -> list[str]:
        """The C++ statements of one instruction.

        Args:
            tiles: C++ names of its tiles by operand, in the order of its parameters.
            types: C++ types of the tiles by operand.
            attributes: as in :class:`Part`.
        """
        return [f"{self.instruction}({', '.join(tiles.values())});"]

    def pto_as(
        self, args: Mapping[str, TileType], attributes: Mapping[str, Value], platform: Platform
    ) -> Assembly | Fault:
        """How PTO assembly says one instruction, or why it has no text for it (PTG303).

        Args:
            args: its tiles by operand, in the order of its parameters.
            attributes: as in :class:`Part`.
            platform: whose rules the assembler applies.
        """
        outs = tuple(name for name in args if self.role(name).writes)
        return Assembly(tuple(name for name in args if name not in outs), outs)

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

    def requires(self, case: Any, platform: Platform) -> tuple[str, ...]:
        """What the case needs and not everyone has: ``bfloat16`` of the compiler, subjects of :attr:`since` of the
        headers."""
        return ()

    def defects_of(self, case: Any, platform: Platform) -> tuple[str, ...]:
        """Ids of the simulator's defects that the plan of this case meets when it runs on the CPU backend."""
        raise NotImplementedError

    def meets(self, defect: str, case: Any, base: Path) -> bool:
        """Whether the data of a case meets a defect of :meth:`defects_of`; ``base`` as in :meth:`rules`."""
        return True
