"""A small catalogue of its own, so that the tests of the loader do not depend on the rules of real ops."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from ptogen.ops.base import Op
from ptogen.ops.case import CaseFields, Fault
from ptogen.ops.record import Form, slots

Count = Annotated[int, Field(ge=1, le=2**31 - 1)]


class SortCase(CaseFields):
    dtype: str = Field(description="element type")
    rows: Count = Field(description="rows of the tensor")
    cols: Count = Field(description="columns of the tensor")
    valid: tuple[Count, Count] | None = Field(None, description="[rows, columns] of the valid region")
    idx: Literal["per_row", "broadcast"] = Field("per_row", description="rows of indices")


class MergeCase(CaseFields):
    """Kinds of fields that the sort has not got."""

    dtype: str
    idx_dtype: str = "uint32"
    lists: Annotated[tuple[Count, ...], Field(min_length=2, max_length=4)] = Field(description="columns of each list")
    weights: list[int] = []
    exhausted: bool = False
    ways: Literal[2, 3, 4] | None = None
    block_len: Annotated[int, Field(multiple_of=8, gt=0, lt=1024)] = 8

    @model_validator(mode="after")
    def _ways(self) -> MergeCase:
        if self.ways and self.ways != len(self.lists):
            raise ValueError(f"ways is {self.ways}, and there are {len(self.lists)} lists")
        return self


class Sort(Op):
    Case = SortCase
    golden_module = "none"

    def default_name(self, case):
        return f"{case.dtype}_{case.rows}x{case.cols}"

    def rules(self, case, platform, mode, base):
        faults = []
        if case.valid and case.valid[1] > case.cols:
            message = f"valid columns {case.valid[1]} exceed cols {case.cols}"
            faults.append(Fault("PTG202", "valid.1", message, f"at most {case.cols}"))
        if platform.name == "cpu" and case.dtype == "float16":
            faults.append(Fault("PTG201", "dtype", "float16 cannot be sorted", "use float32"))
        if case.idx == "broadcast" and case.rows == 1:
            faults.append(Fault("PTG202", "seed", "one row has nothing to broadcast"))
        if case.ub and "src" not in case.ub:
            faults.append(Fault("PTG204", "ub", "ub does not place src"))
        return faults


class Merge(Op):
    Case = MergeCase
    golden_module = "none"

    def default_name(self, case):
        return "merge_" + "_".join(map(str, case.lists))

    def rules(self, case, platform, mode, base):
        return []


FORMS = (Form(slots("dst+ src")),)

OPS = {
    "sort": Sort("SORT", "sort", (), (), forms=FORMS),
    "merge": Merge("MERGE", "merge", (), (), forms=FORMS),
}
