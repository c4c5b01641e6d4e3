"""ptogen: planned, checked and executed PTO kernels from a short YAML spec.

People who script find the functions of :mod:`ptogen.api` here. Each is imported when it is first used, so that
``import ptogen`` costs nothing.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ptogen.api import check_plans, load, plan_suite, render_suite, run, write
    from ptogen.errors import PtogenError

__version__ = "0.1.0"

__all__ = ["PtogenError", "check_plans", "load", "plan_suite", "render_suite", "run", "write"]


def __getattr__(name: str) -> Any:
    if name == "PtogenError":
        from ptogen.errors import PtogenError

        return PtogenError
    if name in __all__:
        from ptogen import api

        return getattr(api, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
