"""Every way of spoiling a plan that we could think of is seen by the checker."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from ptogen.check import check
from ptogen.check.finding import Finding
from ptogen.ops import catalogue
from ptogen.plan.model import Barrier, Instruction, KernelPlan, Load, Loop, Program, SetFlag, Store, Tile, WaitFlag
from ptogen.plan.planner import plan_case
from ptogen.platforms import PLATFORMS

SORTS = [
    ("a2a3", {"dtype": "float32", "rows": 2, "cols": 13}),
    ("a2a3", {"dtype": "float16", "rows": 4, "cols": 64, "idx": "broadcast"}),
    ("a2a3", {"dtype": "float16", "rows": 4, "cols": 64, "valid": (3, 50)}),
    ("a2a3", {"dtype": "float32", "rows": 1, "cols": 8193}),
    ("a2a3", {"dtype": "float16", "rows": 1, "cols": 8161}),
    ("a5", {"dtype": "float32", "rows": 1, "cols": 8150}),
    ("a5", {"dtype": "float16", "rows": 2, "cols": 8150}),
    ("a5", {"dtype": "float16", "rows": 1, "cols": 16320}),
    ("kirin9030", {"dtype": "float32", "rows": 5, "cols": 100}),
    ("cpu", {"dtype": "float16", "rows": 3, "cols": 100, "idx": "broadcast"}),
    ("cpu", {"dtype": "float32", "rows": 4, "cols": 33}),
]
# Lists whose records fill their 32-byte blocks: then every block of tmp is needed.
MERGES = [
    ("a2a3", {"dtype": "float32", "variant": "single", "cols": 512, "block_len": 64}),
    ("a5", {"dtype": "float16", "variant": "single", "cols": 256, "block_len": 64}),
    ("a2a3", {"dtype": "float32", "variant": "multi", "lists": (64, 8, 1024)}),
    ("kirin9030", {"dtype": "float16", "variant": "multi", "lists": (64, 128, 16, 32)}),
    ("a2a3", {"dtype": "float32", "variant": "multi", "lists": (64, 128), "exhausted": True}),
    ("a5", {"dtype": "float16", "variant": "multi", "lists": (64, 128, 16, 32), "exhausted": True}),
    ("cpu", {"dtype": "float32", "variant": "multi", "lists": (64, 8, 16), "exhausted": True}),
]
CASES = [("tsort32", *case) for case in SORTS] + [("tmrgsort", *case) for case in MERGES]


def planned(op: str, platform: str, fields: dict) -> KernelPlan:
    entry, row = catalogue()[op], PLATFORMS[platform]
    return plan_case(entry, entry.Case(name="case", **fields), row, "manual", row.ub_bytes)


def judged(plan: KernelPlan) -> list[Finding]:
    return check(plan, catalogue()[plan.op], PLATFORMS[plan.platform])


def edits(program: Program) -> Iterator[tuple[str, Program]]:
    """The program with one step dropped, or one wait or barrier moved behind the step it protects."""
    for place, step in enumerate(program):
        if isinstance(step, Loop):
            for name, body in edits(step.body):
                yield f"{name} in loop", (*program[:place], replace(step, body=body), *program[place + 1 :])
        if isinstance(step, (SetFlag, WaitFlag, Barrier, Load, Store, Instruction)):
            yield f"drop {place} {type(step).__name__}", program[:place] + program[place + 1 :]
        if isinstance(step, WaitFlag):
            use = next(
                later for later in range(place + 1, len(program)) if not isinstance(program[later], (SetFlag, WaitFlag))
            )
            yield f"late wait {place}", (*program[:place], *program[place + 1 : use + 1], step, *program[use + 1 :])
        if isinstance(step, SetFlag):
            yield f"early set {place}", (*program[: place - 1], step, program[place - 1], *program[place + 1 :])
            yield f"other id {place}", (*program[:place], replace(step, event=step.event + 1), *program[place + 1 :])
            yield f"double set {place}", (*program[:place], step, *program[place:])


def pairs_dropped(program: Program) -> Iterator[tuple[str, Program]]:
    for step in program:
        if isinstance(step, SetFlag):
            flag = (step.src, step.dst, step.event)
            yield (
                f"drop pair {flag}",
                tuple(
                    other
                    for other in program
                    if not isinstance(other, (SetFlag, WaitFlag)) or (other.src, other.dst, other.event) != flag
                ),
            )


def moved(plan: KernelPlan, tile: Tile) -> Iterator[tuple[str, int]]:
    for other in plan.tiles:
        if other is not tile:
            yield f"onto {other.name}", other.offset
            yield f"into the end of {other.name}", other.end - 32
    yield "past the end of UB", plan.ub_bytes - tile.bytes + 256
    yield "below UB", -256
    yield "off by 4", tile.offset + 4
    yield "off by half its alignment", plan.used_bytes // 256 * 256 + 256 + tile.align // 2


def mutants(plan: KernelPlan) -> Iterator[tuple[str, KernelPlan]]:
    for name, program in (*edits(plan.program), *pairs_dropped(plan.program)):
        yield name, replace(plan, program=program)
    for number, tile in enumerate(plan.tiles):
        for name, offset in moved(plan, tile):
            tiles = (*plan.tiles[:number], replace(tile, offset=offset), *plan.tiles[number + 1 :])
            yield f"{tile.name} {name}", replace(plan, tiles=tiles)
        if tile.operand == "tmp":
            shorter = replace(tile, cols=tile.cols - 32 // tile.dtype.bytes)
            tiles = (*plan.tiles[:number], shorter, *plan.tiles[number + 1 :])
            yield f"{tile.name} one block shorter", replace(plan, tiles=tiles)


MUTANTS = [
    pytest.param(mutant, id=f"{op}-{platform}-{'-'.join(map(str, fields.values()))}-{name}".replace(" ", "_"))
    for op, platform, fields in CASES
    for name, mutant in mutants(planned(op, platform, fields))
]


@pytest.mark.parametrize(("op", "platform", "fields"), CASES)
def test_the_plan_itself_is_sound(op, platform, fields):
    assert judged(planned(op, platform, fields)) == []


@pytest.mark.parametrize("mutant", MUTANTS)
def test_every_mutant_is_caught(mutant):
    assert judged(mutant)


def test_there_are_mutants_of_every_kind():
    names = " ".join(str(parameter.id) for parameter in MUTANTS)
    assert len(MUTANTS) > 300
    for kind in (
        "drop_",
        "late_wait",
        "early_set",
        "drop_pair",
        "onto_dst",
        "past_the_end",
        "off_by_4",
        "tmp_one_block_shorter",
        "Barrier",
    ):
        assert kind in names, kind
