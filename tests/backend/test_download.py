"""The download of the pinned snapshot, with a pip that fails in every way."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import zipfile
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from ptogen.backend import download, headers
from ptogen.errors import PtogenError

HERE = Path(__file__).parent
TREE = "tilelang/3rdparty/pto-isa/include/"


def make_wheel(path: Path, entries: dict[str, str], **facts) -> download.Pin:
    """A wheel with these entries, and the pin that fits it."""
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in entries.items():
            archive.writestr(name if isinstance(name, zipfile.ZipInfo) else zipfile.ZipInfo(name), text)
    content = path.read_bytes()
    pin = replace(download.PIN, file=path.name, size=len(content), sha256=hashlib.sha256(content).hexdigest())
    return replace(pin, **facts)


@pytest.fixture
def fake(monkeypatch, tmp_path):
    """A cache of its own, a fake pip, and a small wheel; call it with what pip shall do."""
    monkeypatch.setenv("PTOGEN_CACHE", str(tmp_path / "cache"))
    for name in ("PTO_ISA_ROOT", "ASCEND_HOME_PATH"):
        monkeypatch.delenv(name, raising=False)
    wheel = tmp_path / "snapshot.whl"
    entries = {TREE + "pto/pto-inst.hpp": "// all of it\n", TREE + "pto/cpu/A.hpp": "", "tilelang/code.py": "boom"}
    monkeypatch.setattr(download, "PIN", make_wheel(wheel, entries))
    monkeypatch.setattr(download, "PIP", [sys.executable, str(HERE / "fixtures" / "fake_pip.py")])
    monkeypatch.setenv("FAKE_WHEEL", str(wheel))
    monkeypatch.setenv("FAKE_LOG", str(tmp_path / "log"))

    def set_up(what: str) -> Path:
        monkeypatch.setenv("FAKE_PIP", what)
        return tmp_path / "cache"

    return set_up


def test_the_pin_is_the_known_wheel():
    assert (download.PIN.project, download.PIN.version) == ("tilelang-ascend", "0.1.4")
    assert download.PIN.file == "tilelang_ascend-0.1.4-cp311-cp311-manylinux2014_aarch64.whl"
    assert download.PIN.size == 50_662_070
    assert download.PIN.sha256 == "1afec13f59e18fd9133ae2345a9845d8b58e3f005bd773325664821db5990d03"


def test_only_the_include_tree_is_kept(fake, tmp_path):
    cache = fake("good")
    lines: list[str] = []
    found = headers.fetch(lines.append)
    assert (found.include / "pto" / "cpu" / "A.hpp").is_file()
    assert not [path for path in cache.rglob("*") if path.name in ("code.py", "snapshot.whl")]
    assert len(lines) == 1 and "once" in lines[0]
    assert headers.fetch(lines.append) == found and len(lines) == 1
    asked = (tmp_path / "log").read_text()
    assert len(asked.splitlines()) == 1
    for word in ("--no-deps", "--only-binary=:all:", "--platform manylinux2014_aarch64", "tilelang-ascend==0.1.4"):
        assert word in asked


@pytest.mark.parametrize(
    ("what", "words"),
    [
        ("offline", ("pip ended with status 1", "ERROR: No matching distribution found for it")),
        ("absent", ("pip brought no snapshot.whl",)),
        ("truncated", ("bytes and not",)),
        ("altered", ("has the SHA-256",)),
    ],
)
def test_a_bad_download_is_never_used(fake, what, words):
    cache = fake(what)
    with pytest.raises(PtogenError) as error:
        headers.fetch()
    assert [diagnostic.code for diagnostic in error.value.diagnostics] == ["PTG503"]
    for word in (*words, "--pto-isa", "PTO_ISA_ROOT"):
        assert word in str(error.value)
    left = [path for path in cache.rglob("*") if path.is_file() and path.suffix != ".lock"]
    assert left == [] and download.include_folder() is None
    fake("good")
    assert headers.fetch().include.is_dir()


def test_the_cause_of_a_failure_is_said_once(fake):
    fake("offline")
    with pytest.raises(PtogenError) as error:
        headers.fetch()
    details = error.value.diagnostics[0].details
    assert len(details) == 3 and "Name resolution failed" in details[0]
    assert details[-1] == "ERROR: No matching distribution found for it"


@pytest.mark.parametrize("name", [TREE + "../../escaped.hpp", TREE + "/etc/escaped.hpp"])
def test_no_entry_leaves_the_folder(fake, monkeypatch, tmp_path, name):
    cache = fake("good")
    pin = make_wheel(tmp_path / "snapshot.whl", {TREE + "pto/pto-inst.hpp": "", name: "boom"})
    monkeypatch.setattr(download, "PIN", pin)
    with pytest.raises(PtogenError, match="leaves its folder"):
        headers.fetch()
    assert not list(cache.rglob("escaped.hpp"))


def test_no_symbolic_link_is_made(fake, monkeypatch, tmp_path):
    fake("good")
    link = zipfile.ZipInfo(TREE + "pto/link.hpp")
    link.external_attr = 0o120777 << 16
    pin = make_wheel(tmp_path / "snapshot.whl", {TREE + "pto/pto-inst.hpp": "", link: "/etc/passwd"})
    monkeypatch.setattr(download, "PIN", pin)
    with pytest.raises(PtogenError, match="leaves its folder"):
        headers.fetch()


def test_a_wheel_without_headers_is_refused(fake, monkeypatch, tmp_path):
    fake("good")
    monkeypatch.setattr(download, "PIN", make_wheel(tmp_path / "snapshot.whl", {"other": ""}))
    with pytest.raises(PtogenError, match="holds no pto/pto-inst.hpp"):
        headers.fetch()


def test_a_cache_that_cannot_be_written_is_said(fake, monkeypatch, tmp_path):
    fake("good")
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("PTOGEN_CACHE", str(tmp_path / "file"))
    with pytest.raises(PtogenError, match="cannot be written"):
        headers.fetch()


def test_two_processes_download_once(fake, tmp_path):
    fake("good")
    (tmp_path / "pin.json").write_text(json.dumps(asdict(download.PIN)))
    command = [sys.executable, str(HERE / "fetch_once.py"), str(tmp_path / "pin.json")]
    processes = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    outputs = [process.communicate(timeout=60)[0] for process in processes]
    assert [process.returncode for process in processes] == [0, 0, 0]
    assert sum("downloading" in output for output in outputs) == 1
    assert len((tmp_path / "log").read_text().splitlines()) == 1
    assert download.include_folder() is not None
