"""The judge of broken plans: ``ptogen.check`` first, then every timing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from mutants.corpus import Entry
from mutants.plan_ways import WAYS
from mutants.timing import same_results
from ptogen.check import check_plan
from ptogen.check.planned import trace
from ptogen.plan.model import KernelPlan


@dataclass(frozen=True)
class Verdict:
    """What became of one mutant.

    Attributes:
        way: how it was made.
        entry: of which plan or kernel.
        where: at which place.
        codes: of the findings, sorted, or other words for what objected.
        equivalent: whether it was shown that it cannot change a defined byte; asked only where nothing objected.
    """

    way: str
    entry: str
    where: str
    codes: tuple[str, ...]
    equivalent: bool = False

    @property
    def escaped(self) -> bool:
        return not self.codes and not self.equivalent

    def __str__(self) -> str:
        return f"{self.way}: {self.entry}: {self.where}"


def verdict(way: str, entry: Entry, where: str, mutant: KernelPlan) -> Verdict:
    """What the checkers say of a broken plan, and what every timing says of one that they let pass."""
    codes = tuple(sorted({finding.code for finding in check_plan(mutant, entry.platform)}))
    return Verdict(way, str(entry), where, codes, not codes and is_equivalent(entry, mutant))


def is_equivalent(entry: Entry, mutant: KernelPlan) -> bool:
    """Whether a broken plan leaves in GM what its original leaves there. In mode auto the compiler orders the steps."""
    events, original = (trace(plan, entry.platform).events for plan in (mutant, entry.plan))
    return same_results(events, original, one_by_one=mutant.mode == "auto")


def judged(entry: Entry) -> Iterator[Verdict]:
    """Every mutant of a plan in every way."""
    for way in WAYS:
        for where, mutant in way.mutants(entry.plan):
            yield verdict(way.name, entry, where, mutant)
