"""The host side of a rendered suite: ``main.cpp`` and ``gen_data.py``.

A banner is plain text, without comment marks; each file puts it into comments of its own language.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Sequence
from functools import cache
from typing import Any

from ptogen.ops.sizing import Role, Tensor
from ptogen.plan.model import KernelPlan
from ptogen.render.environment import GOLDEN, GOLDEN_PACKAGE, environment
from ptogen.render.kernel import Kernel
from ptogen.spec.model import Suite

LINE = 120
CODING = re.compile(r"coding[:=]")
"""What makes a comment in the first two lines a declaration of the encoding (PEP 263)."""


def main_cpp(suite: Suite, plans: Sequence[KernelPlan], kernels: Sequence[Kernel], banner: str) -> str:
    """The host program, one test a plan; clang-format lays it out."""
    called = {case: kernel.name for kernel in kernels for case in kernel.cases}
    cases = [
        {
            "name": plan.case,
            "kernel": called[plan.case],
            "tensors": [_tensor(tensor) for tensor in plan.tensors],
            "arguments": "".join(f"gm[{place}], " for place in range(len(plan.tensors))),
        }
        for plan in plans
    ]
    template = environment().get_template("st/main.cpp.j2")
    return template.render(
        banner=banner.splitlines(), name=suite.name, test_suite=suite.test_suite, cases=cases, kernels=kernels
    )


def _tensor(tensor: Tensor) -> str:
    """The initializer of a ``TensorSpec``, in the order that a comment in the template names."""
    shown = tensor.record or tensor.dtype
    role, unit = "kOutput" if tensor.role is Role.OUT else "kInput", "kRecord" if tensor.record else "kElement"
    return (
        f'{{"{tensor.name}", Role::{role}, Unit::{unit}, Type::k{shown.name.capitalize()}, {tensor.dtype.bytes}, '
        f"{tensor.rows}, {tensor.cols}, {tensor.valid_rows}, {tensor.valid_cols}{', true' if tensor.masked else ''}}}"
    )


def gen_data(suite: Suite, plans: Sequence[KernelPlan], banner: str) -> str:
    """The data generator, which holds the golden code itself; its layout is final."""
    cases = [
        _case(f"{suite.test_suite}.{plan.case}", suite.graph.golden_params(case, suite.base))
        for case, plan in zip(suite.cases, plans, strict=True)
    ]
    tensors = [tensor for plan in plans for tensor in plan.tensors]
    outputs = {tensor.name for tensor in tensors if tensor.role is Role.OUT}
    inputs = {tensor.name for tensor in tensors if tensor.role is Role.IN}
    if outputs & inputs:
        raise AssertionError(f"input of one case and output of another: {sorted(outputs & inputs)}")
    lines = banner.splitlines()
    if CODING.search("\n".join(lines[:1])):
        # Python would take the second line of a file for the name of its encoding.
        lines = ["", *lines]
    return (
        environment()
        .get_template("st/gen_data.py.j2")
        .render(
            banner=lines,
            source=golden_source(suite.graph.golden_module, extra_imports=("import os",)),
            outputs=_literal(tuple(sorted(outputs))),
            cases=cases,
        )
    )


@cache
def golden_source(module: str, extra_imports: tuple[str, ...] = ()) -> str:
    """A module of ``ptogen.golden`` and those that it imports from there as one text: imports, then each module's code.

    Module docstrings become comments. A golden module imports from its own package by ``from ptogen.golden.x import y``
    only.
    """
    imports = set(extra_imports)
    sections: dict[str, str] = {}

    def add(name: str) -> None:
        if name in sections:
            return
        text = (GOLDEN / f"{name}.py").read_text(encoding="utf-8")
        tree = ast.parse(text)
        head = [node for node in tree.body if isinstance(node, (ast.Import, ast.ImportFrom))]
        for node in head:
            source = node.module or "" if isinstance(node, ast.ImportFrom) else ""
            if source.startswith(GOLDEN_PACKAGE):
                if any(alias.asname for alias in node.names):
                    raise AssertionError(f"{name}.py renames what it imports from {source}")
                add(source.removeprefix(GOLDEN_PACKAGE))
            elif source != "__future__":
                imports.add(ast.unparse(node))
        comment = "\n".join(f"# {line}".rstrip() for line in (ast.get_docstring(tree) or name).splitlines())
        code = "\n".join(text.splitlines()[max(node.end_lineno or 0 for node in head) :]).strip()
        sections[name] = f"{comment}\n\n{code}"

    add(module)
    standard = sorted(line for line in imports if line.split()[1].split(".")[0] in sys.stdlib_module_names)
    foreign = sorted(imports - set(standard))
    groups = [["from __future__ import annotations"], standard, foreign]
    heading = "\n\n".join("\n".join(group) for group in groups if group)
    return heading + "\n\n" + "\n\n\n".join(sections.values())


def _case(directory: str, params: dict[str, Any]) -> str:
    """An entry of CASES in the layout of Black."""
    items = [f"{_literal(key)}: {_literal(value)}" for key, value in params.items()]
    name, mapping = _literal(directory), "{" + ", ".join(items) + "}"
    line = f"    ({name}, {mapping}),"
    if len(line) <= LINE:
        return line
    lines = ["    (", f"        {name},", f"        {mapping},"]
    if len(lines[-1]) > LINE:
        lines[-1:] = ["        {", *(_item(key, value) for key, value in params.items()), "        },"]
    return "\n".join([*lines, "    ),"])


def _item(key: str, value: Any) -> str:
    """A line of a mapping that is spread over several; long text is cut into pieces."""
    indent = " " * 12
    line = f"{indent}{_literal(key)}: {_literal(value)},"
    if len(line) <= LINE or not isinstance(value, str):
        return line
    pieces = [f"{indent}    {_literal(value[at : at + 100])}" for at in range(0, len(value), 100)]
    return "\n".join([f"{indent}{_literal(key)}: (", *pieces, f"{indent}),"])


def _literal(value: Any) -> str:
    """A Python literal in ASCII and with double quotes where they need no escape."""
    if isinstance(value, str):
        text = ascii(value)
        return f'"{text[1:-1]}"' if text[0] == "'" and '"' not in text else text
    if isinstance(value, tuple):
        return "(" + ", ".join(map(_literal, value)) + ("," if len(value) == 1 else "") + ")"
    if isinstance(value, list):
        return "[" + ", ".join(map(_literal, value)) + "]"
    if value is None or isinstance(value, (bool, int, float)):
        return repr(value)
    raise AssertionError(f"not a plain value: {value!r}")
