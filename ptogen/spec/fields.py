"""Validates the fields of a case with the op's own model and says every fault in the words of the spec.

The models are strict, so nothing is converted. Pydantic's messages never reach the user: they name Python types and not
what was written.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import Any, Literal, get_args, get_origin

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from ptogen.ops.case import CaseFields
from ptogen.spec.document import Document
from ptogen.spec.faults import Faults, clip, listing, quote, suggest
from ptogen.spec.model import Path
from ptogen.spec.scalars import Odd, Scalar, resolved

_WANTED = {
    "bool": "true or false",
    "dict": "a map",
    "float": "a number",
    "int": "an integer",
    "list": "a list",
    "string": "text",
    "tuple": "a list",
}
_LENGTH = ("missing", "too_short", "too_long")
_BOUNDS = {
    "greater_than_equal": ("ge", 0, "less than {}", "write {} or more"),
    "greater_than": ("gt", 1, "less than {}", "write {} or more"),
    "less_than_equal": ("le", 0, "more than {}", "write {} or less"),
    "less_than": ("lt", -1, "more than {}", "write {} or less"),
    "multiple_of": ("multiple_of", 0, "not a multiple of {}", "write a multiple of {}"),
}
"""Pydantic's name of a broken bound: its limit, the step from there to the last integer allowed, and our words."""


def build(
    model: type[CaseFields], data: dict[str, Any], path: Path, document: Document, faults: Faults, given: set[str]
) -> CaseFields | None:
    """The case in ``data``, whose place is ``path``; None where a field is missing or wrong.

    ``given`` are the fields that stand in the spec, also those that ``data`` lacks because a fault was told already.
    """
    fields = model.model_fields
    try:
        return model.model_validate({key: shaped(fields[key].annotation, value) for key, value in data.items()})
    except ValidationError as error:
        errors = error.errors(include_url=False, include_input=False)
    missing: list[str] = []
    told: dict[Path, list[tuple[str, str | None]]] = {}
    for item in errors:
        if item["type"] == "missing" and len(item["loc"]) == 1:
            missing.append(str(item["loc"][0]))
            continue
        where = _inside(data, item["loc"])
        if item["type"] in ("too_short", "too_long") and _long_enough(item, data, where):
            continue
        fact = _explain(item, where, model, data, document.scalars.get((*path, *where)))
        if fact not in told.setdefault(where, []):
            told[where].append(fact)
    for where, facts in told.items():
        message, hint = facts[0] if len(facts) == 1 else (f"{_label(where)} does not fit the field", None)
        field = str(where[0]) if where else ""
        if hint is None and field in fields and fields[field].description:
            hint = f"{field}: {fields[field].description}"
        faults.add("PTG106", message, document.marks.at((*path, *where)), hint)
    if missing := [name for name in missing if name not in given]:
        message = f"{listing(missing)} {'is' if len(missing) == 1 else 'are'} missing"
        hints = [f"{name}: {fields[name].description}" for name in missing if fields[name].description]
        faults.add("PTG107", message, document.marks.at(path), "\n".join(hints) or None)
    return None


def wrong_choice(label: str, value: Any, scalar: Scalar | None, allowed: Collection[str]) -> tuple[str, str | None]:
    """Message and hint for a value that is not one of those allowed."""
    message, hint = _not(label, f"one of {', '.join(allowed)}", value, scalar), "choose one of these"
    text = scalar.text if scalar else ""
    if isinstance(value, Odd) and value.meaning == "null":
        hint = f"write {listing(allowed, 'or')}"
    elif scalar and text in allowed:
        hint = f"write {text} without quotes" if scalar.quoted else f'quote it: "{text}"'
    elif isinstance(value, Odd):
        hint += "; a word that YAML reads as something else needs quotes"
    elif isinstance(value, str) and (near := suggest(text, allowed)):
        hint = f"did you mean `{near}`?"
    return message, hint


def wrong_type(label: str, wanted: str, value: Any, scalar: Scalar | None) -> tuple[str, str | None]:
    """Message and hint for a value of another type; ``wanted`` is a key of the table above."""
    return _not(label, _WANTED[wanted], value, scalar), _conversion(wanted, value, scalar)


def shaped(annotation: Any, value: Any) -> Any:
    """Lists turned into tuples where the field wants them: strict models do not, and YAML has lists only."""
    if not isinstance(value, list):
        return value
    origin, args = get_origin(annotation), get_args(annotation)
    if origin is tuple:
        wanted = args[:1] * len(value) if args[1:] == (...,) else (*args, *[None] * len(value))
        return tuple(shaped(arg, item) for arg, item in zip(wanted, value, strict=False))
    if origin is list:
        return [shaped(args[0], item) for item in value]
    arms = (arg for arg in args if arg is not type(None))
    return next((tried for arm in arms if (tried := shaped(arm, value)) is not value), value)


def _inside(data: Any, loc: tuple[int | str, ...]) -> Path:
    """The part of pydantic's location that stands in the document; it also names members of unions."""
    path: Path = ()
    for part in loc:
        held = range(len(data)) if isinstance(data, list) else data if isinstance(data, dict) else ()
        if part in held:
            data = data[part]
            path = (*path, part)
    return path


def _long_enough(error: ErrorDetails, data: Any, where: Path) -> bool:
    """Pydantic counts the items that are right; whoever wrote the list counts what stands there."""
    for part in where:
        data = data[part]
    limits = error.get("ctx", {})
    return limits.get("min_length", 0) <= len(data) <= limits.get("max_length", len(data))


def _label(where: Path) -> str:
    """How a message calls the value at ``where``: ``rows``, ``ub.src``, ``item 2 of valid``."""
    if not where:
        return "the case"
    if isinstance(where[-1], int):
        return f"item {where[-1] + 1} of {_label(where[:-1])}"
    return ".".join(clip(str(part)) for part in where)


def _literals(annotation: Any) -> tuple[str, ...]:
    if get_origin(annotation) is Literal:
        return tuple(str(value) for value in get_args(annotation))
    return tuple(value for arg in get_args(annotation) for value in _literals(arg))


def _explain(
    error: ErrorDetails, where: Path, model: type[CaseFields], data: dict[str, Any], scalar: Scalar | None
) -> tuple[str, str | None]:
    """Message and hint for one of pydantic's errors."""
    value: Any = data
    for part in where:
        value = value[part]
    label, kind, limits = _label(where), error["type"], error.get("ctx", {})
    annotation = model.model_fields[str(where[0])].annotation if where else None
    if kind in ("value_error", "assertion_error"):
        return str(limits.get("error", "the fields do not go together")), None
    if kind == "literal_error":
        return wrong_choice(label, value, scalar, _literals(annotation))
    if kind in _LENGTH and isinstance(value, list):
        length = _length(annotation)
        bound = "" if length else {"too_short": "at least ", "too_long": "at most "}.get(kind, "")
        length = length or limits.get("max_length", limits.get("min_length"))
        return f"{label} has {_items(len(value))}, not {bound}{length}", None
    if isinstance(value, (int, float)) and kind in _BOUNDS:
        name, step, words, hint = _BOUNDS[kind]
        limit = f"{limits[name] + step:,}"
        return f"{label} is {value:,}, {words.format(limit)}", hint.format(limit.replace(",", ""))
    wanted, _, reason = kind.partition("_")
    if wanted in _WANTED and reason in ("type", "from_float", "parsing"):
        return wrong_type(label, wanted, value, scalar)
    return f"{label} has a value that is not allowed" + (f": {_written(value, scalar)}" if scalar else ""), None


def _length(annotation: Any) -> int | None:
    """How many items a list of fixed length has, or None."""
    if get_origin(annotation) is tuple and get_args(annotation)[1:] != (...,):
        return len(get_args(annotation))
    return next((length for arg in get_args(annotation) if (length := _length(arg))), None)


def _items(count: int) -> str:
    return "1 item" if count == 1 else f"{count} items"


def _written(value: Any, scalar: Scalar) -> str:
    text = quote(f'"{scalar.text}"' if scalar.quoted else scalar.text)
    if isinstance(value, Odd):
        return f"{text}, which YAML reads as {value.meaning}"
    return text


def _not(label: str, wanted: str, value: Any, scalar: Scalar | None) -> str:
    """``label is not <wanted>: <what was written>``."""
    if isinstance(value, Odd) and value.meaning == "null":
        return f"{label} has no value"
    if scalar is None:
        return f"{label} is a {'map' if isinstance(value, dict) else 'list'}, not {wanted}"
    return f"{label} is not {wanted}: {_written(value, scalar)}"


def _conversion(wanted: str, value: Any, scalar: Scalar | None) -> str | None:
    """A hint that writes the same value as the field wants it, or None where nobody can know."""
    if isinstance(value, Odd) and value.meaning == "null":
        return "give it a value, or remove the key"
    text = scalar.text if scalar else ""
    if wanted == "string" and scalar:
        return f'quote it: "{clip(text)}"'
    if wanted == "bool":
        word = {"yes": "true", "on": "true", "no": "false", "off": "false"}.get(text.lower(), text.lower())
        return f"write {word}, without quotes" if word in ("true", "false") else "write true or false"
    return _integer_hint(value, text, scalar is not None and scalar.quoted) if wanted == "int" else None


def _integer_hint(value: Any, text: str, quoted: bool) -> str:
    if isinstance(value, Odd):
        if value.value is None or isinstance(value.value, bool):
            return "write a whole number"
        if "octal" in value.meaning:
            return f"write {int(text.replace('_', ''), 10)}, or {value.value} if octal was meant"
        return f"write {value.value}"
    if quoted and isinstance(resolved(text), int) and not isinstance(resolved(text), bool):
        return f"remove the quotes: {text}"
    try:
        number = float(text.replace(",", "")) if len(text) < 40 and text.isascii() else math.nan
    except ValueError:
        number = math.nan
    return f"write {number:.0f}" if number.is_integer() and abs(number) < 2**53 else "write a whole number"
