"""The catalogue: one file a family; everything ptogen knows of an op stands there and nowhere else.

A module of this package whose ``OPS`` is a tuple of :class:`~ptogen.ops.base.Op` is part of the catalogue.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from ptogen.ops.base import Op


@cache
def catalogue() -> dict[str, Op]:
    """Every op by the spec's name, sorted."""
    modules = (import_module(f"{__name__}.{module.name}") for module in iter_modules(__path__))
    ops = {op.name: op for module in modules for op in getattr(module, "OPS", ())}
    return dict(sorted(ops.items()))
