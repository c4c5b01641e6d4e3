"""A recording as the checkers see it: a trace for each test and core."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import Any

from ptogen.check.events import UB, Event, Touch, touches_of
from ptogen.check.finding import Finding
from ptogen.check.trace import Trace
from ptogen.dtypes import DTYPES
from ptogen.errors import Position
from ptogen.ops.attributes import Call
from ptogen.ops.effects import Access, Effects
from ptogen.ops.move import moved
from ptogen.ops.record import Form, Record
from ptogen.ops.sizing import Role
from ptogen.platforms import Pipe, Platform
from ptogen.sanitize import source, tensors, tiles
from ptogen.sanitize.recording import Core, Memory
from ptogen.tiles import Layout, Region, TileType

PIPES = {0: Pipe.S, 1: Pipe.V, 2: Pipe.MTE1, 3: Pipe.MTE2, 4: Pipe.MTE3, 5: Pipe.M, 7: Pipe.FIX}
"""The numbers of ``pto/common/cpu_stub.hpp``."""

ALL = 6

Arg = dict[str, Any]
"""An argument of a step as it was recorded."""


@dataclass
class Reader:
    """Turns the steps of one core into a trace.

    Attributes:
        platform: whose rules hold.
        records: what is known of the instructions, by the ISA's name.
        where: positions by return address.
        memory: GM.
    """

    platform: Platform
    records: Mapping[str, Record]
    where: dict[int, Position]
    memory: Memory

    def trace(self, core: Core) -> tuple[Trace, list[Finding]]:
        """The trace, and what of it cannot be judged."""
        self._tiles = tiles.Tiles()
        self._tensors = tensors.Tensors(self.memory, core.names)
        self._notes: dict[tuple[str, str], Finding] = {}
        events = [event for line in core.lines for event in self._events(line)]
        if core.cut:
            message = f"only the first {core.cut:,} steps of {core.test} were recorded and judged"
            self._notes["", "cut"] = Finding("PTG451", message, severity="note", hint="sanitize a smaller case")
        buffers = self._tiles.named(events)
        run = Trace(
            tuple(events),
            buffers,
            dict(self._tensors.sizes),
            frozenset(self._tensors.sizes),
            (),
            self.platform.ub_bytes,
            self.platform.ub_most or self.platform.ub_bytes,
        )
        return run, [*self._notes.values(), *self._tiles.unused(buffers)]

    def _events(self, line: dict[str, Any]) -> list[Event]:
        """The step, and the flags that it surely uses by itself."""
        event = self._event(line)
        if event is None:
            return []
        events = [event]
        for flag in event.effects.handshakes if event.effects else ():
            one, two, _ = flag
            events.append(Event(event.place, event.words, one, flag=flag, sets=True, position=event.position))
            events.append(Event(event.place, event.words, two, flag=flag, waits=True, position=event.position))
        return events

    def _event(self, line: dict[str, Any]) -> Event | None:
        position = self.where.get(line["pc"])
        place = f"{PurePath(position.file).name}:{position.line}" if position else f"step+{line['pc']:#x}"
        place = place.replace(" ", "_")
        kind = line["t"]
        if kind == "op":
            return self._instruction(line, position, place)
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
        sets, flag = kind == "set", (one, two, line["e"])
        return Event(place, words, one if sets else two, flag=flag, sets=sets, waits=not sets, position=position)

    def _instruction(self, line: dict[str, Any], position: Position | None, place: str) -> Event | None:
        name, args = line["n"], line["a"]
        record = self.records.get(name)
        written = source.arguments(position, name) if position else ()
        if record and record.places and args[0]["k"] == "tile":
            self._tiles.place(args, line["v"], written, position)
        else:
            self._tiles.use(args)
        if record and not record.forms:
            return None
        texts = self._tiles.words(args, () if record and record.member else written, position)
        pairs = [(arg, text) for arg, text in zip(args, texts, strict=False) if arg["k"] == "tile"]
        if any(arg["loc"] != tiles.VEC for arg, _ in pairs):
            self._note(name, position, place, f"{name} has a tile outside UB")
            return None
        if any(arg["at"] < 0 for arg, _ in pairs):
            self._note(name, position, place, f"{name} has a tile that no TASSIGN has placed")
            return None
        call = _call(line)
        form = record.called(len(pairs), call) if record else None
        names = form.names if form else tuple(f"operand{number}" for number in range(len(pairs)))
        given = {slot: arg for slot, (arg, _) in zip(names, pairs, strict=True)}
        gm: list[Touch] = []
        if record and form:
            found, gm = self._effects(record, form, given, [arg for arg in args if arg["k"] == "gm"], call)
        else:
            why = f"{name} with {len(pairs)} tiles" if record else name
            self._note(name, position, place, f"{why} has no record: its bytes are not judged")
            found = _unknown({slot: tiles.type_of(arg) for slot, arg in given.items()})
        named = tuple(
            (slot, self._tiles.buffer(text or slot, arg)) for slot, (arg, text) in zip(names, pairs, strict=True)
        )
        origins = {slot: arg["at"] for slot, arg in given.items()}
        touches = touches_of(found, dict(named), origins)
        touches += [Touch(UB, f"scratch of {name}", Region(a, b - a), True, False) for a, b in found.scratch]
        touches += gm
        shown = ", ".join(texts) if any(texts) else ", ".join(names)
        return Event(
            place,
            f"{name}({shown})",
            found.pipe,
            tuple(touches),
            effects=found,
            tiles=named,
            origins=(*origins.items(), *_second_rows(found, given)),
            scratch=_scratch(form) if form else (),
            buffered=form is not None and self.platform.family in form.buffered,
            position=position,
        )

    def _effects(
        self, record: Record, form: Form, given: Mapping[str, Arg], gm: Sequence[Arg], call: Call
    ) -> tuple[Effects, list[Touch]]:
        """What a call does to its tiles, and the bytes of GM that it moves."""
        family = self.platform.family
        types = {slot: tiles.type_of(arg) for slot, arg in given.items()}
        touches: list[Touch] = []
        if form.pipe in (Pipe.MTE2, Pipe.MTE3) and len(gm) == 1:
            ((slot, arg),) = given.items()
            tile = types[slot]
            if _is_packed(arg):
                tile = replace(tile, layout=Layout.FRACTAL)
            does = moved(record, family, tile, tensors.type_of(gm[0]), bool(arg.get("pad")))
            found = does.effects
            touches = self._tensors.touches(gm[0], not form.slots[0].role.writes, does.gm, does.sure)
        elif all(tile.layout is Layout.ROW_MAJOR and tile.dtype.name in DTYPES for tile in types.values()):
            found = record.effects(family, types, record.read(call))
        else:
            found = form.effects(family, types, record.read(call))
        # A plan claims what an NPU does to tmp for the simulator, too, which leaves it alone: a recording need not.
        unsure = _scratch(form) if family == "cpu" else ()
        filled = {slot for slot, arg in given.items() if arg.get("fresh") == 0}
        if record.cancels and _is_one_source(form, given):
            filled |= given.keys()
        accesses = (
            replace(
                one,
                defined=one.defined and (one.writes or one.operand not in filled),
                sure=one.sure and one.operand not in unsure,
            )
            for one in found.accesses
        )
        return replace(found, accesses=tuple(accesses)), touches

    def _note(self, name: str, position: Position | None, place: str, message: str) -> None:
        found = Finding(
            "PTG442", message, steps=(f"{place} {name}",), severity="note", positions=(position,) if position else ()
        )
        self._notes.setdefault((name, message), found)


def _call(line: Mapping[str, Any]) -> Call:
    """What a step passes besides tiles and tensors."""
    scalars = (arg for arg in line["a"] if arg["k"] not in ("tile", "gm"))
    return Call(tuple(arg["v"] if arg["k"] == "num" else None for arg in scalars), tuple(line["v"]))


def _scratch(form: Form) -> tuple[str, ...]:
    return tuple(slot.name for slot in form.slots if slot.role is Role.TMP)


def _is_packed(arg: Arg) -> bool:
    """Whether two elements share a byte (``float4_*x2_t``, ``a5/TStore.hpp:222``)."""
    return "MXType" in arg["d"] and "Lb1" in arg["d"]


def _is_one_source(form: Form, given: Mapping[str, Arg]) -> bool:
    """Whether all inputs are one tile of integers."""
    inputs = [given[slot.name] for slot in form.slots if slot.role is Role.IN]
    return len({arg["at"] for arg in inputs}) == 1 and "int" in inputs[0]["d"]


def _second_rows(effects: Effects, given: Mapping[str, Arg]) -> Iterable[tuple[str, int]]:
    """Where the second row of each operand starts that the instruction wants aligned row by row."""
    for operand, _ in effects.align:
        arg = given.get(operand)
        if arg and arg["row"] and arg["vr"] > 1:
            yield operand, arg["at"] + arg["c"] * arg["s"]


def _unknown(types: Mapping[str, TileType]) -> Effects:
    """An instruction of which nothing is known may write every tile."""
    return Effects(Pipe.V, tuple(Access(slot, True, tile.whole, sure=False) for slot, tile in types.items()))
