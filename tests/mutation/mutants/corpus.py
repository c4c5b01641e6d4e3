"""What is mutated: the plan of every case of every spec that ships, and plans that those do not cover."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from ptogen.graph.model import Graph
from ptogen.ops import catalogue
from ptogen.ops.base import Op
from ptogen.plan.fit import planned
from ptogen.plan.model import Barrier, GmWindow, Instruction, KernelPlan, Load, SetFlag, Store, WaitFlag
from ptogen.platforms import PLATFORMS, Pipe, Platform
from ptogen.spec import load
from ptogen.spec.model import Suite

ROOT = Path(__file__).parent.parent.parent.parent

EXTRA = (
    ("a2a3", "tsort32", {"dtype": "float16", "rows": 4, "cols": 64, "idx": "broadcast"}),
    ("a2a3", "tsort32", {"dtype": "float32", "rows": 1, "cols": 8193}),
    ("a2a3", "tsort32", {"dtype": "float16", "rows": 1, "cols": 8161}),
    ("a5", "tsort32", {"dtype": "float32", "rows": 1, "cols": 8150}),
    ("a5", "tsort32", {"dtype": "float16", "rows": 2, "cols": 8150}),
    ("a5", "tsort32", {"dtype": "float16", "rows": 1, "cols": 16320}),
    ("cpu", "tsort32", {"dtype": "float16", "rows": 3, "cols": 100, "idx": "broadcast"}),
    ("cpu", "tsort32", {"dtype": "float32", "rows": 4, "cols": 33}),
    # Lists whose records fill their 32-byte blocks: then every block of tmp is needed.
    ("a2a3", "tmrgsort", {"dtype": "float32", "variant": "single", "cols": 512, "block_len": 64}),
    ("a2a3", "tmrgsort", {"dtype": "float32", "variant": "multi", "lists": (64, 8, 1024)}),
    ("kirin9030", "tmrgsort", {"dtype": "float16", "variant": "multi", "lists": (64, 128, 16, 32)}),
    ("a2a3", "tmrgsort", {"dtype": "float32", "variant": "multi", "lists": (64, 128), "exhausted": True}),
    ("a5", "tmrgsort", {"dtype": "float16", "variant": "multi", "lists": (64, 128, 16, 32), "exhausted": True}),
    ("cpu", "tmrgsort", {"dtype": "float32", "variant": "multi", "lists": (64, 8, 16), "exhausted": True}),
    ("a2a3", "tpartmin", {"dtype": "float32", "dst": (16, 32), "src0": (16, 32), "src1": (8, 32)}),
    ("a2a3", "tpartadd", {"dtype": "int16", "dst": (3, 13), "src0": (2, 7), "src1": (3, 13)}),
    ("a2a3", "tpartmul", {"dtype": "float16", "dst": (2, 200), "src0": (0, 200), "src1": (2, 200)}),
    (
        "a2a3", "tpartargmax",
        {"dtype": "float16", "idx_dtype": "int32", "dst": (2, 130), "src0": (2, 130), "src1": (1, 130)},
    ),
    ("a5", "tpartmax", {"dtype": "int64", "dst": (2, 100), "src0": (2, 100), "src1": (1, 100)}),
    ("a5", "tpartargmin", {"dtype": "float32", "idx_dtype": "uint32", "dst": (2, 5), "src0": (2, 5), "src1": (2, 5)}),
    ("kirin9030", "tpartmin", {"dtype": "uint8", "dst": (5, 40), "src0": (5, 39), "src1": (5, 40)}),
    ("cpu", "tpartargmax", {"dtype": "float16", "idx_dtype": "int32", "dst": (2, 5), "src0": (2, 5), "src1": (1, 5)}),
)  # fmt: skip
"""Platform, op and fields of cases with what the specs have little of: cut columns, loops, barriers, other ops."""


@dataclass(frozen=True)
class Entry:
    """A plan to mutate.

    Attributes:
        group: the spec's name, with the mode where that is not the spec's own, ``extra`` or ``handmade``.
        plan: what was planned.
    """

    group: str
    plan: KernelPlan

    @property
    def op(self) -> Op:
        return catalogue()[self.plan.name]

    @property
    def platform(self) -> Platform:
        return PLATFORMS[self.plan.platform]

    def __str__(self) -> str:
        return f"{self.group}-{self.plan.platform}-{self.plan.case}"


def specs() -> list[Path]:
    """The specs that ship; a matrix is none."""
    return [path for path in sorted((ROOT / "specs").glob("*.yaml")) if "\nmatrix:" not in f"\n{path.read_text()}"]


def suites() -> Iterator[tuple[str, Suite]]:
    """Every suite of every spec, as it is and in mode auto where its platform has that."""
    for path in specs():
        for suite in load(path):
            yield path.stem, suite
            if suite.mode != "auto" and "auto" in suite.platform.modes:
                yield f"{path.stem} auto", replace(suite, mode="auto")


@cache
def entries() -> tuple[Entry, ...]:
    """Every plan of every suite, and the extra ones."""
    found = [
        Entry(group, planned(suite.graph, case, suite.platform, suite.mode, suite.ub_bytes))
        for group, suite in suites()
        for case in suite.cases
    ]
    for platform, name, fields in EXTRA:
        op, row = catalogue()[name], PLATFORMS[platform]
        case = op.Case(name="_".join(str(value) for value in fields.values()), **fields)
        found.append(Entry("extra", planned(Graph.of(op), case, row, "manual", row.ub_bytes)))
    wide = next(one.plan for one in found if str(one) == "extra-a5-float16_2_8150")
    return (*found, Entry("handmade", with_barrier(wide)))


def with_barrier(plan: KernelPlan) -> KernelPlan:
    """The sorts of a loop between loads and stores of whole tiles: only a barrier keeps the uses of tmp apart.

    The planner loads, sorts and stores piece by piece, and its flags do that as well.
    """
    (loop,) = plan.program
    tensors = {tensor.name: GmWindow(tensor.name, tensor.rows, tensor.cols) for tensor in plan.tensors}
    loads = [Load(tile.window, tensors[tile.name]) for tile in plan.tiles if tile.name in ("src", "idx")]
    sorts = tuple(step for step in loop.body if isinstance(step, Instruction))
    program = (
        *loads,
        SetFlag(Pipe.MTE2, Pipe.V, 0),
        WaitFlag(Pipe.MTE2, Pipe.V, 0),
        replace(loop, body=(*sorts, Barrier(Pipe.V))),
        SetFlag(Pipe.V, Pipe.MTE3, 0),
        WaitFlag(Pipe.V, Pipe.MTE3, 0),
        Store(tensors["dst"], plan.tile("dst").window),
    )
    return replace(plan, program=program)
