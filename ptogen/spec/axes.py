"""Reads the axes of a matrix file: a value, a list, a range or boundaries; each value is right for all its ops."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, get_args, get_origin

from ptogen.dtypes import ALIASES, DTYPES
from ptogen.ops.base import Op
from ptogen.ops.case import DATA_KINDS
from ptogen.spec.case import CaseReader, is_dtype
from ptogen.spec.document import Document
from ptogen.spec.faults import listing, quote
from ptogen.spec.fields import build, wrong_type
from ptogen.spec.matrix import DEFAULT, Axis
from ptogen.spec.model import Marks, Path


class _Moved(Mapping[Path, Any]):
    """What a document says below ``path``, found under ``(field,)``: a value of an axis seen as the field of a case."""

    def __init__(self, inner: Mapping[Path, Any], field: str, path: Path) -> None:
        self.inner, self.field, self.path = inner, field, path

    def __getitem__(self, place: Path) -> Any:
        return self.inner[self.path + place[1:]]

    def __iter__(self) -> Iterator[Path]:
        return iter(())

    def __len__(self) -> int:
        return 0


class AxisReader(CaseReader):
    """Everything that is judged in one axis.

    Attributes:
        files_read: data files that the values name.
    """

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.files_read: set[str] = set()

    def words(self, path: Path, value: Any, allowed: Sequence[str]) -> Axis:
        if not isinstance(value, list):
            word = self.choice(path, value, allowed)
            return Axis((word,) if word else (), path)
        if not value:
            words = (
                "write at least one that `ptogen ops` lists" if path[-1] == "op" else f"choose from {listing(allowed)}"
            )
            self.fault("PTG106", path, f"{path[-1]} is an empty list", words)
        found: dict[str, None] = {}
        for place, item in enumerate(value):
            word = self.choice((*path, place), item, allowed)
            if word in found:
                self.fault(
                    "PTG106", (*path, place), f"{path[-1]} {word} stands twice in the list", "remove one of the two"
                )
            elif word:
                found[word] = None
        return Axis(tuple(found), path, listed=True)

    def axis(self, path: Path, key: str, value: Any, ops: Sequence[Op]) -> Axis | None:
        """The values of a field, each of them right for every op; None and faults where there are none."""
        annotation = ops[0].Case.model_fields[key].annotation
        if isinstance(value, dict) and not _takes(annotation, dict):
            return self._interval(path, key, value, ops)
        if isinstance(value, dict) or not isinstance(value, list):
            values, places = [value], [path]
        elif (
            _takes(annotation, tuple, list)
            and value
            and not any(isinstance(item, list) or item == DEFAULT for item in value)
        ):
            values, places = [value], [path]
        else:
            values, places = value, [(*path, place) for place in range(len(value))]
            if not value:
                self.fault("PTG106", path, f"{key} is an empty list", "give at least one value")
        before = len(self.faults)
        kept: list[Any] = []
        for item, place in zip(values, places, strict=True):
            own = self._value(place, key, item, ops)
            if any(own == other and type(own) is type(other) for other in (kept if len(kept) < 1000 else ())):
                self.fault("PTG106", place, f"{key} has this value twice", "remove one of the two")
            kept.append(own)
        return Axis(tuple(kept), path, listed=places != [path]) if len(self.faults) == before and kept else None

    def _value(self, place: Path, key: str, value: Any, ops: Sequence[Op]) -> Any:
        """One value as the field has it; faults where an op does not take it."""
        if value == DEFAULT and not is_dtype(key):
            for op in ops:
                if op.Case.model_fields[key].is_required():
                    message = f"{key} has no default in {op.name}"
                    self.fault("PTG106", place, message, "give it a value")
                    break
            return DEFAULT
        if is_dtype(key):
            word = ALIASES.get(value, value) if isinstance(value, str) else value
            return self.choice(place, word, DTYPES)
        if key == "data":
            if self.readable(place, value) and value not in DATA_KINDS:
                self.files_read.add(value)
            return value
        moved = Document(
            self.document.data,
            Marks(self.marks.file, _Moved(self.marks.values, key, place), self.marks.keys),
            _Moved(self.document.scalars, key, place),
        )
        for op in ops:
            before = len(self.faults)
            build(op.Case, {key: value}, (), moved, self.faults, set(op.Case.model_fields))
            if len(self.faults) > before:
                break
        return value

    def _interval(self, path: Path, key: str, value: dict[str, Any], ops: Sequence[Op]) -> Axis | None:
        """``{min, max, step}`` or ``{boundaries: [min, max]}``."""
        bounded = "boundaries" in value
        wanted = ("boundaries",) if bounded else ("min", "max", "step")
        hint = "write {min: 1, max: 9, step: 2}, or {boundaries: [1, 8192]}"
        before = len(self.faults)
        for part in value:
            if part not in wanted:
                self.faults.add("PTG105", f"unknown key {quote(part)}", self.marks.keys[path + (part,)], hint)
        if bounded:
            pair, where = value["boundaries"], (*path, "boundaries")
            if not isinstance(pair, list) or len(pair) != 2:
                self.fault(
                    "PTG106", where, f"boundaries of {key} is not a pair of numbers", "write {boundaries: [1, 8192]}"
                )
                return None
            places: list[Path] = [(*where, 0), (*where, 1)]
            low, high, step = *pair, 1
        else:
            for part in ("min", "max"):
                if part not in value:
                    self.fault("PTG107", path, f"{key}: {part} is missing", hint)
            if len(self.faults) > before:
                return None
            places = [(*path, "min"), (*path, "max")]
            low, high, step = value["min"], value["max"], value.get("step", 1)
        if type(low) is int and type(high) is int:
            # A bound that no case may have is the field's own fault, said in its own words.
            for place, bound in zip(places, (low, high), strict=True):
                self._value(place, key, bound, ops)
        else:
            place, bound = next(
                (place, bound) for place, bound in zip(places, (low, high), strict=True) if type(bound) is not int
            )
            message, fix = wrong_type(
                f"{'a bound' if bounded else place[-1]} of {key}", "int", bound, self.document.scalars.get(place)
            )
            self.fault("PTG106", place, message, fix)
        if type(step) is not int or step < 1:
            self.fault("PTG106", (*path, "step"), f"step of {key} is not a whole number of 1 or more", "write step: 1")
        if len(self.faults) > before:
            return None
        if low > high:
            self.fault("PTG106", path, f"{key}: min {low:,} is more than max {high:,}", "exchange the two")
            return None
        return Axis(range(low, high + 1, step), path, bounded=bounded)


def _takes(annotation: Any, *kinds: type) -> bool:
    """Whether a field's type is, or may be, one of these containers."""
    origin = get_origin(annotation)
    return (
        annotation in kinds
        or origin in kinds
        or any(_takes(arg, *kinds) for arg in get_args(annotation) if origin not in kinds)
    )
