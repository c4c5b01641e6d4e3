"""What a checker objects to."""

from __future__ import annotations

from dataclasses import dataclass

from ptogen.errors import Diagnostic, Position


@dataclass(frozen=True)
class ByteRange:
    """Bytes ``start`` to ``end`` (one past the last) of a tile or tensor, as absolute addresses of its memory."""

    name: str
    memory: str
    start: int
    end: int

    def __str__(self) -> str:
        return f"{self.name} [{self.start:#x}, {self.end:#x})"


@dataclass(frozen=True)
class Finding:
    """One objection.

    Attributes:
        code: PTG4xx.
        message: the fact with its numbers.
        ranges: the bytes concerned.
        steps: the steps concerned, as text, the earlier one first.
        operand: the operand to point at in the spec, where there is one.
        hint: what would mend it.
        severity: ``error`` where a wrong result or a fault is possible, ``warning`` where declared ranges collide but
            nothing live does, ``note`` for a rule of one document that others do not state.
        positions: of the steps in the source, where they have one.
    """

    code: str
    message: str
    ranges: tuple[ByteRange, ...] = ()
    steps: tuple[str, ...] = ()
    operand: str | None = None
    hint: str | None = None
    severity: str = "error"
    positions: tuple[Position, ...] = ()

    def diagnostic(self, position: Position | None) -> Diagnostic:
        ranges = [str(one) for one in self.ranges if str(one) not in self.message]
        details = [f"bytes: {', '.join(ranges)}"] if ranges else []
        details += [f"step: {step}" for step in self.steps]
        return Diagnostic(self.code, self.message, position, tuple(details), self.hint, self.severity)
