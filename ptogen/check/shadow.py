"""Byte ranges cut at every boundary that occurs, so that per-byte facts are per-segment facts."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable

from ptogen.check.trace import Event, Touch


class Segments:
    """The segments of each memory. A touch covers whole segments only."""

    def __init__(self, events: Iterable[Event], extra: Iterable[tuple[str, int]] = ()):
        bounds: dict[str, set[int]] = {}
        for event in events:
            for touch in event.touches:
                own = bounds.setdefault(touch.memory, set())
                for run in touch.region.runs():
                    own.update(run)
        for memory, bound in extra:
            bounds.setdefault(memory, set()).add(bound)
        self._bounds = {memory: sorted(own) for memory, own in bounds.items()}
        self._covered: dict[tuple, tuple[tuple[str, int], ...]] = {}

    def of(self, touch: Touch) -> tuple[tuple[str, int], ...]:
        """(memory, segment) of every segment that the touch covers."""
        key = (touch.memory, touch.region)
        if key not in self._covered:
            bounds = self._bounds.get(touch.memory, [])  # none where nothing of a memory is ever touched
            self._covered[key] = tuple(
                (touch.memory, segment)
                for start, end in touch.region.runs()
                for segment in range(bisect_left(bounds, start), bisect_left(bounds, end))
            )
        return self._covered[key]

    def range(self, segment: tuple[str, int]) -> tuple[int, int]:
        """The bytes of a segment, from its first to one past its last."""
        memory, place = segment
        return self._bounds[memory][place], self._bounds[memory][place + 1]
