"""From a matrix file to a :class:`Matrix`: every fault of the file in one run, each with its place and a way out."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain, combinations
from math import prod
from pathlib import Path as FilePath
from typing import Any

from ptogen.errors import Diagnostic, Position, PtogenError
from ptogen.ops import catalogue
from ptogen.ops.base import Op
from ptogen.platforms import PLATFORMS
from ptogen.spec.axes import AxisReader
from ptogen.spec.document import MAX_BYTES, read
from ptogen.spec.expression import Expression, ExpressionError, parse
from ptogen.spec.faults import Faults, clip, listing, quote, suggest
from ptogen.spec.fields import wrong_type
from ptogen.spec.load import MODES
from ptogen.spec.matrix import HEAD, MAX_COMBINATIONS, MAX_PAIRWISE, Axis, Matrix, Space, fields_of, words_of
from ptogen.spec.model import Path

MAX_INTERVAL = 65_536
"""Widest interval whose boundaries are looked for: every value in it is asked."""

MAX_QUESTIONS = 5_000_000
"""Most values that are asked for boundaries in all: some minutes."""

USUAL_BOUNDARIES = 40
"""How many boundaries an interval has, to estimate how often those of the next field are looked for."""

MAX_NAME = 40

MAX_SUITE = 10_000
"""Largest ``max_cases``."""

TOP = ("matrix", "name", "strategy", "seed", "include", "exclude", "where", "max_cases", "on_invalid")
STRATEGIES = ("all", "pairwise", "boundaries", "sample")

EXAMPLE = """matrix:
  op: tsort32
  platform: [a2a3, a5]
  dtype: [float32, float16]
  rows: [1, 2]
  cols: {boundaries: [1, 8192]}"""


def load_matrix(path: str | os.PathLike[str]) -> Matrix:
    """The matrix in a file; messages name it as it is given.

    Raises:
        PtogenError: every fault of the file, in the order of the file.
    """
    try:
        with open(path, "rb") as stream:
            text = stream.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = str(getattr(error, "strerror", None) or error).lower()
        message = f"cannot read {clip(str(path), 300)}: {reason}"
        raise PtogenError(Diagnostic("PTG100", message, hint="give the path of a matrix file")) from None
    return load_matrix_text(text, str(path), FilePath(path).parent)


def load_matrix_text(
    text: str | bytes, file: str, base: FilePath = FilePath(), *, ops: Mapping[str, Op] | None = None
) -> Matrix:
    """The same for text that is already read; the arguments are those of :func:`ptogen.spec.load.load_text`."""
    faults = Faults()
    document = read(text, file, faults)
    if isinstance(document.data, dict) and "matrix" in document.data:
        return _MatrixReader(document, base, catalogue() if ops is None else ops, faults).matrix(file)
    place = Position(file, 1, 1) if document.empty else document.marks.at(())
    message = "the file is empty" if document.empty else "matrix is missing"
    hint = f"a matrix looks like this:\n{EXAMPLE}"
    if isinstance(document.data, dict) and "op" in document.data:
        hint = "this looks like a spec: render it with `ptogen kernel`"
    faults.add("PTG107", message, place, hint)
    faults.raise_all()
    raise AssertionError("unreachable: the document was refused")


class _MatrixReader(AxisReader):
    """One run over one matrix file."""

    def matrix(self, file: str) -> Matrix:
        for key in self.data:
            if key not in TOP:
                self._stray(key)
        name = self.name(("name",), self.data["name"]) if "name" in self.data else None
        if name and len(name) > MAX_NAME:
            message = f"the name is {len(name)} characters long, more than {MAX_NAME}: a number comes behind it"
            self.fault("PTG108", ("name",), message, "write a shorter name")
        strategy, sample = self._strategy()
        maps = self._maps("matrix", self.data["matrix"], "write `matrix:` and below it a map of fields")
        spaces = [space for path, fields in maps if (space := self._space(path, fields, strategy))]
        include = self._include(spaces, len(maps) == len(spaces))
        exclude = self._exclude(spaces, len(maps) == len(spaces))
        matrix = Matrix(
            stem=FilePath(file).stem,
            name=name,
            spaces=tuple(spaces),
            include=tuple(include),
            exclude=tuple(exclude),
            where=self._where(spaces),
            strategy=strategy,
            sample=sample,
            seed=self._integer("seed", 0, 0, 2**32 - 1),
            max_cases=self._integer("max_cases", 64, 1, MAX_SUITE),
            strict=self._on_invalid(),
            marks=self.marks,
            base=self.base,
            digest="",
        )
        self._bound(matrix)
        self.faults.raise_all()
        return replace(matrix, digest=self._digest(), data_files=tuple(sorted(self.files_read)))

    def _bound(self, matrix: Matrix) -> None:
        """What would take too long is refused before it is begun."""
        path: Path = ("matrix",)
        looked_at = matrix.include if matrix.is_drawn else matrix.spaces + matrix.include
        if (count := sum(space.combinations for space in looked_at)) > MAX_COMBINATIONS:
            whole, path = ("`include`", ("include",)) if matrix.is_drawn else ("the matrix", path)
            message = f"{whole} has {count:,} combinations, more than {MAX_COMBINATIONS:,}"
            hint = (
                "give fewer values" if matrix.is_drawn else "give fewer values, or a strategy: pairwise, {sample: 100}"
            )
            self.fault("PTG103", path, message, hint)
        if matrix.is_drawn and matrix.strategy == "pairwise":
            for space in matrix.spaces:
                self._bound_pairs(space)
        draws = matrix.sample if matrix.is_drawn else None
        if (questions := sum(_questions(space, draws) for space in matrix.spaces + matrix.include)) > MAX_QUESTIONS:
            message = f"finding the boundaries takes about {questions:,} questions, more than {MAX_QUESTIONS:,}"
            self.fault("PTG103", path, message, "take narrower intervals, or fewer values beside them")

    def _bound_pairs(self, space: Space) -> None:
        sizes = [len(axis.values) for axis in space.axes.values()]
        if space.bounded:
            field, axis = next(iter(space.bounded.items()))
            message = f"{field}: boundaries differ from combination to combination, and the other fields have"
            message += f" {space.combinations:,}, more than the {MAX_PAIRWISE:,} that pairwise goes through"
            self.fault("PTG103", axis.path, message, f"give {field} as a list, fewer other values, or take a sample")
        elif (pairs := sum(one * two for one, two in combinations(sizes, 2))) > MAX_PAIRWISE:
            one, two = sorted(space.axes, key=lambda field: -len(space.axes[field].values))[:2]
            message = f"the values make {pairs:,} pairs, more than the {MAX_PAIRWISE:,} that pairwise goes through"
            self.fault("PTG103", space.path, message, f"give {one} and {two} fewer values, or take a sample")

    def _digest(self) -> str:
        digest = hashlib.sha256(json.dumps(self.data, sort_keys=True, default=repr).encode())
        for name in sorted(self.files_read):
            digest.update(name.encode() + b"\0" + hashlib.sha256((self.base / name).read_bytes()).digest())
        return digest.hexdigest()

    def _stray(self, key: str) -> None:
        if key in (*HEAD, *self.all_fields):
            hint = f"`{key}` is a field: write it below `matrix:`"
        else:
            meant = self.faults.suggest(key, TOP)
            hint = f"did you mean `{meant}`?" if meant else f"the keys are {listing(TOP)}"
        self.faults.add("PTG105", f"unknown key {quote(key)}", self.marks.keys[(key,)], hint)

    def _maps(self, key: str, value: Any, hint: str) -> list[tuple[Path, dict[str, Any]]]:
        """Place and fields of a map, or of each map of a list."""
        entries: list[tuple[Path, str, Any]] = [((key,), key, value)]
        if isinstance(value, list):
            entries = [((key, place), f"item {place + 1} of {key}", item) for place, item in enumerate(value)]
        for path, label, item in entries:
            if not isinstance(item, dict):
                self.fault("PTG106", path, wrong_type(label, "dict", item, self.document.scalars.get(path))[0], hint)
            elif not item:
                self.fault("PTG106", path, f"{key} is empty", hint)
        if not entries:
            self.fault("PTG106", (key,), f"{key} is an empty list", hint)
        return [(path, item) for path, _, item in entries if isinstance(item, dict) and item]

    # One map of axes

    def _space(self, path: Path, fields: dict[str, Any], strategy: str) -> Space | None:
        before = len(self.faults)
        axes: dict[str, Axis] = {}
        for key, allowed in (("op", self.ops), ("platform", PLATFORMS), ("mode", MODES)):
            value = fields.get(key, "manual" if key == "mode" else None)
            axes[key] = self.words((*path, key), value, tuple(allowed))
        ops = [self.ops[name] for name in axes["op"].values]
        for key, value in fields.items():
            if key in HEAD or not ops:
                continue
            if self._is_field(path, key, ops) and (axis := self.axis((*path, key), key, value, ops)):
                axes[key] = axis
        for op in ops:
            missing = [
                key
                for key, field in op.Case.model_fields.items()
                if field.is_required() and key not in fields and not self._misspelt(fields, key, op)
            ]
            if missing:
                message = f"{op.name} needs {listing(missing)}, and the matrix does not say"
                hint = "\n".join(f"{key}: {op.Case.model_fields[key].description or 'a value'}" for key in missing)
                self.fault("PTG107", path, message, hint)
        if strategy == "boundaries":
            axes = {
                key: replace(axis, bounded=True) if isinstance(axis.values, range) and len(axis.values) > 2 else axis
                for key, axis in axes.items()
            }
        for key, axis in axes.items():
            if axis.bounded and len(axis.values) > MAX_INTERVAL:
                message = f"{key}: an interval of {len(axis.values):,} values, more than {MAX_INTERVAL:,}"
                self.fault(
                    "PTG103", axis.path, message, "boundaries are found by asking every value: take a narrower one"
                )
        return Space(path, axes) if len(self.faults) == before else None

    @staticmethod
    def _misspelt(fields: dict[str, Any], key: str, op: Op) -> bool:
        return any(suggest(other, (key,), 0.6) for other in fields if other not in (*HEAD, *op.Case.model_fields))

    def _is_field(self, path: Path, key: str, ops: Sequence[Op]) -> bool:
        """Whether all the ops have the field, else a fault."""
        place = self.marks.keys[path + (key,)]
        if key == "name":
            message = "the names of a matrix's cases are made from their fields"
            self.faults.add("PTG105", message, place, "remove `name`; at the top of the file it names the suites")
            return False
        lacking = [op.name for op in ops if key not in op.Case.model_fields]
        if not lacking:
            return True
        if len(lacking) < len(ops):
            message = f"{listing(lacking)} {'has' if len(lacking) == 1 else 'have'} no field {quote(key)}"
            self.faults.add("PTG105", message, place, "write a list of maps, one for the ops that have the same fields")
        elif key in TOP:
            self.faults.add(
                "PTG105", f"unknown key {quote(key)}", place, f"`{key}` stands beside `matrix`, not below it"
            )
        else:
            self.unknown(ops[0], path, key)
        return False

    # What stands beside the matrix

    def _strategy(self) -> tuple[str, int]:
        value = self.data.get("strategy", "all")
        path: Path = ("strategy",)
        if isinstance(value, dict) and list(value) == ["sample"]:
            number = value["sample"]
            if type(number) is not int or number < 1:
                message, _ = wrong_type("sample", "int", number, self.document.scalars.get((*path, "sample")))
                message = f"sample is {number:,}, less than 1" if type(number) is int else message
                self.fault("PTG106", (*path, "sample"), message, "write how many combinations to draw: {sample: 100}")
                return "sample", 1
            return "sample", number
        if isinstance(value, dict) or value == "sample":
            self.fault("PTG106", path, "a strategy with a number is a sample", "write strategy: {sample: 100}")
            return "all", 0
        words = (*STRATEGIES[:3], "{sample: 100}")
        word = self.choice(path, value, words) or "all"
        if word == words[-1]:
            self.fault("PTG106", path, f"strategy is text: `{word}`", "write it without quotes")
        return word, 0

    def _integer(self, key: str, default: int, low: int, high: int) -> int:
        value = self.data.get(key, default)
        if type(value) is not int:
            self.fault("PTG106", (key,), *wrong_type(key, "int", value, self.document.scalars.get((key,))))
        elif not low <= value <= high:
            self.fault(
                "PTG106", (key,), f"{key} is {value:,}, not between {low:,} and {high:,}", f"write {key}: {default}"
            )
        else:
            return value
        return default

    def _on_invalid(self) -> bool:
        return self.choice(("on_invalid",), self.data.get("on_invalid", "drop"), ("drop", "error")) == "error"

    def _include(self, spaces: Sequence[Space], whole: bool) -> list[Space]:
        """Each item with every map that it fits: the fields that it does not name take the map's values."""
        if "include" not in self.data:
            return []
        made: list[Space] = []
        for path, fields in self._maps(
            "include", self.data["include"], "write a map of fields for each combination to add"
        ):
            fitting = False
            for space in spaces:
                head = self._narrowed(path, fields, space)
                ops = [self.ops[name] for name in head["op"].values] if head else []
                own = [key for key in fields if key not in HEAD]
                if (
                    not head
                    or not ops
                    or any(key not in op.Case.model_fields or key == "name" for op in ops for key in own)
                ):
                    continue
                fitting = True
                axes = {key: self.axis((*path, key), key, fields[key], ops) for key in own}
                if all(axes.values()):
                    made.append(Space(path, {**space.axes, **head, **axes}))  # type: ignore[dict-item]
            if not fitting and whole:
                message = "this combination fits none of the maps under `matrix`"
                self.fault(
                    "PTG105",
                    path,
                    message,
                    "its op, platform and mode must be among theirs, its fields those of the op",
                )
        return made

    def _narrowed(self, path: Path, fields: dict[str, Any], space: Space) -> dict[str, Axis] | None:
        """Op, platform and mode of a space where the item agrees with it, else None."""
        head = {}
        for key in HEAD:
            allowed = space.axes[key].values
            value = fields.get(key)
            words = value if isinstance(value, list) else allowed if value is None else [value]
            chosen = tuple(word for word in words if word in allowed)
            if not chosen:
                return None
            head[key] = Axis(chosen, (*path, key) if key in fields else space.axes[key].path)
        return head

    def _exclude(self, spaces: Sequence[Space], whole: bool) -> list[dict[str, Axis]]:
        if "exclude" not in self.data:
            return []
        names = dict.fromkeys(name for space in spaces for name in space.axes["op"].values)
        made = []
        for path, fields in self._maps("exclude", self.data["exclude"], "write a map of the fields that are to agree"):
            item: dict[str, Axis] = {}
            for key, value in fields.items():
                owners = [self.ops[name] for name in names if key in self.ops[name].Case.model_fields and key != "name"]
                if key in HEAD:
                    item[key] = self.words(
                        (*path, key), value, tuple({"op": self.ops, "platform": PLATFORMS, "mode": MODES}[key])
                    )
                elif owners:
                    axis = self.axis((*path, key), key, value, owners[:1])
                    if axis and axis.bounded:
                        message = "boundaries cannot be excluded: they differ from combination to combination"
                        self.fault("PTG106", axis.path, message, "write a list or {min, max}")
                    elif axis:
                        item[key] = axis
                elif whole:
                    self.unknown(None if key not in self.all_fields else self.ops[next(iter(names))], path, key)
            made.append(item)
        return made

    def _where(self, spaces: Sequence[Space]) -> Expression | None:
        if "where" not in self.data:
            return None
        text, path = self.data["where"], ("where",)
        scalar = self.document.scalars.get(path)
        if not isinstance(text, str):
            message, hint = wrong_type("where", "string", text, scalar)
            self.fault("PTG106", path, message, hint)
            return None
        try:
            return parse(
                text,
                fields_of(self.ops, chain.from_iterable(space.axes["op"].values for space in spaces)),
                words_of(self.ops),
            )
        except ExpressionError as error:
            place = self.marks.at(path)
            # Folded text has lost its columns; on one line they can be counted.
            quoted = bool(scalar and scalar.quoted)
            place = Position(place.file, place.line, place.column + error.column + quoted)
            self.faults.add("PTG114", f"where: {error.message}", place, error.hint)
            return None


def _questions(space: Space, draws: int | None) -> int:
    """About how many values are asked for the boundaries of a space; kinds of data make no difference to them."""
    same = ("data", "seed")
    contexts = prod(len(axis.values) for field, axis in space.axes.items() if not axis.bounded and field not in same)
    contexts = min(contexts, draws or contexts)
    total = 0
    for axis in space.bounded.values():
        total += contexts * len(axis.values)
        contexts *= min(len(axis.values), USUAL_BOUNDARIES)
    return total
