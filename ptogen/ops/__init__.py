"""The catalogue: one file a family; everything ptogen knows of an instruction stands there and nowhere else.

A module of this package whose ``RECORDS`` is a tuple of :class:`~ptogen.ops.record.Record` is part of it; those of them
that are an :class:`~ptogen.ops.base.Op` ptogen renders.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from ptogen.ops.base import Op
from ptogen.ops.record import Record


@cache
def instructions() -> dict[str, Record]:
    """Every record by the ISA's name, sorted."""
    modules = (import_module(f"{__name__}.{module.name}") for module in iter_modules(__path__))
    records = {record.instruction: record for module in modules for record in getattr(module, "RECORDS", ())}
    return dict(sorted(records.items()))


@cache
def catalogue() -> dict[str, Op]:
    """Every op, which is an instruction that ptogen renders, by the spec's name, sorted."""
    ops = {record.name: record for record in instructions().values() if isinstance(record, Op)}
    return dict(sorted(ops.items()))
