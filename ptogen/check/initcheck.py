"""initcheck: bytes that are read although nobody wrote them, and outputs that are never written."""

from __future__ import annotations

from ptogen.check.finding import ByteRange, Finding
from ptogen.check.shadow import Segments
from ptogen.check.trace import UB, Event, Touch
from ptogen.ops.base import Region, Role
from ptogen.plan.model import KernelPlan


def initcheck(plan: KernelPlan, events: list[Event]) -> list[Finding]:
    """PTG431, in the order of the program. Reads whose value cannot reach a defined result do not count."""
    outputs = [
        Touch(
            tensor.name,
            tensor.name,
            Region(0, tensor.valid_cols * tensor.dtype.bytes, tensor.valid_rows, tensor.cols * tensor.dtype.bytes),
            writes=False,
            defined=True,
        )
        for tensor in plan.tensors
        if tensor.role is Role.OUT
    ]
    bounds = [(output.memory, bound) for output in outputs for run in output.region.runs() for bound in run]
    segments = Segments(events, bounds)
    inputs = {tensor.name for tensor in plan.tensors if tensor.role is Role.IN}
    written: set[tuple[str, int]] = set()
    findings: dict[tuple[str, str], Finding] = {}
    for event in events:
        for touch in event.touches:
            covered = segments.of(touch)
            if touch.writes:
                (written.update if touch.defined else written.difference_update)(covered)
            elif touch.defined and touch.memory not in inputs:
                missing = [segment for segment in covered if segment not in written]
                if missing:
                    start, end = segments.range(missing[0])[0], segments.range(missing[-1])[1]
                    what = touch.name if touch.memory == UB else f"the tensor {touch.name}"
                    message = f"{event.label} reads {end - start:,} B of {what} that nobody wrote"
                    place = event.label.split(" ", 1)[0]
                    found = Finding("PTG431", message, (ByteRange(touch.name, touch.memory, start, end),), (event.label,))
                    findings.setdefault((place, touch.name), found)
    for output in outputs:
        missing = [segment for segment in segments.of(output) if segment not in written]
        if missing:
            start, end = segments.range(missing[0])[0], segments.range(missing[-1])[1]
            message = f"the kernel ends without writing bytes {start:,} to {end:,} of the output {output.name}"
            findings["", output.name] = Finding("PTG431", message, (ByteRange(output.name, output.memory, start, end),))
    return list(findings.values())
