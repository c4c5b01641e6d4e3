"""Makes suites of a matrix: plan, check, render, write; or sees that they stand in the tree already."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from ptogen import output
from ptogen.errors import Diagnostic, PtogenError
from ptogen.matrix.record import code_digest, unchanged
from ptogen.matrix.sound import sound_plans
from ptogen.matrix.suites import SuiteRows
from ptogen.output import MANIFESTS, UNCHANGED, Manifest, digest_of
from ptogen.register import Entry, guard
from ptogen.render.facts import content_digest, sources_digest
from ptogen.render.st import render_all
from ptogen.render.suite import RenderedSuite
from ptogen.spec.matrix import Matrix


@dataclass(frozen=True)
class Options:
    """What is to be done with every suite.

    Attributes:
        out: root of the tree.
        ub_bytes: capacity to plan for, in place of the platforms'.
        license_header: text on top of every file.
        looking: write nothing.
        diff: give the changes as a diff, too.
        force: also replace files that ptogen does not own.
        into: whether ``out`` is a pto-isa checkout, in which the suites are registered.
    """

    out: Path
    ub_bytes: int | None = None
    license_header: str | None = None
    looking: bool = False
    diff: bool = False
    force: bool = False
    into: bool = False

    @property
    def digest(self) -> str:
        """SHA-256 of the code and of the options that reach every suite."""
        return hashlib.sha256(f"{code_digest()}\0{self.ub_bytes}\0{self.license_header}".encode()).hexdigest()


@dataclass(frozen=True)
class Done:
    """What became of one suite.

    Attributes:
        key, directory, cases: of the suite.
        actions: how many of its files were written, left, removed.
        changed: (path, action, edited) of every file that was not left as it was.
        files: SHA-256 by path, the manifest included.
        lines: lines of all its files.
        diff: the changes as text, if asked for.
        shared: (action, edited, diff) of each file that it shares with other suites, by path.
        faults: why it was not written.
    """

    key: str
    directory: str
    cases: int
    actions: Counter[str] = field(default_factory=Counter)
    changed: tuple[tuple[str, str, bool], ...] = ()
    files: dict[str, str] = field(default_factory=dict)
    lines: int = 0
    diff: str = ""
    shared: dict[str, tuple[str, bool, str]] = field(default_factory=dict)
    faults: tuple[Diagnostic, ...] = ()


def make(matrix: Matrix, chunk: Sequence[SuiteRows], options: Options, trusted: bool) -> list[Done]:
    """Plans, checks, renders and writes suites.

    Args:
        matrix: what they come from.
        chunk: the suites.
        options: what to do with them.
        trusted: whether the tree was made by this very code, so that a suite of the same content is the same suite.
    """
    done: dict[str, Done] = {}
    if trusted:
        done = {rows.key: standing for rows in chunk if (standing := left(rows, matrix, options))}
    for made in render(matrix, [rows for rows in chunk if rows.key not in done], options):
        done[made.key] = written(made, options)
    return [done[rows.key] for rows in chunk]


def render(matrix: Matrix, chunk: Sequence[SuiteRows], options: Options) -> list[RenderedSuite | Done]:
    """Plans, checks and renders suites; those that have faults come as :class:`Done`, and first."""
    faulty: list[RenderedSuite | Done] = []
    planned = []
    for rows in chunk:
        suite = rows.suite(matrix, options.ub_bytes)
        try:
            planned.append((suite, sound_plans(suite)))
        except PtogenError as error:
            faulty.append(Done(rows.key, suite.directory, len(rows.rows), faults=error.diagnostics))
    rendered = render_all(planned, options.license_header) if planned else []
    return faulty + [replace(suite, meta={**suite.meta, "matrix": matrix.stem}) for suite in rendered]


def left(rows: SuiteRows, matrix: Matrix, options: Options) -> Done | None:
    """The suite as it stands in the tree, where its content and all of its files are what they would become."""
    suite, out = rows.suite(matrix, options.ub_bytes), options.out
    record = f"{MANIFESTS}/{rows.key}.json"
    try:
        text = (out / record).read_bytes()
        manifest = Manifest.parse(rows.key, text)
    except (OSError, ValueError):
        return None
    contents = (content_digest(suite), sources_digest(suite, "st"))
    if (manifest.suite.get("spec"), manifest.suite.get("templates")) != contents:
        return None
    files = {**manifest.all_files, record: digest_of(text)}
    if manifest.directory != suite.directory or not unchanged(out, files):
        return None
    actions, shared = (
        Counter({UNCHANGED: len(manifest.files)}),
        {path: (UNCHANGED, False, "") for path in manifest.shared},
    )
    return Done(rows.key, suite.directory, len(rows.rows), actions, files=files, shared=shared)


def written(suite: RenderedSuite | Done, options: Options) -> Done:
    """What became of a suite; one that has faults is not written."""
    if isinstance(suite, Done):
        return suite
    cases = len(suite.meta["cases"])
    try:
        if options.into:
            guard(options.out, [Entry.of(suite)], options.force)
        changes = output.write(options.out, [suite], dry_run=options.looking, force=options.force or options.diff)
    except PtogenError as error:
        return Done(suite.key, suite.directory, cases, faults=error.diagnostics)
    record = f"{MANIFESTS}/{suite.key}.json"
    texts = {**suite.files, **suite.shared}
    texts[record] = next(change.new or "" for change in changes if change.path == record)
    own = [change for change in changes if change.suite]
    return Done(
        suite.key,
        suite.directory,
        cases,
        Counter(change.action for change in own if not change.is_manifest),
        tuple((change.path, change.action, change.foreign) for change in own if change.action != UNCHANGED),
        {path: digest_of(text.encode()) for path, text in texts.items()},
        sum(text.count("\n") for text in suite.files.values()),
        output.diff(own) if options.diff else "",
        {
            change.path: (change.action, change.foreign, output.diff([change]) if options.diff else "")
            for change in changes
            if not change.suite
        },
    )
