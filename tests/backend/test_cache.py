"""The user's cache."""

from __future__ import annotations

import os

from ptogen.backend import cache


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
