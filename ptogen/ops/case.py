"""The fields that every case has, the faults that one may have, and what the ops share of both."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from ptogen.dtypes import Dtype
from ptogen.ops.sizing import Sizing

DATA_KINDS = ("random", "ties", "sorted", "reversed", "extremes")


class CaseFields(BaseModel):
    """The fields that every case has; an op adds its own.

    The models are strict: YAML's accidental types (``no``, ``1e3``) are errors and not converted.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    name: str | None = Field(None, description="case name, a C identifier; made from the fields where absent")
    data: str = Field("random", description="random, ties, sorted, reversed, extremes, or the path of a .npy file")
    seed: int = Field(0, ge=0, lt=2**32, description="seed of the input data")
    ub: dict[str, int] | None = Field(None, description="pinned byte addresses in UB, by the ISA's operand names")


@dataclass(frozen=True)
class Fault:
    """A rule of an op that a case breaks.

    Attributes:
        code: PTG2xx.
        field: the spec field to point at.
        message: the rule and the numbers.
        hint: a way out.
    """

    code: str
    field: str
    message: str
    hint: str | None = None


def common_suffix(case: CaseFields) -> str:
    """The end of a default name that the fields of every case make: data, seed and pins that are not the defaults."""
    name = ""
    if case.data != "random":
        stem = Path(case.data).stem
        name += "_" + "".join(letter if letter.isalnum() and letter.isascii() else "_" for letter in stem)
    if case.seed:
        name += f"_seed{case.seed}"
    return name + ("_pinned" if case.ub else "")


def pin_faults(case: CaseFields, sizing: Sizing) -> list[Fault]:
    """Names in ``ub`` that are not operands of this case (PTG204); where the addresses lead is the checker's to
    judge."""
    names = [operand.name for operand in sizing.operands]
    return [
        Fault(
            "PTG204",
            f"ub.{name}",
            f"{name} is not an operand of this case; it has {', '.join(names)}",
            _meant(name, names),
        )
        for name in case.ub or {}
        if name not in names
    ]


def _meant(name: str, names: list[str]) -> str | None:
    near = get_close_matches(name.lower(), names, 1, 0.5)
    return f"did you mean `{near[0]}`?" if near else None


def data_faults(case: CaseFields, base: Path, dtype: Dtype, rows: int, cols: int) -> list[Fault]:
    """What is wrong with a ``.npy`` file as the input of a case (PTG205): unreadable, another shape or dtype, NaN."""
    if not case.data.endswith(".npy"):
        return []
    from ptogen.golden.values import load_values

    try:
        load_values(base / case.data, dtype.name, rows, cols)
    except (OSError, ValueError) as error:
        return [Fault("PTG205", "data", f"{case.data}: {error}")]
    return []
