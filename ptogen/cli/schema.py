"""``ptogen schema``: the JSON Schema of the spec file."""

from __future__ import annotations

import json

import click


@click.command("schema")
def schema() -> None:
    """Print the JSON Schema of the spec file, for editors.

    Write it to a file (ptogen schema > ptogen.schema.json) and name the file in the first line of a spec:
    # yaml-language-server: $schema=ptogen.schema.json
    """
    from ptogen.spec.schema import schema as spec_schema

    click.echo(json.dumps(spec_schema(), indent=2))
