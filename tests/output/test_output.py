"""What ``ptogen.output`` promises about other people's files and about runs that are cut short."""

from __future__ import annotations

import errno
import json
import os
import shutil
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from ptogen import output
from ptogen.errors import PtogenError
from ptogen.output import REMOVE, UNCHANGED, WRITE
from ptogen.render.suite import RenderedSuite, shared_file

DIRECTORY = "tests/npu/a2a3/src/st/testcase/tsort32"


def suite(texts: dict[str, str] | None = None, key: str = "a2a3-tsort32", directory: str = DIRECTORY) -> RenderedSuite:
    texts = texts or {"main.cpp": "main\n", "kernel.cpp": "kernel\n", "gen_data.py": "data\n"}
    meta = {
        "op": "tsort32",
        "platform": "a2a3",
        "mode": "manual",
        "name": "tsort32",
        "test_suite": "TSORT32Test",
        "ub_bytes": 196_608,
        "spec": "0" * 64,
        "templates": "1" * 64,
        "cases": [{"name": "one", "fields": {"rows": 2}, "defects": []}],
    }
    return RenderedSuite(key, directory, {f"{directory}/{name}": text for name, text in texts.items()}, meta)


OTHER = suite({"main.cpp": "main 2\n", "kernel.cpp": "kernel 2\n", "extra/more.hpp": "more\n"})


def tree(root: Path) -> dict[str, tuple[bytes, int]]:
    """Every file with its bytes and the time it was last written."""
    return {
        str(path.relative_to(root)): (path.read_bytes(), path.stat().st_mtime_ns)
        for path in sorted(root.rglob("*"))
        if path.is_file()
    }


def texts(root: Path) -> dict[str, bytes]:
    return {path: data for path, (data, _time) in tree(root).items()}


def codes(error: pytest.ExceptionInfo[PtogenError]) -> list[str]:
    return [diagnostic.code for diagnostic in error.value.diagnostics]


def actions(changes: list[output.Change]) -> list[tuple[str, str]]:
    return [(Path(change.path).name, change.action) for change in changes]


# What is written


def test_writes_files_and_manifest(tmp_path: Path) -> None:
    changes = output.write(tmp_path / "new" / "out", [suite()])
    assert actions(changes) == [
        ("gen_data.py", WRITE),
        ("kernel.cpp", WRITE),
        ("main.cpp", WRITE),
        ("a2a3-tsort32.json", WRITE),
    ]
    out = tmp_path / "new" / "out"
    assert sorted(texts(out)) == [
        ".ptogen/.gitignore",
        ".ptogen/a2a3-tsort32.json",
        f"{DIRECTORY}/gen_data.py",
        f"{DIRECTORY}/kernel.cpp",
        f"{DIRECTORY}/main.cpp",
    ]
    assert (out / DIRECTORY / "main.cpp").read_text() == "main\n"
    (manifest,) = output.read(out)
    assert (manifest.key, manifest.directory, manifest.suite["mode"]) == ("a2a3-tsort32", DIRECTORY, "manual")
    assert manifest.cases == [{"name": "one", "fields": {"rows": 2}, "defects": []}]
    data = json.loads((out / ".ptogen/a2a3-tsort32.json").read_text())
    assert list(data) == sorted(data) == ["cases", "digest", "directory", "files", "ptogen", "shared", "suite"]
    assert "cases" not in data["suite"]


def test_a_second_run_touches_nothing(tmp_path: Path) -> None:
    output.write(tmp_path, [suite()])
    before = tree(tmp_path)
    directories = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*") if path.is_dir()}
    changes = output.write(tmp_path, [suite()])
    assert {change.action for change in changes} == {UNCHANGED}
    assert tree(tmp_path) == before
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*") if path.is_dir()} == directories


def test_only_what_changed_is_written(tmp_path: Path) -> None:
    output.write(tmp_path, [suite()])
    before = tree(tmp_path)
    output.write(tmp_path, [suite({"main.cpp": "new\n", "kernel.cpp": "kernel\n", "gen_data.py": "data\n"})])
    after = tree(tmp_path)
    changed = {path for path in after if before[path] != after[path]}
    assert changed == {f"{DIRECTORY}/main.cpp", ".ptogen/a2a3-tsort32.json"}


def test_the_tree_does_not_depend_on_its_place_or_on_hash_seeds(tmp_path: Path) -> None:
    script = (
        "import sys; from pathlib import Path; sys.path.insert(0, sys.argv[2]);"
        "import test_output as t; t.output.write(Path(sys.argv[1]), [t.suite(), t.suite(key='a5-x', directory='d/x')])"
    )
    trees = []
    for seed in ("0", "1"):
        out = tmp_path / f"out{seed}" / seed
        place = tmp_path / seed
        place.mkdir()
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        command = [sys.executable, "-c", script, str(out), str(Path(__file__).parent)]
        subprocess.run(command, env=environment, cwd=place, check=True)
        trees.append(texts(out))
    assert trees[0] == trees[1]


def test_a_file_keeps_its_mode(tmp_path: Path) -> None:
    output.write(tmp_path, [suite()])
    script = tmp_path / DIRECTORY / "gen_data.py"
    script.chmod(0o755)
    output.write(tmp_path, [suite({"gen_data.py": "new\n"})])
    assert script.stat().st_mode & 0o777 == 0o755


def test_several_suites_share_a_tree_and_stay_when_not_given(tmp_path: Path) -> None:
    other = suite(key="a5-tsort32", directory="tests/npu/a5/src/st/testcase/tsort32")
    output.write(tmp_path, [suite(), other])
    before = texts(tmp_path)
    output.write(tmp_path, [other])
    assert texts(tmp_path) == before
    assert [manifest.key for manifest in output.read(tmp_path)] == ["a2a3-tsort32", "a5-tsort32"]


# Files that go


def test_files_that_are_no_longer_rendered_go_with_their_empty_directories(tmp_path: Path) -> None:
    output.write(tmp_path, [OTHER])
    changes = output.write(tmp_path, [suite()])
    assert ("more.hpp", REMOVE) in actions(changes)
    assert not (tmp_path / DIRECTORY / "extra").exists()
    assert sorted(path.name for path in (tmp_path / DIRECTORY).iterdir()) == ["gen_data.py", "kernel.cpp", "main.cpp"]


def test_a_stale_file_that_was_edited_stays(tmp_path: Path) -> None:
    output.write(tmp_path, [OTHER])
    edited = tmp_path / DIRECTORY / "extra" / "more.hpp"
    edited.write_text("mine\n")
    before = tree(tmp_path)
    with pytest.raises(PtogenError) as error:
        output.write(tmp_path, [suite()])
    assert codes(error) == ["PTG111"]
    assert tree(tmp_path) == before
    output.write(tmp_path, [suite()], force=True)
    assert not edited.exists()


def test_a_stale_file_that_is_gone_already_is_no_change(tmp_path: Path) -> None:
    output.write(tmp_path, [OTHER])
    (tmp_path / DIRECTORY / "extra" / "more.hpp").unlink()
    assert REMOVE not in {change.action for change in output.write(tmp_path, [suite()])}


# Files of other people


def test_edited_and_foreign_files_are_all_named_and_nothing_is_written(tmp_path: Path) -> None:
    output.write(tmp_path, [suite()])
    (tmp_path / DIRECTORY / "main.cpp").write_text("mine\n")
    foreign = tmp_path / DIRECTORY / "extra" / "more.hpp"
    foreign.parent.mkdir()
    foreign.write_text("theirs\n")
    before = tree(tmp_path)
    with pytest.raises(PtogenError) as error:
        output.write(tmp_path, [OTHER])
    assert codes(error) == ["PTG111"]
    assert error.value.diagnostics[0].details == (f"{DIRECTORY}/extra/more.hpp", f"{DIRECTORY}/main.cpp")
    assert "--force" in (error.value.diagnostics[0].hint or "")
    assert tree(tmp_path) == before
    changes = output.write(tmp_path, [OTHER], force=True)
    assert {Path(change.path).name for change in changes if change.foreign} == {"main.cpp", "more.hpp"}
    assert foreign.read_text() == "more\n"
    assert {change.action for change in output.write(tmp_path, [OTHER])} == {UNCHANGED}


def test_a_foreign_file_in_a_fresh_tree_leaves_no_trace_of_ptogen(tmp_path: Path) -> None:
    place = tmp_path / DIRECTORY / "main.cpp"
    place.parent.mkdir(parents=True)
    place.write_text("theirs\n")
    with pytest.raises(PtogenError) as error:
        output.write(tmp_path, [suite()])
    assert codes(error) == ["PTG111"]
    assert list(texts(tmp_path)) == [f"{DIRECTORY}/main.cpp"]
    assert not (tmp_path / ".ptogen").exists()


def test_a_file_that_equals_the_new_text_is_adopted(tmp_path: Path) -> None:
    place = tmp_path / DIRECTORY / "main.cpp"
    place.parent.mkdir(parents=True)
    place.write_text("main\n")
    assert ("main.cpp", UNCHANGED) in actions(output.write(tmp_path, [suite()]))


def test_a_file_that_was_deleted_is_written_again(tmp_path: Path) -> None:
    output.write(tmp_path, [suite()])
    (tmp_path / DIRECTORY / "main.cpp").unlink()
    assert ("main.cpp", WRITE) in actions(output.write(tmp_path, [suite()]))


def test_bytes_that_are_no_text_are_foreign(tmp_path: Path) -> None:
    output.write(tmp_path, [suite()])
    (tmp_path / DIRECTORY / "main.cpp").write_bytes(b"\xff\xfe\0")
    with pytest.raises(PtogenError) as error:
        output.write(tmp_path, [suite()])
    assert codes(error) == ["PTG111"]


DAMAGED = ["", "{", "[]", '{"../../x": ["0"]}', '{"files": {"a": 1}}', "[" * 100_000, "\udcff"]


@pytest.mark.parametrize("text", DAMAGED)
@pytest.mark.parametrize("ending", ["json", "pending"])
def test_a_damaged_record_is_a_message(tmp_path: Path, text: str, ending: str) -> None:
    output.write(tmp_path, [suite()])
    record = tmp_path / ".ptogen" / f"a2a3-tsort32.{ending}"
    record.write_bytes(text.encode("utf-8", "surrogateescape"))
    before = tree(tmp_path)
    with pytest.raises(PtogenError) as error:
        output.write(tmp_path, [OTHER])
    assert set(codes(error)) == {"PTG111"}
    assert str(record) in str(error.value) and "--force" in str(error.value)
    assert tree(tmp_path) == before
    output.write(tmp_path, [OTHER], force=True)
    assert {change.action for change in output.write(tmp_path, [OTHER])} == {UNCHANGED}
    assert sorted(path.name for path in (tmp_path / ".ptogen").iterdir()) == [".gitignore", "a2a3-tsort32.json"]


def test_read_names_a_damaged_manifest(tmp_path: Path) -> None:
    output.write(tmp_path, [suite()])
    (tmp_path / ".ptogen" / "a5-other.json").write_text("{")
    with pytest.raises(PtogenError) as error:
        output.read(tmp_path)
    assert codes(error) == ["PTG100"]
    assert "a5-other.json" in str(error.value)


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir])
def test_read_names_a_manifest_that_is_no_file(tmp_path: Path, make) -> None:
    output.write(tmp_path, [suite()])
    make(tmp_path / ".ptogen" / "a5-other.json")
    with pytest.raises(PtogenError, match=r"a5-other.json: error PTG100: .*it is not a regular file"):
        output.read(tmp_path)


@pytest.mark.parametrize("path", ["../outside", "/etc/passwd", "a/../../b", ""])
def test_a_manifest_cannot_make_ptogen_remove_files_elsewhere(tmp_path: Path, path: str) -> None:
    out = tmp_path / "out"
    output.write(out, [suite()])
    victim = tmp_path / "outside"
    victim.write_text("precious\n")
    record = out / ".ptogen" / "a2a3-tsort32.json"
    data = json.loads(record.read_text())
    data["files"][path] = output.digest_of(b"precious\n")
    record.write_text(json.dumps(data))
    with pytest.raises(PtogenError):
        output.write(out, [suite()])
    output.write(out, [suite()], force=True)
    assert victim.read_text() == "precious\n"


@pytest.mark.parametrize("force", [False, True])
@pytest.mark.parametrize("ending", ["json", "pending"])
@pytest.mark.parametrize("path", ["README.md", f"{DIRECTORY}2/main.cpp", ".ptogen/a5-other.json"])
def test_a_record_owns_nothing_outside_its_suite(tmp_path: Path, path: str, ending: str, force: bool) -> None:
    output.write(tmp_path, [suite()])
    victim = tmp_path / path
    victim.parent.mkdir(exist_ok=True)
    victim.write_text("precious\n")
    digest = output.digest_of(b"precious\n")
    record = tmp_path / ".ptogen" / f"a2a3-tsort32.{ending}"
    if ending == "json":
        data = json.loads(record.read_text())
        data["files"][path] = digest
    else:
        data = {path: [digest]}
    record.write_text(json.dumps(data))
    if force:
        output.write(tmp_path, [suite()], force=True)
    else:
        with pytest.raises(PtogenError, match="a file outside the suite's directory") as error:
            output.write(tmp_path, [suite()])
        assert codes(error) == ["PTG111"] and str(record) in str(error.value)
    assert victim.read_text() == "precious\n"


# Places that are not to be written to


@pytest.mark.parametrize("force", [False, True])
@pytest.mark.parametrize("link", [".ptogen", "tests", "tests/npu", DIRECTORY])
def test_never_through_a_linked_directory(tmp_path: Path, link: str, force: bool) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    out = tmp_path / "out"
    (out / link).parent.mkdir(parents=True, exist_ok=True)
    (out / link).symlink_to(elsewhere)
    with pytest.raises(PtogenError) as error:
        output.write(out, [suite()], force=force)
    assert codes(error) == ["PTG112"]
    assert str(out / link) in str(error.value)
    assert list(elsewhere.iterdir()) == []
    assert [path for path in out.rglob("*") if path.is_file()] == []


@pytest.mark.parametrize("name", [f"{DIRECTORY}/main.cpp", ".ptogen/a2a3-tsort32.json", ".ptogen/a2a3-tsort32.pending"])
@pytest.mark.parametrize("exists", [True, False])
def test_never_through_a_linked_file(tmp_path: Path, name: str, exists: bool) -> None:
    target = tmp_path / "target"
    if exists:
        target.write_text("main\n")
    out = tmp_path / "out"
    output.write(out, [suite()])
    (out / name).unlink(missing_ok=True)
    (out / name).symlink_to(target)
    with pytest.raises(PtogenError) as error:
        output.write(out, [OTHER], force=True)
    assert codes(error) == ["PTG112"]
    assert target.exists() == exists and (not exists or target.read_text() == "main\n")


def test_the_output_root_itself_may_be_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "out").symlink_to(tmp_path / "real")
    output.write(tmp_path / "out", [suite()])
    assert (tmp_path / "real" / DIRECTORY / "main.cpp").exists()


@pytest.mark.parametrize(
    "path", ["../x", "/etc/x", "", "a//b", "a/./b", "a/../../b", "a\\b", "..", "a/", "a\0b", "a\nb", ".ptogen/x"]
)
def test_no_path_leaves_the_tree(tmp_path: Path, path: str) -> None:
    for one in (
        replace(suite(), files={path: "text\n"}),
        replace(suite(), directory=path),
        replace(suite(), key=path),
    ):
        with pytest.raises(PtogenError) as error:
            output.write(tmp_path / "out", [one], force=True)
        assert set(codes(error)) == {"PTG112"}
    assert list(tmp_path.iterdir()) == []


def test_the_output_is_a_file(tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.write_text("a file\n")
    for dry_run in (True, False):
        with pytest.raises(PtogenError) as error:
            output.write(out, [suite()], dry_run=dry_run)
        assert codes(error) == ["PTG113"]
        assert (
            str(error.value) == f"{out}: error PTG113: the output cannot be written: this is a file and not a directory"
        )
    with pytest.raises(PtogenError) as error:
        output.write(out / "below", [suite()])
    assert codes(error) == ["PTG113"]


def test_a_file_or_a_directory_in_the_way(tmp_path: Path) -> None:
    (tmp_path / "one" / "tests").mkdir(parents=True)
    (tmp_path / "one" / "tests" / "npu").write_text("a file\n")
    (tmp_path / "two" / DIRECTORY / "main.cpp").mkdir(parents=True)
    os.makedirs(tmp_path / "three" / DIRECTORY)
    os.mkfifo(tmp_path / "three" / DIRECTORY / "main.cpp")
    for name in ("one", "two", "three"):
        with pytest.raises(PtogenError) as error:
            output.write(tmp_path / name, [suite()], force=True)
        assert codes(error) == ["PTG113"]
        assert not (tmp_path / name / ".ptogen").exists()


def refuse(code: int, after: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets the system refuse to create files, as a full disk or a read-only one does."""
    real = os.open
    created = 0

    def fake(path, flags, *rest, **options):
        nonlocal created
        if flags & os.O_CREAT:
            created += 1
            if created > after:
                raise OSError(code, os.strerror(code), path)
        return real(path, flags, *rest, **options)

    monkeypatch.setattr(os, "open", fake)


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EROFS, errno.EACCES])
@pytest.mark.parametrize("after", range(4))
@pytest.mark.parametrize("fresh", [True, False])
def test_a_disk_that_refuses_leaves_everything_as_it_was(tmp_path, monkeypatch, code, after, fresh) -> None:
    if not fresh:
        output.write(tmp_path, [OTHER])
    before = tree(tmp_path)
    refuse(code, after, monkeypatch)
    with pytest.raises(PtogenError) as error:
        output.write(tmp_path, [suite()])
    monkeypatch.undo()
    assert codes(error) == ["PTG113"]
    assert os.strerror(code).lower() in str(error.value)
    assert output.TEMPORARY not in str(error.value)
    assert tree(tmp_path) == before
    assert not (tmp_path / DIRECTORY / "gen_data.py").exists()


def test_a_disk_that_fills_up_while_a_file_is_written(tmp_path: Path) -> None:
    output.write(tmp_path, [suite()])
    before = tree(tmp_path)
    script = (
        "import resource, signal, sys; from pathlib import Path; sys.path.insert(0, sys.argv[2]);"
        "import test_output as t; signal.signal(signal.SIGXFSZ, signal.SIG_IGN);"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096));"
        "t.output.write(Path(sys.argv[1]), [t.suite({'a.cpp': 'a', 'main.cpp': 'x' * 100_000})])"
    )
    command = [sys.executable, "-c", script, str(tmp_path), str(Path(__file__).parent)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert "PTG113" in done.stderr
    assert tree(tmp_path) == before


def test_two_suites_in_one_place(tmp_path: Path) -> None:
    same = suite()
    cased = suite(key="a2a3-TSORT32", directory=DIRECTORY.replace("tsort32", "TSORT32"))
    shared = replace(suite(key="a5-x", directory="d/x"), files={f"{DIRECTORY}/main.cpp": "x\n"})
    for other in (same, cased, shared):
        with pytest.raises(PtogenError) as error:
            output.write(tmp_path / "out", [suite(), other], force=True)
        assert codes(error) == ["PTG110"]
        assert "a2a3-tsort32" in str(error.value) and other.key in str(error.value)
    assert list(tmp_path.iterdir()) == []


# Runs that are cut short


class Cut(Exception):
    pass


def cut(step: int, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ends the run at the given call of an ``os`` function that changes the tree."""
    real = getattr(os, name)
    calls = 0

    def fake(*args, **options):
        nonlocal calls
        calls += 1
        if calls > step:
            raise Cut
        return real(*args, **options)

    monkeypatch.setattr(os, name, fake)


@pytest.mark.parametrize("first", [None, OTHER], ids=["fresh", "update"])
@pytest.mark.parametrize("step", range(5))
@pytest.mark.parametrize("then", [suite(), suite({"main.cpp": "third\n", "new.cpp": "new\n"})], ids=["same", "changed"])
def test_a_run_that_is_cut_short_is_completed_by_the_next(tmp_path, monkeypatch, first, step, then) -> None:
    if first:
        output.write(tmp_path, [first])
    cut(step, "replace", monkeypatch)
    with pytest.raises(Cut):
        output.write(tmp_path, [suite()])
    monkeypatch.undo()
    assert not list(tmp_path.rglob(f"{output.TEMPORARY}*"))
    output.write(tmp_path, [then])
    clean = tmp_path.parent / f"{tmp_path.name}-clean"
    output.write(clean, [then])
    assert texts(tmp_path) == texts(clean)
    assert {change.action for change in output.write(tmp_path, [then])} == {UNCHANGED}


KILLED = """
import os, signal, sys
from pathlib import Path
sys.path.insert(0, sys.argv[3])
import test_output as t
step = int(sys.argv[2])
def counted(real):
    def fake(*args, **options):
        global step
        step -= 1
        if step < 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return real(*args, **options)
    return fake
os.replace = counted(os.replace)
os.unlink = counted(os.unlink)
os.open = counted(os.open)
t.output.write(Path(sys.argv[1]), [t.suite()])
"""


def test_a_run_that_is_killed_anywhere_is_completed_by_the_next(tmp_path: Path) -> None:
    clean = tmp_path / "clean"
    then = suite({"main.cpp": "third\n", "new.cpp": "new\n"})
    output.write(clean, [then])
    killed = 0
    for step in range(30):
        out = tmp_path / str(step)
        output.write(out, [OTHER])
        command = [sys.executable, "-c", KILLED, str(out), str(step), str(Path(__file__).parent)]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode == 0:
            break
        assert done.returncode == -signal.SIGKILL, done.stderr
        killed += 1
        output.write(out, [then])
        assert texts(out) == texts(clean)
    assert killed >= 10


def test_a_cut_and_an_edit_after_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    output.write(tmp_path, [OTHER])
    cut(2, "replace", monkeypatch)
    with pytest.raises(Cut):
        output.write(tmp_path, [suite()])
    monkeypatch.undo()
    (tmp_path / DIRECTORY / "main.cpp").write_text("mine\n")
    with pytest.raises(PtogenError) as error:
        output.write(tmp_path, [suite()])
    assert error.value.diagnostics[0].details == (f"{DIRECTORY}/main.cpp",)


def test_two_processes_at_once(tmp_path: Path) -> None:
    script = (
        "import sys; from pathlib import Path; sys.path.insert(0, sys.argv[2]);"
        "import test_output as t\n"
        "names = [f'f{i}.cpp' for i in range(20)]\n"
        "for turn in range(25):\n"
        "    text = f'{sys.argv[3]} {turn}\\n' * 500\n"
        "    t.output.write(Path(sys.argv[1]), [t.suite({name: text for name in names})])\n"
    )
    command = [sys.executable, "-c", script, str(tmp_path), str(Path(__file__).parent)]
    running = [
        subprocess.Popen([*command, name], stderr=subprocess.PIPE, text=True) for name in ("one", "two", "three")
    ]
    errors = [process.communicate(timeout=120)[1] for process in running]
    assert [process.returncode for process in running] == [0, 0, 0], errors
    written = [path.read_text() for path in (tmp_path / DIRECTORY).iterdir()]
    assert len(written) == 20 and len(set(written)) == 1
    (manifest,) = output.read(tmp_path)
    assert set(manifest.files.values()) == {output.digest_of(written[0].encode())}
    assert sorted(path.name for path in (tmp_path / ".ptogen").iterdir()) == [".gitignore", "a2a3-tsort32.json"]


# Looking without writing


def test_a_dry_run_writes_nothing_and_says_what_a_run_would_do(tmp_path: Path) -> None:
    out = tmp_path / "out"
    looked = output.write(out, [suite()], dry_run=True)
    assert not out.exists()
    assert output.write(out, [suite()]) == looked
    before = tree(out)
    looked = output.write(out, [OTHER], dry_run=True)
    assert tree(out) == before
    assert output.write(out, [OTHER]) == looked


def test_the_diff_applies(tmp_path: Path) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    output.write(old, [suite({"main.cpp": "a\nb\fc\nd", "gone.cpp": "gone\n", "same.cpp": "same\n"})])
    after = suite({"main.cpp": "a\nB\fc\nd\n", "fresh.cpp": "fresh", "same.cpp": "same\n"})
    output.write(new, [after])
    text = output.diff(output.write(old, [after], dry_run=True))
    assert f"--- a/{DIRECTORY}/gone.cpp\n+++ /dev/null\n" in text
    assert f"--- /dev/null\n+++ b/{DIRECTORY}/fresh.cpp\n" in text
    assert "same.cpp" not in [line.split("/")[-1] for line in text.splitlines() if line.startswith(("---", "+++"))]
    assert output.diff(output.write(new, [after], dry_run=True)) == ""
    if not shutil.which("git"):
        pytest.skip("needs git to apply the diff")
    subprocess.run(["git", "init", "-q"], cwd=old, check=True)
    subprocess.run(["git", "apply"], cwd=old, input=text, text=True, check=True)
    assert {path: data for path, data in texts(old).items() if not path.startswith(".git/")} == texts(new)


def test_a_manifest_survives_its_own_json() -> None:
    manifest = output.Manifest.of(suite())
    assert output.Manifest.parse(manifest.key, manifest.text().encode()) == replace(
        manifest, cases=list(manifest.cases), files=dict(manifest.files)
    )


def test_a_tree_without_ptogen_has_no_manifests(tmp_path: Path) -> None:
    assert output.read(tmp_path) == []
    assert output.read(tmp_path / "missing") == []


# Manifests


def edited(tree: Path, edit) -> Path:
    """A tree with a manifest that a person has edited."""
    output.write(tree, [suite()])
    record = tree / ".ptogen" / "a2a3-tsort32.json"
    data = json.loads(record.read_text())
    edit(data)
    record.write_text(json.dumps(data, indent=2))
    return record


@pytest.mark.parametrize(
    "edit",
    [
        lambda data: data["suite"].update(ub_bytes=200_000),
        lambda data: data["cases"].clear(),
        lambda data: data["cases"].append(data["cases"][0]),
        lambda data: data["files"].popitem(),
        lambda data: data.pop("digest"),
    ],
    ids=["ub_bytes", "removed", "doubled", "file", "digest"],
)
def test_a_manifest_edited_by_hand_is_not_believed(tmp_path: Path, edit) -> None:
    record = edited(tmp_path, edit)
    with pytest.raises(PtogenError) as error:
        output.read(tmp_path)
    assert codes(error) == ["PTG100"]
    assert f"{record}: error PTG100:" in str(error.value)
    assert "edited by hand" in str(error.value) and "hint: render the suite again" in str(error.value)
    output.write(tmp_path, [suite()])
    assert output.read(tmp_path)[0].suite["ub_bytes"] == 196_608


def test_the_layout_of_a_manifest_is_nobodys_business(tmp_path: Path) -> None:
    edited(tmp_path, lambda data: None)
    assert output.read(tmp_path)[0].key == "a2a3-tsort32"


def test_line_ends_of_a_checkout_are_no_edit(tmp_path: Path) -> None:
    output.write(tmp_path, [suite(), replace(user("a5-x", "x", TEXT))])
    for path in tmp_path.rglob("*"):
        if path.is_file():
            path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    before = tree(tmp_path)
    assert [manifest.key for manifest in output.read(tmp_path)] == ["a2a3-tsort32", "a5-x"]
    assert {change.action for change in output.write(tmp_path, [suite()])} == {UNCHANGED}
    assert tree(tmp_path) == before
    changes = output.write(tmp_path, [suite({"main.cpp": "new\n", "kernel.cpp": "kernel\n"})])
    assert not any(change.foreign for change in changes)
    assert [change.path.rpartition("/")[2] for change in changes if change.action == WRITE] == [
        "main.cpp",
        "a2a3-tsort32.json",
    ]
    assert (tmp_path / DIRECTORY / "main.cpp").read_bytes() == b"new\n"
    (tmp_path / DIRECTORY / "kernel.cpp").write_bytes(b"kernel\r\n// mine\r\n")
    with pytest.raises(PtogenError, match="edited since"):
        output.write(tmp_path, [suite()])
    (tmp_path / DIRECTORY / "kernel.cpp").write_bytes(b"kernel\r\n")
    output.clean(tmp_path)
    assert texts(tmp_path) == {}


def test_git_takes_the_manifests_and_nothing_else(tmp_path: Path) -> None:
    output.write(tmp_path, [suite()])
    for name in ("a.pending", "a.matrix", ".ptogen-tmp-0"):
        (tmp_path / ".ptogen" / name).write_text("")
    if not shutil.which("git"):
        pytest.skip("needs git")
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    subprocess.run(["git", "add", "."], cwd=tmp_path, check=True)
    listed = subprocess.run(["git", "ls-files", ".ptogen"], cwd=tmp_path, check=True, capture_output=True, text=True)
    assert listed.stdout.split() == [".ptogen/.gitignore", ".ptogen/a2a3-tsort32.json"]


def test_removing_the_last_suite_leaves_nothing(tmp_path: Path) -> None:
    output.write(tmp_path, [suite()])
    output.remove(tmp_path, ["a2a3-tsort32"])
    assert list(tmp_path.iterdir()) == []


def test_an_own_gitignore_stays(tmp_path: Path) -> None:
    (tmp_path / ".ptogen").mkdir()
    (tmp_path / ".ptogen" / ".gitignore").write_text("*\n")
    output.write(tmp_path, [suite()])
    output.clean(tmp_path)
    assert texts(tmp_path) == {".ptogen/.gitignore": b"*\n"}


# Files that suites share


TEXT, NEWER = "// host side\n", "// host side, newer\n"


def user(key: str, name: str, text: str | None) -> RenderedSuite:
    """A suite that needs a shared file, or none."""
    shared = dict([shared_file("tests/common/ptogen_st.hpp", text)]) if text else {}
    return replace(suite({"main.cpp": f"{name}\n"}, key, f"tests/st/{name}"), shared=shared)


def commons(root: Path) -> list[str]:
    return [path.read_text() for path in sorted((root / "tests/common").glob("*"))]


def test_a_shared_file_bears_its_own_hash_in_its_name() -> None:
    digest = output.digest_of(TEXT.encode())
    path, text = shared_file("tests/common/ptogen_st.hpp", TEXT)
    assert (path, text) == (f"tests/common/ptogen_st_{digest[:8]}.hpp", TEXT)
    assert shared_file(path, TEXT) == (path, text)


def test_suites_share_a_file(tmp_path: Path) -> None:
    suites = [user("a5-x", "x", TEXT), user("a5-y", "y", TEXT)]
    looked = output.write(tmp_path, suites, dry_run=True)
    assert not list(tmp_path.iterdir())
    changes = output.write(tmp_path, suites)
    assert looked == changes
    assert [(change.suite, change.action) for change in changes if "common" in change.path] == [("", WRITE)]
    assert commons(tmp_path) == [TEXT]
    assert {change.action for change in output.write(tmp_path, suites[:1])} == {UNCHANGED}
    for manifest in output.read(tmp_path):
        assert manifest.shared == {next(iter(suites[0].shared)): output.digest_of(TEXT.encode())}


def test_a_shared_file_goes_with_the_last_suite_that_needs_it(tmp_path: Path) -> None:
    output.write(tmp_path, [user("a5-x", "x", TEXT), user("a5-y", "y", TEXT), user("a5-z", "z", TEXT)])
    output.write(tmp_path, [user("a5-z", "z", None)])
    assert commons(tmp_path) == [TEXT]
    assert not any("common" in change.path for change in output.remove(tmp_path, ["a5-x"]))
    assert commons(tmp_path) == [TEXT]
    looked = output.remove(tmp_path, ["a5-y"], dry_run=True)
    assert output.remove(tmp_path, ["a5-y"]) == looked
    assert [change.suite for change in looked if "common" in change.path] == [""]
    assert not (tmp_path / "tests/common").exists()
    assert (tmp_path / "tests/st/z/main.cpp").exists()


def test_two_versions_of_a_shared_file_stand_side_by_side(tmp_path: Path) -> None:
    output.write(tmp_path, [user("a5-x", "x", TEXT), user("a5-y", "y", TEXT)])
    output.write(tmp_path, [user("a5-x", "x", NEWER)])
    assert sorted(commons(tmp_path)) == sorted([TEXT, NEWER])
    changes = output.write(tmp_path, [user("a5-y", "y", NEWER)])
    assert [change.action for change in changes if "common" in change.path] == [UNCHANGED, REMOVE]
    assert commons(tmp_path) == [NEWER]
    output.clean(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_suite_that_is_written_now_does_not_hold_an_older_text(tmp_path: Path) -> None:
    output.write(tmp_path, [user("a5-x", "x", TEXT), user("a5-y", "y", TEXT)])
    output.write(tmp_path, [user("a5-x", "x", NEWER), user("a5-y", "y", NEWER)])
    assert commons(tmp_path) == [NEWER]


def test_a_shared_file_that_is_gone_is_written_again(tmp_path: Path) -> None:
    output.write(tmp_path, [user("a5-x", "x", TEXT)])
    shutil.rmtree(tmp_path / "tests/common")
    output.write(tmp_path, [user("a5-x", "x", TEXT)])
    assert commons(tmp_path) == [TEXT]


def test_a_shared_file_that_was_edited_is_refused_and_kept(tmp_path: Path) -> None:
    one = user("a5-x", "x", TEXT)
    output.write(tmp_path, [one])
    place = tmp_path / next(iter(one.shared))
    place.write_text("mine\n")
    for then in (one, user("a5-x", "x", None)):
        with pytest.raises(PtogenError) as error:
            output.write(tmp_path, [then])
        assert codes(error) == ["PTG111"]
    kept = [change for change in output.clean(tmp_path) if change.foreign]
    assert [change.path for change in kept] == [next(iter(one.shared))]
    assert place.read_text() == "mine\n"


def test_a_shared_file_is_no_way_to_own_another(tmp_path: Path) -> None:
    for path in ("README.md", "../ptogen.hpp", ".ptogen/x", "tests/common/ptogen_st_00000000.hpp"):
        with pytest.raises(PtogenError) as error:
            output.write(tmp_path / "out", [replace(user("a5-x", "x", None), shared={path: TEXT})], force=True)
        assert codes(error) == ["PTG112"]
    inside = dict([shared_file("tests/st/x/main.cpp", TEXT)])
    own = replace(user("a5-x", "x", None), shared=inside)
    with pytest.raises(PtogenError) as error:
        output.write(tmp_path / "out", [replace(own, files={**own.files, **inside})], force=True)
    assert codes(error) == ["PTG110"]


def test_a_shared_file_of_a_run_that_was_cut_short_goes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    output.write(tmp_path, [user("a5-x", "x", None)])
    for step in range(5):
        cut(step, "replace", monkeypatch)
        with pytest.raises(Cut):
            output.write(tmp_path, [user("a5-x", "x", TEXT)])
            output.write(tmp_path, [user("a5-x", "x", None)])
        monkeypatch.undo()
        output.write(tmp_path, [user("a5-x", "x", None)])
        assert not (tmp_path / "tests/common").exists(), step


def test_never_through_a_link_in_the_place_of_a_shared_file(tmp_path: Path) -> None:
    (tmp_path / "out/tests").mkdir(parents=True)
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "out/tests/common").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(PtogenError) as error:
        output.write(tmp_path / "out", [user("a5-x", "x", TEXT)], force=True)
    assert codes(error) == ["PTG112"]
    assert not list((tmp_path / "elsewhere").iterdir())
