"""memcheck: every byte inside UB, inside its tile, inside its GM tensor; addresses aligned; live tiles apart; no header defect."""

from __future__ import annotations

from ptogen.check.finding import ByteRange, Finding
from ptogen.check.trace import UB, Event
from ptogen.plan.model import KernelPlan, Tile
from ptogen.platforms import UB_BLOCK_BYTES


def memcheck(plan: KernelPlan, events: list[Event]) -> list[Finding]:
    """PTG401 to PTG405 and PTG441. In auto mode addresses are the compiler's, so only sizes count."""
    findings = _sizes(plan, events)
    if plan.mode == "manual":
        findings += _bounds(plan) + _alignment(events) + _overlap(plan, events)
    elif plan.used_bytes > plan.ub_bytes:
        findings.append(Finding("PTG401", f"the tiles need {plan.used_bytes:,} B, UB has {plan.ub_bytes:,} B"))
    return findings


def _range(tile: Tile) -> ByteRange:
    return ByteRange(tile.name, UB, tile.offset, tile.end)


def _bounds(plan: KernelPlan) -> list[Finding]:
    findings = []
    for tile in plan.tiles:
        if tile.offset < 0 or tile.end > plan.ub_bytes:
            message = f"{tile.name} of {tile.bytes:,} B ends at {tile.end:#x}, past the end of UB at {plan.ub_bytes:#x}"
            hint = f"place it at {max(0, (plan.ub_bytes - tile.bytes) // tile.align * tile.align):#x} or below"
            findings.append(Finding("PTG401", message, (_range(tile),), operand=tile.operand, hint=hint))
    return findings


def _alignment(events: list[Event]) -> list[Finding]:
    """The strictest need of each tile that its address, or that of a window of it, does not meet."""
    worst: dict[str, tuple[int, int, str, str]] = {}
    for event in events:
        needs = dict(event.effects.align) if event.effects else {}
        windows = dict(event.windows)
        for operand, address in event.origins:
            need = max(needs.get(operand, 0), UB_BLOCK_BYTES)
            tile = windows[operand].tile
            if address % need and need > worst.get(tile, (0,))[0]:
                worst[tile] = (need, address, operand, event.label)
    findings = []
    for tile, (need, address, operand, label) in worst.items():
        message = f"{tile} stands at {address:#x}, but operand {operand} of {label.split(' ', 1)[1]} needs a multiple of {need} B"
        hint = f"nearest: {address // need * need:#x} or {(address // need + 1) * need:#x}"
        findings.append(Finding("PTG402", message, steps=(label,), operand=tile, hint=hint))
    return findings


def _sizes(plan: KernelPlan, events: list[Event]) -> list[Finding]:
    findings: dict[tuple[str, ...], Finding] = {}
    tiles = {tile.name: tile for tile in plan.tiles}
    tensors = {tensor.name: tensor for tensor in plan.tensors}
    for event in events:
        for defect in event.effects.defects if event.effects else ():
            findings.setdefault(("PTG441", defect), Finding("PTG441", defect, steps=(event.label,)))
        for touch in event.touches:
            tile = tiles.get(touch.name) if touch.memory == UB else None
            start, end = (tile.offset, tile.end) if tile else (0, tensors[touch.name].bytes)
            if touch.region.start >= start and touch.region.end <= end:
                continue
            verb = "writes" if touch.writes else "reads"
            if tile:
                needed, own = touch.region.end - tile.offset, tile.bytes
                message = f"{event.label.split(',')[0]} {verb} {needed:,} B of {tile.name}, which has {own:,} B"
                hint = f"give {tile.name} {needed:,} B" if needed > own else None
                found = Finding("PTG404", message, (touch.range,), (event.label,), tile.operand, hint)
            else:
                message = f"it {verb} bytes {touch.region.start:,} to {touch.region.end:,} of {touch.name}, which has {end:,} B in GM"
                found = Finding("PTG405", message, (touch.range,), (event.label,))
            findings.setdefault((found.code, touch.name, verb), found)
    return list(findings.values())


def _overlap(plan: KernelPlan, events: list[Event]) -> list[Finding]:
    lives: dict[str, tuple[int, int]] = {}
    for place, event in enumerate(events):
        for _, window in event.windows:
            lives[window.tile] = (lives.get(window.tile, (place, place))[0], place)
    findings = []
    tiles = sorted((tile for tile in plan.tiles if tile.name in lives), key=lambda tile: (tile.offset, tile.name))
    for place, one in enumerate(tiles):
        for two in tiles[place + 1 :]:
            if two.offset >= one.end:
                break
            if lives[one.name][0] <= lives[two.name][1] and lives[two.name][0] <= lives[one.name][1]:
                shared = min(one.end, two.end) - two.offset
                message = f"{_range(one)} and {_range(two)} overlap in {shared:,} B while both are live"
                findings.append(
                    Finding("PTG403", message, (_range(one), _range(two)), operand=two.operand, hint=f"place {two.name} at {one.end:#x} or above")
                )
    return findings
