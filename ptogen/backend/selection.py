"""Which cases of a tree are checked."""

from __future__ import annotations

import fnmatch
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from ptogen import output
from ptogen.backend import since, suite_run
from ptogen.errors import Diagnostic, Position, PtogenError
from ptogen.output import Manifest
from ptogen.platforms import PLATFORMS
from ptogen.render.facts import GENERATED


@dataclass(frozen=True)
class Selection:
    """Which cases to check; all of them, unless something is given.

    Attributes:
        glob: for ``<case>``, ``<suite key>.<case>`` or ``<test suite>.<case>``.
        suites: keys of suites.
        names: ``<suite key>.<case>`` of each case.
        place: what messages call the tree, such as the spec that it was made of; default: its path.
    """

    glob: str | None = None
    suites: Collection[str] | None = None
    names: Collection[str] | None = None
    place: str | None = None

    def has(self, manifest: Manifest, case: str) -> bool:
        """Whether a case is among them."""
        full = f"{manifest.key}.{case}"
        if self.names is not None and full not in self.names:
            return False
        names = (case, full, f"{manifest.suite['test_suite']}.{case}")
        return self.glob is None or any(fnmatch.fnmatchcase(name, self.glob) for name in names)


ALL = Selection()


def choose(tree: Path, select: Selection) -> list[tuple[Manifest, list[str]]]:
    """The suites of a tree with the names of their selected cases, those without any left out.

    Raises:
        PtogenError: PTG507 where there are none, or where a manifest does not say what to run.
    """
    place = Position(select.place or str(tree))
    manifests = output.read(tree) if tree.is_dir() else []
    manifests = [manifest for manifest in manifests if select.suites is None or manifest.key in select.suites]
    if not manifests:
        message = "no manifest of ptogen is here" if tree.is_dir() else "this is no directory"
        hint = "give a spec file, or the output directory of `ptogen kernel`"
        raise PtogenError([Diagnostic("PTG507", message, place, hint=hint), *unclaimed(tree)])
    programs = [manifest for manifest in manifests if "target" not in manifest.suite]
    if not programs:
        held = ", ".join(f"{manifest.key} ({manifest.suite['target']})" for manifest in manifests)
        message = f"nothing here is C++, which is what a backend takes: {held}"
        hint = "render with `--target st` into this directory, or give the spec file"
        raise PtogenError(Diagnostic("PTG507", message, place, hint=hint))
    manifests = programs
    chosen = []
    for manifest in manifests:
        if lack := _lack(manifest):
            message = f"the manifest does not say what to run: {lack}"
            record = Position(str(tree / output.MANIFESTS / f"{manifest.key}.json"))
            hint = "render the suite again with --force"
            raise PtogenError(Diagnostic("PTG507", message, record, hint=hint))
        if cases := [case for case in (str(case["name"]) for case in manifest.cases) if select.has(manifest, case)]:
            chosen.append((manifest, cases))
    if not chosen:
        suites = ", ".join(manifest.key for manifest in manifests)
        message = "the suites have no cases" if select.glob is None else f"no case matches {select.glob!r}"
        if select.names is not None:
            message = "none of the cases that failed last time is selected"
        away = None if select.names is None else "leave --last-failed away"
        raise PtogenError(Diagnostic("PTG507", message, place, (f"suites: {suites}",), away))
    return chosen


def unclaimed(tree: Path) -> list[Diagnostic]:
    """A warning for each suite that ptogen has rendered into a tree and that no manifest names."""
    claimed = {manifest.directory for manifest in output.read(tree)}
    found = []
    for root in sorted({platform.st_root for platform in PLATFORMS.values()}):
        for file in sorted((tree / root).glob("*/CMakeLists.txt")):
            directory = file.parent.relative_to(tree).as_posix()
            if directory not in claimed and _is_generated(file):
                message = "no manifest names this suite, so it is not checked"
                hint = "render it again with `ptogen kernel`, or remove it"
                found.append(Diagnostic("PTG507", message, Position(str(file.parent)), hint=hint, severity="warning"))
    return found


def _is_generated(file: Path) -> bool:
    try:
        return file.is_file() and GENERATED.encode() in file.read_bytes()
    except OSError:
        return False


def _lack(manifest: Manifest) -> str:
    """What is wrong with that which a check reads of a manifest; empty where nothing is."""
    for name in ("op", "platform", "mode", "name", "test_suite"):
        if not isinstance(manifest.suite.get(name), str):
            return f"suite.{name} is no text"
    if not str(manifest.suite["test_suite"]).isidentifier():
        return "suite.test_suite is no C identifier"
    size = manifest.suite.get("ub_bytes")
    if not isinstance(size, int) or size <= 0:
        return "suite.ub_bytes is no number of bytes"
    for number, case in enumerate(manifest.cases):
        place = f"cases[{number}]"
        if not isinstance(case.get("name"), str) or not case["name"].isidentifier():
            return f"{place}.name is no C identifier"
        for name in ("defects", "requires"):
            values = case.get(name, [])
            if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
                return f"{place}.{name} is no list of names"
        for name in case.get("requires", []):
            if name != suite_run.BFLOAT16 and name not in since.known():
                return f"{place}.requires has {name!r}, which this version of ptogen does not know"
    return ""
