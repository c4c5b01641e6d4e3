"""An NPU's kernel file as a compiler of the host can read it: a copy in the cache, in which two things are changed.

``Run<...><<<1, nullptr, stream>>>(...)`` becomes a call; and where an element of a tile is set, what the device does by
itself is said. Every line keeps its number, and the copy names the original to the compiler.
"""

from __future__ import annotations

import re
from pathlib import Path

LAUNCH = re.compile(r"<<<[^<>;{}]*>>>")
ELEMENT = re.compile(r"\b(\w+)\.SetValue\([^;]*\);")
COPIED = re.compile(rf"{LAUNCH.pattern}|{ELEMENT.pattern}")


def for_simulator(text: str, path: str) -> str | None:
    """The text for the CPU simulator; None where it can be compiled as it stands.

    In auto mode the simulator gives a tile its memory in ``data()``, which ``SetValue`` does not call (cpu/TAssign.hpp,
    pto/common/pto_tile.hpp).

    Args:
        text: of the kernel file.
        path: what a compiler shall call it.
    """
    if not COPIED.search(text):
        return None
    return _named(ELEMENT.sub(lambda match: f"(void){match[1]}.data(), {match[0]}", _calls(text)), path)


def for_cost_model(text: str, path: str) -> str:
    """The text for pto-isa's cost model, whose tiles have no memory at all: no element is set."""
    return _named(ELEMENT.sub(lambda match: ";" + "\n" * match[0].count("\n"), _calls(text)), path)


def _calls(text: str) -> str:
    return LAUNCH.sub(lambda match: "\n" * match[0].count("\n"), text)


def _named(text: str, path: str) -> str:
    return f"#line 1 {quoted(path)}\n{text}"


def quoted(path: str) -> str:
    """A path as a C++ string."""
    return '"' + path.replace("\\", "\\\\").replace('"', '\\"') + '"'


def read(file: Path) -> str:
    """A kernel file's text, whatever its bytes.

    Raises:
        OSError: it cannot be read.
    """
    return file.read_bytes().decode("utf-8", "surrogateescape")
