"""From an op's sizing to tiles and the program that serves them, still without addresses and flags.

Loads and stores stand where they are needed: a load ahead of the first step that uses its tile, a store behind the last
one. Pipes run their own queues, so what is needed later holds up nothing that comes before it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import groupby
from typing import Any

from ptogen.graph.model import Graph
from ptogen.ops.base import Op
from ptogen.ops.sizing import Operand, Part, Sizing
from ptogen.plan.model import ZERO, Affine, GmWindow, Instruction, Load, Loop, Program, Step, Store, Tile, Window, walk
from ptogen.platforms import UB_BLOCK_BYTES

Move = Load | Store


def tile(graph: Graph, sizing: Sizing, mode: str) -> tuple[tuple[Tile, ...], Program]:
    """Tiles (all at offset 0) and the program of one case.

    In manual mode an operand is one tile, and several instructions use windows of it, row by row: a window is a tile of
    its own for the header, so it has to be contiguous. In auto mode addresses are the compiler's, so each part has
    tiles of its own instead; it has them in manual mode too where the op wants its parts apart.
    """
    (op,) = graph.ops
    if len(sizing.parts) == 1 and not sizing.row_by_row:
        return _whole(op, sizing)
    return _windows(op, sizing) if mode == "manual" and not sizing.apart else _pieces(op, sizing)


def _tile(operand: Operand, name: str, cols: int, valid_cols: int) -> Tile:
    return Tile(
        operand.dtype,
        operand.rows,
        cols,
        operand.valid_rows,
        valid_cols,
        name,
        operand.name,
        operand.align,
        layout=operand.layout,
    )


def _moves(operand: Operand, window: Window, col: Affine = ZERO) -> list[Move]:
    """The loads and stores between a window and its tensor, whose columns start at ``col``; none where it is empty."""
    if operand.tensor is None or window.empty:
        return []
    gm = GmWindow(operand.tensor, window.valid_rows, window.valid_cols, window.row, col)
    moves: list[Move] = [Load(window, gm)] if operand.role.reads else []
    return [*moves, Store(gm, window)] if operand.role.writes else moves


def _instruction(op: Op, part: Part, window: Callable[[str], Window]) -> Instruction:
    return Instruction(op, tuple((name, window(name)) for name in part.args), part.pipe, part.attributes, part.events)


def _uses(step: Step, move: Move) -> bool:
    return any(window.tile == move.window.tile for inner in walk((step,)) for _, window in inner.args)


def with_moves(body: Iterable[Step], moves: Iterable[Move]) -> Program:
    """The steps with each load ahead of the first that uses its tile and each store behind the last."""
    steps, moves = tuple(body), tuple(moves)
    ahead: list[list[Move]] = [[] for _ in steps]
    behind: list[list[Move]] = [[] for _ in steps]
    for move in moves:
        users = [place for place, step in enumerate(steps) if _uses(step, move)]
        if isinstance(move, Load):
            ahead[users[0]].append(move)
        else:
            behind[users[-1]].append(move)
    program = zip(ahead, steps, behind, strict=True)
    return tuple(one for loads, step, stores in program for one in (*loads, step, *stores))


def _one_each(sizing: Sizing) -> dict[str, Tile]:
    """A tile an operand, those in place in the tile of another."""
    tiles = {one.name: _tile(one, one.name, one.cols, one.valid_cols) for one in sizing.hosts}
    return {**tiles, **{guest: tiles[host] for guest, host in sizing.inplace}}


def _distinct(tiles: Mapping[Any, Tile]) -> tuple[Tile, ...]:
    return tuple(dict.fromkeys(tiles.values()))


def _whole(op: Op, sizing: Sizing) -> tuple[tuple[Tile, ...], Program]:
    tiles = _one_each(sizing)
    instruction = _instruction(op, sizing.parts[0], lambda name: tiles[name].window)
    moves = [move for one in sizing.operands for move in _moves(one, tiles[one.name].window)]
    return _distinct(tiles), with_moves([instruction], moves)


def _windows(op: Op, sizing: Sizing) -> tuple[tuple[Tile, ...], Program]:
    """Several parts are loaded and stored part by part, so that one is moved while another is computed; a single one,
    which is cut into rows alone, as a whole."""
    tiles = _one_each(sizing)
    operands = {one.name: one for one in sizing.operands}
    rows = max(one.rows for one in sizing.operands)
    row = Affine(0, (("row", 1),)) if rows > 1 else Affine(0)
    # What all rows share is loaded once.
    by_part = [one for one in sizing.operands if one.scale and len(sizing.parts) > 1 and one.rows == rows]

    def window(name: str, part: Part, start: Affine) -> Window:
        operand = operands[name]
        if not operand.scale:
            return tiles[name].window
        last = part.stop * operand.scale >= operand.valid_cols
        cols = (operand.cols - part.start * operand.scale) if last else part.cols * operand.scale
        return Window(
            operand.dtype,
            1,
            cols,
            1,
            part.cols * operand.scale,
            tiles[name].name,
            row if operand.rows > 1 else Affine(0),
            start.times(operand.scale),
            layout=operand.layout,
        )

    program: list[Step] = []
    for _, run in groupby(sizing.parts, key=lambda part: (part.cols, part.args, part.attributes)):
        first, *more = run
        start = Affine(first.start, (("block", first.cols),) if more else ())

        def own(name: str, part: Part = first, start: Affine = start) -> Window:
            return window(name, part, start)

        step = _instruction(op, first, own)
        steps = with_moves([step], [move for one in by_part for move in _moves(one, own(one.name), own(one.name).col)])
        program += [Loop("block", 1 + len(more), steps)] if more else steps
    if rows > 1:
        program = [Loop("row", rows, tuple(program))]
    whole = [move for one in sizing.operands if one not in by_part for move in _moves(one, tiles[one.name].window)]
    return _distinct(tiles), with_moves(program, whole)


def _pieces(op: Op, sizing: Sizing) -> tuple[tuple[Tile, ...], Program]:
    tiles: dict[tuple[str, int], Tile] = {}
    moves: list[Move] = []
    hosts = dict(sizing.inplace)
    # Hosts go first: what stands in a tile of theirs has none of its own.
    for operand in sorted(sizing.operands, key=lambda one: one.name in hosts):
        if not operand.scale:
            piece = _tile(operand, operand.name, operand.cols, operand.valid_cols)
            tiles.update({(operand.name, number): piece for number in range(len(sizing.parts))})
            moves += _moves(operand, piece.window)
            continue
        for number, part in enumerate(sizing.parts):
            start, stop = part.start * operand.scale, part.stop * operand.scale
            valid_cols = max(0, min(stop, operand.valid_cols) - start)
            cols = operand.cols - start if stop >= operand.valid_cols else stop - start
            # An operand that ends before this part still is an argument: the smallest tile, empty.
            cols = max(cols, UB_BLOCK_BYTES // operand.dtype.bytes)
            separator = "_" if operand.name[-1].isdigit() else ""
            piece = _tile(operand, f"{operand.name}{separator}{number}", cols, valid_cols)
            if operand.name in hosts:
                piece = tiles[hosts[operand.name], number]
            tiles[operand.name, number] = piece
            moves += _moves(operand, piece.window, Affine(start))
    body = []
    for number, part in enumerate(sizing.parts):

        def own(name: str, number: int = number) -> Window:
            return tiles[name, number].window

        body.append(_instruction(op, part, own))
    return _distinct(tiles), with_moves(body, moves)
