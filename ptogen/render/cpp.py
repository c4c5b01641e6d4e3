"""C++ layout: clang-format in pto-isa's style, one process for many files, and nothing laid out twice."""

from __future__ import annotations

import json
import re
import subprocess
import tempfile
from collections.abc import Hashable, Mapping
from functools import cache, lru_cache
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

    clang-format lays every statement out by itself: only its kind of tokens, their lengths and its depth count. So what
    differs in digits alone is laid out once, and a process is started only for what this one has not met yet. A test
    holds the result against clang-format's own.
    """
    if len(_chunks) > _MOST_CHUNKS:
        _chunks.clear()
    files = {key: chunks(text) for key, text in texts.items()}
    new = {chunk: _units(chunk) for file in files.values() for chunk in file if chunk not in _chunks}
    _learn({unit for units in new.values() for unit in units})
    _chunks.update({chunk: "\n".join(_texts[unit] for unit in units) for chunk, units in new.items()})
    return {key: "\n\n".join(map(_chunks.__getitem__, file)) + "\n" for key, file in files.items()}


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
_TEST = re.compile(r"TEST_F\(\w+, \w+\) \{ \w+\([\w:, ]*\); \}")
_LIMIT = 120
_MOST, _MOST_CHUNKS = 20_000, 4_000
"""Pieces, and declarations, that are remembered: enough for what a run meets again, and a bound to its memory."""


@lru_cache(2_000)
def _depth(text: str, opening: str = "({[", closing: str = ")}]") -> int:
    """How many brackets stay open."""
    code = _QUIET.sub("", text)
    return sum(map(code.count, opening)) - sum(map(code.count, closing))


def chunks(text: str) -> list[str]:
    """The declarations of a file: what blank lines part outside of all brackets."""
    found: list[str] = []
    waiting: list[str] = []
    depth = 0
    for part in re.split(r"\n(?:[ \t]*\n)+", text.strip("\n")):
        waiting.append(part)
        # What is known is whole, so nothing in it stays open.
        depth += 0 if part in _chunks else _depth(part)
        if depth == 0:
            found.append("\n\n".join(waiting))
            waiting = []
    return [*found, "\n\n".join(waiting)] if waiting else found


class _Unit(NamedTuple):
    """A piece of a file.

    Attributes:
        text: as it was rendered.
        depth: of a statement: how deep it stands; 0 for anything else.
        kind: ``piece``, ``head`` of a function, or ``final`` where nothing is to be laid out.
    """

    text: str
    depth: int = 0
    kind: str = "piece"

    @property
    def shape(self) -> _Unit:
        """The same without the values of its numbers."""
        return self._replace(text=_DIGITS.sub(_blank, self.text))


_chunks: dict[str, str] = {}
_texts: dict[_Unit, str] = {}
_layouts: dict[_Unit, str] = {}
"""What is known already, laid out: declarations, their pieces, and shapes of pieces."""

_lines: dict[tuple[str, int], _Unit] = {}
"""Lines that are a statement, by their depth: most functions are made of lines that others have, too."""


def _blank(match: re.Match[str]) -> str:
    number = match[0]
    return "0x" + "0" * (len(number) - 2) if number.startswith("0x") else "1" * len(number)


def _filled(layout: str, text: str) -> str:
    """The layout with the numbers of the text in place of its own, which are as many and of the same lengths."""
    numbers = iter(_DIGITS.findall(text))
    return _DIGITS.sub(lambda match: next(numbers), layout)


def _units(chunk: str) -> list[_Unit]:
    """A declaration in pieces: comments, and a function statement by statement; anything else is one piece."""
    lines = [line.strip() for line in chunk.split("\n")]
    comments = next((place for place, line in enumerate(lines) if not line.startswith("//")), len(lines))
    if all(len(line) <= _LIMIT and _COMMENT.fullmatch(line) for line in lines[:comments]):
        top = [_Unit(line, kind="final") for line in lines[:comments]]
    else:
        top = [_Unit("\n".join(lines[:comments]))]
    rest = lines[comments:]
    if not rest:
        return top
    if all(map(_TEST.fullmatch, rest)):
        return [*top, *(_Unit(line, kind="final" if len(line) <= _LIMIT else "piece") for line in rest)]
    if all(line.endswith(";") and not line.startswith("#") and _depth(line) == 0 for line in rest):
        return [*top, *map(_Unit, rest)]
    if "" not in rest and rest[-1] == "}" and "{" in rest and (body := _body(rest[rest.index("{") + 1 : -1])):
        head = "\n".join(rest[: rest.index("{")])
        return [*top, _Unit(head, kind="head"), _Unit("{", kind="final"), *body, _Unit("}", kind="final")]
    return [_Unit(chunk)]


def _body(lines: list[str]) -> list[_Unit] | None:
    """The statements of a function, None where they cannot be told apart."""
    units: list[_Unit] = []
    depth = 1
    waiting: list[str] = []
    brackets = braces = 0
    for line in lines:
        if not waiting and (known := _lines.get((line, depth))):
            units.append(known)
        elif not waiting and line.startswith("#"):
            units.append(_Unit(line, kind="final"))
        elif not waiting and line == "}":
            depth -= 1
            units.append(_Unit(f"{'    ' * depth}}}", kind="final"))
        elif "//" in line or "/*" in line:
            return None
        else:
            waiting.append(line)
            brackets += _depth(line, "([", ")]")
            braces += _depth(line, "{", "}")
            opens = line.endswith("{") and brackets == 0
            if opens or (line.endswith(";") and brackets == 0 and braces == 0):
                units.append(_Unit("\n".join(waiting), depth))
                if not opens and len(waiting) == 1:
                    _lines[line, depth] = units[-1]
                depth += opens
                waiting, brackets, braces = [], 0, 0
    statements = [unit for unit in units if unit.kind != "final"]
    # A function of one statement may become one line, unless that is far too long.
    split = len(statements) > 1 or any(len(unit.text) > 2 * _LIMIT for unit in statements)
    return units if depth == 1 and not waiting and split else None


def _learn(units: set[_Unit]) -> None:
    """Lays out what is not known yet, all by one process."""
    for known in (_lines, _texts, _layouts):
        if len(known) > _MOST:
            known.clear()
    new = sorted(units - _texts.keys())
    shapes = {unit: unit.shape for unit in new if unit.kind != "final"}
    _layouts.update(_laid_out([shape for shape in dict.fromkeys(shapes.values()) if shape not in _layouts]))
    _texts.update({unit: _filled(_layouts[shapes[unit]], unit.text) if unit in shapes else unit.text for unit in new})


def _laid_out(shapes: list[_Unit]) -> dict[_Unit, str]:
    """Each shape between two marks, all in one file."""
    if not shapes:
        return {}
    text = clang_format({0: "\n\n".join(_marked(number, shape) for number, shape in enumerate(shapes))})[0]
    lines = text.split("\n")
    marks = {line.strip(): place for place, line in enumerate(lines) if "ptogen_mark_" in line}
    layouts: dict[_Unit, str] = {}
    for number, shape in enumerate(shapes):
        kind = "" if shape.depth else "void "
        start, stop = (marks[f"{kind}ptogen_mark_{end}({number});"] for end in ("begin", "end"))
        layouts[shape] = "\n".join(lines[start + 1 : stop]).strip("\n").removesuffix(_TAIL)
    return layouts


_TAIL = "\n{\n    ptogen_body();\n    ptogen_body();\n}"
"""What a head is given in place of its body; two statements, so that it is not put on one line."""


def _marked(number: int, shape: _Unit) -> str:
    """A declaration by itself, or a function that holds the statement as deep as it stands; a block is closed again."""
    begin, end = f"ptogen_mark_begin({number});", f"ptogen_mark_end({number});"
    if not shape.depth:
        return f"void {begin}\n\n{shape.text}{_TAIL if shape.kind == 'head' else ''}\n\nvoid {end}"
    if shape.text.endswith("{"):
        end += "\n}"
    blocks = "{\n" * (shape.depth - 1), "}\n" * (shape.depth - 1)
    return f"void f()\n{{\n{blocks[0]}{begin}\n{shape.text}\n{end}\n{blocks[1]}}}"
