"""pypto_pro modules, run on NumPy arrays by the stand-in and held against the plan, the golden and the document."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pypto_stand_in import Machine, run

from ptogen.errors import PtogenError
from ptogen.golden.sort32 import RECORDS, generate, sort32
from ptogen.plan.model import KernelPlan
from ptogen.plan.suite import plan_suite
from ptogen.render import pypto_pro
from ptogen.spec.load import load_text
from ptogen.spec.model import Suite


def prepared(**fields) -> tuple[Suite, tuple[KernelPlan, ...]]:
    (suite,) = load_text(json.dumps({"op": "tsort32", "platform": "a5", **fields}), "spec.yaml", Path())
    suite = pypto_pro.prepare(suite, None)
    return suite, plan_suite(suite)


def rendered(**fields) -> tuple[str, Suite, tuple[KernelPlan, ...]]:
    suite, plans = prepared(**fields)
    files = pypto_pro.render(suite, plans).files
    assert list(files) == [f"pypto_pro/a5/{suite.name}/{suite.name}.py"]
    return next(iter(files.values())), suite, plans


def check(**fields) -> Machine:
    """Renders and runs one case: the golden bit for bit, nothing beside the valid region, the plan's addresses."""
    text, suite, (plan,) = rendered(**fields)
    (case,) = suite.cases
    made = generate(**suite.graph.golden_params(case, Path()))
    golden = plan.tensor("dst")
    dst = np.full((golden.rows, golden.cols), 3.5, made["src"].dtype)
    machine = run(text, f"{plan.case}_kernel", made["src"], made["idx"], dst)
    expected = dst.copy()
    expected[...] = 3.5
    expected[: golden.valid_rows, : golden.valid_cols] = made["dst"].view(dst.dtype)
    assert dst.tobytes() == expected.tobytes()
    assert [(tile.address, tile.type.shape, tile.type.valid_shape) for tile in machine.tiles] == [
        (tile.offset, (tile.rows, tile.cols), (tile.valid_rows, tile.valid_cols)) for tile in plan.tiles
    ]
    return machine


SHAPES = [
    {"dtype": "float32", "rows": 1, "cols": 32},
    {"dtype": "float16", "rows": 4, "cols": 64, "idx": "broadcast"},
    {"dtype": "float16", "rows": 3, "cols": 33, "data": "ties"},
    {"dtype": "float32", "rows": 4, "cols": 64, "valid": [3, 50], "data": "extremes"},
    {"dtype": "float16", "rows": 1, "cols": 4081},
    {"dtype": "float32", "rows": 1, "cols": 2041, "idx": "broadcast"},
    {"dtype": "float16", "rows": 2, "cols": 8170},
    {"dtype": "float32", "rows": 1, "cols": 8150, "data": "sorted"},
    {"dtype": "float16", "rows": 1, "cols": 16320},
]


@pytest.mark.parametrize("fields", SHAPES, ids=lambda fields: "-".join(map(str, fields.values())))
def test_a_module_sorts(fields: dict) -> None:
    check(**fields)


@settings(max_examples=40, deadline=None)
@given(
    dtype=st.sampled_from(["float16", "float32"]),
    rows=st.integers(1, 4),
    cols=st.integers(1, 300),
    idx=st.sampled_from(["per_row", "broadcast"]),
    data=st.sampled_from(["random", "ties", "reversed", "extremes"]),
)
def test_any_module_sorts(**fields) -> None:
    check(**fields)


def test_a_wide_row_is_sorted_in_steps() -> None:
    machine = check(dtype="float32", rows=1, cols=8150)
    sorts = [addresses for name, addresses in machine.calls if name == "sort32"]
    assert [len(addresses) for addresses in sorts] == [3, 4]
    assert [name for name, _ in machine.calls] == ["load", "load", "sort32", "store"] * 2


# The two examples of the document, written out with its calls, shapes and addresses


def example(cols: int, src: int) -> str:
    """The document's kernel for one row of ``cols`` half values: with a tail where they are not 32."""
    tail = cols % 32 != 0
    valid = {"dst": f"valid_shape=[1, {4 * cols}], ", "idx": f"valid_shape=[1, {cols}], "} if tail else {}
    tiles = [("src", src, "DT_FP16", 0x0), ("idx", 32, "DT_UINT32", 0x80), ("dst", 128, "DT_FP16", 0x100)]
    tiles += [("tmp", 32, "DT_FP16", 0x200)] if tail else []
    lines = ["import pypto_pro.language as pl", "@pl.jit(auto_mutex=True)"]
    lines.append(f"def kernel(a: pl.Tensor[[1, {cols}], pl.DT_FP16], i: pl.Tensor[[1, {cols}], pl.DT_UINT32],")
    lines.append(f"           o: pl.Tensor[[1, {4 * cols}], pl.DT_FP16]):")
    for number, (name, width, dtype, address) in enumerate(tiles):
        space = f"dtype=pl.{dtype}, target_memory=pl.MemorySpace.Vec"
        lines.append(f"    t = pl.TileType(shape=[1, {width}], {valid.get(name, '')}{space})")
        lines.append(f"    {name} = pl.make_tile_group(type=t, addrs={address}, mutex_ids=[{number}]).current()")
    lines.append("    with pl.section_vector():")
    lines += ["        pl.load(src, a, [0, 0])", "        pl.load(idx, i, [0, 0])"]
    lines.append(f"        pl.sort32(dst, src, idx{', tmp' if tail else ''})")
    lines.append("        pl.store(o, dst, [0, 0])")
    return "\n".join(lines)


@pytest.mark.parametrize("cols", [32, 16])
def test_the_examples_of_the_document_run_and_ptogen_uses_their_addresses(cols: int) -> None:
    rng = np.random.default_rng(cols)
    values = rng.standard_normal((1, cols)).astype("<f2")
    indices = rng.permutation(cols).astype("<u4").reshape(1, cols)
    out = np.zeros((1, 4 * cols), "<f2")
    theirs = run(example(cols, cols), "kernel", values, indices, out)
    assert out.view(RECORDS["float16"]).tobytes() == sort32(values, indices).tobytes()
    ours = check(dtype="float16", rows=1, cols=cols)
    assert [tile.address for tile in ours.tiles] == [tile.address for tile in theirs.tiles]
    assert [tile.address for tile in ours.tiles] == [0x0, 0x80, 0x100, 0x200][: 4 if cols == 16 else 3]
    assert ours.calls == theirs.calls


# The stand-in is no soft judge


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("addrs=128", "addrs=32"),
        ("addrs=256", "addrs=128"),
        ("addrs=512", "addrs=480"),
        (", tmp)", ")"),
        ("shape=[1, 128]", "shape=[1, 64]"),
        ("mutex_ids=[1]", "mutex_ids=[0]"),
        ("auto_mutex=True", "auto_mutex=False"),
        ("pl.load(idx, i, [0, 0])", "pl.load(idx, i, [0, 1])"),
    ],
)
def test_the_stand_in_catches(old: str, new: str) -> None:
    text = example(16, 16)
    assert text.count(old) == 1
    tensors = [np.zeros((1, cols), dtype) for cols, dtype in ((16, "<f2"), (16, "<u4"), (64, "<f2"))]
    with pytest.raises(AssertionError):
        run(text.replace(old, new), "kernel", *tensors)


def test_a_step_that_is_left_out_shows() -> None:
    values, indices = np.ones((1, 16), "<f2"), np.arange(16, dtype="<u4").reshape(1, 16)
    for step in ("pl.load(src, a, [0, 0])", "pl.load(idx, i, [0, 0])", "pl.sort32(dst, src, idx, tmp)"):
        out = np.zeros((1, 64), "<f2")
        run(example(16, 16).replace(step, "pass"), "kernel", values, indices, out)
        assert out.tobytes() != sort32(values, indices).tobytes()


# Refusals


def refusal(suite: Suite, plans: tuple[KernelPlan, ...]) -> list[str]:
    with pytest.raises(PtogenError) as caught:
        pypto_pro.render(suite, plans)
    return [str(diagnostic) for diagnostic in caught.value.diagnostics]


@pytest.mark.parametrize("platform", ["a2a3", "kirin9030"])
def test_other_platforms_are_refused(platform: str) -> None:
    (said,) = refusal(*prepared(platform=platform, dtype="float32", rows=1, cols=32))
    assert f"PTG303: pypto_pro has no {platform}; it has a5\n" in said and "--platform a5" in said


def test_other_ops_are_refused_as_what_ptogen_does_not_render() -> None:
    said = refusal(*prepared(op="tpartadd", dtype="float32", dst=[1, 8], src0=[1, 8], src1=[1, 8]))
    assert said == ["spec.yaml:1:8: error PTG303: ptogen renders only sort32 for pypto_pro, and no tpartadd"]


def test_tiles_that_share_bytes_are_refused() -> None:
    suite, (plan,) = prepared(dtype="float32", rows=1, cols=32)
    moved = tuple(replace(tile, offset=0) for tile in plan.tiles)
    said = refusal(suite, (replace(plan, tiles=moved),))
    assert len(said) == 3 and "src [0x0, 0x80) and idx [0x0, 0x80) share bytes" in said[0]


def test_names_and_lines_are_python() -> None:
    cases = [{"dtype": "float32", "rows": 1, "cols": 32, "name": name} for name in ("lambda", "pl")]
    text, _, _ = rendered(cases=cases)
    compile(text, "module.py", "exec")
    assert "def lambda_kernel(" in text and "def pl_kernel(" in text
    wide, _, _ = rendered(dtype="float32", rows=500, cols=3, valid=[490, 2])
    assert max(map(len, wide.splitlines())) <= 120
