"""Findings that only a plan can earn: what it declares of its inputs, its scratch and its types."""

from __future__ import annotations

from dataclasses import replace

from ptogen.check import check_plan
from ptogen.check.events import Event, Touch
from ptogen.check.finding import Finding
from ptogen.check.initcheck import initcheck
from ptogen.check.trace import Trace
from ptogen.graph.model import Graph
from ptogen.ops import catalogue
from ptogen.plan import fit
from ptogen.plan.model import Affine, Instruction, KernelPlan, Load, Store
from ptogen.platforms import PLATFORMS, Pipe
from ptogen.tiles import Region


def planned(op: str, platform: str = "a2a3", **fields) -> KernelPlan:
    entry, row = catalogue()[op], PLATFORMS[platform]
    return fit.planned(Graph.of(entry), entry.Case(name="case", **fields), row, "manual", row.ub_bytes)


def with_step(plan: KernelPlan, place: int, step) -> KernelPlan:
    return replace(plan, program=(*plan.program[:place], step, *plan.program[place + 1 :]))


def found(plan: KernelPlan) -> list[Finding]:
    return check_plan(plan, PLATFORMS[plan.platform])


SORT = planned("tsort32", dtype="float32", rows=4, cols=64, valid=(3, 64))
"""Two loads, a flag, TSORT32, a flag, a store; the tensors have a row that the kernel leaves alone."""


def test_an_input_that_is_not_read():
    load = SORT.program[0]
    assert isinstance(load, Load) and found(SORT) == []
    moved = with_step(SORT, 0, replace(load, src=replace(load.src, row=Affine(1))))
    (finding,) = found(moved)
    assert finding.code == "PTG432"
    assert finding.message == "the kernel ends without reading bytes 0 to 256 of the input src"


def test_what_is_loaded_and_not_used():
    place = next(place for place, step in enumerate(SORT.program) if isinstance(step, Instruction))
    args = dict(SORT.program[place].args)
    args["idx"] = replace(args["idx"], rows=1, valid_rows=1)
    finding = next(one for one in found(with_step(SORT, place, replace(SORT.program[place], args=tuple(args.items())))))
    assert (finding.code, finding.steps) == ("PTG432", ("2 TLOAD(idx)",))
    assert finding.message == "no step uses 512 B that 2 TLOAD(idx) leaves in idx"


def test_what_is_computed_and_not_used():
    """A store of each row out of the first row of the tile: whole in GM, with bytes that were computed."""
    plan = planned("tsort32", "a5", dtype="float16", rows=2, cols=8150)
    (loop,) = plan.program
    assert found(plan) == []
    place = next(place for place, step in enumerate(loop.body) if isinstance(step, Store))
    store = loop.body[place]
    wrong = replace(store, src=replace(store.src, row=Affine(0)))
    findings = found(replace(plan, program=(replace(loop, body=(*loop.body[:place], wrong, *loop.body[place + 1 :])),)))
    unused = [one.message for one in findings if one.code == "PTG432"]
    assert len(unused) == 1
    assert unused[0].startswith("no step uses 65,024 B that ") and unused[0].endswith(" leaves in dst")


def test_a_pinned_overlap_is_said_once_and_its_hint_minds_other_tiles():
    plan = planned("tsort32", dtype="float32", rows=2, cols=13, ub={"src": 0, "idx": 0, "dst": 0x100})
    (finding,) = found(plan)
    assert finding.code == "PTG403" and finding.message.startswith("idx [0x0, 0x100) and src [0x0, 0x100) overlap")
    assert finding.hint == "place src at 0x380", "dst is pinned behind idx, and tmp stands behind dst"
    high = 196_608 - 256
    plan = planned("tsort32", dtype="float32", rows=2, cols=13, ub={"src": high, "idx": high})
    (finding,) = found(plan)
    assert finding.hint == "move other tiles: behind idx there is no room for the 256 B of src"


def test_a_tile_and_a_tensor_of_different_shapes():
    for place in (0, len(SORT.program) - 1):
        step = SORT.program[place]
        assert isinstance(step, (Load, Store))
        side = "src" if isinstance(step, Load) else "dst"
        larger = with_step(SORT, place, replace(step, **{side: replace(getattr(step, side), rows=4)}))
        (finding,) = found(larger)
        assert finding.code == "PTG441"
        assert "3 x" in finding.message and "4 x" in finding.message


def test_what_an_instruction_leaves_in_tmp_is_not_its_result():
    plan = planned("tmrgsort", dtype="float32", variant="multi", lists=(64, 128), exhausted=True)
    assert found(plan) == []
    place = next(place for place, step in enumerate(plan.program) if isinstance(step, Instruction))
    args = dict(plan.program[place].args)
    args["dst"], args["tmp"] = args["tmp"], args["dst"]
    findings = found(with_step(plan, place, replace(plan.program[place], args=tuple(args.items()))))
    assert {finding.code for finding in findings} == {"PTG431", "PTG432"}


def test_types_that_do_not_go_together():
    plan = planned("tpartargmax", dtype="float32", idx_dtype="uint32", dst=(2, 8), src0=(2, 8), src1=(2, 8))
    place = next(place for place, step in enumerate(plan.program) if isinstance(step, Instruction))
    args = dict(plan.program[place].args)
    args["dst"], args["dstIdx"] = args["dstIdx"], args["dst"]
    findings = found(with_step(plan, place, replace(plan.program[place], args=tuple(args.items()))))
    messages = [finding.message for finding in findings if finding.code == "PTG441"]
    assert messages[0] == "dst, src0, src1 are uint32, float32, float32 and not of one type: it does not compile"


def test_a_tile_that_is_tmp_and_dst_holds_the_result():
    """pto-isa's tests of TXOR on a5 pass dst where a tmp belongs, which that form does not use."""
    tile = Touch("UB", "dst", Region(0, 128), writes=True, defined=True)
    read = replace(tile, writes=False)
    out = Touch("out", "out", Region(0, 128), writes=True, defined=True)

    def judged(tmp: str) -> list[str]:
        events = (
            Event("1", "TXOR", Pipe.V, (tile,), tiles=(("dst", "dst"), ("tmp", tmp)), scratch=("tmp",)),
            Event("2", "TSTORE", Pipe.MTE3, (read, out), tiles=(("src", "dst"),)),
        )
        trace = Trace(events, {}, {"out": 128}, frozenset(), (replace(out, writes=False),), 196_608, 196_608)
        return [finding.code for finding in initcheck(trace)]

    assert judged("dst") == judged("other") == []
