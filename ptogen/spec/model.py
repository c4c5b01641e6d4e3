"""What a spec file becomes once it is understood."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path as FilePath
from typing import Any

from ptogen.errors import Position
from ptogen.graph.model import Graph
from ptogen.ops.case import CaseFields
from ptogen.platforms import Platform

Path = tuple["str | int", ...]
"""Where a value stands in a document: keys and list indices from the root."""


@dataclass(frozen=True)
class Marks:
    """Positions of a document's keys and values."""

    file: str
    values: Mapping[Path, Position]
    keys: Mapping[Path, Position] = field(default_factory=dict)

    def at(self, path: Path) -> Position:
        """The value at ``path``, or the nearest enclosing one that the document has."""
        while path and path not in self.values:
            path = path[:-1]
        return self.values.get(path, Position(self.file, 1, 1))


def test_suite_of(name: str) -> str:
    """The GoogleTest suite of the suite ``name``.

    GoogleTest forbids underscores in it (its FAQ: "Why should test suite names and test names not contain
    underscore?"). A small x among the capitals in the place of each keeps apart what differs in nothing else.
    """
    return f"{name.upper().replace('_', 'x')}Test"


@dataclass(frozen=True)
class Suite:
    """The cases that become one ST directory on one platform.

    Attributes:
        graph: what it computes.
        platform: row of the platform table.
        mode: ``manual`` or ``auto``.
        name: ST directory and suite name.
        cases: every case has a name, unique in the suite.
        ub_bytes: capacity to plan for.
        marks: positions in the spec file.
        paths: where each case stands in the document.
        base: folder of the spec file; a relative ``.npy`` path in ``data`` starts there.
    """

    graph: Graph
    platform: Platform
    mode: str
    name: str
    cases: tuple[CaseFields, ...]
    ub_bytes: int
    marks: Marks
    paths: tuple[Path, ...]
    base: FilePath = FilePath()

    @property
    def test_suite(self) -> str:
        """Name of the GoogleTest suite; data directories are ``<test_suite>.<case>``."""
        return test_suite_of(self.name)

    @property
    def directory(self) -> str:
        """ST directory relative to the output root."""
        return f"{self.platform.st_root}/{self.name}"

    @cached_property
    def data_params(self) -> tuple[dict[str, Any], ...]:
        """What ``generate`` of the golden is called with for each case, plain values: the op's ``golden_params`` and,
        where inputs have one, their ``domains`` by name. Asked once, because it may read files of values."""

        def params(case: CaseFields) -> dict[str, Any]:
            own = self.graph.golden_params(case, self.base)
            domains = {tensor.name: tensor.domain for tensor in self.graph.tensors(case) if tensor.domain is not None}
            return {**own, "domains": domains} if domains else own

        return tuple(map(params, self.cases))

    def position(self, case: int, *fields: str | int) -> Position:
        """Where a field of a case stands in the spec."""
        return self.marks.at((*self.paths[case], *fields))
