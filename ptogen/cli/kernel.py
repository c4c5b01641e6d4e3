"""``ptogen kernel``: specs in, a tree of suites out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ptogen import output
from ptogen.cli import Directory, format_option, print_json, printable, show, table, ub_bytes_option
from ptogen.cli._register import check_places, kept_lines, put_in, take_out
from ptogen.cli._render import TARGETS, file_of, load_specs, read_license_header, render_specs
from ptogen.errors import PtogenError
from ptogen.platforms import PLATFORMS

if TYPE_CHECKING:
    from ptogen.output import Manifest
    from ptogen.render.suite import RenderedSuite


@click.command()
@click.argument("specs", metavar="SPEC...|-", nargs=-1, type=click.Path(path_type=Path))
@click.option(
    "-o", "--out", type=Directory(), metavar="DIR", default="generated", show_default=True, help="Where the tree goes."
)
@click.option(
    "--into",
    type=click.Path(path_type=Path),
    metavar="CHECKOUT",
    help="Put the suites into a pto-isa checkout and register them.",
)
@click.option(
    "--remove",
    type=click.Path(path_type=Path),
    metavar="CHECKOUT",
    help="Take what --into has put there out again: the suites of the specs, or all where none is given.",
)
@click.option(
    "--platform",
    "platforms",
    type=click.Choice(tuple(PLATFORMS)),
    multiple=True,
    metavar="PLATFORM",
    help="Only the suites for PLATFORM; may be repeated.",
)
@click.option("--select", metavar="GLOB", help="Only cases whose name, or SUITE.NAME, matches.")
@click.option("--prune", is_flag=True, help="Also remove suites that these specs made before and do not make any more.")
@click.option(
    "--target",
    type=click.Choice(TARGETS),
    default="st",
    show_default=True,
    help="What to render: C++ suites, PTO assembly, or pypto_pro modules (sort32 on a5).",
)
@click.option(
    "--level",
    type=click.IntRange(1, 3),
    metavar="N",
    help="Of the PTO assembly: 3 has the plan's addresses and flags, 2 has none, 1 is the documents' SSA form; "
    "default 3 for mode manual and 2 for mode auto.",
)
@click.option("--skip", is_flag=True, help="Leave out, with a note, what the target of --target has no text for.")
@click.option("--dry-run", is_flag=True, help="Say what would be written and write nothing.")
@click.option(
    "--diff",
    is_flag=True,
    help="Print what would change as a unified diff and write nothing; status 1 if anything would.",
)
@click.option(
    "--check", is_flag=True, help="Write nothing; status 1 if anything would change, or is not made any more."
)
@click.option("--force", is_flag=True, help="Also overwrite files that ptogen does not own or that were edited.")
@click.option(
    "--force-path",
    "force_paths",
    multiple=True,
    metavar="GLOB",
    help="The same for files whose path in the tree matches; may be repeated.",
)
@click.option("--with-spec", is_flag=True, help="Put the text of its spec beside the files of each suite.")
@click.option(
    "--license-header",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Put the text of FILE on top of every file; default with --into: what the checkout's own files begin with.",
)
@ub_bytes_option
@format_option
@click.pass_context
def kernel(
    ctx: click.Context,
    specs: tuple[Path, ...],
    out: Path,
    into: Path | None,
    remove: Path | None,
    platforms: tuple[str, ...],
    select: str | None,
    prune: bool,
    target: str,
    level: int | None,
    skip: bool,
    dry_run: bool,
    diff: bool,
    check: bool,
    force: bool,
    force_paths: tuple[str, ...],
    license_header: Path | None,
    with_spec: bool,
    ub_bytes: int | None,
    format_: str,
) -> None:
    """Render specs into C++ suites.

    Writes the kernel, host program, build file and data generator of each suite, in the layout of pto-isa's system
    tests, and touches only what changed. Files that a person edited are never overwritten without --force. With
    --target the same plan becomes PTO assembly or a pypto_pro module instead. A spec may come from standard input (-).
    """
    if not specs and remove is None:
        raise click.UsageError("Missing argument 'SPEC...'.", ctx)
    if prune and (platforms or select):
        raise click.UsageError("--prune needs whole specs: leave --platform and --select out.")
    if dry_run + diff + check > 1:
        raise click.UsageError("--dry-run, --diff and --check exclude one another.")
    if level is not None and target != "pto-as":
        raise click.UsageError(f"--level belongs to --target pto-as; {target} has no levels.")
    check_places(ctx, into, remove)
    if into and target != "st":
        raise click.UsageError(f"--into takes C++ suites; {target} is no test of pto-isa.")
    looking = dry_run or diff or check
    if remove:
        take_out(remove, _made_of(specs, ub_bytes) if specs else None, looking, format_)
        return
    header = read_license_header(license_header, into)
    suites = render_specs(
        specs,
        ub_bytes=ub_bytes,
        license_header=header,
        target=target,
        level=level,
        platforms=platforms,
        select=select,
        skip=show if skip else None,
        with_spec=with_spec,
    )
    if into:
        out = into
        from ptogen.register import Entry, guard

        entries = list(map(Entry.of, suites))
        for warning in guard(into, entries, force):
            show(warning)
    # An edited file is a difference to show, and a reason to stop only where it would be lost.
    changes = output.write(out, suites, dry_run=looking, force=force or diff or check or force_paths)
    if into:
        put_in(into, entries, looking)
    stale = [] if platforms or select else _stale(out, suites)
    pruned = []
    if prune and stale:
        from ptogen.register import withdraw

        pruned = withdraw(out, [manifest.key for manifest in stale], dry_run=looking)
    different = any(change.action != output.UNCHANGED for change in (*changes, *pruned)) or bool(stale and check)
    if format_ == "json":
        print_json(_as_data(out, suites, changes, pruned, diff) | {"stale": [manifest.key for manifest in stale]})
    elif diff:
        click.echo(output.diff([*changes, *pruned]), nl=False)
    else:
        click.echo(_as_text(out, suites, changes, pruned, looking))
    for manifest in stale if not prune else ():
        click.echo(
            printable(f"stale: {out / manifest.directory} is made by no spec here any more; see --prune"), err=True
        )
    if diff and (edited := [change.path for change in changes if change.foreign]):
        click.echo(
            f"note: edited by hand, so only --force would change it: {', '.join(map(printable, edited))}", err=True
        )
    if different and (diff or check):
        ctx.exit(1)


def _made_of(specs: Sequence[Path], ub_bytes: int | None) -> Callable[[Manifest], bool]:
    """Whether a suite is one of these specs, as they are now or as they were when it was made."""
    suites, faults = load_specs(specs, ub_bytes)
    if faults:
        raise PtogenError(faults)
    keys = {f"{suite.platform.name}-{suite.name}" for suite in suites}
    files = {file_of(suite) for suite in suites} - {None}
    return lambda manifest: manifest.key in keys or manifest.suite.get("file") in files


def _stale(out: Path, suites: Sequence[RenderedSuite]) -> list[Manifest]:
    """The suites of a tree that the specs of these suites, which are all that they make now, made once."""
    made = {suite.key.casefold() for suite in suites}
    origins = {(suite.meta["file"], suite.meta.get("target")) for suite in suites if "file" in suite.meta}
    return [
        manifest
        for manifest in output.read(out, strict=False)
        if (manifest.suite.get("file"), manifest.suite.get("target")) in origins and manifest.key.casefold() not in made
    ]


def _as_text(
    out: Path,
    suites: Sequence[RenderedSuite],
    changes: Sequence[output.Change],
    pruned: Sequence[output.Change],
    looking: bool,
) -> str:
    heads = ("would write", "unchanged", "would remove") if looking else ("written", "unchanged", "removed")
    rows: list[tuple[object, ...]] = [("suite", "cases", "files", *heads)]
    for suite in sorted(suites, key=lambda suite: suite.key):
        own = [change.action for change in changes if change.suite == suite.key and not change.is_manifest]
        counts = [own.count(action) for action in (output.WRITE, output.UNCHANGED, output.REMOVE)]
        rows.append((out / suite.directory, len(suite.meta.get("cases", ())), len(suite.files), *counts))
    for change in changes:
        if not change.suite:
            counts = [int(change.action == action) for action in (output.WRITE, output.UNCHANGED, output.REMOVE)]
            rows.append((out / change.path, "", 1, *counts))
    lines = [table(rows, numbers=range(1, 6))]
    if gone := {change.suite for change in pruned if change.suite} if not looking else ():
        lines.append(f"{len(gone):,} suites removed: {', '.join(sorted(gone))}")
    lines += kept_lines(out, pruned)
    if looking:
        listed = [change for change in (*changes, *pruned) if change.action != output.UNCHANGED]
        lines += [
            f"would {change.action} {out / change.path}" + (" (edited by hand)" if change.foreign else "")
            for change in listed
        ]
        lines.append("nothing was written" if listed else "nothing would change")
    return "\n".join(map(printable, lines))


def _as_data(
    out: Path,
    suites: Sequence[RenderedSuite],
    changes: Sequence[output.Change],
    pruned: Sequence[output.Change],
    diff: bool,
) -> dict[str, Any]:
    data: dict[str, Any] = {"out": str(out), "suites": []}
    for suite in sorted(suites, key=lambda suite: suite.key):
        own = [change for change in changes if change.suite == suite.key]
        data["suites"].append(
            {
                "key": suite.key,
                "directory": suite.directory,
                "cases": [case["name"] for case in suite.meta.get("cases", ())],
                "changes": [_change(change) for change in own],
            }
        )
    data["shared"] = [_change(change) for change in changes if not change.suite]
    data["pruned"] = [_change(change) for change in pruned]
    if diff:
        data["diff"] = output.diff([*changes, *pruned])
    return data


def _change(change: output.Change) -> dict[str, Any]:
    return {"path": change.path, "action": change.action, "edited": change.foreign}
