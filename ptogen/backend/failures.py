"""Which cases failed when a tree was checked last, for ``--last-failed``; the user's cache holds it."""

from __future__ import annotations

import os
import threading
from contextlib import suppress
from pathlib import Path

from ptogen import output
from ptogen.backend import cache
from ptogen.report.model import Outcome, SuiteResult


class Failures:
    """The cases of one tree that failed when they ran last, on one backend, as far as they are still there.

    Attributes:
        names: ``<suite key>.<case>`` of each.
    """

    def __init__(self, tree: Path, backend: str) -> None:
        self._path = cache.root() / "failed" / f"{cache.digest(os.path.realpath(tree), backend)}.json"
        self._lock = threading.Lock()
        known = cache.remembered(self._path)
        self.names = {name for name in known if isinstance(name, str)} if isinstance(known, list) else set()
        if self.names and tree.is_dir():
            # A case that the tree has no more would be one that failed for good.
            manifests = output.read(tree)
            self.names &= {f"{manifest.key}.{case.get('name')}" for manifest in manifests for case in manifest.cases}

    def add(self, suite: SuiteResult) -> None:
        """Takes note of what became of a suite; a case that did not run stays what it was."""
        with self._lock:
            for case in suite.cases:
                if case.outcome is Outcome.FAILED:
                    self.names.add(f"{suite.key}.{case.name}")
                elif case.outcome is not Outcome.NOT_RUN:
                    self.names.discard(f"{suite.key}.{case.name}")

    def keep(self) -> None:
        """Writes it down, where that can be."""
        with self._lock:
            if self.names:
                cache.remember(self._path, sorted(self.names))
            else:
                with suppress(OSError):
                    self._path.unlink()
