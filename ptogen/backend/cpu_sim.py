"""The backend ``cpu-sim``.

Builds the suites of a tree with pto-isa's CPU simulator, runs them, and says what every case did.
"""

from __future__ import annotations

import fnmatch
import hashlib
import os
import time
from collections import Counter
from collections.abc import Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from ptogen import output
from ptogen.backend import build, cache, defects, probe, runtime, suite_run
from ptogen.backend.headers import Headers
from ptogen.backend.project import Place
from ptogen.backend.toolchain import Toolchain
from ptogen.errors import Diagnostic, Position, PtogenError
from ptogen.output import Manifest
from ptogen.report.model import CheckReport, DefectRow, SuiteResult
from ptogen.report.progress import Progress

NAME = "cpu-sim"

KEEP_SECONDS = 30 * 24 * 3600
"""Builds that nobody used for so long leave the cache."""


def check(
    tree: Path,
    *,
    headers: Headers,
    toolchain: Toolchain,
    pristine: bool = False,
    select: str | None = None,
    jobs: int | None = None,
    fail_fast: bool = False,
    progress: Progress | None = None,
    timeout: float = 120.0,
    only: Collection[str] | None = None,
) -> CheckReport:
    """Builds and runs the suites that the manifests of ``tree`` list; the tree itself is only read.

    Args:
        tree: output root of ``ptogen kernel``.
        headers: from :func:`ptogen.backend.headers.find`.
        toolchain: from :func:`ptogen.backend.toolchain.find`.
        pristine: replace no simulator function; cases that fail and meet a listed defect that the headers have are
            known defects.
        select: glob for ``<case>``, ``<suite key>.<case>`` or ``<test suite>.<case>``.
        jobs: compilers and programs at once; default: one a processor.
        fail_fast: stop at the first fault; the other cases are reported as not run.
        progress: told what happens.
        timeout: seconds for one case.
        only: keys of the suites to check; default: all.

    Raises:
        PtogenError: PTG507 where nothing is there to check; PTG504, PTG505 where nothing can be built.
    """
    started = time.monotonic()
    progress, jobs = progress or Progress(), jobs or os.cpu_count() or 1
    chosen = _choose(tree, select, only)
    present = probe.present(toolchain.compiler, headers)
    provided = _provided([manifest for manifest, _ in chosen], toolchain, headers)
    notes = [*_edited(tree, [manifest for manifest, _ in chosen])]
    place = Place(
        cache.root()
        / "builds"
        / cache.digest(str(tree.resolve()), *toolchain.compiler.command, str(headers.include), str(pristine))
    )
    sources = [
        (manifest.key, (tree / manifest.directory).resolve(), _kind(manifest, pristine, present, provided))
        for manifest, _ in chosen
    ]
    with cache.locked(place.root):
        place.root.mkdir(parents=True, exist_ok=True)
        os.utime(place.root)
        faults = _build(place, sources, toolchain, headers, jobs, fail_fast, progress)
        stop = suite_run.Stop(fail_fast, bool(faults))
        progress.start(sum(len(cases) for manifest, cases in chosen if manifest.key not in faults))

        def one(choice: tuple[Manifest, list[str]]) -> SuiteResult:
            manifest, cases = choice
            source = (tree / manifest.directory).resolve()
            job = suite_run.Job(manifest, source, tuple(cases), place, pristine, present, timeout, provided)
            return suite_run.run(job, faults.get(manifest.key), stop, progress)

        with ThreadPoolExecutor(1 if fail_fast else jobs) as pool:
            suites = tuple(pool.map(one, chosen))
    _prune(place)
    return CheckReport(
        NAME,
        f"{headers.origin}{f' ({headers.version})' if headers.version else ''}",
        str(toolchain.compiler),
        pristine,
        suites,
        tuple(_rows(suites, present)),
        tuple(notes),
        time.monotonic() - started,
    )


def _choose(tree: Path, select: str | None, only: Collection[str] | None) -> list[tuple[Manifest, list[str]]]:
    """The suites of a tree with the names of their selected cases, those without any left out."""
    manifests = (
        [manifest for manifest in output.read(tree) if only is None or manifest.key in only] if tree.is_dir() else []
    )
    if not manifests:
        message = "no manifest of ptogen is here" if tree.is_dir() else "this is no directory"
        hint = "give a spec file, or the output directory of `ptogen kernel`"
        raise PtogenError(Diagnostic("PTG507", message, Position(str(tree)), hint=hint))
    programs = [manifest for manifest in manifests if "target" not in manifest.suite]
    if not programs:
        held = ", ".join(f"{manifest.key} ({manifest.suite['target']})" for manifest in manifests)
        message = f"nothing here is C++, which is what {NAME} runs: {held}"
        hint = "render with `--target st` into this directory, or give the spec file"
        raise PtogenError(Diagnostic("PTG507", message, Position(str(tree)), hint=hint))
    manifests = programs
    chosen = []
    for manifest in manifests:
        if not _is_whole(manifest):
            message = "the manifest does not say what to run"
            place = Position(str(tree / output.MANIFESTS / f"{manifest.key}.json"))
            hint = "render the suite again with --force"
            raise PtogenError(Diagnostic("PTG507", message, place, hint=hint))
        names = [str(case["name"]) for case in manifest.cases]
        prefixes = ("", f"{manifest.key}.", f"{manifest.suite['test_suite']}.")
        cases = [
            name
            for name in names
            if select is None or any(fnmatch.fnmatchcase(prefix + name, select) for prefix in prefixes)
        ]
        if cases:
            chosen.append((manifest, cases))
    if not chosen:
        suites = ", ".join(manifest.key for manifest in manifests)
        message = f"no case matches {select!r}" if select is not None else "the suites have no cases"
        raise PtogenError(Diagnostic("PTG507", message, Position(str(tree)), details=(f"suites: {suites}",)))
    return chosen


def _is_whole(manifest: Manifest) -> bool:
    """Whether it has what a check reads of it."""
    texts = (manifest.suite.get(name) for name in ("op", "platform", "mode", "name", "test_suite"))
    names = [case.get("name") for case in manifest.cases]
    plain = all(isinstance(name, str) and name.isidentifier() for name in [*names, manifest.suite.get("test_suite")])
    size = manifest.suite.get("ub_bytes")
    return all(isinstance(text, str) for text in texts) and plain and isinstance(size, int) and size > 0


def _edited(tree: Path, manifests: Sequence[Manifest]) -> list[Diagnostic]:
    """A note for each file that is no longer what ptogen wrote; it is checked as it stands."""
    notes = []
    for manifest in manifests:
        for path, digest in manifest.files.items():
            file = tree / path
            if not file.is_file():
                notes.append(
                    Diagnostic(
                        "PTG111", "a file that the manifest lists is missing", Position(str(file)), severity="note"
                    )
                )
            elif hashlib.sha256(file.read_bytes()).hexdigest() != digest:
                message = "edited since ptogen wrote it; checked as it stands"
                notes.append(Diagnostic("PTG111", message, Position(str(file)), severity="note"))
    return notes


def _required(manifest: Manifest) -> frozenset[str]:
    """What the cases of a suite need of the compiler, selected or not: the program has them all."""
    return frozenset(name for case in manifest.cases for name in case.get("requires", ()))


def _provided(manifests: Sequence[Manifest], toolchain: Toolchain, headers: Headers) -> frozenset[str]:
    """What the compiler has of that which the suites need."""
    required = frozenset[str]().union(*map(_required, manifests))
    if "bfloat16" in required and probe.has_bfloat16(toolchain.compiler, headers):
        return frozenset({"bfloat16"})
    return frozenset()


def _kind(manifest: Manifest, pristine: bool, present: frozenset[str], provided: frozenset[str]) -> runtime.Kind:
    """How the program of a suite is built."""
    defects_of_headers = frozenset() if pristine else present
    bfloat16 = "bfloat16" in provided & _required(manifest)
    return runtime.Kind(str(manifest.suite["mode"]), pristine, defects_of_headers, bfloat16)


def _build(
    place: Place,
    sources: list[build.Source],
    toolchain: Toolchain,
    headers: Headers,
    jobs: int,
    fail_fast: bool,
    progress: Progress,
) -> dict[str, Diagnostic]:
    """Faults by suite; once more from the start where a precompiled header has gone stale."""
    kinds = dict.fromkeys(kind for _, _, kind in sources)
    for last in (False, True):
        runtimes = {kind: runtime.prepare(kind, toolchain.compiler, headers, progress.line) for kind in kinds}
        faults = build.build(
            place, sources, runtimes, toolchain, jobs=jobs, fail_fast=fail_fast, progress=progress.line
        )
        if last or not build.is_stale(faults):
            break
        for stale in runtimes.values():
            runtime.discard(stale)
    return faults


def _rows(suites: Sequence[SuiteResult], present: frozenset[str]) -> list[DefectRow]:
    """The defects of the ops that were checked."""
    ops = {suite.op for suite in suites}
    met = Counter(name for suite in suites for case in suite.cases for name in case.defects)
    rows = []
    for name, row in defects.known().items():
        if row.op in ops:
            fact = row.defect
            rows.append(DefectRow(name, row.op, fact.condition, fact.header, fact.reason, name in present, met[name]))
    return rows


def _prune(place: Place) -> None:
    """Takes builds and shared headers from the cache that nobody used for a month."""
    import shutil

    now = time.time()
    for folder in (*place.root.parent.glob("*/"), *(cache.root() / "runtimes").glob("*/")):
        stamp = folder / "complete" if folder.parent.name == "runtimes" else folder
        try:
            if folder != place.root and now - stamp.stat().st_mtime > KEEP_SECONDS:
                shutil.rmtree(folder, ignore_errors=True)
        except OSError:
            continue
