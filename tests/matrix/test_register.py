"""``--into`` and ``--remove``: a small checkout of our own making, which afterwards is what it was, to the byte."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ptogen.cli import main
from ptogen.register import Entry, guard, license_header, register, withdraw

MATRIX = """matrix:
  op: tsort32
  platform: [a2a3, a5, kirin9030, kirinx90, cpu]
  dtype: float32
  rows: [1, 2, 3]
  cols: [5, 32]
max_cases: 4
"""
SPEC = "op: tsort32\nplatform: [a2a3, cpu]\nname: mine\ndtype: float32\nrows: 2\ncols: 13\n"

NPU = "tests/npu/{}/src/st/testcase"
SCRIPT = """#!/bin/bash
if [ "$ENABLE_A3" = "true" ]; then
  if [ "$ENABLE_SIMPLE" = "true" ]; then
    python3 tests/script/run_st.py $ARGS -w -v a3 -t tadd -g TADDTest.case1
  elif [ "$ENABLE_ALL" = "true" ]; then
    python3 tests/script/run_st.py $ARGS -w -v a3 -t tadd
    python3 tests/script/run_st.py $ARGS -w -v a3 -t tsub
  fi
fi
if [ "$ENABLE_A5" = "true" ]; then
    python3 tests/script/run_st.py $ARGS -w -v a5 -t tadd
fi
if [ "$ENABLE_KIRIN9030" = "true" ]; then
  python3 tests/script/run_st.py $ARGS -w -v kirin9030 -t tadd
fi
if [ "$ENABLE_COMM" = "true" ]; then
    python3 tests/script/run_st.py $ARGS -v a3 -t comm/tput
fi
"""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    root = tmp_path / "pto-isa"
    lists = {
        "tests/cpu/st/testcase": "set(ALL_TESTCASES\ntadd\n# tsub (later)\ntabs  # the last\n)\n"
        "foreach(T ${ALL_TESTCASES})\nendforeach()\n",
        NPU.format(
            "a2a3"
        ): "function(x)\nendfunction()\nset(ALL_TESTCASES\n    tadd\n    tsub\n)\nset(OPT_IN_TESTCASES\n    big\n)\n",
        NPU.format("a5"): "set(ALL_TESTCASES\r\n    tadd\r\n)\r\n",
        NPU.format("kirin9030"): "set(ALL_TESTCASES tadd tsub)\nif((TEST_CASE IN_LIST ALL_TESTCASES))\nendif()",
        NPU.format("kirinX90"): "set(ALL_TESTCASES\n    tadd\n    # tinsert\n)",
    }
    for folder, text in lists.items():
        (root / folder / "tadd").mkdir(parents=True)
        (root / folder / "tadd" / "main.cpp").write_text("// theirs\n")
        (root / folder / "CMakeLists.txt").write_bytes(text.encode())
    (root / "tests/run_st.sh").write_text(SCRIPT)
    (root / "tests/run_st.sh").chmod(0o755)
    return root


def state(root: Path) -> dict[str, tuple[int, bytes]]:
    found = {}
    for path in sorted(root.rglob("*")):
        name = str(path.relative_to(root))
        if path.is_symlink():
            found[name] = (0, bytes(path.readlink()))
        else:
            found[name] = (path.stat().st_mode, path.read_bytes() if path.is_file() else b"")
    return found


def listed(text: str) -> list[str]:
    """The names as pto-isa's own run_cpu.py reads them."""
    match = re.search(r"set\(ALL_TESTCASES\s*(.*?)\)\s*$", text.replace("(later)", ""), flags=re.DOTALL | re.MULTILINE)
    assert match
    return [name for line in match[1].splitlines() for name in line.partition("#")[0].split()]


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str]:
    (tmp_path / "small.yaml").write_text(MATRIX)
    (tmp_path / "one.yaml").write_text(SPEC)
    return str(tmp_path / "small.yaml"), str(tmp_path / "one.yaml")


def test_into_and_out_again(checkout: Path, files: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    before = state(checkout)
    matrix, spec = files
    assert main(["matrix", matrix, "--into", str(checkout), "-j", "1"]) == 0
    assert main(["kernel", spec, "--into", str(checkout)]) == 0
    once = state(checkout)
    for folder in ("tests/cpu/st/testcase", *map(NPU.format, ("a2a3", "a5", "kirin9030", "kirinX90"))):
        names = listed((checkout / folder / "CMakeLists.txt").read_bytes().decode())
        assert {"tadd", "tsort32_1", "tsort32_2"} <= set(names) and len(names) == len(set(names)), folder
        assert ("mine" in names) == (folder in ("tests/cpu/st/testcase", NPU.format("a2a3")))
        assert (checkout / folder / "tsort32_1" / "main.cpp").is_file()
    script = (checkout / "tests/run_st.sh").read_text()
    for version in ("a3", "a5", "kirin9030"):
        ops = re.findall(rf"-v\s+{version}\s+-t\s+(\S+)", script)
        assert {"tsort32_1", "tsort32_2"} <= set(ops), "what validate_op_coverage.py looks for"
    assert script.index("-v a3 -t tsub\n") < script.index("-v a3 -t tsort32_1\n") < script.index("  fi\n")
    assert main(["matrix", matrix, "--into", str(checkout), "-j", "1"]) == 0
    assert main(["kernel", spec, "--into", str(checkout)]) == 0
    assert state(checkout) == once, "a second time changes nothing"

    assert main(["matrix", matrix, "--remove", str(checkout)]) == 0
    assert (checkout / NPU.format("a2a3") / "mine").is_dir() and not (
        checkout / NPU.format("a2a3") / "tsort32_1"
    ).exists()
    assert main(["kernel", spec, "--remove", str(checkout)]) == 0
    assert state(checkout) == before
    assert main(["kernel", spec, "--remove", str(checkout)]) == 0


def test_clean_takes_all_of_it_out(checkout: Path, files: tuple[str, str]) -> None:
    before = state(checkout)
    assert main(["matrix", files[0], "--into", str(checkout), "-j", "1"]) == 0
    assert main(["clean", str(checkout)]) == 0
    assert state(checkout) == before


def test_prune_takes_names_off_the_lists(checkout: Path, files: tuple[str, str]) -> None:
    matrix = Path(files[0])
    before = state(checkout)
    assert main(["matrix", str(matrix), "--into", str(checkout), "-j", "1"]) == 0
    matrix.write_text(MATRIX.replace("[5, 32]", "5"))
    assert main(["matrix", str(matrix), "--into", str(checkout), "-j", "1", "--prune"]) == 0
    text = (checkout / NPU.format("a2a3") / "CMakeLists.txt").read_text()
    assert "tsort32_1" in text and "tsort32_2" not in text
    assert "tsort32_2" not in (checkout / "tests/run_st.sh").read_text()
    assert main(["matrix", str(matrix), "--remove", str(checkout)]) == 0
    assert state(checkout) == before


def test_files_begin_as_the_checkout_demands(checkout: Path, files: tuple[str, str], tmp_path: Path) -> None:
    rule = "# " + "-" * 78
    lines = ["Copyright (c) 2025 Somebody.", "This program is free; see LICENSE."]
    place = checkout / "tests/cpu/st/testcase/CMakeLists.txt"
    place.write_text("\n".join([rule, *(f"# {line}" for line in lines), rule, "", "# The list", place.read_text()]))
    before = state(checkout)
    assert license_header(checkout) == "\n".join(lines)
    assert main(["kernel", files[1], "--into", str(checkout)]) == 0
    assert main(["matrix", files[0], "--into", str(checkout), "-j", "1"]) == 0
    for name in ("mine", "tsort32_1"):
        folder = checkout / NPU.format("a2a3") / name
        for mark, file in (("//", "main.cpp"), ("//", f"{name}_kernel.cpp"), ("#", "CMakeLists.txt")):
            assert (folder / file).read_text().startswith("".join(f"{mark} {line}\n" for line in lines)), file
        assert "\n".join(f"# {line}" for line in lines) in (folder / "gen_data.py").read_text()
    own = tmp_path / "own.txt"
    own.write_text("Copyright (c) mine\n")
    assert main(["kernel", files[1], "--into", str(checkout), "--license-header", str(own)]) == 0
    assert (checkout / NPU.format("a2a3") / "mine/main.cpp").read_text().startswith("// Copyright (c) mine\n")
    assert main(["clean", str(checkout)]) == 0
    assert state(checkout) == before


def test_a_checkout_without_a_licence_demands_none(checkout: Path, tmp_path: Path) -> None:
    assert license_header(checkout) is None
    assert license_header(tmp_path / "none") is None


BLOCKS = """if [ "$ENABLE_A3" = "true" ]; then
  if [ "$ENABLE_ALL" = "true" ]; then
    python3 tests/script/run_st.py $ARGS -w -v a3 -t tadd
    if [ -z "$ST_PART" ]; then echo part; fi
    python3 tests/script/run_st.py $ARGS -w -v a3 -t tsub
    if [ "$IS_AUTO_MODE" = "false" ]; then
      if [ -z "$ST_PART" ]; then
        python3 tests/script/run_st.py $ARGS -w -v a3 -t tcvt
      fi
      python3 tests/script/run_st.py $ARGS -w -v a3 -t ttri
    fi
  fi
fi
if [ "$IS_AUTO_MODE" = "false" ]; then
  python3 tests/script/run_st.py $ARGS -w -v a5 -t tadd
fi"""


def test_auto_mode_runs_a_suite_too(checkout: Path, files: tuple[str, str]) -> None:
    script = checkout / "tests/run_st.sh"
    script.write_text(BLOCKS)
    assert main(["matrix", files[0], "--into", str(checkout), "-j", "1"]) == 0
    lines = script.read_text().splitlines()
    place = lines.index("    python3 tests/script/run_st.py $ARGS -w -v a3 -t tsub")
    assert lines[place + 1 : place + 4] == [
        "    python3 tests/script/run_st.py $ARGS -w -v a3 -t tsort32_1",
        "    python3 tests/script/run_st.py $ARGS -w -v a3 -t tsort32_2",
        '    if [ "$IS_AUTO_MODE" = "false" ]; then',
    ]
    assert lines[-2:] == ["  python3 tests/script/run_st.py $ARGS -w -v a5 -t tsort32_2", "fi"], (
        "where there is no other"
    )
    assert main(["matrix", files[0], "--remove", str(checkout)]) == 0
    assert script.read_text() == BLOCKS
    script.write_text(BLOCKS.rpartition("\n")[0])  # its last line has no end
    assert main(["matrix", files[0], "--into", str(checkout), "-j", "1"]) == 0
    beginning = "  python3 tests/script/run_st.py $ARGS -w -v a5 -t "
    assert script.read_text().splitlines()[-3:] == [f"{beginning}{name}" for name in ("tadd", "tsort32_1", "tsort32_2")]
    assert main(["matrix", files[0], "--remove", str(checkout)]) == 0
    assert script.read_text() == BLOCKS.rpartition("\n")[0]


@pytest.mark.parametrize(("before", "after"), [(b"\n", b"\r\n"), (b"\r\n", b"\n")])
def test_a_checkout_with_other_line_ends(checkout: Path, files: tuple[str, str], before: bytes, after: bytes) -> None:
    def ends(to: bytes) -> None:
        for path in checkout.rglob("*"):
            if path.is_file():
                path.write_bytes(path.read_bytes().replace(b"\r\n", b"\n").replace(b"\n", to))

    ends(after)
    whole = state(checkout)
    ends(before)
    assert main(["kernel", files[1], "--into", str(checkout)]) == 0
    for file in ("tests/run_st.sh", f"{NPU.format('a2a3')}/CMakeLists.txt"):
        data = (checkout / file).read_bytes()
        assert data.count(b"\n") == data.count(before) and (before != b"\n" or b"\r" not in data)
    ends(after)
    assert main(["kernel", files[1], "--into", str(checkout), "--check"]) == 0
    assert main(["kernel", files[1], "--remove", str(checkout)]) == 0
    assert state(checkout) == whole


def test_looking_changes_nothing(checkout: Path, files: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    before = state(checkout)
    assert main(["kernel", files[1], "--into", str(checkout), "--dry-run"]) == 0
    assert "would register in" in capsys.readouterr().err
    assert main(["matrix", files[0], "--into", str(checkout), "-j", "1", "--dry-run"]) == 0
    assert state(checkout) == before


@pytest.mark.parametrize("force", [[], ["--force"]])
def test_a_directory_of_somebody_else_is_left(checkout: Path, files: tuple[str, str], force: list[str], capsys) -> None:
    theirs = checkout / NPU.format("a2a3") / "mine"
    theirs.mkdir()
    before = state(checkout)
    assert main(["kernel", files[1], "--into", str(checkout), *force]) == 2
    assert "PTG116" in capsys.readouterr().err
    assert state(checkout) == before


@pytest.mark.parametrize("depth", ["testcase", "mine"])
def test_never_through_a_symbolic_link(
    checkout: Path, files: tuple[str, str], depth: str, tmp_path: Path, capsys
) -> None:
    place = checkout / NPU.format("a2a3")
    if depth == "testcase":
        place.rename(tmp_path / "elsewhere")
        place.symlink_to(tmp_path / "elsewhere")
    else:
        (place / "mine").symlink_to("tadd")
    before, outside = state(checkout), state(tmp_path)
    assert main(["kernel", files[1], "--into", str(checkout), "--force"]) == 2
    assert "PTG112" in capsys.readouterr().err
    assert (state(checkout), state(tmp_path)) == (before, outside)


def test_no_checkout(tmp_path: Path, files: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["kernel", files[1], "--into", str(tmp_path)]) == 2
    assert "PTG116: this is no checkout of pto-isa: there is no tests/npu/a2a3" in capsys.readouterr().err.replace(
        "\n", ""
    )
    assert not (tmp_path / "tests").exists()


def test_places_exclude_one_another(checkout: Path, files: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    for command, file in (("matrix", files[0]), ("kernel", files[1])):
        assert main([command, file, "--into", str(checkout), "--remove", str(checkout)]) == 2
        assert main([command, file, "--into", str(checkout), "-o", "out"]) == 2
        assert main([command, file, "--remove", str(checkout / "none")]) == 2


def test_a_name_that_is_on_the_list_already_stays(checkout: Path) -> None:
    entry = Entry("a2a3-tadd", "a2a3", f"{NPU.format('a2a3')}/tadd")
    before = state(checkout)
    assert register(checkout, [entry]) == []
    withdraw(checkout)
    assert state(checkout) == before


def test_lines_that_a_person_adds_meanwhile_stay(checkout: Path, files: tuple[str, str]) -> None:
    place = checkout / NPU.format("a2a3") / "CMakeLists.txt"
    assert main(["kernel", files[1], "--into", str(checkout)]) == 0
    place.write_text(place.read_text().replace("    mine\n", "    theirs\n    mine\n    more\n"))
    assert main(["kernel", files[1], "--remove", str(checkout)]) == 0
    assert listed(place.read_text()) == ["tadd", "tsub", "theirs", "more"]


def test_guard_of_what_ptogen_made_is_silent(checkout: Path, files: tuple[str, str]) -> None:
    assert main(["kernel", files[1], "--into", str(checkout)]) == 0
    guard(checkout, [Entry("a2a3-mine", "a2a3", f"{NPU.format('a2a3')}/mine")])


def test_remove_alone_takes_all_of_it_out(checkout: Path, files: tuple[str, str], capsys) -> None:
    before = state(checkout)
    for command in ("kernel", "matrix"):
        assert main(["matrix", files[0], "--into", str(checkout), "-j", "1"]) == 0
        assert main(["kernel", files[1], "--into", str(checkout)]) == 0
        capsys.readouterr()
        assert main([command, "--remove", str(checkout)]) == 0
        assert "12 suites taken out of" in capsys.readouterr().out
        assert state(checkout) == before
    assert main(["matrix", "-o", "out"]) == 2


def test_remove_takes_out_what_a_spec_made_once(checkout: Path, files: tuple[str, str]) -> None:
    before = state(checkout)
    assert main(["kernel", files[1], "--into", str(checkout)]) == 0
    Path(files[1]).write_text(SPEC.replace("mine", "other").replace("[a2a3, cpu]", "a2a3"))
    assert main(["kernel", files[1], "--remove", str(checkout)]) == 0
    assert state(checkout) == before


def test_prune_of_kernel_takes_names_off_the_lists(checkout: Path, files: tuple[str, str]) -> None:
    before = state(checkout)
    assert main(["kernel", files[1], "--into", str(checkout)]) == 0
    Path(files[1]).write_text(SPEC.replace("[a2a3, cpu]", "a2a3"))
    assert main(["kernel", files[1], "--into", str(checkout), "--prune"]) == 0
    assert "mine" not in (checkout / "tests/cpu/st/testcase/CMakeLists.txt").read_text()
    assert "mine" in (checkout / NPU.format("a2a3") / "CMakeLists.txt").read_text()
    assert main(["kernel", files[1], "--remove", str(checkout)]) == 0
    assert state(checkout) == before
