"""ptogen for people who script: five functions, each the next step of the one path.

    suites = ptogen.load("spec.yaml")
    plans = ptogen.plan_suite(suites[0])
    ptogen.check_plans(suites[0], plans)
    rendered = ptogen.render_suite(suites[0], plans)
    report = ptogen.run("spec.yaml")

They raise :class:`ptogen.PtogenError` with every fault at once, and print nothing.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from ptogen import output
from ptogen.check import check_plan, check_suite
from ptogen.check.finding import Finding
from ptogen.plan.model import KernelPlan
from ptogen.plan.suite import plan_suite
from ptogen.render import st
from ptogen.render.suite import RenderedSuite
from ptogen.report.model import CheckReport
from ptogen.spec import load as _load
from ptogen.spec.model import Suite

__all__ = ["check_plans", "load", "plan_suite", "render_suite", "run", "write"]


def load(path: str | os.PathLike[str], *, ub_bytes: int | None = None) -> tuple[Suite, ...]:
    """The suites of a spec file, one a platform.

    Args:
        path: the spec.
        ub_bytes: capacity of UB to plan for, in place of the platforms'.

    Raises:
        PtogenError: every fault of the file.
    """
    return _load(path, ub_bytes=ub_bytes)


def check_plans(suite: Suite, plans: Sequence[KernelPlan]) -> list[Finding]:
    """What the checkers object to in these plans; nothing in plans that :func:`plan_suite` has made."""
    return [finding for one in plans for finding in check_plan(one, suite.platform)]


def render_suite(suite: Suite, plans: Sequence[KernelPlan], *, license_header: str | None = None) -> RenderedSuite:
    """The files of a suite as text, by path; :func:`write` puts them into a tree."""
    return st.render(suite, plans, license_header=license_header)


def write(out: str | os.PathLike[str], suites: Sequence[RenderedSuite], *, force: bool = False) -> list[output.Change]:
    """Makes a tree hold the suites, as ``ptogen kernel`` does, and says what became of each file.

    Raises:
        PtogenError: a file that would be overwritten is not ptogen's, or the tree cannot be written.
    """
    return output.write(Path(out), suites, force=force)


def run(
    place: str | os.PathLike[str], *, select: str | None = None, jobs: int | None = None, backend: str = "cpu-sim"
) -> CheckReport:
    """Builds a spec file or a tree, runs it on the CPU simulator and compares every byte.

    Args:
        place: a spec file, or a directory that ptogen has written.
        select: only cases whose name matches this glob.
        jobs: how many programs are built or run at once.
        backend: ``cpu-sim``; or ``npu-static``, which runs nothing: it compiles the suites of a2a3 against the NPU's
            headers and gives the cycles of pto-isa's cost model.

    Raises:
        ValueError: there is no such backend.
        PtogenError: the spec has faults, or something that a build needs is missing. Failed cases are in the report.
    """
    from ptogen.backend import BACKENDS, checking
    from ptogen.backend.cluster import Demands

    if backend not in BACKENDS:
        raise ValueError(f"no backend {backend!r}; there are {', '.join(BACKENDS)}")
    return checking.run(checking.trees([Path(place)], select, _rendered), Demands(backend), jobs=jobs)


def _rendered(specs: Sequence[Path]) -> list[RenderedSuite]:
    rendered = []
    for suite in (suite for spec in specs for suite in load(spec)):
        plans = plan_suite(suite)
        check_suite(suite, plans)
        rendered.append(render_suite(suite, plans))
    return rendered
