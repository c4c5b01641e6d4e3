"""``--executor dask``: the same trees and reports as here, with workers that die, differ, or are not there."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import filelock
import numpy as np
import pytest
from small_trees import make_tree

from ptogen import output
from ptogen.backend import children, cpu_sim, memory
from ptogen.backend import cluster as clusters
from ptogen.cli import main
from ptogen.errors import Diagnostic
from ptogen.executor import dask, remote
from ptogen.executor.dask import Dask
from ptogen.matrix import engine
from ptogen.matrix.engine import Watcher, generate
from ptogen.matrix.make import Options
from ptogen.report.data import as_data
from ptogen.report.model import CaseResult, Outcome
from ptogen.spec.load_matrix import load_matrix

MATRIX = """matrix:
  op: tsort32
  platform: [a2a3, a5, cpu]
  mode: [manual, auto]
  dtype: [float32, float16]
  rows: [1, 3]
  cols: [5, 64, 8150]
  data: [random, ties]
include: [{rows: 2, cols: 8, dtype: float32, data: data/own.npy}]
where: rows * cols != 64
max_cases: 4
"""


@pytest.fixture
def matrix(tmp_path: Path) -> Path:
    (tmp_path / "data").mkdir()
    np.save(tmp_path / "data" / "own.npy", np.arange(16, dtype=np.float32).reshape(2, 8))
    place = tmp_path / "small.yaml"
    place.write_text(MATRIX)
    return place


def tree(root: Path) -> dict[str, bytes]:
    return {str(path.relative_to(root)): path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file()}


# Matrices


def test_a_matrix_is_the_same_tree(whole, matrix, tmp_path, monkeypatch, capsys):
    assert main(["matrix", str(matrix), "-o", str(tmp_path / "here"), "-j", "1"]) == 0
    said = capsys.readouterr().out
    # A worker has files of its own only.
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    whole.client.run(os.chdir, str(elsewhere))
    monkeypatch.chdir(tmp_path)
    assert main(["matrix", matrix.name, "-o", "there", "--executor", whole.name]) == 0
    assert capsys.readouterr().out == said.replace(str(tmp_path / "here"), "there")
    assert tree(tmp_path / "there") == tree(tmp_path / "here")
    names = [str(path) for path in tree(tmp_path / "there")]
    assert len(names) > 100 and not list(elsewhere.iterdir())
    # What is gone is made again, and what stands is left.
    gone = tmp_path / "there" / next(name for name in names if name.endswith("main.cpp"))
    gone.unlink()
    stamps = {path: path.stat().st_mtime_ns for path in (tmp_path / "there").rglob("*.cpp")}
    assert main(["matrix", matrix.name, "-o", "there", "--executor", whole.name]) == 0
    assert tree(tmp_path / "there") == tree(tmp_path / "here")
    assert all(path.stat().st_mtime_ns == stamp for path, stamp in stamps.items())


@pytest.mark.campaign
def test_a_matrix_outlives_a_worker(whole, matrix, tmp_path, monkeypatch):
    monkeypatch.setattr(engine, "TASK_CASES", 1)
    loaded = [load_matrix(matrix)]
    here = generate(loaded, Options(tmp_path / "here"))
    killed: list[int] = []

    class Killer(Watcher):
        def done(self, key: str, cases: int) -> None:
            if not killed:
                killed.append(whole.kill())

    address = whole.name.partition("=")[2]
    with Dask(address, 4) as place:
        there = generate(loaded, Options(tmp_path / "there"), executor=place, watcher=Killer())
    assert killed and not there.faults and there.cases == here.cases
    assert tree(tmp_path / "there") == tree(tmp_path / "here")


def deadly(task: int) -> int:
    if task == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return task * task


@pytest.mark.campaign
def test_work_that_kills_every_worker_is_given_up():
    with Dask(None, 1) as place:
        workers = place.workers()
        faults = []

        def lost(task, fault):
            faults.append(fault)
            return -task

        found = dict(workers.completed(deadly, range(8), lost=lost))
        assert found == {task: -task if task == 3 else task * task for task in range(8)}
        assert [fault.code for fault in faults] == ["PTG522"]
        assert list(workers.map(deadly, range(3))) == [0, 1, 4]
        assert "every worker that tried was lost" in faults[0].message


# Checks


def without_times(data: object) -> object:
    if isinstance(data, dict):
        return {key: without_times(value) for key, value in data.items() if key != "seconds"}
    return [without_times(one) for one in data] if isinstance(data, list) else data


@pytest.fixture
def suites(tmp_path):
    """Suites that pass, fail, do not build, were edited, or have lost a file."""
    root = tmp_path / "tree"

    def broken(directory: Path) -> None:
        kernel = directory / "sums_kernel.cpp"
        kernel.write_text(kernel.read_text() + "int x = nothing;\n")

    make_tree(root, "sums", ["good", "wrong"])
    make_tree(root, "sums", ["good", "last"], platform="a5", edit=lambda folder: (folder / "own.h").write_text("\n"))
    make_tree(root, "sums", ["good"], platform="kirin9030", edit=broken)
    make_tree(root, "sums", ["last"], platform="kirinx90")
    (root / "tests/npu/kirinx90/src/st/testcase/sums/main.cpp").unlink()
    with open(root / "tests/npu/a5/src/st/testcase/sums/main.cpp", "a") as file:
        file.write("// mine\n")
    return root


@pytest.mark.campaign
def test_a_check_says_the_same_and_outlives_a_worker(whole, suites, headers, toolchain, monkeypatch):
    # Relative paths in messages are those of this process.
    monkeypatch.chdir(suites.parent)
    here = cpu_sim.check(Path("tree"), headers=headers, toolchain=toolchain)
    killed: list[int] = []
    ended: list[str] = []

    def told(suite):
        ended.append(suite.key)
        if not killed:
            killed.append(whole.kill())

    with Dask(whole.name.partition("=")[2], None) as place:
        there = clusters.check(Path("tree"), clusters.Demands(), place, ended=told)
    assert killed and sorted(ended) == [suite.key for suite in here.suites]
    assert without_times(as_data(there)) == without_times(as_data(here))
    assert there.counts[Outcome.PASSED] == 3 and there.counts[Outcome.FAILED] == 3


def test_check_on_the_command_line(whole, suites, capsys):
    arguments = ["check", str(suites), "--executor", whole.name]
    assert main([*arguments, "--select", "a2a3-sums.*", "--fail-fast"]) == 1
    assert "1 passed, 1 failed in" in capsys.readouterr().out
    assert main([*arguments, "--last-failed"]) == 1
    said = capsys.readouterr().out
    assert "1 failed in" in said and "passed in" not in said
    static = [*arguments, "--backend", "npu-static"]
    assert main([*static, "--select", "a5-*"]) == 2
    assert f"{suites}: error PTG507: no suite here is for a2a3" in capsys.readouterr().err


def test_a_worker_lays_out_what_changed_only(tmp_path):
    root = tmp_path / "tree"
    clusters._lay_out(root, {"a/one": b"1", "a/two": b"2", "b/three": b"3"})
    stamp = (root / "a/one").stat().st_mtime_ns
    clusters._lay_out(root, {"a/one": b"1", "a/two": b"4"})
    assert tree(root) == {"a/one": b"1", "a/two": b"4"} and not (root / "b").exists()
    assert (root / "a/one").stat().st_mtime_ns == stamp


def test_compilers_of_one_machine_keep_to_its_memory(tmp_path, monkeypatch):
    monkeypatch.setenv("PTOGEN_CACHE", str(tmp_path))
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    for given, places in ((1, 1), (1 << 40, 2), (None, 2)):
        with clusters._room(given, []):
            free = [filelock.FileLock(tmp_path / "compilers" / f"{number}.lock") for number in range(places)]
            with pytest.raises(filelock.Timeout):
                free[0].acquire(timeout=0)
            for lock in free[1:]:
                lock.acquire(timeout=0)
                lock.release()


def test_a_large_kernel_leaves_less_room_to_others(tmp_path, monkeypatch):
    monkeypatch.setenv("PTOGEN_CACHE", str(tmp_path))
    monkeypatch.setattr(os, "cpu_count", lambda: 8)
    large = tmp_path / "large_kernel.cpp"
    large.write_bytes(bytes(2 * memory.COMPILER_BYTES // memory.BYTES_A_LETTER))
    given = 4 * memory.COMPILER_BYTES
    with clusters._room(given, [large]):
        locks = [filelock.FileLock(tmp_path / "compilers" / f"{number}.lock") for number in range(4)]
        for number, lock in enumerate(locks):
            if number < 3:
                with pytest.raises(filelock.Timeout):
                    lock.acquire(timeout=0)
        with clusters._room(given, []), pytest.raises(filelock.Timeout):
            locks[3].acquire(timeout=0)
    for lock in locks:
        lock.acquire(timeout=0)
        lock.release()


def test_what_a_lost_worker_has_left_is_ended(tmp_path):
    for name in ("a", "ab"):
        (tmp_path / name / "deep").mkdir(parents=True)
    left = children.start(["sleep", "60"], cwd=tmp_path / "a" / "deep")
    beside = children.start(["sleep", "60"], cwd=tmp_path / "ab")
    own = subprocess.Popen(["sleep", "60"], cwd=tmp_path / "a")  # of a person who looks around there
    try:
        children.end_in(tmp_path / "a")
        assert left.wait(10) == -signal.SIGKILL and beside.poll() is None and own.poll() is None
    finally:
        for process in (left, beside, own):
            process.kill()
            process.wait()
            children.forget(process)


@pytest.mark.campaign
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_ends_our_own_cluster(tmp_path, headers, toolchain, number):
    """While a task runs; SIGINT goes to the workers, too, as from a terminal."""
    pids = tmp_path / "pids"
    script = (
        "import os, time\n"
        f"open({str(pids) + '.new'!r}, 'w').write(f'{{os.getpid()}} {{os.getppid()}}')\n"
        f"os.rename({str(pids) + '.new'!r}, {str(pids)!r})\n"
        "time.sleep(60)\n"
    )
    root = make_tree(tmp_path / "tree", "sums", ["good"], edit=lambda suite: (suite / "gen_data.py").write_text(script))
    command = [sys.executable, "-m", "ptogen", "check", str(root), "--executor", "dask", "-j", "1"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True) as run:
        for _ in range(3000):
            if pids.exists() or run.poll() is not None:
                break
            time.sleep(0.1)
        if number == signal.SIGINT:
            os.killpg(run.pid, number)
        else:
            run.send_signal(number)
        _, said = run.communicate(timeout=60)
    assert run.returncode == 130 and said.endswith("ptogen: interrupted\n") and "Traceback" not in said, said
    for pid in map(int, pids.read_text().split()):
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


def test_a_first_failure_stops_the_rest(suites):
    made = []

    class Workers:
        jobs, shares_files = 1, False

        def completed(self, work, tasks, lost):
            for unit in tasks:
                made.append(unit)
                (manifest, cases), *_ = unit.choices
                result = clusters._result(manifest, [CaseResult(case, Outcome.FAILED) for case in cases])
                yield unit, (clusters.CheckReport("cpu-sim", "h", "c", False, (result,)), "", "")

        def close(self):
            pass

    class Place:
        def workers(self):
            return Workers()

    report = clusters.check(suites, clusters.Demands(fail_fast=True), Place())
    assert len(made) == 1 and made[0].names == {"a2a3-sums.good", "a2a3-sums.wrong"}
    assert report.counts[Outcome.FAILED] == 2 and report.counts[Outcome.NOT_RUN] == 4
    # A unit that takes every worker along fails by itself.
    (answer, _, _) = clusters._lost(made[0], Diagnostic("PTG522", "lost"))
    assert {case.code for case in answer.suites[0].cases} == {"PTG522"}


def test_workers_that_differ_are_noted():
    (note,) = clusters._differing({"clang, h": "one", "g++, h": "two", "": ""})
    assert note.code == "PTG523" and note.details == ("clang, h (such as on one)", "g++, h (such as on two)")
    assert not list(clusters._differing({"clang, h": "one"}))


# What is not there


def test_a_missing_package_is_named(matrix, tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "distributed", None)
    assert main(["matrix", str(matrix), "-o", str(tmp_path / "out"), "--executor", "dask"]) == 2
    said = capsys.readouterr().err
    assert "PTG521" in said and "pip install 'ptogen[distributed]'" in said and "Traceback" not in said


def test_a_scheduler_that_does_not_answer(matrix, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(dask, "SECONDS", 1)
    place = "dask=tcp://127.0.0.1:9"
    assert main(["matrix", str(matrix), "-o", str(tmp_path / "out"), "--executor", place]) == 2
    said = capsys.readouterr().err
    assert "PTG521: no Dask scheduler answers at tcp://127.0.0.1:9 within 1 s" in said and "Traceback" not in said
    assert not (tmp_path / "out").exists()


def test_an_address_that_no_client_can_take(matrix, tmp_path, capsys):
    for place, why in (("tls://127.0.0.1:9", "TLS is not configured"), ("tcp://ho..st:9", "label empty")):
        assert main(["matrix", str(matrix), "-o", str(tmp_path / "out"), "--executor", f"dask={place}"]) == 2
        said = capsys.readouterr().err
        assert "PTG521" in said and why in said and "Traceback" not in said


@pytest.mark.parametrize(
    "text", ["dusk", "dask=", "dask=host", "dask=tcp://host", "dask tcp://host:1", "dask=foo://h:1"]
)
def test_what_is_no_executor(text, matrix, capsys):
    for command in ("matrix", "check"):
        assert main([command, str(matrix), "--executor", text]) == 2
        assert "neither local nor dask nor like dask=tcp://host:8786" in capsys.readouterr().err


def test_other_code_is_refused(whole, matrix, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(remote, "__version__", "0.0.1")
    assert main(["matrix", str(matrix), "-o", str(tmp_path / "out"), "--executor", whole.name]) == 2
    said = capsys.readouterr().err
    assert said.count("PTG521") == 2 and "and not 0.0.1" in said and "install there what is installed here" in said
    # A worker that joins later says so itself.
    monkeypatch.setattr(Dask, "_inspect", lambda self, where: None)
    assert main(["matrix", str(matrix), "-o", str(tmp_path / "out"), "--executor", whole.name]) == 2
    assert "and not 0.0.1" in capsys.readouterr().err
    assert not output.read(tmp_path / "out")
