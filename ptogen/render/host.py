"""The host side of a rendered suite: ``main.cpp`` and ``gen_data.py``.

A banner is plain text, without comment marks; each file puts it into comments of its own language.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from functools import cache
from typing import Any

from ptogen import __version__
from ptogen.ops.sizing import Role, Tensor
from ptogen.plan.model import KernelPlan
from ptogen.render.environment import environment
from ptogen.render.golden import golden_source
from ptogen.render.instances import TYPE, Sheet, called, families
from ptogen.render.suite import shared_file
from ptogen.spec.model import Suite
from ptogen.tiles import Layout

LINE = 120
CODING = re.compile(r"coding[:=]")
"""What makes a comment in the first two lines a declaration of the encoding (PEP 263)."""


@cache
def harness(license_header: str | None) -> tuple[str, str]:
    """Path and text of the header with the host side that all suites of a tree share."""
    text = f"Part of ptogen {__version__}; render the suites again to change it."
    lines = f"{license_header.rstrip()}\n\n{text}" if license_header else text
    template = environment().get_template("st/ptogen_st.hpp.j2")
    return shared_file("tests/common/ptogen_st.hpp", template.render(banner=lines.splitlines()))


def main_cpp(suite: Suite, plans: Sequence[KernelPlan], banner: str, harness: str) -> str:
    """The host program, one test a plan; clang-format lays it out. ``harness`` is the name of the header."""
    extents = [(tensor.name, _extent(tensor)) for plan in plans for tensor in plan.tensors]
    partial = {name for name, extent in extents if extent[:2] != extent[2:]}
    found = families([_tensors(plan, partial) for plan in plans])
    calls: dict[int, str] = {}
    functions = []
    for number, family in enumerate(found, 1):
        name = f"Check{number if len(found) > 1 else ''}"
        parameters = [
            f"{'Type' if parameter.axis == TYPE else 'size_t'} {called(parameter, 'type', '')}"
            for parameter in family.parameters
        ]
        lines = family.text("type", "").splitlines()
        functions.append({"name": name, "parameters": ", ".join(parameters), "lines": lines})
        for place, member in enumerate(family.members):
            calls[member] = f"{name}({', '.join(family.arguments(place))})"
    cases = [{"name": plan.case, "call": calls[number]} for number, plan in enumerate(plans)]
    template = environment().get_template("st/main.cpp.j2")
    return template.render(
        banner=banner.splitlines(),
        harness=harness,
        name=suite.name,
        test_suite=suite.test_suite,
        families=functions,
        cases=cases,
    )


def _tensors(plan: KernelPlan, partial: Collection[str]) -> Sheet:
    """The tensors of a case as the harness takes them, one a line; ``partial`` are those that give a valid region."""
    sheet = Sheet()
    lines = []
    for tensor in plan.tensors:
        if tensor.record not in (None, tensor.dtype):
            raise AssertionError(f"{tensor.name} has elements of {tensor.dtype} and records of {tensor.record}")
        kind = {Role.IN: "Input", Role.OUT: "Output", Role.INOUT: "InOut"}[tensor.role]
        lines_, pitch, valid_lines, valid = _extent(tensor)
        words = [f'"{tensor.name}"', sheet.slot(tensor.name, TYPE, f"k{tensor.dtype.name.capitalize()}")]
        sizes = [("Rows", lines_), ("Cols", pitch)]
        if tensor.role.writes and tensor.name in partial:
            sizes += [("ValidRows", valid_lines), ("ValidCols", valid)]
        words += [sheet.slot(tensor.name, axis, size) for axis, size in sizes]
        line = f"{kind}({', '.join(words)})"
        line += ".Records()" if tensor.record else ""
        line += f".Within({tensor.ulp:g})" if tensor.ulp else ""
        line += f".Masked({sheet.slot(tensor.name, 'Bytes', int(tensor.masked))})" if tensor.masked else ""
        lines.append(line)
    sheet.text = "\n".join(lines)
    return sheet


def _extent(tensor: Tensor) -> tuple[int, int, int, int]:
    """Lines and elements of a line, then how many of them are valid; a line is a column where that is contiguous."""
    if tensor.layout is Layout.COL_MAJOR:
        return tensor.cols, tensor.strides[1], tensor.valid_cols, tensor.valid_rows
    return tensor.rows, tensor.strides[0], tensor.valid_rows, tensor.valid_cols


def files(plans: Sequence[KernelPlan]) -> dict[str, str]:
    """The file of each array of ``generate``, as the harness counts the tensors: what it is called without ``.bin``."""
    found: dict[str, str] = {}
    for plan in plans:
        inputs = [tensor for tensor in plan.tensors if tensor.role.reads]
        outputs = [tensor for tensor in plan.tensors if tensor.role.writes]
        names = {tensor.name: f"input{number}" for number, tensor in enumerate(inputs, 1)}
        for number, tensor in enumerate(outputs, 1):
            suffix = number if number > 1 else ""
            names[f"golden_{tensor.name}" if tensor.role.reads else tensor.name] = f"golden{suffix}"
            if tensor.masked:
                names[f"mask_{tensor.name}"] = f"mask{suffix}"
        for name, file in names.items():
            if found.setdefault(name, file) != file:
                raise AssertionError(f"{name} is {found[name]} of one case and {file} of another")
    return found


def gen_data(suite: Suite, plans: Sequence[KernelPlan], banner: str) -> str:
    """The data generator, which holds the golden code itself; its layout is final."""
    params = suite.data_params
    usual = _usual(params)
    cases = [
        _entry(plan.case, {key: value for key, value in own.items() if key not in usual or usual[key] != value})
        for own, plan in zip(params, plans, strict=True)
    ]
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
            files=files(plans),
            suite=_literal(suite.test_suite),
            usual=_mapping(usual, len("USUAL = "), ""),
            cases=cases,
        )
    )


def _usual(params: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """What all cases have alike; of words and numbers, what most of them have. Shapes stand with their case."""
    usual = {}
    for key in params[0]:
        values = [one[key] for one in params if key in one]
        most = max(values, key=values.count)
        if len(values) == len(params) and (values.count(most) == len(params) or isinstance(most, (str, int))):
            usual[key] = most
    return usual


def _entry(key: str, params: dict[str, Any]) -> str:
    """A line of CASES, in the layout of Black."""
    start = f"    {_literal(key)}: "
    return f"{start}{_mapping(params, len(start) + 1, '    ')},"


def _mapping(params: dict[str, Any], used: int, indent: str) -> str:
    """A mapping on a line on which so many letters are taken, or spread over several."""
    line = _literal(params)
    if used + len(line) <= LINE:
        return line
    return "\n".join(["{", *(_item(key, value, f"{indent}    ") for key, value in params.items()), f"{indent}}}"])


def _item(key: str, value: Any, indent: str) -> str:
    """A line of a mapping that is spread over several; long text is cut into pieces."""
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
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_literal(key)}: {_literal(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_literal, value)) + "]"
    if value is None or isinstance(value, (bool, int, float)):
        return repr(value)
    raise AssertionError(f"not a plain value: {value!r}")
