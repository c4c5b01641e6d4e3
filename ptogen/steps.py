"""Lets the packages ``ptogen.plan``, ``ptogen.check`` and ``ptogen.render`` be called as the steps that they hold."""

from __future__ import annotations

from types import ModuleType
from typing import Any


class Step(ModuleType):
    """A package that is also the function of its name in :mod:`ptogen.api`."""

    def __call__(self, *args: Any, **options: Any) -> Any:
        from ptogen import api

        return getattr(api, self.__name__.rpartition(".")[2])(*args, **options)
