"""Renders cases as PTO assembly, reads the text back and holds it against the plan."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pto_as_parser import Event, Gm, Rejected, Tile, TileBuf, read

from ptogen.check import check_suite
from ptogen.plan.model import Barrier, GmWindow, Instruction, KernelPlan, Load, SetFlag, Store, WaitFlag, Window, unroll
from ptogen.plan.suite import plan_suite
from ptogen.render import pto_as
from ptogen.spec.load import load_text
from ptogen.spec.model import Suite


def prepared(level: int | None = None, **fields) -> tuple[Suite, tuple[KernelPlan, ...]]:
    (suite,) = load_text(json.dumps({"op": "tsort32", "platform": "a2a3", **fields}), "spec.yaml", Path())
    suite = pto_as.prepare(suite, level)
    plans = plan_suite(suite)
    check_suite(suite, plans)
    return suite, plans


def text_of(suite: Suite, plans: tuple[KernelPlan, ...], level: int | None = None) -> str:
    (text,) = pto_as.render(suite, plans, level=level).files.values()
    return text


def tile_of(plan: KernelPlan, window: Window, variables) -> tuple[int | None, TileBuf]:
    tile = plan.tile(window.tile)
    start = (window.row.at(variables) * tile.cols + window.col.at(variables)) * tile.dtype.bytes
    element = pto_as.ELEMENTS[tile.dtype.name]
    kind = TileBuf("vec", element, window.rows, window.cols, window.valid_rows, window.valid_cols)
    return (tile.offset + start if plan.mode == "manual" else None), kind


def gm_of(plan: KernelPlan, window: GmWindow, variables) -> Gm:
    tensor = plan.tensor(window.tensor)
    offsets = window.row.at(variables), window.col.at(variables)
    shape, strides = (tensor.rows, tensor.cols), (tensor.cols, 1)
    return Gm(f"%{tensor.name}_gm", shape, strides, offsets, (window.rows, window.cols))


def said(value: Tile | Gm | int) -> object:
    return (value.address, value.type) if isinstance(value, Tile) else value


def hold(plan: KernelPlan, events: list[Event]) -> None:
    """Every event is a step of the plan, in its order, with its tiles, addresses, parts of GM, roles, pipes and ids."""
    steps = list(unroll(plan.program))
    assert len(events) == len(steps)
    for event, (step, variables, _) in zip(events, steps, strict=True):
        assert all(one.declared.compiles for one in (*event.ins, *event.outs) if isinstance(one, Tile))
        if isinstance(step, (Load, Store)):
            sides = [said(one) for one in (*event.ins, *event.outs)]
            if isinstance(step, Load):
                expected = "tload", [gm_of(plan, step.src, variables), tile_of(plan, step.dst, variables)]
            else:
                expected = "tstore", [tile_of(plan, step.src, variables), gm_of(plan, step.dst, variables)]
            assert (event.name, sides) == expected
        elif isinstance(step, Instruction):
            windows = {name: tile_of(plan, window, variables) for name, window in step.args}
            assert event.name == step.op.name
            assert [said(one) for one in event.outs if isinstance(one, Tile)] == [windows["dst"]]
            ins = [said(one) for one in event.ins if isinstance(one, Tile)]
            tmp = [windows.pop("tmp")] if "tmp" in windows else []
            assert ins == [windows[name] for name in windows if name != "dst"] + tmp
        elif isinstance(step, (SetFlag, WaitFlag)):
            name = "set_flag" if isinstance(step, SetFlag) else "wait_flag"
            assert event == Event(name, attributes=(step.src.value, step.dst.value, step.event))
        else:
            assert isinstance(step, Barrier) and event == Event("barrier", attributes=(step.pipe.value,))


def check(level: int, **fields) -> str:
    """Renders a suite, holds every function against its plan and gives the text."""
    suite, plans = prepared(level, **fields)
    text = text_of(suite, plans, level)
    module = read(text, level)
    assert module.arch == {"a2a3": "a3", "a5": "a5"}[suite.platform.name]
    assert list(module.functions) == [plan.case for plan in plans]
    assert module.kernels == [plan.case for plan in plans]
    for plan in plans:
        function = module.functions[plan.case]
        assert {name: kind.dtype for name, kind in function.parameters.items()} == {
            f"%{tensor.name}_gm": pto_as.ELEMENTS[tensor.dtype.name] for tensor in plan.tensors
        }
        assert list(function.parameters) == [f"%{tensor.name}_gm" for tensor in plan.tensors]
        hold(plan, function.events())
    with pytest.raises(Rejected):
        read(text, 5 - level)
    return text
