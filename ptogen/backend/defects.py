"""The defects of the CPU simulator that ptogen knows of, as the ops list them."""

from __future__ import annotations

from dataclasses import dataclass

from ptogen.ops.notes import Defect


@dataclass(frozen=True)
class KnownDefect:
    """A defect of an op.

    Attributes:
        op: the op's name in the catalogue.
        defect: the row of its table.
    """

    op: str
    defect: Defect

    @property
    def macro(self) -> str:
        """The macro that tells the overlay that the headers have it."""
        return f"PTOGEN_DEFECT_{self.defect.id}"


def known() -> dict[str, KnownDefect]:
    """Every defect by its id, in the order of the catalogue."""
    from ptogen.ops import catalogue

    return {defect.id: KnownDefect(op.name, defect) for op in catalogue().values() for defect in op.defects}
