"""``ptogen ops``: the catalogue."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from ptogen.cli import print_json, table

if TYPE_CHECKING:
    from ptogen.ops.base import Op


@click.command()
@click.argument("name", required=False)
@click.option(
    "--format",
    "format_",
    type=click.Choice(["text", "json", "markdown"]),
    default="text",
    show_default=True,
    help="For a person, a machine, or a page.",
)
def ops(name: str | None, format_: str) -> None:
    """List the operations, or describe one.

    With NAME: its spec fields, operands, rules, dtypes on each platform, what "exact" rests on, the simulator's known
    defects, and sources.
    """
    from ptogen.ops import catalogue

    known = catalogue()
    if name is not None and name.lower() not in known:
        from ptogen.spec.names import no_op

        message, hint = (part[:1].upper() + part[1:] for part in no_op(name, known))
        raise click.UsageError(f"{message}. {hint}".replace("`", "'"))
    chosen = list(known.values()) if name is None else [known[name.lower()]]
    if format_ == "json":
        print_json({"ops": [_as_data(op) for op in chosen]})
    elif format_ == "markdown":
        click.echo("| op | instruction | pipe | dtypes |\n|---|---|---|---|")
        for op in chosen:
            click.echo(f"| `{op.name}` | {op.instruction} | {op.pipe.value} | {_by_dtypes(op)} |")
    elif name is None:
        rows = [("op", "instruction", "pipe", "dtypes")] + [
            (op.name, op.instruction, op.pipe.value, ", ".join(_all_dtypes(op))) for op in chosen
        ]
        click.echo(table(rows))
    else:
        click.echo(_as_text(chosen[0]))


def _dtypes(op: Op) -> dict[str, list[str]]:
    from ptogen.platforms import PLATFORMS

    return {platform.name: [dtype.name for dtype in op.dtypes(platform)] for platform in PLATFORMS.values()}


def _all_dtypes(op: Op) -> list[str]:
    return list(dict.fromkeys(dtype for dtypes in _dtypes(op).values() for dtype in dtypes))


def _platforms(op: Op) -> dict[str, list[str]]:
    """Platforms by what dtypes they have."""
    found: dict[str, list[str]] = {}
    for platform, dtypes in _dtypes(op).items():
        found.setdefault(", ".join(dtypes) or "none", []).append(platform)
    return found


def _by_dtypes(op: Op) -> str:
    """Dtypes in one line, with the platforms where they differ."""
    found = _platforms(op)
    if len(found) == 1:
        return next(iter(found))
    return "; ".join(f"{', '.join(platforms)}: {names}" for names, platforms in found.items())


def _fields(op: Op) -> list[dict[str, Any]]:
    fields = []
    for name, field in op.Case.model_fields.items():
        required = field.is_required()
        fields.append(
            {
                "name": name,
                "required": required,
                "default": None if required else field.default,
                "description": field.description,
            }
        )
    return sorted(fields, key=lambda field: not field["required"])


def _as_data(op: Op) -> dict[str, Any]:
    from dataclasses import asdict

    return {
        "name": op.name,
        "instruction": op.instruction,
        "pipe": op.pipe.value,
        "operands": [asdict(operand) for operand in op.operands],
        "constraints": list(op.constraints),
        "fields": _fields(op),
        "dtypes": _dtypes(op),
        "sources": list(op.sources),
        "rests": [asdict(rest) for rest in op.rests],
        "defects": [asdict(defect) for defect in op.defects],
    }


def _as_text(op: Op) -> str:
    parts = [f"{op.name}: {op.instruction} on {op.pipe.value}"]
    rows: list[tuple[object, ...]] = [("field", "default", "meaning")]
    for field in _fields(op):
        default = "" if field["default"] is None else str(field["default"])
        rows.append((field["name"], "required" if field["required"] else default, field["description"] or ""))
    parts.append("Spec fields of a case\n" + table(rows, indent="  "))
    operands = [
        ("operand", "role", "dtype", "physical shape", "alignment"),
        *((note.name, note.role.value, note.dtype, note.shape, note.align) for note in op.operands),
    ]
    parts.append("Operands\n" + table(operands, indent="  "))
    parts.append("Rules\n" + "\n".join(f"  {rule}" for rule in op.constraints))
    dtypes = [(", ".join(platforms), names) for names, platforms in _platforms(op).items()]
    parts.append("Dtypes\n" + table([("platforms", "dtypes"), *dtypes], indent="  "))
    if op.rests:
        rests = [("subject", "basis", "rule"), *((rest.subject, rest.basis, rest.rule) for rest in op.rests)]
        parts.append('What "exact" rests on\n' + table(rests, indent="  "))
    if op.defects:
        lines = []
        for defect in op.defects:
            lines.append(
                f"  {defect.id} ({defect.header})\n    when:   {defect.condition}\n    reason: {defect.reason}"
            )
        parts.append("Known defects of the CPU simulator\n" + "\n".join(lines))
    if op.sources:
        parts.append("Sources\n" + "\n".join(f"  {source}" for source in op.sources))
    return "\n\n".join(parts)
