"""Suites of equal text share a program, and each is reported as its own; compilers keep to the memory there is."""

from __future__ import annotations

from pathlib import Path

import pytest
from small_trees import make_tree

from ptogen.backend import build, cpu_sim, memory, twins
from ptogen.backend.runtime import Kind
from ptogen.report.model import Outcome
from ptogen.report.progress import Progress


def edited(old: str, new: str):
    """Changes the kernel of a suite."""

    def edit(directory: Path) -> None:
        path = directory / "sums_kernel.cpp"
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new, 1))

    return edit


@pytest.fixture
def check(headers, toolchain, monkeypatch):
    """Checks a tree; gives the report and what was built."""
    built: list[list[str]] = []

    def spy(place, suites, *args, **options):
        built.append([key for key, _, _ in suites])
        return make(place, suites, *args, **options)

    make = build.build
    monkeypatch.setattr(build, "build", spy)

    def run(tree: Path, **options):
        built.clear()
        report = cpu_sim.check(tree, headers=headers, toolchain=toolchain, **options)
        return {suite.key: suite for suite in report.suites}, built[-1]

    return run


def test_one_program_serves_suites_that_differ_in_comments_alone(tmp_path, check):
    first = edited("#include", "// Of one platform.\n#include")
    make_tree(tmp_path, "sums", ["good", "wrong"], platform="kirin9030", edit=first)
    make_tree(
        tmp_path, "sums", ["good", "wrong"], platform="kirinx90", edit=edited("#include", "// Of another.\n#include")
    )
    suites, built = check(tmp_path)
    assert built == ["kirin9030-sums"]
    for key, suite in suites.items():
        good, wrong = suite.cases
        assert good.outcome is Outcome.PASSED and wrong.outcome is Outcome.FAILED
        assert any(key.split("-")[0] in line and "main.cpp" in line for line in wrong.output), wrong.output
    # What differs in more than comments, be it by a line that moves all others, has a program of its own.
    make_tree(tmp_path, "sums", ["good"], platform="kirinx90", edit=edited("#include", "\n\n#include"))
    _, built = check(tmp_path)
    assert built == ["kirin9030-sums", "kirinx90-sums"]


def test_a_fault_is_told_of_every_twin_at_its_own_place(tmp_path, check):
    for platform in ("kirin9030", "kirinx90"):
        edit = edited("#include", f"// {platform}\nint x = nothing;\n#include")
        make_tree(tmp_path, "sums", ["good"], platform=platform, edit=edit)
    suites, built = check(tmp_path)
    assert built == ["kirin9030-sums"]
    for platform in ("kirin9030", "kirinx90"):
        (case,) = suites[f"{platform}-sums"].cases
        assert case.code == "PTG505" and f"{platform}/src/st/testcase/sums/sums_kernel.cpp:" in case.reason
        assert "kirin9030" in case.output[0] if platform == "kirin9030" else "kirin9030" not in case.output[0]


def test_files_of_other_people_make_a_suite_its_own(tmp_path):
    make_tree(tmp_path, "sums", ["good"], platform="kirin9030")
    make_tree(tmp_path, "sums", ["good"], platform="kirinx90")
    folders = [tmp_path / f"tests/npu/{platform}/src/st/testcase/sums" for platform in ("kirin9030", "kirinx90")]
    sources = [(folder.parents[3].name, folder, None) for folder in folders]
    assert len(twins.groups(sources)) == 1
    (folders[1] / "other.h").write_text("")
    assert len(twins.groups(sources)) == 2
    (folders[1] / "other.h").unlink()
    # A comment that goes on in the next line hides that line.
    (folders[1] / "sums_kernel.cpp").write_text("// \\\n" + (folders[0] / "sums_kernel.cpp").read_text())
    (folders[0] / "sums_kernel.cpp").write_text("//\n" + (folders[0] / "sums_kernel.cpp").read_text())
    assert len(twins.groups(sources)) == 2


def test_suites_are_told_of_as_they_end(tmp_path, check):
    make_tree(tmp_path, "sums", ["good", "wrong"])
    make_tree(tmp_path, "sums", ["good"], platform="a5")
    ended: list[str] = []
    lines: list[str] = []

    class Watch(Progress):
        def line(self, text):
            lines.append(text)

    def told(suite):
        ended.append(suite.key)

    suites, _ = check(tmp_path, progress=Watch(), jobs=2, memory_bytes=1, ended=told)
    assert sorted(ended) == sorted(suites) == ["a2a3-sums", "a5-sums"]
    assert any(line.startswith("1 of 2 compilers at once: 1 B of memory") for line in lines), lines


def test_memory_that_is_free(tmp_path):
    assert memory.available() > 64 << 20
    assert memory._group(tmp_path) is None
    for name, text in (("max", "1000"), ("current", "700"), ("stat", "anon 5\ninactive_file 100\n")):
        (tmp_path / f"memory.{name}").write_text(text)
    assert memory._group(tmp_path) == 400
    (tmp_path / "memory.max").write_text("max\n")
    assert memory._group(tmp_path) is None
    large = tmp_path / "x_kernel.cpp"
    large.write_bytes(b"x" * 100_000)
    assert memory.need([large, tmp_path / "none"]) > memory.need([]) > 100 << 20


@pytest.mark.parametrize("text", ["/* Of\n// one */ int x = {};\n", 'auto s = R"(\n// {}\n)";\n'])
def test_what_only_looks_like_a_comment_tells_suites_apart(tmp_path, text):
    suites = []
    for number, platform in enumerate(("kirin9030", "kirinx90")):
        edit = edited("#include", f"{text.format(number)}#include")
        make_tree(tmp_path, "sums", ["good"], platform=platform, edit=edit)
        folder = tmp_path / f"tests/npu/{platform}/src/st/testcase/sums"
        suites.append((platform, folder, Kind("manual", False, frozenset())))
    assert len(twins.groups(suites)) == 2
