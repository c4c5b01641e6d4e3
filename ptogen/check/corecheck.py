"""racecheck across cores: two blocks of one launch that touch the same bytes of GM, one of them writing."""

from __future__ import annotations

from collections.abc import Mapping

from ptogen.check.events import UB, Event, Touch
from ptogen.check.finding import ByteRange, Finding
from ptogen.check.racecheck import KINDS
from ptogen.check.shadow import Segments
from ptogen.check.trace import Trace


def corecheck(blocks: Mapping[int, Trace]) -> list[Finding]:
    """PTG411 to PTG413, one for each pair of places; the blocks of a launch run at the same time, in any order.

    It knows no barrier between cores, so it is for launches without one.
    """
    segments = Segments(event for run in blocks.values() for event in run.events)
    seen: dict[tuple[int, bool], dict[int, tuple[Event, Touch]]] = {}
    findings: dict[tuple[str, str, str], Finding] = {}
    for block, run in blocks.items():
        for event in run.events:
            for touch in event.touches:
                if touch.memory == UB or not touch.sure:
                    continue
                for segment in segments.of(touch):
                    for writes in (True, False) if touch.writes else (True,):
                        for other, (first, _) in seen.get((segment, writes), {}).items():
                            if other != block:
                                code, does, done = KINDS[writes, touch.writes]
                                start, end = segments.range(segment)
                                message = (
                                    f"{event.label} of block {block} {does} bytes of the tensor {touch.name} that "
                                    f"{first.label} of block {other} {done}; nothing orders the blocks"
                                )
                                found = Finding(
                                    code,
                                    message,
                                    (ByteRange(touch.name, touch.memory, start, end),),
                                    (first.label, event.label),
                                    hint="give each block bytes of its own, or put a barrier of all cores between them",
                                    positions=tuple(one.position for one in (event, first) if one.position),
                                )
                                findings.setdefault((code, first.place, event.place), found)
                    seen.setdefault((segment, touch.writes), {}).setdefault(block, (event, touch))
    return list(findings.values())
