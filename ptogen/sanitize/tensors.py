"""The GM tensors of a recorded kernel."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ptogen.check.events import Touch
from ptogen.ops.move import GlobalTensor
from ptogen.sanitize.recording import Memory
from ptogen.tiles import Layout, Region

LAYOUTS = {0: Layout.ROW_MAJOR, 1: Layout.COL_MAJOR}
"""``Layout`` of ``pto/common/type.hpp``: ND and DN; the others are not followed."""


def type_of(arg: Mapping[str, Any]) -> GlobalTensor:
    """What a header sees of a recorded tensor."""
    return GlobalTensor(tuple(arg["sh"]), tuple(arg["st"]), LAYOUTS.get(arg["lay"], Layout.FRACTAL))


@dataclass
class Tensors:
    """Those of one core: their names, from the launch where it says them, by address.

    Attributes:
        sizes: bytes by name, None where unknown.
    """

    memory: Memory
    names: dict[int, str]
    sizes: dict[str, int | None] = field(default_factory=dict)

    def touches(self, arg: Mapping[str, Any], writes: bool, lines: Iterable[Region], sure: bool) -> list[Touch]:
        """Bytes of GM, given from where the tensor starts."""
        start = self.memory.find(arg["at"])
        base = arg["at"] if start is None else start
        name = self.names.get(base) or self._name(base)
        self.sizes.setdefault(name, self.memory.sizes[start] if start is not None else None)
        return [Touch(name, name, line.shifted(arg["at"] - base), writes, True, sure) for line in lines]

    def _name(self, base: int) -> str:
        return self.names.setdefault(base, f"gm{sum(name.startswith('gm') for name in self.names.values())}")
