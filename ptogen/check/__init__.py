"""The checkers: they trust no plan and share nothing with the planner but the plan's model."""

from __future__ import annotations

from collections.abc import Sequence

from ptogen.check.finding import Finding
from ptogen.check.initcheck import initcheck
from ptogen.check.memcheck import memcheck
from ptogen.check.planned import trace
from ptogen.check.racecheck import racecheck
from ptogen.check.replay import replay
from ptogen.check.synccheck import synccheck
from ptogen.check.trace import Trace
from ptogen.errors import PtogenError
from ptogen.plan.model import KernelPlan
from ptogen.platforms import Pipe, Platform
from ptogen.spec.model import Suite


def check_plan(plan: KernelPlan, platform: Platform) -> list[Finding]:
    """Everything that is wrong with a plan, by checker: memory, flags, races, uninitialised bytes; empty for a sound
    one."""
    return check_trace(trace(plan, platform), platform)


def check_trace(
    run: Trace,
    platform: Platform,
    *,
    declared: bool = True,
    in_order: frozenset[Pipe] = frozenset(),
    flags: bool = True,
) -> list[Finding]:
    """Everything that is wrong with a run of a kernel on one core.

    Args:
        run: of a plan or from a recording.
        platform: whose rules hold.
        declared: see :func:`ptogen.check.memcheck.memcheck`.
        in_order: see :func:`ptogen.check.racecheck.racecheck`.
        flags: whether flags and races count; not on a platform that runs one instruction after the other.
    """
    findings = memcheck(run, declared)
    if run.addressed and flags:
        outcome = replay(run.events)
        findings += synccheck(run, outcome, platform) + racecheck(run, outcome, in_order)
    overlaps = {tile.name for finding in findings if finding.code == "PTG403" for tile in finding.ranges}
    # What is loaded over another tile is lost to it: that was said.
    said = {("PTG432", name) for name in overlaps}
    return findings + [one for one in initcheck(run) if not one.steps or (one.code, one.ranges[0].name) not in said]


def check_suite(suite: Suite, plans: Sequence[KernelPlan]) -> None:
    """Judge every plan of a suite; a plan is held to every document, so whatever is found refuses it.

    Raises:
        PtogenError: the findings of all plans, at the case, or at the pinned address, that they concern.
    """
    faults = []
    for number, (case, plan) in enumerate(zip(suite.cases, plans, strict=True)):
        for finding in check_plan(plan, suite.platform):
            pinned = finding.operand if case.ub and finding.operand in case.ub else None
            position = suite.position(number, "ub", pinned) if pinned else suite.position(number)
            faults.append(finding.diagnostic(position))
    if faults:
        raise PtogenError(faults)
