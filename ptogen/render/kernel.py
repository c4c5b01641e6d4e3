"""The kernel file: every plan as a function of PTO instructions."""

from __future__ import annotations

import operator
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from ptogen.ops.base import Op
from ptogen.plan.model import (
    Affine,
    Barrier,
    GmWindow,
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
)
from ptogen.platforms import PLATFORMS
from ptogen.render.environment import environment

COMMENT = 116
"""Letters of a line of a comment."""


@dataclass
class Kernel:
    """A kernel function and the cases that call it: they differ in their data alone, which it gets when it runs.

    Attributes:
        plan: of the first of the cases, whose name it bears.
        parameters, body: its text.
        cases: names of the cases.
    """

    plan: KernelPlan
    parameters: str
    body: str
    cases: list[str]

    @property
    def name(self) -> str:
        return self.plan.case

    @property
    def memories(self) -> str:
        """Parameters of its launcher, before the stream."""
        return "".join(f"void* {tensor.name}, " for tensor in self.plan.tensors)

    @property
    def arguments(self) -> str:
        """What its launcher calls it with."""
        return ", ".join(f"static_cast<{tensor.dtype.ctype}*>({tensor.name})" for tensor in self.plan.tensors)

    @property
    def comment(self) -> list[str]:
        """Which cases it serves and how it uses UB."""
        plan = self.plan
        lines = [f"{plan.case}: UB {plan.used_bytes:,} of {plan.ub_bytes:,} B"]
        if plan.mode == "manual":
            lines.append(", ".join(f"{tile.name} [{tile.offset:#x}, {tile.end:#x})" for tile in plan.tiles))
        else:
            lines.append(", ".join(f"{tile.name} {tile.bytes:,} B" for tile in plan.tiles))
        if len(self.cases) > 1:
            lines += textwrap.wrap(f"Also for {', '.join(self.cases[1:])}.", COMMENT, break_on_hyphens=False)
        return lines


def kernels(op: Op, plans: Sequence[KernelPlan]) -> list[Kernel]:
    """The functions that the cases need: one for all whose statements and parameters are the same."""
    found: dict[tuple[str, str], Kernel] = {}
    for plan in plans:
        parameters = ", ".join(f"__gm__ {tensor.dtype.ctype}* {tensor.name}" for tensor in plan.tensors)
        text = parameters, _body(_Shared(plan, op))
        found.setdefault(text, Kernel(plan, *text, [])).cases.append(plan.case)
    return list(found.values())


def kernel_cpp(op: Op, kernels: Sequence[Kernel], banner: str) -> str:
    """The text of ``<name>_kernel.cpp``, before layout."""
    family = PLATFORMS[kernels[0].plan.platform].family if kernels else ""
    headers = op.costmodel_headers if family == "a2a3" else ()
    template = environment().get_template("st/kernel.cpp.j2")
    return template.render(banner=banner.splitlines(), headers=headers, kernels=kernels)


class _Shared:
    """What the statements of a kernel follow from; equal to another only where both hold the very same objects, as the
    plans of a case on several platforms do: that is seen without a look into them."""

    __slots__ = ("op", "parts", "plan")

    def __init__(self, plan: KernelPlan, op: Op) -> None:
        self.plan = plan
        self.op = op
        self.parts = (op, plan.mode, plan.tensors, plan.tiles, plan.program)

    def __hash__(self) -> int:
        return hash(tuple(map(id, self.parts)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Shared) and all(map(operator.is_, self.parts, other.parts))


@lru_cache(2_048)
def _body(shared: _Shared) -> str:
    return "\n".join(_Body(shared.plan, shared.op).lines)


class _Body:
    """The statements of one kernel."""

    def __init__(self, plan: KernelPlan, op: Op):
        self.plan = plan
        self.op = op
        self.parts = 0
        self.lines: list[str] = []
        for step in plan.program:
            if isinstance(step, Load):
                self._gm(step.src, step.dst)
            elif isinstance(step, Store):
                self._gm(step.dst, step.src)
        for tile in plan.tiles:
            whole = Window(tile.name, tile.rows, tile.cols, tile.valid_rows, tile.valid_cols)
            self.lines.append(f"{self._type(tile, whole)} {tile.name}Tile{self._valid(whole)};")
        if plan.mode == "manual":
            self.lines += [f"TASSIGN({tile.name}Tile, {tile.offset:#x});" for tile in plan.tiles]
        self._steps(plan.program)

    def _gm(self, gm: GmWindow, window: Window) -> None:
        tensor = self.plan.tensor(gm.tensor)
        start = gm.row.times(tensor.cols) + gm.col
        origin = tensor.name if start == Affine() else f"{tensor.name} + {start}"
        kind = f"Gm<{tensor.dtype.ctype}, {gm.rows}, {gm.cols}, {tensor.cols}>"
        self.lines.append(f"{kind} {window.tile}Global({origin});")

    def _type(self, tile: Tile, window: Window) -> str:
        valid = "-1, -1" if self._valid(window) else f"{window.valid_rows}, {window.valid_cols}"
        return f"UbTile<{tile.dtype.ctype}, {window.rows}, {window.cols}, {valid}>"

    def _valid(self, window: Window) -> str:
        """A tile's constructor arguments: a valid region that is empty cannot be part of its type (pto_tile.hpp)."""
        empty = not (window.valid_rows and window.valid_cols)
        return f"({window.valid_rows}, {window.valid_cols})" if empty else ""

    def _steps(self, program: Program) -> None:
        guarded = False
        for step in program:
            sync = isinstance(step, (SetFlag, WaitFlag, Barrier))
            if sync and not guarded:
                self.lines.append("#ifndef __PTO_AUTO__")
            if guarded and not sync:
                self.lines.append("#endif")
            guarded = sync
            self._step(step)
        if guarded:
            self.lines.append("#endif")

    def _step(self, step: Step) -> None:
        if isinstance(step, Loop):
            self.lines.append(f"for (int {step.variable} = 0; {step.variable} < {step.count}; ++{step.variable}) {{")
            self._steps(step.body)
            self.lines.append("}")
        elif isinstance(step, Load):
            self.lines.append(f"TLOAD({step.dst.tile}Tile, {step.dst.tile}Global);")
        elif isinstance(step, Store):
            self.lines.append(f"TSTORE({step.src.tile}Global, {step.src.tile}Tile);")
        elif isinstance(step, SetFlag):
            self.lines.append(f"set_flag({step.src}, {step.dst}, EVENT_ID{step.event});")
        elif isinstance(step, WaitFlag):
            self.lines.append(f"wait_flag({step.src}, {step.dst}, EVENT_ID{step.event});")
        elif isinstance(step, Barrier):
            self.lines.append(f"pipe_barrier({step.pipe});")
        else:
            before = len(self.lines)
            tiles = {operand: self._operand(f"{operand}Part{self.parts}", window) for operand, window in step.args}
            types = {operand: self._type(self.plan.tile(window.tile), window) for operand, window in step.args}
            self.parts += len(self.lines) > before
            self.lines += self.op.cpp(tiles, types, dict(step.attributes))

    def _operand(self, name: str, window: Window) -> str:
        """The tile, or a tile called ``name`` of the window's shape at the window's address."""
        tile = self.plan.tile(window.tile)
        if (window.rows, window.cols, window.valid_cols) == (tile.rows, tile.cols, tile.valid_cols):
            return f"{tile.name}Tile"
        start = (window.row.times(tile.cols) + window.col).times(tile.dtype.bytes)
        address = Affine(tile.offset) + start
        terms = "".join(f" + {variable} * {factor}" for variable, factor in address.terms)
        self.lines.append(f"{self._type(tile, window)} {name}{self._valid(window)};")
        self.lines.append(f"TASSIGN({name}, {address.const:#x}{terms});")
        return name
