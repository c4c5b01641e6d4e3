"""A replay of the pipes with vector clocks: what each step can rely on, whatever the timing.

Pipes run their queues in order; a step may start before the one ahead of it has ended. A set fires when everything ahead of it in its queue has
ended; a wait holds its queue until then. The n-th wait on a flag takes the n-th set, so the outcome does not depend on timing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ptogen.check.trace import Event
from ptogen.platforms import Pipe

Clock = Mapping[Pipe, int]
"""For each pipe the place in its queue up to which everything has ended, as far as is known; -1 for nothing."""

Flag = tuple[Pipe, Pipe, int]


@dataclass(frozen=True)
class Issued:
    """An event as the replay met it: its place in the program, its place in the queue, and what had ended before it."""

    event: Event
    order: int
    place: int
    known: Clock


@dataclass(frozen=True)
class Replay:
    """The outcome.

    Attributes:
        issued: every event that could run, in an order that the flags allow.
        stuck: waits at the head of a queue that no set ever releases.
        unwaited: sets that no wait takes.
        unsafe: (set, the set before it on the same flag) where the source cannot know that the earlier one was taken.
    """

    issued: tuple[Issued, ...]
    stuck: tuple[Event, ...]
    unwaited: tuple[Event, ...]
    unsafe: tuple[tuple[Event, Event], ...]


def replay(events: list[Event]) -> Replay:
    """Run the queues until nothing can move."""
    queues: dict[Pipe, list[tuple[int, Event]]] = {pipe: [] for pipe in Pipe}
    for order, event in enumerate(events):
        queues[event.pipe].append((order, event))
    heads = dict.fromkeys(Pipe, 0)
    known: dict[Pipe, dict[Pipe, int]] = {pipe: dict.fromkeys(Pipe, -1) for pipe in Pipe}
    sets: dict[Flag, list[tuple[Event, dict[Pipe, int]]]] = {}
    waits: dict[Flag, list[int]] = {}
    waits_ahead: dict[Flag, list[int]] = {}
    for pipe, queue in queues.items():
        for place, (_, event) in enumerate(queue):
            if event.waits and event.flag:
                waits_ahead.setdefault(event.flag, []).append(place)
    issued: list[Issued] = []
    unsafe: list[tuple[Event, Event]] = []
    moved = True
    while moved:
        moved = False
        for pipe, queue in queues.items():
            while heads[pipe] < len(queue):
                place = heads[pipe]
                order, event = queue[place]
                flag = event.flag
                if event.waits and flag:
                    taken = waits.setdefault(flag, [])
                    if len(taken) >= len(sets.get(flag, ())):
                        break
                    seen = sets[flag][len(taken)][1]
                    known[pipe] = {other: max(known[pipe][other], seen[other]) for other in Pipe}
                    taken.append(place)
                elif event.sets and flag:
                    earlier = sets.setdefault(flag, [])
                    if earlier:
                        ahead = waits_ahead.get(flag, [])
                        passed = ahead[len(earlier) - 1] if len(ahead) >= len(earlier) else len(queues[flag[1]])
                        if known[pipe][flag[1]] < passed:
                            unsafe.append((event, earlier[-1][0]))
                    earlier.append((event, {**known[pipe], pipe: place}))
                elif event.barrier:
                    known[pipe] = {**known[pipe], pipe: place}
                issued.append(Issued(event, order, place, dict(known[pipe])))
                heads[pipe] += 1
                moved = True
    stuck = tuple(queue[heads[pipe]][1] for pipe, queue in queues.items() if heads[pipe] < len(queue))
    unwaited = tuple(event for flag, done in sets.items() for event, _ in done[len(waits.get(flag, ())) :])
    return Replay(tuple(issued), stuck, unwaited, tuple(unsafe))
