"""What an instruction takes besides tiles: each attribute has a type, and with it its text in C++ and in PTO assembly.

A value is a plain one: an int, a float, a bool, or the name of a member of an enumeration.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from ptogen.dtypes import FLOAT32, Dtype

Value = int | float | bool | str
Attributes = tuple[tuple[str, Value], ...]
"""Values by name, in the order of the record."""


@dataclass(frozen=True)
class Call:
    """What a call in a kernel passes besides tiles and tensors.

    Attributes:
        scalars: its other arguments in order, None where only their type is known.
        values: the values among its template arguments, likewise.
    """

    scalars: tuple[int | None, ...] = ()
    values: tuple[int | None, ...] = ()


V = TypeVar("V", int, float, bool, str)


@dataclass(frozen=True)
class Attribute(Generic[V]):
    """One of them; a subclass is a type.

    Attributes:
        name: as a case field and a plan spell it.
        read: its value in a call, None where that has none; without it, a recording does not say.
    """

    name: str
    read: Callable[[Call], V | None] | None = field(default=None, kw_only=True)

    def of(self, values: Mapping[str, Value]) -> V:
        """Its value among those of an instruction.

        Raises:
            KeyError: the instruction has no value for it.
            TypeError: the value has another type.
        """
        value = values[self.name]
        if not self.accepts(value):
            raise TypeError(f"{self.name} is {value!r}, which is no {type(self).__name__.lower()}")
        return value  # type: ignore[return-value]

    def accepts(self, value: Value) -> bool:
        raise NotImplementedError

    def text(self, value: V) -> str:
        """For a person, such as ``ptogen plan`` prints it."""
        return str(value)

    def cpp(self, value: V) -> str:
        """A C++ expression."""
        return self.text(value)

    def assembly(self, value: V) -> str:
        """As PTO assembly spells it, its type aside."""
        return self.text(value)


@dataclass(frozen=True)
class Int(Attribute[int]):
    """A whole number; ``assembly_type`` is that of its constant."""

    assembly_type: str = "i32"

    def accepts(self, value: Value) -> bool:
        return isinstance(value, int) and not isinstance(value, bool)


@dataclass(frozen=True)
class Float(Attribute[float]):
    """A number of an element type, already rounded to it; the C++ literal has all of its bits."""

    dtype: Dtype = FLOAT32

    def accepts(self, value: Value) -> bool:
        return isinstance(value, float)

    def cpp(self, value: float) -> str:
        if value != value or value in (float("inf"), float("-inf")):
            raise ValueError(f"{self.name}: {value} has no literal in C++")
        literal = f"{value!r}f"
        return literal if self.dtype is FLOAT32 else f"static_cast<{self.dtype.ctype}>({literal})"

    def assembly(self, value: float) -> str:
        return f"{value:e}"


@dataclass(frozen=True)
class Bool(Attribute[bool]):
    def accepts(self, value: Value) -> bool:
        return isinstance(value, bool)

    def text(self, value: bool) -> str:
        return str(value).lower()


@dataclass(frozen=True)
class Member:
    """A member of an enumeration: its C++ name, and what PTO assembly calls it."""

    cpp: str
    assembly: str


@dataclass(frozen=True)
class Enum(Attribute[str]):
    """A member of an enumeration of the ISA, by the name that a spec gives it.

    Attributes:
        members: by name.
    """

    members: Mapping[str, Member] = field(default_factory=dict, hash=False)

    def accepts(self, value: Value) -> bool:
        return isinstance(value, str) and value in self.members

    def cpp(self, value: str) -> str:
        return self.members[value].cpp

    def assembly(self, value: str) -> str:
        return self.members[value].assembly


def _enum(cpp: str, assembly: str, members: Mapping[str, tuple[str, str]]) -> Mapping[str, Member]:
    return {name: Member(f"{cpp}::{own}", f"#pto{assembly.format(said)}") for name, (own, said) in members.items()}


ROUND = _enum(
    "RoundMode",
    "<round_mode {}>",
    {name: (f"CAST_{name.upper()}",) * 2 for name in ("none", "rint", "round", "floor", "ceil", "trunc", "odd")},
)
"""Rounding of a conversion (``RoundMode``, pto/common/type.hpp; the ISA's page TCVT)."""

COMPARE = _enum("CmpMode", "<cmp {}>", {name: (name.upper(), name) for name in ("eq", "ne", "lt", "le", "gt", "ge")})
"""Comparisons (``CmpMode``, pto/common/type.hpp; the ISA's page TCMP)."""

PATTERN = _enum(
    "MaskPattern",
    ".mask_pattern<{}>",
    {name: (name, name) for name in ("P0101", "P1010", "P0001", "P0010", "P0100", "P1000", "P1111")},
)
"""Which elements of each group are taken, the right-most bit being the first (``MaskPattern``, pto/common/type.hpp; the
ISA's page TGATHER)."""
