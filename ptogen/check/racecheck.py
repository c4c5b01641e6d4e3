"""racecheck: steps that touch the same bytes, one of them writing, with nothing that orders them."""

from __future__ import annotations

from ptogen.check.finding import ByteRange, Finding
from ptogen.check.replay import Issued, Replay
from ptogen.check.shadow import Segments
from ptogen.check.trace import Event
from ptogen.platforms import Pipe

KINDS = {
    (True, False): ("PTG411", "reads", "has written"),
    (False, True): ("PTG412", "writes", "has read"),
    (True, True): ("PTG413", "writes", "has written"),
}
"""By (the earlier step writes, the later step writes): code, what the later step does, what the earlier one may not have done yet."""


def racecheck(events: list[Event], replay: Replay) -> list[Finding]:
    """PTG411 to PTG413, one for each pair of places in the program."""
    segments = Segments(events)
    latest: dict[tuple[tuple[str, int], bool, Pipe], Issued] = {}
    findings: dict[tuple[str, str, str], Finding] = {}
    for issued in replay.issued:
        for touch in issued.event.touches:
            for segment in segments.of(touch):
                for writes in (True, False) if touch.writes else (True,):
                    for pipe in Pipe:
                        other = latest.get((segment, writes, pipe))
                        if other and other.place > issued.known[pipe]:
                            first, second = sorted((other, issued), key=lambda one: one.order)
                            first_writes = writes if first is other else touch.writes
                            second_writes = touch.writes if first is other else writes
                            code, does, done = KINDS[first_writes, second_writes]
                            start, end = segments.range(segment)
                            key = (code, _place(first.event), _place(second.event))
                            message = f"{second.event.label} {does} bytes of {touch.name} before {first.event.label} {done} them"
                            one, two = first.event.pipe, second.event.pipe
                            remedy = f"pipe_barrier({one})" if one is two else f"set_flag and wait_flag from {one} to {two}"
                            findings.setdefault(
                                key,
                                Finding(
                                    code,
                                    message,
                                    (ByteRange(touch.name, touch.memory, start, end),),
                                    (first.event.label, second.event.label),
                                    hint=f"put {remedy} between them",
                                ),
                            )
        for touch in issued.event.touches:
            for segment in segments.of(touch):
                latest[segment, touch.writes, issued.event.pipe] = issued
    return list(findings.values())


def _place(event: Event) -> str:
    """The step's place in the program, whatever the turn."""
    return event.label.split(" ", 1)[0]
