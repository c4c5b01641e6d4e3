"""C++ layout: clang-format in pto-isa's style, one process for many files."""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Hashable, Mapping
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TypeVar

Key = TypeVar("Key", bound=Hashable)

STYLE = {
    "BasedOnStyle": "Google",
    "Language": "Cpp",
    "Standard": "c++20",
    "ColumnLimit": 120,
    "IndentWidth": 4,
    "UseTab": "Never",
    "AccessModifierOffset": -4,
    "SortIncludes": "Never",
    "BreakBeforeBraces": "Custom",
    "BraceWrapping": {"AfterFunction": True},
    "AlignAfterOpenBracket": "AlwaysBreak",
    "AlwaysBreakTemplateDeclarations": "Yes",
    "BinPackArguments": True,
    "BinPackParameters": True,
    "AllowShortFunctionsOnASingleLine": "All",
    "AllowShortIfStatementsOnASingleLine": "Never",
    "AllowShortLoopsOnASingleLine": False,
    "DerivePointerAlignment": False,
    "PointerAlignment": "Left",
    "SpacesBeforeTrailingComments": 1,
    "InsertNewlineAtEOF": True,
}
"""What pto-isa's own configuration asks for (its .clang-format), so that generated files pass its hooks."""


@cache
def _executable() -> Path:
    """The binary in the pinned wheel, started without the wheel's Python launcher."""
    spec = find_spec("clang_format")
    if spec is None or not spec.submodule_search_locations:
        raise AssertionError("the clang-format wheel is a dependency of ptogen and is not installed")
    return Path(spec.submodule_search_locations[0]) / "data" / "bin" / "clang-format"


def format_cpp(texts: Mapping[Key, str]) -> dict[Key, str]:
    """The texts, laid out; keys are kept."""
    with tempfile.TemporaryDirectory(prefix="ptogen-") as folder:
        files = {key: Path(folder) / f"{number}.cpp" for number, key in enumerate(texts)}
        for key, file in files.items():
            file.write_text(texts[key], encoding="utf-8")
        command = [str(_executable()), "-i", f"--style={json.dumps(STYLE)}", *map(str, files.values())]
        subprocess.run(command, check=True, capture_output=True)
        return {key: file.read_text(encoding="utf-8") for key, file in files.items()}
