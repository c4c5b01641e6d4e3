"""From a suite to the plans of its cases."""

from __future__ import annotations

from dataclasses import replace

from ptogen.errors import Diagnostic, PtogenError
from ptogen.plan.fit import planned
from ptogen.plan.model import KernelPlan
from ptogen.spec.model import Suite


def plan_suite(suite: Suite) -> tuple[KernelPlan, ...]:
    """A plan for every case.

    Raises:
        PtogenError: PTG3xx of every case that cannot be planned, at its place in the spec.
    """
    plans: list[KernelPlan] = []
    faults: list[Diagnostic] = []
    for number, case in enumerate(suite.cases):
        try:
            plans.append(planned(suite.graph, case, suite.platform, suite.mode, suite.ub_bytes))
        except PtogenError as error:
            position = suite.position(number)
            faults += [replace(diagnostic, position=position) for diagnostic in error.diagnostics]
    if faults:
        raise PtogenError(faults)
    return tuple(plans)
