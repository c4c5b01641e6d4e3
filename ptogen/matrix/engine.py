"""Makes a tree hold the suites of matrices, in parallel and with few of them in memory."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from ptogen import output
from ptogen.errors import Diagnostic, Position, PtogenError
from ptogen.executor import Executor, Workers
from ptogen.executor.local import Local
from ptogen.matrix.expand import EXCLUDED, Expanded, Expander, Group, Slice
from ptogen.matrix.make import Done, Options, left, make, render, written
from ptogen.matrix.record import Record, path_of, read
from ptogen.matrix.rows import Dropped
from ptogen.matrix.suites import SuiteRows, suites
from ptogen.output import MANIFESTS, REMOVE, UNCHANGED, WRITE, Change
from ptogen.platforms import PLATFORMS
from ptogen.register import Entry, withdraw
from ptogen.render.suite import RenderedSuite
from ptogen.spec.matrix import Matrix

TASK_CASES = 512
"""Cases that a worker takes at a time: enough that their C++ is laid out by few processes, few enough to stay small."""


@dataclass
class Outcome:
    """What became of the matrices.

    Attributes:
        cases, suites, files, lines: how much there is; lines only of what was rendered in this run.
        actions: files by what was done with them.
        changed: as in :class:`Done`, in the order of the suites.
        counts: rows of the summary: op, platform, dtype, cases, and what was dropped by reason.
        examples: a message for each reason.
        removed: what ``prune`` took away or had to leave.
        entries: the suites as a checkout knows them.
        diff: of all suites, if asked for.
        faults: of the suites that could not be made.
        idle: whether hashes alone have shown that there is nothing to do.
    """

    cases: int = 0
    suites: int = 0
    files: int = 0
    lines: int = 0
    actions: Counter[str] = field(default_factory=Counter)
    changed: list[tuple[str, str, bool]] = field(default_factory=list)
    counts: list[dict[str, Any]] = field(default_factory=list)
    examples: dict[str, str] = field(default_factory=dict)
    removed: list[Change] = field(default_factory=list)
    entries: list[Entry] = field(default_factory=list)
    diff: list[str] = field(default_factory=list)
    faults: list[Diagnostic] = field(default_factory=list)
    idle: bool = True

    @property
    def different(self) -> bool:
        """Whether the tree was, or would be, changed."""
        return bool(self.changed or any(change.action == REMOVE for change in self.removed))


Choose = Callable[[SuiteRows], "SuiteRows | None"]
"""What ``--select`` and ``--shard`` leave of a suite."""


class Watcher:
    """Told how far a run has come; this one says nothing."""

    def found(self, cases: int) -> None:
        """So many more cases are to be made."""

    def done(self, key: str, cases: int) -> None:
        """A suite of so many cases is finished."""


# What a worker knows; set before the workers are forked.
_expanders: list[Expander] = []
_options = Options(Path())
_trusted: list[bool] = []


def _prepare(matrices: Sequence[Matrix], options: Options, trusted: Sequence[bool]) -> None:
    global _options
    _expanders[:] = [Expander(matrix, options.ub_bytes) for matrix in matrices]
    _trusted[:] = trusted
    _options = options


def _expand(task: tuple[int, Slice]) -> Expanded:
    number, piece = task
    return _expanders[number].expand(piece)


def _make(task: Task) -> list[Done]:
    return make(_expanders[task.matrix].matrix, task.chunk, _options, _trusted[task.matrix])


def _render(task: Task) -> list[RenderedSuite | Done]:
    return render(_expanders[task.matrix].matrix, task.chunk, _options)


class Task(NamedTuple):
    """Suites of a matrix for one worker."""

    matrix: int
    route: int
    chunk: list[SuiteRows]


class Routes:
    """Which worker makes a suite. The same place of a matrix goes to one worker on all platforms, which remembers what
    they share; a new place goes to the worker that has the fewest cases so far."""

    def __init__(self, jobs: int) -> None:
        self._cases = [0] * jobs
        self._routes: dict[tuple[str, str, str], int] = {}

    def of(self, rows: SuiteRows) -> int:
        place = (rows.group.op, rows.group.mode, rows.name)
        route = self._routes.setdefault(place, self._cases.index(min(self._cases)))
        self._cases[route] += len(rows.rows)
        return route


def generate(
    matrices: Sequence[Matrix],
    options: Options,
    *,
    jobs: int = 1,
    executor: Executor | None = None,
    part: str = "",
    choose: Choose | None = None,
    prune: bool = False,
    watcher: Watcher | None = None,
) -> Outcome:
    """Makes the tree hold the suites of the matrices.

    Args:
        matrices: they may not make the same suite.
        options: what to do with every suite.
        jobs: processes of this machine.
        executor: where to make them instead.
        part: which part of the matrices ``choose`` leaves, for the name of their records; without a name there is none.
        choose: what to leave of each suite; None: all.
        prune: also remove suites that these matrices made before and do not make any more.
        watcher: told how far the run has come.

    Raises:
        PtogenError: the matrices make no case, or the same suite twice; PTG521 where a cluster cannot be used. Faults
            of single suites are in the outcome, and the others are made.
    """
    outcome, watcher = Outcome(), watcher or Watcher()
    records = [read(options.out, f"{matrix.stem}{part}") for matrix in matrices]
    inputs = [_inputs(matrix, options, part) for matrix in matrices]
    kept: dict[str, str] = {}
    remembers = choose is None or bool(part)
    if remembers and all(
        record and record.inputs == own and record.holds(options.out)
        for record, own in zip(records, inputs, strict=True)
    ):
        for record, matrix in zip(records, matrices, strict=True):
            assert record
            _claim(kept, record.suites, matrix)
            _recall(outcome, record)
    else:
        outcome.idle = False
        trusted = [bool(record and record.code == options.digest) for record in records]
        workers = (executor or Local(jobs)).workers(_prepare, matrices, options, trusted)
        try:
            for number, matrix in enumerate(matrices):
                record = _run(workers, number, matrix, options, trusted[number], choose, watcher, outcome, kept)
                record.inputs, record.code = inputs[number], options.digest
                if remembers and not options.looking and not outcome.faults:
                    _put(record, options.out, f"{matrix.stem}{part}")
        finally:
            workers.close()
    outcome.changed.sort()
    outcome.diff.sort()
    outcome.entries.sort(key=lambda entry: (entry.platform, entry.name.rpartition("_")[0], len(entry.name), entry.name))
    if prune and not outcome.faults:
        stems = {matrix.stem for matrix in matrices}
        gone = [
            manifest.key
            for manifest in output.read(options.out)
            if manifest.suite.get("matrix") in stems and manifest.key.casefold() not in kept
        ]
        outcome.removed = withdraw(options.out, gone, dry_run=options.looking) if gone else []
    return outcome


def _put(record: Record, out: Path, stem: str) -> None:
    try:
        record.write(out, stem)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        place = Position(str(path_of(out, stem).parent))
        raise PtogenError(Diagnostic("PTG113", f"the output cannot be written: {reason}", place)) from error


def _inputs(matrix: Matrix, options: Options, part: str) -> str:
    return hashlib.sha256("\0".join((matrix.digest, options.digest, part)).encode()).hexdigest()


def _recall(outcome: Outcome, record: Record) -> None:
    manifests = sum(path.startswith(f"{MANIFESTS}/") for path in record.files)
    outcome.cases += sum(suite["cases"] for suite in record.suites.values())
    outcome.entries += [Entry(key, suite["platform"], suite["directory"]) for key, suite in record.suites.items()]
    outcome.suites += len(record.suites)
    outcome.files += len(record.files) - manifests
    outcome.actions[UNCHANGED] += len(record.files) - manifests
    outcome.counts += record.counts
    for reason, message in record.examples.items():
        outcome.examples.setdefault(reason, message)


def _claim(kept: dict[str, str], keys: Iterable[str], matrix: Matrix) -> None:
    """Notes whose suites these are; two matrices may not make the same one."""
    for key in keys:
        other = kept.setdefault(key.casefold(), matrix.marks.file)
        if other != matrix.marks.file:
            message = f"{other} and {matrix.marks.file} both make the suite {key}"
            hint = "give one of the files a `name`"
            raise PtogenError(Diagnostic("PTG110", message, matrix.marks.at(("name",)), hint=hint))


def _run(
    workers: Workers,
    number: int,
    matrix: Matrix,
    options: Options,
    trusted: bool,
    choose: Choose | None,
    watcher: Watcher,
    outcome: Outcome,
    kept: dict[str, str],
) -> Record:
    """One matrix, from its slices to its files."""
    dropped = Dropped()
    counts: Counter[tuple[Group, str]] = Counter()
    record = Record("", "")

    def tasks() -> Iterator[Task]:
        chunks: list[list[SuiteRows]] = [[] for _ in range(workers.jobs)]
        routes = Routes(workers.jobs)
        for rows in expanded(workers, number, matrix, options, dropped):
            chosen = choose(rows) if choose else rows
            if chosen is None:
                continue
            _claim(kept, [chosen.key], matrix)
            watcher.found(len(chosen.rows))
            counts.update((chosen.group, row.dtype) for row in chosen.rows)
            route = routes.of(chosen)
            chunks[route].append(chosen)
            if sum(len(one.rows) for one in chunks[route]) >= TASK_CASES:
                yield Task(number, route, chunks[route])
                chunks[route] = []
        yield from (Task(number, route, chunk) for route, chunk in enumerate(chunks) if chunk)

    faults: dict[str, tuple[Diagnostic, ...]] = {}
    shared: dict[str, tuple[str, bool, str]] = {}
    for done in _made(workers, matrix, options, trusted, tasks()):
        record.files.update(done.files)
        platform = done.key.partition("-")[0]
        record.suites[done.key] = {"cases": done.cases, "platform": platform, "directory": done.directory}
        outcome.entries.append(Entry(done.key, platform, done.directory))
        outcome.cases += done.cases
        outcome.suites += 1
        outcome.files += done.actions[WRITE] + done.actions[UNCHANGED]
        outcome.lines += done.lines
        outcome.actions += done.actions
        outcome.changed += done.changed
        # The first suite that needs it writes it, and every other one finds it there.
        shared.update((path, what) for path, what in done.shared.items() if path not in shared or what[0] != UNCHANGED)
        faults[done.key] = done.faults
        if done.diff:
            outcome.diff.append(done.diff)
        watcher.done(done.key, done.cases)
    for path, (action, foreign, text) in shared.items():
        outcome.files += action != REMOVE
        outcome.actions[action] += 1
        outcome.changed += [(path, action, foreign)] * (action != UNCHANGED)
        outcome.diff += [text] * bool(text)
    outcome.faults += [fault for key in sorted(faults) for fault in faults[key]]
    record.counts = summary(counts, dropped)
    record.examples = dropped.examples
    outcome.counts += record.counts
    for reason, message in dropped.examples.items():
        outcome.examples.setdefault(reason, message)
    return record


def _made(workers: Workers, matrix: Matrix, options: Options, trusted: bool, tasks: Iterable[Task]) -> Iterator[Done]:
    """What became of each suite: workers write it themselves where they can, else they give its text."""
    if workers.shares_files:
        for _, batch in workers.completed(_make, tasks, route=lambda task: task.route):
            yield from batch
        return
    standing: list[Done] = []

    def rest() -> Iterator[Task]:
        for task in tasks:
            changed = []
            for rows in task.chunk:
                if trusted and (one := left(rows, matrix, options)):
                    standing.append(one)
                else:
                    changed.append(rows)
            if changed:
                yield task._replace(chunk=changed)

    def lost(task: Task, fault: Diagnostic) -> list[RenderedSuite | Done]:
        made: list[RenderedSuite | Done] = []
        for rows in task.chunk:
            suite = replace(fault, message=f"{rows.key} was not made: {fault.message}")
            directory = f"{PLATFORMS[rows.group.platform].st_root}/{rows.name}"
            made.append(Done(rows.key, directory, len(rows.rows), faults=(suite,)))
        return made

    for _, rendered in workers.completed(_render, rest(), lost=lost):
        for suite in rendered:
            yield written(suite, options)
    yield from standing


def expanded(workers: Workers, number: int, matrix: Matrix, options: Options, dropped: Dropped) -> Iterator[SuiteRows]:
    """The suites of one of the workers' matrices.

    Raises:
        PtogenError: PTG115, where there is none.
    """

    def expand(pieces: Iterable[Slice]) -> Iterator[Expanded]:
        return workers.map(_expand, ((number, piece) for piece in pieces))

    empty = True
    for rows in suites(matrix, expand, dropped, options.ub_bytes):
        empty = False
        yield rows
    if empty:
        reasons: Counter[str] = Counter()
        for (_, _, reason), count in dropped.counts.items():
            reasons[reason] += count
        details = tuple(
            f"{count:,} {reason}" + (f": {dropped.examples[reason]}" if reason in dropped.examples else "")
            for reason, count in sorted(reasons.items())
        )
        message = f"no combination of the matrix is left, of {reasons.total():,}"
        hint = (
            "look at `where` and `exclude`" if EXCLUDED in reasons else "give values that fit the op and the platform"
        )
        raise PtogenError(Diagnostic("PTG115", message, matrix.marks.at(("matrix",)), details, hint))


def suites_of(
    matrices: Sequence[Matrix],
    options: Options,
    jobs: int,
    choose: Choose | None = None,
    executor: Executor | None = None,
) -> Generator[SuiteRows, None, None]:
    """The suites without anything made of them, for a list of names; the arguments are those of :func:`generate`."""
    workers = (executor or Local(jobs)).workers(_prepare, matrices, options, [False] * len(matrices))
    try:
        for number, matrix in enumerate(matrices):
            for rows in expanded(workers, number, matrix, options, Dropped()):
                if chosen := choose(rows) if choose else rows:
                    yield chosen
    finally:
        workers.close()


def summary(counts: Counter[tuple[Group, str]], dropped: Dropped) -> list[dict[str, Any]]:
    """Rows by op, platform, mode and dtype, in the order in which they came."""
    rows: dict[tuple[Group, str], dict[str, Any]] = {}
    keys = dict.fromkeys([*counts, *((group, dtype) for group, dtype, _ in dropped.counts)])
    for group, dtype in sorted(
        keys, key=lambda key: (key[0].op, list(PLATFORMS).index(key[0].platform), key[0].mode, key[1])
    ):
        rows[group, dtype] = {**group._asdict(), "dtype": dtype, "cases": counts[group, dtype], "dropped": {}}
    for (group, dtype, reason), count in sorted(dropped.counts.items()):
        rows[group, dtype]["dropped"][reason] = count
    return list(rows.values())
