"""``kernel`` and ``plan`` on real specs, from the file to the tree."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from ptogen import cli
from ptogen.dtypes import FLOAT32
from ptogen.ops.attributes import Bool, Int
from ptogen.ops.base import Op
from ptogen.ops.record import Form, slots
from ptogen.ops.sizing import Role, Tensor
from ptogen.plan.model import (
    Affine,
    Barrier,
    GmWindow,
    Instruction,
    KernelPlan,
    Load,
    Loop,
    SetFlag,
    Store,
    Tile,
    WaitFlag,
    Window,
)
from ptogen.platforms import Pipe
from ptogen.render.plan_text import as_data, as_text

SPEC = "op: tsort32\nplatform: {platform}\nmode: {mode}\ndtype: float32\nrows: 2\ncols: 13\n"


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def spec(name: str, platform: str = "a2a3", mode: str = "manual", more: str = "") -> str:
    Path(name).write_text(SPEC.format(platform=platform, mode=mode) + more)
    return name


def tree(root: Path) -> dict[str, bytes]:
    return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}


# kernel


def test_two_renders_are_the_same_to_the_byte(tmp_path: Path) -> None:
    file = Path(spec("spec.yaml", "[a2a3, a5, cpu]")).resolve()
    trees = []
    for seed, place in (("0", "x"), ("4711", "deep/er/place")):
        (tmp_path / place).mkdir(parents=True)
        out = tmp_path / f"out{seed}"
        command = [sys.executable, "-m", "ptogen", "kernel", str(file), "-o", str(out)]
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        subprocess.run(command, cwd=tmp_path / place, env=environment, check=True, capture_output=True)
        trees.append(tree(out))
    assert trees[0] == trees[1]
    assert len(trees[0]) == 3 * 4 + 3 + 1 + 1  # the last ones are the shared header and .gitignore of .ptogen
    for text in trees[0].values():
        assert str(tmp_path).encode() not in text


def test_a_second_render_writes_nothing(tmp_path: Path) -> None:
    spec("spec.yaml")
    assert cli.main(["kernel", "spec.yaml"]) == 0
    before = {path: path.stat().st_mtime_ns for path in Path("generated").rglob("*")}
    assert cli.main(["kernel", "spec.yaml"]) == 0
    assert {path: path.stat().st_mtime_ns for path in Path("generated").rglob("*")} == before
    assert cli.main(["kernel", "spec.yaml", "--check"]) == 0


def test_two_suites_in_one_directory_are_both_named(capsys: pytest.CaptureFixture[str]) -> None:
    spec("one.yaml", "[a2a3, a5]")
    spec("two.yaml", mode="auto")
    assert cli.main(["kernel", "one.yaml", "two.yaml"]) == 2
    err = capsys.readouterr().err
    assert err.count("PTG110") == 1
    assert err.startswith("two.yaml:") and "one.yaml:" in err and "auto" in err and "manual" in err
    assert not Path("generated").exists()
    spec("three.yaml", more="name: TSort32\n")
    assert cli.main(["kernel", "one.yaml", "three.yaml"]) == 2
    assert "PTG110" in capsys.readouterr().err


def test_a_spec_named_twice_counts_once(capsys: pytest.CaptureFixture[str]) -> None:
    spec("one.yaml")
    assert cli.main(["kernel", "one.yaml", "./one.yaml"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 3  # one is the head and one the shared header


def test_the_faults_of_all_files_come_in_one_run(capsys: pytest.CaptureFixture[str]) -> None:
    spec("bad.yaml", more="colz: 4\n")
    spec("good.yaml")
    Path("full.yaml").write_text("op: tsort32\nplatform: kirin9030\ndtype: float32\nrows: 1000\ncols: 2048\n")
    assert cli.main(["kernel", "bad.yaml", "good.yaml", "full.yaml", "none.yaml"]) == 2
    err = capsys.readouterr().err
    assert "bad.yaml:7:1: error PTG105" in err
    assert "full.yaml:" in err and "PTG301" in err
    assert "none.yaml" in err and "PTG100" in err
    assert not Path("generated").exists()


def test_a_smaller_ub_can_be_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    spec("one.yaml")
    assert cli.main(["kernel", "one.yaml", "--ub-bytes", "0x200"]) == 2
    assert "PTG301" in capsys.readouterr().err


def test_a_license_header_stands_on_top_of_every_file() -> None:
    spec("one.yaml")
    Path("header.txt").write_text("Copyright (c) 2025 Somebody\n")
    assert cli.main(["kernel", "one.yaml", "--license-header", "header.txt"]) == 0
    files = [path for path in Path("generated/tests").rglob("*") if path.is_file()]
    assert len(files) == 5
    for path in files:
        assert "Copyright (c) 2025 Somebody" in "\n".join(path.read_text().splitlines()[:4])


def test_the_spec_goes_along(capsys: pytest.CaptureFixture[str]) -> None:
    spec("one.yaml", more="# why these cases\nname: mine\n")
    assert cli.main(["kernel", "one.yaml", "--with-spec"]) == 0
    (beside,) = Path("generated").rglob("*.yaml")
    assert beside.name == "mine.yaml" and beside.parent.name == "mine"
    assert beside.read_bytes() == Path("one.yaml").read_bytes()
    assert cli.main(["kernel", "one.yaml", "--with-spec", "--check"]) == 0
    assert cli.main(["kernel", "one.yaml"]) == 0
    assert not beside.exists()


def test_a_name_cannot_leave_the_output(capsys: pytest.CaptureFixture[str]) -> None:
    for name in ('"../../etc/x"', '"/etc/x"', '"x\\"); system(\\"id"', '".."'):
        spec("one.yaml", more=f"name: {name}\n")
        assert cli.main(["kernel", "one.yaml"]) == 2
        assert "PTG108" in capsys.readouterr().err
    assert not Path("generated").exists()


# plan


ADD = Op("TADD", "tadd", (), (), forms=(Form(slots("dst+ src")),), attributes=(Int("length"), Bool("wide")))


def hand_made() -> KernelPlan:
    whole = Window(FLOAT32, 2, 8, 2, 5, "a")
    piece = Window(FLOAT32, 1, 8, 1, 5, "a", row=Affine(0, (("i", 1),)))
    return KernelPlan(
        case="one",
        name="tadd",
        platform="a2a3",
        mode="manual",
        ub_bytes=1024,
        tensors=(
            Tensor("out", FLOAT32, 2, 5, 2, 5, Role.OUT),
            Tensor("in", FLOAT32, 4, 5, 2, 5, Role.IN),
        ),
        tiles=(Tile(FLOAT32, 2, 8, 2, 5, "a", "src", 32, 0), Tile(FLOAT32, 2, 8, 2, 8, "b", "b", 32, 64)),
        program=(
            Load(whole, GmWindow("in", 2, 5)),
            SetFlag(Pipe.MTE2, Pipe.V, 3),
            WaitFlag(Pipe.MTE2, Pipe.V, 3),
            Loop(
                "i",
                2,
                (Instruction(ADD, (("dst", Window(FLOAT32, 2, 8, 2, 8, "b")), ("src", piece))), Barrier(Pipe.V)),
            ),
            Store(GmWindow("out", 2, 5), whole),
        ),
        live_bytes=100,
    )


PAGE = """\
one: tadd on a2a3, manual
  UB: 128 of 1,024 B used, 896 B free; at most 100 B live at once
  GM
    out  out  float32  2 x 5  valid 2 x 5  40 B
    in   in   float32  4 x 5  valid 2 x 5  80 B
  tiles
    a  as src  float32  2 x 8  valid 2 x 5  [0x00000, 0x00040)  64 B  align 32
    b          float32  2 x 8  valid 2 x 8  [0x00040, 0x00080)  64 B  align 32
  program
    load     a <- in[0, 0: 2 x 5]
    set      PIPE_MTE2 -> PIPE_V, event 3
    wait     PIPE_MTE2 -> PIPE_V, event 3
    for i in 0..1:
        tadd     dst=b, src=a[i, 0: 1 x 8](valid 1 x 5)
        barrier  PIPE_V
    store    out <- a"""


def test_a_plan_as_text() -> None:
    assert as_text(hand_made()) == PAGE


def test_a_plan_as_data() -> None:
    data = json.loads(json.dumps(as_data(hand_made())))
    assert data["tiles"][1] == {
        "name": "b",
        "operand": "b",
        "dtype": "float32",
        "rows": 2,
        "cols": 8,
        "valid_rows": 2,
        "valid_cols": 8,
        "align": 32,
        "layout": "row-major",
        "offset": 64,
        "bytes": 64,
    }
    assert (data["used_bytes"], data["live_bytes"], data["ub_bytes"]) == (128, 100, 1024)
    assert [step["step"] for step in data["program"]] == ["Load", "SetFlag", "WaitFlag", "Loop", "Store"]
    assert data["program"][1] == {"step": "SetFlag", "src": "PIPE_MTE2", "dst": "PIPE_V", "event": 3}
    assert data["program"][3]["body"][0]["args"][1][1]["row"] == {"const": 0, "terms": [["i", 1]]}


MIXED = """\
op: tsort32
platform: [a2a3, kirin9030]
cases:
  - {name: small, dtype: float32, rows: 2, cols: 32}
  - {name: big, dtype: float32, rows: 150, cols: 64}
"""


def test_plan_shows_the_good_cases_and_the_faults_of_the_others(tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.yaml").write_text(MIXED)
    assert cli.main(["plan", "a.yaml"]) == 2
    out, err = capsys.readouterr()
    heads = [line.split(":")[0] + line.partition(" on")[2].split(",")[0] for line in out.splitlines() if " on " in line]
    assert heads == ["small a2a3", "big a2a3", "small kirin9030"]
    assert err.count("error PTG301") == 1 and "a.yaml:5:5: error PTG301" in err and "on kirin9030" in err
    assert cli.main(["plan", "a.yaml", "--format", "json"]) == 2
    data = json.loads(capsys.readouterr().out)
    assert len(data["plans"]) == 3 and [fault["code"] for fault in data["diagnostics"]] == ["PTG301"]


def test_plan_does_not_stumble_over_a_case_that_was_not_asked_for(tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.yaml").write_text(MIXED)
    assert cli.main(["plan", "a.yaml", "--case", "small"]) == 0
    out, err = capsys.readouterr()
    assert out.count("small: tsort32 on") == 2 and err == ""
    assert cli.main(["plan", "a.yaml", "--case", "none"]) == 2
    assert "the cases are: big, small" in capsys.readouterr().err


def test_plan_prints_the_cases_that_were_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    Path("a.yaml").write_text(
        "op: tsort32\nplatform: a2a3\ncases:\n"
        "  - {dtype: float32, rows: 2, cols: 13, name: thin}\n"
        "  - {dtype: float16, rows: 4, cols: 64, name: wide}\n"
    )
    assert cli.main(["plan", "a.yaml"]) == 0
    text = capsys.readouterr().out
    assert "thin: tsort32 on a2a3, manual" in text and "wide: tsort32 on a2a3, manual" in text
    assert "[0x00000, 0x00100)" in text and "valid 2 x 13" in text
    assert cli.main(["plan", "a.yaml", "--case", "w*", "--format", "json"]) == 0
    (plan,) = json.loads(capsys.readouterr().out)["plans"]
    assert (plan["case"], plan["platform"]) == ("wide", "a2a3")
    assert cli.main(["plan", "a.yaml", "--case", "none"]) == 2
    assert "the cases are: thin, wide" in capsys.readouterr().err
