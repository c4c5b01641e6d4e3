"""From spec files to rendered suites."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from ptogen.errors import Diagnostic, Position, PtogenError
from ptogen.output import collisions

if TYPE_CHECKING:
    from ptogen.plan.model import KernelPlan
    from ptogen.render.suite import RenderedSuite
    from ptogen.spec.model import Suite


def load_specs(paths: Sequence[Path], ub_bytes: int | None = None) -> tuple[list[Suite], list[Diagnostic]]:
    """The suites of all files and the faults of all files; a file named twice counts once, and ``-`` is the input."""
    from ptogen.spec.load import load

    suites: list[Suite] = []
    faults: list[Diagnostic] = []
    files: dict[str, Path] = {}
    for path in paths:
        files.setdefault(os.path.realpath(path), path)
    for path in files.values():
        try:
            suites += _load_input(ub_bytes) if str(path) == "-" else load(path, ub_bytes=ub_bytes)
        except PtogenError as error:
            faults += error.diagnostics
    return suites, faults


STANDARD_INPUT = "<stdin>"
"""What messages call it."""


def _load_input(ub_bytes: int | None) -> tuple[Suite, ...]:
    from ptogen.spec.document import MAX_BYTES
    from ptogen.spec.load import load_text

    text = sys.stdin.buffer.read(MAX_BYTES + 1) if sys.stdin is not None else b""
    return load_text(text, STANDARD_INPUT, ub_bytes=ub_bytes)


def file_of(suite: Suite) -> str | None:
    """The name of the file that a suite comes from, which a tree remembers; none where it came by standard input."""
    return None if suite.marks.file == STANDARD_INPUT else Path(suite.marks.file).name


def _part(suites: Sequence[Suite], platforms: Collection[str], select: str | None) -> list[Suite]:
    """The suites for some platforms, with the cases that a glob matches by the names that ``check --select`` takes."""
    chosen = [suite for suite in suites if not platforms or suite.platform.name in platforms]
    if not chosen:
        held = ", ".join(dict.fromkeys(suite.platform.name for suite in suites))
        message = f"no suite here is for {' or '.join(platforms)}; they are for {held}"
        raise PtogenError(Diagnostic("PTG115", message, hint="name one of these, or add the platform to the spec"))
    if select is None:
        return chosen
    parts = []
    for suite in chosen:
        prefixes = ("", f"{suite.platform.name}-{suite.name}.", f"{suite.test_suite}.")
        kept = [
            number
            for number, case in enumerate(suite.cases)
            if any(fnmatchcase(f"{prefix}{case.name}", select) for prefix in prefixes)
        ]
        if kept:
            parts.append(_only(suite, kept))
    if not parts:
        names = tuple(f"{suite.platform.name}-{suite.name}.{case.name}" for suite in chosen for case in suite.cases)
        raise PtogenError(Diagnostic("PTG115", f"no case matches {select!r}", details=names[:10]))
    return parts


def plan_suites(suites: Sequence[Suite]) -> tuple[list[tuple[Suite, tuple[KernelPlan, ...]]], list[Diagnostic]]:
    """The suites whose plans are sound, each with its plans, and the faults of the others."""
    from ptogen.check import check_suite
    from ptogen.plan.suite import plan_suite

    planned = []
    faults: list[Diagnostic] = []
    for suite in suites:
        try:
            plans = plan_suite(suite)
            check_suite(suite, plans)
            planned.append((suite, plans))
        except PtogenError as error:
            faults += error.diagnostics
    return planned, faults


TARGETS = ("st", "pto-as", "pypto-pro")
"""What a plan can become; each is a module of ``ptogen.render`` and a folder of templates."""


def render_specs(
    paths: Sequence[Path],
    *,
    ub_bytes: int | None = None,
    license_header: str | None = None,
    target: str = "st",
    level: int | None = None,
    platforms: Collection[str] = (),
    select: str | None = None,
    skip: Callable[[Diagnostic], object] | None = None,
    with_spec: bool = False,
) -> list[RenderedSuite]:
    """Loads, plans, checks and renders spec files.

    Args:
        paths: of the specs.
        ub_bytes: capacity to plan for; default the platform's.
        license_header: text to put on top of every file.
        target: one of :data:`TARGETS`.
        level: of the PTO assembly, for ``pto-as``.
        platforms: only suites for these; default: for all.
        select: only cases that this glob matches.
        skip: is told of what the target has no text for, which is then left out.
        with_spec: put the spec's text, as it is, beside the files of each suite; one of standard input has no file.

    Raises:
        PtogenError: the faults of all files and of all suites; PTG115 where nothing is left.
    """
    suites, faults = load_specs(paths, ub_bytes)
    faults += collision_faults(suites)
    if suites and not faults:
        suites = _part(suites, platforms, select)
    from ptogen.render.refusal import NoText

    renderer = import_module(f"ptogen.render.{target.replace('-', '_')}")
    if hasattr(renderer, "prepare"):
        suites = [renderer.prepare(suite, level) for suite in suites]
        faults += _pin_faults(suites, target)
    planned, plan_faults = plan_suites(suites)
    if faults or plan_faults:
        raise PtogenError([*faults, *plan_faults])
    options = {} if level is None else {"level": level}
    rendered = []
    left_out: list[Diagnostic] = []
    for suite, plans in planned:
        try:
            try:
                made = renderer.render(suite, plans, license_header=license_header, **options)
            except NoText as refusal:
                if skip is None:
                    raise
                left_out += refusal.diagnostics
                said = [number for number in range(len(plans)) if number not in refusal.cases]
                if not said:
                    continue
                suite, plans = _only(suite, said), tuple(plans[number] for number in said)
                made = renderer.render(suite, plans, license_header=license_header, **options)
            if (name := file_of(suite)) is not None:
                made = replace(made, meta={**made.meta, "file": name})
                if with_spec:
                    text = Path(suite.marks.file).read_text(encoding="utf-8")
                    made = replace(made, files={**made.files, f"{made.directory}/{suite.name}.yaml": text})
            rendered.append(made)
        except PtogenError as error:
            faults += error.diagnostics
    if faults or (left_out and not rendered):
        raise PtogenError([*faults, *left_out])
    if skip is not None:
        for diagnostic in left_out:
            skip(replace(diagnostic, severity="note", message=f"left out: {diagnostic.message}", hint=None))
    return rendered


def _only(suite: Suite, numbers: Sequence[int]) -> Suite:
    """The suite with these of its cases."""
    cases, paths = tuple(suite.cases[at] for at in numbers), tuple(suite.paths[at] for at in numbers)
    return replace(suite, cases=cases, paths=paths)


def _pin_faults(suites: Sequence[Suite], target: str) -> list[Diagnostic]:
    """PTG204 for pinned addresses where a target wants a plan in auto mode, whose addresses nobody checks."""
    message = f"{target} wants this case planned in auto mode, where addresses cannot be pinned"
    return [
        Diagnostic("PTG204", message, suite.position(number, "ub"), hint="leave `ub` out")
        for suite in suites
        for number, case in enumerate(suite.cases)
        if case.ub and suite.mode == "auto"
    ]


def collision_faults(suites: Sequence[Suite]) -> list[Diagnostic]:
    """PTG110 for every two suites that would land in one directory."""
    faults = []
    for directory, one, other in collisions((str(number), (suite.directory,)) for number, suite in enumerate(suites)):
        first, second = suites[int(one)], suites[int(other)]
        faults.append(
            Diagnostic(
                "PTG110",
                f"the {second.mode} suite {second.name!r} would land in {directory}, "
                f"where the {first.mode} suite {first.name!r} of {_place(first)} goes",
                _place(second),
                hint="give one of them another `name`, or write them to two output directories",
            )
        )
    return faults


def _place(suite: Suite) -> Position:
    return suite.marks.at(("name",))


LICENSE_BYTES = 65_536


def read_license_header(path: Path | None, checkout: Path | None = None) -> str | None:
    """The text of ``--license-header``; without one that of the checkout that the suites go into, if any."""
    if path is None:
        from ptogen.register import license_header

        return license_header(checkout) if checkout else None
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read(LICENSE_BYTES + 1)
        if len(text.encode()) > LICENSE_BYTES:
            message = f"a licence header has up to {LICENSE_BYTES:,} bytes, and this file has more"
            raise PtogenError(
                Diagnostic("PTG106", message, Position(str(path)), hint="give the header, not the licence")
            )
        if "\0" in text:
            line = text[: text.index("\0")].count("\n") + 1
            message = "the file holds a NUL, which no compiler takes in a comment"
            raise PtogenError(Diagnostic("PTG106", message, Position(str(path), line, 1)))
        return text
    except OSError as error:
        raise PtogenError(
            Diagnostic("PTG100", f"the file cannot be read: {error.strerror or error}", Position(str(path)))
        ) from error
    except UnicodeDecodeError as error:
        raise PtogenError(
            Diagnostic(
                "PTG102",
                f"the file is not UTF-8 text: byte {error.start} is {error.object[error.start]:#04x}",
                Position(str(path)),
            )
        ) from error
