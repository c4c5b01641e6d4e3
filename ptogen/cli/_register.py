"""``--into`` and ``--remove`` of the commands that render."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ptogen.cli import print_json, printable

if TYPE_CHECKING:
    from ptogen.output import Change, Manifest
    from ptogen.register import Entry


def check_places(ctx: click.Context, into: Path | None, remove: Path | None) -> None:
    """--into, --remove and --out name one place, and only one of them may."""
    given = ctx.get_parameter_source("out") is not click.core.ParameterSource.DEFAULT
    if (into is not None) + (remove is not None) + given > 1:
        raise click.UsageError("--into, --remove and --out exclude one another.")
    for place in (into, remove):
        if place is not None and not place.is_dir():
            raise click.UsageError(f"There is no directory {place}.")


def kept_lines(out: Path, changes: Sequence[Change]) -> list[str]:
    """What is left of suites that were removed, and why."""
    return [
        f"kept, because {'a symbolic link leads to it' if change.linked else 'it was edited by hand'}: "
        f"{out / change.path}"
        for change in changes
        if change.foreign
    ]


def put_in(checkout: Path, entries: Sequence[Entry], looking: bool) -> None:
    """Registers suites and says on stderr which files that took."""
    from ptogen.register import register

    for file in register(checkout, entries, dry_run=looking):
        click.echo(printable(f"{'would register' if looking else 'registered'} in {checkout / file}"), err=True)


def take_out(checkout: Path, belongs: Callable[[Manifest], bool] | None, looking: bool, format_: str) -> None:
    """Removes the suites that belong to what was given; all that ptogen has put there where nothing was."""
    from ptogen import output
    from ptogen.register import withdraw

    keys = [manifest.key for manifest in output.read(checkout) if belongs is None or belongs(manifest)]
    changes = withdraw(checkout, None if belongs is None else keys, dry_run=looking)
    kept = [change.path for change in changes if change.foreign]
    if format_ == "json":
        removed = [change.path for change in changes if change.action == output.REMOVE]
        print_json({"out": str(checkout), "suites": keys, "removed": removed, "kept": kept})
        return
    lines = kept_lines(checkout, changes)
    done = "nothing was removed" if looking or not keys else f"{len(keys):,} suites taken out of {checkout}"
    click.echo(printable("\n".join([*lines, done])))
