"""Texts that differ in numbers and types alone are instances of one text, whose parameters are what differs."""

from __future__ import annotations

import re
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

TYPE = "Type"
"""The axis of what is a type."""

_MARK = re.compile(r"\x01(\d+)\x02")


class Slot(NamedTuple):
    """A place of a text that a number or a type fills.

    Attributes:
        owner: whose number it is, such as ``src0``.
        axis: what it counts, such as ``Rows``, or :data:`TYPE`.
    """

    owner: str
    axis: str

    @property
    def kind(self) -> str:
        """Slots of different kinds never share a parameter, whatever their values."""
        if self.axis == "Pitch":
            return "Cols"
        return next((kind for kind in ("Rows", "Cols") if self.axis.endswith(kind)), self.axis)


@dataclass
class Sheet:
    """A text under construction, in which marks stand for the values of slots."""

    slots: list[tuple[str, str]] = field(default_factory=list)
    """Owner and axis of each."""
    values: list[str] = field(default_factory=list)
    text: str = ""

    def slot(self, owner: str, axis: str, value: object) -> str:
        """What to write in the place of a value."""
        self.slots.append((owner, axis))
        self.values.append(str(value))
        return f"\x01{len(self.slots) - 1}\x02"

    @property
    def shape(self) -> Hashable:
        """Equal for sheets that are instances of one text."""
        return self.text, tuple(self.slots)


@dataclass(frozen=True)
class Parameter:
    """What differs between the instances of a text.

    Attributes:
        name: in capitals, as ``SrcRows``; of a type empty where it is the first.
        axis: as of a slot.
        values: one an instance.
    """

    name: str
    axis: str
    values: tuple[str, ...]


class Family:
    """Sheets of one shape.

    Attributes:
        members: numbers of the sheets, as they were given.
        parameters: in the order of their first places in the text; none where all members are the same.
    """

    def __init__(self, sheets: Sequence[Sheet], members: Sequence[int]) -> None:
        self.members = tuple(members)
        self._text = sheets[members[0]].text
        slots = [Slot(*slot) for slot in sheets[members[0]].slots]
        values = zip(*(sheets[member].values for member in members), strict=True)
        self._columns = [(slot.kind, column) for slot, column in zip(slots, values, strict=True)]
        """Of each place its kind, and its values in the members."""
        self._places: dict[tuple[str, tuple[str, ...]], list[Slot]] = {}
        for slot, column in zip(slots, self._columns, strict=True):
            self._places.setdefault(column, []).append(slot)

    @cached_property
    def _named(self) -> dict[tuple[str, tuple[str, ...]], Parameter]:
        named: dict[tuple[str, tuple[str, ...]], Parameter] = {}
        taken: set[str] = set()
        for column, slots in self._places.items():
            if len(set(column[1])) == 1:
                continue
            slot = slots[0]
            axis = "" if slot.axis == TYPE else slot.axis
            owner = slot.owner[:1].upper() + slot.owner[1:]
            many = len({slot.owner for slot in slots}) > 1
            names = [axis] * (many or slot.axis == TYPE) + [f"{owner}{axis}"]
            names += [f"{owner}{axis}{number}" for number in range(2, len(self._places) + 3)]
            name = next(name for name in names if name not in taken)
            taken.add(name)
            named[column] = Parameter(name, slot.axis, column[1])
        return named

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        return tuple(self._named.values())

    def arguments(self, place: int) -> list[str]:
        """Of the member at a place of :attr:`members`."""
        return [parameter.values[place] for parameter in self.parameters]

    def text(self, types: str = "T", numbers: str = "k") -> str:
        """The text of all of them; parameters are called by these prefixes and their names."""

        def filled(match: re.Match[str]) -> str:
            column = self._columns[int(match[1])]
            parameter = self._named.get(column)
            return column[1][0] if parameter is None else called(parameter, types, numbers)

        return _MARK.sub(filled, self._text)


def called(parameter: Parameter, types: str = "T", numbers: str = "k") -> str:
    """What a text calls a parameter; without a prefix its name begins with a small letter."""
    prefix = types if parameter.axis == TYPE else numbers
    return f"{prefix}{parameter.name}" if prefix else parameter.name[:1].lower() + parameter.name[1:]


def families(sheets: Sequence[Sheet]) -> list[Family]:
    """The sheets by shape, in the order of the first of each."""
    found: dict[Hashable, list[int]] = {}
    for number, sheet in enumerate(sheets):
        found.setdefault(sheet.shape, []).append(number)
    return [Family(sheets, members) for members in found.values()]
