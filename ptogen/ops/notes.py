"""What a person should know of an op, and what is known to be wrong with it."""

from __future__ import annotations

from dataclasses import dataclass

from ptogen.ops.sizing import Role


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
class Since:
    """What not every snapshot of pto-isa has: an instruction on a platform, or a form or dtype of one.

    A case names it (:meth:`ptogen.ops.base.Op.requires`), and is not run on headers that have not got it.

    Attributes:
        subject: stable name, which goes behind "these headers have no", such as ``TPARTARGMAX on a5``.
        snapshot: the first that is known to have it, ``pinned`` or a commit.
        header: file below ``include/`` that a build for the platform takes it from; empty where a probe says all.
        probe: C++ expression that is true where a kernel can call it, as :attr:`Defect.probe`; that it does not
            compile means no. Empty where the file says all.
    """

    subject: str
    snapshot: str
    header: str = ""
    probe: str = ""


VIEW = Since("view of a tile", "pinned", probe="ptogen::probe::kHasMemory")
"""A tile at the address of a part of another: in the first simulator, each tile has a memory of its own."""
