"""Why a case does not fit UB, and which shapes like it do."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ptogen.errors import Diagnostic, PtogenError
from ptogen.graph.model import Graph
from ptogen.ops.sizing import Role, Sizing
from ptogen.plan import planner
from ptogen.plan.model import KernelPlan, Tile
from ptogen.plan.planner import moved_bytes, used_bytes
from ptogen.platforms import Platform


def planned(graph: Graph, case: Any, platform: Platform, mode: str, ub_bytes: int) -> KernelPlan:
    """The plan of a case: see :func:`ptogen.plan.planner.plan_case`.

    Raises:
        PtogenError: PTG301, where the tiles do not fit, with what does; PTG302, where event ids run out.
    """
    try:
        return planner.plan_case(graph, case, platform, mode, ub_bytes)
    except planner.Overflow as error:
        raise PtogenError(_overflow(graph, case, platform, mode, ub_bytes, error.tiles)) from None


def _overflow(
    graph: Graph, case: Any, platform: Platform, mode: str, ub_bytes: int, tiles: tuple[Tile, ...] | None
) -> Diagnostic:
    """PTG301 with the bytes of each tile and the shapes that do fit, each of them planned.

    ``tiles`` is None where the case is so large that only its tensors are named.
    """
    if tiles is None:
        needed, least = moved_bytes(graph, case), "at least "
        rows_of = [(tensor.name, tensor.dtype, tensor.valid_rows, tensor.valid_cols) for tensor in graph.tensors(case)]
    else:
        needed, least = used_bytes(tiles, {}), ""
        rows_of = [(tile.name, tile.dtype, tile.rows, tile.cols) for tile in tiles]
    width = max(len(name) for name, *_ in rows_of)
    table = [
        f"{name:<{width}}  {dtype.name:<8}  {f'{rows}x{cols}':>12}  {rows * cols * dtype.bytes:>11,} B"
        for name, dtype, rows, cols in rows_of
    ]
    hint = _what_fits(graph, case, platform, mode, ub_bytes)
    if case.ub:
        pinned = ", ".join(case.ub)
        hint = f"around {pinned} pinned there is no room for the rest" + (f"; {hint}" if hint else "; move the pins")
    message = f"UB overflow: {least}{needed:,} B needed, {ub_bytes:,} B on {platform}"
    return Diagnostic("PTG301", message, details=tuple(table), hint=hint or None)


def _what_fits(graph: Graph, case: Any, platform: Platform, mode: str, ub_bytes: int) -> str:
    """The largest rows at these columns, the largest columns at these rows, and the nearest smaller shape."""
    (row_field, rows), (col_field, cols) = graph.shapes(case)
    # A file of values has one shape only, and pins are the user's for this shape.
    case = case.model_copy(update={"data": "random", "ub": None})

    def fits(rows: int, cols: int) -> bool:
        other = graph.resized(case, rows, cols)
        if graph.rules(other, platform, mode, Path()):
            return False
        return planner.fits(graph, graph.sizing(other, platform), mode, ub_bytes)

    def bare(rows: int, cols: int) -> int:
        """Bytes that stand in UB at once, scratch aside, which grow with both numbers; tmp shrinks where a row grows
        long."""
        other = graph.resized(case, rows, cols)
        if moved_bytes(graph, other) > planner.HOPELESS * ub_bytes:
            return moved_bytes(graph, other)
        return least_bytes(graph.sizing(other, platform))

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
            planner.plan_case(graph, graph.resized(case, *shape), platform, mode, ub_bytes)
    return "; ".join(hints)


def least_bytes(sizing: Sizing) -> int:
    """Bytes of the operands of one instruction, scratch aside; those of parts that stand apart are a part's."""
    widest = max(part.cols for part in sizing.parts) if sizing.apart else None

    def cols(cols: int, scale: int) -> int:
        return cols if widest is None or not scale else min(cols, widest * scale)

    return sum(
        one.rows * cols(one.cols, one.scale) * one.dtype.bytes
        for one in sizing.hosts
        if one.role is not Role.TMP and one.name in sizing.parts[0].args
    )
