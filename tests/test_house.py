"""Who may import whom."""

from __future__ import annotations

import ast
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "ptogen"
MODULES = {
    ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__"): path
    for path in PACKAGE.rglob("*.py")
}


def imports(module: str) -> set[str]:
    """The modules of ptogen that one imports when it is imported, and those that it names types of."""
    found = set()
    for node in ast.parse(MODULES[module].read_text(encoding="utf-8")).body:
        for inner in ast.walk(node) if isinstance(node, ast.If) else (node,):
            if isinstance(inner, ast.ImportFrom) and inner.module:
                names = (f"{inner.module}.{alias.name}" for alias in inner.names)
                found |= {name if name in MODULES else inner.module for name in names}
            elif isinstance(inner, ast.Import):
                found |= {alias.name for alias in inner.names}
    return found & MODULES.keys() - {module}


def test_no_modules_import_each_other_in_a_circle() -> None:
    # The package itself names its functions for those who read it, and holds the version, which everything may ask for.
    graph = {module: imports(module) - {"ptogen"} for module in MODULES if module != "ptogen"}
    assert len(graph) > 100
    tuple(TopologicalSorter(graph).static_order())


@pytest.mark.parametrize(
    ("room", "may_not"),
    [
        ("ptogen.check", ("ptogen.plan", "ptogen.render", "ptogen.sanitize", "ptogen.backend")),
        ("ptogen.plan", ("ptogen.check", "ptogen.render", "ptogen.backend")),
        ("ptogen.ops", ("ptogen.plan", "ptogen.graph", "ptogen.check", "ptogen.render")),
        ("ptogen.golden", ("ptogen.ops", "ptogen.plan")),
        ("ptogen.render", ("ptogen.check", "ptogen.backend", "ptogen.cli")),
    ],
)
def test_a_room_imports_nothing_of_those_above_it(room: str, may_not: tuple[str, ...]) -> None:
    """The checkers share nothing with the planner but the model of a plan."""
    own = [module for module in MODULES if module == room or module.startswith(f"{room}.")]
    assert own
    for module in own:
        others = imports(module) - {"ptogen.plan.model"}
        assert not [other for other in others if other.startswith(may_not)], module
