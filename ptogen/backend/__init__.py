"""Where generated C++ is compiled and run: finding headers and compilers, building, running, reading results."""

from __future__ import annotations

from importlib import import_module
from typing import Any

BACKENDS = ("cpu-sim", "npu-static")
"""Names; the first is the one that serves where none is asked for."""


def module(name: str) -> Any:
    """The module of a backend, which has ``check`` and may have ``serves``."""
    return import_module(f"ptogen.backend.{name.replace('-', '_')}")
