"""TSORT32: sorts every 32 columns of a row, values with their indices, into 8-byte records."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from ptogen.ops.base import CaseFields, Op
from ptogen.platforms import Pipe

Count = Annotated[int, Field(ge=1, le=2**31 - 1)]


class Tsort32Case(CaseFields):
    """``rows`` x ``cols`` values and their indices in GM; ``valid`` is the region that is sorted."""

    dtype: str = Field(description="float32 or float16 (also spelt float, half)")
    rows: Count = Field(description="rows of the tensor in GM")
    cols: Count = Field(description="columns of the tensor in GM, in elements; its pitch")
    valid: tuple[Count, Count] | None = Field(None, description="[rows, columns] of the valid region; default all of it")
    idx: Literal["per_row", "broadcast"] = Field("per_row", description="one row of indices a row, or one for all rows")


class Tsort32(Op):
    Case = Tsort32Case
    golden_module = "sort32"


OPS = (Tsort32("tsort32", "TSORT32", Pipe.V, (), ()),)
