"""The graph of a suite: values, and the nodes that make them out of others.

``op:`` is the graph of one node, and what a stage asks of a case, such as its tensors, it asks of the graph.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from ptogen.ops.base import Op
from ptogen.ops.case import CaseFields, Fault
from ptogen.ops.sizing import Sizing, Tensor
from ptogen.platforms import Platform


@dataclass(frozen=True)
class Node:
    """An op on values.

    Attributes:
        op: the entry of the catalogue.
        inputs, outputs: (slot, value) of what it reads and of what it makes.
    """

    op: Op
    inputs: tuple[tuple[str, str], ...]
    outputs: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Graph:
    """Values are named once; each is an input or an output of one node.

    Attributes:
        name: of the kernel; that of the op where there is one node.
        inputs, outputs: values that stand in GM.
        nodes: each behind those whose values it reads.
    """

    name: str
    inputs: tuple[str, ...]
    nodes: tuple[Node, ...]
    outputs: tuple[str, ...]

    @staticmethod
    @cache
    def of(op: Op) -> Graph:
        """The graph of one node, whose values are called as the slots are."""
        slots = {slot.name: slot.role for form in op.forms for slot in form.slots}
        inputs = tuple(name for name, role in slots.items() if role.reads)
        outputs = tuple(name for name, role in slots.items() if role.writes)
        node = Node(op, tuple((name, name) for name in inputs), tuple((name, name) for name in outputs))
        return Graph(op.name, inputs, (node,), outputs)

    @property
    def ops(self) -> tuple[Op, ...]:
        """The op of each node."""
        return tuple(node.op for node in self.nodes)

    @property
    def _op(self) -> Op:
        (node,) = self.nodes
        return node.op

    # What a case means for the graph: see the methods of these names in :class:`ptogen.ops.base.Op`.

    @property
    def Case(self) -> type[CaseFields]:
        return self._op.Case

    @property
    def golden_module(self) -> str:
        return self._op.golden_module

    def rules(self, case: Any, platform: Platform, mode: str, base: Path) -> list[Fault]:
        return self._op.rules(case, platform, mode, base)

    def tensors(self, case: Any) -> tuple[Tensor, ...]:
        return self._op.tensors(case)

    def sizing(self, case: Any, platform: Platform) -> Sizing:
        return self._op.sizing(case, platform)

    def golden_params(self, case: Any, base: Path) -> dict[str, Any]:
        return self._op.golden_params(case, base)

    def shapes(self, case: Any) -> tuple[tuple[str, int], tuple[str, int]]:
        return self._op.shapes(case)

    def resized(self, case: Any, rows: int, cols: int) -> Any:
        return self._op.resized(case, rows, cols)

    def requires(self, case: Any, platform: Platform) -> tuple[str, ...]:
        return self._op.requires(case, platform)

    def defects_of(self, case: Any, platform: Platform) -> tuple[str, ...]:
        return self._op.defects_of(case, platform)
