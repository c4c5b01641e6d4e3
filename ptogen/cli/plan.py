"""``ptogen plan``: what a kernel will do, before it is text."""

from __future__ import annotations

from fnmatch import fnmatchcase
from pathlib import Path

import click

from ptogen.cli import format_option, print_json, printable, ub_bytes_option


@click.command()
@click.argument("specs", metavar="SPEC...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--case", "pattern", metavar="GLOB", default="*", help="Only the cases whose name matches.")
@ub_bytes_option
@format_option
def plan(specs: tuple[Path, ...], pattern: str, ub_bytes: int | None, format_: str) -> None:
    """Show the plan of each case: tiles, addresses, program.

    The plan has passed the checkers; what they object to is shown in its place.
    """
    from ptogen.cli._render import load_specs, plan_suites
    from ptogen.errors import PtogenError
    from ptogen.render.plan_text import as_data, as_text

    suites, faults = load_specs(specs, ub_bytes)
    planned, plan_faults = plan_suites(suites)
    if faults or plan_faults:
        raise PtogenError([*faults, *plan_faults])
    chosen = [plan for _suite, plans in planned for plan in plans if fnmatchcase(plan.case, pattern)]
    if not chosen:
        names = ", ".join(sorted({plan.case for _suite, plans in planned for plan in plans}))
        raise click.UsageError(f"No case matches {pattern!r}; the cases are: {printable(names)}")
    if format_ == "json":
        print_json({"plans": [as_data(plan) for plan in chosen]})
    else:
        click.echo(printable("\n\n".join(map(as_text, chosen))))
