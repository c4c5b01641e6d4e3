"""The kernel file: every plan as a function of PTO instructions."""

from __future__ import annotations

import operator
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, count

from ptogen.ops.attributes import Value
from ptogen.plan.model import (
    ZERO,
    Affine,
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
    walk,
)
from ptogen.render.environment import environment
from ptogen.render.instances import TYPE, Family, Sheet, called, families
from ptogen.tiles import Layout, TileType

PARTS = "\x03"
"""Parts the text of a sheet: parameters of the kernel, tensors and arguments of its launch, statements."""


@dataclass(frozen=True)
class Kernel:
    """A kernel function, a template where its cases differ in numbers and types.

    Attributes:
        name: behind ``Run`` and ``Launch``.
        template: its template parameters; empty where it is none.
        types: those of them that are types, as the launcher names them.
        parameters, body: its text.
        tensors, arguments: the launcher's statements that name the tensors, and what it passes.
        comment: how much of UB its cases use.
        launch: what stands between name and arguments where it is launched: the simulator's kernels are called.
        cases: name, and what launches it, of each of its cases.
    """

    name: str
    template: str
    types: tuple[str, ...]
    parameters: str
    tensors: str
    arguments: str
    body: str
    comment: str
    launch: str
    cases: tuple[tuple[str, str], ...]

    @property
    def pack(self) -> str:
        """Template parameters of its launcher, which hands all numbers on."""
        return ", ".join([*(f"typename {name}" for name in self.types), "int... kNumbers"])

    @property
    def handed_on(self) -> str:
        """What the launcher calls it with."""
        return f"<{', '.join([*self.types, 'kNumbers...'])}>" if self.template else ""


def kernels(plans: Sequence[KernelPlan]) -> list[Kernel]:
    """The functions that the cases need: one for all whose programs have the same steps."""
    found = families([_sheet(_Shared(plan)) for plan in plans])
    return [_kernel(family, plans, number if len(found) > 1 else 0) for number, family in enumerate(found, 1)]


def _kernel(family: Family, plans: Sequence[KernelPlan], number: int) -> Kernel:
    own = [plans[member] for member in family.members]
    name = f"{own[0].name.upper()}{f'_{number}' if number else ''}"
    # Types first: the launcher takes the numbers as a pack.
    order = sorted(range(len(family.parameters)), key=lambda place: family.parameters[place].axis != TYPE)
    differing = [family.parameters[place] for place in order]
    types = tuple(called(parameter) for parameter in differing if parameter.axis == TYPE)
    numbers = [f"int {called(parameter)}" for parameter in differing if parameter.axis != TYPE]
    cases = []
    for place, plan in enumerate(own):
        values = family.arguments(place)
        arguments = ", ".join(values[at] for at in order)
        cases.append((plan.case, f"Launch{name}{f'<{arguments}>' if arguments else ''}"))
    used = max(plan.used_bytes for plan in own)
    comment = f"UB: {'at most ' if len(own) > 1 else ''}{used:,} of {own[0].ub_bytes:,} B."
    launch = "" if own[0].platform == "cpu" else "<<<1, nullptr, stream>>>"
    template = ", ".join([*(f"typename {name}" for name in types), *numbers])
    parameters, tensors, arguments, body = family.text().split(PARTS)
    return Kernel(name, template, types, parameters, tensors, arguments, body, comment, launch, tuple(cases))


def kernel_cpp(kernels: Sequence[Kernel], banner: str) -> str:
    """The text of ``<name>_kernel.cpp``, before layout."""
    template = environment().get_template("st/kernel.cpp.j2")
    return template.render(
        banner=banner.splitlines(),
        kernels=kernels,
        uses={name: any(f"{name}<" in kernel.body for kernel in kernels) for name in ("GmCols", "UbTileCols")},
    )


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
def _sheet(shared: _Shared) -> Sheet:
    body = _Body(shared.plan)
    tensors = [(tensor.name, body.sheet.slot(tensor.name, TYPE, tensor.dtype.ctype)) for tensor in shared.plan.tensors]
    parameters = ", ".join(f"__gm__ {kind}* {name}" for name, kind in tensors)
    # Named, so that a recording knows them by their names.
    named = [f"auto* {name} = static_cast<{kind}*>(gm[{place}]);" for place, (name, kind) in enumerate(tensors)]
    arguments = ", ".join(name for name, _ in tensors)
    body.sheet.text = PARTS.join([parameters, "\n".join(named), arguments, "\n".join(body.lines)])
    return body.sheet


class _Int(int):
    """A number of an instruction, which is a place of the sheet where it is written."""

    def __new__(cls, sheet: Sheet, owner: str, axis: str, value: int) -> _Int:
        self = super().__new__(cls, value)
        self.slot = sheet, owner, axis
        return self

    slot: tuple[Sheet, str, str]

    def __str__(self) -> str:
        sheet, owner, axis = self.slot
        return sheet.slot(owner, axis, int(self))


class _Body(Visitor[None]):
    """The statements of one kernel."""

    def __init__(self, plan: KernelPlan) -> None:
        self.plan = plan
        self.sheet = Sheet()
        self.windows: dict[Window, str] = {}
        """Names of the parts of tiles that are declared where the statements stand."""
        self.lines: list[str] = []
        self.globals: set[str] = set()
        self.declared: dict[tuple[GmWindow, Window], str] = {}
        """Regions of tensors that whole tiles move, which are declared once and on top, by name."""
        for step in plan.program:
            if isinstance(step, (Load, Store)) and self._is_whole(step.window):
                self.declared[step.gm, step.window] = self._global(step.window.tile, step)
        used = self._whole_tiles()
        whole = [tile for tile in plan.tiles if tile.name in used]
        for tile in whole:
            self.lines.append(f"{self._type(tile.name, tile)} {tile.name}Tile{self._valid(tile.name, tile)};")
        if plan.mode == "manual":
            for tile in whole:
                address = self.sheet.slot(tile.name, "Addr", f"{tile.offset:#x}")
                self.lines.append(f"TASSIGN({tile.name}Tile, {address});")
        self._steps(plan.program)

    def _whole_tiles(self) -> set[str]:
        """Those that some step uses as they are; of the others parts are declared alone."""
        steps = [step for step in walk(self.plan.program) if isinstance(step, (Load, Store, Instruction))]
        windows = (window for step in steps for _, window in step.args)
        return {window.tile for window in windows if self._is_whole(window)}

    def _is_whole(self, window: Window) -> bool:
        tile = self.plan.tile(window.tile)
        return (window.rows, window.cols, window.valid_cols) == (tile.rows, tile.cols, tile.valid_cols)

    def _global(self, tile: str, step: Load | Store) -> str:
        """Declares the region of a tensor that a step moves, called as the tile; as the tensor where the tile moves
        another region, too."""
        again = (f"{step.gm.tensor}Global{number or ''}" for number in count())
        name = next(one for one in chain([f"{tile}Global"], again) if one not in self.globals)
        self.globals.add(name)
        tensor, gm = self.plan.tensor(step.gm.tensor), step.gm
        by_columns = tensor.layout is Layout.COL_MAJOR
        sizes = [("Rows", gm.rows), ("Cols", gm.cols), ("Pitch", tensor.strides[1 if by_columns else 0])]
        kind = self._spelt("GmCols" if by_columns else "Gm", tensor.name, tensor.dtype.ctype, sizes)
        start = gm.offset(tensor)
        origin = tensor.name if start == ZERO else f"{tensor.name} + {self._affine(tensor.name, 'Start', start)}"
        self.lines.append(f"{kind} {name}({origin});")
        return name

    def _spelt(self, alias: str, owner: str, ctype: str, sizes: Sequence[tuple[str, int]], more: str = "") -> str:
        """A type of the file's own aliases."""
        slots = [self.sheet.slot(owner, TYPE, ctype), *(self.sheet.slot(owner, axis, size) for axis, size in sizes)]
        return f"{alias}<{', '.join(slots)}{more}>"

    def _affine(self, owner: str, axis: str, value: Affine, spell: str = "") -> str:
        """A sum that leaves out what is nothing."""
        parts = [
            f"{variable} * {self.sheet.slot(owner, f'{variable.capitalize()}Step', factor)}"
            for variable, factor in value.terms
        ]
        if value.const or not parts or spell:
            parts.insert(0, self.sheet.slot(owner, axis, f"{value.const:{spell}}"))
        return " + ".join(parts)

    def _type(self, owner: str, tile: TileType) -> str:
        sizes = [("TileRows", tile.rows), ("TileCols", tile.cols)]
        if not tile.empty:
            sizes += [("ValidRows", tile.valid_rows), ("ValidCols", tile.valid_cols)]
        alias = "UbTileCols" if tile.layout is Layout.COL_MAJOR else "UbTile"
        return self._spelt(alias, owner, tile.dtype.ctype, sizes, ", -1, -1" if tile.empty else "")

    def _valid(self, owner: str, tile: TileType) -> str:
        """A tile's constructor arguments: a valid region that is empty cannot be part of its type (pto_tile.hpp)."""
        if not tile.empty:
            return ""
        rows = self.sheet.slot(owner, "ValidRows", tile.valid_rows)
        return f"({rows}, {self.sheet.slot(owner, 'ValidCols', tile.valid_cols)})"

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
        count = self.sheet.slot(step.variable, "Turns", step.count)
        self.lines.append(f"for (int {step.variable} = 0; {step.variable} < {count}; ++{step.variable}) {{")
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
            return self.declared[step.gm, step.window], f"{name}Tile"
        tile = self._operand(step.window)
        return self._global(tile, step), tile

    def set_flag(self, step: SetFlag) -> None:
        self.lines.append(f"set_flag({step.src}, {step.dst}, EVENT_ID{step.event});")

    def wait_flag(self, step: WaitFlag) -> None:
        self.lines.append(f"wait_flag({step.src}, {step.dst}, EVENT_ID{step.event});")

    def barrier(self, step: Barrier) -> None:
        self.lines.append(f"pipe_barrier({step.pipe});")

    def instruction(self, step: Instruction) -> None:
        tiles = {operand: self._operand(window) for operand, window in step.args}
        types = _Types(self, dict(step.args))
        attributes: dict[str, Value] = {
            name: _Int(self.sheet, "", _camel(name), value) if type(value) is int else value
            for name, value in step.attributes
        }
        self.lines += step.op.cpp(tiles, types, attributes)

    def _operand(self, window: Window) -> str:
        """The tile, or a tile of the window's shape at the window's address."""
        tile = self.plan.tile(window.tile)
        if self._is_whole(window):
            return f"{tile.name}Tile"
        if window in self.windows:
            return self.windows[window]
        number = sum(part.tile == window.tile for part in self.windows)
        name = self.windows[window] = f"{tile.name}Part{number}"
        address = self._affine(name, "Addr", window.address(tile), "#x")
        self.lines.append(f"{self._type(name, window)} {name}{self._valid(name, window)};")
        self.lines.append(f"TASSIGN({name}, {address});")
        return name


class _Types(Mapping[str, str]):
    """C++ types of the tiles of an instruction by operand, spelt where they are asked for."""

    def __init__(self, body: _Body, windows: Mapping[str, Window]) -> None:
        self._body, self._windows = body, windows

    def __getitem__(self, operand: str) -> str:
        window = self._windows[operand]
        return self._body._type(window.tile, window)

    def __iter__(self) -> Iterator[str]:
        return iter(self._windows)

    def __len__(self) -> int:
        return len(self._windows)


def _camel(name: str) -> str:
    return "".join(word.capitalize() for word in name.split("_"))
