"""``ptogen check``: suites built, run and compared on a backend."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from ptogen import report as reports
from ptogen.backend import BACKENDS
from ptogen.cli import executor_option, format_option, print_json, show, terminable, ub_bytes_option

if TYPE_CHECKING:
    from ptogen.backend.cluster import Demands
    from ptogen.backend.selection import Selection
    from ptogen.errors import Diagnostic
    from ptogen.executor import Executor
    from ptogen.report.model import CheckReport, SuiteResult
    from ptogen.report.progress import Progress

DECISIVE = ("backend", "pto_isa", "compiler", "pristine", "timeout", "ub_bytes")
"""Options that how a case ends depends on."""


def _report_files(_ctx: click.Context, _param: click.Parameter, value: tuple[Path, ...]) -> tuple[Path, ...]:
    for path in value:
        if path.suffix not in reports.ENDINGS:
            raise click.BadParameter(f"{path.name!r} ends neither in {' nor in '.join(reports.ENDINGS)}.")
    return value


class Amount(click.ParamType):
    """A number above 0 that the system can count with: neither infinite nor none at all.

    Args:
        name: the unit.
        most: the largest.
        words: how a message calls that.
    """

    def __init__(self, name: str, most: int, words: str) -> None:
        self.name = name
        self._most = most
        self._words = words

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        try:
            number = float(value)
        except ValueError:
            number = 0.0
        if not 0 < number <= self._most:
            self.fail(f"{value!r} is not a number of {self.name} above 0 and up to {self._words}.", param, ctx)
        return number


@click.command()
@click.argument("places", metavar="SPEC|TREE...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--backend",
    type=click.Choice(BACKENDS),
    default=BACKENDS[0],
    show_default=True,
    help="Where suites run, or (npu-static) what those of a2a3 compile against: the NPU's headers with a cost model.",
)
@click.option("--pto-isa", metavar="DIR", help="Checkout of pto-isa, or its include folder.")
@click.option("--compiler", metavar="CXX", help="C++ compiler to use.")
@click.option("--pristine", is_flag=True, help="Replace no simulator function; known defects are reported as such.")
@click.option(
    "-j", "--jobs", type=click.IntRange(min=1), help="Compilers and programs at once; default: one a processor."
)
@executor_option
@click.option("--select", metavar="GLOB", help="Only cases whose name, or SUITE.NAME, matches.")
@click.option("--last-failed", is_flag=True, help="Only cases that failed when they ran last; all, if none did.")
@click.option("--fail-fast", is_flag=True, help="Stop at the first case that fails.")
@click.option(
    "--memory",
    "memory_gib",
    type=Amount("GiB", 2**30, "1,073,741,824"),
    metavar="GIB",
    help="Memory that compilers may take together; default: what is free.",
)
@click.option(
    "--timeout",
    type=Amount("seconds", 86_400, "86,400 (a day)"),
    metavar="SECONDS",
    default=120.0,
    show_default=True,
    help="Seconds for one case; gen_data.py gets as many for each case of its suite.",
)
@click.option(
    "--report",
    "report_files",
    multiple=True,
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    callback=_report_files,
    help="Also write the report to FILE (.html for a page to read, .json, or .xml for JUnit); may be repeated.",
)
@ub_bytes_option
@format_option
@click.pass_context
def check(
    ctx: click.Context,
    places: tuple[Path, ...],
    backend: str,
    pto_isa: str | None,
    compiler: str | None,
    pristine: bool,
    jobs: int | None,
    executor: str,
    select: str | None,
    last_failed: bool,
    fail_fast: bool,
    memory_gib: float | None,
    timeout: float,
    report_files: tuple[Path, ...],
    ub_bytes: int | None,
    format_: str,
) -> None:
    """Build, run and compare suites on a backend.

    A spec file is rendered first; a directory is what `ptogen kernel` wrote. Builds go to the user's cache, never into
    a tree. On cpu-sim a case passes when every byte of its result is right; npu-static runs none, and says what each
    instruction costs.
    """
    from ptogen.backend.cluster import Demands
    from ptogen.backend.failures import Failures
    from ptogen.errors import PtogenError
    from ptogen.executor import opened
    from ptogen.report.model import merge
    from ptogen.report.progress import for_stderr

    if pristine and backend != "cpu-sim":
        raise click.UsageError(f"--pristine is for --backend cpu-sim: {backend} replaces no function.")
    demands = Demands(
        backend,
        pto_isa,
        compiler,
        timeout,
        fail_fast,
        None if memory_gib is None else int(memory_gib * 2**30),
        {"pristine": True} if pristine else {},
    )
    trees = [(tree, chosen, Failures(tree, backend)) for tree, chosen in _trees(places, select, ub_bytes)]
    if last_failed:
        if any(failures.names for _, _, failures in trees):
            trees = [
                (tree, replace(chosen, names=frozenset(failures.names)), failures)
                for tree, chosen, failures in trees
                if failures.names
            ]
        else:
            click.echo("no case failed last time: checking all", err=True)
    progress = for_stderr()
    made: list[CheckReport] = []
    remarks: list[Diagnostic] = []
    try:
        with terminable(), opened(executor, jobs, os.cpu_count() or 1) as place:
            if place.shares_files:
                checked = _here(demands, jobs, progress, remarks)
            else:
                checked = partial(_there, demands, place)
            for tree, chosen, failures in trees:

                def ended(suite: SuiteResult, failures: Failures = failures) -> None:
                    progress.ended(suite)
                    failures.add(suite)

                try:
                    made.append(checked(tree, select=chosen, progress=progress, ended=ended))
                finally:
                    failures.keep()
    finally:
        progress.close()
    result = replace(merge(made), command=_command(ctx, places))
    for remark in remarks:
        show(remark)
    # First the files: what reads standard output may go away.
    faults: list[Diagnostic] = []
    for path in report_files:
        try:
            reports.write(result, path)
        except PtogenError as error:
            faults += error.diagnostics
    _print(result, format_)
    for fault in faults:
        show(fault)
    ctx.exit(int(PtogenError(faults).exit_code if faults else result.exit_code))


def _here(
    demands: Demands, jobs: int | None, progress: Progress, remarks: list[Diagnostic]
) -> Callable[..., CheckReport]:
    """Checks a tree with the compiler of this machine; ``remarks`` gets what is to be said at the end."""
    from ptogen.backend import headers, module, toolchain
    from ptogen.errors import Diagnostic

    found = headers.find(demands.pto_isa, allow_fetch=True, progress=progress.line)
    tools = toolchain.find(found, demands.compiler)
    for attempt in tools.attempts:
        if attempt.fault and attempt.reason == "CXX":
            message = f"CXX={attempt.name} does not serve: {attempt.fault}; using {tools.compiler}"
            remarks.append(Diagnostic("PTG502", message, severity="note"))
    return partial(
        module(demands.backend).check,
        headers=found,
        toolchain=tools,
        jobs=jobs,
        fail_fast=demands.fail_fast,
        timeout=demands.timeout,
        memory_bytes=demands.memory_bytes,
        **demands.choices,
    )


def _there(demands: Demands, executor: Executor, tree: Path, **choices: Any) -> CheckReport:
    """Checks a tree with the compilers of a cluster."""
    from ptogen.backend import cluster

    return cluster.check(tree, demands, executor, **choices)


def _command(ctx: click.Context, places: Sequence[Path]) -> tuple[str, ...]:
    """The words that check the same again, for the report; which cases, it adds itself."""
    words = ["ptogen", "check", *map(str, places)]
    for option in ctx.command.params:
        given = ctx.get_parameter_source(option.name or "") is ParameterSource.COMMANDLINE
        if option.name in DECISIVE and given:
            value = ctx.params[option.name]
            words += [option.opts[0]] if value is True else [option.opts[0], str(value)]
    return tuple(words)


def _trees(places: Sequence[Path], glob: str | None, ub_bytes: int | None) -> Iterator[tuple[Path, Selection]]:
    """Each tree to check, and what of it."""
    from ptogen.backend.selection import Selection

    seen = set()
    given = [place for place in places if place.is_dir()]
    if given and ub_bytes is not None:
        raise click.UsageError(
            f"--ub-bytes is for specs: {given[0]} is a directory, and its suites have been planned already; "
            "render them again with `ptogen kernel --ub-bytes`."
        )
    for place in given:
        if os.path.realpath(place) not in seen:
            seen.add(os.path.realpath(place))
            yield place, Selection(glob)
    specs = [place for place in places if not place.is_dir()]
    if specs:
        from ptogen import output
        from ptogen.backend import cache
        from ptogen.cli._render import render_specs

        suites = render_specs(specs, ub_bytes=ub_bytes)
        # The same specs get the same tree, so that only what changed is built again.
        tree = cache.root() / "trees" / cache.digest(*sorted(os.path.realpath(spec) for spec in specs))
        output.write(tree, suites, force=True)
        yield tree, Selection(glob, frozenset(suite.key for suite in suites), place=", ".join(map(str, specs)))


def _print(result: CheckReport, format_: str) -> None:
    for note in result.notes:
        show(note)
    if format_ == "json":
        from ptogen.report.data import as_data

        print_json(as_data(result))
    else:
        from ptogen.report import text

        text.show(result, sys.stdout)
