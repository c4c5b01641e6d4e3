"""A kernel that no spec asks for yet: two ops, loads and stores in a loop, tiles and tensors by columns; it runs."""

from __future__ import annotations

import dataclasses
import os
import pathlib
import subprocess

import numpy as np
from handmade import sort_suite

from ptogen.backend.compile import OVERLAY
from ptogen.backend.headers import Headers
from ptogen.backend.toolchain import Toolchain
from ptogen.dtypes import FLOAT32
from ptogen.ops.base import Op
from ptogen.ops.record import Form, slots
from ptogen.ops.sizing import Role, Tensor
from ptogen.plan.model import Affine, GmWindow, Instruction, KernelPlan, Load, Loop, Store, Tile, Window
from ptogen.render import host
from ptogen.render.kernel import kernel_cpp, kernels
from ptogen.tiles import Layout

ADD, MUL = (Op(name.upper(), name, (), (), forms=(Form(slots("dst+ src0 src1")),)) for name in ("tadd", "tmul"))
ROWS, COLS, PITCH = 8, 4, 11


def plan() -> KernelPlan:
    """``dst = (src + src) * src``, column by column; a column of dst in GM is longer than its rows."""
    layout = Layout.COL_MAJOR
    column = Affine(0, (("column", 1),))
    tiles = tuple(
        Tile(FLOAT32, ROWS, COLS, ROWS, COLS, name, name, 32, at, layout=layout)
        for name, at in (("src", 0), ("dst", 128))
    )
    src, dst = (Window(FLOAT32, ROWS, 1, ROWS, 1, tile.name, col=column, layout=layout) for tile in tiles)
    body = (
        Load(src, GmWindow("src", ROWS, 1, col=column)),
        Instruction(ADD, (("dst", dst), ("src0", src), ("src1", src))),
        Instruction(MUL, (("dst", dst), ("src0", dst), ("src1", src))),
        Store(GmWindow("dst", ROWS, 1, col=column), dst),
    )
    tensors = (
        Tensor("dst", FLOAT32, ROWS, COLS, ROWS, COLS, Role.OUT, pitch=PITCH, layout=layout),
        Tensor("src", FLOAT32, ROWS, COLS, ROWS, COLS, Role.IN, layout=layout),
    )
    return KernelPlan("columns", "columns", "cpu", "manual", 196_608, tensors, tiles, (Loop("column", COLS, body),), 0)


def test_what_stands_in_a_loop_is_declared_where_it_stands() -> None:
    text = kernel_cpp(kernels([plan()]), "")
    loop = text[text.index("for (int column") : text.index("void Launch")]
    order = [
        "UbTileCols<float, 8, 1, 8, 1> srcPart0;",
        "TASSIGN(srcPart0, 0x0 + column * 32);",
        "GmCols<float, 8, 1, 8> srcPart0Global(src + column * 8);",
        "TLOAD(srcPart0, srcPart0Global);",
        "TADD(dstPart0, srcPart0, srcPart0);",
        "TMUL(dstPart0, dstPart0, srcPart0);",
        "GmCols<float, 8, 1, 11> dstPart0Global(dst + column * 11);",
        "TSTORE(dstPart0Global, dstPart0);",
    ]
    places = [loop.index(statement) for statement in order]
    assert places == sorted(places)
    assert "srcTile" not in text  # no step uses it as a whole


def test_it_runs_without_a_wrong_element(headers: Headers, toolchain: Toolchain, tmp_path: pathlib.Path) -> None:
    suite = dataclasses.replace(sort_suite("columns"), cases=())
    header, harness = host.harness(None)
    name = header.rpartition("/")[2]
    texts = {
        "main.cpp": host.main_cpp(suite, [plan()], "", name),
        "kernel.cpp": kernel_cpp(kernels([plan()]), ""),
        name: harness,
    }
    for file, text in texts.items():
        (tmp_path / file).write_text(text, encoding="utf-8")
    values = np.arange(-15.5, 16.5, dtype="<f4").reshape(COLS, ROWS)
    data = tmp_path / f"{suite.test_suite}.columns"
    for folder in (data, tmp_path / "bin"):
        folder.mkdir()
    values.tofile(data / "input1.bin")
    golden = (values + values) * values
    golden.tofile(data / "golden.bin")
    compiler = toolchain.compiler
    includes = [f"-I{OVERLAY / 'compiler'}"] if compiler.needs_overlay else []
    command = [
        *compiler.command,
        compiler.standard,
        "-D__CPU_SIM",
        "-include",
        "stdint.h",
        "-include",
        "stddef.h",
        "-w",
    ]
    command += [*includes, f"-isystem{headers.include}", "main.cpp", "kernel.cpp", "-o", "bin/program"]
    subprocess.run([*command, "-lgtest", "-lgtest_main", "-pthread", "-ldl"], cwd=tmp_path, check=True)

    def run() -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "PTOGEN_EXACT": "1"}
        program = tmp_path / "bin" / "program"
        return subprocess.run([program], cwd=program.parent, env=environment, capture_output=True, text=True)

    done = run()
    assert done.returncode == 0, done.stdout
    golden[2, 3] += 1
    golden.tofile(data / "golden.bin")
    assert "dst[row 2, column 3]: golden " in run().stdout
