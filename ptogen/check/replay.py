"""A replay of the pipes with vector clocks: what each step can rely on, whatever the timing.

Pipes run their queues in order; a step may start before the one ahead of it has ended. A set fires when everything
ahead of it in its queue has ended; a wait holds its queue until then. The n-th wait on a flag takes the n-th set, so
the outcome does not depend on timing.

PIPE_S is the scalar unit, which also fills the queues of the others: what stands behind one of its steps is issued
only after that step has started, so a wait of PIPE_S or a pipe_barrier(PIPE_ALL) holds them all. Its own steps end in
order, but later than the next one is issued."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ptogen.check.events import Event
from ptogen.platforms import PIPES, Pipe

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


def replay(events: Sequence[Event]) -> Replay:
    """Run the queues until nothing can move."""
    queues: dict[Pipe, list[tuple[int, Event]]] = {pipe: [] for pipe in PIPES}
    for order, event in enumerate(events):
        queues[event.pipe].append((order, event))
    heads = dict.fromkeys(PIPES, 0)
    known: dict[Pipe, dict[Pipe, int]] = {pipe: dict.fromkeys(PIPES, -1) for pipe in PIPES}
    # For each pipe the place in the queue of PIPE_S up to which everything has started, as far as is known.
    begun = dict.fromkeys(PIPES, -1)
    sets: dict[Flag, list[tuple[Event, dict[Pipe, int], int]]] = {}
    waits: dict[Flag, list[int]] = {}
    waits_ahead: dict[Flag, list[int]] = {}
    scalar = [order for order, _ in queues[Pipe.S]]
    for queue in queues.values():
        for place, (_, event) in enumerate(queue):
            if event.waits and event.flag:
                waits_ahead.setdefault(event.flag, []).append(place)
    seen_by_scalar: list[dict[Pipe, int]] = []
    issued: list[Issued] = []
    unsafe: list[tuple[Event, Event]] = []
    moved = True
    while moved:
        moved = False
        for pipe, queue in queues.items():
            while heads[pipe] < len(queue):
                place = heads[pipe]
                order, event = queue[place]
                if pipe is not Pipe.S and heads[Pipe.S] < len(scalar) and scalar[heads[Pipe.S]] < order:
                    break
                if event.everything:
                    if any(
                        heads[other] < len(queues[other]) and queues[other][heads[other]][0] < order for other in PIPES
                    ):
                        break
                    known[pipe] = {other: heads[other] - (other is not pipe) for other in PIPES}
                elif pipe is not Pipe.S and bisect_left(scalar, order):
                    behind = seen_by_scalar[bisect_left(scalar, order) - 1]
                    known[pipe] = {other: max(known[pipe][other], behind[other]) for other in PIPES}
                begun[pipe] = max(begun[pipe], bisect_left(scalar, order) - 1)
                flag = event.flag
                if event.waits and flag:
                    taken = waits.setdefault(flag, [])
                    if len(taken) >= len(sets.get(flag, ())):
                        break
                    _, seen, seen_begun = sets[flag][len(taken)]
                    known[pipe] = {other: max(known[pipe][other], seen[other]) for other in PIPES}
                    begun[pipe] = max(begun[pipe], seen_begun)
                    taken.append(place)
                elif event.sets and flag:
                    earlier = sets.setdefault(flag, [])
                    if earlier:
                        ahead = waits_ahead.get(flag, [])
                        passed = ahead[len(earlier) - 1] if len(ahead) >= len(earlier) else len(queues[flag[1]])
                        # A wait of PIPE_S is over when it has started.
                        over = begun[pipe] if flag[1] is Pipe.S else known[pipe][flag[1]]
                        if over < passed:
                            unsafe.append((event, earlier[-1][0]))
                    earlier.append((event, {**known[pipe], pipe: place}, begun[pipe]))
                elif event.barrier:
                    known[pipe] = {**known[pipe], pipe: place}
                issued.append(Issued(event, order, place, dict(known[pipe])))
                if pipe is Pipe.S:
                    seen_by_scalar.append(dict(known[pipe]))
                heads[pipe] += 1
                moved = True
    held = (queue[heads[pipe]][1] for pipe, queue in queues.items() if heads[pipe] < len(queue))
    # What only stands behind a wait that is stuck is not stuck itself.
    stuck = tuple(
        event
        for event in held
        if event.waits and event.flag and len(waits.get(event.flag, ())) >= len(sets.get(event.flag, ()))
    )
    unwaited = tuple(event for flag, done in sets.items() for event, *_ in done[len(waits.get(flag, ())) :])
    return Replay(tuple(issued), stuck, unwaited, tuple(unsafe))
