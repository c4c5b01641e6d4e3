"""The flag analysis on programs that no template would serve."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from programs import A2A3, copy, flags, load, order_findings, row, store, synchronised, tensors, tile

from ptogen.check import check_plan
from ptogen.errors import PtogenError
from ptogen.plan.model import Affine, Barrier, Loop, SetFlag, WaitFlag
from ptogen.plan.sync import Footprint, Span, synchronise
from ptogen.platforms import Pipe

A, B, C, D = (tile(name, number * 96) for number, name in enumerate("abcd"))
GM = tensors("in", "in2", "out", "out2")
LOAD_TO_V, V_TO_STORE = (Pipe.MTE2, Pipe.V), (Pipe.V, Pipe.MTE3)


def pairs(program):
    return [(source, target) for source, target, _ in flags(program)]


def test_two_instructions_in_a_row_take_a_barrier_between_them():
    plan = synchronised((load("a"), copy("b", "a"), copy("c", "b"), store("c")), (A, B, C), GM)
    assert pairs(plan.program) == [LOAD_TO_V, V_TO_STORE]
    assert sum(isinstance(step, Barrier) for step in plan.program) == 1
    assert not order_findings(plan)


def test_independent_instructions_take_none():
    plan = synchronised((load("a"), copy("b", "a"), copy("c", "a"), store("b"), store("c", "out2")), (A, B, C), GM)
    assert not any(isinstance(step, Barrier) for step in plan.program)
    assert not order_findings(plan)


def test_one_source_read_twice_is_waited_for_once():
    plan = synchronised((load("a"), copy("b", "a"), copy("c", "a"), store("c")), (A, B, C), GM)
    assert pairs(plan.program) == [LOAD_TO_V, V_TO_STORE]
    assert not order_findings(plan)


def test_one_wait_covers_several_loads():
    plan = synchronised(
        (load("a"), load("b", "in2"), copy("c", "b"), copy("d", "a"), store("c"), store("d", "out2")), (A, B, C, D), GM
    )
    assert pairs(plan.program).count(LOAD_TO_V) <= 2
    assert not order_findings(plan)
    both = synchronised((load("a"), load("b", "in2"), copy("a", "b"), store("a")), (A, B), GM)
    assert pairs(both.program) == [LOAD_TO_V, V_TO_STORE]


def test_a_tile_reused_is_protected_from_its_next_writer():
    program = (load("a"), copy("b", "a"), store("b"), load("a", "in2"), copy("b", "a"), store("b", "out2"))
    plan = synchronised(program, (A, B), GM)
    assert (Pipe.V, Pipe.MTE2) in pairs(plan.program)
    assert (Pipe.MTE3, Pipe.V) in pairs(plan.program)
    assert not order_findings(plan)


def test_tiles_that_share_bytes_are_as_one():
    program = (load("a"), copy("b", "a"), store("b"), load("c", "in2"), copy("d", "c"), store("d", "out2"))
    plan = synchronised(program, (A, B, tile("c", 32), D), GM)
    # c meets a and b: its load waits for the store of b, which has waited for everything that read a.
    assert pairs(plan.program) == [LOAD_TO_V, V_TO_STORE, (Pipe.MTE3, Pipe.MTE2), LOAD_TO_V, V_TO_STORE]
    assert not order_findings(plan)


def test_a_loop_that_streams_through_two_tiles():
    turn = Loop("i", 3, (load(row("a", 0)), copy(row("b", 0), row("a", 0)), store(row("b", 0))))
    plan = synchronised((turn,), (A, B), GM)
    body = plan.program[0].body
    assert sorted(pairs(body)) == sorted([LOAD_TO_V, (Pipe.V, Pipe.MTE2), V_TO_STORE, (Pipe.MTE3, Pipe.V)])
    assert not order_findings(plan)


def test_a_loop_over_disjoint_rows_needs_no_order_between_its_turns():
    turns = Loop("i", 3, (copy(row("b", "i"), row("a", "i")),))
    plan = synchronised((load("a"), turns, store("b")), (A, B), GM)
    assert pairs(plan.program) == [LOAD_TO_V, V_TO_STORE]
    assert plan.program[3].body == turns.body
    assert not order_findings(plan)


def test_a_flag_in_a_loop_is_not_set_again_before_it_was_taken():
    """No bytes are shared between turns; the flag itself is."""
    turns = Loop("i", 3, (load(row("a", "i")), copy(row("b", "i"), row("a", "i"))))
    plan = synchronised((turns, store("b")), (A, B), GM)
    assert (Pipe.V, Pipe.MTE2) in pairs(plan.program[0].body)
    assert not order_findings(plan)


def test_ids_are_reused_only_behind_a_wait_that_has_passed():
    program = []
    for _ in range(12):
        program += [load("a", "in"), copy("b", "a"), store("b", "out")]
    plan = synchronised(tuple(program), (A, B), GM)
    assert {event for _, _, event in flags(plan.program)} <= set(range(8))
    assert not order_findings(plan)


def test_too_few_ids_are_refused():
    program = tuple(load(row("a", number)) for number in range(3)) + tuple(
        copy(row("b", number), row("a", number)) for number in range(3)
    )
    with pytest.raises(PtogenError, match="PTG302"):
        synchronised(program, (A, B), GM, event_ids=2)


def test_an_id_that_an_instruction_uses_inside_is_left_alone():
    def footprints(step):
        if step == "load":
            return Footprint(Pipe.MTE2, (Span("UB", Affine(0), 32, True),))
        return Footprint(Pipe.V, (Span("UB", Affine(0), 32, False),), events=((Pipe.MTE2, Pipe.V, 0),))

    assert flags(synchronise(("load", "use"), footprints, 8)) == [(Pipe.MTE2, Pipe.V, 1)]


@pytest.mark.parametrize("event_ids", [2, 3, 8])
def test_ids_serve_again_where_they_run_out(event_ids):
    """Twelve independent turns of load, copy and store, whose flags are all apart."""
    ins, outs = tile("a", 0), tile("b", 4096)
    ins, outs = replace(ins, rows=12, valid_rows=12), replace(outs, rows=12, valid_rows=12)
    wide = tuple(replace(tensor, rows=12, valid_rows=12) for tensor in tensors("in", "out"))
    program = [
        step
        for turn in range(12)
        for step in (load(row("a", turn)), copy(row("b", turn), row("a", turn)), store(row("b", turn)))
    ]
    plan = synchronised(tuple(program), (ins, outs), wide, event_ids)
    assert {event for _, _, event in flags(plan.program)} == set(range(event_ids))
    found = check_plan(plan, replace(A2A3, event_ids=event_ids))
    assert not [one for one in found if one.code.startswith(("PTG41", "PTG42"))]
    # Data asks for a flag before and behind each copy, and for no other.
    asked = synchronised(tuple(program), (ins, outs), wide, 64)
    assert len(flags(asked.program)) == 24 and len(flags(plan.program)) <= 24 + 24 // (event_ids // 2)


TILES = st.sampled_from("abcd")


@st.composite
def windows(draw, variables):
    name = draw(TILES)
    kind = draw(st.sampled_from(("whole", "fixed", "moving")))
    if kind == "moving" and variables:
        return row(name, draw(st.sampled_from(variables)))
    return row(name, draw(st.integers(0, 2))) if kind == "fixed" else name


@st.composite
def steps(draw, variables=(), depth=0):
    kind = draw(st.sampled_from(("load", "copy", "store", "copy", "loop") if depth < 2 else ("load", "copy", "store")))
    if kind == "loop":
        variable = f"i{depth}"
        inner = st.lists(steps(variables=(*variables, variable), depth=depth + 1), min_size=1, max_size=3)
        return Loop(variable, draw(st.integers(1, 3)), tuple(draw(inner)))
    if kind == "copy":
        dst, src = draw(windows(variables)), draw(windows(variables))
        if isinstance(dst, str) != isinstance(src, str):
            dst = src
        return copy(dst, src)
    return (load if kind == "load" else store)(
        draw(windows(variables)), draw(st.sampled_from(("in", "in2") if kind == "load" else ("out", "out2")))
    )


def without(program, flag):
    """The program without the set and the wait of one flag."""
    kept = []
    for step in program:
        if isinstance(step, Loop):
            kept.append(Loop(step.variable, step.count, without(step.body, flag)))
        elif not isinstance(step, (SetFlag, WaitFlag)) or (step.src, step.dst, step.event) != flag:
            kept.append(step)
    return tuple(kept)


@settings(max_examples=400, deadline=None)
@given(
    st.lists(steps(), min_size=1, max_size=5), st.lists(st.sampled_from((0, 32, 96, 128, 192)), min_size=4, max_size=4)
)
def test_random_programs_get_all_the_order_they_need_and_no_more(program, offsets):
    """Overlapping tiles, nested loops, moving windows: the checkers, which share nothing with the planner, find
    nothing; without any one of the flags they find something, unless hulls of nested loops made the planner careful."""
    tiles = tuple(tile(name, offset) for name, offset in zip("abcd", offsets, strict=True))
    plan = synchronised(tuple(program), tiles, GM, event_ids=64)
    roomy = replace(A2A3, event_ids=64)

    def order(plan):
        return [finding for finding in check_plan(plan, roomy) if finding.code.startswith(("PTG41", "PTG42"))]

    assert not order(plan), order(plan)[0]
    if not any(isinstance(step, Loop) for step in program):
        for flag in flags(plan.program):
            assert order(replace(plan, program=without(plan.program, flag))), flag


@settings(max_examples=200, deadline=None)
@given(st.lists(steps(), min_size=3, max_size=9), st.sampled_from((1, 2, 3)))
def test_random_programs_with_few_ids_are_right_or_refused(program, event_ids):
    tiles = tuple(tile(name, 96 * number) for number, name in enumerate("abcd"))
    try:
        plan = synchronised(tuple(program), tiles, GM, event_ids)
    except PtogenError as error:
        assert error.diagnostics[0].code == "PTG302"
        return
    found = check_plan(plan, replace(A2A3, event_ids=event_ids))
    assert not [one for one in found if one.code.startswith(("PTG41", "PTG42"))]
