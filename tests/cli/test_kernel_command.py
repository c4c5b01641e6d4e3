"""``ptogen kernel`` and the tree it writes into: parts of specs, what they made once, what a person edited."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from ptogen import output
from ptogen.cli import main

SPEC = """op: tsort32
platform: [a2a3, a5]
name: {name}
cases:
  - {{dtype: float32, rows: 2, cols: 13}}
  - {{dtype: float16, rows: 1, cols: 32, name: half}}
"""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "spec.yaml").write_text(SPEC.format(name="one"))
    return tmp_path


def made() -> dict[str, list[str]]:
    """The suites of the tree with their cases."""
    return {manifest.key: [case["name"] for case in manifest.cases] for manifest in output.read(Path("out"))}


def kernel(*args: str) -> int:
    return main(["kernel", *args, "-o", "out"])


BOTH = ["case_float32_2x13", "half"]


# Parts of specs


def test_a_platform(capsys: pytest.CaptureFixture[str]) -> None:
    assert kernel("spec.yaml", "--platform", "a5") == 0
    assert made() == {"a5-one": BOTH}
    assert kernel("spec.yaml", "--platform", "a5", "--platform", "cpu") == 0
    capsys.readouterr()
    assert kernel("spec.yaml", "--platform", "cpu") == 2
    assert "PTG115: no suite here is for cpu; they are for a2a3, a5" in capsys.readouterr().err
    assert kernel("spec.yaml", "--platform", "a9") == 2


@pytest.mark.parametrize(
    ("glob", "suites"),
    [
        ("half", {"a2a3-one": ["half"], "a5-one": ["half"]}),
        ("a5-*", {"a5-one": BOTH}),
        ("a5-one.half", {"a5-one": ["half"]}),
        ("ONETest.case_*", {"a2a3-one": BOTH[:1], "a5-one": BOTH[:1]}),
    ],
)
def test_a_selection_takes_the_names_that_check_takes(glob: str, suites: dict[str, list[str]]) -> None:
    assert kernel("spec.yaml", "--select", glob) == 0
    assert made() == suites


def test_a_selection_of_nothing_is_no_success(capsys: pytest.CaptureFixture[str]) -> None:
    assert kernel("spec.yaml", "--select", "nothing") == 2
    err = capsys.readouterr().err
    assert "PTG115: no case matches 'nothing'" in err and "a2a3-one.half" in err
    assert not Path("out").exists()


def test_a_part_does_not_ask_whether_the_rest_can_be_planned(here: Path) -> None:
    text = SPEC.format(name="one") + "  - {dtype: float32, rows: 2000, cols: 1024, name: large}\n"
    (here / "spec.yaml").write_text(text)
    assert kernel("spec.yaml") == 2
    assert kernel("spec.yaml", "--select", "half") == 0


def test_standard_input(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def feed(text: str) -> None:
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(text.encode())))

    assert kernel("spec.yaml") == 0
    whole = {path: path.read_bytes() for path in Path("out").rglob("*.cpp")}
    assert main(["clean", "out"]) == 0
    feed(SPEC.format(name="one"))
    assert kernel("-") == 0
    assert {path: path.read_bytes() for path in Path("out").rglob("*.cpp")} == whole
    assert all("file" not in manifest.suite for manifest in output.read(Path("out")))
    feed("op: tsort32\nplatform: a9\n")
    capsys.readouterr()
    assert kernel("-") == 2
    assert "<stdin>:2:11: error PTG106" in capsys.readouterr().err
    monkeypatch.setattr(sys, "stdin", None)
    assert kernel("-") == 2
    assert "PTG107: the file is empty" in capsys.readouterr().err


def test_no_spec_at_all(capsys: pytest.CaptureFixture[str]) -> None:
    assert kernel() == 2
    assert "Missing argument 'SPEC...'" in capsys.readouterr().err


# What specs made once


def test_what_a_spec_made_once_is_stale(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert kernel("spec.yaml") == 0
    (here / "other.yaml").write_text(SPEC.format(name="other"))
    assert kernel("other.yaml") == 0
    (here / "spec.yaml").write_text(SPEC.format(name="two").replace("[a2a3, a5]", "a5"))
    capsys.readouterr()
    assert kernel("spec.yaml", "--check") == 1
    assert kernel("spec.yaml") == 0
    capsys.readouterr()
    assert kernel("spec.yaml", "--check") == 1, "all is written, and something is stale"
    out, err = capsys.readouterr()
    assert "nothing would change" in out
    stale = [f"out/tests/npu/{platform}/src/st/testcase/one" for platform in ("a2a3", "a5")]
    assert err.splitlines() == [f"stale: {place} is made by no spec here any more; see --prune" for place in stale]
    assert kernel("other.yaml", "--check") == 0
    assert kernel("spec.yaml", "--platform", "a5", "--check") == 0, "a part says nothing of the rest"
    capsys.readouterr()
    assert kernel("spec.yaml", "--prune", "--dry-run", "--format", "json") == 0
    data = json.loads(capsys.readouterr().out)
    assert data["stale"] == ["a2a3-one", "a5-one"]
    assert {change["action"] for change in data["pruned"]} == {"remove"}
    assert all(Path(place).is_dir() for place in stale)
    assert kernel("spec.yaml", "--prune", "--diff") == 1
    assert f"--- a/{stale[0][4:]}/main.cpp\n+++ /dev/null\n" in capsys.readouterr().out
    assert kernel("spec.yaml", "--prune") == 0
    assert "2 suites removed: a2a3-one, a5-one" in capsys.readouterr().out
    assert not any(Path(place).exists() for place in stale)
    assert set(made()) == {"a2a3-other", "a5-other", "a5-two"}
    assert kernel("spec.yaml", "--prune", "--check") == 0


def test_a_manifest_edited_by_hand_is_a_difference(capsys: pytest.CaptureFixture[str]) -> None:
    assert kernel("spec.yaml") == 0
    record = Path("out/.ptogen/a5-one.json")
    text = record.read_text()
    record.write_text(text.replace('"ub_bytes": 2', '"ub_bytes": 3'))
    capsys.readouterr()
    assert kernel("spec.yaml", "--check") == 1
    assert f"would write {record}" in capsys.readouterr().out
    assert kernel("spec.yaml") == 0 and record.read_text() == text


def test_pruning_keeps_what_a_person_edited(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert kernel("spec.yaml") == 0
    edited = Path("out/tests/npu/a5/src/st/testcase/one/main.cpp")
    edited.write_text("mine\n")
    (here / "spec.yaml").write_text(SPEC.format(name="two"))
    capsys.readouterr()
    assert kernel("spec.yaml", "--prune") == 0
    assert f"kept, because it was edited by hand: {edited}" in capsys.readouterr().out
    assert edited.read_text() == "mine\n"


def test_another_target_is_not_stale(here: Path) -> None:
    assert kernel("spec.yaml") == 0
    assert kernel("spec.yaml", "--target", "pto-as") == 0
    before = made()
    assert len(before) == 4
    assert kernel("spec.yaml", "--prune") == 0
    assert made() == before
    assert kernel("spec.yaml", "--target", "pto-as", "--prune") == 0
    assert made() == before


@pytest.mark.parametrize("part", [("--platform", "a5"), ("--select", "half")])
def test_a_part_is_no_reason_to_prune(part: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert kernel("spec.yaml", "--prune", *part) == 2
    assert "--prune needs whole specs" in capsys.readouterr().err


# What a person edited


def test_clean_names_a_link_and_does_not_follow_it(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert kernel("spec.yaml") == 0
    place = Path("out/tests/npu/a5/src/st/testcase/one")
    place.rename("elsewhere")
    place.symlink_to(here / "elsewhere")
    files = {path.name for path in Path("elsewhere").iterdir()}
    capsys.readouterr()
    assert main(["clean", "out"]) == 0
    out = capsys.readouterr().out
    for name in files:
        assert f"kept, because a symbolic link leads to it: {place / name}\n" in out
    assert {path.name for path in Path("elsewhere").iterdir()} == files and place.is_symlink()


def test_force_at_some_paths_only(capsys: pytest.CaptureFixture[str]) -> None:
    assert kernel("spec.yaml") == 0
    places = [Path(f"out/tests/npu/{platform}/src/st/testcase/one/main.cpp") for platform in ("a2a3", "a5")]
    text = places[0].read_text()
    for place in places:
        place.write_text("mine\n")
    capsys.readouterr()
    assert kernel("spec.yaml", "--force-path", "tests/npu/a2a3/*") == 2
    err = capsys.readouterr().err
    assert "1 file that is not ptogen's" in err and "npu/a5/" in err and "npu/a2a3/" not in err
    assert [place.read_text() for place in places] == ["mine\n", "mine\n"]
    assert kernel("spec.yaml", "--platform", "a2a3", "--force-path", "tests/npu/a2a3/*") == 0
    assert places[0].read_text() == text and places[1].read_text() == "mine\n"
    assert kernel("spec.yaml", "--force-path", "*/one/main.cpp", "--force-path", "nothing") == 0
    assert places[1].read_text() != "mine\n"


def test_force_at_a_damaged_manifest() -> None:
    assert kernel("spec.yaml") == 0
    Path("out/.ptogen/a5-one.json").write_text("{")
    assert kernel("spec.yaml", "--force-path", "*.cpp") == 2
    assert kernel("spec.yaml", "--force-path", ".ptogen/a5-one.json") == 0
