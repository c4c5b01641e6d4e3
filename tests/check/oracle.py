"""A dumb oracle: it tries every timing that the flags allow, one by one, and looks.

A pipe starts its steps in order. A started step stays in flight until it ends, at any later moment; the next one may
start before. A set is such a step: it ends, and sets the flag, once everything ahead of it in its pipe has ended. A
wait needs the flag set and clears it; a barrier needs everything of its pipe ended.

PIPE_S issues the steps of all pipes: none starts before every step of PIPE_S ahead of it in the program has. Steps of
    PIPE_S end in order. A barrier
of everything, in PIPE_S, needs every step ahead of it in the program ended.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ptogen.check.events import Event
from ptogen.platforms import Pipe


@dataclass
class Verdict:
    """What happens under at least one timing."""

    races: set[tuple[int, int]] = field(default_factory=set)
    """Places in the program of two steps that touch the same bytes, one writing, at the same time."""
    hangs: bool = False
    double_set: bool = False
    left_set: bool = False

    @property
    def clean(self) -> bool:
        return not (self.races or self.hangs or self.double_set or self.left_set)


def judge(events: Sequence[Event]) -> Verdict:
    """Walk every reachable state."""
    queues = {pipe: [place for place, event in enumerate(events) if event.pipe is pipe] for pipe in Pipe}
    pipes = [pipe for pipe in Pipe if queues[pipe]]
    conflicts = {
        (one, two)
        for one in range(len(events))
        for two in range(len(events))
        if one != two and not events[one].pipe is events[two].pipe is Pipe.S and _conflict(events[one], events[two])
    }
    verdict = Verdict()
    start = (tuple(0 for _ in pipes), frozenset(), frozenset())
    seen, todo = {start}, [start]
    while todo:
        heads, flight, flags = todo.pop()
        following = []
        for step in flight:
            if not events[step].sets:
                following.append((heads, flight - {step}, flags))
            elif not any(other < step and events[other].pipe is events[step].pipe for other in flight):
                verdict.double_set |= events[step].flag in flags
                following.append((heads, flight - {step}, flags | {events[step].flag}))
        for number, pipe in enumerate(pipes):
            if heads[number] == len(queues[pipe]):
                continue
            place = queues[pipe][heads[number]]
            event = events[place]
            if pipe is not Pipe.S and any(
                queues[Pipe.S][head:] and queues[Pipe.S][head] < place
                for own, head in zip(pipes, heads, strict=False)
                if own is Pipe.S
            ):
                continue
            onward = tuple(head + (number == own) for own, head in enumerate(heads))
            busy = any(events[step].pipe is pipe for step in flight)
            if event.waits:
                if event.flag in flags:
                    following.append((onward, flight, flags - {event.flag}))
            elif event.everything:
                passed = all(
                    head == len(queues[own]) or queues[own][head] >= place
                    for own, head in zip(pipes, heads, strict=False)
                )
                if passed and not flight:
                    following.append((onward, flight, flags))
            elif event.barrier:
                if not busy:
                    following.append((onward, flight, flags))
            else:
                verdict.races |= {(min(place, step), max(place, step)) for step in flight if (place, step) in conflicts}
                following.append((onward, flight | {place}, flags))
        if not following:
            done = all(head == len(queues[pipe]) for head, pipe in zip(heads, pipes, strict=True))
            verdict.hangs |= not done
            verdict.left_set |= done and bool(flags)
        for state in following:
            if state not in seen:
                seen.add(state)
                todo.append(state)
    return verdict


def _conflict(one: Event, two: Event) -> bool:
    def bytes_of(event: Event, writing: bool) -> set[tuple[str, int]]:
        return {
            (touch.memory, byte)
            for touch in event.touches
            if touch.writes or not writing
            for start, end in touch.region.runs()
            for byte in range(start, end)
        }

    return bool(bytes_of(one, True) & bytes_of(two, False) or bytes_of(one, False) & bytes_of(two, True))
