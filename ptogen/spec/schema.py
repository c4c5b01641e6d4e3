"""JSON Schema of the spec file, for editors; made from the catalogue, so that it cannot lag behind the loader."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ptogen.dtypes import ALIASES, DTYPES
from ptogen.ops import catalogue
from ptogen.ops.base import Op
from ptogen.ops.case import DATA_KINDS
from ptogen.platforms import PLATFORMS
from ptogen.spec.case import NAME, is_dtype
from ptogen.spec.load import MODES


def schema(ops: Mapping[str, Op] | None = None) -> dict[str, Any]:
    """JSON Schema (draft 2020-12) of a spec file: for each op of the catalogue a list of cases or a single case.

    It says what an editor can use: keys, types and allowed words. What needs more than one field, such as a shape rule
    of an op, only the loader knows.
    """
    definitions: dict[str, Any] = {"head": {"properties": _head()}}
    variants = []
    for op in (catalogue() if ops is None else ops).values():
        case = _case(op, definitions)
        definitions[f"{op.name}_case"] = case
        head = {"op": {"const": op.name}, **{key: {"$ref": f"#/$defs/head/properties/{key}"} for key in _head()}}
        listed = {
            "title": f"{op.name}, a list of cases",
            "type": "object",
            "properties": {
                **head,
                "cases": {"type": "array", "minItems": 1, "items": {"$ref": f"#/$defs/{op.name}_case"}},
            },
            "required": ["op", "platform", "cases"],
            "additionalProperties": False,
        }
        # `name` is the suite's where the fields of the only case stand at the top.
        single = {
            "title": f"{op.name}, a single case",
            "type": "object",
            "properties": {**case["properties"], **head},
            "required": ["op", "platform", *case.get("required", [])],
            "additionalProperties": False,
        }
        variants.append({"title": op.name, "oneOf": [listed, single]})
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "ptogen spec",
        "description": "One PTO operation, one or more platforms, one mode, any number of cases",
        "type": "object",
        "oneOf": variants,
        "$defs": definitions,
    }


def _head() -> dict[str, Any]:
    platform = {"enum": list(PLATFORMS)}
    listed = {"type": "array", "items": platform, "minItems": 1, "uniqueItems": True}
    return {
        "platform": {"anyOf": [platform, listed], "description": "one platform, or a list: one suite each"},
        "mode": {
            "enum": list(MODES),
            "default": "manual",
            "description": "manual: explicit addresses and flags; auto: the compiler places tiles and flags",
        },
        "name": {**_name(), "description": "ST directory and suite name; default: the op"},
    }


def _name() -> dict[str, Any]:
    return {"type": "string", "pattern": f"^{NAME.pattern}$"}


def _case(op: Op, definitions: dict[str, Any]) -> dict[str, Any]:
    """The op's model, with what the loader adds to it: names, dtypes, kinds of data, addresses from 0."""
    model = op.Case.model_json_schema(ref_template="#/$defs/{model}")
    definitions.update(model.pop("$defs", {}))
    model.pop("description", None)
    fields = {key: _without_null(field) for key, field in model["properties"].items()}
    extra: dict[str, dict[str, Any]] = {key: {"enum": [*DTYPES, *ALIASES]} for key in fields if is_dtype(key)}
    extra["name"] = _name()
    extra["data"] = {"anyOf": [{"enum": list(DATA_KINDS)}, {"pattern": r"\.npy$"}]}
    extra["ub"] = {"additionalProperties": {"type": "integer", "minimum": 0}}
    model["properties"] = {key: {**field, **extra.get(key, {})} for key, field in fields.items()}
    return model


def _without_null(field: dict[str, Any]) -> dict[str, Any]:
    """Absence is how a spec leaves a field out; a null is a forgotten value."""
    field = {key: value for key, value in field.items() if key != "title" and not (key == "default" and value is None)}
    arms = [arm for arm in field.get("anyOf", ()) if arm != {"type": "null"}]
    if len(arms) == 1:
        del field["anyOf"]
        return {**arms[0], **field}
    return {**field, "anyOf": arms} if arms else field
