"""Parts of a matrix: by the name or the fields of a case, or one of several equal shares."""

from __future__ import annotations

import hashlib
import json
import re
from fnmatch import fnmatchcase

from ptogen.errors import Diagnostic, PtogenError
from ptogen.matrix.engine import Choose
from ptogen.matrix.suites import SuiteRows
from ptogen.ops import catalogue
from ptogen.spec.expression import ExpressionError, parse
from ptogen.spec.matrix import fields_of, words_of
from ptogen.spec.model import test_suite_of

GLOB = re.compile(r"[\w*?.!\[\]-]+")


def by_shard(part: int, whole: int) -> Choose:
    """Share ``part`` of ``whole``, by a hash of the suite's key: what else the matrix holds makes no difference."""

    def choose(rows: SuiteRows) -> SuiteRows | None:
        return rows if int(hashlib.sha256(rows.key.encode()).hexdigest(), 16) % whole == part - 1 else None

    return choose


def by_name(text: str) -> Choose:
    """The cases that a glob or an expression picks; suites keep their names, and those without a case go.

    A glob is held against ``<case>``, ``<suite key>.<case>`` and ``<test suite>.<case>``, as in ``ptogen check``.

    Raises:
        PtogenError: PTG114.
    """
    if GLOB.fullmatch(text):
        return _by_glob(text)
    ops = catalogue()
    try:
        expression = parse(text, fields_of(ops, ops), words_of(ops))
    except ExpressionError as error:
        raise _fault(text, error) from None

    def choose(rows: SuiteRows) -> SuiteRows | None:
        try:
            kept = tuple(row for row in rows.rows if expression.holds({**rows.group._asdict(), **json.loads(row.text)}))
        except ExpressionError as error:
            raise _fault(text, error) from None
        return SuiteRows(rows.group, rows.name, kept) if kept else None

    return choose


class Selection:
    """What ``--shard`` and ``--select`` leave, counted.

    Args:
        select: glob or expression, or None.
        shard: part and whole, or None.

    Raises:
        PtogenError: PTG114.
    """

    def __init__(self, select: str | None, shard: tuple[int, int] | None) -> None:
        self._select = select
        self._shard = by_shard(*shard) if shard else None
        self._by_name = by_name(select) if select else None
        self._seen = self._left = 0
        self._first = ""

    def __call__(self, rows: SuiteRows) -> SuiteRows | None:
        self._seen += len(rows.rows)
        self._first = self._first or f"{rows.key}.{rows.rows[0].name}"
        chosen = self._by_name(rows) if self._by_name else rows
        self._left += len(chosen.rows) if chosen else 0
        return self._shard(chosen) if chosen and self._shard else chosen

    def require_some(self) -> None:
        """A shard may be empty; a name that nothing has is a mistake.

        Raises:
            PtogenError: PTG115, where ``--select`` left nothing.
        """
        if self._by_name and not self._left:
            message = f"--select {self._select}: none of the {self._seen:,} cases fits"
            hint = f"--list prints their names, such as {self._first}; fields are picked by an expression: rows < 4"
            raise PtogenError(Diagnostic("PTG115", message, hint=hint))


def _by_glob(glob: str) -> Choose:
    def choose(rows: SuiteRows) -> SuiteRows | None:
        prefixes = ("", f"{rows.key}.", f"{test_suite_of(rows.name)}.")
        kept = tuple(row for row in rows.rows if any(fnmatchcase(prefix + row.name, glob) for prefix in prefixes))
        return SuiteRows(rows.group, rows.name, kept) if kept else None

    return choose


def _fault(text: str, error: ExpressionError) -> PtogenError:
    message = f"--select: {error.message}"
    return PtogenError(Diagnostic("PTG114", message, details=(text, " " * error.column + "^"), hint=error.hint))
