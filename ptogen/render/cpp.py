"""C++ layout: clang-format in pto-isa's style, one process for many files, and nothing laid out twice."""

from __future__ import annotations

import json
import re
import subprocess
import tempfile
from collections.abc import Hashable, Iterable, Mapping
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple, TypeVar

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
    """The texts, laid out; keys are kept.

    clang-format lays every statement out by itself: only its kind of tokens, their lengths and its depth count. So what differs in digits
    alone is laid out once, and a process is started only for what this one has not met yet. A test holds the result against clang-format's own.
    """
    files = {key: [_units(chunk) for chunk in chunks(text)] for key, text in texts.items()}
    _learn(dict.fromkeys(unit.shape for file in files.values() for chunk in file for unit in chunk if unit.shape))
    return {
        key: "\n\n".join("\n".join(unit.laid_out() for unit in chunk) for chunk in file) + "\n"
        for key, file in files.items()
    }


def clang_format(texts: Mapping[Key, str]) -> dict[Key, str]:
    """The texts as clang-format lays them out, by one process."""
    with tempfile.TemporaryDirectory(prefix="ptogen-") as folder:
        files = {key: Path(folder) / f"{number}.cpp" for number, key in enumerate(texts)}
        for key, file in files.items():
            file.write_text(texts[key], encoding="utf-8")
        command = [str(_executable()), "-i", f"--style={json.dumps(STYLE)}", *map(str, files.values())]
        subprocess.run(command, check=True, capture_output=True)
        return {key: file.read_text(encoding="utf-8") for key, file in files.items()}


# Cutting a file into what can be laid out by itself.

_QUIET = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.DOTALL)
"""Comments and literals, whose brackets close nothing."""

_DIGITS = re.compile(r"(?<![A-Za-z0-9_])0x[0-9a-f]+|[0-9]+")
_COMMENT = re.compile(r"//( [ -~]*[!-~])?")
_LIMIT = 120
_MOST = 20_000
"""Shapes that are remembered: enough for what a run meets, and a bound to its memory."""


def _depth(text: str, opening: str = "({[", closing: str = ")}]") -> int:
    """How many brackets stay open."""
    code = _QUIET.sub("", text)
    return sum(map(code.count, opening)) - sum(map(code.count, closing))


def chunks(text: str) -> list[str]:
    """The declarations of a file: what blank lines part outside of all brackets."""
    found: list[str] = []
    waiting = ""
    for part in re.split(r"\n(?:[ \t]*\n)+", text.strip("\n")):
        waiting = f"{waiting}\n\n{part}" if waiting else part
        if _depth(waiting) == 0:
            found.append(waiting)
            waiting = ""
    return [*found, waiting] if waiting else found


class _Shape(NamedTuple):
    """Text without the values of its numbers, and what stands around it: nothing, the body of a function ``depth`` deep, or a function."""

    text: str
    depth: int = 0
    is_head: bool = False


class _Unit(NamedTuple):
    """A piece of a file; without a shape its text is final."""

    text: str
    shape: _Shape | None = None

    def laid_out(self) -> str:
        return _filled(_known[self.shape], self.text) if self.shape else self.text


_known: dict[_Shape, str] = {}


def _unit(text: str, depth: int = 0, is_head: bool = False) -> _Unit:
    return _Unit(text, _Shape(_DIGITS.sub(_blank, text), depth, is_head))


def _blank(match: re.Match[str]) -> str:
    number = match[0]
    return "0x" + "0" * (len(number) - 2) if number.startswith("0x") else "1" * len(number)


def _filled(layout: str, text: str) -> str:
    """The layout with the numbers of the text in their places; it has the same ones, of the same lengths, in the same order."""
    numbers = iter(_DIGITS.findall(text))
    return _DIGITS.sub(lambda match: next(numbers), layout)


def _units(chunk: str) -> list[_Unit]:
    """A declaration in pieces: comments, and a function statement by statement; anything else is one piece."""
    lines = [line.strip() for line in chunk.split("\n")]
    comments = next((place for place, line in enumerate(lines) if not line.startswith("//")), len(lines))
    if all(len(line) <= _LIMIT and _COMMENT.fullmatch(line) for line in lines[:comments]):
        top = [_Unit(line) for line in lines[:comments]]
        if comments == len(lines):
            return top
        rest = lines[comments:]
        if all(line.endswith(";") and _depth(line) == 0 and not line.startswith("#") for line in rest):
            return [*top, *map(_unit, rest)]
        if "" not in rest and rest[-1] == "}" and "{" in rest and (body := _body(rest[rest.index("{") + 1 : -1])):
            return [*top, _unit("\n".join(rest[: rest.index("{")]), is_head=True), _Unit("{"), *body, _Unit("}")]
    return [_unit(chunk)]


def _body(lines: list[str]) -> list[_Unit] | None:
    """The statements of a function, None where they cannot be told apart."""
    units: list[_Unit] = []
    depth = 1
    statement = ""
    for line in lines:
        if not statement and line.startswith("#"):
            units.append(_Unit(line))
        elif not statement and line == "}":
            depth -= 1
            units.append(_Unit(f"{'    ' * depth}}}"))
        else:
            statement = f"{statement}\n{line}" if statement else line
            if "//" in line or "/*" in line:
                return None
            if line.endswith("{") and _depth(statement, "([", ")]") == 0:
                units.append(_unit(statement, depth))
                depth += 1
                statement = ""
            elif line.endswith(";") and _depth(statement) == 0:
                units.append(_unit(statement, depth))
                statement = ""
    statements = sum(unit.shape is not None for unit in units)
    # A function of one statement may become one line.
    return units if depth == 1 and not statement and statements > 1 else None


def _learn(shapes: Iterable[_Shape]) -> None:
    """Lays out what is not known yet, all by one process."""
    if len(_known) > _MOST:
        _known.clear()
    new = [shape for shape in shapes if shape not in _known]
    if not new:
        return
    inside = [shape for shape in new if shape.depth]
    texts: dict[_Shape | None, str] = {shape: _alone(shape) for shape in new if not shape.depth}
    texts[None] = "\n\n".join(_function(number, shape) for number, shape in enumerate(inside))
    for shape, text in clang_format(texts).items():
        if shape is None:
            lines = text.split("\n")
            marks = {line.strip(): place for place, line in enumerate(lines) if "ptogen_mark" in line}
            for number, one in enumerate(inside):
                start, stop = marks[f"ptogen_mark_begin({number});"], marks[f"ptogen_mark_end({number});"]
                _known[one] = "\n".join(lines[start + 1 : stop])
        else:
            _known[shape] = text.rstrip("\n").removesuffix(_TAIL)


_TAIL = "\n{\n    ptogen_mark();\n    ptogen_mark();\n}"


def _alone(shape: _Shape) -> str:
    return f"{shape.text}{_TAIL if shape.is_head else ''}\n"


def _function(number: int, shape: _Shape) -> str:
    """A function that holds the statement as deep as it stands; a block that it opens is closed again."""
    end = f"ptogen_mark_end({number});" + ("\n}" if shape.text.endswith("{") else "")
    blocks = "{\n" * (shape.depth - 1), "}\n" * (shape.depth - 1)
    return f"void f()\n{{\n{blocks[0]}ptogen_mark_begin({number});\n{shape.text}\n{end}\n{blocks[1]}}}"
