"""What is known of an instruction of the ISA, whether ptogen renders it or only judges kernels that use it.

A record has a form for each way to call the instruction, and a form has a slot for each tile. Roles come from the slots
and never from a name. What the header does follows from the slots; an op that knows it more exactly says so itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace

from ptogen.ops.attributes import Attribute, Call, Value
from ptogen.ops.effects import Access, Effects
from ptogen.ops.notes import Since
from ptogen.ops.sizing import Role
from ptogen.platforms import Pipe
from ptogen.tiles import TileType

Args = Mapping[str, TileType]
"""The tiles of a call by slot, in the order of the parameters."""

Flag = tuple[Pipe, Pipe, int]
"""Source pipe, destination pipe, event id."""

Touch = Callable[[str, str, Args, Mapping[str, Value]], Iterable[Access]]
"""(family, slot, tiles, attributes) to the bytes of the slot's tile that a header touches."""


@dataclass(frozen=True)
class Slot:
    """A tile that an instruction takes.

    Attributes:
        name: the ISA's name of the operand (``pto/common/pto_instr.hpp``).
        role: what the instruction does with it.
        sure: whether all of the valid region is touched; otherwise any part of the tile may be.
        touch: the bytes that a header touches, where that is not what role and ``sure`` say.
    """

    name: str
    role: Role
    sure: bool = True
    touch: Touch | None = None

    def accesses(self, family: str, args: Args, attributes: Mapping[str, Value]) -> Iterable[Access]:
        """The bytes of its tile that the headers of a family touch."""
        if self.touch is not None:
            return self.touch(family, self.name, args, attributes)
        tile = args[self.name]
        if self.role is Role.TMP:
            writes = Access(self.name, True, tile.whole, defined=False, sure=False)
            return writes, Access(self.name, False, tile.whole, defined=False, sure=False)
        kinds = [writes for writes, does in ((False, self.role.reads), (True, self.role.writes)) if does]
        return [touched(self.name, writes, tile, self.sure) for writes in kinds]


def touched(slot: str, writes: bool, tile: TileType, sure: bool = False) -> Access:
    """The valid region of a tile, or, not for sure, any part of it."""
    if not sure:
        return Access(slot, writes, tile.whole, sure=False)
    return Access(slot, writes, tile.valid, sure=not tile.layout.fractal)


@dataclass(frozen=True)
class Events:
    """Flags that an instruction sets and waits for by itself.

    Attributes:
        flags: them.
        sure: whether every call of the form uses them.
        when: of calls that are told apart by their tiles, which use them; the others surely do not.
    """

    flags: tuple[Flag, ...]
    sure: bool = False
    when: Callable[[Args], bool] | None = None

    def of(self, args: Args) -> tuple[tuple[Flag, ...], bool]:
        """The flags of a call, and whether it surely uses them."""
        if self.when is None:
            return self.flags, self.sure
        return (self.flags, True) if self.when(args) else ((), False)


@dataclass(frozen=True)
class Scratch:
    """Bytes of UB, ``start`` to ``end``, that calls use by themselves; ``when`` says which, None for all."""

    start: int
    end: int
    when: Callable[[Args], bool] | None = None


@dataclass(frozen=True)
class Form:
    """A way to call an instruction.

    Attributes:
        slots: the tiles in the order of the parameters.
        pipe: where it runs (``pto/common/event.hpp``).
        events: by family of headers.
        handshakes: by family, flags of ``events`` that surely are set and waited for in every such call.
        scratch: by family of headers.
        inplace: (output, input) pairs that may be one tile: what is written there was read before, element by element.
        buffered: families whose headers write the result only after every source was read, so that it may lie on one.
        takes: of calls with as many tiles as another form has, which are of this one; None for all.
    """

    slots: tuple[Slot, ...]
    pipe: Pipe = Pipe.V
    events: Mapping[str, Events] = field(default_factory=dict, hash=False)
    handshakes: Mapping[str, Events] = field(default_factory=dict, hash=False)
    scratch: Mapping[str, Scratch] = field(default_factory=dict, hash=False)
    inplace: tuple[tuple[str, str], ...] = ()
    buffered: frozenset[str] = frozenset()
    takes: Callable[[Call], bool] | None = None

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(slot.name for slot in self.slots)

    def effects(self, family: str, args: Args, attributes: Mapping[str, Value]) -> Effects:
        """What a call does as far as its slots say; what is read is read before what is written."""
        accesses = [access for slot in self.slots for access in slot.accesses(family, args, attributes)]
        accesses.sort(key=lambda access: access.writes)
        events, sure = self.events[family].of(args) if family in self.events else ((), True)
        handshakes, _ = self.handshakes[family].of(args) if family in self.handshakes else ((), True)
        scratch = self.scratch.get(family)
        uses = scratch is not None and (scratch.when is None or scratch.when(args))
        return Effects(
            self.pipe,
            tuple(accesses),
            events=events,
            sure_events=sure,
            handshakes=handshakes,
            scratch=((scratch.start, scratch.end),) if scratch and uses else (),
        )


@dataclass(frozen=True)
class Record:
    """An instruction.

    Attributes:
        instruction: the ISA's name, such as ``TSORT32``.
        forms: the ways to call it, told apart by their slots; none for an instruction that touches no tile.
        attributes: what it takes besides tiles.
        since: what not all headers have of it.
        cancels: whether one source taken twice gives zeros of integers, whatever stands there.
        member: whether it is a member function of its tile.
        places: whether it gives its first argument an address.
        joins: whether it is a barrier of all cores.
    """

    instruction: str
    forms: tuple[Form, ...] = field(default=(), kw_only=True)
    attributes: tuple[Attribute, ...] = field(default=(), kw_only=True)
    since: tuple[Since, ...] = field(default=(), kw_only=True)
    cancels: bool = field(default=False, kw_only=True)
    member: bool = field(default=False, kw_only=True)
    places: bool = field(default=False, kw_only=True)
    joins: bool = field(default=False, kw_only=True)

    @property
    def pipe(self) -> Pipe:
        """Where it runs, its first form if forms differ."""
        return self.forms[0].pipe

    def form(self, slots: Iterable[str]) -> Form | None:
        """The form with exactly these slots, in any order."""
        wanted = frozenset(slots)
        return next((form for form in self.forms if frozenset(form.names) == wanted), None)

    def called(self, tiles: int, call: Call) -> Form | None:
        """The form of a call with so many tiles."""
        return next(
            (form for form in self.forms if len(form.slots) == tiles and (form.takes is None or form.takes(call))), None
        )

    def role(self, slot: str) -> Role:
        """What the instruction does with an operand, which has one role in all forms."""
        return next(one.role for form in self.forms for one in form.slots if one.name == slot)

    def attribute(self, name: str) -> Attribute:
        return next(one for one in self.attributes if one.name == name)

    def read(self, call: Call) -> dict[str, Value]:
        """The attributes that a call has."""
        values = {one.name: one.read(call) for one in self.attributes if one.read}
        return {name: value for name, value in values.items() if value is not None}

    def effects(self, family: str, args: Args, attributes: Mapping[str, Value]) -> Effects:
        """What the instruction does with these tiles, from the headers of a family (see :class:`Platform`).

        Raises:
            KeyError: it has no form with these slots.
        """
        form = self.form(args)
        if form is None:
            raise KeyError(f"{self.instruction} has no form with {', '.join(args)}")
        return form.effects(family, args, attributes)


def slots(text: str, **touches: Touch) -> tuple[Slot, ...]:
    """Slots from their names, a mark behind each; ``touches`` by name.

    ``+`` is an output and ``=`` an inout whose valid region is touched, ``~`` is scratch, ``?`` an input and ``!`` an
    output of which any part may be touched, and no mark is an input.
    """
    found = (_slot(word) for word in text.split())
    return tuple(replace(slot, touch=touches.get(slot.name)) for slot in found)


MARKS = {
    "+": (Role.OUT, True),
    "=": (Role.INOUT, True),
    "~": (Role.TMP, True),
    "?": (Role.IN, False),
    "!": (Role.OUT, False),
}


def _slot(word: str) -> Slot:
    role, sure = MARKS.get(word[-1], (Role.IN, True))
    return Slot(word.rstrip("".join(MARKS)), role, sure)


def forms(*texts: str, events: Mapping[str, Events] | None = None) -> tuple[Form, ...]:
    """Forms of the vector pipe from their slots; each has the events."""
    return tuple(Form(slots(text), events=events or {}) for text in texts)


V_S: Flag = (Pipe.V, Pipe.S, 0)
S_V: Flag = (Pipe.S, Pipe.V, 0)
BOTH = (V_S, S_V)
"""The vector and the scalar unit wait for one another."""

PINNED, NEWEST = "pinned", "3186c38"
"""Snapshots of pto-isa; what older ones than the pinned have is not listed."""

NPUS = ("a2a3", "a5")
ALL = (*NPUS, "cpu")
"""Families: those of the NPUs, and all."""


def records(names: str, *texts: str, events: Mapping[str, Events] | None = None) -> tuple[Record, ...]:
    """Instructions that are called alike; see :func:`forms`."""
    return tuple(Record(name, forms=forms(*texts, events=events)) for name in names.split())


def brought(snapshot: str, file: str, *texts: str, families: Iterable[str] = ALL) -> Record:
    """An instruction that a snapshot brings to some families; its name is that of the file, in capitals."""
    name = file.upper()
    return Record(name, forms=forms(*texts), since=since(name, file, dict.fromkeys(families, snapshot)))


def since(name: str, file: str, snapshots: Mapping[str, str]) -> tuple[Since, ...]:
    """Which snapshot brings an instruction to each family.

    NPUs have it in ``pto/npu/<family>/<file>.hpp``; the simulator's headers define its ``_IMPL`` somewhere.
    """
    return tuple(
        Since(f"{name} on {family}", snapshot, probe=_using(f"{name}_IMPL"))
        if family == "cpu"
        else Since(f"{name} on {family}", snapshot, f"pto/npu/{family}/{file}.hpp", _using(name))
        for family, snapshot in snapshots.items()
    )


def _using(name: str) -> str:
    return f"[] {{ using pto::{name}; return true; }}()"
