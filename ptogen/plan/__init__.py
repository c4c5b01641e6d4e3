"""From a suite to the plans of its cases."""

from __future__ import annotations

import sys
from dataclasses import replace

from ptogen.errors import Diagnostic, PtogenError
from ptogen.plan.model import KernelPlan
from ptogen.plan.planner import plan_case
from ptogen.spec.model import Suite
from ptogen.steps import Step


def plan_suite(suite: Suite) -> tuple[KernelPlan, ...]:
    """A plan for every case.

    Raises:
        PtogenError: PTG3xx of every case that cannot be planned, at its place in the spec.
    """
    plans: list[KernelPlan] = []
    faults: list[Diagnostic] = []
    for number, case in enumerate(suite.cases):
        try:
            plans.append(plan_case(suite.op, case, suite.platform, suite.mode, suite.ub_bytes))
        except PtogenError as error:
            position = suite.position(number)
            faults += [replace(diagnostic, position=position) for diagnostic in error.diagnostics]
    if faults:
        raise PtogenError(faults)
    return tuple(plans)


sys.modules[__name__].__class__ = Step
