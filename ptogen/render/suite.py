"""What rendering a suite gives."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
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
            fields, ``defects`` the ids of the simulator defects that the case meets and ``requires`` what it needs and
            not every compiler, or not all headers, have.
        shared: text by path of the files that it needs and other suites may need as well; each path is that of
            :func:`shared_file`.
    """

    key: str
    directory: str
    files: Mapping[str, str]
    meta: Mapping[str, Any]
    shared: Mapping[str, str] = field(default_factory=dict)


def shared_file(path: str, text: str) -> tuple[str, str]:
    """Where a file goes that several suites of a tree share, and its text.

    Its name bears the beginning of its own hash: two versions of ptogen, or two licence headers, make two files, and
    no suite ever finds a text that it was not rendered for.

    Args:
        path: relative to the output root, such as ``tests/common/ptogen_st.hpp``.
        text: final; only its line ends may change.
    """
    return shared_path(path, hashlib.sha256(text.encode()).hexdigest()), text


def shared_path(path: str, digest: str) -> str:
    """``<name>_<digits><suffix>`` for ``<name><suffix>`` and for ``<name>_<other digits><suffix>``."""
    folder, slash, name = path.rpartition("/")
    stem, dot, suffix = name.partition(".")
    return f"{folder}{slash}{_DIGITS.sub('', stem)}_{digest[:8]}{dot}{suffix}"


_DIGITS = re.compile(r"_[0-9a-f]{8}$")
