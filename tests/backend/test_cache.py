"""The user's cache."""

from __future__ import annotations

import errno
import os

import pytest

from ptogen.backend import cache
from ptogen.backend.failures import Failures
from ptogen.errors import PtogenError


def test_what_nobody_uses_leaves_the_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("PTOGEN_CACHE", str(tmp_path))
    for name in ("builds/old/file", "builds/new/file", "runtimes/used/complete", "others/old/file"):
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).touch()
    for name in ("builds/old.lock", "costs/old.json", "costs/new.json"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    for name in ("builds/old", "builds/old.lock", "runtimes/used", "others/old", "costs/old.json"):
        os.utime(tmp_path / name, (1, 1))
    cache.prune("builds/*", "runtimes/*", "costs/*.json", "nothing/*")
    left = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file()}
    names = {"builds/new/file", "builds/old.lock", "runtimes/used/complete", "others/old/file", "costs/new.json"}
    assert left == names


def test_a_cache_that_cannot_be_written_is_said(tmp_path, monkeypatch):
    """By a lock, or by what is done under one; of other faults the cache knows nothing."""
    (tmp_path / "file").touch()
    monkeypatch.setenv("PTOGEN_CACHE", str(tmp_path / "file"))
    with pytest.raises(PtogenError) as refused, cache.locked(cache.root() / "builds" / "one"):
        pass
    (said,) = refused.value.diagnostics
    assert said.code == "PTG510" and said.message.startswith(f"the cache {tmp_path}/file cannot be written: ")
    monkeypatch.setenv("PTOGEN_CACHE", str(tmp_path / "cache"))
    with pytest.raises(PtogenError, match="no space left on device"), cache.locked(cache.root() / "one"):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    with pytest.raises(PtogenError, match="permission denied"), cache.locked(cache.root() / "one"):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(tmp_path / "cache" / "one"))
    with pytest.raises(PermissionError), cache.locked(cache.root() / "one"):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(tmp_path / "elsewhere"))


def test_what_is_only_remembered_can_be_lost(tmp_path, monkeypatch):
    """With what was remembered before, and without a trace."""

    def full(*paths: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setenv("PTOGEN_CACHE", str(tmp_path / "cache"))
    record, failures = tmp_path / "record.json", Failures(tmp_path, "cpu-sim")
    failures.names = {"suite.case"}
    cache.remember(record, "old")
    monkeypatch.setattr(cache.os, "replace", full)
    cache.remember(record, "new")
    failures.keep()
    with pytest.raises(OSError):
        cache.write_if_changed(tmp_path / "text", "text")
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []
    (tmp_path / "file").touch()
    monkeypatch.setenv("PTOGEN_CACHE", str(tmp_path / "file"))
    failures = Failures(tmp_path, "cpu-sim")
    failures.keep()
