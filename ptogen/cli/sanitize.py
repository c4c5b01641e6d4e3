"""``ptogen sanitize``: the checkers on any PTO kernel, by a recording of what it does."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ptogen.cli import print_json, printable, terminable
from ptogen.platforms import PLATFORMS

if TYPE_CHECKING:
    from ptogen.report.findings import Sanitized
    from ptogen.sanitize.driver import Call

FOLDERS = {
    "a2a3": "a2a3",
    "a5": "a5",
    "kirin9030": "kirin9030",
    "kirinX90": "kirinx90",
    "kirinDev0000": "kirindev0000",
    "cpu": "cpu",
}
"""Platforms by the folder under ``tests`` or ``tests/npu`` that their system tests stand in."""


@click.command()
@click.argument(
    "places", metavar="ST_DIR|FILE.cpp...", nargs=-1, required=True, type=click.Path(path_type=Path, exists=True)
)
@click.option(
    "--call",
    "calls",
    metavar="CALL",
    multiple=True,
    help="How to call a function of FILE.cpp, such as 'LaunchAdd<float,2,13>(float32[2,13], float32[2,13], int=5)': "
    "its tensors and scalars in the order of its parameters, a stream at the end left out; may be repeated.",
)
@click.option(
    "--spec",
    metavar="SPEC.yaml",
    type=click.Path(path_type=Path, dir_okay=False),
    help="The spec that FILE.cpp came from: its cases are called, with their tensors and data.",
)
@click.option("--case", "select", metavar="GLOB", help="Only cases whose name, or SUITE.NAME, matches.")
@click.option("--platform", type=click.Choice(sorted(PLATFORMS)), help="Whose rules hold; default: what the path says.")
@click.option(
    "--pto-isa",
    metavar="DIR",
    help="Checkout of pto-isa, or its include folder; default: the checkout around the kernel.",
)
@click.option("--compiler", metavar="CXX", help="C++ compiler to use.")
@click.option("-j", "--jobs", type=click.IntRange(min=1), default=1, show_default=True, help="Kernels at once.")
@click.option(
    "--format",
    "format_",
    type=click.Choice(["text", "json", "sarif", "github"]),
    default="text",
    show_default=True,
    help="How to print results.",
)
@click.pass_context
def sanitize(
    ctx: click.Context,
    places: tuple[Path, ...],
    calls: tuple[str, ...],
    spec: Path | None,
    select: str | None,
    platform: str | None,
    pto_isa: str | None,
    compiler: str | None,
    jobs: int,
    format_: str,
) -> None:
    """Record what any PTO kernel does, and judge it.

    It runs on the CPU simulator, with a recording layer between its source and the pto-isa headers. An ST directory is
    driven by its own main.cpp; a tree of them is searched. A single FILE.cpp is driven by the main.cpp beside it, or
    its functions are called as --call or --spec says. Nothing of the user's is written. Exit status 1 on errors and
    warnings; notes alone are 0."""
    import tempfile

    from ptogen.backend import cache, children
    from ptogen.report import findings as report
    from ptogen.report.progress import for_stderr

    driven = bool(calls or spec)
    if calls and spec:
        raise click.UsageError("--call and --spec exclude one another.")
    if driven and (len(places) != 1 or not places[0].is_file()):
        raise click.UsageError("--call and --spec take one FILE.cpp.")
    parsed = _parse(ctx, calls)
    found = [suite for place in places for suite in _suites(place, driven)]
    progress = for_stderr()
    try:
        with (
            terminable(),
            tempfile.TemporaryDirectory(prefix="ptogen-") as folder,
            children.pool(jobs) as pool,
        ):
            if spec:
                platform, parsed = _calls_of(spec, platform or _platform(places[0].parent), Path(folder))
            results = list(
                pool.map(lambda suite: _one(suite, select, platform, pto_isa, compiler, progress.line, parsed), found)
            )
        cache.prune("recordings/*", "recorders/*")
    finally:
        progress.close()
    if format_ == "json":
        print_json(report.as_data(results))
    elif format_ == "sarif":
        print_json(report.as_sarif(results))
    else:
        click.echo(printable(report.as_text(results) if format_ == "text" else report.as_github(results)))
    ctx.exit(report.exit_code(results))


def _parse(ctx: click.Context, texts: Sequence[str]) -> tuple[Call, ...]:
    from ptogen.sanitize import driver

    try:
        return driver.numbered([driver.parse(text) for text in texts])
    except ValueError as error:
        raise click.BadParameter(f"{error}.", ctx, param_hint="'--call'") from None


def _calls_of(spec: Path, platform: str | None, folder: Path) -> tuple[str, tuple[Call, ...]]:
    """The platform and the calls of the one suite of a spec that is for it."""
    from ptogen.sanitize import driver
    from ptogen.spec.load import load

    suites = load(spec)
    chosen = [suite for suite in suites if platform in (None, suite.platform.name)]
    if len(chosen) != 1:
        names = ", ".join(suite.platform.name for suite in suites)
        raise click.UsageError(f"{spec} has suites for {names}; give --platform with one of them.")
    return chosen[0].platform.name, driver.of_suite(chosen[0], folder)


def _suites(place: Path, driven: bool = False) -> list[tuple[Path, Path, list[Path]]]:
    """Name, folder and source files of each kernel at a place."""
    if place.is_file():
        main = place.parent / "main.cpp"
        if driven:
            return [(place, place.parent, [place])]
        return [(place, place.parent, [place, main] if main.is_file() and main != place else [place])]
    folders = [place] if (place / "main.cpp").is_file() else sorted({path.parent for path in place.rglob("main.cpp")})
    return [(folder, folder, sorted(folder.glob("*.cpp"))) for folder in folders] or [(place, place, [])]


def _one(
    suite: tuple[Path, Path, list[Path]],
    select: str | None,
    platform: str | None,
    pto_isa: str | None,
    compiler: str | None,
    progress: Callable[[str], None],
    calls: Sequence[Call] = (),
) -> Sanitized:
    """One kernel; what it cannot serve is a part of the result, so that others are judged all the same."""
    from ptogen.backend import headers, toolchain
    from ptogen.errors import Diagnostic, Position, PtogenError
    from ptogen.report.findings import Sanitized
    from ptogen.sanitize import judge, recorder

    started = time.monotonic()
    place, folder, files = suite
    name = platform or _platform(folder)
    try:
        if name is None:
            message = "its path does not say for which platform the kernel is"
            hint = f"give --platform with one of {', '.join(sorted(PLATFORMS))}"
            raise PtogenError(Diagnostic("PTG507", message, Position(str(place)), hint=hint))
        if not files:
            hint = "give a folder with main.cpp and the kernel's .cpp, or a .cpp file"
            raise PtogenError(Diagnostic("PTG507", "there is no main.cpp here", Position(str(place)), hint=hint))
        around = recorder.checkout_of(folder)
        include = headers.find(pto_isa or (str(around) if around else None), allow_fetch=True, progress=progress)
        tools = toolchain.find(include, compiler)
        aicore = {"a2a3": 220, "a5": 310}.get(PLATFORMS[name].family, 0)
        recording = recorder.record(
            folder,
            files,
            include,
            tools.compiler,
            aicore=aicore,
            select=select,
            progress=progress,
            calls=calls,
            given=place,
        )
        try:
            cases = judge.sanitize(recording.lines, recording.program, PLATFORMS[name])
        finally:
            recording.discard()
        # A host program has tests of other things; a call is there for the kernel's steps.
        steps = {case.name for case in cases if case.steps or not calls}
        incomplete = [(run.name, run.fault) for run in recording.cases if run.fault]
        incomplete += [
            (run.name, "nothing was recorded") for run in recording.cases if not run.fault and run.name not in steps
        ]
        return Sanitized(
            str(place),
            name,
            f"{include.origin} {include.version}".strip(),
            tuple(cases),
            tuple(incomplete),
            recording.computed,
            recording.reason,
            None,
            time.monotonic() - started,
        )
    except PtogenError as error:
        return Sanitized(str(place), name or "?", fault=error.diagnostics[0], seconds=time.monotonic() - started)


def _platform(folder: Path) -> str | None:
    """As the path says, before symbolic links are followed: some platforms share the tests of another one."""
    parts = (*folder.resolve().parts, *Path(os.path.abspath(folder)).parts)
    return next((FOLDERS[part] for part in reversed(parts) if part in FOLDERS), None)
