"""Reads YAML text into plain Python values whose places in the file are known.

The document is built from the stream of parser events and not by PyYAML's composer: the bounds on nesting and growth
must hold before anything recurses, and the text of every scalar is kept for the messages.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import yaml

from ptogen.errors import Diagnostic, Position, PtogenError
from ptogen.spec.faults import Faults, quote
from ptogen.spec.model import Marks, Path
from ptogen.spec.scalars import Odd, Scalar, resolved

MAX_BYTES = 16 * 2**20
MAX_DEPTH = 50
MAX_NODES = 500_000

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_BAD_CHARACTER = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]")
_LINE_BREAK = re.compile("\r\n|[\n\r\x85\u2028\u2029]")
_HINTS = (
    (
        "mapping values are not allowed",
        "a value that holds `: ` needs quotes; the keys of one map start in the same column",
    ),
    ("could not find expected ':'", "a key needs a colon and a space after it"),
    ("expected '-'", "the keys of one map start in the same column, and every case with `- `"),
    ("expected ',' or", "look for a missing comma or closing bracket"),
    ("unexpected end of stream", "a quote is opened and never closed"),
    ("undefined alias", "write the anchor (`&name`) before its alias (`*name`)"),
    ("cannot start any token", "a value that starts with this character needs quotes"),
    ("expected alphabetic or numeric", "a value that starts with `*` or `&` needs quotes"),
    ("incompatible YAML", "remove the line that starts with %YAML"),
    ("escape", "a backslash in double quotes starts an escape: use single quotes"),
)


@dataclass(frozen=True)
class Document:
    """A YAML document as plain values.

    Attributes:
        data: dicts (keys are text as written), lists, str, int, float, bool and :class:`Odd`; never None.
        marks: where everything stands.
        scalars: every scalar as it was written, by path.
        empty: whether there is nothing in the file.
    """

    data: Any
    marks: Marks
    scalars: Mapping[Path, Scalar] = field(default_factory=dict)
    empty: bool = False


@dataclass(slots=True)
class _Node:
    """``value``: text, a list of nodes, or a flat list of key and value nodes in turn."""

    kind: str
    value: Any
    line: int
    column: int
    quoted: bool = False
    open: bool = False


def read(text: str | bytes, file: str, faults: Faults) -> Document:
    """The document in ``text``; faults that do not hide the rest, such as duplicate keys, go to ``faults``.

    Raises:
        PtogenError: where there is no document: not UTF-8, a syntax error, nested too deeply, too large.
    """
    source = _decoded(text, file)
    root = _composed(source, file)
    if root is None:
        return Document({}, Marks(file, {(): Position(file, 1, 1)}), empty=True)
    return _Plain(file, faults).document(root)


def _stop(code: str, message: str, position: Position, hint: str | None = None) -> PtogenError:
    return PtogenError(Diagnostic(code, message, position, hint=hint))


def _decoded(text: str | bytes, file: str) -> str:
    if len(text) > MAX_BYTES:
        message = f"the file is larger than {MAX_BYTES:,} bytes"
        raise _stop("PTG103", message, Position(file), "split it into several specs")
    text = (_utf8(text, file) if isinstance(text, bytes) else text).removeprefix("\ufeff")
    if bad := _BAD_CHARACTER.search(text):
        message = f"the character U+{ord(bad[0]):04X} is not allowed in YAML"
        hint = "remove it, or write it as an escape in double quotes"
        raise _stop("PTG101", message, _position(text, bad.start(), file), hint)
    return text


def _utf8(content: bytes, file: str) -> str:
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        # What comes before the fault is UTF-8, so its place can be counted in characters.
        position = _position(content[: error.start].decode("utf-8"), error.start, file)
        message = f"the byte 0x{content[error.start]:02x} is not UTF-8 text"
        raise _stop("PTG102", message, position, "save the file as UTF-8") from None


def _position(text: str, index: int, file: str) -> Position:
    lines = _LINE_BREAK.split(text[:index])
    return Position(file, len(lines), len(lines[-1]) + 1)


def _events(text: str, file: str) -> Iterator[Any]:
    try:
        yield from yaml.parse(text, Loader=_LOADER)
    except yaml.MarkedYAMLError as error:
        # A key without a colon is noticed only where the next line begins.
        late = "expected ':'" in (error.problem or "")
        mark = (late and error.context_mark) or error.problem_mark or error.context_mark
        line, column = (mark.line, mark.column) if mark else (0, 0)
        if "nesting depth" in (error.problem or ""):
            raise _too_deep(Position(file, line + 1, column + 1)) from None
        problem = (error.problem or "the text ends too early").replace("<", "").replace(">", "")
        context = error.context_mark
        if context and error.context and context.line != line:
            problem += f" ({error.context} from line {context.line + 1})"
        hint = _syntax_hint(text, line, problem)
        raise _stop("PTG101", f"YAML syntax error: {problem}", Position(file, line + 1, column + 1), hint) from None
    except yaml.YAMLError:
        raise _stop("PTG101", "YAML syntax error: the text cannot be read", Position(file, 1, 1)) from None


def _syntax_hint(text: str, line: int, problem: str) -> str:
    for suspect in _LINE_BREAK.split(text)[max(line - 1, 0) : line + 1]:
        if "\t" in suspect[: len(suspect) - len(suspect.lstrip(" \t-"))]:
            return "YAML does not allow tabs in the indentation: use spaces"
    for words, hint in _HINTS:
        if words in problem:
            return hint
    return "look at the indentation, and at quotes and brackets before this place"


def _composed(text: str, file: str) -> _Node | None:
    """The tree of the only document, or None where the file is empty; an alias shares its anchor's value."""
    root: _Node | None = None
    stack: list[_Node] = []
    anchors: dict[str, _Node] = {}
    count = 0
    for event in _events(text, file):
        kind = type(event)
        if issubclass(kind, (yaml.SequenceEndEvent, yaml.MappingEndEvent)):
            stack.pop().open = False
            continue
        if not issubclass(kind, (yaml.NodeEvent, yaml.DocumentStartEvent)):
            continue
        line, column = event.start_mark.line + 1, event.start_mark.column + 1
        here = Position(file, line, column)
        if issubclass(kind, yaml.DocumentStartEvent):
            if root is not None:
                raise _stop("PTG101", "a second document starts here", here, "one spec, one file")
            continue
        count += 1
        if count > MAX_NODES:
            message = f"the document has more than {MAX_NODES:,} values"
            raise _stop("PTG103", message, here, "split it into several specs")
        if issubclass(kind, yaml.AliasEvent):
            node = _aliased(anchors.get(event.anchor), event.anchor, here)
        elif event.tag is not None:
            tag = event.tag.replace("tag:yaml.org,2002:", "!!")
            message = f"the tag {quote(tag)} has no meaning in a spec"
            raise _stop("PTG101", message, here, "remove it; a value that starts with `!` needs quotes")
        elif issubclass(kind, yaml.ScalarEvent):
            node = _Node("scalar", event.value, line, column, quoted=not event.implicit[0])
        else:
            node = _Node("map" if issubclass(kind, yaml.MappingStartEvent) else "list", [], line, column, open=True)
        if event.anchor is not None and not issubclass(kind, yaml.AliasEvent):
            anchors[event.anchor] = node
        if stack:
            stack[-1].value.append(node)
        else:
            root = node
        if node.open:
            stack.append(node)
            if len(stack) > MAX_DEPTH:
                raise _too_deep(here)
    return root


def _too_deep(position: Position) -> PtogenError:
    message = f"the document is nested more than {MAX_DEPTH} levels deep"
    return _stop("PTG103", message, position, "a spec needs four levels")


def _aliased(target: _Node | None, anchor: str, position: Position) -> _Node:
    if target is None:
        hint = f"write `&{anchor[:40]}` before the value that it stands for, or quote a text that starts with `*`"
        raise _stop("PTG101", f"the alias {quote('*' + anchor)} has no anchor before it", position, hint)
    if target.open:
        message = f"the alias {quote('*' + anchor)} stands inside its own anchor, so the document has no end"
        raise _stop("PTG103", message, position, "repeat the value in place of the alias")
    return _Node(target.kind, target.value, position.line, position.column, target.quoted)


class _Plain:
    """Turns a tree of nodes into plain values; aliases are expanded, and the expansion is bounded."""

    def __init__(self, file: str, faults: Faults) -> None:
        self.file = file
        self.faults = faults
        self.count = 0
        self.values: dict[Path, Position] = {}
        self.keys: dict[Path, Position] = {}
        self.scalars: dict[Path, Scalar] = {}

    def document(self, root: _Node) -> Document:
        data = self.plain(root, ())
        empty = isinstance(data, Odd) and data.text == ""
        return Document({} if empty else data, Marks(self.file, self.values, self.keys), self.scalars, empty)

    def at(self, node: _Node) -> Position:
        return Position(self.file, node.line, node.column)

    def visit(self, node: _Node, depth: int) -> None:
        self.count += 1
        if self.count > MAX_NODES:
            message = f"aliases make the document grow past {MAX_NODES:,} values"
            raise _stop("PTG103", message, self.at(node), "write fewer aliases of aliases")
        if depth > MAX_DEPTH:
            raise _too_deep(self.at(node))

    def plain(self, node: _Node, path: Path) -> Any:
        self.visit(node, len(path))
        self.values[path] = self.at(node)
        if node.kind == "scalar":
            self.scalars[path] = Scalar(node.value, node.quoted)
            return node.value if node.quoted else resolved(node.value)
        if node.kind == "list":
            return [self.plain(item, (*path, index)) for index, item in enumerate(node.value)]
        data = {}
        for key, (key_node, value) in self.entries(node, len(path)).items():
            self.keys[path + (key,)] = self.at(key_node)
            data[key] = self.plain(value, (*path, key))
        return data

    def entries(self, node: _Node, depth: int) -> dict[str, tuple[_Node, _Node]]:
        """Key and value by the key's text; what ``<<`` merges comes last and overrides nothing."""
        own: dict[str, tuple[_Node, _Node]] = {}
        merges: list[_Node] = []
        for key, value in zip(node.value[::2], node.value[1::2], strict=True):
            self.visit(key, depth)
            if key.kind != "scalar":
                message = f"a {key.kind} cannot be a key"
                self.faults.add("PTG105", message, self.at(key), "a key is a word followed by `: `")
            elif key.value in own:
                first = own[key.value][0].line
                message = f"the key {quote(key.value)} stands twice in one map; the first is on line {first}"
                self.faults.add("PTG104", message, self.at(key), "remove one of the two")
            elif not key.value:
                self.faults.add("PTG105", "a key is missing before the colon", self.at(key), "write `key: value`")
            else:
                own[key.value] = (key, value)
                if key.value == "<<" and not key.quoted:
                    merges += value.value if value.kind == "list" else [value]
        if merges:
            del own["<<"]
        for source in merges:
            self.visit(source, depth + 1)
            if source.kind == "map":
                own = {**self.entries(source, depth + 1), **own}
            else:
                message = f"`<<` merges maps, not a {'list' if source.kind == 'list' else 'single value'}"
                self.faults.add("PTG106", message, self.at(source), "write `<<: *name`")
        return own
