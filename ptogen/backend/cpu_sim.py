"""The backend ``cpu-sim``.

Builds the suites of a tree with pto-isa's CPU simulator, runs them, and says what every case did.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path

from ptogen.backend import build, cache, children, cut, defects, memory, probe, runtime, since, suite_run, twins
from ptogen.backend.compile import Compiler
from ptogen.backend.headers import Headers
from ptogen.backend.project import Place
from ptogen.backend.selection import ALL, Selection, choose, unclaimed
from ptogen.backend.toolchain import Toolchain
from ptogen.errors import Diagnostic, Position
from ptogen.output import Manifest, digest_of, link_on
from ptogen.report.model import CheckReport, DefectRow, SuiteResult
from ptogen.report.progress import Progress

NAME = "cpu-sim"

LAID_OUT = "cluster-"
"""How the name of a tree begins that was laid out for somebody else's check; see :mod:`ptogen.backend.cluster`."""


def check(
    tree: Path,
    *,
    headers: Headers,
    toolchain: Toolchain,
    pristine: bool = False,
    select: Selection = ALL,
    jobs: int | None = None,
    fail_fast: bool = False,
    progress: Progress | None = None,
    timeout: float = 120.0,
    memory_bytes: int | None = None,
    ended: Callable[[SuiteResult], None] = lambda suite: None,
) -> CheckReport:
    """Builds and runs the suites that the manifests of ``tree`` list; the tree itself is only read.

    Args:
        tree: output root of ``ptogen kernel``.
        headers: from :func:`ptogen.backend.headers.find`.
        toolchain: from :func:`ptogen.backend.toolchain.find`.
        pristine: replace no simulator function; cases that fail and meet a listed defect that the headers have are
            known defects.
        select: which cases.
        jobs: compilers and programs at once; default: one a processor.
        fail_fast: stop at the first fault; the other cases are reported as not run.
        progress: told what happens.
        timeout: seconds for one case; gen_data.py gets as many for each case of its suite.
        memory_bytes: what compilers may take together; default: what is free.
        ended: told of each suite as soon as its cases have ended, from several threads.

    Raises:
        PtogenError: PTG507 where nothing is there to check or a manifest does not say what; PTG504, PTG505 where
            nothing can be built.
    """
    started = time.monotonic()
    progress, jobs = progress or Progress(), jobs or os.cpu_count() or 1
    chosen = choose(tree, select)
    present = probe.present(toolchain.compiler, headers)
    lacking = _lacking([manifest for manifest, _ in chosen], toolchain, headers)
    notes, unreadable = look(tree, [manifest for manifest, _ in chosen])
    place = Place(
        cache.root()
        / "builds"
        / cache.digest(str(tree.resolve()), *toolchain.compiler.command, str(headers.include), str(pristine)),
        tree,
    )
    by_key = {manifest.key: (manifest, cases) for manifest, cases in chosen}
    suites = _Suites(
        place,
        {key: (tree / manifest.directory).resolve() for key, (manifest, _) in by_key.items()},
        {key: _kind(manifest, pristine, present, lacking) for key, (manifest, _) in by_key.items()},
        {key: _left_out(manifest, lacking) for key, (manifest, _) in by_key.items()},
    )
    stop = suite_run.Stop(fail_fast)

    with cache.locked(place.root), children.pool(1 if fail_fast else jobs) as pool:
        children.end_in(place.root)
        place.root.mkdir(parents=True, exist_ok=True)
        os.utime(place.root)
        results: dict[str, Future[SuiteResult]] = {}
        whole = {key: {str(case["name"]) for case in manifest.cases} for key, (manifest, _) in by_key.items()}
        buildable = [key for key in by_key if key not in unreadable and whole[key] - suites.left_out[key]]
        groups = {group[0][0]: group for group in twins.groups([suites.source(key) for key in buildable])}
        leaders = {key: leader for leader, group in groups.items() for key, _, _ in group}

        def run(key: str, fault: Diagnostic | None, faults: Mapping[str, Diagnostic] | None = None) -> None:
            manifest, cases = by_key[key]
            leader = leaders.get(key, key)
            own = {name: suites.as_of(one, leader, key) for name, one in (faults or {}).items()}
            job = suite_run.Job(
                manifest, suites.directories[key], tuple(cases), place, pristine, present, timeout, leader, lacking, own
            )

            def one() -> SuiteResult:
                result = suite_run.run(job, fault and suites.as_of(fault, leader, key), stop, progress)
                ended(result)
                return result

            results[key] = pool.submit(one)

        refused: dict[str, Diagnostic] = {}
        faults: dict[str, dict[str, Diagnostic]] = {}

        def built(leader: str, fault: Diagnostic | None) -> None:
            if fault is not None and leader not in faults and not fail_fast:
                refused[leader] = fault
                return
            for key, _, _ in groups[leader]:
                # One that does not build without its culprits either has no case to blame.
                run(key, fault and refused.get(leader, fault), None if fault else faults.get(leader))

        progress.start(sum(len(cases) for _, cases in chosen))
        for key in by_key.keys() - leaders.keys():
            run(key, unreadable.get(key))
        if groups:
            first = [group[0] for group in groups.values()]
            kernels = [path for _, source, _ in first for path in source.glob("*_kernel.cpp")]
            compilers = memory.compilers(jobs, memory_bytes, kernels, progress)
            _build(place, first, toolchain, headers, compilers, stop, progress, built)
            for leader, fault in refused.items():
                names = sorted(whole[leader] - suites.left_out[leader])
                faults[leader] = suites.culprits(leader, names, toolchain.compiler, headers)
                if not set() < set(faults[leader]) < set(names):
                    built(leader, fault)
            again = [suites.source(leader) for leader in refused if leader not in results]
            if again:
                _build(place, again, toolchain, headers, compilers, stop, progress, built)
        for key in [key for key in by_key if key not in results]:
            run(key, None)
        found = tuple(results[manifest.key].result() for manifest, _ in chosen)
    cache.prune("builds/*", "runtimes/*", f"trees/{LAID_OUT}*")
    return CheckReport(
        NAME,
        f"{headers.origin}{f' ({headers.version})' if headers.version else ''}",
        str(toolchain.compiler),
        pristine,
        found,
        tuple(_rows(found, present)),
        tuple(notes),
        time.monotonic() - started,
    )


@dataclass
class _Suites:
    """The ST directories that are built: those of a tree, or copies without some of its cases.

    Attributes:
        place: of the build.
        directories: in the tree, by key.
        kinds: how each is built.
        left_out: cases that nothing is built for.
    """

    place: Place
    directories: Mapping[str, Path]
    kinds: Mapping[str, runtime.Kind]
    left_out: dict[str, set[str]]

    def source(self, key: str) -> build.Source:
        if not self.left_out[key]:
            return key, self.directories[key], self.kinds[key]
        cut.lay_out(self._copy(key), self.directories[key], self.left_out[key])
        return key, self._copy(key), self.kinds[key]

    def culprits(self, key: str, names: Sequence[str], compiler: Compiler, headers: Headers) -> dict[str, Diagnostic]:
        """The cases of a suite that do not compile, each with its fault; the others can still be built."""
        shared = runtime.prepare(self.kinds[key], compiler, headers)
        faults = cut.culprits(self.source(key)[1], names, shared, compiler)
        if len(faults) < len(names):
            self.left_out[key] = self.left_out[key] | set(faults)
        return faults

    def as_of(self, fault: Diagnostic, leader: str, key: str) -> Diagnostic:
        """What was said of the suite ``leader``, or of its copy, as a fault of ``key``."""
        folders = [str(self._copy(leader)), str(self.directories[leader])]
        return twins.as_of(fault, folders, self.directories[key])

    def _copy(self, key: str) -> Path:
        return self.place.root / "cut" / key


def look(tree: Path, manifests: Sequence[Manifest]) -> tuple[list[Diagnostic], dict[str, Diagnostic]]:
    """What became of the files since ptogen wrote them.

    A note for each that was edited, and for each symbolic link on the way to one, which are checked as they stand; a
    warning for each suite whose manifest is gone; and PTG100, by suite, where some files cannot be read.
    """
    notes = unclaimed(tree)
    for link in sorted(
        {link for manifest in manifests for path in manifest.all_files if (link := link_on(tree, path))}
    ):
        message = f"a symbolic link to {os.readlink(tree / link)}; what it leads to is checked"
        notes.append(Diagnostic("PTG112", message, Position(str(tree / link)), severity="note"))
    faults: dict[str, Diagnostic] = {}
    for manifest in manifests:
        directory = tree / manifest.directory
        lost: list[str] = []
        for path, digest in manifest.all_files.items():
            file = tree / path
            try:
                # Anything but a file may never end, as a named pipe does.
                data = file.read_bytes() if file.is_file() or not file.exists() else None
            except (FileNotFoundError, NotADirectoryError):
                lost.append(f"{path} is missing")
            except OSError as error:
                lost.append(f"{path} cannot be read: {(error.strerror or str(error)).lower()}")
            else:
                if data is None:
                    lost.append(f"{path} is not a regular file")
                elif digest_of(data) != digest:
                    message = "edited since ptogen wrote it; checked as it stands"
                    notes.append(Diagnostic("PTG111", message, Position(str(file)), severity="note"))
        if lost:
            is_there = os.path.isdir(directory)
            count = "a file of the suite is" if len(lost) == 1 else f"{len(lost)} files of the suite are"
            faults[manifest.key] = Diagnostic(
                "PTG100",
                f"{count} not there or cannot be read" if is_there else "the directory of the suite is missing",
                Position(str(directory)),
                tuple(lost) if is_there else (),
                "render the suite again with `ptogen kernel`",
            )
    return notes, faults


def _required(manifest: Manifest) -> frozenset[str]:
    """What the cases of a suite need, selected or not: the program has them all."""
    return frozenset(name for case in manifest.cases for name in case.get("requires", ()))


def _lacking(manifests: Sequence[Manifest], toolchain: Toolchain, headers: Headers) -> frozenset[str]:
    """What neither the compiler nor the headers have of that which the suites need."""
    required = frozenset[str]().union(*map(_required, manifests))
    compiler = toolchain.compiler
    lacking = since.lacking(sorted(required - {suite_run.BFLOAT16}), compiler, headers)
    if suite_run.BFLOAT16 in required and not probe.has_bfloat16(compiler, headers):
        lacking.append(suite_run.BFLOAT16)
    return frozenset(lacking)


def _left_out(manifest: Manifest, lacking: frozenset[str]) -> set[str]:
    """Cases that these headers cannot compile; with another type in place of bfloat16, all others can be."""
    absent = lacking - {suite_run.BFLOAT16}
    return {str(case["name"]) for case in manifest.cases if absent & set(case.get("requires", ()))}


def _kind(manifest: Manifest, pristine: bool, present: frozenset[str], lacking: frozenset[str]) -> runtime.Kind:
    """How the program of a suite is built."""
    defects_of_headers = frozenset() if pristine else present
    bfloat16 = suite_run.BFLOAT16 in _required(manifest) - lacking
    return runtime.Kind(str(manifest.suite["mode"]), pristine, defects_of_headers, bfloat16)


def _build(
    place: Place,
    sources: list[build.Source],
    toolchain: Toolchain,
    headers: Headers,
    jobs: int,
    stop: suite_run.Stop,
    progress: Progress,
    ended: build.Ended,
) -> None:
    """Builds suites; once more from the start where a precompiled header has gone stale."""
    kinds = dict.fromkeys(kind for _, _, kind in sources)
    rest = {key for key, _, _ in sources}
    for last in (False, True):
        runtimes = {kind: runtime.prepare(kind, toolchain.compiler, headers, progress.line) for kind in kinds}
        progress.line(f"building {len(rest)} suite{'s' * (len(rest) != 1)} with {toolchain.compiler}")
        stale: set[str] = set()

        def one(key: str, fault: Diagnostic | None, last: bool = last, stale: set[str] = stale) -> None:
            if key in rest and not last and fault is not None and build.is_stale(fault):
                stale.add(key)
            elif key in rest:
                rest.remove(key)
                ended(key, fault)

        build.build(
            place, sources, runtimes, toolchain,
            jobs=jobs, fail_fast=stop.armed, ended=one, stop=lambda: stop.now,
        )  # fmt: skip
        # With --fail-fast, suites that are neither built nor at fault are no reason to begin again.
        if not stale or stop.now:
            break
        for one_of_them in runtimes.values():
            runtime.discard(one_of_them)


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
