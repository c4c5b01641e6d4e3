"""Small programs that no template serves, on an op that copies one tile to another."""

from __future__ import annotations

from ptogen.check import check_plan
from ptogen.check.finding import Finding
from ptogen.dtypes import FLOAT32
from ptogen.ops.base import Op
from ptogen.ops.effects import Access, Effects
from ptogen.ops.record import Form, slots
from ptogen.ops.sizing import Role, Tensor
from ptogen.plan.model import (
    Affine,
    GmWindow,
    Instruction,
    KernelPlan,
    Load,
    Loop,
    Program,
    SetFlag,
    Store,
    Tile,
    Window,
)
from ptogen.plan.planner import Footprints
from ptogen.plan.sync import synchronise
from ptogen.platforms import PLATFORMS, Pipe
from ptogen.tiles import Region

ROWS, COLS = 3, 8


class Copy(Op):
    """dst = src, on PIPE_V."""

    def effects(self, family, args, attributes):
        whole = {name: Region(0, arg.cols * arg.dtype.bytes, arg.rows, arg.pitch) for name, arg in args.items()}
        accesses = (Access("src", False, whole["src"]), Access("dst", True, whole["dst"]))
        return Effects(Pipe.V, accesses, events=self.defects)


COPY = Copy("TCOPY", "copy", (), (), forms=(Form(slots("dst+ src")),))
A2A3 = PLATFORMS["a2a3"]


def tile(name: str, offset: int) -> Tile:
    return Tile(FLOAT32, ROWS, COLS, ROWS, COLS, name, name, 32, offset)


def tensors(*names: str) -> tuple[Tensor, ...]:
    return tuple(
        Tensor(name, FLOAT32, ROWS, COLS, ROWS, COLS, Role.OUT if name.startswith("out") else Role.IN) for name in names
    )


def whole(name: str) -> Window:
    return Window(FLOAT32, ROWS, COLS, ROWS, COLS, name)


def row(name: str, variable: str | int) -> Window:
    """One row: a fixed one, or the one of a loop's turn."""
    place = Affine(variable) if isinstance(variable, int) else Affine(0, ((variable, 1),))
    return Window(FLOAT32, 1, COLS, 1, COLS, name, place)


def gm(name: str, window: Window) -> GmWindow:
    return GmWindow(name, window.rows, window.cols, window.row)


def load(window: Window | str, tensor: str = "in") -> Load:
    window = whole(window) if isinstance(window, str) else window
    return Load(window, gm(tensor, window))


def store(window: Window | str, tensor: str = "out") -> Store:
    window = whole(window) if isinstance(window, str) else window
    return Store(gm(tensor, window), window)


def copy(dst: Window | str, src: Window | str) -> Instruction:
    windows = [whole(one) if isinstance(one, str) else one for one in (dst, src)]
    return Instruction(COPY, (("dst", windows[0]), ("src", windows[1])))


def synchronised(
    program: Program, tiles: tuple[Tile, ...], gm_tensors: tuple[Tensor, ...], event_ids: int = 8
) -> KernelPlan:
    """The planner's flags on a hand-made program."""
    program = synchronise(program, Footprints(tiles, gm_tensors).visit, event_ids)
    return KernelPlan("case", "copy", "a2a3", "manual", A2A3.ub_bytes, gm_tensors, tiles, program, 0)


def order_findings(plan: KernelPlan) -> list[Finding]:
    """What the checkers say of order and flags."""
    return [finding for finding in check_plan(plan, A2A3) if finding.code.startswith(("PTG41", "PTG42"))]


def flags(program: Program) -> list[tuple[Pipe, Pipe, int]]:
    """The set flags of a program, loops not run."""
    found = []
    for step in program:
        if isinstance(step, Loop):
            found += flags(step.body)
        elif isinstance(step, SetFlag):
            found.append((step.src, step.dst, step.event))
    return found
