"""A wheel that is built from the source archive and installed elsewhere renders what the source tree renders."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

pytestmark = pytest.mark.skipif(not (ROOT / "pyproject.toml").exists(), reason="needs the source tree")


def files_below(*folders: str) -> set[str]:
    paths = (path for folder in folders for path in (ROOT / folder).rglob("*"))
    return {
        str(path.relative_to(ROOT))
        for path in paths
        if path.is_file() and "__pycache__" not in path.parts and path.suffix != ".pyc"
    }


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with the source archive and the wheel that was made from it."""
    out = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(out), str(ROOT)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=out, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return out


def test_the_source_archive_is_complete(built: Path) -> None:
    (archive,) = built.glob("*.tar.gz")
    with tarfile.open(archive) as tar:
        held = {name.partition("/")[2] for name in tar.getnames()}
    top = {"README.md", "CONTRIBUTING.md", "LICENSE", "Makefile", "pyproject.toml", ".ci/run", ".pre-commit-hooks.yaml"}
    assert not (top | files_below("ptogen", "templates", "specs", "tests", "docs", "benchmarks", "generated")) - held


def test_the_wheel_holds_code_templates_and_overlay(built: Path) -> None:
    (wheel,) = built.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        held = set(archive.namelist())
        info = archive.read(next(name for name in held if name.endswith("METADATA"))).decode()
    assert not files_below("ptogen") - held
    # Type checkers read the annotations of a package that has it (PEP 561), and mypy holds them here.
    assert "ptogen/py.typed" in held
    assert not {f"ptogen/{path}" for path in files_below("templates")} - held
    assert {name.split("/")[0] for name in held} == {"ptogen", wheel.name.split("-py3")[0] + ".dist-info"}
    assert "License-Expression: Apache-2.0" in info


def test_the_installed_wheel_renders_from_an_empty_directory(built: Path, tmp_path: Path) -> None:
    (wheel,) = built.glob("*.whl")
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}

    def run(*command: object, cwd: Path = tmp_path) -> str:
        done = subprocess.run(
            list(map(str, command)), capture_output=True, text=True, cwd=cwd, env=environment, timeout=300
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    venv = tmp_path / "venv"
    run(sys.executable, "-m", "venv", "--without-pip", venv)
    python = venv / "bin" / "python"
    run(sys.executable, "-m", "pip", "--python", python, "install", "--no-deps", "--no-index", wheel)
    # What ptogen needs comes from the environment of the tests, searched after the wheel's own place.
    place = run(python, "-c", "import sysconfig; print(sysconfig.get_paths()['purelib'])").strip()
    (Path(place) / "needed.pth").write_text(f"{sysconfig.get_paths()['purelib']}\n{sysconfig.get_paths()['platlib']}\n")
    empty = tmp_path / "empty"
    empty.mkdir()
    assert run(python, "-c", "import ptogen; print(ptogen.__file__)", cwd=empty).strip().startswith(str(venv))

    spec = tmp_path / "spec.yaml"
    spec.write_text("op: tsort32\nplatform: [a2a3, cpu]\ndtype: float32\nrows: 2\ncols: 13\n")
    run(venv / "bin" / "ptogen", "kernel", spec, cwd=empty)
    run(sys.executable, "-m", "ptogen", "kernel", spec, "-o", tmp_path / "source", cwd=empty)
    trees = [
        {str(path.relative_to(root)): path.read_text() for path in root.rglob("*") if path.is_file()}
        for root in (empty / "generated", tmp_path / "source")
    ]
    assert trees[0] == trees[1]
    assert len(trees[0]) == 2 * 5 + 1 + 1
