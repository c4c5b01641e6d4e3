"""``ptogen matrix``: matrices in, many suites out."""

from __future__ import annotations

import sys
import time
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ptogen.cli import (
    Directory,
    executor_option,
    format_option,
    print_json,
    printable,
    show,
    table,
    ub_bytes_option,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ptogen.matrix.engine import Outcome
    from ptogen.matrix.make import Options
    from ptogen.matrix.suites import SuiteRows
    from ptogen.spec.matrix import Matrix

SHOWN = 40
"""Files that a dry run lists before it counts the rest."""


def _shard(_ctx: click.Context, _param: click.Parameter, value: str | None) -> tuple[int, int] | None:
    if value is None:
        return None
    part, slash, whole = value.partition("/")
    if not (slash and part.isdecimal() and whole.isdecimal() and 1 <= int(part) <= int(whole) <= 10_000):
        raise click.BadParameter(f"{value!r} is not a part of a whole, such as 2/4.")
    return int(part), int(whole)


@click.command()
@click.argument("matrices", metavar="MATRIX...", nargs=-1, type=click.Path(path_type=Path))
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
    help="Take what --into has put there out again: the suites of the matrices, or all where none is given.",
)
@click.option("-j", "--jobs", type=click.IntRange(1, 1024), metavar="N", help="Processes; default: one a processor.")
@executor_option
@click.option("--list", "listing", is_flag=True, help="Print the names of the cases and make nothing.")
@click.option(
    "--select", metavar="GLOB|EXPR", help="Only cases by name (*_13), or by fields (rows < 4 and idx == broadcast)."
)
@click.option(
    "--shard", metavar="I/N", callback=_shard, help="Only the I-th of N parts of the suites, the same ones every time."
)
@click.option(
    "--prune", is_flag=True, help="Also remove suites that these matrices made before and do not make any more."
)
@click.option("--dry-run", is_flag=True, help="Say what would be written and write nothing.")
@click.option(
    "--diff",
    is_flag=True,
    help="Print what would change as a unified diff and write nothing; status 1 if anything would.",
)
@click.option("--check", is_flag=True, help="Write nothing; status 1 if anything would change.")
@click.option("--force", is_flag=True, help="Also overwrite files that ptogen does not own or that were edited.")
@click.option(
    "--license-header",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Put the text of FILE on top of every file; default with --into: what the checkout's own files begin with.",
)
@ub_bytes_option
@format_option
@click.pass_context
def matrix(
    ctx: click.Context,
    matrices: tuple[Path, ...],
    out: Path,
    into: Path | None,
    remove: Path | None,
    jobs: int | None,
    executor: str,
    listing: bool,
    select: str | None,
    shard: tuple[int, int] | None,
    prune: bool,
    dry_run: bool,
    diff: bool,
    check: bool,
    force: bool,
    license_header: Path | None,
    ub_bytes: int | None,
    format_: str,
) -> None:
    """Render a matrix of cases into many suites.

    A matrix gives the fields of a spec many values each; every combination that can exist becomes a case. The suites
    are planned, checked and rendered in parallel. A matrix that has not changed is recognised by hashes and costs
    little more than reading its files.
    """
    from ptogen.cli._register import check_places, put_in, take_out
    from ptogen.cli._render import read_license_header
    from ptogen.executor import opened
    from ptogen.executor.local import processors
    from ptogen.matrix.choose import Selection
    from ptogen.matrix.engine import generate, suites_of
    from ptogen.matrix.make import Options

    if not matrices and remove is None:
        raise click.UsageError("Missing argument 'MATRIX...'.", ctx)
    if dry_run + diff + check + listing > 1:
        raise click.UsageError("--dry-run, --diff, --check and --list exclude one another.")
    if prune and (select or shard):
        raise click.UsageError("--prune needs the whole matrix: leave --select and --shard out.")
    check_places(ctx, into, remove)
    loaded = _load(matrices)
    if remove:
        stems = {one.stem for one in loaded}
        belongs = (lambda manifest: manifest.suite.get("matrix") in stems) if loaded else None
        take_out(remove, belongs, dry_run or diff or check, format_)
        return
    looking = dry_run or diff or check
    header = read_license_header(license_header, into)
    options = Options(into or out, ub_bytes, header, looking, diff, force or check, into is not None)
    choose = Selection(select, shard) if select or shard else None
    part = "-shard-{}-of-{}".format(*shard) if shard and not select else ""
    with opened(executor, jobs, processors()) as place:
        if listing:
            with closing(suites_of(loaded, options, 1, choose, place)) as found:
                _list(found, format_)
            if choose:
                choose.require_some()
            return
        watcher = _watcher()
        try:
            outcome = generate(loaded, options, executor=place, part=part, choose=choose, prune=prune, watcher=watcher)
        finally:
            watcher.close()
    if choose:
        choose.require_some()
    _print(outcome, options, format_)
    if into:
        put_in(into, outcome.entries, looking)
    for fault in outcome.faults:
        show(fault)
    if outcome.faults:
        from ptogen.errors import PtogenError

        ctx.exit(int(PtogenError(outcome.faults).exit_code))
    if outcome.different and (diff or check):
        ctx.exit(1)


def _load(paths: Sequence[Path]) -> list[Matrix]:
    """The matrices of all files; the faults of all of them at once."""
    from ptogen.errors import Diagnostic, PtogenError
    from ptogen.spec.load_matrix import load_matrix

    loaded: list[Matrix] = []
    faults: list[Diagnostic] = []
    for path in dict.fromkeys(paths):
        try:
            loaded.append(load_matrix(path))
        except PtogenError as error:
            faults += error.diagnostics
    stems: dict[str, Matrix] = {}
    for one in loaded:
        other = stems.setdefault(one.stem.casefold(), one)
        if other is not one:
            message = (
                f"{other.marks.file} and {one.marks.file} have one name, so a tree could not tell what each has made"
            )
            faults.append(Diagnostic("PTG110", message, hint="rename one of the files, or use two output directories"))
    if faults:
        raise PtogenError(faults)
    return loaded


# What a person sees


def _list(suites: Iterable[SuiteRows], format_: str) -> None:
    names = (f"{rows.key}.{row.name}" for rows in suites for row in rows.rows)
    if format_ == "json":
        print_json({"cases": list(names)})
    else:
        for name in names:
            click.echo(name)


def _watcher() -> Any:
    from ptogen.matrix.engine import Watcher

    class Lines(Watcher):
        """A line now and then, for logs and pipes."""

        def __init__(self) -> None:
            self.total = self.finished = 0
            self.last = time.monotonic()

        def found(self, cases: int) -> None:
            self.total += cases

        def done(self, key: str, cases: int) -> None:
            self.finished += cases
            if time.monotonic() - self.last >= 5:
                self.last = time.monotonic()
                print(f"{self.finished:,} cases done, the last suite is {key}", file=sys.stderr, flush=True)

        def close(self) -> None:
            pass

    class Bar(Lines):
        """A bar on a terminal, gone when the work is done."""

        def __init__(self) -> None:
            super().__init__()
            self.bars: Any = None

        def found(self, cases: int) -> None:
            super().found(cases)
            if self.bars is None:
                # Only now: the workers have to be forked before this process has threads.
                from rich.console import Console
                from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn

                columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
                self.bars = Progress(*columns, console=Console(stderr=True), transient=True)
                self.task = self.bars.add_task("rendering", total=0)
                self.bars.start()
            self.bars.update(self.task, total=self.total)

        def done(self, key: str, cases: int) -> None:
            self.bars.update(self.task, advance=cases, description=f"rendering {key}")

        def close(self) -> None:
            if self.bars is not None:
                self.bars.stop()

    return Bar() if sys.stderr.isatty() else Lines()


def _print(outcome: Outcome, options: Options, format_: str) -> None:
    if format_ == "json":
        print_json(_as_data(outcome, options))
    elif options.diff:
        for text in outcome.diff:
            click.echo(text, nl=False)
        _note_edited(outcome)
    else:
        click.echo(printable(_as_text(outcome, options)))


def _note_edited(outcome: Outcome) -> None:
    if edited := [path for path, _action, foreign in outcome.changed if foreign]:
        click.echo(
            f"note: edited by hand, so only --force would change it: {', '.join(map(printable, edited))}", err=True
        )


def _as_text(outcome: Outcome, options: Options) -> str:
    lines = [_table(outcome), ""]
    lines += [f"{_REASONS.get(reason, reason)}: {message}" for reason, message in sorted(outcome.examples.items())]
    made = ", ".join(
        f"{outcome.actions[action]:,} {word}" for action, word in _WORDS.items() if outcome.actions[action]
    )
    lines.append(f"{outcome.cases:,} cases in {outcome.suites:,} suites of {options.out}: {made or 'no file'}")
    if options.looking:
        listed = [
            f"would {action} {options.out / path}" + " (edited by hand)" * edited
            for path, action, edited in outcome.changed
        ]
        listed += [
            f"would remove {options.out / change.path}" for change in outcome.removed if change.action == "remove"
        ]
        lines += listed[:SHOWN]
        if len(listed) > SHOWN:
            lines.append(f"and {len(listed) - SHOWN:,} more")
        lines.append("nothing was written" if listed else "nothing would change")
    elif outcome.removed:
        keys = {change.suite for change in outcome.removed if change.suite}
        lines.append(f"{len(keys):,} suites removed: {', '.join(sorted(keys))}")
    from ptogen.cli._register import kept_lines

    return "\n".join([*lines, *kept_lines(options.out, outcome.removed)])


_WORDS = {"write": "files written", "unchanged": "unchanged", "remove": "removed"}
_REASONS = {"strategy": "not chosen"}


def _table(outcome: Outcome) -> str:
    reasons = sorted({reason for row in outcome.counts for reason in row["dropped"]})
    modes = len({row["mode"] for row in outcome.counts}) > 1
    keys = ["op", "platform", *(["mode"] if modes else []), "dtype", "cases"]
    rows: list[tuple[object, ...]] = [(*keys, *(_REASONS.get(reason, reason) for reason in reasons))]
    for row in outcome.counts:
        rows.append((*(row[key] for key in keys), *(row["dropped"].get(reason, 0) for reason in reasons)))
    total = [sum(row["dropped"].get(reason, 0) for row in outcome.counts) for reason in reasons]
    rows.append(("total", *[""] * (len(keys) - 2), outcome.cases, *total))
    return table(rows, numbers=range(len(keys) - 1, len(rows[0])))


def _as_data(outcome: Outcome, options: Options) -> dict[str, Any]:
    data: dict[str, Any] = {
        "out": str(options.out),
        "cases": outcome.cases,
        "suites": outcome.suites,
        "files": outcome.files,
        "lines": outcome.lines,
        "actions": dict(outcome.actions),
        "unchanged_by_hash": outcome.idle,
        "counts": outcome.counts,
        "reasons": outcome.examples,
        "changes": [{"path": path, "action": action, "edited": edited} for path, action, edited in outcome.changed],
        "pruned": [
            {"path": change.path, "action": change.action, "edited": change.foreign} for change in outcome.removed
        ],
        "diagnostics": [fault.as_dict() for fault in outcome.faults],
    }
    if options.diff:
        data["diff"] = "".join(outcome.diff)
    return data
