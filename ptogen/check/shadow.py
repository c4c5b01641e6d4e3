"""Byte ranges cut at every boundary that occurs, so that per-byte facts are per-segment facts."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence

from ptogen.check.events import Event, Touch


class Segments:
    """The segments of each memory, numbered through. A touch covers whole segments only."""

    def __init__(self, events: Iterable[Event], extra: Iterable[tuple[str, int]] = ()):
        bounds: dict[str, set[int]] = {}
        touched = dict.fromkeys((touch.memory, touch.region) for event in events for touch in event.touches)
        for memory, region in touched:
            own = bounds.setdefault(memory, set())
            for run in region.runs():
                own.update(run)
        for memory, bound in extra:
            bounds.setdefault(memory, set()).add(bound)
        self._bounds: dict[str, list[int]] = {}
        self._first: dict[str, int] = {}
        self._all: list[int] = []
        for memory, found in bounds.items():
            self._first[memory] = len(self._all)
            self._bounds[memory] = sorted(found)
            self._all += self._bounds[memory]
        self._covered: dict[tuple, Sequence[int]] = {}

    def holds(self, extra: Iterable[tuple[str, int]]) -> bool:
        """Whether segments end at all of these places already."""
        known = {memory: set(bounds) for memory, bounds in self._bounds.items()}
        return all(bound in known.get(memory, ()) for memory, bound in extra)

    def of(self, touch: Touch) -> Sequence[int]:
        """Every segment that the touch covers."""
        key = (touch.memory, touch.region)
        covered = self._covered.get(key)
        if covered is None:
            bounds = self._bounds.get(touch.memory, [])  # none where nothing of a memory is ever touched
            first = self._first.get(touch.memory, 0)
            runs = [
                range(first + bisect_left(bounds, start), first + bisect_left(bounds, end))
                for start, end in touch.region.runs()
            ]
            covered = self._covered[key] = runs[0] if len(runs) == 1 else [segment for run in runs for segment in run]
        return covered

    def range(self, segment: int) -> tuple[int, int]:
        """The bytes of a segment, from its first to one past its last."""
        return self._all[segment], self._all[segment + 1]
