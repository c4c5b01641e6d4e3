"""``ptogen plan``: what a kernel will do, before it is text."""

from __future__ import annotations

from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ptogen.cli import format_option, print_json, printable, show, ub_bytes_option

if TYPE_CHECKING:
    from ptogen.spec.model import Suite


@click.command()
@click.argument("specs", metavar="SPEC...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--case", "pattern", metavar="GLOB", default="*", help="Only the cases whose name matches.")
@ub_bytes_option
@format_option
@click.pass_context
def plan(ctx: click.Context, specs: tuple[Path, ...], pattern: str, ub_bytes: int | None, format_: str) -> None:
    """Show the plan of each case: tiles, addresses, program.

    The plan has passed the checkers. A case that cannot be planned, or whose plan they object to, is shown as a
    message, and the others are shown all the same.
    """
    from ptogen.cli._render import load_specs, plan_suites
    from ptogen.errors import PtogenError
    from ptogen.render.plan_text import as_data, as_text

    suites, faults = load_specs(specs, ub_bytes)
    cases = [(str(one.cases[0].name), one) for suite in suites for one in _one_by_one(suite)]
    chosen = [one for name, one in cases if fnmatchcase(name, pattern)]
    if not chosen and not faults:
        names = ", ".join(sorted({name for name, _ in cases}))
        raise click.UsageError(f"No case matches {pattern!r}; the cases are: {printable(names)}")
    planned, plan_faults = plan_suites(chosen)
    faults += plan_faults
    plans = [plan for _suite, (plan,) in planned]
    if format_ == "json":
        data: dict[str, object] = {"plans": [as_data(plan) for plan in plans]}
        if faults:
            data["diagnostics"] = [fault.as_dict() for fault in faults]
        print_json(data)
    elif plans:
        click.echo(printable("\n\n".join(map(as_text, plans))))
    for fault in faults:
        show(fault)
    if faults:
        ctx.exit(int(PtogenError(faults).exit_code))


def _one_by_one(suite: Suite) -> list[Suite]:
    """A suite for each case, so that none stands or falls with another."""
    return [replace(suite, cases=(case,), paths=(path,)) for case, path in zip(suite.cases, suite.paths, strict=True)]
