"""What a step of a program is to the checkers: its pipe, and the bytes that the headers really touch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ptogen.check.finding import ByteRange
from ptogen.errors import Position
from ptogen.ops.effects import Access, Effects
from ptogen.platforms import Pipe
from ptogen.tiles import Region

UB = "UB"


@dataclass(frozen=True)
class Touch:
    """Bytes of a memory that a step touches.

    Attributes:
        memory: ``UB`` or the name of a GM tensor.
        name: the tile, or the tensor again.
        region: absolute byte addresses.
        writes, defined, sure: as in :class:`ptogen.ops.effects.Access`.
    """

    memory: str
    name: str
    region: Region
    writes: bool
    defined: bool
    sure: bool = True

    @property
    def range(self) -> ByteRange:
        return ByteRange(self.name, self.memory, self.region.start, self.region.end)


@dataclass(frozen=True)
class Event:
    """One issued step.

    Attributes:
        place: its place in the program or in a source file, whatever the turn of a loop.
        words: the step in words.
        turn: the variables of the loops around it, such as ``, i=3``.
        pipe: the pipe whose queue it stands in: for a set the source, for a wait the destination.
        touches: bytes, in the order in which the step touches them.
        flag: (source, destination, event id) of a set or wait.
        sets, waits, barrier: which kind of synchronisation it is, if any.
        everything: of a barrier, whether it holds every pipe (PIPE_ALL); it then stands in PIPE_S.
        effects, tiles: of an instruction, load or store: what its header does, and the (operand, tile) it does that to.
        scratch: the operands that are scratch.
        origins: absolute address of each operand.
        buffered: whether it writes dst only after it has read every source.
        position: where it stands in a source file, if it does.
    """

    place: str
    words: str
    pipe: Pipe
    touches: tuple[Touch, ...] = ()
    flag: tuple[Pipe, Pipe, int] | None = None
    sets: bool = False
    waits: bool = False
    barrier: bool = False
    everything: bool = False
    effects: Effects | None = None
    tiles: tuple[tuple[str, str], ...] = ()
    scratch: tuple[str, ...] = ()
    origins: tuple[tuple[str, int], ...] = field(default=())
    buffered: bool = False
    position: Position | None = None
    turn: str = ""

    @property
    def label(self) -> str:
        """The step in words, its place first."""
        return f"{self.place} {self.words}{self.turn}"


@dataclass(frozen=True)
class Buffer:
    """A tile in UB: bytes ``start`` to ``end``; ``operand`` is the ISA operand it serves, ``align`` what it was
    planned with."""

    name: str
    start: int
    end: int
    operand: str | None = None
    align: int = 32

    @property
    def bytes(self) -> int:
        return self.end - self.start

    @property
    def range(self) -> ByteRange:
        return ByteRange(self.name, UB, self.start, self.end)


def touches_of(effects: Effects, names: Mapping[str, str], origins: Mapping[str, int]) -> list[Touch]:
    """The bytes of UB that an instruction touches, given the tile and the address of each operand."""

    def touch(access: Access) -> Touch:
        region = access.region.shifted(origins[access.operand])
        return Touch(UB, names[access.operand], region, access.writes, access.defined, access.sure)

    return [touch(access) for access in effects.accesses if access.operand in names]
