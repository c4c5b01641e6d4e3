"""Flags and barriers from a dependency analysis over pipes and byte ranges.

Every pipe runs its own steps in order, but a step may start before the one ahead of it in the same pipe has ended, and
pipes know nothing of each other. So two steps that touch the same bytes, one of them writing, need an order: a flag
pair between pipes, a barrier within one.

The analysis walks a block of steps and keeps, for each pipe, what it knows to be complete on every other (vector
clocks, as in dynamic race detectors). A dependency that this knowledge does not cover gets an edge: set behind the last
step it depends on, wait ahead of the dependent step. In a loop the walk covers two turns, and a dependency of the next
turn on this one waits at the end of the turn; so each turn leaves no flag set, and loops nest.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product

from ptogen.errors import Diagnostic, PtogenError
from ptogen.plan.model import Affine, Barrier, Loop, Program, SetFlag, Step, WaitFlag
from ptogen.platforms import PIPES, Pipe


@dataclass(frozen=True)
class Span:
    """``length`` bytes of a memory (UB, or a GM tensor) from ``start``.

    ``columns``, where it is given, is the part of each row of the memory that they keep to: spans side by side do not
    meet.
    """

    memory: str
    start: Affine
    length: int
    writes: bool
    columns: tuple[int, int] | None = None

    def over(self, variable: str, count: int) -> Span:
        """The bytes of all turns of a loop, from the first to the last of them."""
        factor = dict(self.start.terms).get(variable, 0)
        reach = factor * (count - 1)
        rest = tuple(term for term in self.start.terms if term[0] != variable)
        start = Affine(self.start.const + min(reach, 0), rest)
        return replace(self, start=start, length=self.length + abs(reach))


@dataclass(frozen=True)
class Footprint:
    """What a step touches on the pipe it runs on; ``events`` as in :class:`ptogen.ops.effects.Effects`."""

    pipe: Pipe
    spans: tuple[Span, ...]
    events: tuple[tuple[Pipe, Pipe, int], ...] = ()


Footprints = Callable[[Step], Footprint]


@dataclass(frozen=True)
class Edge:
    """An order within one turn of a block: step ``after`` on ``src`` completes before step ``before`` starts on
    ``dst``.

    ``before`` is the length of the block where the order is towards the next turn; ``after`` too, where ``src`` only
    answers, at the end of its turn, that it has come so far.
    """

    after: int
    src: Pipe
    before: int
    dst: Pipe


@dataclass
class Block:
    """The steps of a program or of a loop body with the edges found so far."""

    steps: tuple[Step, ...]
    spans: list[dict[Pipe, tuple[Span, ...]]]
    closed: list[set[tuple[Pipe, Pipe]]]
    """For a loop among the steps: (source, destination) pipes whose order its own edges leave complete."""
    inner: list[Block | None]
    counts: Mapping[str, int]
    loop: str | None
    edges: list[Edge] = field(default_factory=list)
    answers: list[Edge] = field(default_factory=list)
    """Those of the edges that no bytes ask for: behind them an event id is used again."""

    @cached_property
    def dependencies(self) -> tuple[tuple[int, Pipe, int, Pipe], ...]:
        """(step, its pipe, earlier step, its pipe) of every two that conflict, counted over the turns, the end of a
        turn counting as a step; of each step the latest first."""
        length = len(self.steps) + 1
        return tuple(
            (place, pipe, earlier, source)
            for place in range(length * self.turns)
            if place % length < len(self.steps)
            for pipe, spans in self.spans[place % length].items()
            for earlier in range(place - 1, -1, -1)
            if earlier % length < len(self.steps)
            for source, own in self.spans[earlier % length].items()
            if _conflict(own, spans, self, carried=earlier // length != place // length)
        )

    @property
    def turns(self) -> int:
        """How many runs of the block an analysis looks at: two where a loop around it, its own or an outer one, runs it
        again."""
        return 2 if any(count > 1 for count in self.counts.values()) else 1


def synchronise(program: Program, footprints: Footprints, event_ids: int) -> Program:
    """``program`` with the flags and barriers that it needs.

    Args:
        program: loads, stores, instructions and loops, without flags.
        footprints: what a step touches; never asked about a loop.
        event_ids: how many event ids a pair of pipes has.

    Raises:
        PtogenError: PTG302, where ``event_ids`` are too few.
    """
    events: set[tuple[Pipe, Pipe, int]] = set()
    block = _analyse(program, footprints, {}, None, events)
    if any(block.inner):
        _complete(block)
        return _emit(block, _identified(block, events, event_ids))
    # Without loops nothing counts of the bytes but which steps meet, so what meets alike gets the same flags.
    question = _question(block), frozenset(events), event_ids
    if question not in _answers:
        if len(_answers) >= _MOST:
            _answers.clear()
        _complete(block)
        ids = _identified(block, events, event_ids)
        _answers[question] = tuple((edge, ids.of.get((id(block), edge))) for edge in block.edges)
    answer = _answers[question]
    block.edges = [edge for edge, _ in answer]
    return _emit(block, _Ids({(id(block), edge): event for edge, event in answer if event is not None}))


_Question = tuple[tuple[tuple[Pipe, ...], ...], tuple[bool, ...]]
_answers: dict[tuple[_Question, frozenset, int], tuple[tuple[Edge, int | None], ...]] = {}
_MOST = 1_000


def _question(block: Block) -> _Question:
    """The pipes of every step, and of every two steps whether the later one conflicts with the earlier."""
    meets = tuple(
        any(_conflict(own, spans, block, carried=False) for own in earlier.values() for spans in later.values())
        for place, later in enumerate(block.spans)
        for earlier in block.spans[:place]
    )
    return tuple(tuple(spans) for spans in block.spans), meets


def _analyse(
    program: Program, footprints: Footprints, counts: Mapping[str, int], loop: str | None, events: set
) -> Block:
    block = Block(program, [], [], [], counts, loop)
    for step in program:
        if isinstance(step, Loop):
            inner = _analyse(step.body, footprints, {**counts, step.variable: step.count}, step.variable, events)
            union: dict[Pipe, tuple[Span, ...]] = {}
            for spans in inner.spans:
                for pipe, own in spans.items():
                    union[pipe] = union.get(pipe, ()) + tuple(span.over(step.variable, step.count) for span in own)
            block.spans.append(union)
            block.closed.append(_closed(inner))
            block.inner.append(inner)
        else:
            footprint = footprints(step)
            events.update(footprint.events)
            block.spans.append({footprint.pipe: footprint.spans})
            block.closed.append(set())
            block.inner.append(None)
    if loop is not None:
        _complete(block)
    return block


def _complete(block: Block) -> None:
    """Finds the edges of a block."""
    while edge := _missing(block):
        block.edges.append(edge)
    block.edges = _needed(block)


Clock = dict[Pipe, int]
"""For each pipe the latest step, counted over the turns, that is known to be complete; -1 for none."""


def _walk(block: Block) -> tuple[list[dict[Pipe, Clock]], list[dict[Pipe, Clock]]]:
    """What each pipe knows ahead of and behind every step of the turns; the end of a turn counts as a step."""
    length = len(block.steps) + 1
    known: dict[Pipe, Clock] = {pipe: dict.fromkeys(PIPES, -1) for pipe in PIPES}
    last: Clock = dict.fromkeys(PIPES, -1)
    ahead: list[dict[Pipe, Clock]] = []
    behind: list[dict[Pipe, Clock]] = []
    for place in range(length * block.turns):
        turn, step = divmod(place, length)
        for edge in sorted(
            (edge for edge in block.edges if edge.before == step), key=lambda edge: edge.after == edge.before
        ):
            source = turn * length + edge.after
            if edge.src is edge.dst:
                known[edge.dst][edge.dst] = last[edge.dst]
            else:
                own = known if source == place else behind[source]
                seen = {**own[edge.src], edge.src: source}
                known[edge.dst] = {pipe: max(known[edge.dst][pipe], seen[pipe]) for pipe in PIPES}
        ahead.append({pipe: dict(clock) for pipe, clock in known.items()})
        if step < len(block.steps):
            for pipe in block.spans[step]:
                last[pipe] = place
            for source_pipe, pipe in block.closed[step]:
                known[pipe][source_pipe] = max(known[pipe][source_pipe], place)
        behind.append({pipe: dict(clock) for pipe, clock in known.items()})
    return ahead, behind


def _missing(block: Block) -> Edge | None:
    """The first dependency, or reuse of a flag, that the edges do not order yet."""
    length = len(block.steps) + 1
    ahead, behind = _walk(block)
    for place, pipe, earlier, source in block.dependencies:
        if ahead[place][pipe][source] < earlier:
            step, other = place % length, earlier % length
            same_turn = earlier // length == place // length
            return Edge(other, source, step if same_turn or other < step else len(block.steps), pipe)
    if block.turns > 1:
        # A flag is set again only when its source knows that the wait of the turn before has passed.
        for edge in block.edges:
            if edge.src is edge.dst or behind[length + edge.after][edge.src][edge.dst] >= edge.before:
                continue
            if edge.before < len(block.steps):
                return Edge(edge.before, edge.dst, len(block.steps), edge.src)
            ahead_of = [step for step in range(edge.after) if edge.dst in block.spans[step]]
            if ahead_of:
                return Edge(ahead_of[-1], edge.dst, edge.after, edge.src)
            return Edge(len(block.steps), edge.dst, len(block.steps), edge.src)
    return None


def _last_step(block: Block, pipe: Pipe) -> int:
    return max(place for place, spans in enumerate(block.spans) if pipe in spans)


def _needed(block: Block) -> list[Edge]:
    """The edges without those that the others imply, the latest found tried first."""
    edges = list(block.edges)
    for edge in reversed(block.edges):
        if edge in block.answers:
            continue
        block.edges = [other for other in edges if other is not edge]
        if _missing(block) is None:
            edges = block.edges
    return edges


def _closed(block: Block) -> set[tuple[Pipe, Pipe]]:
    _, behind = _walk(block)
    offset = (block.turns - 1) * (len(block.steps) + 1)
    used = {pipe for spans in block.spans for pipe in spans}
    return {
        (source, pipe)
        for source, pipe in product(used, used)
        if behind[-1][pipe][source] >= offset + _last_step(block, source)
    }


def _conflict(earlier: tuple[Span, ...], later: tuple[Span, ...], block: Block, carried: bool) -> bool:
    return any(
        (one.writes or two.writes) and one.memory == two.memory and _meet(one, two, block, carried)
        for one in earlier
        for two in later
    )


def _meet(one: Span, two: Span, block: Block, carried: bool) -> bool:
    """Whether the spans can share a byte: in the same turn, or with ``two`` one or more turns later."""
    if one.columns and two.columns and (one.columns[1] <= two.columns[0] or two.columns[1] <= one.columns[0]):
        return False
    if not one.start.terms and not two.start.terms:
        meets = -two.length < two.start.const - one.start.const < one.length
        return meets and (not carried or (block.loop is not None and block.counts[block.loop] > 1))
    distance = two.start + one.start.times(-1)
    factors = dict(distance.terms)
    own = factors.pop(block.loop, 0) if block.loop else 0
    low = high = distance.const
    for variable, factor in factors.items():
        reach = factor * (block.counts[variable] - 1)
        low, high = low + min(reach, 0), high + max(reach, 0)
    turns = block.counts[block.loop] if block.loop else 1
    step = dict(two.start.terms).get(block.loop or "", 0)
    for later in range(1, turns) if carried else (0,):
        reach = own * (turns - 1 - later)
        if low + step * later + min(reach, 0) < one.length and high + step * later + max(reach, 0) > -two.length:
            return True
    return False


@dataclass
class _Ids:
    """Event ids by edge of each block (blocks are compared by identity)."""

    of: dict[tuple[int, Edge], int] = field(default_factory=dict)


class _Exhausted(Exception):
    """Event ids of a pipe have run out; ``answer`` is the edge behind which one can be used again, if there is one."""

    def __init__(self, source: Pipe, answer: Edge | None) -> None:
        super().__init__(source)
        self.source, self.answer = source, answer


def _answer(block: Block, edge: Edge, used: list[tuple[Block, Edge, int]], reserved: set[int]) -> Edge | None:
    """An answer to the source of ``edge`` that the wait of the oldest flag whose id may serve has passed.

    It is given half-way between that wait and the set: so one answer frees the ids of several flags, and the source
    still runs ahead.
    """
    latest = {event: (owner, other) for owner, other, event in used if event not in reserved}
    olds = [other for owner, other in latest.values() if owner is block and block.loop is None]
    olds = [other for other in olds if other.before < edge.after]
    if not olds:
        return None
    oldest = min(olds, key=lambda other: (other.before, other.after))
    places = [place for place in range(oldest.before, edge.after) if oldest.dst in block.spans[place]]
    return Edge(places[len(places) // 2], oldest.dst, edge.after, edge.src)


def _identified(block: Block, events: set[tuple[Pipe, Pipe, int]], event_ids: int) -> _Ids:
    """An id for every flag. Where they run out, the destination of an old flag answers its source, and its id serves
    again: what runs ahead is held back no more than by as many flags as there are ids.

    Raises:
        PtogenError: PTG302, where so many flags are set at once that nothing can answer in between.
    """
    most = 4 * len(block.edges)
    while True:
        try:
            ids = _assign(block, events, event_ids)
            if not block.answers:
                return ids
            # What an answer orders needs no flag of its own, as long as the ids still suffice.
            edges, block.edges = block.edges, _needed(block)
            try:
                return _assign(block, events, event_ids)
            except _Exhausted:
                block.edges = edges
                return ids
        except _Exhausted as error:
            if error.answer is None or len(block.answers) >= most:
                message = f"{error.source} needs more than {event_ids} event ids at once"
                raise PtogenError(Diagnostic("PTG302", message, hint="split the case into smaller ones")) from None
            block.answers.append(error.answer)
            block.edges.append(error.answer)


def _assign(block: Block, events: set[tuple[Pipe, Pipe, int]], event_ids: int) -> _Ids:
    """An id for every flag: unique per source pipe, used again only behind a wait that the source knows to have
    passed."""
    ids = _Ids()
    taken: dict[Pipe, list[tuple[Block, Edge, int]]] = {}

    def visit(block: Block) -> None:
        _, behind = _walk(block)
        for edge in sorted(block.edges, key=lambda edge: (edge.after, edge.before)):
            if edge.src is edge.dst:
                continue
            used = taken.setdefault(edge.src, [])
            reserved = {event for source, target, event in events if (source, target) == (edge.src, edge.dst)}
            busy = {
                event
                for owner, other, event in used
                if not (
                    owner is block and block.loop is None and behind[edge.after][edge.src][other.dst] >= other.before
                )
            }
            free = [event for event in range(event_ids) if event not in busy | reserved]
            fresh = [event for event in free if event not in {event for _, _, event in used}]
            if not free:
                raise _Exhausted(edge.src, _answer(block, edge, used, reserved))
            event = (fresh or free)[0]
            used.append((block, edge, event))
            ids.of[id(block), edge] = event
        for inner in block.inner:
            if inner:
                visit(inner)

    visit(block)
    return ids


def _emit(block: Block, ids: _Ids) -> Program:
    steps: list[Step] = []

    def waits(place: int, answers: bool = False) -> None:
        for edge in block.edges:
            if edge.before == place and answers == (edge.after == place):
                if edge.src is edge.dst:
                    steps.append(Barrier(edge.src))
                else:
                    steps.append(WaitFlag(edge.src, edge.dst, ids.of[id(block), edge]))

    def sets(place: int) -> None:
        for edge in block.edges:
            if edge.after == place and edge.src is not edge.dst:
                steps.append(SetFlag(edge.src, edge.dst, ids.of[id(block), edge]))

    for place, step in enumerate(block.steps):
        waits(place)
        inner = block.inner[place]
        if isinstance(step, Loop) and inner:
            step = Loop(step.variable, step.count, _emit(inner, ids))
        steps.append(step)
        sets(place)
    waits(len(block.steps))
    sets(len(block.steps))
    waits(len(block.steps), answers=True)
    return tuple(steps)
