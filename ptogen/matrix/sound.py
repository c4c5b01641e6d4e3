"""Plans that have passed the checkers, made once for all cases and platforms that share them.

A plan follows from the tiles and instructions that a case needs, its tensors, its pins, the mode, the room and the
event ids; the checkers add what the headers of the platform's *family* do. Two cases that agree in all of this, such as
one case on several platforms of the family a5, or with other data, have the same plan but for the names in it, so it is
made and checked once. Of the room nothing counts but that it is enough, where the tiles stand one behind the other.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import replace

from ptogen.check import check_suite
from ptogen.ops.base import align_up
from ptogen.plan import plan_suite
from ptogen.plan.model import KernelPlan
from ptogen.spec.model import Suite

_MOST = 2_048
"""Plans that are remembered: those of one op on one platform, in a matrix of a sensible size."""

_known: OrderedDict[Hashable, KernelPlan] = OrderedDict()


def sound_plans(suite: Suite) -> tuple[KernelPlan, ...]:
    """The plan of every case, accepted by the checkers.

    Raises:
        PtogenError: the faults of all cases, or else the findings of the checkers.
    """
    questions = [_question(suite, place) for place in range(len(suite.cases))]
    new = {question: place for place, question in enumerate(questions) if not _serves(question, suite.ub_bytes)}
    if new:
        places = sorted(new.values())
        part = replace(
            suite,
            cases=tuple(suite.cases[place] for place in places),
            paths=tuple(suite.paths[place] for place in places),
        )
        plans = plan_suite(part)
        check_suite(part, plans)
        _known.update(zip((questions[place] for place in places), plans, strict=True))
    found = []
    for case, question in zip(suite.cases, questions, strict=True):
        _known.move_to_end(question)
        names = {"case": case.name or "", "platform": suite.platform.name, "ub_bytes": suite.ub_bytes}
        found.append(replace(_known[question], **names))
    while len(_known) > _MOST:
        _known.popitem(last=False)
    return tuple(found)


def _serves(question: Hashable, ub_bytes: int) -> bool:
    """Whether the plan that is known is also the plan for so much room."""
    plan = _known.get(question)
    if plan is None or plan.ub_bytes == ub_bytes:
        return plan is not None
    # The planner places tiles one behind the other wherever that fits, so more or less room changes nothing.
    end = 0
    for tile in plan.tiles:
        if tile.offset != align_up(end, tile.align):
            return False
        end = tile.end
    return end <= ub_bytes


def _question(suite: Suite, place: int) -> Hashable:
    case, platform = suite.cases[place], suite.platform
    return (
        suite.op.name,
        platform.family,
        platform.event_ids,
        suite.mode,
        suite.op.sizing(case, platform),
        suite.op.tensors(case),
        None if case.ub is None else (tuple(sorted(case.ub.items())), suite.ub_bytes),
    )
