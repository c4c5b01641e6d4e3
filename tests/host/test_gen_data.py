"""The rendered gen_data.py gives what the golden modules give, everywhere."""

from __future__ import annotations

import ast
import dataclasses
import io
import os
import pathlib
import subprocess
import sys
import tokenize
from typing import Any

import numpy as np
import pytest
from handmade import BANNER, SORTS, HandmadeOp, gen_data_text, sort_plan, sort_suite

from ptogen.golden import sort32
from ptogen.golden.values import load_values
from ptogen.graph.model import Graph
from ptogen.ops import catalogue
from ptogen.ops.base import Op
from ptogen.ops.sizing import Role
from ptogen.plan.suite import plan_suite
from ptogen.render import host
from ptogen.render.golden import golden_source
from ptogen.spec.load import load_text

FILES = {"dst": "golden", "src": "input1", "idx": "input2"}


def run(text: str, folder: pathlib.Path, **environment: str) -> dict[str, bytes]:
    folder.mkdir(parents=True)
    script = folder.parent / f"{folder.name}.py"
    script.write_text(text, encoding="utf-8")
    env = {**os.environ, **environment}
    subprocess.run([sys.executable, str(script)], cwd=folder, env=env, check=True)
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*.bin")}


def test_files_are_what_generate_returns(tmp_path: pathlib.Path) -> None:
    files = run(gen_data_text(), tmp_path / "out")
    expected = {}
    for seed, (case, params) in enumerate(SORTS.items()):
        arrays = sort32.generate(**params, seed=seed)
        assert set(arrays) == {tensor.name for tensor in sort_plan(case).tensors}
        for tensor in sort_plan(case).tensors:
            expected[f"HANDMADETest.{case}/{FILES[tensor.name]}.bin"] = arrays[tensor.name].tobytes()
    assert files == expected


def test_bytes_depend_on_nothing_around(tmp_path: pathlib.Path) -> None:
    first = run(gen_data_text(), tmp_path / "one", PYTHONHASHSEED="1", LC_ALL="C", TZ="UTC")
    second = run(gen_data_text(), tmp_path / "else" / "where", PYTHONHASHSEED="77", LC_ALL="C.UTF-8", TZ="Asia/Tokyo")
    assert first == second


def test_sizes_are_those_of_the_tensors(tmp_path: pathlib.Path) -> None:
    files = run(gen_data_text(), tmp_path / "out")
    for case in SORTS:
        for tensor in sort_plan(case).tensors:
            if tensor.role is Role.OUT:
                size = tensor.valid_rows * tensor.valid_cols * tensor.dtype.bytes
                assert len(files[f"HANDMADETest.{case}/{FILES[tensor.name]}.bin"]) == size
            else:
                assert len(files[f"HANDMADETest.{case}/{FILES[tensor.name]}.bin"]) == tensor.bytes


def test_a_mask_is_a_file_of_its_own_as_long_as_its_golden(tmp_path: pathlib.Path) -> None:
    spec = "op: tmrgsort\nplatform: a2a3\ndtype: float32\nvariant: multi\nlists: [6, 20]\nexhausted: true"
    (suite,) = load_text(spec, "spec.yaml")
    text = host.gen_data(suite, plan_suite(suite), BANNER)
    formatted(text)
    files = run(text, tmp_path / "out")
    assert {name.split("/")[1]: len(content) for name, content in files.items()} == {
        "input1.bin": 24,
        "input2.bin": 80,
        "golden.bin": 104,
        "mask.bin": 104,
        "golden2.bin": 8,
    }
    (mask,) = (content for name, content in files.items() if "mask" in name)
    defined = mask.count(1)
    assert 0 < defined < 104 and defined % 8 == 0 and mask == bytes([1]) * defined + bytes(104 - defined)


def formatted(text: str) -> None:
    ruff = [sys.executable, "-m", "ruff"]
    for command in ("format --diff", "check --select E,F,W,I"):
        done = subprocess.run(
            [*ruff, *command.split(), "--isolated", "--line-length", "120", "-"],
            input=text,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stdout + done.stderr


def test_text_is_formatted() -> None:
    formatted(gen_data_text())


def test_text_needs_python_and_numpy_only() -> None:
    tree = ast.parse(gen_data_text())
    imported = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    imported |= {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert {name.split(".")[0] for name in imported} - set(sys.stdlib_module_names) == {"numpy"}


def golden_of(name: str) -> str:
    """A gen_data.py with the golden of an op in it."""
    return golden_source(catalogue()[name].golden_module, ("import os",))


@pytest.mark.parametrize("name", sorted(catalogue()))
def test_the_golden_code_is_the_tested_code(name: str) -> None:
    """Every definition stands in the text once and as it is in its module."""
    text = golden_of(name)
    sources = [path.read_text(encoding="utf-8") for path in pathlib.Path(sort32.__file__).parent.glob("*.py")]
    found = definitions(text)
    assert len(found) > 10
    for segment in found.values():
        assert text.count(segment) == 1
        assert any(segment in source for source in sources)


def definitions(text: str) -> dict[str, str]:
    """The text of each function and constant by name."""
    found: dict[str, str] = {}
    for node in ast.parse(text).body:
        if isinstance(node, (ast.FunctionDef, ast.Assign)):
            targets = [node] if isinstance(node, ast.FunctionDef) else node.targets
            for target in targets:
                name = target.name if isinstance(target, ast.FunctionDef) else ast.unparse(target)
                assert name not in found
                found[name] = ast.get_source_segment(text, node) or "?"
    return found


@pytest.mark.parametrize("name", sorted(catalogue()))
def test_the_golden_code_is_what_generate_reaches(name: str) -> None:
    """Leaving out any definition leaves a name without a meaning, and no import is idle."""
    text = golden_of(name)
    found = definitions(text)
    used = {node.id for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name)}
    for names, segment in found.items():
        others = ast.parse(text.replace(segment, ""))
        elsewhere = {node.id for node in ast.walk(others) if isinstance(node, ast.Name)}
        assert names == "generate" or elsewhere & set(names.strip("()").split(", ")), names
    bound = {alias.name for node in ast.parse(text).body if isinstance(node, ast.Import) for alias in node.names}
    assert bound - {"numpy", "os"} <= used


def test_a_suite_has_nothing_of_another_op() -> None:
    text = golden_of("tsort32")
    assert "values_within" not in definitions(text) and "def sort32" in text
    assert "shuffled_indices" not in definitions(golden_of("tpartadd"))


@pytest.mark.parametrize("name", sorted(catalogue()))
def test_text_is_python_3_9(name: str) -> None:
    """Its grammar; and nothing of what came later that NumPy code is tempted to use."""
    tree = ast.parse(golden_of(name), feature_version=(3, 9))
    assert tree.body[0].module == "__future__" and tree.body[0].names[0].name == "annotations"
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            assert not (node.func.id == "zip" and node.keywords), "zip(strict=) is of 3.10"
            kinds = node.args[1:] if node.func.id == "isinstance" else []
            assert not any(isinstance(kind, ast.BinOp) for kind in kinds), "X | Y in isinstance is of 3.10"
        assert not isinstance(node, ast.Match)
    new = {"pairwise", "bit_count", "tomllib", "StrEnum", "Self", "batched"}
    assert not new & {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}


def test_text_starts_with_a_shebang_and_the_banner() -> None:
    lines = gen_data_text().splitlines()
    assert lines[:4] == ["#!/usr/bin/env python3", "# " + BANNER.splitlines()[0], "#", "# Made by hand."]


@pytest.mark.parametrize("line", ["file encoding: foo", "vim: set fileencoding=latin-1 :", "coding:utf-7"])
def test_no_banner_is_read_as_the_encoding_of_the_file(line: str) -> None:
    text = gen_data_text(f"{line}\nsecond, coding: foo\n\N{COPYRIGHT SIGN} mine")
    assert f"# {line}\n" in text
    compile(text.encode(), "gen_data.py", "exec")
    assert tokenize.detect_encoding(io.BytesIO(text.encode()).readline)[0] == "utf-8"


def test_same_suite_same_text() -> None:
    assert gen_data_text() == gen_data_text()


@pytest.fixture
def values_suite(tmp_path: pathlib.Path) -> tuple[Any, np.ndarray]:
    array = np.random.RandomState(0).random_sample((3, 50)).astype("<f4")
    np.save(tmp_path / "in.npy", array)
    values = load_values(tmp_path / "in.npy", "float32", 3, 50)

    class ValuesOp(HandmadeOp):
        def golden_params(self, case: Any, base: pathlib.Path) -> dict[str, Any]:
            return {**SORTS["f32_part"], "data": "it's \u00e9.npy", "seed": 0, "values": values}

    suite = sort_suite()
    op = ValuesOp(**{field.name: getattr(suite.graph.ops[0], field.name) for field in dataclasses.fields(Op)})
    return dataclasses.replace(suite, graph=Graph.of(op), cases=suite.cases[:1]), array


def test_values_of_a_file_are_in_the_text(tmp_path: pathlib.Path, values_suite: tuple[Any, np.ndarray]) -> None:
    suite, array = values_suite
    text = host.gen_data(suite, [sort_plan("f32_part")], BANNER)
    formatted(text)
    assert text.isascii()
    files = run(text, tmp_path / "out")
    assert files["HANDMADETest.f32_part/input1.bin"] == array.tobytes()


def test_a_tensor_is_not_input_and_output_at_once() -> None:
    plan = sort_plan("f32_part")
    turned = tuple(dataclasses.replace(tensor, role=Role.OUT) for tensor in plan.tensors)
    suite = dataclasses.replace(sort_suite(), cases=sort_suite().cases[:2])
    with pytest.raises(AssertionError, match="src is input1 of one case and golden2 of another"):
        host.gen_data(suite, [plan, dataclasses.replace(plan, tensors=turned)], BANNER)
