"""A plan as a trace: its loops run, each step asked what its header does."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ptogen.check.events import Buffer, Event, Touch, touches_of
from ptogen.check.trace import Trace
from ptogen.ops.effects import Effects
from ptogen.ops.move import load_effects, store_effects
from ptogen.ops.sizing import Role, Tensor
from ptogen.plan.model import (
    Affine,
    Barrier,
    GmWindow,
    Instruction,
    KernelPlan,
    Load,
    Loop,
    SetFlag,
    Step,
    Store,
    Visitor,
    WaitFlag,
    Window,
    unroll,
    walk,
)
from ptogen.platforms import Pipe, Platform
from ptogen.tiles import TileType


def trace(plan: KernelPlan, platform: Platform) -> Trace:
    """A run of the plan."""
    reads, writes = (
        tuple(
            Touch(tensor.name, tensor.name, tensor.region(tensor.valid_rows, tensor.valid_cols), False, True)
            for tensor in plan.tensors
            if does(tensor.role)
        )
        for does in (lambda role: role.reads, lambda role: role.writes)
    )
    return Trace(
        tuple(_Events(plan, platform.family).run()),
        {tile.name: Buffer(tile.name, tile.offset, tile.end, tile.operand, tile.align) for tile in plan.tiles},
        {tensor.name: tensor.bytes for tensor in plan.tensors},
        frozenset(tensor.name for tensor in plan.tensors if tensor.role.reads),
        writes,
        plan.ub_bytes,
        plan.ub_bytes,
        plan.mode == "manual",
        reads,
    )


def instruction_effects(plan: KernelPlan, family: str) -> tuple[Effects, ...]:
    """What each instruction of the plan does: all that a trace knows of the ops, but for their names in the words."""
    return tuple(_does(step, family) for step in walk(plan.program) if isinstance(step, Instruction))


def _does(step: Instruction, family: str) -> Effects:
    return step.op.effects(family, dict(step.args), dict(step.attributes))


class Words(Visitor[str]):
    """A step in the words of the ISA."""

    def load(self, step: Load) -> str:
        return f"TLOAD({step.dst.tile})"

    def store(self, step: Store) -> str:
        return f"TSTORE({step.src.tile})"

    def instruction(self, step: Instruction) -> str:
        return f"{step.op.instruction}({', '.join(window.tile for _, window in step.args)})"

    def set_flag(self, step: SetFlag) -> str:
        return f"set_flag({step.src}, {step.dst}, EVENT_ID{step.event})"

    def wait_flag(self, step: WaitFlag) -> str:
        return f"wait_flag({step.src}, {step.dst}, EVENT_ID{step.event})"

    def barrier(self, step: Barrier) -> str:
        return f"pipe_barrier({step.pipe})"

    def loop(self, step: Loop) -> str:
        return f"loop of {step.count}"


WORDS = Words()


class _Events(Visitor[Event]):
    """The steps of a plan as events, one for each time that one is issued."""

    def __init__(self, plan: KernelPlan, family: str) -> None:
        self.plan, self.family = plan, family
        self.tiles = {tile.name: tile for tile in plan.tiles}
        self.tensors = {tensor.name: tensor for tensor in plan.tensors}
        self.variables: Mapping[str, int] = {}
        self.place = self.words = ""
        self._effects: dict[int, Effects] = {}
        self._places: dict[int, tuple[list[tuple[str, Affine]], tuple[tuple[str, str], ...]]] = {}

    def run(self) -> Iterator[Event]:
        words: dict[tuple[int, ...], tuple[str, str]] = {}
        for step, variables, path in unroll(self.plan.program):
            self.variables = variables
            if path not in words:
                words[path] = ".".join(str(place + 1) for place in path), WORDS.visit(step)
            self.place, self.words = words[path]
            yield self.visit(step)

    def _event(self, pipe: Pipe, **more: Any) -> Event:
        turn = "".join([f", {name}={value}" for name, value in self.variables.items()]) if self.variables else ""
        return Event(self.place, self.words, pipe, turn=turn, **more)

    def set_flag(self, step: SetFlag) -> Event:
        return self._event(step.src, flag=(step.src, step.dst, step.event), sets=True)

    def wait_flag(self, step: WaitFlag) -> Event:
        return self._event(step.dst, flag=(step.src, step.dst, step.event), waits=True)

    def barrier(self, step: Barrier) -> Event:
        return self._event(step.pipe, barrier=True)

    def _once(self, step: Step, find: Callable[[], Effects]) -> Effects:
        """What a step does, found out at its first turn."""
        if id(step) not in self._effects:
            self._effects[id(step)] = find()
        return self._effects[id(step)]

    def _data(self, step: Load | Store | Instruction, effects: Effects, gm: Sequence[Touch] = (), **more: Any) -> Event:
        if id(step) not in self._places:
            addresses = [(name, window.address(self.tiles[window.tile])) for name, window in step.args]
            self._places[id(step)] = addresses, tuple((name, window.tile) for name, window in step.args)
        addresses, names = self._places[id(step)]
        origins = {name: address.at(self.variables) for name, address in addresses}
        touches = (*touches_of(effects, dict(names), origins), *gm)
        return self._event(
            effects.pipe, touches=touches, effects=effects, tiles=names, origins=tuple(origins.items()), **more
        )

    def instruction(self, step: Instruction) -> Event:
        scratch = tuple(name for name, _ in step.args if step.op.role(name) is Role.TMP)
        return self._data(step, self._once(step, lambda: _does(step, self.family)), scratch=scratch)

    def load(self, step: Load) -> Event:
        return self._move(step, load_effects, "TLOAD", writes=False)

    def store(self, step: Store) -> Event:
        return self._move(step, store_effects, "TSTORE", writes=True)

    def _move(self, step: Load | Store, effects: Callable[[str, TileType], Effects], name: str, writes: bool) -> Event:
        tensor = self.tensors[step.gm.tensor]

        def find() -> Effects:
            return replace(effects(self.family, step.window), defects=_unlike(step.window, step.gm, tensor, name))

        start = step.gm.offset(tensor).at(self.variables) * tensor.dtype.bytes
        region = tensor.region(step.gm.rows, step.gm.cols).shifted(start)
        return self._data(step, self._once(step, find), (Touch(tensor.name, tensor.name, region, writes, True),))


def _unlike(window: Window, gm: GmWindow, tensor: Tensor, name: str) -> tuple[str, ...]:
    """What goes wrong between a tile and a region of a tensor.

    Headers take the number of lines from one and their length from the other
    (``pto/common/arch/memory/tload_common.hpp:54``), and lines of a tile have to be lines of the tensor
    (``a2a3/TLoad.hpp``, CheckStatic).
    """
    defects = []
    if (window.valid_rows, window.valid_cols) != (gm.rows, gm.cols):
        shapes = f"the valid region of {window.tile} has {window.valid_rows} x {window.valid_cols} elements"
        defects.append(f"{name}: {shapes}, that of the tensor {gm.tensor} {gm.rows} x {gm.cols}")
    if window.layout is not tensor.layout:
        defects.append(f"{name}: {window.tile} is {window.layout}, the tensor {gm.tensor} is {tensor.layout}")
    if window.dtype is not tensor.dtype:
        defects.append(f"{name}: {window.tile} is of {window.dtype}, the tensor {gm.tensor} of {tensor.dtype}")
    return tuple(defects)
