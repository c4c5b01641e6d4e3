"""The tiles of a recorded kernel: what they are called, where they were put, and which of them no step uses."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ptogen.check.events import UB, Buffer, Event
from ptogen.check.finding import ByteRange, Finding
from ptogen.dtypes import DTYPES, Dtype
from ptogen.errors import Position
from ptogen.tiles import Layout, TileType

VEC = 0
"""``TileType`` of ``pto/common/type.hpp``."""

FRACTAL_Z_3D = 21
"""``Layout`` of ``pto/common/type.hpp``."""


def type_of(arg: Mapping[str, Any]) -> TileType:
    """What a header sees of a recorded tile."""
    # Two int4b_t share a byte, although each counts as one where a row is as long as its tile.
    cols = arg["vc"] // 2 if "int4b_t" in arg["d"] else arg["vc"]
    dtype = DTYPES.get(arg["d"]) or Dtype(arg["d"], arg["s"], arg["d"])
    layout = Layout.ROW_MAJOR if arg["row"] else Layout.COL_MAJOR
    if arg["box"]:
        layout = Layout.FRACTAL_Z_3D if arg.get("lay") == FRACTAL_Z_3D else Layout.FRACTAL
    return TileType(dtype, arg["r"], arg["c"], arg["vr"], cols, layout=layout)


@dataclass(frozen=True)
class _Placed:
    """A TASSIGN of a tile: its name in the source, its bytes in UB and the place."""

    name: str
    start: int
    end: int
    position: Position | None


@dataclass
class Tiles:
    """Those of one core, step by step."""

    _objects: dict[int, tuple[str, str]] = field(default_factory=dict)
    _placed: dict[tuple[int, str], _Placed] = field(default_factory=dict)
    _used: set[tuple[int, str]] = field(default_factory=set)
    _buffers: dict[tuple[str, int, int], None] = field(default_factory=dict)

    def place(
        self, args: Sequence[dict[str, Any]], values: Sequence[Any], written: Sequence[str], position: Position | None
    ) -> None:
        """Remembers where a tile is put: the address is an argument, or a template argument."""
        tile = args[0]
        self._objects[tile["id"]] = (written[0] if written else "", position.file if position else "")
        at = args[1]["v"] if len(args) > 1 and args[1]["k"] == "num" else next(iter(values), None)
        if at is not None and tile["loc"] == VEC and written:
            end = at + tile["r"] * tile["c"] * tile["s"]
            self._placed[tile["id"], written[0]] = _Placed(written[0], at, end, position)

    def use(self, args: Sequence[dict[str, Any]]) -> None:
        self._used.update((arg["id"], self._objects.get(arg["id"], ("", ""))[0]) for arg in args if arg["k"] == "tile")

    def words(self, args: Sequence[dict[str, Any]], written: Sequence[str], position: Position | None) -> list[str]:
        """The arguments of a step as they are written, empty where that is not known. A tile is called what it was
        called where it was placed, unless that was a helper elsewhere."""
        texts = [written[number] if len(written) >= len(args) else "" for number in range(len(args))]
        file = position.file if position else ""
        placed = [self._objects.get(arg.get("id", 0), ("", "")) for arg in args]
        return [word if word and at == file else text for (word, at), text in zip(placed, texts, strict=False)]

    def buffer(self, text: str, arg: dict[str, Any]) -> str:
        """The name of a tile: as the source calls it, with its address where that is not one."""
        key = (text, arg["at"], arg["r"] * arg["c"] * arg["s"])
        self._buffers.setdefault(key, None)
        return f"{text}@{arg['at']:#x}+{key[2]}"

    def named(self, events: list[Event]) -> dict[str, Buffer]:
        """Buffers by name; names that stand for one place each lose their address, in the events, too."""
        count: dict[str, int] = {}
        for text, _, _ in self._buffers:
            count[text] = count.get(text, 0) + 1
        names: dict[str, str] = {}
        buffers: dict[str, Buffer] = {}
        for text, at, size in self._buffers:
            long = f"{text}@{at:#x}+{size}"
            short = text if count[text] == 1 else f"{text}@{at:#x}" if f"{text}@{at:#x}" not in buffers else long
            names[long] = short
            buffers[short] = Buffer(short, at, at + size)
        for place, event in enumerate(events):
            if event.tiles:
                events[place] = replace(
                    event,
                    tiles=tuple((operand, names[tile]) for operand, tile in event.tiles),
                    touches=tuple(replace(touch, name=names.get(touch.name, touch.name)) for touch in event.touches),
                )
        return buffers

    def unused(self, buffers: Mapping[str, Buffer]) -> Iterable[Finding]:
        """Notes for tiles that are placed over one that is used, and are not used themselves."""
        seen = set()
        names = {name for _, name in self._used}
        for one in self._placed.values():
            if one.name in names:
                continue
            for two in buffers.values():
                key = (one.name, one.position, two.name)
                if one.start < two.end and two.start < one.end and key not in seen:
                    seen.add(key)
                    mine, other = ByteRange(one.name, UB, one.start, one.end), two.range
                    message = f"{mine} is placed over {other}, and no step uses it"
                    hint = "leave it out, or place it where it is free"
                    positions = (one.position,) if one.position else ()
                    yield Finding("PTG403", message, (mine, other), hint=hint, severity="note", positions=positions)
