"""A suite as a pypto_pro module: one kernel a case (source: pypto_pro page sort32, ``pypto_pro.language.sort32``).

The plan is one in auto mode: ``auto_mutex`` orders the steps, a wide row is cut into tiles of its own, and the plan's
addresses place them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

from ptogen.errors import Diagnostic
from ptogen.ops.sizing import Role, Tensor
from ptogen.plan.model import Affine, GmWindow, Instruction, KernelPlan, Load, Store, Tile, Visitor
from ptogen.render.environment import environment
from ptogen.render.facts import banner, single_file
from ptogen.render.refusal import NoText, no_platform
from ptogen.render.suite import RenderedSuite
from ptogen.spec.model import Suite

PLATFORM = "a5"
"""The only platform that the document lists as supported (Ascend 950)."""

OPS = {"tsort32": "sort32"}
"""The functions of ``pypto_pro.language`` that stand for an op."""

DTYPES = {"float32": "pl.DT_FP32", "float16": "pl.DT_FP16", "uint32": "pl.DT_UINT32"}

LINE = 120


def prepare(suite: Suite, level: int | None) -> Suite:
    """The suite to plan, in auto mode."""
    return replace(suite, mode="auto")


def render(suite: Suite, plans: Sequence[KernelPlan], license_header: str | None = None) -> RenderedSuite:
    """The module of one suite.

    Args:
        suite: the cases.
        plans: their plans in auto mode, in the same order, already checked.
        license_header: text to put on top, without comment marks.

    Raises:
        NoText: for an op or platform that pypto_pro does not have, and for cases whose tiles share bytes.
    """
    faults: list[Diagnostic] = []
    unsaid: set[int] = set()
    if suite.graph.name not in OPS:
        message = f"ptogen renders only {', '.join(OPS.values())} for pypto_pro, and no {suite.graph.name}"
        faults.append(Diagnostic("PTG303", message, suite.marks.at(("op",))))
    if suite.platform.name != PLATFORM:
        faults.append(no_platform(suite, "pypto_pro", [PLATFORM]))
    if faults:
        raise NoText(faults, range(len(plans)))
    for number, plan in enumerate(plans):
        for one, two in _shared(plan.tiles):
            ranges = " and ".join(f"{tile.name} [{tile.offset:#x}, {tile.end:#x})" for tile in (one, two))
            message = f"{plan.case}: {ranges} share bytes, and auto_mutex orders the uses of one tile only"
            faults.append(Diagnostic("PTG303", message, suite.position(number), hint="fewer rows or columns"))
            unsaid.add(number)
    if faults:
        raise NoText(faults, unsaid)
    text = (
        environment()
        .get_template("pypto_pro/module.py.j2")
        .render(
            banner=banner(suite, license_header).splitlines(),
            title=f"{suite.name}: {suite.graph.ops[0].instruction} as pypto_pro kernels for {suite.platform}.",
            kernels=[_kernel(plan) for plan in plans],
        )
    )
    return single_file(suite, "pypto_pro", ".py", text)


def _shared(tiles: Sequence[Tile]) -> Iterator[tuple[Tile, Tile]]:
    for one, two in combinations(tiles, 2):
        if one.offset < two.end and two.offset < one.end:
            yield one, two


def _kernel(plan: KernelPlan) -> dict[str, Any]:
    """What the template needs of one case; tensors go in as in the document, outputs last."""
    tensors = sorted(plan.tensors, key=lambda tensor: tensor.role is Role.OUT)
    setup = [line for tile in plan.tiles for line in _tile_type(tile)]
    for number, tile in enumerate(plan.tiles):
        address = f"addrs={tile.offset:#06x}"
        setup.append(f"{tile.name}_group = pl.make_tile_group(type={tile.name}_type, {address}, mutex_ids=[{number}])")
    body = [f"{tile.name} = {tile.name}_group.current()" for tile in plan.tiles]
    body += [_Line().visit(step) for step in plan.program]
    return {
        "name": f"{plan.case}_kernel",
        "tensors": [_tensor(tensor) for tensor in tensors],
        "used": f"{plan.used_bytes:,}",
        "capacity": f"{plan.ub_bytes:,}",
        "setup": setup,
        "body": body,
    }


def _tensor(tensor: Tensor) -> dict[str, Any]:
    return {
        "name": f"{tensor.name}_gm",
        "rows": tensor.rows,
        "cols": tensor.cols,
        "dtype": DTYPES[tensor.dtype.name],
    }


def _tile_type(tile: Tile) -> list[str]:
    """The type of a tile; its valid shape where that is not all of it."""
    arguments = [f"shape=[{tile.rows}, {tile.cols}]"]
    if (tile.valid_rows, tile.valid_cols) != (tile.rows, tile.cols):
        arguments.append(f"valid_shape=[{tile.valid_rows}, {tile.valid_cols}]")
    arguments += [f"dtype={DTYPES[tile.dtype.name]}", "target_memory=pl.MemorySpace.Vec"]
    line = f"{tile.name}_type = pl.TileType({', '.join(arguments)})"
    if len(line) + 4 <= LINE:
        return [line]
    return [f"{tile.name}_type = pl.TileType(", f"    {', '.join(arguments)}", ")"]


class _Line(Visitor[str]):
    """A step of a plan in auto mode, which has neither flags nor loops."""

    def load(self, step: Load) -> str:
        return f"pl.load({step.dst.tile}, {_window(step.src)})"

    def store(self, step: Store) -> str:
        tensor, _, place = _window(step.dst).partition(", ")
        return f"pl.store({tensor}, {step.src.tile}, {place})"

    def instruction(self, step: Instruction) -> str:
        return f"pl.{OPS[step.op.name]}({', '.join(window.tile for _, window in step.args)})"


def _window(gm: GmWindow) -> str:
    """The tensor and where its part begins; its extent is the valid shape of the tile."""
    return f"{gm.tensor}_gm, [{_constant(gm.row)}, {_constant(gm.col)}]"


def _constant(place: Affine) -> int:
    assert not place.terms, "a plan in auto mode has no loops"
    return place.const
