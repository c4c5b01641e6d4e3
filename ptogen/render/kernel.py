"""The kernel file: every plan as a function of PTO instructions."""

from __future__ import annotations

import operator
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from ptogen.plan.model import (
    ZERO,
    Barrier,
    GmWindow,
    Instruction,
    KernelPlan,
    Load,
    Loop,
    Program,
    SetFlag,
    Store,
    Visitor,
    WaitFlag,
    Window,
)
from ptogen.render.environment import environment
from ptogen.tiles import Layout, TileType

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
    def names(self) -> str:
        """The condition that the running case is one of its own."""
        return " || ".join(f'name == "{case}"' for case in self.cases)

    @property
    def places(self) -> str:
        """The tensors, before the stream."""
        return "".join(f"gm[{place}], " for place in range(len(self.plan.tensors)))

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


def kernels(plans: Sequence[KernelPlan]) -> list[Kernel]:
    """The functions that the cases need: one for all whose statements and parameters are the same."""
    found: dict[tuple[str, str], Kernel] = {}
    for plan in plans:
        parameters = ", ".join(f"__gm__ {tensor.dtype.ctype}* {tensor.name}" for tensor in plan.tensors)
        text = parameters, _body(_Shared(plan))
        found.setdefault(text, Kernel(plan, *text, [])).cases.append(plan.case)
    return list(found.values())


def kernel_cpp(kernels: Sequence[Kernel], banner: str) -> str:
    """The text of ``<name>_kernel.cpp``, before layout. The simulator's kernels are called, an NPU's are launched."""
    launch = "" if kernels[0].plan.platform == "cpu" else "<<<1, nullptr, stream>>>"
    template = environment().get_template("st/kernel.cpp.j2")
    return template.render(banner=banner.splitlines(), launch=launch, kernels=kernels)


class _Shared:
    """What the statements of a kernel follow from; equal to another only where both hold the very same objects, as the
    plans of a case on several platforms do: that is seen without a look into them."""

    __slots__ = ("parts", "plan")

    def __init__(self, plan: KernelPlan) -> None:
        self.plan = plan
        self.parts = (plan.mode, plan.tensors, plan.tiles, plan.program)

    def __hash__(self) -> int:
        return hash(tuple(map(id, self.parts)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Shared) and all(map(operator.is_, self.parts, other.parts))


@lru_cache(2_048)
def _body(shared: _Shared) -> str:
    return "\n".join(_Body(shared.plan).lines)


class _Body(Visitor[None]):
    """The statements of one kernel."""

    def __init__(self, plan: KernelPlan) -> None:
        self.plan = plan
        self.windows: dict[Window, str] = {}
        """Names of the parts of tiles that are declared where the statements stand."""
        self.lines: list[str] = []
        self.declared: set[tuple[GmWindow, Window]] = set()
        """Moves of whole tiles, whose tensors are declared once and on top."""
        for step in plan.program:
            if isinstance(step, (Load, Store)) and self._is_whole(step.window):
                self.declared.add((step.gm, step.window))
                self._global(f"{step.window.tile}Global", step)
        for tile in plan.tiles:
            self.lines.append(f"{self._type(tile)} {tile.name}Tile{self._valid(tile)};")
        if plan.mode == "manual":
            self.lines += [f"TASSIGN({tile.name}Tile, {tile.offset:#x});" for tile in plan.tiles]
        self._steps(plan.program)

    def _is_whole(self, window: Window) -> bool:
        tile = self.plan.tile(window.tile)
        return (window.rows, window.cols, window.valid_cols) == (tile.rows, tile.cols, tile.valid_cols)

    def _global(self, name: str, step: Load | Store) -> None:
        """Declares the region of a tensor that a step moves."""
        tensor, gm = self.plan.tensor(step.gm.tensor), step.gm
        start = gm.offset(tensor)
        origin = tensor.name if start == ZERO else f"{tensor.name} + {start}"
        kind, pitch = ("GmCols", tensor.strides[1]) if tensor.layout is Layout.COL_MAJOR else ("Gm", tensor.strides[0])
        self.lines.append(f"{kind}<{tensor.dtype.ctype}, {gm.rows}, {gm.cols}, {pitch}> {name}({origin});")

    def _type(self, tile: TileType) -> str:
        valid = "-1, -1" if tile.empty else f"{tile.valid_rows}, {tile.valid_cols}"
        kind = "UbTileCols" if tile.layout is Layout.COL_MAJOR else "UbTile"
        return f"{kind}<{tile.dtype.ctype}, {tile.rows}, {tile.cols}, {valid}>"

    def _valid(self, tile: TileType) -> str:
        """A tile's constructor arguments: a valid region that is empty cannot be part of its type (pto_tile.hpp)."""
        return f"({tile.valid_rows}, {tile.valid_cols})" if tile.empty else ""

    def _steps(self, program: Program) -> None:
        guarded = False
        for step in program:
            sync = isinstance(step, (SetFlag, WaitFlag, Barrier))
            if sync and not guarded:
                self.lines.append("#ifndef __PTO_AUTO__")
            if guarded and not sync:
                self.lines.append("#endif")
            guarded = sync
            self.visit(step)
        if guarded:
            self.lines.append("#endif")

    def loop(self, step: Loop) -> None:
        self.lines.append(f"for (int {step.variable} = 0; {step.variable} < {step.count}; ++{step.variable}) {{")
        outer, self.windows = self.windows, dict(self.windows)
        self._steps(step.body)
        self.windows = outer
        self.lines.append("}")

    def load(self, step: Load) -> None:
        tensor, tile = self._move(step)
        self.lines.append(f"TLOAD({tile}, {tensor});")

    def store(self, step: Store) -> None:
        tensor, tile = self._move(step)
        self.lines.append(f"TSTORE({tensor}, {tile});")

    def _move(self, step: Load | Store) -> tuple[str, str]:
        """The names of a move's tensor and tile, declared here where they are not on top."""
        name = step.window.tile
        if (step.gm, step.window) in self.declared:
            return f"{name}Global", f"{name}Tile"
        tile = self._operand(step.window)
        tensor = f"{tile}Global"
        self._global(tensor, step)
        return tensor, tile

    def set_flag(self, step: SetFlag) -> None:
        self.lines.append(f"set_flag({step.src}, {step.dst}, EVENT_ID{step.event});")

    def wait_flag(self, step: WaitFlag) -> None:
        self.lines.append(f"wait_flag({step.src}, {step.dst}, EVENT_ID{step.event});")

    def barrier(self, step: Barrier) -> None:
        self.lines.append(f"pipe_barrier({step.pipe});")

    def instruction(self, step: Instruction) -> None:
        tiles = {operand: self._operand(window) for operand, window in step.args}
        types = {operand: self._type(window) for operand, window in step.args}
        self.lines += step.op.cpp(tiles, types, dict(step.attributes))

    def _operand(self, window: Window) -> str:
        """The tile, or a tile of the window's shape at the window's address."""
        tile = self.plan.tile(window.tile)
        if self._is_whole(window):
            return f"{tile.name}Tile"
        if window in self.windows:
            return self.windows[window]
        number = sum(part.tile == window.tile for part in self.windows)
        name = self.windows[window] = f"{tile.name}Part{number}"
        address = window.address(tile)
        terms = "".join(f" + {variable} * {factor}" for variable, factor in address.terms)
        self.lines.append(f"{self._type(window)} {name}{self._valid(window)};")
        self.lines.append(f"TASSIGN({name}, {address.const:#x}{terms});")
        return name
