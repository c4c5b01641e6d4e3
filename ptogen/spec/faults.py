"""The faults of one spec file, and the small words that every message about a spec uses."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from ptogen.errors import Diagnostic, Position, PtogenError

MAX_FAULTS = 200


class Faults:
    """Collects the faults of a file, so that one run reports them all."""

    def __init__(self) -> None:
        self._found: dict[Diagnostic, None] = {}

    def __len__(self) -> int:
        return len(self._found)

    def add(self, code: str, message: str, position: Position, hint: str | None = None) -> None:
        """Adds a fault; one that an alias repeats counts once."""
        self._found.setdefault(Diagnostic(code, message, position, hint=hint))

    def suggest(self, word: str, allowed: Iterable[str]) -> str | None:
        """The allowed word that was probably meant. No guesses past the faults that are shown: each costs time."""
        return None if len(self) > MAX_FAULTS else suggest(word, allowed, 0.6)

    def raise_all(self) -> None:
        """Raises PtogenError in the order of the file if there are any; the first 200 in full."""
        if not self._found:
            return
        ordered = sorted(self._found, key=lambda fault: fault.position or Position(""))
        shown, rest = ordered[:MAX_FAULTS], ordered[MAX_FAULTS:]
        if rest:
            first, message = rest[0], f"and {len(rest):,} more, from here on"
            shown.append(Diagnostic(first.code, message, first.position, severity="note"))
        raise PtogenError(shown)


def clip(text: str, limit: int = 60) -> str:
    """Text from a file, safe to show: short, on one line, no control characters."""
    cut = text[:limit]
    safe = "".join(char if char.isprintable() else repr(char)[1:-1] for char in cut)
    return safe + "..." if len(text) > limit else safe


def quote(text: str) -> str:
    """The same between backticks."""
    return f"`{clip(text)}`"


def suggest(word: str, allowed: Iterable[str], likeness: float = 0.5) -> str | None:
    """The allowed word nearest to ``word``, or None where nothing is near.

    Half is enough for values, such as fp32; in words of two letters or three it is chance.
    """
    by_lower = {each.lower(): each for each in allowed}
    likeness = likeness if len(word) > 3 else 0.6
    near = difflib.get_close_matches(word[:64].lower().replace("-", "_"), by_lower, 1, likeness)
    return by_lower[near[0]] if near else None


def listing(words: Iterable[object], last: str = "and") -> str:
    """``a, b and c``."""
    *head, tail = [str(word) for word in words]
    return f"{', '.join(head)} {last} {tail}" if head else tail
