"""What a host compiler does not read of a device source, and element access, changed in a copy.

``kernel<<<blocks, l2, stream>>>(arguments)`` becomes a call of ``ptogen::Launch``, ``tile.SetValue(`` one through
``ptogen::At(tile)``, and ``TADD_IMPL(`` one of ``TADD``, so that they are recorded
(``overlay/recorder/ptogen/launch.hpp``). Assembly of the device and its
own headers (``pto/npu``), which the simulator stands in for, are left out. Comments and strings stay as they are, and
every line keeps its number."""

from __future__ import annotations

import re

OPENING = {"(": ")", "[": "]", "{": "}"}


def rewrite(text: str) -> str:
    """The text with launches and element access changed, and without what only the device has."""
    return _launches(_elements(_device(text)))


def code_of(text: str) -> str:
    """The text with the inside of comments, strings and character literals blanked, the same length."""
    out = list(text)

    def blank(match: re.Match[str]) -> None:
        for place in range(match.start(), match.end()):
            if text[place] != "\n":
                out[place] = " "

    pattern = r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|(?<![0-9a-zA-Z])\'(?:\\.|[^\'\\\n])+\''
    for match in re.finditer(pattern, text, re.DOTALL):
        blank(match)
    return "".join(out)


def _device(text: str) -> str:
    code = code_of(text)
    pieces, last = [], 0
    # A name in quotes is blank in the code.
    pattern = r"\basm\b(?:\s+volatile\b)?\s*(\()|^[ \t]*#[ \t]*include\b[^\n]*"
    own = re.compile(r'[ \t]*#[ \t]*include[ \t]*[<"]pto/npu/')
    for match in re.finditer(pattern, code, re.MULTILINE):
        if not match[1] and not own.match(text, match.start()):
            continue
        end = _matching(code, match.end(), ")") if match[1] else match.end()
        if end is not None:
            left_out = text[match.start() : end + bool(match[1])]
            pieces += [text[last : match.start()], "\n" * left_out.count("\n")]
            last = match.start() + len(left_out)
    return "".join([*pieces, text[last:]])


def _elements(text: str) -> str:
    code = code_of(text)
    pieces, last = [], 0
    element = r"(?<![\w.>:])([A-Za-z_]\w*)\s*\.\s*(SetValue|GetValue)\s*(?=\()"
    inner = r"(?:^|(?<=[;{}]))[ \t]*(T[A-Z0-9]+)(_IMPL)(?=\()"
    for match in re.finditer(f"{element}|{inner}", code, re.MULTILINE):
        pieces.append(text[last : match.start()])
        if match[3]:
            pieces.append(text[match.start() : match.start(4)])
        else:
            pieces.append(f"::ptogen::At({match[1]}).{match[2]}")
        last = match.end()
    return "".join([*pieces, text[last:]])


def _launches(text: str) -> str:
    code = code_of(text)
    pieces, last = [], 0
    place = code.find("<<<")
    while place >= 0:
        found = _launch(text, code, place)
        if found and found[0] >= last:
            start, end, replacement = found
            pieces += [text[last:start], replacement]
            last = end
        place = code.find("<<<", max(place + 3, last))
    return "".join([*pieces, text[last:]])


def _launch(text: str, code: str, place: int) -> tuple[int, int, str] | None:
    """Start, end and replacement of the launch whose ``<<<`` is at ``place``; None where it is something else."""
    start = _callee(code, place)
    close = _matching(code, place + 3, ">>>")
    if start is None or close is None:
        return None
    opening = re.compile(r"\s*\(").match(code, close + 3)
    if opening is None:
        return None
    end = _matching(code, opening.end(), ")")
    if end is None:
        return None
    callee = text[start:place]
    blocks = _first(code, text, place + 3, close)
    arguments = text[opening.end() : end]
    name = re.sub(r"\s+", " ", re.sub(r"//[^\n]*", "", callee)).strip().replace("\\", "").replace('"', "'")
    label = f'"{name}({re.sub(r"[^!-~]+", " ", arguments).strip().replace(chr(92), "").replace(chr(34), chr(39))})"'
    lines = text[start:end].count("\n") - callee.count("\n") - blocks.count("\n") - arguments.count("\n")
    # Inside a macro every line but the last ends with a backslash.
    lost = ("\\\n" if "\\\n" in text[start:end] else "\n") * lines
    comma = ", " if arguments.strip() else ""
    call = f"[&](auto&&... ptogen_arguments) {{ {callee}(ptogen_arguments...); }}"
    return start, end + 1, f"::ptogen::Launch({label}, ({blocks}), {call}{comma}{arguments}{lost})"


def _callee(code: str, place: int) -> int | None:
    """Where the name before ``<<<`` starts, its template arguments and qualifiers included."""
    at = place - 1
    while at >= 0 and code[at].isspace():
        at -= 1
    if at >= 0 and code[at] == ">":
        depth = 0
        while at >= 0:
            if code[at] == ">" and code[at - 1] != "-":
                depth += 1
            elif code[at] == "<":
                depth -= 1
            elif code[at] == ")":
                at = _opening(code, at)
            elif code[at] in ";{}":
                return None
            if depth == 0:
                break
            at -= 1
        at -= 1
        while at >= 0 and code[at].isspace():
            at -= 1
    if at >= 0 and code[at] == ")":  # a macro that makes the name, such as CONCAT(run, CASE)
        at = _opening(code, at) - 1
        while at >= 0 and code[at].isspace():
            at -= 1
    name = re.search(r"[A-Za-z_](?:[\w:]|##)*$", code[: at + 1])
    return name.start() if name else None


def _opening(code: str, at: int) -> int:
    depth = 0
    while at >= 0:
        depth += (code[at] == ")") - (code[at] == "(")
        if depth == 0:
            return at
        at -= 1
    return at


def _matching(code: str, at: int, closing: str) -> int | None:
    """Where ``closing`` stands behind ``at``, outside brackets."""
    stack: list[str] = []
    while at < len(code):
        sign = code[at]
        if not stack and code.startswith(closing, at):
            return at
        if sign in OPENING:
            stack.append(OPENING[sign])
        elif stack and sign == stack[-1]:
            stack.pop()
        elif sign == ";" and not stack:
            return None
        at += 1
    return None


def _first(code: str, text: str, start: int, end: int) -> str:
    """The first of the arguments between two places."""
    comma = _matching(code[:end], start, ",")
    return text[start : end if comma is None else comma].strip()
