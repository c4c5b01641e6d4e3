"""From an op's sizing to tiles and the program that serves them, still without addresses and flags."""

from __future__ import annotations

from collections.abc import Callable
from itertools import groupby

from ptogen.ops.base import Operand, Part, Role, Sizing
from ptogen.plan.model import Affine, GmWindow, Instruction, Load, Loop, Program, Step, Store, Tile, Window
from ptogen.platforms import UB_BLOCK_BYTES


def tile(op: str, sizing: Sizing, mode: str) -> tuple[tuple[Tile, ...], Program]:
    """Tiles (all at offset 0) and the program of one case.

    In manual mode an operand is one tile, and several instructions use windows of it, row by row: a window is a tile of
    its own for the header, so it has to be contiguous. In auto mode addresses are the compiler's, so each part has
    tiles of its own instead; it has them in manual mode too where the op wants its parts apart.
    """
    if len(sizing.parts) == 1 and not sizing.row_by_row:
        return _whole(op, sizing)
    return _windows(op, sizing) if mode == "manual" and not sizing.apart else _pieces(op, sizing)


def _tile(operand: Operand, name: str, cols: int, valid_cols: int) -> Tile:
    return Tile(name, operand.name, operand.dtype, operand.rows, cols, operand.valid_rows, valid_cols, operand.align, 0)


def _window(tile: Tile) -> Window:
    return Window(tile.name, tile.rows, tile.cols, tile.valid_rows, tile.valid_cols)


def _moves(operand: Operand, tile: Tile, col: int = 0) -> tuple[Role, Step] | None:
    """The load or store between a tile and the columns of its tensor from ``col`` on; none where the tile is empty."""
    if operand.tensor is None or not (tile.valid_rows and tile.valid_cols):
        return None
    gm = GmWindow(operand.tensor, tile.valid_rows, tile.valid_cols, col=Affine(col))
    if operand.role is Role.IN:
        return Role.IN, Load(_window(tile), gm)
    return Role.OUT, Store(gm, _window(tile))


def _instruction(op: str, part: Part, window: Callable[[str], Window]) -> Instruction:
    return Instruction(op, tuple((name, window(name)) for name in part.args), part.pipe, part.attributes, part.events)


def _program(moves: list[tuple[Role, Step] | None], body: Program) -> Program:
    loads = tuple(move[1] for move in moves if move and move[0] is Role.IN)
    stores = tuple(move[1] for move in moves if move and move[0] is Role.OUT)
    return loads + body + stores


def _whole(op: str, sizing: Sizing) -> tuple[tuple[Tile, ...], Program]:
    tiles = {
        operand.name: _tile(operand, operand.name, operand.cols, operand.valid_cols) for operand in sizing.operands
    }
    instruction = _instruction(op, sizing.parts[0], lambda name: _window(tiles[name]))
    moves = [_moves(operand, tiles[operand.name]) for operand in sizing.operands]
    return tuple(tiles.values()), _program(moves, (instruction,))


def _windows(op: str, sizing: Sizing) -> tuple[tuple[Tile, ...], Program]:
    tiles = {
        operand.name: _tile(operand, operand.name, operand.cols, operand.valid_cols) for operand in sizing.operands
    }
    operands = {operand.name: operand for operand in sizing.operands}
    rows = max(operand.rows for operand in sizing.operands)
    row = Affine(0, (("row", 1),)) if rows > 1 else Affine(0)

    def window(name: str, part: Part, start: Affine) -> Window:
        operand = operands[name]
        if not operand.scale:
            return _window(tiles[name])
        last = part.stop * operand.scale >= operand.valid_cols
        cols = (operand.cols - part.start * operand.scale) if last else part.cols * operand.scale
        own_row = row if operand.rows > 1 else Affine(0)
        return Window(name, 1, cols, 1, part.cols * operand.scale, own_row, start.times(operand.scale))

    body: list[Step] = []
    for _, run in groupby(sizing.parts, key=lambda part: (part.cols, part.args, part.attributes)):
        first, *more = run
        start = Affine(first.start, (("block", first.cols),) if more else ())
        step = _instruction(op, first, lambda name, part=first, start=start: window(name, part, start))  # type: ignore[misc]
        body.append(Loop("block", 1 + len(more), (step,)) if more else step)
    program: Program = (Loop("row", rows, tuple(body)),) if rows > 1 else tuple(body)
    moves = [_moves(operand, tiles[operand.name]) for operand in sizing.operands]
    return tuple(tiles.values()), _program(moves, program)


def _pieces(op: str, sizing: Sizing) -> tuple[tuple[Tile, ...], Program]:
    tiles: dict[tuple[str, int], Tile] = {}
    moves: list[tuple[Role, Step] | None] = []
    for operand in sizing.operands:
        if not operand.scale:
            piece = _tile(operand, operand.name, operand.cols, operand.valid_cols)
            tiles.update({(operand.name, number): piece for number in range(len(sizing.parts))})
            moves.append(_moves(operand, piece))
            continue
        for number, part in enumerate(sizing.parts):
            start, stop = part.start * operand.scale, part.stop * operand.scale
            valid_cols = max(0, min(stop, operand.valid_cols) - start)
            cols = operand.cols - start if stop >= operand.valid_cols else stop - start
            # An operand that ends before this part still is an argument: the smallest tile, empty.
            cols = max(cols, UB_BLOCK_BYTES // operand.dtype.bytes)
            separator = "_" if operand.name[-1].isdigit() else ""
            piece = _tile(operand, f"{operand.name}{separator}{number}", cols, valid_cols)
            tiles[operand.name, number] = piece
            moves.append(_moves(operand, piece, start))
    body = tuple(
        _instruction(op, part, lambda name, number=number: _window(tiles[name, number]))  # type: ignore[misc]
        for number, part in enumerate(sizing.parts)
    )
    return tuple(dict.fromkeys(tiles.values())), _program(moves, body)
