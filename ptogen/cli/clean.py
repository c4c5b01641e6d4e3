"""``ptogen clean``: takes back what ptogen wrote."""

from __future__ import annotations

from pathlib import Path

import click

from ptogen.cli import Directory, format_option, print_json, printable
from ptogen.cli._register import kept_lines


@click.command()
@click.argument("out", type=Directory())
@click.option("--dry-run", is_flag=True, help="Say what would be removed and remove nothing.")
@format_option
def clean(out: Path, dry_run: bool, format_: str) -> None:
    """Remove the suites that ptogen wrote.

    Removes the files that the manifests of the tree OUT record, and the folders that this leaves empty. A file that was
    edited since is kept and named. In a pto-isa checkout the suites are taken off its lists, too.
    """
    from ptogen import output
    from ptogen.register import withdraw

    if not out.is_dir():
        raise click.UsageError(f"There is no directory {out}.")
    changes = withdraw(out, dry_run=dry_run)
    removed = [change for change in changes if change.action == output.REMOVE and not change.is_manifest]
    kept = [change.path for change in changes if change.foreign]
    if format_ == "json":
        print_json({"out": str(out), "removed": [change.path for change in removed], "kept": kept})
        return
    suites = len({change.suite for change in changes if change.suite})
    lines = [f"would remove {out / change.path}" for change in removed] if dry_run else []
    lines += kept_lines(out, changes)
    done = "nothing was removed" if dry_run else f"{len(removed):,} files of {suites:,} suites removed from {out}"
    click.echo(printable("\n".join([*lines, done])))
