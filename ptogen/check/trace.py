"""A program as the checkers see it: the steps in the order of issue, with the bytes that the headers really touch.

It is made of a plan here and of a recording in :mod:`ptogen.check.recording`; nothing behind it knows which.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from ptogen.check.finding import ByteRange
from ptogen.check.shadow import Segments
from ptogen.errors import Position
from ptogen.ops.base import Access, Effects, Op, Region, Role
from ptogen.ops.move import load_effects, store_effects
from ptogen.plan.model import (
    Barrier,
    GmWindow,
    Instruction,
    KernelPlan,
    Load,
    Loop,
    Program,
    SetFlag,
    Step,
    Store,
    Tile,
    WaitFlag,
    Window,
    unroll,
)
from ptogen.platforms import Pipe, Platform

UB = "UB"


@dataclass(frozen=True)
class Touch:
    """Bytes of a memory that a step touches.

    Attributes:
        memory: ``UB`` or the name of a GM tensor.
        name: the tile, or the tensor again.
        region: absolute byte addresses.
        writes, defined, sure: as in :class:`ptogen.ops.base.Access`.
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
        label: the step in words, its place first.
        pipe: the pipe whose queue it stands in: for a set the source, for a wait the destination.
        touches: bytes, in the order in which the step touches them.
        flag: (source, destination, event id) of a set or wait.
        sets, waits, barrier: which kind of synchronisation it is, if any.
        everything: of a barrier, whether it holds every pipe (PIPE_ALL); it then stands in PIPE_S.
        effects, tiles: of an instruction, load or store: what its header does, and the (operand, tile) it does that to.
        origins: absolute address of each operand.
        buffered: whether it writes dst only after it has read every source.
        position: where it stands in a source file, if it does.
    """

    label: str
    pipe: Pipe
    touches: tuple[Touch, ...] = ()
    flag: tuple[Pipe, Pipe, int] | None = None
    sets: bool = False
    waits: bool = False
    barrier: bool = False
    everything: bool = False
    effects: Effects | None = None
    tiles: tuple[tuple[str, str], ...] = ()
    origins: tuple[tuple[str, int], ...] = field(default=())
    buffered: bool = False
    position: Position | None = None

    @property
    def place(self) -> str:
        """Its place in the program, whatever the turn of a loop."""
        return self.label.split(" ", 1)[0]


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


@dataclass(frozen=True)
class Trace:
    """A run of a kernel on one core.

    Attributes:
        events: in the order of issue.
        buffers: tiles by name.
        tensors: bytes of each GM tensor by name, None where unknown.
        inputs: tensors that the host filled.
        outputs: what the kernel has to write.
        needed: what it has to read and use; empty where that is not known, as of a recording.
        ub_bytes: capacity that holds on every source; ``ub_most`` is the largest that one source states.
        addressed: whether addresses are the kernel's own (manual) and not the compiler's (auto).
    """

    events: tuple[Event, ...]
    buffers: Mapping[str, Buffer]
    tensors: Mapping[str, int | None]
    inputs: frozenset[str]
    outputs: tuple[Touch, ...]
    ub_bytes: int
    ub_most: int
    addressed: bool = True
    needed: tuple[Touch, ...] = ()

    @cached_property
    def segments(self) -> Segments:
        """What the touches cut the memories into."""
        return Segments(self.events)


def trace(plan: KernelPlan, op: Op, platform: Platform) -> Trace:
    """A run of the plan."""
    whole = {
        role: tuple(
            Touch(
                tensor.name,
                tensor.name,
                Region(0, tensor.valid_cols * tensor.dtype.bytes, tensor.valid_rows, tensor.cols * tensor.dtype.bytes),
                writes=False,
                defined=True,
            )
            for tensor in plan.tensors
            if tensor.role is role
        )
        for role in (Role.IN, Role.OUT)
    }
    return Trace(
        tuple(_events(plan, op, platform)),
        {tile.name: Buffer(tile.name, tile.offset, tile.end, tile.operand, tile.align) for tile in plan.tiles},
        {tensor.name: tensor.bytes for tensor in plan.tensors},
        frozenset(tensor.name for tensor in plan.tensors if tensor.role is Role.IN),
        whole[Role.OUT],
        plan.ub_bytes,
        plan.ub_bytes,
        plan.mode == "manual",
        whole[Role.IN],
    )


def instruction_effects(plan: KernelPlan, op: Op, platform: Platform) -> tuple[Effects, ...]:
    """What each instruction of the plan does: all that a trace knows of the op, but for its name in the labels."""
    tiles = {tile.name: tile for tile in plan.tiles}

    def effects(program: Program) -> Iterator[Effects]:
        for step in program:
            if isinstance(step, Instruction):
                yield _instruction_effects(step, tiles, op, platform)
            elif isinstance(step, Loop):
                yield from effects(step.body)

    return tuple(effects(plan.program))


def _instruction_effects(step: Instruction, tiles: Mapping[str, Tile], op: Op, platform: Platform) -> Effects:
    args = {name: window.arg(tiles[window.tile].dtype) for name, window in step.args}
    return op.effects(platform, args, dict(step.attributes))


def _events(plan: KernelPlan, op: Op, platform: Platform) -> list[Event]:
    tiles = {tile.name: tile for tile in plan.tiles}
    tensors = {tensor.name: tensor for tensor in plan.tensors}
    effects_of: dict[int, Effects] = {}
    words: dict[tuple[int, ...], str] = {}
    events = []

    def effects(step: Load | Store | Instruction) -> Effects:
        if id(step) not in effects_of:
            if isinstance(step, Instruction):
                effects_of[id(step)] = _instruction_effects(step, tiles, op, platform)
            else:
                loads = isinstance(step, Load)
                window, gm = (step.dst, step.src) if loads else (step.src, step.dst)
                assert isinstance(window, Window) and isinstance(gm, GmWindow)
                found = (load_effects if loads else store_effects)(platform, window.arg(tiles[window.tile].dtype))
                effects_of[id(step)] = replace(found, defects=_unlike(window, gm, loads))
        return effects_of[id(step)]

    for step, variables, path in unroll(plan.program):
        if path not in words:
            words[path] = f"{'.'.join(str(place + 1) for place in path)} {describe(step, op)}"
        label = words[path] + "".join([f", {name}={value}" for name, value in variables.items()])
        if isinstance(step, (SetFlag, WaitFlag)):
            flag = (step.src, step.dst, step.event)
            sets = isinstance(step, SetFlag)
            events.append(Event(label, step.src if sets else step.dst, flag=flag, sets=sets, waits=not sets))
        elif isinstance(step, Barrier):
            events.append(Event(label, step.pipe, barrier=True))
        else:
            assert isinstance(step, (Load, Store, Instruction))
            windows = _windows(step)
            origin = {}
            for operand, window in windows:
                tile = tiles[window.tile]
                place = window.row.at(variables) * tile.cols + window.col.at(variables)
                origin[operand] = tile.offset + place * tile.dtype.bytes
            names = tuple((operand, window.tile) for operand, window in windows)
            found = effects(step)
            touches = touches_of(found, dict(names), origin)
            if isinstance(step, (Load, Store)):
                gm = step.src if isinstance(step, Load) else step.dst
                assert isinstance(gm, GmWindow)
                touches.append(_gm_touch(gm, tensors[gm.tensor], variables, isinstance(step, Store)))
            events.append(
                Event(label, found.pipe, tuple(touches), effects=found, tiles=names, origins=tuple(origin.items()))
            )
    return events


def _unlike(window: Window, gm: GmWindow, loads: bool) -> tuple[str, ...]:
    """What goes wrong where a tile's valid region has another shape than the tensor's region: headers take the number
    of lines from one and their length from the other (``pto/common/arch/memory/tload_common.hpp:54``)."""
    if (window.valid_rows, window.valid_cols) == (gm.rows, gm.cols):
        return ()
    shapes = f"the valid region of {window.tile} has {window.valid_rows} x {window.valid_cols} elements"
    return (f"{'TLOAD' if loads else 'TSTORE'}: {shapes}, that of the tensor {gm.tensor} {gm.rows} x {gm.cols}",)


def touches_of(effects: Effects, names: Mapping[str, str], origins: Mapping[str, int]) -> list[Touch]:
    """The bytes of UB that an instruction touches, given the tile and the address of each operand."""

    def touch(access: Access) -> Touch:
        region = access.region.shifted(origins[access.operand])
        return Touch(UB, names[access.operand], region, access.writes, access.defined, access.sure)

    return [touch(access) for access in effects.accesses if access.operand in names]


def describe(step: Step, op: Op) -> str:
    """The step in the words of the ISA."""
    if isinstance(step, Load):
        return f"TLOAD({step.dst.tile})"
    if isinstance(step, Store):
        return f"TSTORE({step.src.tile})"
    if isinstance(step, Instruction):
        return f"{op.instruction}({', '.join(window.tile for _, window in step.args)})"
    if isinstance(step, SetFlag):
        return f"set_flag({step.src}, {step.dst}, EVENT_ID{step.event})"
    if isinstance(step, WaitFlag):
        return f"wait_flag({step.src}, {step.dst}, EVENT_ID{step.event})"
    if isinstance(step, Barrier):
        return f"pipe_barrier({step.pipe})"
    return f"loop of {step.count}"


def _windows(step: Load | Store | Instruction) -> tuple[tuple[str, Window], ...]:
    if isinstance(step, Load):
        return (("dst", step.dst),)
    if isinstance(step, Store):
        return (("src", step.src),)
    return step.args


def _gm_touch(window: GmWindow, tensor, variables, writes: bool) -> Touch:
    pitch = tensor.cols * tensor.dtype.bytes
    start = window.row.at(variables) * pitch + window.col.at(variables) * tensor.dtype.bytes
    region = Region(start, window.cols * tensor.dtype.bytes, window.rows, pitch)
    return Touch(tensor.name, tensor.name, region, writes, True)
