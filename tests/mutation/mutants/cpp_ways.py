"""Ways to break the C++ of a kernel function. Each yields, for every place, the place in words and the broken text.

They know statements and not functions, so that they work on any kernel that is written like ours.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

Mutants = Iterator[tuple[str, str]]

SET = re.compile(r"\bset_flag\((PIPE_\w+), (PIPE_\w+), EVENT_ID(\d+)\);")
WAIT = re.compile(r"\bwait_flag\((PIPE_\w+), (PIPE_\w+), EVENT_ID(\d+)\);")
BARRIER = re.compile(r"\bpipe_barrier\((PIPE_\w+)\);")
LOAD = re.compile(r"\bTLOAD\((\w+), (\w+)\);")
STORE = re.compile(r"\bTSTORE\((\w+), (\w+)\);")
INSTRUCTION = re.compile(r"\b(?:TSORT32|TMRGSORT|TPART\w+)\b[^;]*;")
ELEMENT = re.compile(r"\b\w+\.SetValue\([^;]*\);")
DATA = re.compile("|".join(one.pattern for one in (LOAD, STORE, INSTRUCTION)))
# A number is a literal, or a parameter of the template.
ADDRESS = re.compile(r"\bTASSIGN\((\w+), (\w+)([^;]*)\);")
STRIDE = re.compile(r"(?<=\+ )(\w+) \* (\w+)")
TILE = re.compile(r"\bUbTile<(\w+), (\w+), (\w+), (\w+), (\w+)> (\w+);")
TENSOR = re.compile(r"\bGm<(\w+), (\w+), (\w+), (\w+)> (\w+)\((\w+)((?: \+ [^;()]+)?)\);")
LOOP = re.compile(r"\bfor \(int (\w+) = 0; \1 < (\w+); \+\+\1\)")

PIPES = ("PIPE_MTE2", "PIPE_V", "PIPE_MTE3")


@dataclass(frozen=True)
class Way:
    """A way to break a kernel: its name, what it breaks, and the function that does it."""

    name: str
    breaks: str
    mutants: Callable[[str], Mutants]


WAYS: list[Way] = []


def way(breaks: str):
    """Registers a function as the way that its name says."""

    def register(function: Callable[[str], Mutants]) -> Callable[[str], Mutants]:
        WAYS.append(Way(function.__name__.replace("_", " "), breaks, function))
        return function

    return register


def _at(text: str, match: re.Match[str]) -> str:
    """A place in words: its line in the function, and the statement."""
    statement = re.sub(r"\s+", " ", match[0])
    return f"line {text.count(chr(10), 0, match.start()) + 1}, {statement[:60]}"


def _with(text: str, match: re.Match[str], new: str) -> str:
    return text[: match.start()] + new + text[match.end() :]


def _each(text: str, pattern: re.Pattern[str], change: Callable[[re.Match[str]], str | None]) -> Mutants:
    """Every statement of a kind, changed; None where it does not apply."""
    for match in pattern.finditer(text):
        new = change(match)
        if new is not None:
            yield _at(text, match), _with(text, match, new)


def _moved(text: str, match: re.Match[str], place: int) -> str:
    """A statement taken out and put in at another place of the text."""
    if place > match.start():
        return text[: match.start()] + text[match.end() : place] + match[0] + text[place:]
    return text[:place] + match[0] + text[place : match.start()] + text[match.end() :]


def _flags(text: str) -> list[tuple[str, str, str]]:
    return list(dict.fromkeys(match.groups() for match in SET.finditer(text)))


def _of_flag(text: str, flag: tuple[str, str, str], change: Callable[[str, re.Match[str]], str]) -> str:
    """The text with every set and wait of a flag changed."""
    for name, pattern in (("set_flag", SET), ("wait_flag", WAIT)):
        text = pattern.sub(lambda match, name=name: change(name, match) if match.groups() == flag else match[0], text)
    return text


# Flags and barriers.


@way("a pipe does not say that it is done")
def set_dropped(text: str) -> Mutants:
    return _each(text, SET, lambda match: "")


@way("a pipe does not wait")
def wait_dropped(text: str) -> Mutants:
    return _each(text, WAIT, lambda match: "")


@way("nothing orders the two pipes there")
def pair_dropped(text: str) -> Mutants:
    for flag in _flags(text):
        yield ", ".join(flag), _of_flag(text, flag, lambda name, match: "")


@way("a flag is set while it is set")
def set_doubled(text: str) -> Mutants:
    return _each(text, SET, lambda match: match[0] * 2)


@way("a pipe waits for what was taken")
def wait_doubled(text: str) -> Mutants:
    return _each(text, WAIT, lambda match: match[0] * 2)


@way("a set and a wait are exchanged for each other")
def set_and_wait_swapped(text: str) -> Mutants:
    # Under other names at first, or the second pass would turn back what the first has made.
    other = {"set_flag": "@wait", "wait_flag": "@set"}
    for flag in _flags(text):
        marked = _of_flag(text, flag, lambda name, match: match[0].replace(name, other[name]))
        yield ", ".join(flag), marked.replace("@wait", "wait_flag").replace("@set", "set_flag")


@way("a flag is set before the last step that it speaks for")
def set_before_its_step(text: str) -> Mutants:
    for match in SET.finditer(text):
        before = [step.start() for step in DATA.finditer(text, 0, match.start())]
        if before:
            yield _at(text, match), _moved(text, match, before[-1])


@way("a pipe waits only after the step that needs it")
def wait_behind_its_step(text: str) -> Mutants:
    for match in WAIT.finditer(text):
        behind = DATA.search(text, match.end())
        if behind:
            yield _at(text, match), _moved(text, match, behind.end())


@way("a set has another event id than its wait")
def id_of_a_set_changed(text: str) -> Mutants:
    return _each(text, SET, lambda match: f"set_flag({match[1]}, {match[2]}, EVENT_ID{(int(match[3]) + 1) % 8});")


@way("a wait has another event id than its set")
def id_of_a_wait_changed(text: str) -> Mutants:
    return _each(text, WAIT, lambda match: f"wait_flag({match[1]}, {match[2]}, EVENT_ID{(int(match[3]) + 1) % 8});")


@way("two flags of the same pipes share an event id")
def two_ids_made_one(text: str) -> Mutants:
    flags = _flags(text)
    for place, one in enumerate(flags):
        for two in flags[place + 1 :]:
            if one[:2] == two[:2]:
                merged = _of_flag(
                    text, two, lambda name, match, one=one: f"{name}({match[1]}, {match[2]}, EVENT_ID{one[2]});"
                )
                yield f"{', '.join(two)} as {one[2]}", merged


@way("a flag has an event id that the platform has not")
def id_out_of_range(text: str) -> Mutants:
    for flag in _flags(text):
        yield ", ".join(flag), _of_flag(text, flag, lambda name, match: f"{name}({match[1]}, {match[2]}, 8);")


@way("a set goes the other way round")
def set_reversed(text: str) -> Mutants:
    return _each(text, SET, lambda match: f"set_flag({match[2]}, {match[1]}, EVENT_ID{match[3]});")


@way("a wait goes the other way round")
def wait_reversed(text: str) -> Mutants:
    return _each(text, WAIT, lambda match: f"wait_flag({match[2]}, {match[1]}, EVENT_ID{match[3]});")


@way("both ends of a flag go the other way round")
def pair_reversed(text: str) -> Mutants:
    for flag in _flags(text):
        turned = _of_flag(text, flag, lambda name, match: f"{name}({match[2]}, {match[1]}, EVENT_ID{match[3]});")
        yield ", ".join(flag), turned


@way("a flag is set by a pipe that has nothing to say, or the wrong pipe waits for it")
def flag_of_another_pipe(text: str) -> Mutants:
    for flag in _flags(text):
        for pipe in PIPES:
            if pipe not in flag:
                yield (
                    f"{', '.join(flag)} of {pipe}",
                    _of_flag(
                        text, flag, lambda name, match, pipe=pipe: f"{name}({pipe}, {match[2]}, EVENT_ID{match[3]});"
                    ),
                )
                yield (
                    f"{', '.join(flag)} for {pipe}",
                    _of_flag(
                        text, flag, lambda name, match, pipe=pipe: f"{name}({match[1]}, {pipe}, EVENT_ID{match[3]});"
                    ),
                )


@way("steps of one pipe may overlap")
def barrier_dropped(text: str) -> Mutants:
    return _each(text, BARRIER, lambda match: "")


@way("the barrier holds a pipe that did not need it")
def barrier_of_another_pipe(text: str) -> Mutants:
    return _each(text, BARRIER, lambda match: f"pipe_barrier({'PIPE_MTE2' if match[1] == 'PIPE_V' else 'PIPE_V'});")


# Steps and loops.


@way("a tile is not filled")
def load_dropped(text: str) -> Mutants:
    return _each(text, LOAD, lambda match: "")


@way("nothing is computed")
def instruction_dropped(text: str) -> Mutants:
    return _each(text, INSTRUCTION, lambda match: "")


@way("an output is not written")
def store_dropped(text: str) -> Mutants:
    return _each(text, STORE, lambda match: "")


@way("an element is not written")
def element_dropped(text: str) -> Mutants:
    return _each(text, ELEMENT, lambda match: "")


@way("a step is issued twice")
def step_doubled(text: str) -> Mutants:
    return _each(text, DATA, lambda match: match[0] * 2)


@way("the order of two neighbouring steps that move or compute")
def two_steps_exchanged(text: str) -> Mutants:
    steps = list(DATA.finditer(text))
    for one, two in zip(steps, steps[1:], strict=False):
        between = text[one.end() : two.start()]
        # What stands in a loop stays there, and a tile is placed before its use.
        if "{" not in between and "}" not in between and "TASSIGN" not in between:
            yield _at(text, one), text[: one.start()] + two[0] + between + one[0] + text[two.end() :]


@way("a loop ends one turn early")
def loop_a_turn_short(text: str) -> Mutants:
    return _each(text, LOOP, lambda match: match[0].replace(f"< {match[2]}", f"< {match[2]} - 1"))


@way("a loop runs one turn too long")
def loop_a_turn_long(text: str) -> Mutants:
    return _each(text, LOOP, lambda match: match[0].replace(f"< {match[2]}", f"< {match[2]} + 1"))


@way("a tile moves by another stride from turn to turn")
def stride_changed(text: str) -> Mutants:
    yield from _each(text, STRIDE, lambda match: f"{match[1]} * {match[2]} * 2")
    yield from _each(text, STRIDE, lambda match: f"{match[1]} * 0")


@way("tmp is not handed over")
def tmp_argument_dropped(text: str) -> Mutants:
    last = ", tmpTile)"
    return _each(text, INSTRUCTION, lambda match: match[0].replace(last, ")") if last in match[0] else None)


# Addresses.


def _placed(match: re.Match[str], address: str) -> str:
    return f"TASSIGN({match[1]}, {address}{match[3]});"


@way("a tile lies on another one")
def tile_on_another(text: str) -> Mutants:
    addresses = list(dict.fromkeys(match[2] for match in ADDRESS.finditer(text)))
    for match in ADDRESS.finditer(text):
        for address in addresses:
            if address != match[2]:
                yield f"{_at(text, match)} at {address}", _with(text, match, _placed(match, address))


@way("a tile lies a block higher")
def tile_moved_by_a_block(text: str) -> Mutants:
    return _each(text, ADDRESS, lambda match: _placed(match, f"{match[2]} + 32"))


@way("a tile is not aligned to 32 bytes")
def tile_unaligned(text: str) -> Mutants:
    return _each(text, ADDRESS, lambda match: _placed(match, f"{match[2]} + 4"))


@way("a tile lies past the end of UB")
def tile_past_the_end(text: str) -> Mutants:
    return _each(text, ADDRESS, lambda match: _placed(match, "0x40000"))


@way("the addresses of two tiles are exchanged")
def two_addresses_exchanged(text: str) -> Mutants:
    found = list(ADDRESS.finditer(text))
    for one, two in zip(found, found[1:], strict=False):
        if one[2] != two[2]:
            changed = _with(text, two, _placed(two, one[2]))
            yield f"{_at(text, one)} and {two[1]}", _with(changed, one, _placed(one, two[2]))


@way("a tile has no address")
def address_dropped(text: str) -> Mutants:
    return _each(text, ADDRESS, lambda match: "")


# Tiles and tensors: physical shapes, valid regions, places.


def _changed(numbers: list[str], by: tuple[str, ...]) -> str | None:
    """Numbers, some of them with something added; None where nothing would be left of one."""
    if ("1", " - 1") in zip(numbers, by, strict=True):
        return None
    return ", ".join(f"{number}{what}" for number, what in zip(numbers, by, strict=True))


def _tile(
    match: re.Match[str], rows: str = "", cols: str = "", valid_rows: str = "", valid_cols: str = ""
) -> str | None:
    numbers = _changed([match[at] for at in range(2, 6)], (rows, cols, valid_rows, valid_cols))
    return numbers and f"UbTile<{match[1]}, {numbers}> {match[6]};"


@way("a tile has a block of columns less")
def tile_a_block_shorter(text: str) -> Mutants:
    return _each(text, TILE, lambda match: _tile(match, cols=f" - 32 / static_cast<int>(sizeof({match[1]}))"))


@way("a tile has a row less")
def tile_a_row_shorter(text: str) -> Mutants:
    return _each(text, TILE, lambda match: _tile(match, rows=" - 1"))


@way("a tile's valid region has a row more")
def valid_region_a_row_larger(text: str) -> Mutants:
    return _each(text, TILE, lambda match: _tile(match, valid_rows=" + 1"))


@way("a tile's valid region has a column more")
def valid_region_a_column_larger(text: str) -> Mutants:
    return _each(text, TILE, lambda match: _tile(match, valid_cols=" + 1"))


def _is_input(text: str, match: re.Match[str]) -> bool:
    """Whether a tile is loaded. How much of an output a kernel means to store, only its plan knows."""
    return f"TLOAD({match[6]}," in text


@way("an input's valid region has a row less")
def valid_region_a_row_smaller(text: str) -> Mutants:
    return _each(text, TILE, lambda match: _tile(match, valid_rows=" - 1") if _is_input(text, match) else None)


@way("an input's valid region has a column less")
def valid_region_a_column_smaller(text: str) -> Mutants:
    return _each(text, TILE, lambda match: _tile(match, valid_cols=" - 1") if _is_input(text, match) else None)


def _tensor(
    match: re.Match[str], rows: str = "", cols: str = "", pitch: str = "", start: str | None = None
) -> str | None:
    numbers = _changed([match[at] for at in range(2, 5)], (rows, cols, pitch))
    if numbers is None:
        return None
    place = match[7] if start is None else start
    return f"Gm<{match[1]}, {numbers}> {match[5]}({match[6]}{place});"


@way("a load or store takes a row more of its tensor")
def gm_region_a_row_larger(text: str) -> Mutants:
    return _each(text, TENSOR, lambda match: _tensor(match, rows=" + 1"))


@way("a load or store takes a row less of its tensor")
def gm_region_a_row_smaller(text: str) -> Mutants:
    return _each(text, TENSOR, lambda match: _tensor(match, rows=" - 1"))


@way("a load or store takes a column more of its tensor")
def gm_region_a_column_larger(text: str) -> Mutants:
    return _each(text, TENSOR, lambda match: _tensor(match, cols=" + 1"))


@way("a load or store takes a column less of its tensor")
def gm_region_a_column_smaller(text: str) -> Mutants:
    return _each(text, TENSOR, lambda match: _tensor(match, cols=" - 1"))


@way("the rows of a tensor lie further apart")
def pitch_changed(text: str) -> Mutants:
    return _each(text, TENSOR, lambda match: _tensor(match, pitch=" + 1") if match[2] != "1" else None)


@way("a load or store starts an element further in its tensor")
def gm_region_moved(text: str) -> Mutants:
    return _each(text, TENSOR, lambda match: _tensor(match, start=f"{match[7]} + 1"))
