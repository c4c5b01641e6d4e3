"""The race and flag rules against an oracle that tries every timing."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import judge

from ptogen.check.events import Event, Touch
from ptogen.check.racecheck import racecheck
from ptogen.check.replay import replay
from ptogen.check.trace import Trace
from ptogen.platforms import Pipe
from ptogen.tiles import Region

PIPES = (Pipe.MTE2, Pipe.V, Pipe.MTE3, Pipe.S)
BYTES = st.tuples(st.integers(0, 3), st.integers(1, 2))


@st.composite
def accesses(draw):
    touches = draw(st.lists(st.tuples(BYTES, st.booleans()), min_size=1, max_size=2))
    return [Touch("UB", "tile", Region(start, length), writes, True) for (start, length), writes in touches]


@st.composite
def programs(draw):
    """Up to ten events; flags are drawn in pairs, and sometimes one of a pair is lost or moved, so that faults are
    common."""
    events: list[Event] = []
    for _ in range(draw(st.integers(1, 5))):
        events.append(Event("", "", draw(st.sampled_from(PIPES)), tuple(draw(accesses()))))
    for _ in range(draw(st.integers(0, 3))):
        source, target = draw(st.permutations(PIPES))[:2]
        flag = (source, target, draw(st.integers(0, 1)))
        pair = [Event("", "", source, flag=flag, sets=True), Event("", "", target, flag=flag, waits=True)]
        place = draw(st.integers(0, len(events)))
        keep = draw(st.sampled_from(("both", "both", "both", "both", "set", "wait", "swapped")))
        if keep == "set":
            pair = pair[:1]
        elif keep == "wait":
            pair = pair[1:]
        elif keep == "swapped":
            pair.reverse()
        later = draw(st.integers(place, len(events)))
        events.insert(later, pair[-1])
        if len(pair) == 2:
            events.insert(place, pair[0])
    for _ in range(draw(st.integers(0, 2))):
        pipe, everything = draw(st.sampled_from(PIPES)), draw(st.integers(0, 3)) == 0
        barrier = Event("", "", Pipe.S if everything else pipe, barrier=True, everything=everything)
        events.insert(draw(st.integers(0, len(events))), barrier)
    return [replace(event, place=str(number), words="step") for number, event in enumerate(events)]


@settings(max_examples=3000, deadline=None)
@given(programs())
def test_checker_agrees_with_every_timing(events):
    verdict = judge(events)
    outcome = replay(events)
    assert bool(outcome.unsafe) == verdict.double_set
    if verdict.double_set:
        # A flag that was set twice is lost, and what follows depends on which set; that finding stands for the rest.
        return
    assert bool(outcome.stuck) == verdict.hangs
    if not verdict.hangs:
        assert bool(outcome.unwaited) == verdict.left_set
    findings = racecheck(Trace(tuple(events), {}, {}, frozenset(), (), 0, 0), outcome)
    assert bool(findings) == bool(verdict.races)
    reported = {tuple(sorted(int(step.split()[0]) for step in finding.steps)) for finding in findings}
    assert reported <= verdict.races


def test_the_oracle_sees_what_it_should():
    """Hand-made programs whose outcome is plain, so that agreement means something."""
    write = (Touch("UB", "tile", Region(0, 2), True, True),)
    read = (Touch("UB", "tile", Region(1, 1), False, True),)
    flag = (Pipe.MTE2, Pipe.V, 0)
    load, use = Event("0", "", Pipe.MTE2, write), Event("1", "", Pipe.V, read)
    put, take = Event("2", "", Pipe.MTE2, flag=flag, sets=True), Event("3", "", Pipe.V, flag=flag, waits=True)
    assert judge([load, put, take, use]).clean
    assert judge([load, use]).races == {(0, 1)}
    assert judge([put, load, take, use]).races == {(1, 3)}
    assert judge([load, take, use]).hangs
    assert judge([load, put, put, take, take, use]).double_set
    assert judge([load, put]).left_set
    assert judge([load, Event("4", "", Pipe.MTE2, write)]).races == {(0, 1)}
    assert judge([load, Event("5", "", Pipe.MTE2, barrier=True), Event("6", "", Pipe.MTE2, write)]).clean


def test_what_scalar_steps_have_begun_is_known_through_flags():
    """The second set of V follows a load that PIPE_S issued behind its wait for the first one."""
    ready, moved = (Pipe.V, Pipe.S, 0), (Pipe.MTE2, Pipe.V, 0)
    events = [
        Event("0", "", Pipe.V, flag=ready, sets=True),
        Event("1", "", Pipe.V, flag=moved, waits=True),
        Event("2", "", Pipe.V, flag=ready, sets=True),
        Event("3", "", Pipe.S, flag=ready, waits=True),
        Event("4", "", Pipe.MTE2, flag=moved, sets=True),
        Event("5", "", Pipe.S, flag=ready, waits=True),
    ]
    assert judge(events).clean
    assert not replay(events).unsafe
    early = [*events[:3], events[4], events[3], events[5]]
    assert judge(early).double_set
    assert len(replay(early).unsafe) == 1
