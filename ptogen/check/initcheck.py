"""initcheck: bytes that are read although nobody wrote them, and outputs that are never written."""

from __future__ import annotations

from ptogen.check.finding import ByteRange, Finding
from ptogen.check.shadow import Segments
from ptogen.check.trace import UB, Trace


def initcheck(trace: Trace) -> list[Finding]:
    """PTG431, in the order of the program. Reads whose value cannot reach a defined result do not count."""
    bounds = [(output.memory, bound) for output in trace.outputs for run in output.region.runs() for bound in run]
    segments = trace.segments if trace.segments.holds(bounds) else Segments(trace.events, bounds)
    written: set[int] = set()
    findings: dict[tuple[str, str], Finding] = {}
    for event in trace.events:
        last = [touch for touch in event.touches if touch.writes and touch.defined]
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
        # Rows are written in order: what one row spills into the next, the next overwrites.
        for touch in last:
            written.update(segments.of(touch))
    for output in trace.outputs:
        missing = [segment for segment in segments.of(output) if segment not in written]
        if missing:
            start, end = segments.range(missing[0])[0], segments.range(missing[-1])[1]
            message = f"the kernel ends without writing bytes {start:,} to {end:,} of the output {output.name}"
            findings["", output.name] = Finding("PTG431", message, (ByteRange(output.name, output.memory, start, end),))
    return list(findings.values())
