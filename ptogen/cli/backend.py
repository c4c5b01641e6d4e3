"""``ptogen backend``: what builds and runs need, and what of it is here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from ptogen.cli import format_option, print_json, show, table

if TYPE_CHECKING:
    from ptogen.backend.headers import Headers
    from ptogen.backend.toolchain import Attempt


@click.group()
def backend() -> None:
    """Show or fetch what builds and runs need."""


@backend.command()
def fetch() -> None:
    """Download the pinned pto-isa headers into the user's cache, once."""
    from ptogen.backend import headers

    found = headers.fetch(lambda line: click.echo(line, err=True))
    click.echo(f"{found.include} ({found.version})")


@backend.command("list")
@click.option("--pto-isa", metavar="DIR", help="Checkout of pto-isa, or its include folder.")
@click.option("--compiler", metavar="CXX", help="C++ compiler to look at.")
@format_option
def list_(pto_isa: str | None, compiler: str | None, format_: str) -> None:
    """Show the headers, the compilers, the build tools and the known defects of the headers.

    Nothing is downloaded. What is missing is said with the way to get it.
    """
    data = _look(pto_isa, compiler)
    if format_ == "json":
        print_json(data)
        return
    headers = data["headers"]
    rows: list[tuple[object, ...]] = [("what", "state", "where")]
    if headers["include"] is None:
        rows.append(("pto-isa headers", "missing", "--pto-isa DIR, PTO_ISA_ROOT, or `ptogen backend fetch`"))
    else:
        rows.append(("pto-isa headers", headers["version"] or "found", f"{headers['include']} ({headers['origin']})"))
    for row in data["compilers"]:
        works = f"works, {'with' if row['bfloat16'] else 'without'} bfloat16"
        rows.append((f"compiler {row['name']}", row["fault"] or works, row["version"] or ""))
    for name, package in (("clang++", "clang"), ("g++", "g++")) if not data["compilers"] else ():
        rows.append((f"compiler {name}", "not found", f"apt: {package}"))
    for row in data["tools"]:
        state = {True: "found", False: "missing", None: "unknown without a compiler"}[row["found"]]
        rows.append((row["name"], state, row["place"] or f"apt: {row['package']}"))
    click.echo(table(rows))
    if data["defects"]:
        click.echo("\nknown defects of the CPU simulator in these headers:")
        defects = [
            (row["id"], "present" if row["present"] else "vanished", row["condition"]) for row in data["defects"]
        ]
        click.echo(table([("defect", "state", "condition"), *defects]))


def _look(pto_isa: str | None, compiler: str | None) -> dict[str, Any]:
    """Everything as JSON-ready data; what cannot be learnt without headers or a compiler is left out."""
    from ptogen.backend import headers, probe, toolchain
    from ptogen.errors import PtogenError

    found: Headers | None = None
    try:
        found = headers.find(pto_isa)
    except PtogenError as error:
        if pto_isa is not None or any("PTO_ISA_ROOT" in fault.message for fault in error.diagnostics):
            raise
    attempts: list[Attempt] = toolchain.try_compilers(found, compiler, all_of_them=True)
    chosen = next((attempt.compiler for attempt in attempts if not attempt.fault), None)
    asked = chosen or next((attempt.compiler for attempt in attempts if attempt.compiler), None)
    return {
        "headers": {
            "include": str(found.include) if found else None,
            "origin": found.origin if found else None,
            "version": found.version if found else None,
            "digest": found.digest if found else None,
        },
        "compilers": [
            {
                "name": attempt.name,
                "asked": attempt.reason,
                "path": " ".join(attempt.compiler.command) if attempt.compiler else None,
                "version": attempt.compiler.version if attempt.compiler else None,
                "fault": attempt.fault or None,
                "bfloat16": bool(
                    found and attempt.compiler and not attempt.fault and probe.has_bfloat16(attempt.compiler, found)
                ),
                "chosen": attempt.compiler is not None and attempt.compiler == chosen,
            }
            for attempt in attempts
        ],
        "tools": [
            {
                "name": tool.name,
                "found": None if tool.name == "GoogleTest" and asked is None else tool.place is not None,
                "place": tool.place,
                "package": tool.package,
            }
            for tool in toolchain.tools(asked)
        ],
        "defects": _defects(found, chosen),
    }


def _defects(found: Headers | None, chosen: Any) -> list[dict[str, Any]]:
    if found is None or chosen is None:
        return []
    from ptogen.backend import defects, probe
    from ptogen.errors import PtogenError

    try:
        present = probe.present(chosen, found)
    except PtogenError as error:
        for diagnostic in error.diagnostics:
            show(diagnostic)
        return []
    return [
        {
            "id": name,
            "op": row.op,
            "present": name in present,
            "condition": row.defect.condition,
            "header": row.defect.header,
            "reason": row.defect.reason,
        }
        for name, row in defects.known().items()
    ]
