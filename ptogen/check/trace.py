"""A program as the checkers see it: the steps in the order of issue.

It is made of a plan in :mod:`ptogen.check.planned` and of a recording in :mod:`ptogen.sanitize.reader`; nothing behind
it knows which.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from ptogen.check.events import Buffer, Event, Touch
from ptogen.check.shadow import Segments


@dataclass(frozen=True)
class Trace:
    """A run of a kernel on one core.

    Attributes:
        events: in the order of issue.
        buffers: tiles by name.
        tensors: bytes of each GM tensor by name, None where unknown.
        inputs: tensors that the host filled.
        outputs: what the kernel has to write.
        needed: what it has to read and use; empty where that is not known, as of a recording.
        ub_bytes: capacity that holds on every source; ``ub_most`` is the largest that one source states.
        addressed: whether addresses are the kernel's own (manual) and not the compiler's (auto).
    """

    events: tuple[Event, ...]
    buffers: Mapping[str, Buffer]
    tensors: Mapping[str, int | None]
    inputs: frozenset[str]
    outputs: tuple[Touch, ...]
    ub_bytes: int
    ub_most: int
    addressed: bool = True
    needed: tuple[Touch, ...] = ()

    @cached_property
    def segments(self) -> Segments:
        """What the touches cut the memories into."""
        return Segments(self.events)
