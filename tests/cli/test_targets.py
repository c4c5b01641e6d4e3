"""``kernel --target``: what else a spec becomes, beside the C++ of the same tree."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ptogen import cli, output
from ptogen.backend.selection import Selection, choose
from ptogen.errors import PtogenError

SPEC = "op: tsort32\nplatform: {platform}\nmode: {mode}\ndtype: float32\nrows: 2\ncols: 13\n"
ASSEMBLY = Path("generated/pto_as/a5/tsort32/tsort32.pto")
MODULE = Path("generated/pypto_pro/a5/tsort32/tsort32.py")


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def spec(platform: str = "a5", mode: str = "manual", more: str = "") -> str:
    Path("spec.yaml").write_text(SPEC.format(platform=platform, mode=mode) + more)
    return "spec.yaml"


def test_targets_stand_side_by_side_in_one_tree(capsys: pytest.CaptureFixture[str]) -> None:
    spec()
    for target in ("st", "pto-as", "pypto-pro"):
        assert cli.main(["kernel", "spec.yaml", "--target", target]) == 0
    assert ASSEMBLY.is_file() and MODULE.is_file()
    assert "generated/pypto_pro/a5/tsort32      1      1        1" in capsys.readouterr().out
    keys = {"a5-tsort32", "a5-tsort32-pto_as", "a5-tsort32-pypto_pro"}
    assert {manifest.key for manifest in output.read(Path("generated"))} == keys
    for target in ("st", "pto-as", "pypto-pro"):
        assert cli.main(["kernel", "spec.yaml", "--target", target, "--check"]) == 0


def test_an_edited_file_is_kept_and_a_difference_shown(capsys: pytest.CaptureFixture[str]) -> None:
    spec()
    assert cli.main(["kernel", "spec.yaml", "--target", "pto-as"]) == 0
    ASSEMBLY.write_text(ASSEMBLY.read_text().replace("case_float32_2x13", "mine"))
    assert cli.main(["kernel", "spec.yaml", "--target", "pto-as"]) == 2
    assert "PTG111" in capsys.readouterr().err
    assert cli.main(["kernel", "spec.yaml", "--target", "pto-as", "--diff"]) == 1
    assert "+  func.func @case_float32_2x13(" in capsys.readouterr().out


def test_a_level_replaces_another() -> None:
    spec()
    texts = set()
    for level in ("1", "2", "3"):
        assert cli.main(["kernel", "spec.yaml", "--target", "pto-as", "--level", level]) == 0
        texts.add(ASSEMBLY.read_text())
    assert len(texts) == 3
    assert cli.main(["kernel", "spec.yaml", "--target", "pto-as", "--check"]) == 0


@pytest.mark.parametrize(("mode", "note"), [("manual", "--pto-level=level3"), ("auto", "--pto-level=level2")])
def test_the_level_follows_the_mode(mode: str, note: str) -> None:
    spec(mode=mode)
    assert cli.main(["kernel", "spec.yaml", "--target", "pto-as"]) == 0
    assert note in ASSEMBLY.read_text()


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["--level", "3"], "--level belongs to --target pto-as; st has no levels"),
        (["--target", "pypto-pro", "--level", "2"], "pypto-pro has no levels"),
        (["--target", "pto-as", "--level", "4"], "4 is not in the range"),
        (["--target", "ptoas"], "'ptoas' is not one of"),
    ],
)
def test_wrong_usage(args: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["kernel", spec(), *args]) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("args", [["--target", "pypto-pro"], ["--target", "pto-as", "--level", "2"]])
def test_pinned_addresses_need_a_plan_in_manual_mode(args: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    spec(more="ub: {src: 0x1000}\n")
    assert cli.main(["kernel", "spec.yaml", *args]) == 2
    assert "spec.yaml:7:5: error PTG204: " in capsys.readouterr().err
    assert cli.main(["kernel", "spec.yaml", "--target", "pto-as"]) == 0


def test_every_suite_that_a_target_cannot_serve_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    spec("[a2a3, cpu, kirin9030, a5]")
    assert cli.main(["kernel", "spec.yaml", "--target", "pto-as"]) == 2
    assert capsys.readouterr().err.count("error PTG303: ") == 2
    assert cli.main(["kernel", "spec.yaml", "--target", "pypto-pro", "--format", "json"]) == 2
    said = json.loads(capsys.readouterr().out)["diagnostics"]
    assert [diagnostic["code"] for diagnostic in said] == ["PTG303"] * 3
    assert not Path("generated").exists()


def test_a_spec_of_several_platforms_renders_for_those_that_a_target_has(capsys: pytest.CaptureFixture[str]) -> None:
    spec("[a2a3, cpu, a5]")
    assert cli.main(["kernel", "spec.yaml", "--target", "pto-as"]) == 2
    assert "hint: --platform a2a3 --platform a5 renders only the suites for a2a3 and a5" in capsys.readouterr().err
    chosen = ["--platform", "a2a3", "--platform", "a5"]
    assert cli.main(["kernel", "spec.yaml", "--target", "pto-as", *chosen]) == 0
    assert ASSEMBLY.is_file() and not Path("generated/pto_as/cpu").exists()


def test_what_a_target_has_no_text_for_is_named_and_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    same = "dst: [1, 8], src0: [1, 8], src1: [1, 8]"
    Path("spec.yaml").write_text(
        f"op: tpartadd\nplatform: [a5, cpu]\ncases:\n  - {{dtype: float32, {same}}}\n"
        f"  - {{dtype: bfloat16, {same}, name: other}}\n"
    )
    spec_of_64_bits = Path("spec.yaml").read_text().replace("bfloat16", "int64").replace("[a5, cpu]", "a5")
    args = ["kernel", "spec.yaml", "--target", "pto-as"]
    assert cli.main([*args, "--skip"]) == 0
    said = capsys.readouterr().err
    assert said == "spec.yaml:2:11: note PTG303: left out: the PTO assembler has no cpu; it has a2a3 and a5\n"
    Path("spec.yaml").write_text(spec_of_64_bits)
    assert cli.main(args) == 2
    assert "spec.yaml:5:13: error PTG303: other: PTO assembly has no int64" in capsys.readouterr().err
    assert cli.main([*args, "--skip"]) == 0
    assert "spec.yaml:5:13: note PTG303: left out: other: PTO assembly has no int64" in capsys.readouterr().err
    text = Path("generated/pto_as/a5/tpartadd/tpartadd.pto").read_text()
    assert text.count("func.func") == 1 and "@other" not in text
    # Nothing left is no success.
    Path("spec.yaml").write_text(spec_of_64_bits.replace("float32", "uint64"))
    assert cli.main([*args, "--skip"]) == 2
    assert "error PTG303: case_" in capsys.readouterr().err


def test_check_runs_what_is_cpp_and_says_where_there_is_none() -> None:
    spec()
    assert cli.main(["kernel", "spec.yaml", "--target", "pto-as"]) == 0
    with pytest.raises(PtogenError, match=r"PTG507: nothing here is C\+\+.*a5-tsort32-pto_as \(pto_as\)"):
        choose(Path("generated"), Selection())
    assert cli.main(["kernel", "spec.yaml"]) == 0
    assert [manifest.key for manifest, _ in choose(Path("generated"), Selection())] == ["a5-tsort32"]
