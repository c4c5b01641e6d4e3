"""What a bare word of YAML stands for, and which of these readings nobody means."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, NamedTuple

import yaml

_RESOLVER = yaml.resolver.Resolver()
_ORDINARY_INTEGER = re.compile(r"[-+]?(?:0|[1-9][0-9]{0,39}|0x[0-9a-fA-F]{1,32})")


class Scalar(NamedTuple):
    """A scalar as it was written."""

    text: str
    quoted: bool


@dataclass(frozen=True)
class Odd:
    """A bare word that YAML reads as something seldom meant; no field accepts it.

    Attributes:
        text: what was written.
        meaning: what YAML reads, to end the sentence "which YAML reads as".
        value: the same as a Python value; None for null and where there is no number.
    """

    text: str
    meaning: str
    value: int | bool | None = None


def resolved(text: str) -> Any:
    """What a bare word stands for: str, int, float, bool, or :class:`Odd` where YAML 1.1 reads what few people mean."""
    tag = _RESOLVER.resolve(yaml.ScalarNode, text, (True, False)).rpartition(":")[2]
    if tag == "null":
        return Odd(text, "null")
    if tag == "bool":
        value = text.lower() in ("yes", "on", "true")
        return value if text.lower() in ("true", "false") else Odd(text, str(value).lower(), value)
    if tag == "int":
        return int(text, 0) if _ORDINARY_INTEGER.fullmatch(text) else _odd_integer(text)
    if tag == "float":
        return Odd(text, "a number in base 60") if ":" in text else _float(text)
    return Odd(text, "a date") if tag == "timestamp" else text


def _float(text: str) -> float | str:
    try:
        return float(text.replace("_", "").lower().replace(".inf", "inf").replace(".nan", "nan"))
    except ValueError:
        return text


def _odd_integer(text: str) -> Odd | str:
    if len(text) > 40:
        return Odd(text, "a very large number")
    sign, digits = (-1 if text.startswith("-") else 1), text.lstrip("+-").replace("_", "")
    try:
        if ":" in digits:
            value = 0
            for part in digits.split(":"):
                value = value * 60 + int(part)
            return Odd(text, f"{sign * value} (base 60)", sign * value)
        if digits.startswith(("0b", "0x")):
            value = sign * int(digits, 0)
            return Odd(text, str(value), value)
        octal = digits.startswith("0") and len(digits) > 1
        value = sign * int(digits, 8 if octal else 10)
        return Odd(text, f"{value} (octal)" if octal else str(value), value)
    except ValueError:
        return text
