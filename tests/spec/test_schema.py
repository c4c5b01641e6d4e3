"""The JSON Schema says what the loader says, as far as a schema can."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner
from fake_ops import OPS

from ptogen.cli.schema import schema as command
from ptogen.errors import PtogenError
from ptogen.ops import catalogue
from ptogen.spec.load import load_text
from ptogen.spec.schema import schema

FIXTURES = Path(__file__).parent / "fixtures"
CHECKED = {
    "type",
    "enum",
    "const",
    "pattern",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
}
CHECKED |= {
    "properties",
    "required",
    "additionalProperties",
    "items",
    "prefixItems",
    "minItems",
    "maxItems",
    "uniqueItems",
}
CHECKED |= {"anyOf", "oneOf", "$ref"}
WORDS = {"title", "description", "default", "$schema", "$defs"}
TYPES = {"object": dict, "array": list, "string": str, "integer": int, "boolean": bool, "number": (int, float)}


def accepts(root: dict[str, Any], rule: dict[str, Any], value: Any) -> bool:
    """A validator for the keywords that the schema uses; another keyword fails the test."""
    assert not set(rule) - CHECKED - WORDS, f"unknown keywords {set(rule) - CHECKED - WORDS}"
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    checks = [
        "type" not in rule
        or (isinstance(value, TYPES[rule["type"]]) and (rule["type"] == "boolean") == isinstance(value, bool)),
        "enum" not in rule or value in rule["enum"],
        "const" not in rule or value == rule["const"],
        "pattern" not in rule or not isinstance(value, str) or re.search(rule["pattern"], value) is not None,
        not number or rule.get("minimum", value) <= value <= rule.get("maximum", value),
        not number or rule.get("exclusiveMinimum", value - 1) < value < rule.get("exclusiveMaximum", value + 1),
        not number or value % rule.get("multipleOf", 1) == 0,
        "anyOf" not in rule or any(accepts(root, each, value) for each in rule["anyOf"]),
        "oneOf" not in rule or sum(accepts(root, each, value) for each in rule["oneOf"]) == 1,
    ]
    if "$ref" in rule:
        target: Any = root
        for part in rule["$ref"].removeprefix("#/").split("/"):
            target = target[part]
        checks.append(accepts(root, target, value))
    if isinstance(value, dict):
        known, other = rule.get("properties", {}), rule.get("additionalProperties", True)
        checks += [key in value for key in rule.get("required", ())]
        for key, item in value.items():
            extra = other if isinstance(other, bool) else accepts(root, other, item)
            checks.append(accepts(root, known[key], item) if key in known else extra)
    if isinstance(value, list):
        first = rule.get("prefixItems", [])
        checks += [accepts(root, each, item) for each, item in zip(first, value, strict=False)]
        checks += [accepts(root, rule.get("items", {}), item) for item in value[len(first) :]]
        checks.append(rule.get("minItems", 0) <= len(value) <= rule.get("maxItems", len(value)))
        checks.append(not rule.get("uniqueItems") or len({str(item) for item in value}) == len(value))
    return all(checks)


def valid(text: str) -> bool:
    root = schema(OPS)
    return accepts(root, root, yaml.safe_load(text))


HEAD = "op: sort\nplatform: a2a3\n"


def test_what_the_loader_takes():
    for text in (
        (FIXTURES / "fine.yaml").read_text(),
        HEAD + "name: mine\ndtype: half\nrows: 2\ncols: 32\n",
        "op: merge\nplatform: [a2a3]\nmode: auto\ndtype: float\nlists: [1, 2]\nexhausted: true\nblock_len: 16\n",
    ):
        assert load_text(text, "spec.yaml", ops=OPS)
        assert valid(text)


@pytest.mark.parametrize(
    "text",
    [
        "op: sort\ndtype: half\nrows: 2\ncols: 32\n",
        "op: srot\nplatform: a2a3\ndtype: half\nrows: 2\ncols: 32\n",
        HEAD + "dtype: half\nrows: 2\n",
        HEAD + "dtype: half\nrows: 2\ncols: 32\nfoo: 1\n",
        HEAD + "dtype: half\nrows: 2\ncols: 32\nvalid: [1]\n",
        HEAD + "dtype: half\nrows: 2\ncols: 32\nvalid: ~\n",
        HEAD + "dtype: half\nrows: 2\ncols: 32\nvalid: [1, 2, 3]\n",
        HEAD + "dtype: half\nrows: 2\ncols: 32\ncases: [{dtype: half, rows: 2, cols: 32}]\n",
        HEAD + "dtype: fp16\nrows: 2\ncols: 32\n",
        HEAD + "dtype: half\nrows: 0\ncols: 32\n",
        HEAD + "dtype: half\nrows: '2'\ncols: 32\n",
        HEAD + "dtype: half\nrows: 2\ncols: 32\nidx: no\n",
        HEAD + "dtype: half\nrows: 2\ncols: 32\nname: has space\n",
        HEAD + "dtype: half\nrows: 2\ncols: 32\ndata: tie\n",
        HEAD + "dtype: half\nrows: 2\ncols: 32\nub: {src: -1}\n",
        HEAD + "cases: []\n",
        "op: sort\nplatform: [a2a3, a2a3]\ndtype: half\nrows: 2\ncols: 32\n",
        "[]",
    ],
)
def test_what_the_loader_refuses(text):
    assert not valid(text)
    with pytest.raises(PtogenError):
        load_text(text, "spec.yaml", ops=OPS)


def test_every_field_is_described():
    root = schema()
    for name, op in catalogue().items():
        case = root["$defs"][f"{name}_case"]
        assert set(case["properties"]) == set(op.Case.model_fields)
        assert all("description" in field for field in case["properties"].values())
    assert [each["title"] for each in root["oneOf"]] == list(catalogue())


def test_command():
    result = CliRunner().invoke(command)
    assert result.exit_code == 0 and json.loads(result.stdout) == schema()
