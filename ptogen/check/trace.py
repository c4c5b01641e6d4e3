"""A plan as a checker sees it: the steps in the order of issue, loops run, with the bytes that the headers really touch."""

from __future__ import annotations

from dataclasses import dataclass, field

from ptogen.check.finding import ByteRange
from ptogen.ops.base import Access, Effects, Op, Region
from ptogen.ops.move import load_effects, store_effects
from ptogen.plan.model import (
    Barrier,
    GmWindow,
    Instruction,
    KernelPlan,
    Load,
    SetFlag,
    Step,
    Store,
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
        writes, defined: as in :class:`ptogen.ops.base.Access`.
    """

    memory: str
    name: str
    region: Region
    writes: bool
    defined: bool

    @property
    def range(self) -> ByteRange:
        return ByteRange(self.name, self.memory, self.region.start, self.region.end)


@dataclass(frozen=True)
class Event:
    """One issued step.

    Attributes:
        label: the step in words, loop turns included.
        pipe: the pipe whose queue it stands in: for a set the source, for a wait the destination.
        touches: bytes, in the order in which the step touches them.
        flag: (source, destination, event id) of a set or wait.
        sets, waits, barrier: which kind of synchronisation it is, if any.
        effects, windows: of an instruction, load or store: what its header does, and the (operand, window) it does that to.
        origins: absolute address of each operand.
    """

    label: str
    pipe: Pipe
    touches: tuple[Touch, ...] = ()
    flag: tuple[Pipe, Pipe, int] | None = None
    sets: bool = False
    waits: bool = False
    barrier: bool = False
    effects: Effects | None = None
    windows: tuple[tuple[str, Window], ...] = ()
    origins: tuple[tuple[str, int], ...] = field(default=())


def trace(plan: KernelPlan, op: Op, platform: Platform) -> list[Event]:
    """Every event of a run of the plan."""
    tiles = {tile.name: tile for tile in plan.tiles}
    tensors = {tensor.name: tensor for tensor in plan.tensors}
    effects_of: dict[int, Effects] = {}
    events = []

    def effects(step: Load | Store | Instruction) -> Effects:
        if id(step) not in effects_of:
            if isinstance(step, Instruction):
                args = {name: window.arg(tiles[window.tile].dtype) for name, window in step.args}
                effects_of[id(step)] = op.effects(platform, args, dict(step.attributes))
            else:
                window = step.dst if isinstance(step, Load) else step.src
                assert isinstance(window, Window)
                arg = window.arg(tiles[window.tile].dtype)
                effects_of[id(step)] = (load_effects if isinstance(step, Load) else store_effects)(platform, arg)
        return effects_of[id(step)]

    for step, variables, path in unroll(plan.program):
        turn = "".join(f", {name}={value}" for name, value in variables.items())
        label = f"{'.'.join(str(place + 1) for place in path)} {describe(step, op)}{turn}"
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
            names = {operand: window.tile for operand, window in windows}
            found = effects(step)
            touches = [_touch(access, names[access.operand], origin[access.operand]) for access in found.accesses]
            if isinstance(step, (Load, Store)):
                gm = step.src if isinstance(step, Load) else step.dst
                assert isinstance(gm, GmWindow)
                touches.append(_gm_touch(gm, tensors[gm.tensor], variables, isinstance(step, Store)))
            events.append(
                Event(
                    label, found.pipe, tuple(touches), effects=found, windows=windows, origins=tuple(origin.items())
                )
            )
    return events


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


def _touch(access: Access, name: str, origin: int) -> Touch:
    return Touch(UB, name, access.region.shifted(origin), access.writes, access.defined)


def _gm_touch(window: GmWindow, tensor, variables, writes: bool) -> Touch:
    pitch = tensor.cols * tensor.dtype.bytes
    start = window.row.at(variables) * pitch + window.col.at(variables) * tensor.dtype.bytes
    region = Region(start, window.cols * tensor.dtype.bytes, window.rows, pitch)
    return Touch(tensor.name, tensor.name, region, writes, True)
