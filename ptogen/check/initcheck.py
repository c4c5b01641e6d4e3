"""initcheck: bytes that are read although nobody wrote them, outputs that are never written, and inputs that are never
used."""

from __future__ import annotations

from ptogen.check.events import UB, Event, Touch
from ptogen.check.finding import ByteRange, Finding
from ptogen.check.shadow import Segments
from ptogen.check.trace import Trace


def initcheck(trace: Trace) -> list[Finding]:
    """PTG431 and PTG432, in the order of the program. Reads whose value cannot reach a defined result do not count."""
    whole = (*trace.outputs, *trace.needed)
    bounds = [(tensor.memory, bound) for tensor in whole for run in tensor.region.runs() for bound in run]
    segments = trace.segments if trace.segments.holds(bounds) else Segments(trace.events, bounds)
    written: set[int] = set()
    findings: dict[tuple[str, str], Finding] = {}
    for event in trace.events:
        scratch = _scratch(event)
        last = [touch for touch in event.touches if touch.writes and touch.defined and touch.name not in scratch]
        for touch in event.touches:
            covered = segments.of(touch)
            if touch.writes:
                if touch.defined:
                    written.update(covered)
                elif touch.sure:
                    written.difference_update(covered)
            elif touch.sure and touch.defined and touch.memory not in trace.inputs:
                missing = [segment for segment in covered if segment not in written]
                if missing:
                    start, end = segments.range(missing[0])[0], segments.range(missing[-1])[1]
                    what = touch.name if touch.memory == UB else f"the tensor {touch.name}"
                    count = sum(stop - begin for begin, stop in map(segments.range, missing))
                    message = f"{event.label} reads {count:,} B of {what} that nobody wrote"
                    ranges = (ByteRange(touch.name, touch.memory, start, end),)
                    positions = (event.position,) if event.position else ()
                    hint = "write them first, or make the valid region end before them" if touch.memory == UB else None
                    found = Finding("PTG431", message, ranges, (event.label,), hint=hint, positions=positions)
                    findings.setdefault((event.place, touch.name), found)
        # What an instruction leaves in tmp is nobody's to read.
        for touch in event.touches:
            if touch.writes and touch.sure and touch.name in scratch:
                written.difference_update(segments.of(touch))
        # Rows are written in order: what one row spills into the next, the next overwrites.
        for touch in last:
            written.update(segments.of(touch))
    for output in trace.outputs:
        missing = [segment for segment in segments.of(output) if segment not in written]
        if missing:
            start, end = segments.range(missing[0])[0], segments.range(missing[-1])[1]
            message = f"the kernel ends without writing bytes {start:,} to {end:,} of the output {output.name}"
            findings["", output.name] = Finding("PTG431", message, (ByteRange(output.name, output.memory, start, end),))
    return list(findings.values()) + (_unused(trace, segments) if trace.needed else [])


def _scratch(event: Event) -> set[str]:
    """The tiles that serve as tmp and as nothing else: one that does holds what that one does, for some forms leave tmp
    alone."""
    if not event.scratch:
        return set()
    scratch = {tile for operand, tile in event.tiles if operand in event.scratch}
    return scratch - {tile for operand, tile in event.tiles if operand not in event.scratch}


def _unused(trace: Trace, segments: Segments) -> list[Finding]:
    """PTG432: bytes of an input that are not loaded, and bytes that are loaded or computed and that no step reads
    before the next write."""
    read: set[int] = set()
    fresh: dict[int, tuple[Event, Touch]] = {}
    lost: dict[tuple[str, str], tuple[Event, Touch, list[int]]] = {}

    def lose(segment: int) -> None:
        event, touch = fresh.pop(segment)
        lost.setdefault((event.place, touch.name), (event, touch, []))[2].append(segment)

    for event in trace.events:
        scratch = _scratch(event)
        for touch in event.touches:
            for segment in segments.of(touch):
                if not touch.writes:
                    if touch.defined:
                        read.add(segment)
                        fresh.pop(segment, None)
                elif touch.memory == UB:
                    # Some instructions write a part of their result twice.
                    if segment in fresh and fresh[segment][0] is not event:
                        lose(segment)
                    if touch.defined and touch.name not in scratch:
                        fresh[segment] = event, touch
    for segment in list(fresh):
        lose(segment)
    findings = []
    for tensor in trace.needed:
        missing = [segment for segment in segments.of(tensor) if segment not in read]
        if missing:
            start, end = segments.range(missing[0])[0], segments.range(missing[-1])[1]
            message = f"the kernel ends without reading bytes {start:,} to {end:,} of the input {tensor.name}"
            findings.append(Finding("PTG432", message, (ByteRange(tensor.name, tensor.memory, start, end),)))
    for event, touch, missing in lost.values():
        start, end = segments.range(missing[0])[0], segments.range(missing[-1])[1]
        count = sum(stop - begin for begin, stop in map(segments.range, missing))
        message = f"no step uses {count:,} B that {event.label} leaves in {touch.name}"
        findings.append(Finding("PTG432", message, (ByteRange(touch.name, UB, start, end),), (event.label,)))
    return findings
