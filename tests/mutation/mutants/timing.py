"""What a program leaves in GM under every timing that its flags allow: the judge of mutants that no checker minds.

It shares no rule with the checkers. Like ``tests/check/oracle.py`` it walks every reachable state of the pipes; and it
follows what each byte depends on: a byte holds a token, which is a hash of the instruction that wrote it and of all the
bytes that can reach its result, as the ops' effects say, and a place, which tells it from the other bytes that the
instruction wrote. Two programs whose outputs hold the same under every timing compute the same; nothing is said of
programs whose outputs differ.

Where a step touches bytes that a step in flight touches, one of them writing, the bytes become *torn*, as no byte of a
sound program is. A step in flight ends as late as it can: when a set or a barrier behind it in its pipe needs
that. Any other timing of the same starts overlaps fewer steps, so it tears no more.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from ptogen.check.events import UB, Event, Touch
from ptogen.platforms import Pipe

TORN, UNDEFINED, NOBODY = ("torn", 0), ("undefined", 0), ("nobody", 0)

MOST_STATES = 100_000


@dataclass(frozen=True)
class _Piece:
    """A segment that a step touches.

    Attributes:
        segment: its number.
        access: operand and number of the access.
        place, length: its bytes among those of the access.
        defined: whether what is written there is, within the step.
        kept: whether it still is behind the step, as it is not in tmp.
    """

    segment: int
    access: tuple[str, int]
    place: int
    length: int
    defined: bool = True
    kept: bool = True


@dataclass(frozen=True)
class _Step:
    """An event in terms of segments; reads are those that can reach its result and that it has not written itself."""

    name: tuple
    reads: tuple[_Piece, ...]
    writes: tuple[_Piece, ...]
    read: frozenset[int]
    written: frozenset[int]


class Segments:
    """Bytes of every memory cut at every bound that occurs in any of the programs to compare."""

    def __init__(self, programs: Iterable[Sequence[Event]]):
        bounds: dict[str, set[int]] = {}
        for events in programs:
            for event in events:
                for touch in event.touches:
                    own = bounds.setdefault(touch.memory, set())
                    own.update(bound for run in touch.region.runs() for bound in run)
        self._bounds = {memory: sorted(own) for memory, own in sorted(bounds.items())}
        self._first, start, outside = {}, [], []
        for memory, own in self._bounds.items():
            self._first[memory] = len(start)
            outside += range(len(start), len(start) + len(own)) if memory != UB else ()
            start += [NOBODY if memory == UB else (memory, bound) for bound in own]
        self.start = tuple(start)
        """What every segment holds before the program."""
        self.outside = tuple(outside)
        """The segments of GM."""

    def of(self, touch: Touch) -> list[tuple[int, int, int]]:
        """Number, place among the bytes of the touch, and length of each of its segments."""
        bounds, first = self._bounds[touch.memory], self._first[touch.memory]
        found, before = [], 0
        for start, end in touch.region.runs():
            for place in range(bisect_left(bounds, start), bisect_left(bounds, end)):
                length = bounds[place + 1] - bounds[place]
                found.append((first + place, before + bounds[place] - start, length))
            before += end - start
        return found


def _step(event: Event, segments: Segments) -> _Step:
    reads: list[_Piece] = []
    writes: dict[int, _Piece] = {}
    counts: dict[tuple[str, bool], int] = {}
    for touch in event.touches:
        operand = next((name for name, tile in event.tiles if tile == touch.name), "gm")
        counts[operand, touch.writes] = counts.get((operand, touch.writes), -1) + 1
        access = operand, counts[operand, touch.writes]
        for segment, place, length in segments.of(touch):
            piece = _Piece(segment, access, place, length, touch.defined, operand != "tmp")
            if touch.writes:
                # What one row of an instruction spills into the next, the next overwrites.
                if touch.defined or segment not in writes or not writes[segment].defined:
                    writes[segment] = piece
            elif touch.defined and not (segment in writes and writes[segment].defined):
                reads.append(piece)
    name = event.label.split(" ", 1)[-1].split("(", 1)[0], event.effects.defects if event.effects else ()
    read, written = (frozenset(piece.segment for piece in pieces) for pieces in (reads, writes.values()))
    return _Step(name, tuple(reads), tuple(writes.values()), read, written)


def _inputs(step: _Step, memory: Sequence[tuple], torn: Collection[int]) -> int:
    """A hash of what a step reads, the same wherever it is cut."""
    runs: list[list] = []
    for piece in step.reads:
        token, place = TORN if piece.segment in torn else memory[piece.segment]
        if runs and runs[-1][:2] == [piece.access, token] and runs[-1][2] + runs[-1][4] == place:
            last = runs[-1]
            if last[3] + last[4] == piece.place:
                last[4] += piece.length
                continue
        runs.append([piece.access, token, place, piece.place, piece.length])
    return hash((step.name, *map(tuple, runs)))


def in_order(events: Sequence[Event], segments: Segments) -> tuple:
    """What GM holds after the steps one after the other."""
    memory = segments.start
    for event in events:
        memory = _start(_step(event, segments), (), memory)
    return tuple(memory[segment] for segment in segments.outside)


def _start(step: _Step, flight: Collection[_Step], memory: tuple) -> tuple:
    """Memory after a step has started while others are in flight."""
    torn = {segment for other in flight for segment in other.written}
    inputs = _inputs(step, memory, torn)
    changed = list(memory)
    for piece in step.writes:
        kept = piece.defined and piece.kept
        written = (hash((inputs, piece.access)), piece.place) if kept else UNDEFINED
        changed[piece.segment] = TORN if piece.segment in torn else written
    for other in flight:
        if other.read & step.written:
            for segment in other.written:
                changed[segment] = TORN
    return tuple(changed)


def same_results(
    mutant: Sequence[Event], original: Sequence[Event], *, one_by_one: bool = False, ordered: Collection[Pipe] = ()
) -> bool:
    """Whether a program leaves in GM what the original leaves there, under every timing.

    Args:
        one_by_one: whether a step starts only when the one before it has ended, as on the simulator and in mode auto.
        ordered: pipes whose steps see each other's results without a barrier, besides PIPE_S.
    """
    segments = Segments((mutant, original))
    expected = in_order(original, segments)
    if one_by_one:
        return in_order(mutant, segments) == expected
    return all(outcome == expected for outcome in outcomes(mutant, segments, ordered))


def outcomes(events: Sequence[Event], segments: Segments, ordered: Collection[Pipe] = ()) -> Iterable[tuple | str]:
    """What GM may hold at the end; a word in its place where the program does not end as it should.

    A walk that has not come to its end after ``MOST_STATES`` states says so, too."""
    ordered = {*ordered, Pipe.S}
    steps = [_step(event, segments) for event in events]
    queues = {pipe: [place for place, event in enumerate(events) if event.pipe is pipe] for pipe in Pipe}
    pipes = [pipe for pipe in Pipe if queues[pipe]]
    start = (tuple(0 for _ in pipes), frozenset(), frozenset(), segments.start)
    seen, todo = {start}, [start]
    given = set()
    while todo:
        heads, flight, flags, memory = todo.pop()
        following = []
        sets = [place for place in flight if events[place].sets]
        for place in sets:
            pipe = events[place].pipe
            if not any(other < place and events[other].pipe is pipe for other in sets):
                if events[place].flag in flags:
                    yield "a flag is set twice"
                    return
                left = frozenset(other for other in flight if other > place or events[other].pipe is not pipe)
                following.append((heads, left, flags | {events[place].flag}, memory))
        ahead = zip(pipes, heads, strict=True)
        waiting = [queues[pipe][head] if head < len(queues[pipe]) else None for pipe, head in ahead]
        scalar = next((place for pipe, place in zip(pipes, waiting, strict=True) if pipe is Pipe.S), None)
        for number, (pipe, place) in enumerate(zip(pipes, waiting, strict=True)):
            if place is None or (scalar is not None and scalar < place):
                continue
            event = events[place]
            onward = tuple(head + (number == own) for own, head in enumerate(heads))
            if event.waits:
                if event.flag in flags:
                    following.append((onward, flight, flags - {event.flag}, memory))
            elif event.everything:
                if not sets and all(other is None or other >= place for other in waiting):
                    following.append((onward, frozenset(), flags, memory))
            elif event.barrier:
                if not any(events[other].pipe is pipe for other in sets):
                    left = frozenset(other for other in flight if events[other].pipe is not pipe)
                    following.append((onward, left, flags, memory))
            elif event.sets:
                following.append((onward, flight | {place}, flags, memory))
            else:
                if event.effects and any(used in flags for used in event.effects.events):
                    yield "a flag that an instruction uses inside is set"
                    return
                others = [steps[other] for other in flight if not (events[other].pipe is pipe and pipe in ordered)]
                following.append((onward, flight | {place}, flags, _start(steps[place], others, memory)))
        if not following:
            outcome: tuple | str
            if any(place is not None for place in waiting):
                outcome = "it hangs"
            elif flags:
                outcome = "a flag is left set"
            else:
                outcome = tuple(memory[segment] for segment in segments.outside)
            if outcome not in given:
                given.add(outcome)
                yield outcome
        for state in following:
            if state not in seen:
                seen.add(state)
                todo.append(state)
        if len(seen) > MOST_STATES:
            yield "too many timings"
            return
