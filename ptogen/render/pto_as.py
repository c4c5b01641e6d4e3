"""A suite as PTO assembly: one module, one function a case.

The text is what PTOAS 0.27 reads (``tests/render/pto_as_parser.py`` holds its grammar), with tile types in the short
form, which is also the one that it prints. Level 2 leaves addresses and flags to the assembler, level 3 takes them from
the plan; a window of a tile is there a tile of its own at a computed address. Level 1 is the SSA form of the ISA's
documents, which the assembler does not read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ptogen.errors import Diagnostic
from ptogen.graph.model import Graph
from ptogen.ops.assembly import Constant
from ptogen.ops.case import Fault
from ptogen.ops.sizing import Role
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
    Tile,
    Visitor,
    WaitFlag,
    Window,
)
from ptogen.platforms import UB_BLOCK_BYTES, Platform
from ptogen.render.environment import environment
from ptogen.render.facts import banner, single_file
from ptogen.render.refusal import NoText, no_platform
from ptogen.render.suite import RenderedSuite
from ptogen.spec.model import Suite
from ptogen.tiles import Layout

ARCHITECTURES = {"a2a3": "a3", "a5": "a5"}
"""The platforms that the assembler has, by its own names (``--pto-arch``)."""

MODES = {1: "auto", 2: "auto", 3: "manual"}
"""The mode of the plan that a level shows."""

ELEMENTS = {
    "float32": "f32",
    "float16": "f16",
    "bfloat16": "bf16",
    "int8": "i8",
    "uint8": "ui8",
    "int16": "i16",
    "uint16": "ui16",
    "int32": "i32",
    "uint32": "ui32",
    "int64": "i64",
    "uint64": "ui64",
}
"""Element types by dtype; an i is signless, as the assembler wants signed integers."""

NOTES = {
    1: (
        "Level 1 (SSA) as the ISA's documents write it. The assembler has no such text and does not read this file:",
        "render level 2 or 3 for it. Valid regions are those of the views; scratch tiles are not named at this level.",
    ),
    2: (
        "Level 2: the assembler places tiles and sets flags.",
        "ptoas --pto-arch={arch} --pto-level=level2 --enable-insert-sync {name}.pto",
    ),
    3: (
        "Level 3: addresses and flags are those of the plan.",
        "ptoas --pto-arch={arch} --pto-level=level3 {name}.pto",
    ),
}


def prepare(suite: Suite, level: int | None) -> Suite:
    """The suite to plan: in the level's mode, where one was asked for, and with tiles that the assembler takes."""
    return replace(suite, mode=MODES[level] if level else suite.mode, graph=Graph.of(suite.graph.ops[0].in_pto_as()))


def render(
    suite: Suite, plans: Sequence[KernelPlan], license_header: str | None = None, level: int | None = None
) -> RenderedSuite:
    """The module of one suite.

    Args:
        suite: the cases.
        plans: their plans, in the same order, already checked.
        license_header: text to put on top, without comment marks.
        level: 1, 2 or 3; default 2 for mode auto and 3 for mode manual.

    Raises:
        NoText: for every case that the assembly has no text for.
    """
    level = level or (2 if suite.mode == "auto" else 3)
    arch = ARCHITECTURES.get(suite.platform.name)
    if arch is None:
        raise NoText([no_platform(suite, "the PTO assembler", ARCHITECTURES)], range(len(plans)))
    functions = []
    faults: dict[int, Diagnostic] = {}
    for number, plan in enumerate(plans):
        try:
            functions.append(_Function(plan, suite.platform, level).parts())
        except _Unsaid as refusal:
            fault = refusal.fault
            position = suite.position(number, *fault.field.split(".")) if fault.field else suite.position(number)
            faults[number] = Diagnostic(fault.code, f"{plan.case}: {fault.message}", position, hint=fault.hint)
    if faults:
        raise NoText(faults.values(), faults.keys())
    text = (
        environment()
        .get_template("pto_as/module.pto.j2")
        .render(
            banner=banner(suite, license_header).splitlines(),
            note=[line.format(arch=arch, name=suite.name) for line in NOTES[level]] + _packing(plans, level),
            arch=arch,
            functions=functions,
        )
    )
    return single_file(suite, "pto_as", ".pto", text, level=level)


def _packing(plans: Sequence[KernelPlan], level: int) -> list[str]:
    """A remark where the assembler, which packs tiles to 32 B, may place one off what a document wants."""
    wanted = sorted({tile.align for plan in plans for tile in plan.tiles if tile.align > UB_BLOCK_BYTES})
    if level != 2 or not wanted:
        return []
    return [
        f"The assembler packs tiles to {UB_BLOCK_BYTES} B; the documents want some of these at multiples of "
        f"{' and '.join(map(str, wanted))} B, which level 3 gives.",
    ]


class _Unsaid(Exception):
    def __init__(self, fault: Fault):
        self.fault = fault


def _refuse(message: str, hint: str | None = None, field: str = "") -> _Unsaid:
    return _Unsaid(Fault("PTG303", field, message, hint))


class _Function(Visitor[None]):
    """The text of one case."""

    def __init__(self, plan: KernelPlan, platform: Platform, level: int):
        self.plan = plan
        self.platform = platform
        self.level = level
        self.taken: set[str] = set()
        self.constants: dict[tuple[str, str], str] = {}
        self.indent = ""
        self.lines: list[str] = []
        self.variables: dict[str, str] = {}
        """SSA names of the loop variables in scope."""
        self.pointers = {tensor.name: self._fresh(f"{tensor.name}_gm") for tensor in plan.tensors}
        self.tensors = {tensor.name: self._tensor_view(tensor.name) for tensor in plan.tensors}
        self.tiles: dict[str, str] = {}
        """SSA names of the tiles; at level 1 of their latest values."""
        if level > 1:
            for tile in plan.tiles:
                self.tiles[tile.name] = self._alloc(tile.name, tile, tile.window, Affine(tile.offset))
        self._steps(plan.program)

    def parts(self) -> dict[str, object]:
        """What the template needs."""
        constants = [f"{name} = arith.constant {value} : {kind}" for (value, kind), name in self.constants.items()]
        parameters = [
            f"{self.pointers[tensor.name]}: !pto.ptr<{ELEMENTS[tensor.dtype.name]}>" for tensor in self.plan.tensors
        ]
        return {
            "name": self.plan.case,
            "comment": self._comment(),
            "parameters": ", ".join(parameters),
            "body": constants + self.lines,
        }

    def _comment(self) -> list[str]:
        plan = self.plan
        lines = [f"{plan.case}: UB {plan.used_bytes:,} of {plan.ub_bytes:,} B"]
        if self.level == 3:
            lines.append(", ".join(f"{tile.name} [{tile.offset:#x}, {tile.end:#x})" for tile in plan.tiles))
        else:
            lines.append(", ".join(f"{tile.name} {tile.bytes:,} B" for tile in plan.tiles))
        return lines

    # Values

    def _emit(self, line: str) -> None:
        self.lines.append(self.indent + line)

    def _fresh(self, name: str) -> str:
        """An SSA name that the function does not have yet."""
        number, own = 0, name
        while own in self.taken:
            number += 1
            own = f"{name}_{number}"
        self.taken.add(own)
        return f"%{own}"

    def _constant(self, value: int | str, kind: str, name: str | None = None) -> str:
        key = (str(value), kind)
        if key not in self.constants:
            self.constants[key] = self._fresh(name or (f"c{value}" if kind == "index" else f"c{value}_{kind}"))
        return self.constants[key]

    def _index(self, value: Affine, name: str) -> str:
        """An index value, computed where it depends on loop variables."""
        result = self._constant(value.const, "index") if value.const or not value.terms else ""
        for variable, factor in value.terms:
            term = self.variables[variable]
            if factor != 1:
                product = self._fresh(f"{name}_{variable}")
                self._emit(f"{product} = arith.muli {term}, {self._constant(factor, 'index')} : index")
                term = product
            if result:
                total = self._fresh(name)
                self._emit(f"{total} = arith.addi {result}, {term} : index")
                term = total
            result = term
        return result

    def _address(self, value: Affine, name: str) -> str:
        """A byte address in UB, which is an i64."""
        if not value.terms:
            return self._constant(value.const, "i64")
        index = self._index(value, f"{name}_at")
        address = self._fresh(f"{name}_addr")
        self._emit(f"{address} = arith.index_cast {index} : index to i64")
        return address

    # GM

    def _tensor_view(self, name: str) -> str:
        tensor = self.plan.tensor(name)
        rows, cols = self._constant(tensor.rows, "index"), self._constant(tensor.cols, "index")
        strides = ", ".join(self._constant(stride, "index") for stride in tensor.strides)
        view = self._fresh(f"{name}_tensor")
        self._emit(
            f"{view} = pto.make_tensor_view {self.pointers[name]}, shape = [{rows}, {cols}], "
            f"strides = [{strides}] : {self._tensor_type(name)}"
        )
        return view

    def _tensor_type(self, name: str) -> str:
        return f"!pto.tensor_view<?x?x{ELEMENTS[self.plan.tensor(name).dtype.name]}>"

    def _view_type(self, gm: GmWindow) -> str:
        return f"!pto.partition_tensor_view<{gm.rows}x{gm.cols}x{ELEMENTS[self.plan.tensor(gm.tensor).dtype.name]}>"

    def _view(self, gm: GmWindow) -> str:
        if not gm.rows or not gm.cols:
            raise _refuse(f"{gm.tensor} has {gm.rows}x{gm.cols} elements to move; the assembler moves at least 1x1")
        offsets = f"{self._index(gm.row, f'{gm.tensor}_row')}, {self._index(gm.col, f'{gm.tensor}_col')}"
        sizes = f"{self._constant(gm.rows, 'index')}, {self._constant(gm.cols, 'index')}"
        view = self._fresh(f"{gm.tensor}_view")
        self._emit(
            f"{view} = pto.partition_view {self.tensors[gm.tensor]}, offsets = [{offsets}], sizes = [{sizes}] : "
            f"{self._tensor_type(gm.tensor)} -> {self._view_type(gm)}"
        )
        return view

    # Tiles

    def _type(self, window: Window) -> str:
        element = ELEMENTS[window.dtype.name]
        if self.level == 1:
            if window.layout is not Layout.ROW_MAJOR:
                raise _refuse(f"{window.tile} is {window.layout}; the documents have SSA text for row-major tiles only")
            return f"!pto.tile<vec, {element}, {window.rows}, {window.cols}, row_major, none_box, 512, 0>"
        valid = (window.valid_rows, window.valid_cols)
        more = "" if valid == (window.rows, window.cols) else f", valid={window.valid_rows}x{window.valid_cols}"
        if 0 in valid:
            # The C++ that the assembler makes of a static empty region does not compile.
            more = ", valid=?x?"
        more += ", blayout=col_major" if window.layout is Layout.COL_MAJOR else ""
        return f"!pto.tile_buf<vec, {window.rows}x{window.cols}x{element}{more}>"

    def _alloc(self, name: str, tile: Tile, window: Window, offset: Affine) -> str:
        operands = f" addr = {self._address(offset, name)}" if self.level == 3 else ""
        if 0 in (window.valid_rows, window.valid_cols):
            rows, cols = (self._constant(size, "index") for size in (window.valid_rows, window.valid_cols))
            operands += f" valid_row = {rows} valid_col = {cols}"
        own = self._fresh(name)
        self._emit(f"{own} = pto.alloc_tile{operands} : {self._type(window)}")
        return own

    def _tile(self, operand: str, window: Window) -> str:
        """The tile, or one of the window's shape at the window's address."""
        tile = self.plan.tile(window.tile)
        if window == tile.window:
            return self.tiles[tile.name]
        if self.level < 3:
            message = f"{operand} is {window.rows}x{window.cols} of {tile.name}, which takes an address to say"
            raise _refuse(message, "render level 3")
        return self._alloc(f"{operand}_part", tile, window, window.address(tile))

    def _define(self, window: Window) -> str:
        """A new value of the tile, at level 1."""
        self.tiles[window.tile] = self._fresh(window.tile)
        return self.tiles[window.tile]

    # Steps

    def _steps(self, program: Sequence[Step]) -> None:
        for step in program:
            self.visit(step)

    def loop(self, loop: Loop) -> None:
        if self.level == 1:
            raise _refuse(f"the plan repeats steps {loop.count} times; the documents have no SSA text for a loop")
        first, count, step = (self._constant(value, "index") for value in (0, loop.count, 1))
        name = self._fresh(loop.variable)
        self._emit(f"scf.for {name} = {first} to {count} step {step} {{")
        outer, self.variables = self.variables, {**self.variables, loop.variable: name}
        self.indent += "  "
        self._steps(loop.body)
        self.indent = self.indent[2:]
        self.variables = outer
        self._emit("}")

    def load(self, step: Load) -> None:
        view, kind, tile_type = self._view(step.src), self._view_type(step.src), self._type(step.dst)
        if self.level == 1:
            self._emit(f"{self._define(step.dst)} = pto.tload {view} : {kind} -> {tile_type}")
        else:
            self._emit(f"pto.tload ins({view} : {kind}) outs({self._tile(step.src.tensor, step.dst)} : {tile_type})")

    def store(self, step: Store) -> None:
        view, kind, tile_type = self._view(step.dst), self._view_type(step.dst), self._type(step.src)
        tile = self._tile(step.dst.tensor, step.src)
        if self.level == 1:
            self._emit(f"pto.tstore {tile}, {view} : ({tile_type}, {kind}) -> ()")
        else:
            self._emit(f"pto.tstore ins({tile} : {tile_type}) outs({view} : {kind})")

    def set_flag(self, step: SetFlag) -> None:
        self._emit(f"pto.set_flag[<{step.src}>, <{step.dst}>, <EVENT_ID{step.event}>]")

    def wait_flag(self, step: WaitFlag) -> None:
        self._emit(f"pto.wait_flag[<{step.src}>, <{step.dst}>, <EVENT_ID{step.event}>]")

    def barrier(self, step: Barrier) -> None:
        self._emit(f"pto.barrier <{step.pipe}>")

    def instruction(self, step: Instruction) -> None:
        windows = dict(step.args)
        said = step.op.pto_as(windows, dict(step.attributes), self.platform)
        if isinstance(said, Fault):
            raise _Unsaid(said)
        braces = f" {{{said.attributes}}}" if said.attributes else ""
        if self.level > 1:
            ins, in_types = _list([self._operand(one, windows) for one in said.ins])
            outs, out_types = _list([self._operand(one, windows) for one in said.outs])
            self._emit(f"pto.{step.op.name} ins({ins}{braces} : {in_types}) outs({outs} : {out_types})")
            return
        # The documents name no tmp at this level.
        ins, in_types = _list([self._operand(one, windows) for one in said.ins if not self._is_scratch(step, one)])
        outs, out_types = _list([self._result(one, windows) for one in said.outs])
        results = out_types if len(said.outs) == 1 else f"({out_types})"
        self._emit(f"{outs} = pto.{step.op.name} {ins}{braces} : ({in_types}) -> {results}")

    def _is_scratch(self, step: Instruction, one: str | Constant) -> bool:
        return isinstance(one, str) and step.op.role(one) is Role.TMP

    def _operand(self, one: str | Constant, windows: Mapping[str, Window]) -> tuple[str, str]:
        """The name and the type of what an instruction takes."""
        if isinstance(one, Constant):
            return self._constant(one.value, one.type, one.name), one.type
        return self._tile(one, windows[one]), self._type(windows[one])

    def _result(self, one: str | Constant, windows: Mapping[str, Window]) -> tuple[str, str]:
        """The name and the type of a new value, at level 1."""
        if isinstance(one, Constant):
            return self._fresh(one.name), one.type
        return self._define(windows[one]), self._type(windows[one])


def _list(operands: Sequence[tuple[str, str]]) -> tuple[str, str]:
    """The names and the types, each as a list."""
    return ", ".join(name for name, _ in operands), ", ".join(kind for _, kind in operands)
