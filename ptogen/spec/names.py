"""What people call ops and platforms, and the messages where ptogen calls them otherwise or has not got them."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection

from ptogen.ops import instructions
from ptogen.spec.faults import listing, quote

PLATFORM_NAMES = {
    "910b": "a2a3",
    "910c": "a2a3",
    "91093": "a2a3",
    "a2": "a2a3",
    "a3": "a2a3",
    "950": "a5",
    "a5": "a5",
    "9030": "kirin9030",
    "x90": "kirinx90",
    "dev0000": "kirindev0000",
}
"""Names of chips and boards, without ``ascend``, ``atlas`` or ``kirin``, and without signs."""


def platform_meant(text: str) -> str | None:
    """The platform that a name such as ``Ascend910B``, ``910_93`` or ``A5`` stands for, or None."""
    return PLATFORM_NAMES.get(re.sub("ascend|atlas|kirin|[^a-z0-9]", "", text.lower()))


def no_op(word: str, ops: Collection[str]) -> tuple[str, str]:
    """Message and hint for a word that is no op."""
    near = difflib.get_close_matches(word[:64].lower(), ops, 3, 0.5)
    if word.upper() in instructions() and word.lower() not in ops:
        message = f"{word.upper()} is an instruction of the ISA that ptogen does not render yet"
        return message, (f"near it: {listing(near)}; " if near else "") + "`ptogen ops` lists all that it renders"
    return f"there is no op {quote(word)}", f"did you mean `{near[0]}`?" if near else "`ptogen ops` lists all"
