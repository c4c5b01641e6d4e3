"""What ptogen says when something is wrong: one shape for every message, one table of codes.

A message names the place, the fact, the numbers and a way out. Codes are stable; ``docs/codes.md`` is made from
:data:`CODES`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import IntEnum


class ExitCode(IntEnum):
    """Exit statuses of the command line."""

    OK = 0
    FINDING = 1
    """A finding (PTG4xx), a failed case or a difference."""
    USAGE = 2
    """A spec or usage that cannot be served (PTG1xx to PTG3xx), or a missing backend (PTG5xx)."""
    INTERNAL = 3
    """ptogen's own fault; the only case in which a traceback is shown."""
    INTERRUPTED = 130


CODES: dict[str, str] = {
    "PTG100": "a file cannot be read",
    "PTG101": "the YAML text has a syntax error",
    "PTG102": "the file is not UTF-8 text",
    "PTG103": "the document is nested too deeply or grows too large",
    "PTG104": "a key stands twice in one mapping",
    "PTG105": "a key is unknown",
    "PTG106": "a value has the wrong type or is not one of those allowed",
    "PTG107": "a required field is missing",
    "PTG108": "a name is not a C identifier",
    "PTG109": "two cases of a suite have the same name",
    "PTG110": "two suites would land in one directory",
    "PTG111": "a file that ptogen does not own, or that was edited by hand, would be overwritten",
    "PTG112": "a path leads through a symbolic link or outside the output directory",
    "PTG113": "the output cannot be written",
    "PTG114": "an expression (where, --select) cannot be used",
    "PTG115": "a matrix or a selection leaves no case",
    "PTG116": "a pto-isa checkout cannot take a suite, or give it back",
    "PTG201": "the op does not have this dtype on this platform",
    "PTG202": "a shape breaks a rule of the op",
    "PTG203": "the mode does not exist on this platform",
    "PTG204": "pinned addresses (ub) cannot be used here",
    "PTG205": "the input data cannot be used",
    "PTG301": "the tiles do not fit the unified buffer (UB)",
    "PTG302": "the flags need more event ids than the platform has",
    "PTG303": "the target has no text for this plan",
    "PTG401": "a byte range lies outside UB",
    "PTG402": "an address is not aligned as the operand needs",
    "PTG403": "two tiles overlap while both are live",
    "PTG404": "an instruction reaches past the end of its tile",
    "PTG405": "an access lies outside its GM tensor",
    "PTG406": "a tile lies in bytes that an instruction uses by itself",
    "PTG411": "read-after-write race",
    "PTG412": "write-after-read race",
    "PTG413": "write-after-write race",
    "PTG421": "a flag is set and never waited for",
    "PTG422": "a wait can never be satisfied (the kernel hangs)",
    "PTG423": "an event id is set again before it was waited for",
    "PTG424": "an event id or pipe that the platform does not have, or that an instruction uses inside",
    "PTG431": "bytes are read that nobody wrote",
    "PTG432": "bytes of an input or of a result that no step uses",
    "PTG441": "an instruction would run into a defect of its header",
    "PTG442": "an instruction that the checkers do not know",
    "PTG451": "a recording is incomplete",
    "PTG501": "the pto-isa headers are missing",
    "PTG502": "no compiler that works was found",
    "PTG503": "the pto-isa headers cannot be downloaded",
    "PTG504": "a build tool or library is missing",
    "PTG505": "the generated program does not build",
    "PTG506": "the program ended without a result",
    "PTG507": "there is nothing to check",
    "PTG508": "the cost model of the headers at hand does not compile",
    "PTG509": "a call fits no function of the kernel",
    "PTG510": "the cache cannot be written",
    "PTG521": "a Dask cluster cannot be used",
    "PTG522": "every worker that tried a piece of work was lost",
    "PTG523": "the workers of a cluster have different compilers or headers",
}


@dataclass(frozen=True, order=True)
class Position:
    """A place in a text file; ``line`` and ``column`` count from 1."""

    file: str
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        return ":".join(str(part) for part in (self.file, self.line, self.column) if part)


@dataclass(frozen=True)
class Diagnostic:
    """One message to the user.

    Attributes:
        code: a key of :data:`CODES`.
        message: the fact and its numbers, without a full stop.
        position: where it stands, or None where there is no such place.
        details: further lines, such as a table of bytes.
        hint: a way out.
        severity: ``error``, ``warning`` or ``note``.
    """

    code: str
    message: str
    position: Position | None = None
    details: tuple[str, ...] = ()
    hint: str | None = None
    severity: str = "error"

    def __post_init__(self) -> None:
        if self.code not in CODES:
            raise AssertionError(f"unknown code {self.code}")

    def __str__(self) -> str:
        place = f"{self.position}: " if self.position else ""
        lines = [f"{place}{self.severity} {self.code}: {self.message}"]
        lines += [f"    {line}" for line in self.details]
        if self.hint:
            first, *more = self.hint.splitlines()
            lines += [f"  hint: {first}", *(f"        {line}" for line in more)]
        return "\n".join(lines)

    def as_dict(self) -> dict[str, object]:
        """The message as JSON-ready data."""
        position = self.position
        return {
            "code": self.code,
            "severity": self.severity,
            "message": self.message,
            "file": position.file if position else None,
            "line": position.line if position else None,
            "column": position.column if position else None,
            "details": list(self.details),
            "hint": self.hint,
        }


@dataclass
class PtogenError(Exception):
    """Something the user can mend: every fault that was found, in the order of the file."""

    diagnostics: tuple[Diagnostic, ...] = field(default=())

    def __init__(self, diagnostics: Diagnostic | Iterable[Diagnostic]):
        self.diagnostics = (diagnostics,) if isinstance(diagnostics, Diagnostic) else tuple(diagnostics)
        super().__init__("\n".join(map(str, self.diagnostics)))

    @property
    def exit_code(self) -> ExitCode:
        """1 where only findings are reported, else 2."""
        findings = all(diagnostic.code.startswith("PTG4") for diagnostic in self.diagnostics)
        return ExitCode.FINDING if findings else ExitCode.USAGE
