"""synccheck: flags that pair, ids that exist and are free, nothing left set."""

from __future__ import annotations

from collections.abc import Sequence

from ptogen.check.events import Event
from ptogen.check.finding import Finding
from ptogen.check.replay import Replay
from ptogen.check.trace import Trace
from ptogen.errors import Position
from ptogen.platforms import Platform


def synccheck(trace: Trace, replay: Replay, platform: Platform) -> list[Finding]:
    """PTG421 to PTG424; of each kind the first at the same places, whatever the turn of a loop."""
    findings: dict[tuple[str, ...], Finding] = {}

    def add(code: str, message: str, hint: str, *events: Event) -> None:
        """The step that is at fault last."""
        found = Finding(
            code,
            message,
            steps=tuple(event.label for event in events),
            hint=hint,
            positions=_positions(*reversed(events)),
        )
        findings.setdefault((code, *(event.place for event in events)), found)

    for event in replay.stuck:
        add("PTG422", f"nothing ever sets the flag that {_flag(event)} waits for", "add the set_flag", event)
    for event in replay.unwaited:
        add("PTG421", f"{_flag(event)} is set and never waited for", "add the wait_flag", event)
    for event, earlier in replay.unsafe:
        message = f"{_flag(event)} is set again while the set before it may still be waiting to be taken"
        add("PTG423", message, "use another event id, or let the waiting pipe signal back first", earlier, event)
    return [*findings.values(), *_ids(trace.events, platform)]


def _positions(*events: Event) -> tuple[Position, ...]:
    return tuple(event.position for event in events if event.position)


def _flag(event: Event) -> str:
    assert event.flag
    source, target, number = event.flag
    return f"{source} -> {target} EVENT_ID{number}"


def _ids(events: Sequence[Event], platform: Platform) -> list[Finding]:
    findings: dict[tuple, Finding] = {}
    pending: dict[tuple, Event] = {}
    for event in events:
        if event.flag:
            source, target, number = event.flag
            if not 0 <= number < platform.event_ids:
                message = f"{_flag(event)}: {platform} has the event ids 0 to {platform.event_ids - 1}"
                findings.setdefault(
                    (event.flag, "id"), Finding("PTG424", message, steps=(event.label,), positions=_positions(event))
                )
            if source is target:
                message = f"a flag from {source} to itself orders nothing; pipe_barrier does"
                findings.setdefault(
                    (event.flag, "self"), Finding("PTG424", message, steps=(event.label,), positions=_positions(event))
                )
            if event.sets:
                pending[event.flag] = event
            else:
                pending.pop(event.flag, None)
        for used in event.effects.events if event.effects else ():
            if used in pending:
                sure = event.effects is not None and event.effects.sure_events
                uses = "uses" if sure else "in some of its forms uses"
                message = f"{event.label} {uses} {_flag(pending[used])} itself while it is set"
                found = Finding(
                    "PTG424",
                    message,
                    steps=(pending[used].label, event.label),
                    hint="use another event id",
                    severity="error" if sure else "warning",
                    positions=_positions(event, pending[used]),
                )
                findings.setdefault((used, event.place), found)
    return list(findings.values())
