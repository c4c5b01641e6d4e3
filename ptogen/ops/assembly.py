"""How PTO assembly says an instruction."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Constant:
    """What an instruction takes in PTO assembly besides tiles.

    Attributes:
        name: for the reader of the text.
        value, type: as written, such as 64 and i32.
    """

    name: str
    value: str
    type: str


@dataclass(frozen=True)
class Assembly:
    """How PTO assembly says an instruction.

    Attributes:
        ins, outs: operand names, or constants, in the order of the text.
        attributes: what stands in braces behind the ins, such as ``exhausted = false``.
    """

    ins: tuple[str | Constant, ...]
    outs: tuple[str | Constant, ...]
    attributes: str = ""
