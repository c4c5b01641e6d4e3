"""What ptogen renders is clean when it is recorded, and no flag of it can be dropped or moved unseen."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from ptogen.cli import cli
from ptogen.platforms import PLATFORMS
from ptogen.sanitize import recorder
from ptogen.sanitize.judge import sanitize

SPEC = """\
op: tsort32
platform: [a2a3, a5, cpu]
cases:
  - {dtype: float32, rows: 2, cols: 13}
  - {dtype: float16, rows: 3, cols: 64, idx: broadcast}
"""


@pytest.fixture(scope="module")
def tree(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("generated")
    (folder / "tsort32.yaml").write_text(SPEC, encoding="utf-8")
    made = CliRunner().invoke(cli, ["kernel", str(folder / "tsort32.yaml"), "-o", str(folder / "out")])
    assert made.exit_code == 0, made.output
    return folder / "out"


def suite(tree: Path, platform: str) -> Path:
    return tree / PLATFORMS[platform].st_root / "tsort32"


def judged(folder: Path, platform: str, headers, toolchain, select: str | None = None):
    aicore = {"a2a3": 220, "a5": 310}.get(PLATFORMS[platform].family, 0)
    files = sorted(folder.glob("*.cpp"))
    recording = recorder.record(folder, files, headers, toolchain.compiler, aicore=aicore, select=select)
    assert not [case for case in recording.cases if case.fault]
    assert recording.computed
    return sanitize(recording.lines, recording.program, PLATFORMS[platform])


@pytest.mark.parametrize("platform", ["a2a3", "a5", "cpu"])
def test_a_generated_suite_is_clean(tree, platform, headers, toolchain):
    cases = judged(suite(tree, platform), platform, headers, toolchain)
    assert len(cases) == 2
    assert [case.findings for case in cases] == [(), ()]
    assert all(case.steps > 8 for case in cases)


def flags(text: str) -> list[int]:
    """Lines of the kernel of the first case that set or wait."""
    lines = text.splitlines()
    found = [place for place, line in enumerate(lines) if re.search(r"\b(set_flag|wait_flag)\(", line)]
    return [place for place in found if place < found[0] + 40]


def test_no_flag_of_a_rendered_kernel_can_be_dropped_or_moved(tree, tmp_path, headers, toolchain):
    source = suite(tree, "a2a3")
    text = (source / "tsort32_kernel.cpp").read_text(encoding="utf-8")
    lines = text.splitlines(keepends=True)
    chosen = flags(text)[:4]
    assert len(chosen) == 4
    mutants = {f"dropped {place}": [*lines[:place], "\n", *lines[place + 1 :]] for place in chosen}
    wait = next(place for place in chosen if "wait_flag" in lines[place])
    moved = [*lines]
    moved[wait], moved[wait + 1 : wait + 3] = "\n", [*lines[wait + 1 : wait + 3], lines[wait]]
    mutants["moved wait"] = moved
    shutil.copytree(tree / "tests" / "common", tmp_path / "tests" / "common")
    shutil.copytree(source, tmp_path / "tsort32")
    for name, changed in mutants.items():
        (tmp_path / "tsort32" / "tsort32_kernel.cpp").write_text("".join(changed), encoding="utf-8")
        cases = judged(tmp_path / "tsort32", "a2a3", headers, toolchain, select="case_float32_2x13")
        assert any(one.severity == "error" for case in cases for one in case.findings), name
