"""``ptogen platforms``: the platform table."""

from __future__ import annotations

import click

from ptogen.cli import format_option, print_json, table


@click.command()
@format_option
def platforms(format_: str) -> None:
    """List the platforms."""
    from dataclasses import asdict

    from ptogen.platforms import PLATFORMS

    if format_ == "json":
        print_json({"platforms": [asdict(platform) for platform in PLATFORMS.values()]})
        return
    rows: list[tuple[object, ...]] = [("platform", "headers", "UB bytes", "modes", "event ids", "ST root")]
    for row in PLATFORMS.values():
        rows.append((row.name, row.family, f"{row.ub_bytes:,}", ", ".join(row.modes), row.event_ids, row.st_root))
    click.echo(table(rows, numbers=(2, 4)))
    click.echo()
    click.echo(table([(row.name, row.note) for row in PLATFORMS.values()]))
