"""``ptogen check`` and ``ptogen backend`` as a person calls them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from small_trees import make_tree

from ptogen.backend import probe


@pytest.fixture
def ptogen(headers, toolchain):
    """Runs the command line in a process of its own, with the headers at hand."""

    def run(*arguments: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "ptogen", *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True, env={**os.environ, **environment}, timeout=300)

    return run


@pytest.fixture(scope="module")
def place(tmp_path_factory) -> Path:
    """Where several tests in turn make their tree, so that its program is built once."""
    return tmp_path_factory.mktemp("place")


def test_a_tree_that_passes(ptogen, place, tmp_path):
    tree = make_tree(place, "sums", ["good", "last"])
    files = [tmp_path / f"report{ending}" for ending in (".xml", ".json", ".html")]
    run = ptogen("check", tree, "--timeout", "60", *(word for file in files for word in ("--report", file)))
    assert run.returncode == 0, run.stderr
    assert "2 passed in" in run.stdout and "2/2 a2a3-sums: 2 passed" in run.stderr
    assert 'tests="2" failures="0"' in (tmp_path / "report.xml").read_text()
    data = json.loads((tmp_path / "report.json").read_text())
    assert data["counts"]["passed"] == 2 and data["command"] == ["ptogen", "check", str(tree), "--timeout", "60.0"]
    assert "All 2 cases passed" in (tmp_path / "report.html").read_text()


def test_a_tree_that_fails(ptogen, place):
    tree = make_tree(place, "sums", ["good", "wrong"])
    run = ptogen("check", tree, "--format", "json")
    assert run.returncode == 1
    assert json.loads(run.stdout)["counts"]["failed"] == 1


def test_a_report_that_cannot_be_written_costs_no_result(ptogen, place, tmp_path):
    tree = make_tree(place, "sums", ["good", "wrong"])
    (tmp_path / "file").touch()
    run = ptogen("check", tree, "--report", tmp_path / "file" / "x.html", "--report", tmp_path / "x.json")
    assert run.returncode == 2 and "PTG113" in run.stderr and "1 passed, 1 failed in" in run.stdout
    assert json.loads((tmp_path / "x.json").read_text())["counts"]["failed"] == 1


def test_nothing_ran_is_no_success(ptogen, place):
    tree = make_tree(place, "sums", ["skipped"])
    run = ptogen("check", tree)
    assert run.returncode == 2 and "1 not-run in" in run.stdout
    assert f"{tree}: error PTG507: no case was run\n    1 case: skipped by the program\n" in run.stderr


def test_a_reader_that_goes_away_is_no_failure(ptogen, place):
    """As `ptogen check TREE | head -1` has it."""
    tree = make_tree(place, "sums", ["good", "last"])
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "w") as stream:
        command = [sys.executable, "-m", "ptogen", "check", str(tree)]
        run = subprocess.run(command, stdout=stream, stderr=subprocess.PIPE, text=True, timeout=300)
    # What a shell says of a program that SIGPIPE ended.
    assert run.returncode == 141 and "Traceback" not in run.stderr, run.stderr


def mend(directory: Path) -> None:
    main = directory / "main.cpp"
    main.write_text(main.read_text().replace("TEST_F(SUMSTest, wrong) { Compare(0); }", "TEST_F(SUMSTest, wrong) {}"))


def test_only_what_failed_last_is_checked_again(ptogen, place):
    tree = make_tree(place, "sums", ["good", "wrong", "last"])
    assert ptogen("check", tree).returncode == 1
    again = ptogen("check", tree, "--last-failed")
    assert again.returncode == 1 and "1 failed in" in again.stdout and "a2a3-sums.wrong" in again.stdout
    assert "passed in" not in again.stdout
    # What did not run stays what it was, what runs again is what it is now.
    assert ptogen("check", tree, "--select", "good").returncode == 0
    assert "1 failed in" in ptogen("check", tree, "--last-failed").stdout
    other = ptogen("check", tree, "--last-failed", "--select", "good")
    assert other.returncode == 2 and "none of the cases that failed last time is selected" in other.stderr
    assert "leave --last-failed away" in other.stderr
    tree = make_tree(place, "sums", ["good", "wrong", "last"], edit=mend)
    assert "1 passed in" in ptogen("check", tree, "--last-failed").stdout
    nothing = ptogen("check", tree, "--last-failed")
    assert "3 passed in" in nothing.stdout and "no case failed last time: checking all" in nothing.stderr


def test_a_case_that_is_gone_did_not_fail_last(ptogen, tmp_path):
    assert ptogen("check", make_tree(tmp_path, "sums", ["good", "wrong", "last"])).returncode == 1
    gone = ptogen("check", make_tree(tmp_path, "sums", ["good", "last"]), "--last-failed")
    assert "2 passed in" in gone.stdout and "no case failed last time: checking all" in gone.stderr


def test_a_spec(ptogen, tmp_path, headers, toolchain):
    spec = tmp_path / "spec.yaml"
    spec.write_text(
        "op: tsort32\nplatform: [a2a3, cpu]\ncases:\n"
        "  - {dtype: float32, rows: 2, cols: 13}\n"
        "  - {dtype: float16, rows: 2, cols: 64, idx: broadcast}\n"
    )
    run = ptogen("check", spec, "--format", "json")
    assert run.returncode == 0, run.stdout + run.stderr
    data = json.loads(run.stdout)
    assert data["counts"]["passed"] == 4
    assert [case["fields"]["cols"] for suite in data["suites"] for case in suite["cases"]] == [13, 64] * 2
    assert sorted(path.name for path in tmp_path.iterdir()) == ["spec.yaml"]
    nothing = ptogen("check", spec, "--select", "nothing")
    assert nothing.returncode == 2 and f"{spec}: error PTG507: no case matches 'nothing'" in nothing.stderr
    again = ptogen("check", spec, "--pristine", "--format", "json")
    assert again.returncode == 0, again.stdout + again.stderr
    data = json.loads(again.stdout)
    present = {name for name in probe.present(toolchain.compiler, headers) if name.startswith("TSORT32_")}
    assert data["counts"]["failed"] == 0
    assert (data["counts"]["known-defect"] > 0) is bool(present)
    assert {row["id"] for row in data["defects"] if row["present"]} == {one for one in present if "TSORT32" in one}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--report", "report.txt"), "ends neither in .json nor in .xml nor in .html"),
        (("--jobs", "0"), "0 is not in the range"),
        (("--pto-isa", "/nowhere"), "PTG501: --pto-isa"),
        (("--compiler", "no-such-compiler"), "PTG502: --compiler no-such-compiler does not serve"),
        (("--select", "nothing"), "PTG507: no case matches 'nothing'"),
        (("--ub-bytes", "4096"), "--ub-bytes is for specs"),
    ],
)
def test_what_cannot_be_served(ptogen, place, arguments, words):
    run = ptogen("check", make_tree(place, "sums", ["good"]), *arguments)
    assert run.returncode == 2 and words in run.stderr, run.stderr
    assert "Traceback" not in run.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupt_ends_what_runs(place, tmp_path, headers, toolchain, number):
    """gen_data.py, and what it has started itself."""
    pids = tmp_path / "pids"
    script = (
        "import os, subprocess, time\n"
        "child = subprocess.Popen(['sleep', '60'])\n"
        f"open({str(pids) + '.new'!r}, 'w').write(f'{{os.getpid()}} {{child.pid}}')\n"
        f"os.rename({str(pids) + '.new'!r}, {str(pids)!r})\n"
        "time.sleep(60)\n"
    )
    tree = make_tree(place, "sums", ["good"], edit=lambda suite: (suite / "gen_data.py").write_text(script))
    command = [sys.executable, "-m", "ptogen", "check", str(tree)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as run:
        for _ in range(1200):
            if pids.exists() or run.poll() is not None:
                break
            time.sleep(0.1)
        run.send_signal(number)
        _, said = run.communicate(timeout=120)
    assert run.returncode == 130 and said.endswith("ptogen: interrupted\n"), said
    assert "Traceback" not in said
    for pid in map(int, pids.read_text().split()):
        assert is_gone(pid)


CALLS = {
    "headers": "runtime._build(folder, compiler, [])",
    "program": "compile.compile_program(compiler, folder, folder, [])",
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_an_interrupt_ends_compilers(tmp_path, call):
    """And what they have started: a driver of GCC leaves the work to others."""
    driver = "import os, subprocess, sys, time\nchild = subprocess.Popen(['sleep', '60'])\n"
    driver += "open(f'{sys.argv[1]}/{os.getpid()}.pids', 'w').write(f'{os.getpid()} {child.pid} ')\ntime.sleep(60)\n"
    (tmp_path / "driver.py").write_text(driver)
    command = (sys.executable, str(tmp_path / "driver.py"), str(tmp_path))
    script = (
        "from pathlib import Path\nfrom ptogen.backend import compile, runtime\n"
        f"folder, compiler = Path({str(tmp_path)!r}), compile.Compiler({command!r}, 'gcc', 12, '')\n{call}\n"
    )
    count = 2 if call == CALLS["headers"] else 1
    pids: list[str] = []
    with subprocess.Popen([sys.executable, "-c", script], stderr=subprocess.DEVNULL) as run:
        for _ in range(600):
            pids = [pid for path in tmp_path.glob("*.pids") for pid in path.read_text().split(" ")[:-1]]
            if len(pids) == 2 * count or run.poll() is not None:
                break
            time.sleep(0.1)
        run.send_signal(signal.SIGINT)
    assert len(pids) == 2 * count and all(is_gone(int(pid)) for pid in pids)


def is_gone(pid: int) -> bool:
    """Whether a process has ended; one that nobody has waited for counts."""
    for _ in range(50):
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            return True
        if state == "Z":
            return True
        time.sleep(0.1)
    return False


def test_nothing_there(ptogen, tmp_path):
    run = ptogen("check", tmp_path)
    assert run.returncode == 2 and "PTG507: no manifest of ptogen is here" in run.stderr


def test_a_cxx_that_does_not_serve_is_noted(ptogen, place):
    run = ptogen("check", make_tree(place, "sums", ["good"]), CXX="no-such-compiler")
    assert run.returncode == 0
    assert "note PTG502: CXX=no-such-compiler does not serve: not found; using" in run.stderr


def test_backend_list(ptogen, headers, toolchain):
    run = ptogen("backend", "list", "--format", "json")
    assert run.returncode == 0, run.stderr
    data = json.loads(run.stdout)
    assert data["headers"]["include"] == str(headers.include)
    assert [row["path"] for row in data["compilers"] if row["chosen"]][0] == toolchain.compiler.command[0]
    assert [row["name"] for row in data["tools"] if row["place"]] == ["cmake", "ninja", "GoogleTest"]
    present = probe.present(toolchain.compiler, headers)
    assert {row["id"] for row in data["defects"] if row["present"]} == present
    shown = ptogen("backend", "list").stdout
    assert "pto-isa headers" in shown and "works" in shown and "TSORT32_HALF_BLOCKS" in shown


def test_backend_list_without_headers(ptogen, tmp_path, toolchain):
    run = ptogen("backend", "list", PTOGEN_CACHE=str(tmp_path), PTO_ISA_ROOT="", ASCEND_HOME_PATH="")
    assert run.returncode == 0 and "missing" in run.stdout and "ptogen backend fetch" in run.stdout
    rows = {" ".join(line.split()[:2]): line for line in run.stdout.splitlines()}
    name = next(attempt.name for attempt in toolchain.attempts if not attempt.fault)
    assert "not tried without headers" in rows[f"compiler {Path(name).name}"]
    assert "GoogleTest found" in rows
    assert not list(tmp_path.glob("pto-isa/*/include"))


@pytest.mark.parametrize("has_headers", [False, True])
def test_backend_list_without_anything(ptogen, tmp_path, headers, has_headers):
    root = str(headers.include) if has_headers else ""
    bare = {"PATH": "/nonexistent", "CXX": "", "PTO_ISA_ROOT": root, "ASCEND_HOME_PATH": ""}
    run = ptogen("backend", "list", PTOGEN_CACHE=str(tmp_path), **bare)
    assert run.returncode == 0, run.stderr
    rows = [" ".join(line.split()) for line in run.stdout.splitlines()]
    assert rows[2:] == [
        "compiler clang++ not found apt: clang",
        "compiler g++ not found apt: g++",
        "cmake missing apt: cmake",
        "ninja missing apt: ninja-build",
        "GoogleTest unknown without a compiler apt: libgtest-dev",
    ]


def test_backend_fetch_twice_is_quick(ptogen):
    run = ptogen("backend", "fetch")
    assert run.returncode == 0 and "tilelang-ascend 0.1.4" in run.stdout, run.stderr
