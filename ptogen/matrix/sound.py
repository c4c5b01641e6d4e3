"""Plans that have passed the checkers, made once for all cases and platforms that share them.

A plan follows from the tiles and instructions that a case needs, its tensors, its pins, the mode, the room and the event ids; the checkers add
what the headers of the platform's *family* do. Two cases that agree in all of this, such as one case on the three Kirin platforms, or with other
data, have the same plan but for the names in it, so it is made and checked once.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import replace

from ptogen.check import check_suite
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
    new = {question: place for place, question in enumerate(questions) if question not in _known}
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
        found.append(replace(_known[question], case=case.name or "", platform=suite.platform.name))
    while len(_known) > _MOST:
        _known.popitem(last=False)
    return tuple(found)


def _question(suite: Suite, place: int) -> Hashable:
    case, platform = suite.cases[place], suite.platform
    return (
        suite.op.name,
        platform.family,
        platform.event_ids,
        suite.mode,
        suite.ub_bytes,
        suite.op.sizing(case, platform),
        suite.op.tensors(case),
        tuple(sorted((case.ub or {}).items())),
    )
