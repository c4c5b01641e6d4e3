"""Checks a tree on the workers of a cluster: the report is that of a check on this machine.

The suites of a tree are cut into *units*. A unit takes along the files of its suites, as they stand, and a worker lays
them out in its own cache and checks them there, with the compiler and the headers that it finds. The same suites of the
same tree get the same place there every time, so that only what changed is built again.
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import cache as once
from pathlib import Path
from typing import Any

from ptogen.backend import cache, cpu_sim, defects, headers, memory, module, suite_run, toolchain, twins
from ptogen.backend.runtime import Kind
from ptogen.backend.selection import ALL, Selection, choose
from ptogen.errors import Diagnostic
from ptogen.executor import Executor, Workers
from ptogen.output import MANIFESTS, Manifest
from ptogen.report.model import CaseResult, CheckReport, DefectRow, Outcome, SuiteResult, summed
from ptogen.report.progress import Progress

MOST = 8
"""Programs of a unit at most. Each unit is configured by itself (about half a second), so a few share that."""

Choice = tuple[Manifest, Sequence[str]]
"""A suite and its selected cases."""


@dataclass(frozen=True)
class Demands:
    """What is asked of every worker.

    Attributes:
        backend: name of the backend.
        pto_isa, compiler: the options, which a worker understands as if they were given there.
        timeout, fail_fast: as the backends take them.
        memory_bytes: what the compilers of a machine may take together; None for what is free there.
        choices: further arguments of the backend, such as ``pristine``.
    """

    backend: str = cpu_sim.NAME
    pto_isa: str | None = None
    compiler: str | None = None
    timeout: float = 120.0
    fail_fast: bool = False
    memory_bytes: int | None = None
    choices: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Unit:
    """Suites for one worker.

    Attributes:
        demands: how to check them.
        place: name of the folder for them in the worker's cache.
        files: contents by path below the tree, manifests included.
        names: ``<suite key>.<case>`` of the selected cases.
        title: what messages call the tree.
        choices: the suites; stays here.
    """

    demands: Demands
    place: str
    files: Mapping[str, bytes]
    names: frozenset[str]
    title: str
    choices: Sequence[Choice] = ()

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "choices": ()}


def check(
    tree: Path,
    demands: Demands,
    executor: Executor,
    *,
    select: Selection = ALL,
    progress: Progress | None = None,
    ended: Callable[[SuiteResult], None] = lambda suite: None,
) -> CheckReport:
    """Builds and runs the suites that the manifests of ``tree`` list, on the workers of a cluster.

    Args:
        tree: output root of ``ptogen kernel``; only read.
        demands: what the workers are to do.
        executor: where they are.
        select: which cases.
        progress: told what happens.
        ended: told of each suite as soon as the result of its unit is here.

    Raises:
        PtogenError: PTG507 where nothing is there to check, PTG521 where the cluster cannot be used; and what keeps a
            worker from checking anything, such as PTG502, if it has no compiler.
    """
    started = time.monotonic()
    progress = progress or Progress()
    chosen = choose(tree, select)
    serves = getattr(module(demands.backend), "serves", lambda manifest: True)
    served = [manifest for manifest, _ in chosen if serves(manifest)]
    edited, unreadable = cpu_sim.look(tree, served)
    workers = executor.workers()
    results: dict[str, SuiteResult] = {}
    reports: dict[str, CheckReport] = {}
    told: dict[Diagnostic, None] = {}
    hosts: dict[str, str] = {}
    try:
        many, jobs = len(chosen), workers.jobs
        progress.line(f"giving {many} suite{'s' * (many != 1)} to {jobs} worker{'s' * (jobs != 1)}")
        progress.start(sum(len(cases) for _, cases in chosen))
        units = _units(tree, chosen, {manifest.key for manifest in served}, demands, select, workers)
        for _, answer in workers.completed(_check, units, lost=_lost):
            report, folder, host = answer
            own = _at_home(report, folder, str(tree.resolve()))
            told.update(dict.fromkeys(own.notes))
            hosts.setdefault(f"{own.compiler}, {own.headers}", host)
            for suite in own.suites:
                suite = _unread(suite, unreadable.get(suite.key))
                results[suite.key], reports[suite.key] = suite, own
                for case in suite.cases:
                    progress.advance(suite.key, case.name)
                ended(suite)
            if demands.fail_fast and any(suite.count(Outcome.FAILED) for suite in own.suites):
                break
    finally:
        workers.close()
    for manifest, cases in chosen:
        if manifest.key not in results:
            stopped = [CaseResult(case, Outcome.NOT_RUN, reason=suite_run.STOPPED) for case in cases]
            results[manifest.key] = _result(manifest, stopped)
            ended(results[manifest.key])
    found = (reports.get(manifest.key) for manifest, _ in chosen)
    made = list({id(report): report for report in found if report}.values())
    return CheckReport(
        demands.backend,
        "; ".join(dict.fromkeys(report.headers for report in made if report.headers)),
        "; ".join(dict.fromkeys(report.compiler for report in made if report.compiler)),
        bool(demands.choices.get("pristine")),
        tuple(results[manifest.key] for manifest, _ in chosen),
        tuple(_rows(made)),
        (*_differing(hosts), *(note for note in told if note.code != "PTG111"), *edited),
        time.monotonic() - started,
    )


def _units(
    tree: Path,
    chosen: Sequence[Choice],
    served: Collection[str],
    demands: Demands,
    select: Selection,
    workers: Workers,
) -> Iterator[Unit]:
    """The suites in portions, equal programs together; the files are read one unit at a time."""
    by_key = {manifest.key: (manifest, cases) for manifest, cases in chosen}
    idle = [choice for choice in chosen if choice[0].key not in served]
    groups: list[list[Choice]] = [
        [by_key[key] for key, _, _ in group]
        for group in twins.groups([_source(tree, manifest) for manifest, _ in chosen if manifest.key in served])
    ]
    size = 1 if demands.fail_fast else max(1, min(MOST, len(groups) // (4 * workers.jobs)))
    portions = [
        [choice for group in groups[start : start + size] for choice in group] for start in range(0, len(groups), size)
    ]
    # What costs nothing goes along with the first: a worker with nothing else would say that it has nothing to check.
    portions = [[*idle, *portions[0]], *portions[1:]] if portions else [idle]
    for portion in portions:
        files: dict[str, bytes] = {}
        for manifest, _ in portion:
            record = f"{MANIFESTS}/{manifest.key}.json"
            shared = (tree / path for path in manifest.shared)
            for path in (tree / record, *shared, *sorted((tree / manifest.directory).rglob("*"))):
                try:
                    if path.is_file():
                        files[path.relative_to(tree).as_posix()] = path.read_bytes()
                except OSError:
                    continue  # the worker misses it, and cpu_sim.look() has said why
        names = frozenset(f"{manifest.key}.{case}" for manifest, cases in portion for case in cases)
        keys = [manifest.key for manifest, _ in portion]
        place = cache.digest(os.path.realpath(tree), *keys)
        yield Unit(demands, place, files, names, select.place or str(tree), portion)


def _source(tree: Path, manifest: Manifest) -> tuple[str, Path, Kind]:
    """As the build of a worker will see it, as far as that is known here."""
    bfloat16 = any(case.get("requires") for case in manifest.cases)
    return manifest.key, tree / manifest.directory, Kind(str(manifest.suite["mode"]), False, frozenset(), bfloat16)


# On a worker


def _check(unit: Unit) -> tuple[CheckReport, str, str]:
    """The report, the folder that its paths lie in, and the machine."""
    demands = unit.demands
    tree = (cache.root() / "trees" / f"{cpu_sim.LAID_OUT}{unit.place}").resolve()
    with cache.locked(tree):
        _lay_out(tree, unit.files)
        os.utime(tree)
        found = headers.find(demands.pto_isa, allow_fetch=True)
        tools = toolchain.find(found, demands.compiler)
        with _room(demands.memory_bytes, [tree / path for path in unit.files if path.endswith("_kernel.cpp")]):
            report = module(demands.backend).check(
                tree,
                headers=found,
                toolchain=tools,
                select=Selection(names=unit.names, place=unit.title),
                jobs=1,
                fail_fast=demands.fail_fast,
                timeout=demands.timeout,
                **demands.choices,
            )
    return report, str(tree), socket.gethostname()


def _lay_out(tree: Path, files: Mapping[str, bytes]) -> None:
    """Makes the tree hold these files and nothing else; what is the same keeps its time, and is not built again."""
    tree.mkdir(parents=True, exist_ok=True)
    for path in sorted(tree.rglob("*"), reverse=True):
        if path.is_dir() and not path.is_symlink():
            if not any(path.iterdir()):
                path.rmdir()
        elif path.relative_to(tree).as_posix() not in files:
            path.unlink()
    for name, content in files.items():
        path = tree / name
        if not path.is_file() or path.read_bytes() != content:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)


@once
def _free() -> int | None:
    """What was free on this machine when its first unit came."""
    return memory.available()


@contextmanager
def _room(given: int | None, kernels: Sequence[Path]) -> Iterator[None]:
    """Waits until the compilers at work on this machine, in whatever process, leave enough of the memory.

    The memory is cut into equal places, each enough for the smallest compiler; a unit takes as many as it needs.
    """
    import filelock

    room, most = _free() if given is None else given, os.cpu_count() or 1
    many = most if room is None else max(1, min(most, room // memory.COMPILER_BYTES))
    wanted = 1 if room is None else min(many, -(-memory.need(kernels) * many // max(1, room)))
    places = [filelock.FileLock(cache.root() / "compilers" / f"{number}.lock") for number in range(many)]
    (cache.root() / "compilers").mkdir(parents=True, exist_ok=True)
    while True:
        with ExitStack() as held:
            free = wanted
            for place in places:
                with suppress(filelock.Timeout):
                    place.acquire(timeout=0)
                    held.callback(place.release)
                    free -= 1
                if not free:
                    yield
                    return
        time.sleep(0.05)


# What becomes of the answers


def _lost(unit: Unit, fault: Diagnostic) -> tuple[CheckReport, str, str]:
    """The answer for a unit that takes every worker along."""
    hint = (f"hint: {fault.hint}",) if fault.hint else ()
    suites = tuple(
        _result(manifest, [CaseResult(case, Outcome.FAILED, 0.0, fault.code, fault.message, hint) for case in cases])
        for manifest, cases in unit.choices
    )
    return CheckReport(unit.demands.backend, "", "", False, suites), "", ""


def _result(manifest: Manifest, cases: Sequence[CaseResult]) -> SuiteResult:
    """A suite that no worker has checked."""
    facts = {str(case["name"]): case for case in manifest.cases}
    own = [replace(case, defects=tuple(facts[case.name].get("defects", ()))) for case in cases]
    return suite_run.result_of(manifest, own)


def _at_home(report: CheckReport, folder: str, tree: str) -> CheckReport:
    """The report with the paths of this machine's tree."""
    if not folder:
        return report

    def text(line: str) -> str:
        return line.replace(folder, tree)

    def case(result: CaseResult) -> CaseResult:
        return replace(result, reason=text(result.reason), output=tuple(map(text, result.output)))

    suites = tuple(replace(suite, cases=tuple(map(case, suite.cases))) for suite in report.suites)
    return replace(report, suites=suites)


def _unread(suite: SuiteResult, fault: Diagnostic | None) -> SuiteResult:
    """A suite whose files could not be read, as this machine says it."""
    if fault is None:
        return suite
    reason = f"{fault.position}: {fault.message}"
    output = (*fault.details, *((f"hint: {fault.hint}",) if fault.hint else ()))
    cases = (replace(case, reason=reason, output=output) if case.code == fault.code else case for case in suite.cases)
    return replace(suite, cases=tuple(cases))


def _rows(reports: Sequence[CheckReport]) -> Iterator[DefectRow]:
    """The rows of all reports, in the order of the table."""
    rows = summed(reports)
    return (rows[name] for name in defects.known() if name in rows)


def _differing(hosts: Mapping[str, str]) -> Iterator[Diagnostic]:
    """A note where suites were built in different ways."""
    ways = {way: host for way, host in hosts.items() if host}
    if len(ways) > 1:
        details = tuple(sorted(f"{way} (such as on {host})" for way, host in ways.items()))
        message = "the workers of the cluster have different compilers or headers"
        yield Diagnostic("PTG523", message, details=details, severity="note")
