"""Planning one case: tiles, addresses, program, flags."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from ptogen.errors import Diagnostic, PtogenError
from ptogen.ops.base import Op, Role, Sizing, Tensor
from ptogen.plan import layout
from ptogen.plan.model import Affine, GmWindow, Instruction, KernelPlan, Load, Step, Store, Tile, Window
from ptogen.plan.sync import Footprint, Span, synchronise
from ptogen.plan.tiling import tile
from ptogen.platforms import Pipe, Platform


def plan_case(op: Op, case: Any, platform: Platform, mode: str, ub_bytes: int) -> KernelPlan:
    """The plan of a case that breaks no rule of its op.

    Args:
        op: entry of the catalogue.
        case: its fields, with a name.
        platform: row of the platform table.
        mode: ``manual`` or ``auto``.
        ub_bytes: capacity of UB.

    Raises:
        PtogenError: PTG301, where the tiles do not fit; PTG302, where event ids run out.
    """
    if _valid_bytes(op, case) > HOPELESS * ub_bytes:
        raise PtogenError(_overflow(op, case, platform, mode, ub_bytes, None))
    sizing, tensors = op.sizing(case, platform), op.tensors(case)
    pins = case.ub or {}
    tiles, program = tile(op.name, sizing, mode)
    lives = layout.lifetimes(program)
    # Who shares bytes in auto mode is the compiler's to say, so a case fits there only with room for every tile.
    tiles = layout.place(tiles, lives, ub_bytes, pins, share=mode == "manual")
    if any(tile.end > ub_bytes for tile in tiles if tile.name not in pins):
        raise PtogenError(_overflow(op, case, platform, mode, ub_bytes, tiles))
    if mode == "manual":
        roles = {operand.name: operand.role for operand in sizing.operands}
        program = synchronise(program, lambda step: footprint(step, tiles, roles, tensors), platform.event_ids)
    live = layout.live_bytes(tiles, lives)
    return KernelPlan(case.name or "", op.name, platform.name, mode, ub_bytes, tensors, tiles, program, live)


def fits(sizing: Sizing, mode: str, ub_bytes: int, pins: Mapping[str, int] | None = None) -> bool:
    """Whether :func:`plan_case` finds room for a case that is sized like this; most answers need no placement."""
    one_tile = len(sizing.parts) == 1 or (mode == "manual" and not sizing.apart)
    if one_tile and not pins:
        # One tile an operand: all of them fit one behind the other, or those that the instruction needs at once do not.
        sizes = {operand.name: operand.bytes for operand in sizing.operands}
        if sum(sizes.values()) + sum(operand.align for operand in sizing.operands) <= ub_bytes:
            return True
        if sum(sizes[name] for name in sizing.parts[0].args) > ub_bytes:
            return False
    tiles, program = tile("", sizing, mode)
    placed = layout.place(tiles, layout.lifetimes(program), ub_bytes, pins or {}, share=mode == "manual")
    return all(tile.end <= ub_bytes for tile in placed if tile.name not in (pins or {}))


def footprint(step: Step, tiles: Iterable[Tile], roles: Mapping[str, Role], tensors: Iterable[Tensor]) -> Footprint:
    """What a step touches by the roles of its operands: inputs are read, outputs written, scratch both, each window as
    a whole."""
    by_name = {tile.name: tile for tile in tiles}

    def ub(window: Window, writes: bool) -> Span:
        tile = by_name[window.tile]
        start = (window.row.times(tile.cols) + window.col).times(tile.dtype.bytes)
        return Span(
            "UB", Affine(tile.offset) + start, ((window.rows - 1) * tile.cols + window.cols) * tile.dtype.bytes, writes
        )

    def gm(window: GmWindow, writes: bool) -> Span:
        tensor = next(tensor for tensor in tensors if tensor.name == window.tensor)
        start = (window.row.times(tensor.cols) + window.col).times(tensor.dtype.bytes)
        length = ((window.rows - 1) * tensor.cols + window.cols) * tensor.dtype.bytes
        columns = None if window.col.terms else (window.col.const, window.col.const + window.cols)
        return Span(tensor.name, start, length, writes, columns)

    if isinstance(step, Load):
        return Footprint(Pipe.MTE2, (gm(step.src, False), ub(step.dst, True)))
    if isinstance(step, Store):
        return Footprint(Pipe.MTE3, (ub(step.src, False), gm(step.dst, True)))
    assert isinstance(step, Instruction)
    spans = tuple(ub(window, roles[name] is not Role.IN) for name, window in step.args)
    return Footprint(step.pipe, spans, step.events)


def _used_bytes(tiles: Iterable[Tile]) -> int:
    return max(tile.end for tile in tiles)


def _placed(op: Op, case: Any, platform: Platform, mode: str, ub_bytes: int) -> tuple[Tile, ...]:
    tiles, program = tile(op.name, op.sizing(case, platform), mode)
    return layout.place(tiles, layout.lifetimes(program), ub_bytes, {}, share=mode == "manual")


def _valid_bytes(op: Op, case: Any) -> int:
    """Bytes of what is loaded and stored: all of it stands in UB at once, so no plan needs less."""
    return sum(tensor.valid_rows * tensor.valid_cols * tensor.dtype.bytes for tensor in op.tensors(case))


HOPELESS = 16
"""Sizes of UB above which a case is refused by its tensors, before its tiles are worked out."""


def _overflow(
    op: Op, case: Any, platform: Platform, mode: str, ub_bytes: int, tiles: tuple[Tile, ...] | None
) -> Diagnostic:
    """PTG301 with the bytes of each tile and the shapes that do fit, each of them planned.

    ``tiles`` is None where the case is so large that only its tensors are named.
    """
    if tiles is None:
        needed, least = _valid_bytes(op, case), "at least "
        rows_of = [(tensor.name, tensor.dtype, tensor.valid_rows, tensor.valid_cols) for tensor in op.tensors(case)]
    else:
        needed, least = _used_bytes(tiles), ""
        rows_of = [(tile.name, tile.dtype, tile.rows, tile.cols) for tile in tiles]
    width = max(len(name) for name, *_ in rows_of)
    table = [
        f"{name:<{width}}  {dtype.name:<8}  {f'{rows}x{cols}':>12}  {rows * cols * dtype.bytes:>11,} B"
        for name, dtype, rows, cols in rows_of
    ]
    hint = _what_fits(op, case, platform, mode, ub_bytes)
    if case.ub:
        pinned = ", ".join(case.ub)
        hint = f"around {pinned} pinned there is no room for the rest" + (f"; {hint}" if hint else "; move the pins")
    message = f"UB overflow: {least}{needed:,} B needed, {ub_bytes:,} B on {platform}"
    return Diagnostic("PTG301", message, details=tuple(table), hint=hint or None)


def _what_fits(op: Op, case: Any, platform: Platform, mode: str, ub_bytes: int) -> str:
    """The largest rows at these columns, the largest columns at these rows, and the nearest smaller shape."""
    (row_field, rows), (col_field, cols) = op.shapes(case)
    # A file of values has one shape only, and pins are the user's for this shape.
    case = case.model_copy(update={"data": "random", "ub": None})

    def fits(rows: int, cols: int) -> bool:
        other = op.resized(case, rows, cols)
        if op.rules(other, platform, mode, Path()):
            return False
        return _used_bytes(_placed(op, other, platform, mode, ub_bytes)) <= ub_bytes

    def bare(rows: int, cols: int) -> int:
        """Bytes of the operands without scratch, which grow with both numbers; tmp shrinks where a row grows long."""
        other = op.resized(case, rows, cols)
        data = _valid_bytes(op, other)
        if data > ub_bytes:
            return data
        return sum(operand.bytes for operand in op.sizing(other, platform).operands if operand.role is not Role.TMP)

    def largest(below: int, shape: Callable[[int], tuple[int, int]]) -> int:
        """The largest value under ``below`` whose shape fits, 0 for none: from the last one that fits without scratch
        down."""
        start = bisect_right(range(1, below), ub_bytes, key=lambda value: bare(*shape(value)))
        return next((value for value in range(start, 0, -1) if fits(*shape(value))), 0)

    best_rows = largest(rows, lambda value: (value, cols))
    best_cols = largest(cols, lambda value: (rows, value))
    hints = []
    if best_rows:
        hints.append(f"at {col_field} {cols} the largest {row_field} is {best_rows}")
    if best_cols:
        hints.append(f"at {row_field} {rows} the largest {col_field} is {best_cols}")
    shapes = [(best_rows, cols), (rows, best_cols)]
    if not hints:
        shapes = [(1, largest(cols, lambda value: (1, value)))]
    nearest = max(shapes, key=lambda shape: shape[0] * shape[1])
    if all(nearest):
        hints.append(f"the nearest smaller shape is {nearest[0]}x{nearest[1]}")
    for shape in {*shapes, nearest}:
        if all(shape):
            plan_case(op, op.resized(case, *shape), platform, mode, ub_bytes)
    return "; ".join(hints)
