"""Which headers are used: the order of the places, and that a wrong one is never passed over."""

from __future__ import annotations

from pathlib import Path

import pytest

from ptogen.backend import download, headers
from ptogen.errors import PtogenError


@pytest.fixture
def places(monkeypatch, tmp_path) -> dict[str, Path]:
    """An empty cache and four places with headers of different content."""
    monkeypatch.setenv("PTOGEN_CACHE", str(tmp_path / "cache"))
    for name in ("PTO_ISA_ROOT", "ASCEND_HOME_PATH"):
        monkeypatch.delenv(name, raising=False)
    made = {name: tmp_path / name for name in ("option", "root", "toolkit")}
    made["download"] = download.folder()
    for name, place in made.items():
        (place / "include" / "pto" / "npu").mkdir(parents=True)
        (place / "include" / "pto" / "pto-inst.hpp").write_text(name)
        (place / "include" / "pto" / "npu" / "A.hpp").write_text(name)
    return made


def test_the_order_of_the_places(places, monkeypatch):
    assert headers.find().include == places["download"] / "include"
    monkeypatch.setenv("ASCEND_HOME_PATH", str(places["toolkit"]))
    assert headers.find().include == places["toolkit"] / "include"
    monkeypatch.setenv("PTO_ISA_ROOT", str(places["root"]))
    assert headers.find().include == places["root"] / "include"
    found = headers.find(str(places["option"] / "include"))
    assert found.include == places["option"] / "include"
    assert found.origin == f"--pto-isa {places['option'] / 'include'}"


def test_a_wrong_place_is_an_error(places, monkeypatch, tmp_path):
    with pytest.raises(PtogenError, match=r"PTG501: --pto-isa: no pto/pto-inst.hpp in .*nowhere"):
        headers.find(str(tmp_path / "nowhere"), allow_fetch=True)
    monkeypatch.setenv("PTO_ISA_ROOT", str(tmp_path))
    with pytest.raises(PtogenError, match="PTG501: PTO_ISA_ROOT"):
        headers.find(allow_fetch=True)


def test_a_toolkit_without_pto_isa_does_not_count(places, monkeypatch, tmp_path):
    monkeypatch.setenv("ASCEND_HOME_PATH", str(tmp_path))
    assert headers.find().include == places["download"] / "include"


def test_nothing_at_all(monkeypatch, tmp_path):
    monkeypatch.setenv("PTOGEN_CACHE", str(tmp_path))
    for name in ("PTO_ISA_ROOT", "ASCEND_HOME_PATH"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(PtogenError) as error:
        headers.find()
    assert "PTG501: no pto-isa headers were found" in str(error.value)
    assert "ptogen backend fetch" in str(error.value)


def test_the_digest_follows_what_the_simulator_reads(places):
    include = places["option"] / "include" / "pto"
    first = headers.find(str(places["option"])).digest
    (include / "npu" / "A.hpp").write_text("changed")
    assert headers.find(str(places["option"])).digest == first
    (include / "pto-inst.hpp").write_text("changed")
    assert headers.find(str(places["option"])).digest != first


def test_the_commit_of_a_checkout(places):
    git = places["option"] / ".git"
    (git / "refs" / "heads").mkdir(parents=True)
    (git / "HEAD").write_text("ref: refs/heads/main\n")
    (git / "refs" / "heads" / "main").write_text("0123456789abcdef\n")
    assert headers.find(str(places["option"])).version == "commit 0123456"
