"""``ptogen schema``: the JSON Schema of the spec file."""

from __future__ import annotations

import json

import click

from ptogen.spec.schema import schema as spec_schema


@click.command("schema")
def schema() -> None:
    """Print the JSON Schema of the spec file, for editors.

    ptogen schema > ptogen.schema.json, and in the first line of a spec: # yaml-language-server: $schema=ptogen.schema.json
    """
    click.echo(json.dumps(spec_schema(), indent=2))
