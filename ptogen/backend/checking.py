"""A check from places to a report: what the command and the API both do."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from ptogen import output
from ptogen.backend import cache, cluster, headers, module, toolchain
from ptogen.backend.cluster import Demands
from ptogen.backend.failures import Failures
from ptogen.backend.selection import Selection
from ptogen.errors import Diagnostic
from ptogen.executor import opened
from ptogen.render.suite import RenderedSuite
from ptogen.report.model import CheckReport, SuiteResult, merge
from ptogen.report.progress import Progress

Trees = list[tuple[Path, Selection]]
"""Each tree to check, and what of it."""


def trees(
    places: Sequence[Path], glob: str | None, render: Callable[[Sequence[Path]], Sequence[RenderedSuite]]
) -> Trees:
    """The directories as they are, and one tree of all spec files.

    Args:
        places: directories that ptogen has written, and spec files.
        glob: only cases whose name matches.
        render: from spec files to suites.

    Raises:
        PtogenError: whatever ``render`` says, or the cache cannot be written.
    """
    directories = {os.path.realpath(place): place for place in reversed(places) if place.is_dir()}
    found = [(place, Selection(glob)) for place in reversed(directories.values())]
    specs = [place for place in places if not place.is_dir()]
    if specs:
        suites = render(specs)
        # The same specs get the same tree, so that only what changed is built again.
        tree = cache.root() / "trees" / cache.digest(*sorted(os.path.realpath(spec) for spec in specs))
        output.write(tree, suites, force=True)
        keys = frozenset(suite.key for suite in suites)
        found.append((tree, Selection(glob, keys, place=", ".join(map(str, specs)))))
    return found


def run(
    chosen: Trees,
    demands: Demands,
    *,
    executor: str = "local",
    jobs: int | None = None,
    last_failed: bool = False,
    progress: Progress | None = None,
    remark: Callable[[Diagnostic], None] = lambda note: None,
) -> CheckReport:
    """Builds, runs and compares what is chosen, and remembers which cases failed.

    Args:
        chosen: from :func:`trees`.
        demands: on which backend, and how.
        executor: as ``--executor`` has it.
        jobs: compilers and programs at once; default: one a processor.
        last_failed: only cases that failed when they ran last; all, if none did.
        progress: told what happens.
        remark: told what the user should know besides.

    Raises:
        PtogenError: what keeps everything from being checked. Failed cases are in the report.
    """
    progress = progress or Progress()
    known = [(tree, select, Failures(tree, demands.backend)) for tree, select in chosen]
    if last_failed and any(failures.names for _, _, failures in known):
        known = [
            (tree, replace(select, names=frozenset(failures.names)), failures)
            for tree, select, failures in known
            if failures.names
        ]
    elif last_failed:
        progress.line("no case failed last time: checking all")
    made: list[CheckReport] = []
    with opened(executor, jobs, os.cpu_count() or 1) as place:
        if place.shares_files:
            check = _here(demands, jobs, progress, remark)
        else:
            check = partial(cluster.check, demands=demands, executor=place)
        for tree, select, failures in known:

            def ended(suite: SuiteResult, failures: Failures = failures) -> None:
                progress.ended(suite)
                failures.add(suite)

            try:
                made.append(check(tree, select=select, progress=progress, ended=ended))
            finally:
                failures.keep()
    return merge(made)


def _here(
    demands: Demands, jobs: int | None, progress: Progress, remark: Callable[[Diagnostic], None]
) -> Callable[..., CheckReport]:
    """Checks a tree with the compiler of this machine."""
    found = headers.find(demands.pto_isa, allow_fetch=True, progress=progress.line)
    tools = toolchain.find(found, demands.compiler)
    for attempt in tools.attempts:
        if attempt.fault and attempt.reason == "CXX":
            message = f"CXX={attempt.name} does not serve: {attempt.fault}; using {tools.compiler}"
            remark(Diagnostic("PTG502", message, severity="note"))
    choices: dict[str, Any] = dict(demands.choices)
    return partial(
        module(demands.backend).check,
        headers=found,
        toolchain=tools,
        jobs=jobs,
        fail_fast=demands.fail_fast,
        timeout=demands.timeout,
        memory_bytes=demands.memory_bytes,
        **choices,
    )
