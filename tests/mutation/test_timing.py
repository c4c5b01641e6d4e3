"""The walk through every timing, against the oracle of the checkers' tests and programs whose outcome is plain."""

from __future__ import annotations

import sys
from dataclasses import replace

from hypothesis import given, settings
from mutants.corpus import ROOT
from mutants.timing import Segments, outcomes, same_results

from ptogen.check.events import Event, Touch
from ptogen.platforms import Pipe
from ptogen.tiles import Region

sys.path.insert(0, str(ROOT / "tests" / "check"))
from oracle import judge  # noqa: E402
from test_oracle import programs  # noqa: E402

FAULTS = {"it hangs", "a flag is set twice", "a flag is left set"}


def results(events) -> set:
    return set(outcomes(events, Segments([events])))


@settings(max_examples=1000, deadline=None)
@given(programs())
def test_it_agrees_with_the_oracle(events):
    """In a program that the oracle finds clean GM has one outcome; the faults that it finds are seen here, too."""
    gm = [replace(event, touches=tuple(replace(touch, memory="gm") for touch in event.touches)) for event in events]
    verdict, found = judge(gm), results(gm)
    if verdict.clean:
        assert len(found) == 1 and not found & FAULTS
    elif verdict.double_set:
        assert "a flag is set twice" in found
    else:
        assert ("it hangs" in found) == verdict.hangs
        assert ("a flag is left set" in found) == verdict.left_set


def _event(pipe: Pipe, name: str, *touches: tuple[str, int, bool], **flags) -> Event:
    own = tuple(Touch(memory, memory, Region(start, 4), writes, True) for memory, start, writes in touches)
    return Event("1", f"{name}()", pipe, own, **flags)


LOAD = _event(Pipe.MTE2, "LOAD", ("in", 0, False), ("UB", 0, True))
OTHER = _event(Pipe.MTE2, "LOAD", ("in", 4, False), ("UB", 4, True))
USE = _event(Pipe.V, "USE", ("UB", 0, False), ("UB", 8, True))
STORE = _event(Pipe.MTE3, "STORE", ("UB", 8, False), ("out", 0, True))


def flag(source: Pipe, target: Pipe) -> tuple[Event, Event]:
    own = (source, target, 0)
    return _event(source, "set", flag=own, sets=True), _event(target, "wait", flag=own, waits=True)


IN, OUT = flag(Pipe.MTE2, Pipe.V), flag(Pipe.V, Pipe.MTE3)
SOUND = [LOAD, OTHER, *IN, USE, *OUT, STORE]


def test_what_does_no_harm():
    assert same_results(SOUND, SOUND)
    assert same_results([OTHER, LOAD, *IN, USE, *OUT, STORE], SOUND)
    assert same_results([LOAD, *IN, USE, *OUT, STORE], SOUND)
    assert same_results([LOAD, IN[0], OTHER, IN[1], USE, *OUT, STORE], SOUND)
    assert same_results([LOAD, OTHER, *reversed(IN), USE, *OUT, STORE], SOUND)
    assert same_results([LOAD, OTHER, USE, STORE], SOUND, one_by_one=True)


def test_what_does():
    assert not same_results([LOAD, OTHER, USE, *OUT, STORE], SOUND)
    assert not same_results([OTHER, *IN, LOAD, USE, *OUT, STORE], SOUND)
    assert not same_results([OTHER, *IN, USE, *OUT, STORE], SOUND)
    assert not same_results([LOAD, OTHER, *IN, *OUT, STORE], SOUND)
    assert not same_results([LOAD, OTHER, *IN, USE, USE, *OUT, STORE], SOUND)
    assert not same_results([LOAD, OTHER, *IN, *IN[1:], USE, *OUT, STORE], SOUND)
    assert not same_results([LOAD, OTHER, *IN, USE, *OUT, STORE, IN[0]], SOUND)
    assert not same_results([LOAD, USE, OTHER, STORE][::-1], SOUND, one_by_one=True)


def test_pipes_that_see_their_own_results_need_no_barrier():
    twice = [LOAD, *IN, USE, _event(Pipe.V, "AGAIN", ("UB", 8, False), ("UB", 8, True)), *OUT, STORE]
    assert not same_results(twice, twice)
    assert same_results(twice, twice, ordered={Pipe.V})
