"""Planning one case: tiles, addresses, program, flags."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from ptogen.graph.model import Graph
from ptogen.ops.sizing import Role, Sizing, Tensor
from ptogen.plan import layout
from ptogen.plan.model import (
    GmWindow,
    Instruction,
    KernelPlan,
    Load,
    Store,
    Tile,
    Visitor,
    Window,
)
from ptogen.plan.sync import Footprint, Span, synchronise
from ptogen.plan.tiling import tile
from ptogen.platforms import Pipe, Platform

HOPELESS = 16
"""Sizes of UB above which a case is refused by its tensors, before its tiles are worked out."""


class Overflow(Exception):
    """A case whose tiles do not fit.

    Attributes:
        tiles: with the addresses that they would need; None where the tensors are so large that no tile was made.
    """

    def __init__(self, tiles: tuple[Tile, ...] | None) -> None:
        super().__init__("the tiles do not fit UB")
        self.tiles = tiles


def moved_bytes(graph: Graph, case: Any) -> int:
    """Bytes of what is loaded and stored."""
    return sum(tensor.valid_rows * tensor.valid_cols * tensor.dtype.bytes for tensor in graph.tensors(case))


def used_bytes(tiles: Iterable[Tile], pins: Mapping[str, int]) -> int:
    """Where the last tile ends that was not pinned; what is pinned stands where it was told to."""
    return max((tile.end for tile in tiles if tile.name not in pins), default=0)


def plan_case(graph: Graph, case: Any, platform: Platform, mode: str, ub_bytes: int) -> KernelPlan:
    """The plan of a case that breaks no rule of its op.

    Args:
        graph: what it computes.
        case: its fields, with a name.
        platform: row of the platform table.
        mode: ``manual`` or ``auto``.
        ub_bytes: capacity of UB.

    Raises:
        Overflow: the tiles do not fit; :mod:`ptogen.plan.fit` says what does.
        PtogenError: PTG302, where event ids run out.
    """
    if moved_bytes(graph, case) > HOPELESS * ub_bytes:
        raise Overflow(None)
    tiles, program = tile(graph, graph.sizing(case, platform), mode)
    pins = case.ub or {}
    plan = completed(
        KernelPlan(case.name or "", graph.name, platform.name, mode, ub_bytes, graph.tensors(case), tiles, program, 0),
        platform.event_ids,
        pins,
    )
    if used_bytes(plan.tiles, pins) > ub_bytes:
        raise Overflow(plan.tiles)
    return plan


def completed(draft: KernelPlan, event_ids: int, pins: Mapping[str, int] | None = None) -> KernelPlan:
    """A plan whose tiles have no addresses yet, and whose program has no flags, with both.

    What does not fit is placed past the end of UB, and gets no flags.

    Args:
        draft: everything else.
        event_ids: how many event ids a pair of pipes has.
        pins: byte addresses of tiles that stand where they are told to.

    Raises:
        PtogenError: PTG302, where event ids run out.
    """
    lives = layout.lifetimes(draft.program)
    # Who shares bytes in auto mode is the compiler's to say, so a case fits there only with room for every tile.
    tiles = layout.place(draft.tiles, lives, draft.ub_bytes, pins or {}, share=draft.mode == "manual")
    program = draft.program
    if draft.mode == "manual" and used_bytes(tiles, pins or {}) <= draft.ub_bytes:
        program = synchronise(program, Footprints(tiles, draft.tensors).visit, event_ids)
    return replace(draft, tiles=tiles, program=program, live_bytes=layout.live_bytes(tiles, lives))


def fits(graph: Graph, sizing: Sizing, mode: str, ub_bytes: int, pins: Mapping[str, int] | None = None) -> bool:
    """Whether :func:`plan_case` finds room for a case that is sized like this; most answers need no placement."""
    one_tile = len(sizing.parts) == 1 or (mode == "manual" and not sizing.apart)
    if one_tile and not pins:
        # One tile an operand: all of them fit one behind the other, or those that the instruction needs at once do not.
        sizes = {operand.name: operand.bytes for operand in sizing.hosts}
        if sum(sizes.values()) + sum(operand.align for operand in sizing.hosts) <= ub_bytes:
            return True
        if sum(sizes.get(name, 0) for name in sizing.parts[0].args) > ub_bytes:
            return False
    tiles, program = tile(graph, sizing, mode)
    placed = layout.place(tiles, layout.lifetimes(program), ub_bytes, pins or {}, share=mode == "manual")
    return used_bytes(placed, pins or {}) <= ub_bytes


class Footprints(Visitor[Footprint]):
    """What a step touches by the roles of its operands: inputs are read, outputs written, scratch both, each window as
    a whole."""

    def __init__(self, tiles: Iterable[Tile], tensors: Iterable[Tensor]) -> None:
        self.tiles = {tile.name: tile for tile in tiles}
        self.tensors = {tensor.name: tensor for tensor in tensors}

    def _ub(self, window: Window, writes: bool) -> Span:
        return Span("UB", window.address(self.tiles[window.tile]), window.bytes, writes)

    def _gm(self, window: GmWindow, writes: bool) -> Span:
        tensor = self.tensors[window.tensor]
        region = tensor.region(window.rows, window.cols)
        columns = None
        if not window.col.terms:
            columns = (window.col.const, window.col.const + window.cols)
        return Span(tensor.name, window.offset(tensor).times(tensor.dtype.bytes), region.end, writes, columns)

    def load(self, step: Load) -> Footprint:
        return Footprint(Pipe.MTE2, (self._gm(step.gm, False), self._ub(step.window, True)))

    def store(self, step: Store) -> Footprint:
        return Footprint(Pipe.MTE3, (self._ub(step.window, False), self._gm(step.gm, True)))

    def instruction(self, step: Instruction) -> Footprint:
        spans = tuple(self._ub(window, step.op.role(name) is not Role.IN) for name, window in step.args)
        return Footprint(step.pipe, spans, step.events)
