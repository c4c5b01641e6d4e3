"""A recording: the JSON lines of ``overlay/recorder/ptogen/recorder.hpp``, test by test and core by core."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from ptogen.sanitize import source


@dataclass
class Core:
    """What one core of one launch recorded.

    Attributes:
        test: ``Suite.case``.
        kernel: the launch, as it is written, or empty.
        launch, block: their numbers in the test and in the launch.
        lines: the steps.
        names: names of GM tensors by address, from the launch.
        cut: steps after which nothing more was recorded, if so.
    """

    test: str
    kernel: str = ""
    launch: int = 0
    block: int = 0
    lines: list[dict[str, Any]] = field(default_factory=list)
    names: dict[int, str] = field(default_factory=dict)
    cut: int = 0


@dataclass
class Memory:
    """GM as the host allocated it: starts in order, with sizes and names."""

    starts: list[int] = field(default_factory=list)
    sizes: dict[int, int] = field(default_factory=dict)

    def add(self, start: int, size: int) -> None:
        if start not in self.sizes:
            self.starts.insert(bisect_right(self.starts, start), start)
        self.sizes[start] = size

    def find(self, address: int) -> int | None:
        """The allocation that an address belongs to, the slack around it included."""
        place = bisect_right(self.starts, address + 16384)
        for start in reversed(self.starts[max(0, place - 2) : place]):
            if start - 16384 <= address < start + self.sizes[start] + 16384:
                return start
        return None


def cores(lines: Iterable[str]) -> tuple[list[Core], Memory]:
    """The recording, test by test and core by core."""
    memory, found = Memory(), list[Core]()
    test, core, launches = "", None, 0
    launch: dict[str, Any] = {}
    for line in lines:
        try:
            data = json.loads(line)
        except ValueError:
            continue  # the last line of a program that was ended
        kind = data["t"]
        if kind == "case":
            test, core, launch = f"{data['suite']}.{data['name']}", None, {}
        elif kind == "gm":
            memory.add(data["at"], data["bytes"])
        elif kind == "launch":
            launch, launches = data, launches + 1
        elif kind == "block":
            core = Core(test, launch.get("kernel", ""), launches, data["i"], names=_tensor_names(launch))
            found.append(core)
        elif kind == "cut" and core:
            core.cut = data["steps"]
        elif kind in ("op", "set", "wait", "bar"):
            if core is None:
                core = Core(test)
                found.append(core)
            core.lines.append(data)
    return found, memory


def _tensor_names(launch: dict[str, Any]) -> dict[int, str]:
    """The kernel's arguments as they are written, casts taken off, by the address they stand for."""
    words = source.split(launch.get("kernel", ""))
    names: dict[int, str] = {}
    for word, address in zip(words, launch.get("args", ()), strict=False):
        if address is not None:
            plain = word.split("*)")[-1].split(">(")[-1].strip("() ")
            names.setdefault(address, plain if plain.isidentifier() else f"argument {len(names)}")
    return names
