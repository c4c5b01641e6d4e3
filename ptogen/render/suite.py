"""What rendering a suite gives."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class RenderedSuite:
    """The files of one suite and what a manifest records of them.

    Attributes:
        key: unique in an output tree: ``<platform>-<name>``, and behind it ``-<target>`` where that is not ``st``.
        directory: where the suite goes, relative to the output root, with forward slashes.
        files: text by path relative to the output root.
        meta: JSON-ready facts: ``op``, ``platform``, ``mode``, ``name``, ``test_suite``, ``ub_bytes``, ``spec`` and
            ``templates`` (SHA-256 of the suite's own content and of the templates), ``target`` where it is not ``st``,
            and ``cases``, a list of ``{"name", "fields", "defects", "requires"}`` where ``fields`` are the case's spec
            fields, ``defects`` the ids of the simulator defects that the case meets and ``requires`` what it needs of a
            host compiler beyond C++20. Those of an ST have ``kernel``, too: they call ``Launch_<kernel>``.
    """

    key: str
    directory: str
    files: Mapping[str, str]
    meta: Mapping[str, Any]
