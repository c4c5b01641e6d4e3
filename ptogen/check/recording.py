"""A recording as the checkers see it: the JSON lines of ``overlay/recorder/ptogen/recorder.hpp`` as one trace for
each test and core."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePath
from typing import Any

from ptogen.check import roles, source
from ptogen.check.finding import ByteRange, Finding
from ptogen.check.trace import UB, Buffer, Event, Touch, Trace, touches_of
from ptogen.dtypes import DTYPES, Dtype
from ptogen.errors import Position
from ptogen.ops.base import Op
from ptogen.ops.effects import Access, Effects
from ptogen.ops.move import load_effects, store_effects
from ptogen.platforms import Pipe, Platform
from ptogen.tiles import Layout, Region, TileType

VEC, MAT, ACC = 0, 1, 4
"""``TileType`` of ``pto/common/type.hpp``: Vec, Mat and Acc."""

PIPES = {0: Pipe.S, 1: Pipe.V, 2: Pipe.MTE1, 3: Pipe.MTE2, 4: Pipe.MTE3, 5: Pipe.M, 7: Pipe.FIX}
"""The numbers of ``pto/common/cpu_stub.hpp``."""

ALL = 6

ND, DN = 0, 1
"""``Layout`` of ``pto/common/type.hpp``: rows, or columns, follow one another."""

MOST_RUNS = 4096
"""Most separate runs of bytes of one GM access that are followed one by one."""


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
    words = source._split(launch.get("kernel", ""))
    names: dict[int, str] = {}
    for word, address in zip(words, launch.get("args", ()), strict=False):
        if address is not None:
            plain = word.split("*)")[-1].split(">(")[-1].strip("() ")
            names.setdefault(address, plain if plain.isidentifier() else f"argument {len(names)}")
    return names


@dataclass(frozen=True)
class _Placed:
    """A TASSIGN of a tile: its name in the source, its bytes in UB and the place."""

    name: str
    start: int
    end: int
    position: Position | None


@dataclass
class Reader:
    """Turns the steps of one core into a trace.

    Attributes:
        platform: whose rules hold.
        ops: the catalogue by instruction.
        where: positions by return address.
        memory: GM.
    """

    platform: Platform
    ops: dict[str, Op]
    where: dict[int, Position]
    memory: Memory

    def trace(self, core: Core) -> tuple[Trace, list[Finding]]:
        """The trace, and what of it cannot be judged."""
        self._core = core
        self._buffers: dict[tuple[str, int, int], None] = {}
        self._tensors: dict[str, int | None] = {}
        self._objects: dict[int, tuple[str, str]] = {}
        self._notes: dict[tuple[str, str], Finding] = {}
        self._last: Position | None = None
        self._placed: dict[tuple[int, str], _Placed] = {}
        self._used: set[tuple[int, str]] = set()
        events = [event for line in core.lines for event in self._events(line)]
        if core.cut:
            message = f"only the first {core.cut:,} steps of {core.test} were recorded and judged"
            self._notes["", "cut"] = Finding("PTG451", message, severity="note", hint="sanitize a smaller case")
        buffers = self._named(events)
        run = Trace(
            tuple(events),
            buffers,
            dict(self._tensors),
            frozenset(self._tensors),
            (),
            self.platform.ub_bytes,
            self.platform.ub_most or self.platform.ub_bytes,
        )
        return run, [*self._notes.values(), *self._unused(buffers)]

    def _place(
        self, args: Sequence[dict[str, Any]], values: Sequence[Any], written: Sequence[str], position: Position | None
    ) -> None:
        """Remembers where a tile is put: the address is an argument, or a template argument."""
        tile = args[0]
        at = args[1]["v"] if len(args) > 1 and args[1]["k"] == "num" else next(iter(values), None)
        if at is not None and tile["loc"] == VEC and written:
            end = at + tile["r"] * tile["c"] * tile["s"]
            self._placed[tile["id"], written[0]] = _Placed(written[0], at, end, position)

    def _use(self, args: Sequence[dict[str, Any]]) -> None:
        self._used.update((arg["id"], self._objects.get(arg["id"], ("", ""))[0]) for arg in args if arg["k"] == "tile")

    def _unused(self, buffers: Mapping[str, Buffer]) -> Iterable[Finding]:
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

    def _events(self, line: dict[str, Any]) -> list[Event]:
        """The step, and the flags that it surely uses by itself."""
        event = self._event(line)
        if event is None:
            return []
        events = [event]
        for one, two, number in roles.handshakes(line["n"], self.platform, line["a"]) if line["t"] == "op" else ():
            flag = (one, two, number)
            events.append(Event(event.place, event.words, one, flag=flag, sets=True, position=event.position))
            events.append(Event(event.place, event.words, two, flag=flag, waits=True, position=event.position))
        return events

    def _event(self, line: dict[str, Any]) -> Event | None:
        position = self.where.get(line["pc"])
        place = f"{PurePath(position.file).name}:{position.line}" if position else f"step+{line['pc']:#x}"
        kind = line["t"]
        if kind == "op":
            return self._instruction(line, position, place.replace(" ", "_"))
        place = place.replace(" ", "_")
        if kind == "bar":
            if line["p"] == ALL:
                return Event(place, "pipe_barrier(PIPE_ALL)", Pipe.S, barrier=True, everything=True, position=position)
            pipe = PIPES.get(line["p"])
            return Event(place, f"pipe_barrier({pipe})", pipe, barrier=True, position=position) if pipe else None
        one, two = PIPES.get(line["s"]), PIPES.get(line["d"])
        if one is None or two is None:
            self._note(kind, position, place, "a flag of a pipe that is not followed")
            return None
        words = f"{kind}_flag({one}, {two}, EVENT_ID{line['e']})"
        sets = kind == "set"
        return Event(
            place,
            words,
            one if sets else two,
            flag=(one, two, line["e"]),
            sets=sets,
            waits=not sets,
            position=position,
        )

    def _instruction(self, line: dict[str, Any], position: Position | None, place: str) -> Event | None:
        name, args = line["n"], line["a"]
        written = source.arguments(position, name) if position else ()
        if name == "TASSIGN" and args[0]["k"] == "tile":
            self._objects[args[0]["id"]] = (written[0] if written else "", position.file if position else "")
            self._place(args, line["v"], written, position)
        else:
            self._use(args)
        if name in roles.SILENT:
            return None
        if name in ("SetValue", "GetValue"):
            written = ()
        texts = [written[number] if len(written) >= len(args) else "" for number in range(len(args))]
        # A tile is called what it was called where it was placed, unless that was a helper elsewhere.
        file = position.file if position else ""
        placed = [self._objects.get(arg.get("id"), ("", "")) for arg in args]
        texts = [word if word and at == file else text for (word, at), text in zip(placed, texts, strict=False)]
        pairs = [(arg, text) for arg, text in zip(args, texts, strict=False) if arg["k"] == "tile"]
        tensors = [(arg, text) for arg, text in zip(args, texts, strict=False) if arg["k"] == "gm"]
        if any(arg["loc"] != VEC for arg, _ in pairs):
            self._note(name, position, place, f"{name} has a tile outside UB")
            return None
        if any(arg["at"] < 0 for arg, _ in pairs):
            self._note(name, position, place, f"{name} has a tile that no TASSIGN has placed")
            return None
        moved: list[Touch] = []
        names = (
            [operand for operand in ("dst", "src")[name == "TSTORE" :][: len(pairs)]]
            if name in ("TLOAD", "TSTORE")
            else roles.operands(name, len(pairs))
        )
        if names is None:
            why = f"{name} with {len(pairs)} tiles" if name in roles.table() else name
            self._note(name, position, place, f"{why} is not in the table of roles: its bytes are not judged")
            names = tuple(f"operand{number}" for number in range(len(pairs)))
            found = _unknown(names, [_tile(arg) for arg, _ in pairs])
        elif name in ("TLOAD", "TSTORE") and len(pairs) == len(tensors) == 1:
            found, moved = self._move(name, pairs[0][0], tensors[0][0])
        elif (name, len(args)) in (("SetValue", 3), ("GetValue", 2)) and args[1]["k"] == "num":
            # One element, counted from the tile's first (Tile::SetValue, pto/common/pto_tile.hpp:1444).
            size = pairs[0][0]["s"]
            element = Access(names[0], name == "SetValue", Region(args[1]["v"] * size, size))
            found = Effects(Pipe.S, (element,))
        else:
            found = self._effects(name, dict(zip(names, (arg for arg, _ in pairs), strict=False)), args, line["v"])
        tiles, origins = [], {}
        for operand, (arg, text) in zip(names, pairs, strict=False):
            tile = self._buffer(text or operand, arg)
            tiles.append((operand, tile))
            origins[operand] = arg["at"]
        if _is_zero(name, [arg for arg, _ in pairs]):
            found = replace(found, accesses=tuple(replace(one, defined=one.writes) for one in found.accesses))
        filled = {operand for operand, (arg, _) in zip(names, pairs, strict=False) if arg.get("fresh") == 0}
        if filled:
            accesses = (
                replace(access, defined=False) if access.operand in filled and not access.writes else access
                for access in found.accesses
            )
            found = replace(found, accesses=tuple(accesses))
        touches = touches_of(found, dict(tiles), origins)
        touches += [Touch(UB, f"scratch of {name}", Region(a, b - a), True, False) for a, b in found.scratch]
        touches += moved
        shown = ", ".join(texts) if any(texts) else ", ".join(names)
        return Event(
            place,
            f"{name}({shown})",
            found.pipe,
            tuple(touches),
            effects=found,
            tiles=tuple(tiles),
            origins=(*origins.items(), *_second_rows(found, dict(zip(names, (arg for arg, _ in pairs), strict=False)))),
            scratch=tuple(operand for operand in names if operand in ("tmp", "scratch")),
            buffered=name in roles.BUFFERED and len(pairs) > 2 and self.platform.family != "cpu",
            position=position,
        )

    def _effects(
        self, name: str, tiles: dict[str, dict[str, Any]], args: Sequence[dict[str, Any]], values: Sequence[Any]
    ) -> Effects:
        shapes = {operand: _tile(arg) for operand, arg in tiles.items()}
        plain = all(shape.layout is Layout.ROW_MAJOR for shape in shapes.values())
        op = self.ops.get(name)
        if op is not None and plain and all(arg["d"] in DTYPES for arg in tiles.values()):
            try:
                found = op.effects(
                    self.platform.family,
                    shapes,
                    _attributes(name, args, values),
                )
                # The simulator leaves tmp alone: a plan for it claims what an NPU does, a recording need not.
                cpu = self.platform.family == "cpu"
                accesses = (
                    replace(access, sure=False) if cpu and access.operand == "tmp" else access
                    for access in found.accesses
                )
                return replace(found, accesses=tuple(accesses))
            except (KeyError, NotImplementedError):
                pass
        return roles.effects(name, self.platform, shapes)

    def _buffer(self, text: str, arg: dict[str, Any]) -> str:
        """The name of a tile: as the source calls it, with its address where that is not one."""
        key = (text, arg["at"], arg["r"] * arg["c"] * arg["s"])
        self._buffers.setdefault(key, None)
        return f"{text}@{arg['at']:#x}+{key[2]}"

    def _named(self, events: list[Event]) -> dict[str, Buffer]:
        """Buffers by name; names that stand for one place each lose their address, in the events, too."""
        count: dict[str, int] = {}
        for text, _, _ in self._buffers:
            count[text] = count.get(text, 0) + 1
        names, buffers = {}, {}
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

    def _move(self, name: str, arg: dict[str, Any], gm: dict[str, Any]) -> tuple[Effects, list[Touch]]:
        """What a load or store does to its tile, and to GM.

        NPUs take the number of lines from the tensor's shape and the length of a line from the tile's valid region.
        On a2a3 the next line in GM starts behind what was moved plus the tensor's own gap, so lines go astray where
        the two lengths differ (``pto/common/arch/memory/tload_common.hpp:54``, ``tstore_common.hpp:367``); on a5 it
        starts at the stride (``pto/npu/a5/TLoad.hpp:44``). Tiles and tensors of other layouts than rows or columns,
        and of types that pack two elements into a byte (``float4_*x2_t``, ``a5/TStore.hpp:222``), move as a whole."""
        tile, loads = _tile(arg), name == "TLOAD"
        operand, pipe = ("dst", Pipe.MTE2) if loads else ("src", Pipe.MTE3)
        shape, stride, size = list(gm["sh"]), list(gm["st"]), gm["s"]
        length, total, pitch = tile.valid_cols, tile.valid_rows, tile.cols
        if tile.layout is Layout.COL_MAJOR:
            shape[3], shape[4], stride[3], stride[4] = shape[4], shape[3], stride[4], stride[3]
            length, total, pitch = tile.valid_rows, tile.valid_cols, tile.rows
        outer = shape[0] * shape[1] * shape[2]
        fractal = tile.layout is Layout.FRACTAL
        packed = "MXType" in arg["d"] and "Lb1" in arg["d"]
        if gm["lay"] != (ND if tile.layout is not Layout.COL_MAJOR else DN) or fractal or packed or min(shape) <= 0:
            return Effects(pipe, (Access(operand, loads, tile.valid, sure=not (fractal or packed)),)), self._gm(
                gm, not loads, [], sure=False
            )
        defects: tuple[str, ...] = ()
        step = stride[3]
        if self.platform.family != "cpu":
            total = outer * shape[3]
        if self.platform.family == "a2a3":
            step = stride[3] + length - shape[4]
            if length != shape[4] and shape[3] > 1:
                defects = (
                    f"{name} moves lines of {length} elements, the tensor's have {shape[4]}: "
                    f"the second line starts at element {step} of GM, not at {stride[3]}",
                )
        if tile.layout is not Layout.COL_MAJOR:
            one = replace(tile, valid_rows=total)
            found = (load_effects if loads else store_effects)(self.platform.family, one)
            if loads and arg.get("pad") and self.platform.family != "cpu":
                # What stands behind a line up to the next 32 bytes is the pad value (tload_common.hpp:58).
                found = replace(found, accesses=tuple(replace(access, defined=True) for access in found.accesses))
        else:
            found = Effects(pipe, (Access(operand, loads, Region(0, length * size, total, pitch * size)),))
        lines = [
            Region((a * stride[0] + b * stride[1] + c * stride[2]) * size, length * size, shape[3], step * size)
            for a in range(shape[0])
            for b in range(shape[1])
            for c in range(shape[2])
        ]
        return replace(found, defects=defects), self._gm(gm, not loads, lines, sure=outer * shape[3] <= MOST_RUNS)

    def _gm(self, arg: dict[str, Any], writes: bool, lines: Sequence[Region], sure: bool) -> list[Touch]:
        """Bytes of GM, given from where the tensor starts."""
        start = self.memory.find(arg["at"])
        base = arg["at"] if start is None else start
        name = self._core.names.get(base) or self._tensor_name(base)
        self._tensors.setdefault(name, self.memory.sizes[start] if start is not None else None)
        if not sure and lines:
            lines = [
                Region(
                    min(line.start for line in lines),
                    max(line.end for line in lines) - min(line.start for line in lines),
                )
            ]
        return [Touch(name, name, line.shifted(arg["at"] - base), writes, True, sure) for line in lines]

    def _tensor_name(self, base: int) -> str:
        names = self._core.names
        return names.setdefault(base, f"gm{sum(name.startswith('gm') for name in names.values())}")

    def _note(self, name: str, position: Position | None, place: str, message: str) -> None:
        found = Finding(
            "PTG442", message, steps=(f"{place} {name}",), severity="note", positions=(position,) if position else ()
        )
        self._notes.setdefault((name, message), found)


def _is_zero(name: str, tiles: Sequence[dict[str, Any]]) -> bool:
    """Whether an instruction makes zeros of whatever stands in its sources: x - x and x ^ x of integers."""
    return name in ("TSUB", "TXOR") and tiles[1]["at"] == tiles[2]["at"] and "int" in tiles[1]["d"]


def _second_rows(effects: Effects, tiles: dict[str, dict[str, Any]]) -> Iterable[tuple[str, int]]:
    """Where the second row of each operand starts that the instruction wants aligned row by row."""
    for operand, _ in effects.align:
        arg = tiles.get(operand)
        if arg and arg["row"] and arg["vr"] > 1:
            yield operand, arg["at"] + arg["c"] * arg["s"]


def _tile(arg: dict[str, Any]) -> TileType:
    # Two int4b_t share a byte, although each counts as one where a row is as long as its tile.
    cols = arg["vc"] // 2 if "int4b_t" in arg["d"] else arg["vc"]
    dtype = DTYPES.get(arg["d"]) or Dtype(arg["d"], arg["s"], arg["d"])
    layout = Layout.FRACTAL if arg["box"] else Layout.ROW_MAJOR if arg["row"] else Layout.COL_MAJOR
    return TileType(dtype, arg["r"], arg["c"], arg["vr"], cols, layout=layout)


def _attributes(name: str, args: Sequence[dict[str, Any]], values: Sequence[Any]) -> dict[str, int | bool]:
    """What an op of the catalogue takes besides tiles."""
    if name != "TMRGSORT":
        return {}
    if any(arg["k"] == "other" for arg in args):
        return {"exhausted": bool(values and values[-1])}
    return {"block_len": next((arg["v"] for arg in args if arg["k"] == "num"), 0)}


def _unknown(names: Sequence[str], tiles: Sequence[TileType]) -> Effects:
    """An instruction of which nothing is known may write every tile."""
    return Effects(
        Pipe.V,
        tuple(Access(operand, True, tile.whole, sure=False) for operand, tile in zip(names, tiles, strict=False)),
    )
