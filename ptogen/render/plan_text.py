"""A plan as text for people and as data for machines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any

from ptogen.dtypes import Dtype
from ptogen.ops.base import Op
from ptogen.ops.sizing import Tensor
from ptogen.plan.model import (
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
from ptogen.tiles import Layout


def as_text(plan: KernelPlan) -> str:
    """The plan of one case on a page."""
    free = plan.ub_bytes - plan.used_bytes
    lines = [
        f"{plan.case}: {plan.name} on {plan.platform}, {plan.mode}",
        f"  UB: {plan.used_bytes:,} of {plan.ub_bytes:,} B used, {free:,} B free; "
        f"at most {plan.live_bytes:,} B live at once",
    ]
    if plan.mode == "auto":
        lines.append("  (in auto mode the compiler places tiles and sets flags; the offsets only prove that all fits)")
    lines += ["  GM"] + _columns([_tensor(tensor) for tensor in plan.tensors])
    lines += ["  tiles"] + _columns([_tile(tile) for tile in plan.tiles])
    lines += ["  program"] + [f"    {line}" for line in _Lines(plan).program(plan.program)]
    return "\n".join(lines)


def as_data(plan: KernelPlan) -> dict[str, Any]:
    """The plan as JSON-ready data: the model's fields, enums as values, dtypes as names, each step with its kind."""
    data = _plain(plan)
    data["used_bytes"] = plan.used_bytes
    for tile, own in zip(plan.tiles, data["tiles"], strict=True):
        own["bytes"] = tile.bytes
    return data


def _columns(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    aligned = (zip(row, widths, strict=True) for row in rows)
    return ["    " + "  ".join(cell.ljust(width) for cell, width in row).rstrip() for row in aligned]


def _shape(rows: int, cols: int) -> str:
    return f"{rows} x {cols}"


def _tensor(tensor: Tensor) -> tuple[str, ...]:
    valid = (tensor.valid_rows, tensor.valid_cols)
    return (
        tensor.name,
        tensor.role.value,
        tensor.dtype.name,
        _shape(tensor.rows, tensor.cols) + ("" if tensor.layout is Layout.ROW_MAJOR else f" {tensor.layout}"),
        f"valid {_shape(*valid)}",
        f"{tensor.bytes:,} B" + (f", records of {tensor.record.name} and index" if tensor.record else ""),
    )


def _tile(tile: Tile) -> tuple[str, ...]:
    return (
        tile.name,
        "" if tile.operand == tile.name else f"as {tile.operand}",
        tile.dtype.name,
        _shape(tile.rows, tile.cols) + ("" if tile.layout is Layout.ROW_MAJOR else f" {tile.layout}"),
        f"valid {_shape(tile.valid_rows, tile.valid_cols)}",
        f"[{tile.offset:#07x}, {tile.end:#07x})",
        f"{tile.bytes:,} B",
        f"align {tile.align}",
    )


class _Lines(Visitor[list[str]]):
    """A step in a line; a loop in several."""

    def __init__(self, plan: KernelPlan) -> None:
        self.plan = plan

    def program(self, program: Sequence[Step]) -> list[str]:
        return [line for step in program for line in self.visit(step)]

    def loop(self, step: Loop) -> list[str]:
        body = [f"    {line}" for line in self.program(step.body)]
        return [f"for {step.variable} in 0..{step.count - 1}:", *body]

    def load(self, step: Load) -> list[str]:
        return [f"load     {_window(self.plan, step.dst)} <- {_gm_window(self.plan, step.src)}"]

    def store(self, step: Store) -> list[str]:
        return [f"store    {_gm_window(self.plan, step.dst)} <- {_window(self.plan, step.src)}"]

    def instruction(self, step: Instruction) -> list[str]:
        args = [("" if name == window.tile else f"{name}=") + _window(self.plan, window) for name, window in step.args]
        args += [f"{name}={step.op.attribute(name).text(value)}" for name, value in step.attributes]
        return [f"{step.op.name:<8} {', '.join(args)}"]

    def barrier(self, step: Barrier) -> list[str]:
        return [f"barrier  {step.pipe.value}"]

    def set_flag(self, step: SetFlag) -> list[str]:
        return [f"set      {step.src.value} -> {step.dst.value}, event {step.event}"]

    def wait_flag(self, step: WaitFlag) -> list[str]:
        return [f"wait     {step.src.value} -> {step.dst.value}, event {step.event}"]


def _window(plan: KernelPlan, window: Window) -> str:
    tile = plan.tile(window.tile)
    whole = (window.rows, window.cols, str(window.row), str(window.col)) == (tile.rows, tile.cols, "0", "0")
    text = tile.name
    if not whole:
        text += f"[{window.row}, {window.col}: {_shape(window.rows, window.cols)}]"
    if (window.valid_rows, window.valid_cols) != (tile.valid_rows, tile.valid_cols):
        text += f"(valid {_shape(window.valid_rows, window.valid_cols)})"
    return text


def _gm_window(plan: KernelPlan, window: GmWindow) -> str:
    tensor = plan.tensor(window.tensor)
    whole = (window.rows, window.cols, str(window.row), str(window.col)) == (tensor.rows, tensor.cols, "0", "0")
    return tensor.name if whole else f"{tensor.name}[{window.row}, {window.col}: {_shape(window.rows, window.cols)}]"


_STEPS = (Load, Store, Instruction, SetFlag, WaitFlag, Barrier, Loop)


def _plain(value: Any) -> Any:
    if isinstance(value, (Dtype, Op)):
        return value.name
    if isinstance(value, Enum):
        return value.value
    if is_dataclass(value):
        data = {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
        return {"step": type(value).__name__, **data} if isinstance(value, _STEPS) else data
    if isinstance(value, (tuple, list)):
        return [_plain(item) for item in value]
    return value
