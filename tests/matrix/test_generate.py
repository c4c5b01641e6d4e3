"""``ptogen matrix`` and ``ptogen clean``: what they write, what they leave, and runs that end in the middle."""

from __future__ import annotations

import errno
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from ptogen import output
from ptogen.cli import main
from ptogen.errors import PtogenError
from ptogen.matrix import engine, sound
from ptogen.matrix import make as suite_maker
from ptogen.matrix.engine import generate
from ptogen.matrix.make import Options
from ptogen.matrix.sound import _known, _named, sound_plans
from ptogen.plan.suite import plan_suite
from ptogen.platforms import Pipe
from ptogen.render import cpp, st
from ptogen.render.environment import template_root
from ptogen.spec.load_matrix import load_matrix

MATRIX = """matrix:
  op: tsort32
  platform: [a2a3, a5, kirin9030, kirinx90, cpu]
  mode: [manual, auto]
  dtype: [float32, float16]
  rows: [1, 3]
  cols: [5, 32, 33, 64, 8150]
  data: [random, ties]
max_cases: 16
"""


@pytest.fixture
def matrix(tmp_path: Path) -> Path:
    place = tmp_path / "small.yaml"
    place.write_text(MATRIX)
    return place


def tree(root: Path) -> dict[str, bytes]:
    return {str(path.relative_to(root)): path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file()}


def times(root: Path) -> dict[str, int]:
    return {str(path.relative_to(root)): path.stat().st_mtime_ns for path in root.rglob("*") if path.is_file()}


def ptogen(*args: object, **options) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "ptogen", *map(str, args)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, **options)


def make(matrix: Path, out: Path, *args: object) -> int:
    return main(["matrix", str(matrix), "-o", str(out), "-j", "1", *map(str, args)])


# What is written


def test_a_tree_is_what_the_suites_render_to(matrix: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    assert make(matrix, out) == 0
    said = capsys.readouterr().out
    manifests = output.read(out)
    cases = sum(len(manifest.cases) for manifest in manifests)
    assert f"{cases} cases in {len(manifests)} suites of {out}: {4 * len(manifests) + 1} files written" in said
    # The one more is the header that all suites share.
    assert "PTG203: mode auto does not exist on platform cpu" in said
    assert max(len(manifest.cases) for manifest in manifests) == 16
    for manifest in manifests:
        names = [case["name"] for case in manifest.cases]
        assert len(names) == len(set(names)) and manifest.suite["matrix"] == "small"
    loaded = load_matrix(matrix)
    for rows in engine.suites_of([loaded], Options(out), 1):
        suite = rows.suite(loaded, None)
        rendered = st.render(suite, plan_suite(suite))
        assert {path: text.encode() for path, text in rendered.files.items()}.items() <= tree(out).items()


def test_processes_make_no_difference(matrix: Path, tmp_path: Path) -> None:
    assert make(matrix, tmp_path / "one") == 0
    assert main(["matrix", str(matrix), "-o", str(tmp_path / "many"), "-j", "3"]) == 0
    assert tree(tmp_path / "one") == tree(tmp_path / "many")


def test_layout_is_clang_formats_own(matrix: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    raw: dict[object, str] = {}
    laid_out: dict[object, str] = {}

    def both(texts):
        made = cpp.format_cpp(texts)
        raw.update({(len(raw), key): text for key, text in texts.items()})
        laid_out.update(zip(list(raw)[-len(texts) :], made.values(), strict=True))
        return made

    monkeypatch.setattr(st, "format_cpp", both)
    for place in (matrix, sampled(matrix, 400)):
        generate([load_matrix(place)], Options(matrix.parent / "none", looking=True), jobs=1)
    assert len(raw) > 100
    assert cpp.clang_format(raw) == laid_out


def sampled(matrix: Path, cases: int) -> Path:
    """A part of the benchmark's matrix, which has every op on every platform."""
    bench = Path(__file__).parents[2] / "specs" / "matrices" / "bench.yaml"
    place = matrix.with_name("sampled.yaml")
    place.write_text(f"{bench.read_text()}strategy: {{sample: {cases}}}\n")
    return place


def test_shared_plans_are_the_plans_made_apart(matrix: Path) -> None:
    for place in (matrix, sampled(matrix, 1_000)):
        loaded = load_matrix(place)
        _known.clear()
        _named.clear()
        count = 0
        for rows in engine.suites_of([loaded], Options(matrix.parent), 1):
            suite = rows.suite(loaded, None)
            assert sound_plans(suite) == plan_suite(suite)
            count += len(suite.cases)
        assert len(_known) < count * 0.7


def test_a_shared_plan_is_checked_again_where_the_op_does_something_else(
    matrix: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shapes = "dst: [1, 8], src0: [1, 8], src1: [1, 1]"
    matrix.write_text(f"matrix: {{op: [tpartmin, tpartmax], platform: a5, dtype: [float32, int32], {shapes}}}\n")
    loaded = load_matrix(matrix)
    first, second = (rows.suite(loaded, None) for rows in engine.suites_of([loaded], Options(matrix.parent), 1))
    checked: list[str] = []
    monkeypatch.setattr(sound, "check_suite", lambda suite, plans: checked.extend(plan.case for plan in plans))
    _known.clear()
    _named.clear()
    sound_plans(first)
    assert checked == ["case_float32_1x8_src1_1x1"]
    real = sound.instruction_effects
    monkeypatch.setattr(
        sound,
        "instruction_effects",
        lambda plan, family: tuple(replace(one, pipe=Pipe.S) for one in real(plan, family)),
    )
    assert sound_plans(second) == plan_suite(second)
    assert checked == ["case_float32_1x8_src1_1x1", "case_float32_1x8_src1_1x1"]


# What is not done again


def test_an_unchanged_matrix_reads_hashes_only(
    matrix: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    make(matrix, out)
    first, before = capsys.readouterr().out, times(out)
    monkeypatch.setattr(engine, "_run", None)
    assert make(matrix, out) == 0
    assert times(out) == before
    again = capsys.readouterr().out
    assert again.replace(" unchanged\n", " files written\n") == first
    assert make(matrix, out, "--check") == 0
    assert make(matrix, out, "--dry-run") == 0 and "nothing would change" in capsys.readouterr().out


@pytest.mark.parametrize("harm", ["edit", "delete", "manifest", "link"])
def test_a_tree_that_was_touched_is_looked_at(matrix: Path, tmp_path: Path, harm: str) -> None:
    out = tmp_path / "out"
    make(matrix, out)
    whole = tree(out)
    manifest = output.read(out)[0]
    path = sorted(manifest.files)[0]
    if harm == "edit":
        (out / path).write_text("mine\n")
    elif harm == "delete":
        (out / path).unlink()
    elif harm == "link":
        (out / path).rename(tmp_path / "elsewhere")
        (out / path).symlink_to(tmp_path / "elsewhere")
    else:
        (out / ".ptogen" / f"{manifest.key}.json").unlink()
    status = make(matrix, out)
    if harm in ("delete", "manifest"):
        assert status == 0 and tree(out) == whole
    else:
        assert status == 2
        assert (out / path).is_symlink() or (out / path).read_text() == "mine\n"
        rest = {name: text for name, text in tree(out).items() if name != path}
        assert rest == {name: text for name, text in whole.items() if name != path}


def test_a_changed_matrix_plans_what_differs_only(
    matrix: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    make(matrix, out)
    before = times(out)
    planned = []
    real = suite_maker.sound_plans
    monkeypatch.setattr(suite_maker, "sound_plans", lambda suite: planned.append(suite.platform.name) or real(suite))
    matrix.write_text(MATRIX.replace("cpu]", "cpu, kirindev0000]"))
    assert make(matrix, out) == 0
    assert set(planned) == {"kirindev0000"}
    after = times(out)
    assert {path: after[path] for path in before if not path.endswith(".matrix")} == {
        path: stamp for path, stamp in before.items() if not path.endswith(".matrix")
    }


def test_changed_code_makes_everything_anew(matrix: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "out"
    make(matrix, out)
    planned = []
    real = suite_maker.sound_plans
    monkeypatch.setattr(suite_maker, "sound_plans", lambda suite: planned.append(suite) or real(suite))
    monkeypatch.setattr(suite_maker, "code_digest", lambda: "other")
    assert make(matrix, out) == 0
    assert len(planned) == len(output.read(out))


def test_the_code_digest_sees_templates() -> None:
    assert (template_root() / "st" / "main.cpp.j2").is_file(), "the digest is of these files"


# Parts


def test_select_shard_and_list(matrix: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert make(matrix, tmp_path, "--list") == 0
    names = capsys.readouterr().out.split()
    assert "a2a3-tsort32_1.case_float32_1x5" in names and len(names) == len(set(names))
    parts = []
    for part in (1, 2, 3):
        make(matrix, tmp_path, "--list", "--shard", f"{part}/3")
        parts += capsys.readouterr().out.split()
    assert sorted(parts) == sorted(names)
    make(matrix, tmp_path, "--list", "--select", "rows == 3 and data == ties and platform == cpu")
    assert {name.partition(".")[2] for name in capsys.readouterr().out.split()} == {
        name.partition(".")[2] for name in names if name.startswith("cpu-") and "_3x" in name and name.endswith("ties")
    }
    make(matrix, tmp_path, "--list", "--select", "a5-*_33")
    assert capsys.readouterr().out.split() == [
        name for name in names if name.startswith("a5-") and name.endswith("_33")
    ]
    assert make(matrix, tmp_path, "--select", "rows = 3") == 2
    assert "PTG114" in capsys.readouterr().err


@pytest.mark.parametrize("listing", [True, False])
def test_what_selects_nothing_is_no_success(
    matrix: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], listing: bool
) -> None:
    out, more = tmp_path / "out", ["--list"] if listing else []
    for select in ("a5-*_34", "rows == 4"):
        assert make(matrix, out, "--select", select, *more) == 2
        said = capsys.readouterr().err
        assert f"PTG115: --select {select}: none of the 324 cases fits" in said
        assert "such as a2a3-tsort32_1.case_float32_1x5" in said
    assert not list(out.glob("tests/**/*.cpp"))
    whole = ["1/500", "2/500", "3/500"]
    assert [make(matrix, out, "--shard", one, *more) for one in whole] == [0, 0, 0], "a shard may be empty"
    assert make(matrix, out, "--select", "*", "--shard", "1/500", *more) == 0
    matrix.write_text(MATRIX + "where: rows > 5\n")
    capsys.readouterr()
    assert (
        make(matrix, out, *more) == 2
        and "PTG115: no combination of the matrix is left, of 400" in capsys.readouterr().err
    )


def test_a_reader_that_goes_ends_a_list(matrix: Path) -> None:
    command = f"{sys.executable} -m ptogen matrix {matrix} --list -j 3 | head -1; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout, done.stderr) == (141, "a2a3-tsort32_1.case_float32_1x5\n", "")


def test_shards_make_the_whole_tree(matrix: Path, tmp_path: Path) -> None:
    make(matrix, tmp_path / "whole")
    for part in (1, 2):
        make(matrix, tmp_path / "parts", "--shard", f"{part}/2")
    without = [
        {name: text for name, text in tree(tmp_path / one).items() if not name.endswith(".matrix")}
        for one in ("whole", "parts")
    ]
    assert without[0] == without[1]


def test_json(matrix: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    make(matrix, tmp_path / "out", "--format", "json")
    data = json.loads(capsys.readouterr().out)
    assert data["cases"] == sum(row["cases"] for row in data["counts"]) > 100
    assert data["actions"] == {"write": data["files"]} and data["lines"] > 1000
    assert not data["unchanged_by_hash"]


def test_diff(matrix: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    make(matrix, out)
    capsys.readouterr()
    path = out / sorted(output.read(out)[0].files)[0]
    path.write_text(path.read_text() + "# mine\n")
    assert make(matrix, out, "--diff") == 1
    done = capsys.readouterr()
    assert "-# mine" in done.out and "edited by hand" in done.err
    assert make(matrix, out, "--check") == 1


# Taking away


def test_prune_removes_what_the_matrix_no_longer_makes(matrix: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    spec = tmp_path / "spec.yaml"
    spec.write_text("op: tsort32\nplatform: a2a3\ndtype: float32\nrows: 1\ncols: 2\n")
    make(matrix, out)
    main(["kernel", str(spec), "-o", str(out)])
    edited = out / "tests/npu/a5/src/st/testcase/tsort32_1/main.cpp"
    edited.write_text("mine\n")
    matrix.write_text(MATRIX.replace("a2a3, a5, ", ""))
    assert make(matrix, out) == 0 and edited.exists()
    assert make(matrix, out, "--prune") == 0
    assert edited.read_text() == "mine\n"
    assert [path.name for path in edited.parent.iterdir()] == ["main.cpp"]
    left = {manifest.key for manifest in output.read(out)}
    assert "a2a3-tsort32" in left and "a2a3-tsort32_1" not in left and "cpu-tsort32_1" in left
    edited.unlink()


def test_clean_leaves_nothing_but_what_was_edited(
    matrix: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    make(matrix, out)
    (out / "notes.txt").write_text("mine\n")
    edited = out / "tests/cpu/st/testcase/tsort32_1/gen_data.py"
    edited.write_text("mine\n")
    before = tree(out)
    assert main(["clean", str(out), "--dry-run"]) == 0 and tree(out) == before
    capsys.readouterr()
    assert main(["clean", str(out)]) == 0
    assert f"kept, because it was edited by hand: {edited}" in capsys.readouterr().out
    assert set(tree(out)) == {"notes.txt", str(edited.relative_to(out))}
    assert not (out / ".ptogen").exists() and not (out / "tests/npu").exists()
    assert main(["clean", str(out)]) == 0


# Faults of whole runs


def test_matrices_that_make_one_suite_twice_are_refused(
    matrix: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = tmp_path / "other.yaml"
    other.write_text(MATRIX)
    assert main(["matrix", str(matrix), str(other), "-o", str(tmp_path / "out"), "-j", "1"]) == 2
    assert "PTG110" in capsys.readouterr().err
    other.write_text(MATRIX + "name: other\n")
    assert main(["matrix", str(matrix), str(other), "-o", str(tmp_path / "out"), "-j", "1"]) == 0


def test_a_matrix_without_a_case_is_refused(matrix: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    matrix.write_text(MATRIX + "where: rows > 5\n")
    assert make(matrix, tmp_path / "out") == 2
    assert "PTG115: no combination of the matrix is left, of 400" in capsys.readouterr().err


def test_a_file_where_the_tree_should_be(matrix: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "out").write_text("a file")
    assert make(matrix, tmp_path / "out") == 2
    assert "PTG113" in capsys.readouterr().err and (tmp_path / "out").read_text() == "a file"


def test_read_only_out(
    matrix: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    make(matrix, out)
    whole = tree(out)
    matrix.write_text(MATRIX.replace("64, ", "65, "))
    out.chmod(0o500)
    real_open, real_mkdir = os.open, Path.mkdir

    def refuse(path, flags, *args, **options):
        if flags & os.O_CREAT and str(path).startswith(str(out)):
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return real_open(path, flags, *args, **options)

    monkeypatch.setattr(os, "open", refuse)  # root may write anywhere
    monkeypatch.setattr(Path, "mkdir", lambda path, *args, **options: real_mkdir(path, *args, **options))
    try:
        assert make(matrix, out) == 2
        assert tree(out) == whole
        assert "PTG113" in capsys.readouterr().err
    finally:
        out.chmod(0o700)


@pytest.mark.parametrize("after", [0, 1, 7, 40, 150])
def test_a_full_disk_loses_nothing(matrix: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, after: int) -> None:
    out, want = tmp_path / "out", tmp_path / "want"
    make(matrix, want)
    real, left = os.open, [after]

    def full(path, flags, *args, **options):
        if flags & os.O_CREAT and str(path).startswith(str(out)):
            left[0] -= 1
            if left[0] < 0:
                raise OSError(errno.ENOSPC, "No space left on device", str(path))
        return real(path, flags, *args, **options)

    with monkeypatch.context() as patch:
        patch.setattr(os, "open", full)
        assert make(matrix, out) == 2
    whole = tree(want)
    for path, text in tree(out).items():
        assert path.startswith(".ptogen/") or text == whole[path], "no file is torn"
    assert make(matrix, out) == 0
    assert tree(out) == whole


# Runs that end in the middle, and runs that meet


def start(matrix: Path, out: Path, *args: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "ptogen", "matrix", str(matrix), "-o", str(out), "-j", "2", *args]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)


def assert_no_file_is_torn(out: Path, whole: dict[str, bytes]) -> None:
    for file in sorted(out.rglob("*")):
        path = file.relative_to(out).as_posix()
        try:
            text = file.read_bytes()
        except (FileNotFoundError, IsADirectoryError):
            continue  # a worker that outlives its run for a moment has just renamed it
        if not path.startswith(".ptogen/") and "/.ptogen-tmp-" not in path:
            assert text == whole[path], path
        elif path.endswith(".json"):
            assert text == whole[path], path


def test_killed_at_random_moments(matrix: Path, tmp_path: Path) -> None:
    want = tmp_path / "want"
    make(matrix, want)
    whole = tree(want)
    started = time.monotonic()
    assert start(matrix, tmp_path / "timing").wait() == 0
    length = time.monotonic() - started
    chance = random.Random(5)
    for turn in range(50):
        out = tmp_path / f"out{turn // 10}"
        process = start(matrix, out)
        time.sleep(chance.uniform(0, length))
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        assert_no_file_is_torn(out, whole)
    # The workers end by themselves, soon after the process that they worked for.
    deadline = time.monotonic() + 120
    while str(matrix) in subprocess.run(["ps", "ax", "-o", "args"], capture_output=True, text=True).stdout:
        assert time.monotonic() < deadline
        time.sleep(0.2)
    for turn in range(5):
        out = tmp_path / f"out{turn}"
        assert make(matrix, out) == 0
        assert tree(out) == whole


def test_interrupted(matrix: Path, tmp_path: Path) -> None:
    out, want = tmp_path / "out", tmp_path / "want"
    make(matrix, want)
    process = start(matrix, out)
    while not (out / ".ptogen").is_dir() and process.poll() is None:
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGINT)
    assert process.wait(60) in (0, 130)
    assert_no_file_is_torn(out, tree(want))
    assert not [path for path in tree(out) if "ptogen-tmp" in path]
    assert ptogen("matrix", matrix, "-o", out).returncode == 0
    assert tree(out) == tree(want)


def test_two_runs_into_one_tree(matrix: Path, tmp_path: Path) -> None:
    out, want, other = tmp_path / "out", tmp_path / "want", tmp_path / "other.yaml"
    other.write_text(MATRIX + "name: other\n")
    for place in (matrix, other):
        make(place, want)
    for same in (True, False):
        shutil.rmtree(out, ignore_errors=True)
        runs = [start(matrix, out), start(matrix if same else other, out)]
        assert [run.wait(120) for run in runs] == [0, 0]
    assert tree(out) == tree(want)


def test_memory_is_bounded() -> None:
    """What is remembered from suite to suite has a limit; benchmarks/generation.py measures the whole."""
    from ptogen.plan import sync

    assert sound._MOST <= 4096 and sync._MOST <= 4096 and cpp._MOST <= 50_000 and cpp._MOST_CHUNKS <= 10_000


def test_errors_cross_processes(tmp_path: Path) -> None:
    place = tmp_path / "m.yaml"
    place.write_text(
        "matrix: {op: tsort32, platform: [a2a3, a5], dtype: [float32, int8], rows: 1, cols: [1, 2]}\n"
        "on_invalid: error\n"
    )
    with pytest.raises(PtogenError) as caught:
        generate([load_matrix(place)], Options(tmp_path / "out"), jobs=2)
    assert {fault.code for fault in caught.value.diagnostics} == {"PTG201"}
