"""The handmade suite: built once, run in a fresh copy of its data."""

from __future__ import annotations

import os
import pathlib
import shutil
from collections.abc import Callable

import filelock
import pytest
from handmade import HERE, Workplace, compile_host, fill_with_data

from ptogen.backend.toolchain import Toolchain


@pytest.fixture(scope="session")
def host_binary(tmp_path_factory: pytest.TempPathFactory, toolchain: Toolchain) -> pathlib.Path:
    """Built as for an NPU, against a stand-in for ACL; once for all workers."""
    shared = tmp_path_factory.getbasetemp()
    shared = shared.parent if "PYTEST_XDIST_WORKER" in os.environ else shared
    with filelock.FileLock(shared / "host.lock"):
        binary = shared / "host" / "handmade"
        if not binary.exists():
            compile_host(binary.parent, toolchain.compiler.command, "-std=c++17", f"-I{HERE / 'stub'}")
    return binary


@pytest.fixture(scope="session")
def good_data(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    root = tmp_path_factory.mktemp("good") / "build"
    fill_with_data(root)
    return root


@pytest.fixture
def new_workplace(tmp_path: pathlib.Path, good_data: pathlib.Path) -> Callable[[pathlib.Path], Workplace]:
    def make(binary: pathlib.Path) -> Workplace:
        shutil.copytree(good_data, tmp_path / "build")
        return Workplace(tmp_path / "build", binary)

    return make


@pytest.fixture
def workplace(new_workplace: Callable[[pathlib.Path], Workplace], host_binary: pathlib.Path) -> Workplace:
    return new_workplace(host_binary)
