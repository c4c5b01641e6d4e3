"""Ways to break a plan. Each yields, for every place where it applies, the place in words and the broken plan."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from ptogen.plan.model import (
    Affine,
    Barrier,
    GmWindow,
    Instruction,
    KernelPlan,
    Load,
    Loop,
    Program,
    SetFlag,
    Step,
    Store,
    Tile,
    WaitFlag,
    Window,
)
from ptogen.platforms import PLATFORMS, UB_BLOCK_BYTES, Pipe

Mutants = Iterator[tuple[str, KernelPlan]]

Data = (Load, Store, Instruction)
"""Steps that move or compute."""


@dataclass(frozen=True)
class Way:
    """A way to break a plan: its name, what it breaks, and the function that does it."""

    name: str
    breaks: str
    mutants: Callable[[KernelPlan], Mutants]


WAYS: list[Way] = []


def way(breaks: str):
    """Registers a function as the way that its name says."""

    def register(function: Callable[[KernelPlan], Mutants]) -> Callable[[KernelPlan], Mutants]:
        WAYS.append(Way(function.__name__.replace("_", " "), breaks, function))
        return function

    return register


@dataclass(frozen=True)
class Site:
    """A step in its block, which is the program or the body of a loop.

    Attributes:
        where: its place and kind.
        step: itself.
        block: the steps around it.
        place: where it stands among them.
        put: the plan with other steps for this block.
    """

    where: str
    step: Step
    block: Program
    place: int
    put: Callable[[Program], KernelPlan]

    def become(self, *steps: Step) -> KernelPlan:
        """The plan with these steps in its place."""
        return self.put((*self.block[: self.place], *steps, *self.block[self.place + 1 :]))

    def moved(self, to: int) -> KernelPlan:
        """The plan with the step at another place of its block."""
        rest = [*self.block[: self.place], *self.block[self.place + 1 :]]
        return self.put((*rest[:to], self.step, *rest[to:]))


def sites(plan: KernelPlan, *kinds: type) -> Iterator[Site]:
    """Every step of these kinds, those in loops too."""

    def walk(block: Program, put: Callable[[Program], KernelPlan], path: str) -> Iterator[Site]:
        for place, step in enumerate(block):
            where = f"{path}{place + 1}"
            if isinstance(step, kinds):
                yield Site(f"step {where}", step, block, place, put)
            if isinstance(step, Loop):

                def inside(body: Program, place: int = place, step: Loop = step) -> KernelPlan:
                    return put((*block[:place], replace(step, body=body), *block[place + 1 :]))

                yield from walk(step.body, inside, f"{where}.")

    yield from walk(plan.program, lambda program: replace(plan, program=program), "")


def _flag(step: SetFlag | WaitFlag) -> tuple[Pipe, Pipe, int]:
    return step.src, step.dst, step.event


def _edited(plan: KernelPlan, change: Callable[[Step], tuple[Step, ...]]) -> KernelPlan:
    """The plan with every step changed, or dropped, those in loops too."""

    def walk(block: Program) -> Program:
        steps = (replace(step, body=walk(step.body)) if isinstance(step, Loop) else step for step in block)
        return tuple(new for step in steps for new in change(step))

    return replace(plan, program=walk(plan.program))


def _words(flag: tuple[Pipe, Pipe, int]) -> str:
    return f"{flag[0]} to {flag[1]}, event {flag[2]}"


def _of_flag(
    plan: KernelPlan, flag: tuple[Pipe, Pipe, int], change: Callable[[SetFlag | WaitFlag], tuple[Step, ...]]
) -> KernelPlan:
    """The plan with every set and wait of a flag changed, or dropped."""

    def one(step: Step) -> tuple[Step, ...]:
        return change(step) if isinstance(step, (SetFlag, WaitFlag)) and _flag(step) == flag else (step,)

    return _edited(plan, one)


def _flags(plan: KernelPlan) -> list[tuple[Pipe, Pipe, int]]:
    """Every flag that is set, in order."""
    return list(dict.fromkeys(_flag(site.step) for site in sites(plan, SetFlag)))


def _renamed(plan: KernelPlan, names: dict, *kinds: type) -> KernelPlan:
    """The plan with other event ids for some flags, in steps of these kinds."""
    return _edited(
        plan,
        lambda step: (
            (replace(step, event=names[_flag(step)]),) if isinstance(step, kinds) and _flag(step) in names else (step,)
        ),
    )


# Flags.


@way("a pipe does not say that it is done")
def set_dropped(plan: KernelPlan) -> Mutants:
    for site in sites(plan, SetFlag):
        yield site.where, site.become()


@way("a pipe does not wait")
def wait_dropped(plan: KernelPlan) -> Mutants:
    for site in sites(plan, WaitFlag):
        yield site.where, site.become()


@way("nothing orders the two pipes there")
def pair_dropped(plan: KernelPlan) -> Mutants:
    for flag in _flags(plan):
        yield _words(flag), _of_flag(plan, flag, lambda step: ())


@way("a flag is set while it is set")
def set_doubled(plan: KernelPlan) -> Mutants:
    for site in sites(plan, SetFlag):
        yield site.where, site.become(site.step, site.step)


@way("a pipe waits for what was taken")
def wait_doubled(plan: KernelPlan) -> Mutants:
    for site in sites(plan, WaitFlag):
        yield site.where, site.become(site.step, site.step)


@way("a set and a wait are exchanged for each other")
def set_and_wait_swapped(plan: KernelPlan) -> Mutants:
    for flag in _flags(plan):
        yield (
            _words(flag),
            _of_flag(plan, flag, lambda step: ((WaitFlag if isinstance(step, SetFlag) else SetFlag)(*_flag(step)),)),
        )


@way("a flag is set before the last step that it speaks for")
def set_before_its_step(plan: KernelPlan) -> Mutants:
    for site in sites(plan, SetFlag):
        before = [place for place in range(site.place) if isinstance(site.block[place], Data)]
        if before:
            yield site.where, site.moved(before[-1])


@way("a flag is set later than it can be")
def set_behind_the_next_step(plan: KernelPlan) -> Mutants:
    for site in sites(plan, SetFlag):
        behind = [place for place in range(site.place + 1, len(site.block)) if isinstance(site.block[place], Data)]
        if behind:
            yield site.where, site.moved(behind[0])


@way("a pipe waits only after the step that needs it")
def wait_behind_its_step(plan: KernelPlan) -> Mutants:
    for site in sites(plan, WaitFlag):
        behind = [place for place in range(site.place + 1, len(site.block)) if isinstance(site.block[place], Data)]
        if behind:
            yield site.where, site.moved(behind[0])


@way("a flag and a neighbouring step change places")
def flag_exchanged_with_its_neighbour(plan: KernelPlan) -> Mutants:
    for site in sites(plan, SetFlag, WaitFlag):
        if site.place + 1 < len(site.block):
            yield site.where, site.moved(site.place + 1)


@way("a set has another event id than its wait")
def id_of_a_set_changed(plan: KernelPlan) -> Mutants:
    for site in sites(plan, SetFlag):
        yield site.where, site.become(replace(site.step, event=site.step.event + 1))


@way("a wait has another event id than its set")
def id_of_a_wait_changed(plan: KernelPlan) -> Mutants:
    for site in sites(plan, WaitFlag):
        yield site.where, site.become(replace(site.step, event=site.step.event + 1))


@way("the sets of two flags of the same pipes have each other's event id")
def ids_of_two_sets_exchanged(plan: KernelPlan) -> Mutants:
    flags = _flags(plan)
    for place, one in enumerate(flags):
        for two in flags[place + 1 :]:
            if one[:2] == two[:2]:
                yield f"{_words(one)} and {two[2]}", _renamed(plan, {one: two[2], two: one[2]}, SetFlag)


@way("two flags of the same pipes share an event id")
def two_ids_made_one(plan: KernelPlan) -> Mutants:
    flags = _flags(plan)
    for place, one in enumerate(flags):
        for two in flags[place + 1 :]:
            if one[:2] == two[:2]:
                yield f"{_words(two)} as {one[2]}", _renamed(plan, {two: one[2]}, SetFlag, WaitFlag)


@way("a flag has an event id that the platform has not")
def id_out_of_range(plan: KernelPlan) -> Mutants:
    for flag in _flags(plan):
        for event in (-1, PLATFORMS[plan.platform].event_ids):
            yield f"{_words(flag)} as {event}", _renamed(plan, {flag: event}, SetFlag, WaitFlag)


@way("a set goes the other way round")
def set_reversed(plan: KernelPlan) -> Mutants:
    for site in sites(plan, SetFlag):
        yield site.where, site.become(SetFlag(site.step.dst, site.step.src, site.step.event))


@way("a wait goes the other way round")
def wait_reversed(plan: KernelPlan) -> Mutants:
    for site in sites(plan, WaitFlag):
        yield site.where, site.become(WaitFlag(site.step.dst, site.step.src, site.step.event))


@way("both ends of a flag go the other way round")
def pair_reversed(plan: KernelPlan) -> Mutants:
    for flag in _flags(plan):
        yield _words(flag), _of_flag(plan, flag, lambda step: (type(step)(step.dst, step.src, step.event),))


@way("a flag is set by a pipe that has nothing to say")
def flag_of_another_source_pipe(plan: KernelPlan) -> Mutants:
    for flag in _flags(plan):
        for pipe in (Pipe.MTE2, Pipe.V, Pipe.MTE3, Pipe.S):
            if pipe not in flag:
                yield (
                    f"{_words(flag)} of {pipe}",
                    _of_flag(plan, flag, lambda step, pipe=pipe: (replace(step, src=pipe),)),
                )


@way("the wrong pipe waits for a flag")
def flag_for_another_pipe(plan: KernelPlan) -> Mutants:
    for flag in _flags(plan):
        for pipe in (Pipe.MTE2, Pipe.V, Pipe.MTE3):
            if pipe not in flag:
                yield (
                    f"{_words(flag)} for {pipe}",
                    _of_flag(plan, flag, lambda step, pipe=pipe: (replace(step, dst=pipe),)),
                )


@way("a flag that an instruction uses inside is set around it")
def flag_of_the_instruction_used_around_it(plan: KernelPlan) -> Mutants:
    for site in sites(plan, Instruction) if plan.mode == "manual" else ():
        for flag in site.step.events:
            yield f"{site.where}, {_words(flag)}", site.become(SetFlag(*flag), site.step, WaitFlag(*flag))


# Barriers.


@way("steps of one pipe may overlap")
def barrier_dropped(plan: KernelPlan) -> Mutants:
    for site in sites(plan, Barrier):
        yield site.where, site.become()


@way("the barrier holds a pipe that did not need it")
def barrier_of_another_pipe(plan: KernelPlan) -> Mutants:
    for site in sites(plan, Barrier):
        for pipe in (Pipe.MTE2, Pipe.V, Pipe.MTE3):
            if pipe is not site.step.pipe:
                yield f"{site.where}, {pipe}", site.become(Barrier(pipe))


@way("the barrier stands before the step that it should stand behind")
def barrier_before_its_step(plan: KernelPlan) -> Mutants:
    for site in sites(plan, Barrier):
        before = [place for place in range(site.place) if isinstance(site.block[place], Data)]
        if before:
            yield site.where, site.moved(before[-1])


# Steps and loops.


@way("a tile is not filled")
def load_dropped(plan: KernelPlan) -> Mutants:
    for site in sites(plan, Load):
        yield site.where, site.become()


@way("nothing is computed")
def instruction_dropped(plan: KernelPlan) -> Mutants:
    for site in sites(plan, Instruction):
        yield site.where, site.become()


@way("a part of an output is not written")
def store_dropped(plan: KernelPlan) -> Mutants:
    for site in sites(plan, Store):
        yield site.where, site.become()


@way("a step is issued twice")
def step_doubled(plan: KernelPlan) -> Mutants:
    for site in sites(plan, *Data):
        yield site.where, site.become(site.step, site.step)


@way("the order of two neighbouring steps that move or compute")
def two_steps_exchanged(plan: KernelPlan) -> Mutants:
    for site in sites(plan, *Data):
        behind = [place for place in range(site.place + 1, len(site.block)) if isinstance(site.block[place], Data)]
        if behind:
            other = behind[0]
            block = list(site.block)
            block[site.place], block[other] = block[other], block[site.place]
            yield site.where, site.put(tuple(block))


@way("a tile is filled after its use")
def load_last(plan: KernelPlan) -> Mutants:
    for site in sites(plan, Load):
        yield site.where, site.moved(len(site.block) - 1)


@way("a result is stored before it is there")
def store_first(plan: KernelPlan) -> Mutants:
    for site in sites(plan, Store):
        yield site.where, site.moved(0)


@way("a loop ends one turn early")
def loop_a_turn_short(plan: KernelPlan) -> Mutants:
    for site in sites(plan, Loop):
        yield site.where, site.become(replace(site.step, count=site.step.count - 1))


@way("a loop runs one turn too long")
def loop_a_turn_long(plan: KernelPlan) -> Mutants:
    for site in sites(plan, Loop):
        yield site.where, site.become(replace(site.step, count=site.step.count + 1))


# Windows: what a step uses of a tile or of a tensor.


def _windows(step: Step) -> Iterator[tuple[str, Window, Callable[[Window], Step]]]:
    """The parts of tiles that a step uses: operand, window, and the step with another window there."""
    if isinstance(step, Load):
        yield "dst", step.dst, lambda window: replace(step, dst=window)
    elif isinstance(step, Store):
        yield "src", step.src, lambda window: replace(step, src=window)
    elif isinstance(step, Instruction):
        for place, (name, window) in enumerate(step.args):

            def put(window: Window, place: int = place, name: str = name) -> Step:
                return replace(step, args=(*step.args[:place], (name, window), *step.args[place + 1 :]))

            yield name, window, put


def _gm(step: Step) -> tuple[GmWindow, Callable[[GmWindow], Step]]:
    """The part of a tensor that a load or store uses, and the step with another one."""
    if isinstance(step, Load):
        return step.src, lambda window: replace(step, src=window)
    return step.dst, lambda window: replace(step, dst=window)


def _resized(plan: KernelPlan, rows: int, cols: int) -> Mutants:
    """Valid regions of single operands, larger or smaller."""
    for site in sites(plan, *Data):
        for name, window, put in _windows(site.step):
            changed = replace(window, valid_rows=window.valid_rows + rows, valid_cols=window.valid_cols + cols)
            if window.valid_rows and window.valid_cols and changed.valid_rows > 0 and changed.valid_cols > 0:
                yield f"{site.where}, {name}", site.become(put(changed))


@way("an operand's valid region has a row more")
def valid_region_a_row_larger(plan: KernelPlan) -> Mutants:
    yield from _resized(plan, 1, 0)


@way("an operand's valid region has a column more")
def valid_region_a_column_larger(plan: KernelPlan) -> Mutants:
    yield from _resized(plan, 0, 1)


@way("an operand's valid region has a row less")
def valid_region_a_row_smaller(plan: KernelPlan) -> Mutants:
    yield from _resized(plan, -1, 0)


@way("an operand's valid region has a column less")
def valid_region_a_column_smaller(plan: KernelPlan) -> Mutants:
    yield from _resized(plan, 0, -1)


def _gm_resized(plan: KernelPlan, rows: int, cols: int) -> Mutants:
    for site in sites(plan, Load, Store):
        window, put = _gm(site.step)
        changed = replace(window, rows=window.rows + rows, cols=window.cols + cols)
        if changed.rows > 0 and changed.cols > 0:
            yield site.where, site.become(put(changed))


@way("a load or store takes a row or column more of its tensor")
def gm_region_larger(plan: KernelPlan) -> Mutants:
    yield from _gm_resized(plan, 1, 0)
    yield from _gm_resized(plan, 0, 1)


@way("a load or store takes a row or column less of its tensor")
def gm_region_smaller(plan: KernelPlan) -> Mutants:
    yield from _gm_resized(plan, -1, 0)
    yield from _gm_resized(plan, 0, -1)


def _both_resized(plan: KernelPlan, kind: type, rows: int, cols: int) -> Mutants:
    for site in sites(plan, kind):
        window, put = _gm(site.step)
        own = site.step.dst if isinstance(site.step, Load) else site.step.src
        if window.rows + rows > 0 and window.cols + cols > 0:
            step = put(replace(window, rows=window.rows + rows, cols=window.cols + cols))
            changed = replace(own, valid_rows=own.valid_rows + rows, valid_cols=own.valid_cols + cols)
            yield site.where, site.become(replace(step, **{"dst" if kind is Load else "src": changed}))


@way("a load brings a row or column less, in GM and UB alike")
def load_smaller(plan: KernelPlan) -> Mutants:
    yield from _both_resized(plan, Load, -1, 0)
    yield from _both_resized(plan, Load, 0, -1)


@way("a store takes a row or column less, in GM and UB alike")
def store_smaller(plan: KernelPlan) -> Mutants:
    yield from _both_resized(plan, Store, -1, 0)
    yield from _both_resized(plan, Store, 0, -1)


@way("a load or store stands a row or column further in its tensor")
def gm_region_moved(plan: KernelPlan) -> Mutants:
    for site in sites(plan, Load, Store):
        window, put = _gm(site.step)
        for name in ("row", "col"):
            yield (
                f"{site.where}, {name}",
                site.become(put(replace(window, **{name: getattr(window, name) + Affine(1)}))),
            )


@way("an operand starts one element, one block or one row further in its tile")
def window_moved(plan: KernelPlan) -> Mutants:
    for site in sites(plan, *Data):
        for name, window, put in _windows(site.step):
            block = UB_BLOCK_BYTES // plan.tile(window.tile).dtype.bytes
            for what, field, by in (("element", "col", 1), ("block", "col", block), ("row", "row", 1)):
                moved = replace(window, **{field: getattr(window, field) + Affine(by)})
                yield f"{site.where}, {name} by a {what}", site.become(put(moved))


@way("an operand moves by another stride from turn to turn")
def stride_changed(plan: KernelPlan) -> Mutants:
    for site in sites(plan, *Data):
        for name, window, put in _windows(site.step):
            for field in ("row", "col"):
                own = getattr(window, field)
                for place, (variable, factor) in enumerate(own.terms):
                    for other in (0, factor * 2):
                        terms = (*own.terms[:place], (variable, other), *own.terms[place + 1 :])
                        moved = replace(window, **{field: Affine(own.const, terms)})
                        yield f"{site.where}, {name}.{field} by {other}", site.become(put(moved))


@way("tmp is not handed over")
def tmp_argument_dropped(plan: KernelPlan) -> Mutants:
    for site in sites(plan, Instruction):
        args = tuple((name, window) for name, window in site.step.args if name != "tmp")
        if args != site.step.args and site.step.op.name == "tsort32":
            yield site.where, site.become(replace(site.step, args=args))


@way("dst and another operand are exchanged")
def dst_exchanged(plan: KernelPlan) -> Mutants:
    for site in sites(plan, Instruction):
        windows = dict(site.step.args)
        for name in windows:
            if "dst" in windows and name != "dst":
                swapped = {**windows, "dst": windows[name], name: windows["dst"]}
                yield f"{site.where}, {name}", site.become(replace(site.step, args=tuple(swapped.items())))


# Tiles: where they lie and how large they are. In mode auto the compiler places them.


def _placed(plan: KernelPlan, tile: Tile, **changes: int) -> KernelPlan:
    tiles = tuple(replace(tile, **changes) if other is tile else other for other in plan.tiles)
    return replace(plan, tiles=tiles)


def _tiles(plan: KernelPlan) -> tuple[Tile, ...]:
    return plan.tiles if plan.mode == "manual" else ()


@way("a tile lies on another one")
def tile_on_another(plan: KernelPlan) -> Mutants:
    for tile in _tiles(plan):
        for other in plan.tiles:
            if other.offset != tile.offset:
                yield f"{tile.name} on {other.name}", _placed(plan, tile, offset=other.offset)


@way("a tile lies on the last bytes of another one")
def tile_on_the_end_of_another(plan: KernelPlan) -> Mutants:
    for tile in _tiles(plan):
        for other in plan.tiles:
            if other is not tile and other.end - UB_BLOCK_BYTES != tile.offset:
                yield f"{tile.name} on {other.name}", _placed(plan, tile, offset=other.end - UB_BLOCK_BYTES)


@way("a tile lies a block lower or higher")
def tile_moved_by_a_block(plan: KernelPlan) -> Mutants:
    for tile in _tiles(plan):
        for by in (-UB_BLOCK_BYTES, UB_BLOCK_BYTES):
            yield f"{tile.name} by {by}", _placed(plan, tile, offset=tile.offset + by)


@way("a tile is not aligned to 32 bytes")
def tile_unaligned(plan: KernelPlan) -> Mutants:
    for tile in _tiles(plan):
        yield f"{tile.name} by 4", _placed(plan, tile, offset=tile.offset + 4)
        free = plan.used_bytes // 256 * 256 + 256
        yield f"{tile.name} at {free} and half", _placed(plan, tile, offset=free + tile.align // 2)


@way("a tile ends past the end of UB")
def tile_past_the_end(plan: KernelPlan) -> Mutants:
    for tile in _tiles(plan):
        yield tile.name, _placed(plan, tile, offset=plan.ub_bytes - tile.bytes + 256)


@way("a tile starts below UB")
def tile_below_ub(plan: KernelPlan) -> Mutants:
    for tile in _tiles(plan):
        yield tile.name, _placed(plan, tile, offset=-256)


@way("the addresses of two tiles are exchanged")
def two_addresses_exchanged(plan: KernelPlan) -> Mutants:
    tiles = _tiles(plan)
    for place, one in enumerate(tiles):
        for two in tiles[place + 1 :]:
            if one.bytes != two.bytes:
                yield (
                    f"{one.name} and {two.name}",
                    _placed(_placed(plan, one, offset=two.offset), two, offset=one.offset),
                )


def _shorter(plan: KernelPlan, operands: tuple[str, ...], but: bool = False) -> Mutants:
    """Tiles of these operands, or of all others, allocated one block of columns shorter."""
    for tile in plan.tiles:
        if (tile.operand in operands) is not but:
            cols = tile.cols - UB_BLOCK_BYTES // tile.dtype.bytes
            yield tile.name, _placed(plan, tile, cols=cols)


@way("tmp has a block less")
def tmp_shortened(plan: KernelPlan) -> Mutants:
    yield from _shorter(plan, ("tmp",))


@way("an output's tile has a block less")
def dst_shortened(plan: KernelPlan) -> Mutants:
    yield from _shorter(plan, ("dst", "dstIdx", "counts"))


@way("an input's tile has a block less")
def src_shortened(plan: KernelPlan) -> Mutants:
    yield from _shorter(plan, ("tmp", "dst", "dstIdx", "counts"), but=True)


@way("a tile has a row less")
def tile_a_row_shorter(plan: KernelPlan) -> Mutants:
    for tile in plan.tiles:
        yield tile.name, _placed(plan, tile, rows=tile.rows - 1)


@way("a tile and all that uses it have a block of columns less")
def tile_declared_narrower(plan: KernelPlan) -> Mutants:
    for tile in plan.tiles:
        cols = tile.cols - UB_BLOCK_BYTES // tile.dtype.bytes
        if cols <= 0:
            continue

        def narrow(step: Step, tile: Tile = tile, cols: int = cols) -> tuple[Step, ...]:
            for _, window, put in _windows(step):
                if window.tile == tile.name and window.cols == tile.cols:
                    return narrow(put(replace(window, cols=cols)))
            return (step,)

        yield tile.name, _edited(_placed(plan, tile, cols=cols), narrow)
