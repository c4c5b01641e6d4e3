"""Reads a matrix file: the fields of a spec, each with one value or many, and what to make of their combinations.

    matrix:                       # or a list of such maps
      op: tsort32
      platform: [a2a3, a5]
      dtype: [float32, float16]
      rows: {min: 1, max: 9, step: 4}
      cols: {boundaries: [1, 8192]}
      valid: [default, [1, 5]]
    strategy: pairwise            # all | pairwise | boundaries | sample: 100
    where: rows * cols < 100000

Nothing is combined here. A :class:`Space` is one map: its fields are axes, and a combination takes one value of each.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from math import prod
from pathlib import Path as FilePath
from typing import Any, get_args, get_origin

from ptogen.dtypes import ALIASES, DTYPES
from ptogen.errors import Diagnostic, Position, PtogenError
from ptogen.ops import catalogue
from ptogen.ops.base import DATA_KINDS, Op
from ptogen.platforms import PLATFORMS
from ptogen.spec.carried import Carried
from ptogen.spec.case import CaseReader, is_dtype
from ptogen.spec.document import MAX_BYTES, Document, read
from ptogen.spec.expression import Expression, ExpressionError, parse
from ptogen.spec.faults import Faults, clip, listing, quote, suggest
from ptogen.spec.fields import build, wrong_type
from ptogen.spec.load import MODES
from ptogen.spec.model import Marks, Path

MAX_COMBINATIONS = 1_000_000
"""Most combinations of a matrix before its strategy chooses among them."""

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
HEAD = ("op", "platform", "mode")
"""The axes that say which suite a combination belongs to."""

DEFAULT = "default"
"""The value that leaves a field out."""

EXAMPLE = """matrix:
  op: tsort32
  platform: [a2a3, a5]
  dtype: [float32, float16]
  rows: [1, 2]
  cols: {boundaries: [1, 8192]}"""


@dataclass(frozen=True)
class Axis:
    """A field and its values.

    Attributes:
        values: in the order of the file; a range stays one.
        path: where they stand.
        listed: whether each value has a place of its own below ``path``.
        bounded: whether only the values count at which the rules of the op change.
    """

    values: Sequence[Any]
    path: Path
    listed: bool = False
    bounded: bool = False

    def place(self, value: Any) -> Path:
        """Where a value stands."""
        return (*self.path, list(self.values).index(value)) if self.listed and value in self.values else self.path


@dataclass(frozen=True)
class Space:
    """One map of axes; ``op``, ``platform`` and ``mode`` come first and are never missing."""

    path: Path
    axes: Mapping[str, Axis]

    @property
    def free(self) -> dict[str, Axis]:
        """The axes besides ``op``, ``platform`` and ``mode`` whose values depend on nothing."""
        return {field: axis for field, axis in self.axes.items() if field not in HEAD and not axis.bounded}

    @property
    def bounded(self) -> dict[str, Axis]:
        """The axes whose values are found for each combination of the others, in the order of the file."""
        return {field: axis for field, axis in self.axes.items() if axis.bounded}


@dataclass(frozen=True)
class Matrix:
    """A matrix file that has been read.

    Attributes:
        stem: what the file is called, without its ending; names the record of what it made.
        name: put in front of the names of its suites, or None.
        spaces: the maps under ``matrix``.
        include: spaces whose combinations are made whatever the strategy and the filters say.
        exclude: partial combinations; what agrees with one in every field is left out.
        where: a condition that every combination of ``spaces`` must meet.
        strategy: ``all``, ``pairwise``, ``boundaries`` or ``sample``.
        sample, seed: how many combinations ``sample`` draws, and from which seed.
        max_cases: cases of one ST directory at most.
        strict: whether a combination that cannot exist is an error.
        marks: places in the file.
        base: folder that a ``.npy`` path in ``data`` is relative to.
        digest: SHA-256 of all that the file says, the data files that it names included.
        data_files: those files, as they are named; a matrix that is pickled takes them along.
    """

    stem: str
    name: str | None
    spaces: tuple[Space, ...]
    include: tuple[Space, ...]
    exclude: tuple[Mapping[str, Axis], ...]
    where: Expression | None
    strategy: str
    sample: int
    seed: int
    max_cases: int
    strict: bool
    marks: Marks
    base: FilePath
    digest: str
    data_files: tuple[str, ...] = ()

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "base": Carried(self.base, self.data_files)}

    def where_fault(self, error: ExpressionError) -> Diagnostic:
        """What is wrong with ``where`` for the values that it met."""
        return Diagnostic("PTG114", f"where: {error.message}", self.marks.at(("where",)), hint=error.hint)


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


class _Moved(Mapping[Path, Any]):
    """What a document says below ``path``, found under ``(field,)``: a value of an axis seen as the field of a case."""

    def __init__(self, inner: Mapping[Path, Any], field: str, path: Path) -> None:
        self.inner, self.field, self.path = inner, field, path

    def __getitem__(self, place: Path) -> Any:
        return self.inner[(*self.path, *place[1:])]

    def __iter__(self) -> Iterator[Path]:
        return iter(())

    def __len__(self) -> int:
        return 0


class _MatrixReader(CaseReader):
    """One run over one matrix file."""

    def matrix(self, file: str) -> Matrix:
        self.files_read: set[str] = set()
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
        count = sum(
            prod(len(axis.values) for axis in (*_head(space), *space.free.values())) for space in spaces + include
        )
        if count > MAX_COMBINATIONS:
            message = f"the matrix has {count:,} combinations, more than {MAX_COMBINATIONS:,}"
            self.fault("PTG103", ("matrix",), message, "give fewer values, or split it into several files")
        questions = sum(map(_questions, spaces + include))
        if questions > MAX_QUESTIONS:
            message = f"finding the boundaries takes about {questions:,} questions, more than {MAX_QUESTIONS:,}"
            self.fault("PTG103", ("matrix",), message, "take narrower intervals, or fewer values beside them")
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
        self.faults.raise_all()
        return replace(matrix, digest=self._digest(), data_files=tuple(sorted(self.files_read)))

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
        entries = (
            [((key, place), item) for place, item in enumerate(value)] if isinstance(value, list) else [((key,), value)]
        )
        for path, item in entries:
            if not isinstance(item, dict):
                label = key if len(path) == 1 else f"item {path[1] + 1} of {key}"  # type: ignore[operator]
                self.fault("PTG106", path, wrong_type(label, "dict", item, self.document.scalars.get(path))[0], hint)
            elif not item:
                self.fault("PTG106", path, f"{key} is empty", hint)
        if not entries:
            self.fault("PTG106", (key,), f"{key} is an empty list", hint)
        return [(path, item) for path, item in entries if isinstance(item, dict) and item]

    # One map of axes

    def _space(self, path: Path, fields: dict[str, Any], strategy: str) -> Space | None:
        before = len(self.faults)
        axes: dict[str, Axis] = {}
        for key, allowed in (("op", self.ops), ("platform", PLATFORMS), ("mode", MODES)):
            value = fields.get(key, "manual" if key == "mode" else None)
            axes[key] = self._words((*path, key), value, tuple(allowed))
        ops = [self.ops[name] for name in axes["op"].values]
        for key, value in fields.items():
            if key in HEAD or not ops:
                continue
            if self._is_field(path, key, ops) and (axis := self._axis((*path, key), key, value, ops)):
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
        place = self.marks.keys[(*path, key)]
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

    def _words(self, path: Path, value: Any, allowed: Sequence[str]) -> Axis:
        if not isinstance(value, list):
            word = self.choice(path, value, allowed)
            return Axis((word,) if word else (), path)
        if not value:
            self.fault("PTG106", path, f"{path[-1]} is an empty list", f"choose from {listing(allowed)}")
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

    def _axis(self, path: Path, key: str, value: Any, ops: Sequence[Op]) -> Axis | None:
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
                self.faults.add("PTG105", f"unknown key {quote(part)}", self.marks.keys[(*path, part)], hint)
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
        return self.choice(path, value, STRATEGIES[:3]) or "all", 0

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
                axes = {key: self._axis((*path, key), key, fields[key], ops) for key in own}
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
                    item[key] = self._words(
                        (*path, key), value, tuple({"op": self.ops, "platform": PLATFORMS, "mode": MODES}[key])
                    )
                elif owners:
                    axis = self._axis((*path, key), key, value, owners[:1])
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


def fields_of(ops: Mapping[str, Op], names: Iterable[str]) -> list[str]:
    """The fields that an expression about combinations of these ops may name."""
    fields = chain.from_iterable(ops[name].Case.model_fields for name in dict.fromkeys(names))
    return list(dict.fromkeys([*HEAD, *(field for field in fields if field not in ("name", "ub"))]))


def words_of(ops: Mapping[str, Op]) -> list[str]:
    """The words that stand for themselves in an expression."""
    literals = (
        word for op in ops.values() for field in op.Case.model_fields.values() for word in _literals(field.annotation)
    )
    return list(dict.fromkeys([*ops, *PLATFORMS, *MODES, *DTYPES, *DATA_KINDS, *literals]))


def _literals(annotation: Any) -> Iterator[str]:
    for arg in get_args(annotation):
        if isinstance(arg, str):
            yield arg
        else:
            yield from _literals(arg)


def _head(space: Space) -> list[Axis]:
    return [space.axes[key] for key in HEAD]


def _questions(space: Space) -> int:
    """About how many values are asked for the boundaries of a space; kinds of data make no difference to them."""
    contexts = prod(len(axis.values) for axis in _head(space))
    contexts *= prod(len(axis.values) for field, axis in space.free.items() if field not in ("data", "seed"))
    total = 0
    for axis in space.bounded.values():
        total += contexts * len(axis.values)
        contexts *= min(len(axis.values), USUAL_BOUNDARIES)
    return total


def _takes(annotation: Any, *kinds: type) -> bool:
    """Whether a field's type is, or may be, one of these containers."""
    origin = get_origin(annotation)
    return (
        annotation in kinds
        or origin in kinds
        or any(_takes(arg, *kinds) for arg in get_args(annotation) if origin not in kinds)
    )
