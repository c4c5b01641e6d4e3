"""``ptogen check``: suites built, run and compared on a backend."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from ptogen import report as reports
from ptogen.backend import BACKENDS
from ptogen.cli import executor_option, format_option, print_json, show, terminable, ub_bytes_option
from ptogen.errors import Diagnostic, Position

if TYPE_CHECKING:
    from ptogen.report.model import CheckReport

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
    report_files: tuple[Path, ...],
    ub_bytes: int | None,
    format_: str,
    **asked: Any,
) -> None:
    """Build, run and compare suites on a backend.

    A spec file is rendered first; a directory is what `ptogen kernel` wrote. Builds go to the user's cache, never into
    a tree. On cpu-sim a case passes when every byte of its result is right; npu-static runs none, and says what each
    instruction costs.
    """
    from ptogen.backend import checking
    from ptogen.backend.cluster import Demands
    from ptogen.cli._render import render_specs
    from ptogen.errors import PtogenError
    from ptogen.report.progress import for_stderr

    backend, memory = asked.pop("backend"), asked.pop("memory_gib")
    if asked["pristine"] and backend != BACKENDS[0]:
        raise click.UsageError(f"--pristine is for --backend {BACKENDS[0]}: {backend} replaces no function.")
    given = next((place for place in places if place.is_dir()), None)
    if given and ub_bytes is not None:
        raise click.UsageError(
            f"--ub-bytes is for specs: {given} is a directory, and its suites have been planned already; "
            "render them again with `ptogen kernel --ub-bytes`."
        )
    demands = Demands(
        backend,
        asked["pto_isa"],
        asked["compiler"],
        asked["timeout"],
        asked["fail_fast"],
        None if memory is None else int(memory * 2**30),
        {"pristine": True} if asked["pristine"] else {},
    )
    trees = checking.trees(places, asked["select"], partial(render_specs, ub_bytes=ub_bytes))
    progress = for_stderr()
    remarks: list[Diagnostic] = []
    chosen = {name: asked[name] for name in ("executor", "jobs", "last_failed")}
    try:
        with terminable():
            made = checking.run(trees, demands, **chosen, progress=progress, remark=remarks.append)
    finally:
        progress.close()
    result = replace(made, command=_command(ctx, places))
    # First the files: what reads standard output may go away.
    faults: list[Diagnostic] = []
    for path in report_files:
        try:
            reports.write(result, path)
        except PtogenError as error:
            faults += error.diagnostics
    for remark in (*remarks, *result.notes):
        show(remark)
    _print(result, format_)
    for fault in (*faults, *_nothing(result, places)):
        show(fault)
    ctx.exit(int(PtogenError(faults).exit_code if faults else result.exit_code))


def _nothing(result: CheckReport, places: Sequence[Path]) -> list[Diagnostic]:
    """PTG507 with the reasons, the most frequent first, where no case was run."""
    if not result.nothing_ran:
        return []
    reasons = Counter(case.reason for _, case in result.cases).most_common()
    details = tuple(f"{count} case{'s' * (count != 1)}: {reason}" for reason, count in reasons[:5])
    return [Diagnostic("PTG507", "no case was run", Position(", ".join(map(str, places))), details)]


def _command(ctx: click.Context, places: Sequence[Path]) -> tuple[str, ...]:
    """The words that check the same again, for the report; which cases, it adds itself."""
    words = ["ptogen", "check", *map(str, places)]
    for option in ctx.command.params:
        given = ctx.get_parameter_source(option.name or "") is ParameterSource.COMMANDLINE
        if option.name in DECISIVE and given:
            value = ctx.params[option.name]
            words += [option.opts[0]] if value is True else [option.opts[0], str(value)]
    return tuple(words)


def _print(result: CheckReport, format_: str) -> None:
    if format_ == "json":
        from ptogen.report.data import as_data

        print_json(as_data(result))
    else:
        from ptogen.report import text

        text.show(result, sys.stdout)
