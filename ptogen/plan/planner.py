"""Planning one case: tiles, addresses, program, flags."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from ptogen.errors import Diagnostic, PtogenError
from ptogen.ops.base import Op, Role, Tensor
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
    sizing, tensors = op.sizing(case, platform), op.tensors(case)
    pins = case.ub or {}
    tiles, program = tile(op.name, sizing, mode)
    lives = layout.lifetimes(program)
    tiles = layout.place(tiles, lives, ub_bytes, pins)
    if not pins and max(tile.end for tile in tiles) > ub_bytes:
        raise PtogenError(_overflow(op, case, platform, mode, ub_bytes, tiles))
    if mode == "manual":
        roles = {operand.name: operand.role for operand in sizing.operands}
        program = synchronise(program, lambda step: footprint(step, tiles, roles, tensors), platform.event_ids)
    live = layout.live_bytes(tiles, lives)
    return KernelPlan(case.name or "", op.name, platform.name, mode, ub_bytes, tensors, tiles, program, live)


def footprint(step: Step, tiles: Iterable[Tile], roles: Mapping[str, Role], tensors: Iterable[Tensor]) -> Footprint:
    """What a step touches by the roles of its operands: inputs are read, outputs written, scratch both, each window as a whole."""
    by_name = {tile.name: tile for tile in tiles}

    def ub(window: Window, writes: bool) -> Span:
        tile = by_name[window.tile]
        start = (window.row.times(tile.cols) + window.col).times(tile.dtype.bytes)
        return Span("UB", Affine(tile.offset) + start, ((window.rows - 1) * tile.cols + window.cols) * tile.dtype.bytes, writes)

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
    return Footprint(step.pipe, tuple(ub(window, roles[name] is not Role.IN) for name, window in step.args))


def _needed_bytes(op: Op, case: Any, platform: Platform, mode: str) -> int:
    tiles, program = tile(op.name, op.sizing(case, platform), mode)
    return max(tile.end for tile in layout.place(tiles, layout.lifetimes(program), 0, {}))


def _overflow(op: Op, case: Any, platform: Platform, mode: str, ub_bytes: int, tiles: tuple[Tile, ...]) -> Diagnostic:
    """PTG301 with the bytes of each tile and the shapes that do fit, each of them planned."""
    needed = max(tile.end for tile in tiles)
    width = max(len(tile.name) for tile in tiles)
    table = [
        f"{tile.name:<{width}}  {tile.dtype.name:<8}  {f'{tile.rows}x{tile.cols}':>12}  {tile.bytes:>11,} B" for tile in tiles
    ]
    (row_field, rows), (col_field, cols) = op.shapes(case)
    # A file of values has one shape only.
    case = case.model_copy(update={"data": "random"})

    def fits(rows: int, cols: int) -> bool:
        other = op.resized(case, rows, cols)
        return not op.rules(other, platform, mode, Path()) and _needed_bytes(op, other, platform, mode) <= ub_bytes

    def largest(limit: int, check: Any) -> int:
        """The largest value from ``limit`` down that fits, 0 for none: tmp shrinks where a row grows long, so size is not monotone."""
        return next((value for value in range(limit, 0, -1) if check(value)), 0)

    def limit(value: int, needed: int) -> int:
        """No larger value can fit: size grows at least half as fast as the value, in steps of a block."""
        return min(value - 1, 33 + 2 * value * ub_bytes // needed)

    best_rows = largest(limit(rows, needed), lambda value: fits(value, cols))
    best_cols = largest(limit(cols, needed), lambda value: fits(rows, value))
    hints = []
    if best_rows:
        hints.append(f"at {col_field} {cols} the largest {row_field} is {best_rows}")
    if best_cols:
        hints.append(f"at {row_field} {rows} the largest {col_field} is {best_cols}")
    shapes = [(best_rows, cols), (rows, best_cols)]
    if not hints:
        one_row = _needed_bytes(op, op.resized(case, 1, cols), platform, mode)
        shapes = [(1, largest(limit(cols, one_row), lambda value: fits(1, value)))]
    nearest = max(shapes, key=lambda shape: shape[0] * shape[1])
    if all(nearest):
        hints.append(f"the nearest smaller shape is {nearest[0]}x{nearest[1]}")
    for shape in {*shapes, nearest}:
        if all(shape):
            plan_case(op, op.resized(case, *shape), platform, mode, ub_bytes)
    message = f"UB overflow: {needed:,} B needed, {ub_bytes:,} B on {platform}"
    return Diagnostic("PTG301", message, details=tuple(table), hint="; ".join(hints) or None)
