"""The checkers: they trust no plan and share nothing with the planner but the plan's model."""

from __future__ import annotations

from ptogen.check.finding import Finding
from ptogen.check.initcheck import initcheck
from ptogen.check.memcheck import memcheck
from ptogen.check.racecheck import racecheck
from ptogen.check.replay import replay
from ptogen.check.synccheck import synccheck
from ptogen.check.trace import trace
from ptogen.ops.base import Op
from ptogen.plan.model import KernelPlan
from ptogen.platforms import Platform


def check(plan: KernelPlan, op: Op, platform: Platform) -> list[Finding]:
    """Everything that is wrong with a plan, by checker: memory, flags, races, uninitialised bytes; empty for a sound one."""
    events = trace(plan, op, platform)
    findings = memcheck(plan, events)
    if plan.mode == "manual":
        outcome = replay(events)
        findings += synccheck(events, outcome, platform) + racecheck(events, outcome)
    return findings + initcheck(plan, events)
