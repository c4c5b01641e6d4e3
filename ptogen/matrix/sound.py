"""Plans that have passed the checkers, made once for all cases and platforms that share them.

A plan follows from the tiles and instructions that a case needs, its tensors, its pins, the mode, the room and the
event ids; the checkers add what the headers of the platform's *family* do. Two cases that agree in all of this, such as
one case on several platforms of the family a5, or with other data, have the same plan but for the names in it, so it is
made and checked once. Of the room nothing counts but that it is enough, where the tiles stand one behind the other.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ptogen.check import check_suite
from ptogen.ops.base import align_up
from ptogen.plan import plan_suite
from ptogen.plan.model import KernelPlan
from ptogen.spec.model import Suite

_MOST = 2_048
"""Plans that are remembered: those of one op on two platforms, in a matrix of a sensible size."""


class Question:
    """All that a plan follows from but the room; its hash, which takes a while, is computed once."""

    __slots__ = ("_hash", "_parts")

    def __init__(self, *parts: Any) -> None:
        self._parts = parts
        self._hash = hash(parts)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Question) and self._hash == other._hash and self._parts == other._parts


_known: dict[Question, KernelPlan] = {}


def sound_plans(suite: Suite) -> tuple[KernelPlan, ...]:
    """The plan of every case, accepted by the checkers.

    Raises:
        PtogenError: the faults of all cases, or else the findings of the checkers.
    """
    questions = [_question(suite, place) for place in range(len(suite.cases))]
    answers = {question: plan for question in questions if (plan := _served(question, suite.ub_bytes))}
    if new := {question: place for place, question in enumerate(questions) if question not in answers}:
        places = sorted(new.values())
        part = replace(
            suite,
            cases=tuple(suite.cases[place] for place in places),
            paths=tuple(suite.paths[place] for place in places),
        )
        plans = plan_suite(part)
        check_suite(part, plans)
        made = {questions[place]: plan for place, plan in zip(places, plans, strict=True)}
        answers.update(made)
        _known.update(made)
        for question in list(_known)[: max(0, len(_known) - _MOST)]:
            del _known[question]
    names = {"platform": suite.platform.name, "ub_bytes": suite.ub_bytes}
    return tuple(
        replace(answers[question], case=case.name or "", **names)
        for case, question in zip(suite.cases, questions, strict=True)
    )


def _served(question: Question, ub_bytes: int) -> KernelPlan | None:
    """The plan that is known, where it is also the plan for so much room."""
    plan = _known.get(question)
    if plan is None or plan.ub_bytes == ub_bytes:
        return plan
    # The planner places tiles one behind the other wherever that fits, so more or less room changes nothing.
    end = 0
    for tile in plan.tiles:
        if tile.offset != align_up(end, tile.align):
            return None
        end = tile.end
    return plan if end <= ub_bytes else None


def _question(suite: Suite, place: int) -> Question:
    case, platform = suite.cases[place], suite.platform
    return Question(
        suite.op.name,
        platform.family,
        platform.event_ids,
        suite.mode,
        suite.op.sizing(case, platform),
        suite.op.tensors(case),
        None if case.ub is None else (tuple(sorted(case.ub.items())), suite.ub_bytes),
    )
