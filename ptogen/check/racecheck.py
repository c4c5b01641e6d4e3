"""racecheck: steps that touch the same bytes, one of them writing, with nothing that orders them."""

from __future__ import annotations

from ptogen.check.events import Touch
from ptogen.check.finding import ByteRange, Finding
from ptogen.check.replay import Issued, Replay
from ptogen.check.trace import Trace
from ptogen.platforms import Pipe

KINDS = {
    (True, False): ("PTG411", "reads", "has written"),
    (False, True): ("PTG412", "writes", "has read"),
    (True, True): ("PTG413", "writes", "has written"),
}
"""By (the earlier step writes, the later step writes): code, what the later step does, what the earlier one may not
have done yet."""


def racecheck(trace: Trace, replay: Replay, in_order: frozenset[Pipe] = frozenset()) -> list[Finding]:
    """PTG411 to PTG413, one for each pair of places in the program.

    ``in_order`` are the pipes whose steps see each other's results without a barrier; PIPE_S is one in any case.
    """
    ordered = in_order | {Pipe.S}
    segments = trace.segments
    written: dict[int, dict[Pipe, tuple[Issued, Touch]]] = {}
    read: dict[int, dict[Pipe, tuple[Issued, Touch]]] = {}
    findings: dict[tuple[str, str, str], Finding] = {}
    for issued in replay.issued:
        known, own = issued.known, issued.event.pipe
        touches = [(touch, segments.of(touch)) for touch in issued.event.touches if touch.sure]
        for touch, covered in touches:
            for segment in covered:
                for latest in (written, read) if touch.writes else (written,):
                    if segment in latest:
                        for pipe, (other, touched) in latest[segment].items():
                            if other.place > known[pipe] and not (pipe is own and pipe in ordered):
                                _add(findings, segments.range(segment), (other, touched), (issued, touch))
        for touch, covered in touches:
            latest, entry = written if touch.writes else read, (issued, touch)
            for segment in covered:
                if segment in latest:
                    latest[segment][own] = entry
                else:
                    latest[segment] = {own: entry}
    return list(findings.values())


def _add(findings: dict, span: tuple[int, int], one: tuple[Issued, Touch], two: tuple[Issued, Touch]) -> None:
    (first, touched), (second, touch) = sorted((one, two), key=lambda pair: pair[0].order)
    code, does, done = KINDS[touched.writes, touch.writes]
    key = (code, first.event.place, second.event.place)
    if key in findings:
        return
    message = f"{second.event.label} {does} bytes of {touch.name} before {first.event.label} {done} them"
    source, target = first.event.pipe, second.event.pipe
    remedy = f"pipe_barrier({source})" if source is target else f"set_flag and wait_flag from {source} to {target}"
    findings[key] = Finding(
        code,
        message,
        (ByteRange(touch.name, touch.memory, *span),),
        (first.event.label, second.event.label),
        hint=f"put {remedy} between them",
        positions=tuple(event.position for event in (second.event, first.event) if event.position),
    )
