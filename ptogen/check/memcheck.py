"""memcheck: every byte inside UB, inside its tile, inside its GM tensor; addresses aligned; live tiles apart; no
header defect.

A plan is held to what it declares: whatever collides is an error. A recorded kernel is held to what it does: where
    only declared ranges
collide and no live byte is lost, that is a warning, and what only one document demands is a note.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from itertools import combinations

from ptogen.check.events import UB, Buffer, Event, Touch
from ptogen.check.finding import ByteRange, Finding
from ptogen.check.trace import Trace
from ptogen.errors import Position
from ptogen.platforms import UB_BLOCK_BYTES

Life = tuple[int, int]
"""Places in the program of the first and the last step that has to do with one value of a tile."""


def memcheck(trace: Trace, declared: bool = True) -> list[Finding]:
    """PTG401 to PTG406 and PTG441. In auto mode addresses are the compiler's, so only sizes count.

    ``declared``: whether declared ranges count as much as touched bytes, as they do in a plan.
    """
    findings = _defects(trace.events) + _sizes(trace, declared)
    if trace.addressed:
        findings += _bounds(trace, declared) + _alignment(trace, declared)
        lives = _lives(trace)
        findings += _planned_overlap(trace) if declared else _overlap(trace, lives)
        findings += _scratch(trace, lives)
    else:
        used = max((buffer.end for buffer in trace.buffers.values()), default=0)
        if used > trace.ub_bytes:
            findings.append(Finding("PTG401", f"the tiles need {used:,} B, UB has {trace.ub_bytes:,} B"))
    return findings


def _positions(*events: Event) -> tuple[Position, ...]:
    return tuple(event.position for event in events if event.position)


def _users(trace: Trace) -> dict[str, list[Event]]:
    """The steps that have to do with each tile, in order."""
    users: dict[str, list[Event]] = {}
    for event in trace.events:
        for name in dict.fromkeys(name for _, name in event.tiles):
            users.setdefault(name, []).append(event)
    return users


def _bounds(trace: Trace, declared: bool) -> list[Finding]:
    reach: dict[str, int] = {}
    for event in trace.events:
        for touch in event.touches:
            if touch.memory == UB and touch.sure:
                reach[touch.name] = max(reach.get(touch.name, 0), touch.region.end)
    users = _users(trace)
    findings = []
    for buffer in trace.buffers.values():
        if buffer.start >= 0 and buffer.end <= trace.ub_bytes:
            continue
        used = buffer.end if declared else reach.get(buffer.name, 0)
        inside = 0 <= buffer.start and buffer.end <= trace.ub_most
        limit = trace.ub_bytes if inside else trace.ub_most
        message = f"{buffer.name} of {buffer.bytes:,} B ends at {buffer.end:#x}, past the end of UB at {limit:#x}"
        if inside:
            message += f" ({trace.ub_most:#x} in one source)"
        elif buffer.start >= 0 and used <= limit:
            message += "; no step touches the bytes behind"
        outside = buffer.start < 0 or used > limit
        severity = ("warning" if inside else "error") if outside else ("note" if inside else "warning")
        room = (limit - buffer.bytes) // buffer.align * buffer.align
        hint = (
            f"place it at {room:#x} or below"
            if room >= 0
            else f"it has {buffer.bytes - limit:,} B more than UB: make it smaller"
        )
        first = users.get(buffer.name, [])[:1]
        steps = tuple(event.label for event in first if event.position)
        findings.append(
            Finding("PTG401", message, (buffer.range,), steps, buffer.operand, hint, severity, _positions(*first))
        )
    return findings


def _alignment(trace: Trace, declared: bool) -> list[Finding]:
    """The strictest need of each tile that its address, or that of a window of it, does not meet."""
    worst: dict[str, tuple[int, int, str, Event]] = {}
    for event in trace.events:
        needs = dict(event.effects.align) if event.effects else {}
        tiles = dict(event.tiles)
        for operand, address in event.origins:
            tile = tiles[operand]
            for need in (max(needs.get(operand, 0), UB_BLOCK_BYTES), UB_BLOCK_BYTES):
                # What every document demands goes before what one demands.
                hard = not address % UB_BLOCK_BYTES == 0
                if (
                    address % need
                    and (need == UB_BLOCK_BYTES or declared or not hard)
                    and need > worst.get(tile, (0,))[0]
                ):
                    worst[tile] = (need, address, operand, event)
    findings = []
    for tile, (need, address, operand, event) in worst.items():
        row = "" if declared or address == trace.buffers[tile].start else "the second row of "
        message = f"{row}{tile} stands at {address:#x}, but operand {operand} of "
        message += f"{event.words}{event.turn} needs a multiple of {need} B"
        hint = f"nearest: {address // need * need:#x} or {(address // need + 1) * need:#x}"
        hard = declared or address % UB_BLOCK_BYTES != 0
        if not hard:
            message += " by one document"
        findings.append(
            Finding(
                "PTG402",
                message,
                steps=(event.label,),
                operand=tile,
                hint=hint,
                severity="error" if hard else "note",
                positions=_positions(event),
            )
        )
    return findings


def _defects(events: Sequence[Event]) -> list[Finding]:
    findings: dict[tuple[str, str], Finding] = {}
    for event in events:
        for defect in event.effects.defects if event.effects else ():
            key = (defect, event.place if event.position else "")
            findings.setdefault(key, Finding("PTG441", defect, steps=(event.label,), positions=_positions(event)))
    return list(findings.values())


def _sizes(trace: Trace, declared: bool) -> list[Finding]:
    findings: dict[tuple[str, ...], Finding] = {}
    for event in trace.events:
        for touch in event.touches:
            if not touch.sure:
                continue
            buffer = trace.buffers.get(touch.name) if touch.memory == UB else None
            if touch.memory == UB and buffer is None:
                continue  # an instruction's own scratch
            start, end = (buffer.start, buffer.end) if buffer else (0, trace.tensors.get(touch.name))
            if touch.region.start >= start and (end is None or touch.region.end <= end):
                continue
            verb = "writes" if touch.writes else "reads"
            place = event.place if event.position else ""
            if buffer:
                needed, own = touch.region.end - buffer.start, buffer.bytes
                step = f"{event.place} {event.words}" if declared else event.label
                message = f"{step} {verb} {needed:,} B of {buffer.name}, which has {own:,} B"
                hint = f"give {buffer.name} {needed:,} B" if needed > own else None
                severity = "error"
                if not declared and touch.region.end <= trace.ub_most:
                    if not touch.writes and not touch.defined:
                        severity, message = "note", f"{message}; what it reads there has no effect"
                    elif not _strangers(trace, buffer, touch):
                        severity, message = "warning", f"{message}; no other tile has the bytes behind"
                found = Finding(
                    "PTG404", message, (touch.range,), (event.label,), buffer.operand, hint, severity, _positions(event)
                )
            else:
                span = f"bytes {touch.region.start:,} to {touch.region.end:,}"
                message = f"it {verb} {span} of {touch.name}, which has {end:,} B in GM"
                found = Finding("PTG405", message, (touch.range,), (event.label,), positions=_positions(event))
            key = (found.code, touch.name, verb if declared else "", place)
            if key not in findings or (found.severity, findings[key].severity) in (
                ("error", "warning"),
                ("error", "note"),
                ("warning", "note"),
            ):
                findings[key] = found
    return list(findings.values())


def _strangers(trace: Trace, buffer: Buffer, touch: Touch) -> bool:
    """Whether the bytes behind a tile that a step reaches belong to another one."""
    return any(
        other.start < touch.region.end and other.end > buffer.end
        for other in trace.buffers.values()
        if other.name != buffer.name
    )


def _planned_overlap(trace: Trace) -> list[Finding]:
    """Tiles of a plan that share bytes between their first and their last step."""
    lives: dict[str, Life] = {}
    for place, event in enumerate(trace.events):
        for _, name in event.tiles:
            lives[name] = (lives.get(name, (place, place))[0], place)
    findings = []
    tiles = sorted((one for one in trace.buffers.values() if one.name in lives), key=lambda one: (one.start, one.name))

    def together(one: Buffer, two: Buffer) -> bool:
        return lives[one.name][0] <= lives[two.name][1] and lives[two.name][0] <= lives[one.name][1]

    def free(tile: Buffer, start: int) -> int:
        """The first address from ``start`` on where a tile meets no other one while both are live."""
        for other in tiles:
            start = -(-start // tile.align) * tile.align
            if other is not tile and other.end > start and other.start < start + tile.bytes and together(other, tile):
                start = other.end
        return -(-start // tile.align) * tile.align

    for place, one in enumerate(tiles):
        for two in tiles[place + 1 :]:
            if two.start >= one.end:
                break
            if together(one, two):
                shared = min(one.end, two.end) - two.start
                message = f"{one.range} and {two.range} overlap in {shared:,} B while both are live"
                address = free(two, one.end)
                hint = f"place {two.name} at {address:#x}"
                if address + two.bytes > trace.ub_bytes:
                    hint = f"move other tiles: behind {one.name} there is no room for the {two.bytes:,} B of {two.name}"
                findings.append(Finding("PTG403", message, (one.range, two.range), operand=two.operand, hint=hint))
    return findings


def _lives(trace: Trace) -> dict[str, list[Life]]:
    """The lives of each tile's values: a new one starts where a step writes a tile that was read, without reading
    it."""
    lives: dict[str, list[Life]] = {}
    was_read: set[str] = set()
    for place, event in enumerate(trace.events):
        for name in dict.fromkeys(name for _, name in event.tiles):
            reads = any(touch.name == name and not touch.writes for touch in event.touches)
            known = lives.setdefault(name, [])
            if not known or (not reads and name in was_read):
                known.append((place, place))
                was_read.discard(name)
            known[-1] = (known[-1][0], place)
            if reads:
                was_read.add(name)
    return lives


def _overlap(trace: Trace, lives: dict[str, list[Life]]) -> list[Finding]:
    """Tiles of a recorded kernel that share bytes.

    An error where the value of one is lost that a step still reads; a warning where they are only declared to
    overlap, as operands of one instruction that writes one of them, or while both hold a value. A tile at the same
    address as another, or inside it, is a view of it."""
    lost = _lost(trace)
    findings = {**lost, **_operands(trace, lost)}
    buffers = sorted(
        (one for one in trace.buffers.values() if one.name in lives), key=lambda one: (one.start, one.name)
    )
    for place, one in enumerate(buffers):
        for two in buffers[place + 1 :]:
            if two.start >= one.end:
                break
            pair = frozenset((one.name, two.name))
            if pair in findings or _is_view(one, two) or not _meet(lives[one.name], lives[two.name]):
                continue
            last = next(event for event in reversed(trace.events) if any(name in pair for _, name in event.tiles))
            shared = min(one.end, two.end) - two.start
            message = f"{one.range} and {two.range} are declared to overlap in {shared:,} B while both are live"
            message += "; no live byte is lost"
            findings[pair] = Finding(
                "PTG403",
                message,
                (one.range, two.range),
                (last.label,),
                two.operand,
                f"place {two.name} at {one.end:#x} or above",
                "warning",
                _positions(last),
            )
    return list(findings.values())


def _is_view(one: Buffer, two: Buffer) -> bool:
    """Whether one of two overlapping tiles starts where the other does or lies inside it."""
    return (
        one.start == two.start
        or (one.start <= two.start and two.end <= one.end)
        or (two.start <= one.start and one.end <= two.end)
    )


def _meet(one: list[Life], two: list[Life]) -> bool:
    starts = [life[0] for life in two]
    for first, last in one:
        place = bisect_left(starts, first)
        if place and two[place - 1][1] > first or place < len(two) and two[place][0] < last:
            return True
    return False


def _lost(trace: Trace) -> dict[frozenset[str], Finding]:
    """Values that a step reads through one tile after they were overwritten through another that is no view of it."""
    segments = trace.segments
    owner: dict[int, tuple[str, Event]] = {}
    wrote: dict[int, set[str]] = {}
    findings: dict[frozenset[str], Finding] = {}
    for event in trace.events:
        for touch in event.touches:
            if touch.memory != UB or not touch.sure or touch.name not in trace.buffers:
                continue
            for segment in segments.of(touch):
                if touch.writes:
                    owner[segment] = touch.name, event
                    wrote.setdefault(segment, set()).add(touch.name)
                elif touch.defined and segment in owner and touch.name in wrote[segment]:
                    name, writer = owner[segment]
                    one, two = trace.buffers[touch.name], trace.buffers[name]
                    pair = frozenset((name, touch.name))
                    if name == touch.name or _is_view(one, two) or pair in findings:
                        continue
                    start, end = segments.range(segment)
                    message = f"{event.label} reads {touch.name}, but {writer.label} has overwritten bytes of it"
                    message += f" through {name}"
                    hint = (
                        f"place {name} at {one.end:#x} or above"
                        if two.start >= one.start
                        else f"place {touch.name} at {two.end:#x} or above"
                    )
                    findings[pair] = Finding(
                        "PTG403",
                        message,
                        (ByteRange(touch.name, UB, start, end), one.range, two.range),
                        (writer.label, event.label),
                        hint=hint,
                        positions=_positions(event, writer),
                    )
    return findings


def _operands(trace: Trace, lost: dict[frozenset[str], Finding]) -> dict[frozenset[str], Finding]:
    """Operands of one instruction that share bytes although it writes one of them, other than as a whole in place."""
    findings: dict[frozenset[str], Finding] = {}
    for event in trace.events:
        written = {touch.name for touch in event.touches if touch.memory == UB and touch.writes}
        for one, two in combinations(dict.fromkeys(name for _, name in event.tiles), 2):
            pair = frozenset((one, two))
            if pair in findings or pair in lost or not pair & written:
                continue
            left, right = trace.buffers.get(one), trace.buffers.get(two)
            if left is None or right is None or left.start >= right.end or right.start >= left.end:
                continue
            scratch = any(operand in event.scratch for operand, name in event.tiles if name in pair)
            touched = _collide(event, one, two) and (scratch or not event.buffered)
            # At one address an instruction works in place: not in its own scratch, nor where it writes before it reads.
            if left.start == right.start and not (touched and (scratch or _destroys(event, pair))):
                continue
            shared = min(left.end, right.end) - max(left.start, right.start)
            message = f"{left.range} and {right.range} overlap in {shared:,} B, and {event.label} writes one of them"
            if not touched:
                message += "; " + (
                    "it reads every source first"
                    if event.buffered and not scratch
                    else "the bytes that it touches do not collide"
                )
            low, high = sorted((left, right), key=lambda buffer: buffer.start)
            findings[pair] = Finding(
                "PTG403",
                message,
                (left.range, right.range),
                (event.label,),
                hint=f"place {high.name} at {low.end:#x} or above",
                severity="error" if touched else "warning",
                positions=_positions(event),
            )
    return findings


def _collide(event: Event, one: str, two: str) -> bool:
    """Whether the bytes that a step surely touches of two tiles meet, one of them written."""
    own = [touch for touch in event.touches if touch.memory == UB and touch.sure]
    for left in own:
        for right in own:
            if left.name == one and right.name == two and (left.writes or right.writes):
                if left.region.start < right.region.end and right.region.start < left.region.end:
                    return True
    return False


def _destroys(event: Event, pair: frozenset[str]) -> bool:
    """Whether a step writes bytes through one of two tiles and then reads them through the other."""
    own = [touch for touch in event.touches if touch.memory == UB and touch.sure and touch.name in pair]
    return any(
        write.writes
        and not read.writes
        and read.defined
        and read.name != write.name
        and read.region.start < write.region.end
        and write.region.start < read.region.end
        for place, write in enumerate(own)
        for read in own[place + 1 :]
    )


def _scratch(trace: Trace, lives: dict[str, list[Life]]) -> list[Finding]:
    """Tiles that hold a value in bytes that an instruction uses by itself."""
    findings: dict[tuple[str, str], Finding] = {}
    for place, event in enumerate(trace.events):
        for start, end in event.effects.scratch if event.effects else ():
            for buffer in trace.buffers.values():
                if (
                    buffer.start < end
                    and start < buffer.end
                    and any(a <= place <= b for a, b in lives.get(buffer.name, ()))
                ):
                    message = f"{buffer.range} lies in [{start:#x}, {end:#x}), which {event.label} uses by itself"
                    hint = f"place it below {start:#x}, or use the form of the instruction that takes tmp"
                    found = Finding(
                        "PTG406",
                        message,
                        (buffer.range,),
                        (event.label,),
                        buffer.operand,
                        hint,
                        positions=_positions(event),
                    )
                    findings.setdefault((buffer.name, event.place), found)
    return list(findings.values())
