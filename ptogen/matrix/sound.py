"""Plans that have passed the checkers, made once for all cases and platforms that share them.

A plan follows from the tiles and instructions that a case needs, its tensors, its pins, the mode, the room and the
event ids; the checkers add what the headers of the platform's *family* do. Of all that, the names of ops and of element
types only say what the plan is called: bytes decide where tiles stand and which steps meet. So cases of one *form*,
which is the same but for those names, have one plan: a case on several platforms of the family a5, or with other data,
float32 and int32, TPARTADD and TPARTMUL. It is made and checked for the first of them. The others get it with their own
names, after their instructions have been asked what they do: where that is anything but what was accepted, they are
planned and checked by themselves. Of the room nothing counts but that it is enough, where the tiles stand one behind
the other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache, lru_cache
from typing import Any, NamedTuple

from ptogen.check import check_suite
from ptogen.check.planned import instruction_effects
from ptogen.dtypes import Dtype
from ptogen.errors import PtogenError
from ptogen.graph.model import Graph
from ptogen.ops.base import Op
from ptogen.ops.effects import Effects
from ptogen.ops.sizing import Sizing, Tensor, align_up
from ptogen.plan.model import Instruction, KernelPlan, Load, Program, Step, Store, Window, rewritten
from ptogen.plan.suite import plan_suite
from ptogen.spec.model import Suite

_MOST = 2_048
"""Plans that are remembered: those of one op on two platforms, in a matrix of a sensible size."""


class Form:
    """All that a plan follows from but the room and what things are called; its hash, which takes a while, is computed
    once."""

    __slots__ = ("_hash", "_parts")

    def __init__(self, *parts: Any) -> None:
        self._parts = parts
        self._hash = hash(parts)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Form) and self._hash == other._hash and self._parts == other._parts


class Question(NamedTuple):
    """What a case asks for: a form, and the names in it."""

    form: Form
    graph: Graph
    dtypes: tuple[tuple[str, Dtype], ...]
    tensors: tuple[Tensor, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """What it is called, to tell it from others of its form."""
        own = [tensor.record.name if tensor.record else tensor.dtype.name for tensor in self.tensors]
        return (self.graph.name, *(dtype.name for _, dtype in self.dtypes), *own)


class Sound(NamedTuple):
    """A plan that was accepted, the names in it, and what its instructions do."""

    plan: KernelPlan
    graph: Graph
    names: tuple[str, ...]
    effects: tuple[Effects, ...]


_known: dict[Form, Sound] = {}
_named: dict[tuple[Form, tuple[str, ...]], KernelPlan] = {}
"""The same plans by the names in them."""


def sound_plans(suite: Suite) -> tuple[KernelPlan, ...]:
    """The plan of every case, accepted by the checkers.

    Raises:
        PtogenError: the faults of all cases, or else the findings of the checkers.
    """
    questions = [_question(suite, place) for place in range(len(suite.cases))]
    keys = [(question.form, question.names) for question in questions]
    plans = {key: plan for key in keys if (plan := _named.get(key)) and _serves(plan, suite.ub_bytes)}
    missing = {key: place for place, key in enumerate(keys) if key not in plans}
    firsts = {form: place for (form, _), place in reversed(missing.items()) if not _has(form, suite.ub_bytes)}
    try:
        _learn(suite, questions, sorted(firsts.values()))
    except PtogenError:
        # To name every case that is wrong, and not only one of each form.
        _learn(suite, questions, sorted(missing.values()))
        raise
    for key, place in missing.items():
        plans[key] = _as_named(suite, questions, place)
    _named.update((key, plans[key]) for key in missing)
    _forget(_known)
    _forget(_named)
    platform, room = suite.platform.name, suite.ub_bytes
    return tuple(
        replace(plans[key], case=case.name or "", platform=platform, ub_bytes=room)
        for case, key in zip(suite.cases, keys, strict=True)
    )


def _forget(known: dict[Any, Any]) -> None:
    """The oldest of what is too many."""
    for key in list(known)[: max(0, len(known) - _MOST)]:
        del known[key]


def _has(form: Form, ub_bytes: int) -> bool:
    return form in _known and _serves(_known[form].plan, ub_bytes)


def _learn(suite: Suite, questions: Sequence[Question], places: Sequence[int]) -> None:
    """Plans and checks cases of a suite."""
    if not places:
        return
    part = replace(
        suite,
        cases=tuple(suite.cases[place] for place in places),
        paths=tuple(suite.paths[place] for place in places),
    )
    plans = plan_suite(part)
    check_suite(part, plans)
    for place, plan in zip(places, plans, strict=True):
        effects = instruction_effects(plan, suite.platform.family)
        _known[questions[place].form] = Sound(plan, suite.graph, questions[place].names, effects)


def _as_named(suite: Suite, questions: Sequence[Question], place: int) -> KernelPlan:
    """The plan of its form with the names of a case, where its instructions do what was accepted."""
    question = questions[place]
    known = _known[question.form]
    if question.names == known.names:
        return known.plan
    dtypes = dict(question.dtypes)
    of_tiles = {tile.name: dtypes[tile.operand] for tile in known.plan.tiles}
    plan = replace(
        known.plan,
        name=question.graph.name,
        tensors=question.tensors,
        tiles=tuple(replace(tile, dtype=of_tiles[tile.name]) for tile in known.plan.tiles),
        program=_renamed(known.plan.program, dict(zip(known.graph.ops, question.graph.ops, strict=True)), of_tiles),
    )
    if instruction_effects(plan, suite.platform.family) != known.effects:
        _learn(suite, questions, [place])
        return _known[question.form].plan
    return plan


def _renamed(program: Program, ops: Mapping[Op, Op], dtypes: Mapping[str, Dtype]) -> Program:
    """The program with other ops, and with other element types of tiles."""

    def typed(window: Window) -> Window:
        return replace(window, dtype=dtypes[window.tile])

    def change(step: Step) -> tuple[Step, ...]:
        if isinstance(step, Instruction):
            args = tuple((name, typed(window)) for name, window in step.args)
            return (replace(step, op=ops[step.op], args=args),)
        if isinstance(step, Load):
            return (replace(step, dst=typed(step.dst)),)
        return (replace(step, src=typed(step.src)),) if isinstance(step, Store) else (step,)

    return rewritten(program, change)


def _serves(plan: KernelPlan, ub_bytes: int) -> bool:
    """Whether the plan is also the plan for so much room."""
    if plan.ub_bytes == ub_bytes:
        return True
    # The planner places tiles one behind the other wherever that fits, so more or less room changes nothing.
    end = 0
    for tile in plan.tiles:
        if tile.offset != align_up(end, tile.align):
            return False
        end = tile.end
    return end <= ub_bytes


def _question(suite: Suite, place: int) -> Question:
    case, graph, platform = suite.cases[place], suite.graph, suite.platform
    sizing, tensors = graph.sizing(case, platform), graph.tensors(case)
    form = Form(
        platform.family,
        platform.event_ids,
        suite.mode,
        len(graph.nodes),
        _unnamed(sizing),
        tuple(map(_unnamed_tensor, tensors)),
        None if case.ub is None else (tuple(sorted(case.ub.items())), suite.ub_bytes),
    )
    return Question(form, graph, tuple((one.name, one.dtype) for one in sizing.operands), tensors)


@cache
def _sized(bytes: int) -> Dtype:
    """An element type of which the size alone is known."""
    return Dtype(f"{bytes} bytes", bytes, "")


# Remembered, because the ops of a family and the platforms ask with the very same objects.


@lru_cache(_MOST)
def _unnamed(sizing: Sizing) -> Sizing:
    """The sizing without the names of element types."""
    return replace(sizing, operands=tuple(replace(one, dtype=_sized(one.dtype.bytes)) for one in sizing.operands))


@lru_cache(_MOST)
def _unnamed_tensor(tensor: Tensor) -> Tensor:
    """The tensor without the names of element types."""
    record = tensor.record and _sized(tensor.record.bytes)
    return replace(tensor, dtype=_sized(tensor.dtype.bytes), record=record)
