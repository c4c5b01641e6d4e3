"""What is made from the code and committed is what the code makes today."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.mark.parametrize("page", ["codes", "documents"])
def test_pages_are_current(page):
    made = subprocess.run([sys.executable, ROOT / "docs" / f"{page}.py"], capture_output=True, text=True, check=True)
    assert made.stdout == (ROOT / "docs" / f"{page}.md").read_text(), "run `make docs`"


def test_the_readmes_table_is_current():
    sys.path.insert(0, str(ROOT / "docs"))
    import readme

    text = (ROOT / "README.md").read_text()
    assert "| `tsort32` | TSORT32 |" in text
    assert readme.updated(text) == text, "run `make docs`"


def test_the_generated_suites_are_current():
    specs = sorted(path for path in (ROOT / "specs").glob("*.yaml") if "\nmatrix:" not in f"\n{path.read_text()}")
    command = [sys.executable, "-m", "ptogen", "kernel", *specs, "-o", ROOT / "generated", "--check"]
    checked = subprocess.run(command, capture_output=True, text=True)
    assert checked.returncode == 0, f"run `make generated`\n{checked.stdout}{checked.stderr}"
    owned = {path.parent.name for path in (ROOT / "generated").rglob("main.cpp")}
    assert owned == {path.stem for path in specs}, "generated/ holds suites that no spec makes"
