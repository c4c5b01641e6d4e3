"""What a target has no text for."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from ptogen.errors import Diagnostic, PtogenError
from ptogen.spec.model import Suite


class NoText(PtogenError):
    """PTG303 for some cases of a suite, or for all.

    Attributes:
        cases: numbers of the cases that have no text; the others have.
    """

    def __init__(self, diagnostics: Iterable[Diagnostic], cases: Collection[int]):
        super().__init__(diagnostics)
        self.cases = frozenset(cases)


def no_platform(suite: Suite, target: str, platforms: Collection[str]) -> Diagnostic:
    """PTG303 for a suite of a platform that the target has not got, of those that it has."""
    has = " and ".join(platforms)
    message = f"{target} has no {suite.platform}; it has {has}"
    options = " ".join(f"--platform {platform}" for platform in platforms)
    hint = f"{options} renders only the suites for {has}"
    return Diagnostic("PTG303", message, suite.marks.at(("platform",)), hint=hint)
