"""A reader of PTO assembly that takes what PTOAS 0.27 takes, as far as ptogen writes it, and rejects what that rejects.

``read`` parses a module, checks names, types, levels and the verifier's rules, and gives a function's events: every
load, store, instruction, flag and barrier in the order of issue, loops run, with byte addresses and the part of GM that
moves. What the assembler accepts without a word (addresses that overlap, a short tmp, flags without partners) passes
here as well.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import Any

ELEMENTS = {"f16": 2, "bf16": 2, "f32": 4} | {f"{u}i{bits}": bits // 8 for u in ("", "u") for bits in (8, 16, 32, 64)}
LOCATIONS = ("vec", "mat", "left", "right", "acc", "bias", "scaling")
LAYOUTS = {"blayout": ("row_major", "col_major"), "slayout": ("none_box", "row_major", "col_major")}
PIPES = ("PIPE_S", "PIPE_V", "PIPE_M", "PIPE_MTE1", "PIPE_MTE2", "PIPE_MTE3", "PIPE_FIX", "PIPE_ALL")
EVENTS = tuple(f"EVENT_ID{number}" for number in range(8))
UB_BITS = {"a3": 1572864, "a5": 2031616}
PART_ELEMENTS = {"a3": ("i32", "i16", "f16", "f32")}
PART_ELEMENTS["a5"] = (*PART_ELEMENTS["a3"], "i8", "bf16", "ui8", "ui16", "ui32")

TOKEN = re.compile(
    r"\s+|//[^\n]*|(?P<token>->|%\w+|@\w+|[!#]?[A-Za-z_][\w.]*|\"[^\"]*\"|-\d+|[\d?][\dx?]*(?:[a-z]+\d+)?|[][(){}<>,:=])"
)


class Rejected(Exception):
    """The assembler's refusal."""


@dataclass(frozen=True)
class TileBuf:
    """``!pto.tile_buf``; a dynamic valid size is None."""

    loc: str
    dtype: str
    rows: int
    cols: int
    valid_rows: int | None
    valid_cols: int | None
    blayout: str = "row_major"
    slayout: str = "none_box"
    fractal: int = 512
    pad: int = 0
    compact: int = 0

    @property
    def shape(self) -> tuple[int, int]:
        return self.rows, self.cols

    @property
    def valid(self) -> tuple[int | None, int | None]:
        return self.valid_rows, self.valid_cols

    @property
    def compiles(self) -> bool:
        """Whether the C++ that the assembler makes of it does: not of a static empty region."""
        return 0 not in self.valid

    @property
    def bytes(self) -> int:
        """As the assembler counts: rounded up to 32."""
        return -(-self.rows * self.cols * ELEMENTS[self.dtype] // 32) * 32


@dataclass(frozen=True)
class View:
    """``!pto.ptr``, ``!pto.tensor_view`` and ``!pto.partition_tensor_view``, by ``kind``; ``?`` is None."""

    kind: str
    dtype: str
    shape: tuple[int | None, ...] = ()


@dataclass(frozen=True)
class Tile:
    """A tile at run time, whose valid region is known; ``address`` is None where the assembler places it."""

    name: str
    type: TileBuf
    address: int | None
    declared: TileBuf


@dataclass(frozen=True)
class Gm:
    """A rectangle of a tensor in GM, in elements."""

    pointer: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offsets: tuple[int, ...] = (0, 0)
    sizes: tuple[int, ...] = ()


@dataclass(frozen=True)
class Event:
    """Something issued: its name, what it takes and gives, and its attributes."""

    name: str
    ins: tuple[Any, ...] = ()
    outs: tuple[Any, ...] = ()
    attributes: tuple[Any, ...] = ()


Environment = dict[str, Any]
Action = Callable[[Environment], Iterator[Event]]


@dataclass
class Function:
    name: str
    parameters: dict[str, View]
    body: list[Action] = field(default_factory=list)
    entry: bool = False

    def events(self) -> list[Event]:
        environment: Environment = {name: Gm(name, (), ()) for name in self.parameters}
        return [event for action in self.body for event in action(environment)]


@dataclass
class Module:
    arch: str
    functions: dict[str, Function]

    @property
    def kernels(self) -> list[str]:
        """The functions that become ``__global__``: of two or more those that are marked as entries."""
        return [name for name, own in self.functions.items() if own.entry or len(self.functions) == 1]


def read(text: str, level: int = 3, arch: str | None = None, insert_sync: bool = False) -> Module:
    """The module, or :class:`Rejected`; ``arch`` overrides the module's own, as on the assembler's command line."""
    return _Reader(text, level, arch, insert_sync).module()


class _Reader:
    def __init__(self, text: str, level: int, arch: str | None, insert_sync: bool):
        self.tokens: list[str] = []
        place = 0
        while place < len(text):
            match = TOKEN.match(text, place)
            if match is None:
                raise Rejected(f"unexpected character {text[place]!r}")
            if match["token"]:
                self.tokens.append(match["token"])
            place = match.end()
        self.place = 0
        self.level, self.forced, self.insert_sync = level, arch, insert_sync
        self.arch = arch or "a3"
        self.types: dict[str, Any] = {}
        self.constants: dict[str, int] = {}

    # Tokens

    @property
    def next(self) -> str:
        return self.tokens[self.place] if self.place < len(self.tokens) else "<end>"

    def take(self) -> str:
        token = self.next
        self.place += 1
        return token

    def accept(self, token: str) -> bool:
        if self.next != token:
            return False
        self.place += 1
        return True

    def expect(self, *tokens: str) -> None:
        for token in tokens:
            if not self.accept(token):
                raise Rejected(f"expected {token!r}, found {self.next!r}")

    def one_of(self, what: str, allowed: Sequence[str]) -> str:
        if self.next not in allowed:
            raise Rejected(f"{self.next!r} is no {what}")
        return self.take()

    def integer(self) -> int:
        if not re.fullmatch(r"-?\d+", self.next):
            raise Rejected(f"expected an integer, found {self.next!r}")
        return int(self.take())

    def listed(self, item: Callable[[], Any], end: str) -> list[Any]:
        items = [item()]
        while self.accept(","):
            items.append(item())
        self.expect(end)
        return items

    # Types

    def dims(self) -> tuple[tuple[int | None, ...], str | None]:
        token = self.take()
        match = re.fullmatch(r"((?:\d+|\?)(?:x(?:\d+|\?))*)(?:x([a-z]+\d+))?", token)
        if match is None:
            raise Rejected(f"expected a shape, found {token!r}")
        return tuple(None if size == "?" else int(size) for size in match[1].split("x")), match[2]

    def shaped(self) -> tuple[tuple[int | None, ...], str]:
        shape, dtype = self.dims()
        if dtype not in ELEMENTS:
            raise Rejected(f"{dtype!r} is no element type")
        return shape, dtype

    def type(self) -> Any:
        token = self.take()
        if token in ELEMENTS or token == "index" or re.fullmatch(r"i\d+", token):
            return token
        if token == "vector":
            self.expect("<")
            shape, dtype = self.shaped()
            self.expect(">")
            return f"vector<{'x'.join(map(str, shape))}x{dtype}>"
        kind = token.removeprefix("!pto.")
        if kind not in ("ptr", "tensor_view", "partition_tensor_view", "tile_buf") or not token.startswith("!"):
            raise Rejected(f"{token!r} is no type")
        self.expect("<")
        if kind == "tile_buf":
            found: Any = self.tile_long() if self.next == "loc" else self.tile_short()
        elif kind == "ptr":
            found = View(kind, self.one_of("element type", list(ELEMENTS)))
        else:
            shape, dtype = self.shaped()
            found = View(kind, dtype, shape)
        self.expect(">")
        return found

    def tile_value(self, key: str) -> Any:
        if key in LAYOUTS:
            return self.one_of(key, LAYOUTS[key])
        value = self.integer()
        if key == "pad" and value not in range(4):
            raise Rejected(f"pad {value} is not 0 to 3")
        return value

    def tile_long(self) -> TileBuf:
        values: dict[str, Any] = {}
        keys = ("loc", "dtype", "rows", "cols", "v_row", "v_col", "blayout", "slayout", "fractal", "pad")
        for number, key in enumerate(keys):
            if number:
                self.expect(",")
            self.expect(key, "=")
            if key == "loc":
                values[key] = self.one_of("location", LOCATIONS)
            elif key == "dtype":
                values[key] = self.one_of("element type", list(ELEMENTS))
            elif key in ("v_row", "v_col"):
                values[key] = None if self.accept("?") else self.integer()
            else:
                values[key] = self.tile_value(key)
        if self.accept(","):
            self.expect("compact", "=")
            values["compact"] = self.integer()
        values["valid_rows"], values["valid_cols"] = values.pop("v_row"), values.pop("v_col")
        return TileBuf(**values)

    def tile_short(self) -> TileBuf:
        loc = self.one_of("location", LOCATIONS)
        self.expect(",")
        shape, dtype = self.shaped()
        if len(shape) != 2 or None in shape:
            raise Rejected("a tile has two static dimensions")
        values: dict[str, Any] = {}
        while self.accept(","):
            key = self.one_of("key of a tile", ("valid", *LAYOUTS, "fractal", "pad", "compact"))
            if key in values:
                raise Rejected(f"{key} stands twice")
            self.expect("=")
            values[key] = self.dims()[0] if key == "valid" else self.tile_value(key)
        valid = values.pop("valid", shape)
        if len(valid) != 2:
            raise Rejected("a valid region has two dimensions")
        return TileBuf(loc, dtype, *shape, *valid, **values)  # type: ignore[misc]

    # Values

    def use(self, kind: Any = None) -> str:
        name = self.take()
        if not name.startswith("%"):
            raise Rejected(f"expected an operand, found {name!r}")
        if name not in self.types:
            raise Rejected(f"use of undeclared value {name}")
        if kind is not None:
            self.same(name, kind)
        return name

    def same(self, name: str, kind: Any) -> None:
        if self.types[name] != kind:
            raise Rejected(f"{name} is {self.types[name]} and used as {kind}")

    def define(self, name: str, kind: Any) -> str:
        if name in self.types:
            raise Rejected(f"redefinition of {name}")
        self.types[name] = kind
        return name

    def typed(self, end: str = ")") -> list[tuple[str, Any]]:
        """``%a, %b : A, B`` with the types those that the values have."""
        names = [self.use()]
        while self.accept(","):
            names.append(self.use())
        self.expect(":")
        return self.with_types(names, end)

    def with_types(self, names: list[str], end: str) -> list[tuple[str, Any]]:
        kinds = self.listed(self.type, end)
        if len(kinds) != len(names):
            raise Rejected(f"{len(names)} operands have {len(kinds)} types")
        for name, kind in zip(names, kinds, strict=True):
            self.same(name, kind)
        return list(zip(names, kinds, strict=True))

    def attributes(self) -> dict[str, str]:
        found = {}
        if self.accept("{"):
            while not self.accept("}"):
                key = self.take().strip('"')
                self.expect("=")
                found[key] = self.take().strip('"')
                if self.next != "}":
                    self.expect(",")
        return found

    # Structure

    def module(self) -> Module:
        self.expect("module")
        if self.accept("attributes"):
            own = self.attributes().get("pto.target_arch", self.arch)
            self.arch = self.forced or own
        if self.arch not in UB_BITS:
            raise Rejected(f"{self.arch!r} is neither a3 nor a5")
        self.expect("{")
        functions: dict[str, Function] = {}
        while not self.accept("}"):
            function = self.function()
            if function.name in functions:
                raise Rejected(f"redefinition of @{function.name}")
            functions[function.name] = function
        if self.place != len(self.tokens):
            raise Rejected(f"unexpected {self.next!r} behind the module")
        return Module(self.arch, functions)

    def function(self) -> Function:
        self.expect("func.func")
        name = self.take().removeprefix("@")
        self.types, self.constants = {}, {}
        self.expect("(")
        parameters: dict[str, View] = {}
        while not self.accept(")"):
            parameter = self.take()
            self.expect(":")
            parameters[parameter] = self.type()
            self.define(parameter, parameters[parameter])
            if self.next != ")":
                self.expect(",")
        entry = False
        if self.accept("attributes"):
            self.expect("{", "pto.entry", "}")
            entry = True
        self.expect("{")
        function = Function(name, parameters, self.block("return"), entry)
        self.expect("return", "}")
        return function

    def block(self, end: str) -> list[Action]:
        actions = []
        while self.next != end:
            if self.next == "<end>":
                raise Rejected(f"expected {end!r}")
            actions.append(self.operation())
        return actions

    def operation(self) -> Action:
        result = None
        if self.next.startswith("%"):
            result = self.take()
            self.expect("=")
        name = self.take()
        own = getattr(self, "op_" + name.replace(".", "_"), None)
        if own is None:
            raise Rejected(f"{name!r} is no operation")
        if result is None:
            return own()
        if name.startswith("pto.t") and name != "pto.tassign":
            own()
            raise Rejected(f"{name} has no result")
        return own(result)

    def op_arith_constant(self, result: str) -> Action:
        if self.accept("dense"):
            self.expect("<")
            value: Any = self.listed(self.integer, "]") if self.accept("[") else self.integer()
            self.expect(">")
        else:
            value = self.integer()
        self.expect(":")
        self.define(result, self.type())
        if isinstance(value, int):
            self.constants[result] = value
        return _bind(result, lambda environment: value)

    def arithmetic(self, result: str, compute: Callable[[int, int], int]) -> Action:
        one = self.use()
        self.expect(",")
        two = self.use()
        self.expect(":")
        kind = self.type()
        self.same(one, kind)
        self.same(two, kind)
        self.define(result, kind)
        return _bind(result, lambda environment: compute(environment[one], environment[two]))

    def op_arith_addi(self, result: str) -> Action:
        return self.arithmetic(result, lambda one, two: one + two)

    def op_arith_muli(self, result: str) -> Action:
        return self.arithmetic(result, lambda one, two: one * two)

    def op_arith_index_cast(self, result: str) -> Action:
        source = self.use()
        self.expect(":")
        self.same(source, self.type())
        self.expect("to")
        self.define(result, self.type())
        return _bind(result, lambda environment: environment[source])

    def op_scf_for(self) -> Action:
        outer = dict(self.types)
        variable = self.take()
        self.expect("=")
        first = self.use("index")
        self.expect("to")
        last = self.use("index")
        self.expect("step")
        step = self.use("index")
        self.expect("{")
        self.define(variable, "index")
        body = self.block("}")
        self.expect("}")
        self.types = outer

        def run(environment: Environment) -> Iterator[Event]:
            for turn in range(environment[first], environment[last], environment[step]):
                inner = {**environment, variable: turn}
                for action in body:
                    yield from action(inner)

        return run

    def indices(self) -> list[str]:
        self.expect("[")
        return self.listed(lambda: self.use("index"), "]")

    def op_pto_make_tensor_view(self, result: str) -> Action:
        pointer = self.use()
        self.expect(",", "shape", "=")
        shape = self.indices()
        self.expect(",", "strides", "=")
        strides = self.indices()
        self.attributes()
        self.expect(":")
        kind = self.type()
        if not isinstance(kind, View) or kind.kind != "tensor_view" or len(kind.shape) != len(shape):
            raise Rejected(f"{kind} is no tensor view of {len(shape)} dimensions")
        self.same(pointer, View("ptr", kind.dtype))
        self.define(result, kind)

        def whole(env: Environment) -> Gm:
            return Gm(env[pointer].pointer, *(tuple(env[one] for one in many) for many in (shape, strides)))

        return _bind(result, whole)

    def op_pto_partition_view(self, result: str) -> Action:
        source = self.use()
        self.expect(",", "offsets", "=")
        offsets = self.indices()
        self.expect(",", "sizes", "=")
        sizes = self.indices()
        self.expect(":")
        self.same(source, self.type())
        self.expect("->")
        kind = self.type()
        if not isinstance(kind, View) or kind.kind != "partition_tensor_view":
            raise Rejected(f"{kind} is no partition of a tensor view")
        if [self.constants.get(size) for size in sizes] != list(kind.shape):
            raise Rejected(f"sizes and {kind} differ")
        self.define(result, kind)

        def view(env: Environment) -> Gm:
            whole = env[source]
            parts = (tuple(env[one] for one in many) for many in (offsets, sizes))
            return Gm(whole.pointer, whole.shape, whole.strides, *parts)

        return _bind(result, view)

    def op_pto_alloc_tile(self, result: str) -> Action:
        operands = {}
        for key, kind in (("addr", "i64"), ("valid_row", "index"), ("valid_col", "index")):
            if self.accept(key):
                self.expect("=")
                operands[key] = self.use(kind)
        self.attributes()
        self.expect(":")
        tile = self.tile_type()
        if ("addr" in operands) != (self.level == 3):
            raise Rejected("requires 'addr' at level 3" if self.level == 3 else "unexpected 'addr' below level 3")
        for key, size in (("valid_row", tile.valid_rows), ("valid_col", tile.valid_cols)):
            if (key in operands) != (size is None):
                raise Rejected(f"{key} is required" if size is None else f"{key} must be absent")
        self.define(result, tile)
        address = operands.get("addr")

        def allocate(env: Environment) -> Tile:
            sizes = {f"{key}s": env[operands[key]] for key in ("valid_row", "valid_col") if key in operands}
            return Tile(result, replace(tile, **sizes), env[address] if address else None, tile)

        return _bind(result, allocate)

    def op_pto_tassign(self, result: str) -> Action:
        if self.level != 3 or self.insert_sync:
            raise Rejected("tassign belongs to level 3 without --enable-insert-sync")
        source = self.use()
        self.expect(",")
        address = self.use("i64")
        self.expect(":")
        kind = self.tile_type()
        self.same(source, kind)
        self.expect("->")
        if self.tile_type() != kind:
            raise Rejected("result type must match tile operand type")
        self.define(result, kind)
        return _bind(result, lambda env: replace(env[source], name=result, address=env[address]))

    def tile_type(self) -> TileBuf:
        kind = self.type()
        if not isinstance(kind, TileBuf):
            raise Rejected(f"{kind} is no tile")
        return kind

    # Moves and instructions

    def outs(self) -> list[tuple[str, Any]]:
        self.expect("outs", "(")
        return self.typed()

    def issue(self, name: str, ins: list, outs: list, attributes: tuple = ()) -> Action:
        if self.level < 3:
            needed = sum({one: kind.bytes for one, kind in ins + outs if isinstance(kind, TileBuf)}.values()) * 8
            if needed > UB_BITS[self.arch]:
                raise Rejected(f"vec overflow, requires {needed} bits while {UB_BITS[self.arch]} bits avaliable!")

        def run(env: Environment) -> Iterator[Event]:
            sides = (tuple(env[one] for one, _ in side) for side in (ins, outs))
            yield Event(name, *sides, attributes=attributes)

        return run

    def move(self, tiles: list, views: list) -> tuple[TileBuf, View]:
        (_, tile), (_, view) = tiles[0], views[0]
        if len(tiles) + len(views) != 2 or not isinstance(tile, TileBuf) or not isinstance(view, View):
            raise Rejected("a move takes one tile and one view")
        if view.kind != "partition_tensor_view":
            raise Rejected("expects a partition of a tensor view")
        if any(size is not None and size <= 0 for size in (*view.shape, *tile.valid)):
            raise Rejected("expects positive sizes")
        if ELEMENTS[tile.dtype] != ELEMENTS[view.dtype]:
            raise Rejected("expects elements of the same size")
        _within(tile)
        return tile, view

    def op_pto_tload(self) -> Action:
        self.expect("ins", "(")
        ins = self.typed()
        outs = self.outs()
        self.attributes()
        self.move(outs, ins)
        return self.issue("tload", ins, outs)

    def op_pto_tstore(self) -> Action:
        self.expect("ins", "(")
        ins = self.typed()
        outs = self.outs()
        self.attributes()
        tile, view = self.move(ins, outs)
        if None not in (*tile.valid, *view.shape) and prod(view.shape) != prod(tile.valid):  # type: ignore[arg-type]
            raise Rejected(f"dst has {prod(view.shape)} elements, src {prod(tile.valid)}")  # type: ignore[arg-type]
        return self.issue("tstore", ins, outs)

    def op_pto_tsort32(self) -> Action:
        self.expect("ins", "(")
        ins = self.typed()
        outs = self.outs()
        self.attributes()
        if len(ins) not in (2, 3) or len(outs) != 1:
            raise Rejected("tsort32 takes src, idx and perhaps tmp, and gives dst")
        for _, kind in ins + outs:
            if not isinstance(kind, TileBuf) or kind.loc != "vec" or kind.blayout != "row_major":
                raise Rejected("expects row_major tiles in vec")
            _within(kind)
        src, idx, dst = ins[0][1], ins[1][1], outs[0][1]
        if src.dtype != dst.dtype or src.dtype not in ("f16", "f32"):
            raise Rejected("expects src and dst of one type, f16 or f32")
        if idx.dtype != "ui32":
            raise Rejected("expects idx of ui32")
        return self.issue("tsort32", ins, outs)

    def op_pto_tmrgsort(self) -> Action:
        self.expect("ins", "(")
        names = [self.use()]
        while self.accept(","):
            names.append(self.use())
        exhausted = None
        if len(names) == 2 and self.next == ":":
            self.expect(":")
            ins = self.with_types(names, ")")
            outs = self.outs()
            return self.merge_single(ins, outs)
        if not 3 <= len(names) <= 5:
            raise Rejected("expects 2 to 4 lists and tmp")
        if self.accept("{"):
            self.expect("exhausted", "=")
            exhausted = self.one_of("boolean", ("true", "false"))
            self.expect("}")
        self.expect(":")
        ins = self.with_types(names, ")")
        outs = self.outs()
        self.attributes()
        if len(outs) != 2:
            raise Rejected("expects dst and the executed counts")
        (_, dst), (_, executed) = outs
        if executed != "vector<4xi16>":
            raise Rejected("expects counts of vector<4xi16>")
        if not all(isinstance(kind, TileBuf) for _, kind in [*ins, outs[0]]):
            raise Rejected("expects tiles")
        if any(kind.dtype != dst.dtype for _, kind in ins):
            raise Rejected("expects one element type")
        if ins[-1][1].shape != dst.shape:
            raise Rejected("expects dst and tmp of one shape")
        return self.issue("tmrgsort", ins, outs, (("exhausted", exhausted == "true"),))

    def merge_single(self, ins: list, outs: list) -> Action:
        (_, src), (length, kind) = ins
        if len(outs) != 1 or not isinstance(src, TileBuf) or not isinstance(outs[0][1], TileBuf):
            raise Rejected("expects one src tile and one dst tile")
        dst = outs[0][1]
        if not re.fullmatch(r"i\d+", str(kind)):
            raise Rejected("expects an integer block length")
        if src.dtype != dst.dtype or src.dtype not in ("f16", "f32"):
            raise Rejected("expects src and dst of one type, f16 or f32")
        if (src.rows, dst.rows) != (1, 1) or src.cols != dst.cols:
            raise Rejected("expects one row and equal columns")
        constant = self.constants.get(length)
        if constant is not None and (constant <= 0 or constant % 64):
            raise Rejected("expects blockLen > 0 and multiple of 64")
        return self.issue("tmrgsort", ins, outs)

    def part(self, name: str) -> Action:
        self.expect("ins", "(")
        ins = self.typed()
        outs = self.outs()
        self.attributes()
        if len(ins) != 2 or len(outs) != 1:
            raise Rejected(f"{name} takes src0 and src1 and gives dst")
        src0, src1, dst = (kind for _, kind in ins + outs)
        if not src0.dtype == src1.dtype == dst.dtype:
            raise Rejected("expects one element type")
        if dst.dtype not in PART_ELEMENTS[self.arch]:
            raise Rejected(f"expects {', '.join(PART_ELEMENTS[self.arch])}")
        if name in ("tpartmin", "tpartmax") and not src0.shape == src1.shape == dst.shape:
            raise Rejected("expects one shape")
        if self.arch == "a3":
            for kind in (src0, src1):
                if any(own > whole for own, whole in _known(kind.valid, dst.valid)):
                    raise Rejected("a source's valid region exceeds that of dst")
            if not any(all(own == whole for own, whole in _known(kind.valid, dst.valid)) for kind in (src0, src1)):
                raise Rejected("no source has the valid region of dst")
        return self.issue(name, ins, outs)

    def op_pto_tpartmin(self) -> Action:
        return self.part("tpartmin")

    def op_pto_tpartmax(self) -> Action:
        return self.part("tpartmax")

    def op_pto_tpartadd(self) -> Action:
        return self.part("tpartadd")

    def op_pto_tpartmul(self) -> Action:
        return self.part("tpartmul")

    # Order

    def bracketed(self, what: str, allowed: Sequence[str]) -> str:
        self.expect("<")
        value = self.one_of(what, allowed)
        self.expect(">")
        return value

    def flag(self, name: str) -> Action:
        self.expect("[")
        source = self.bracketed("pipe", PIPES)
        self.expect(",")
        target = self.bracketed("pipe", PIPES)
        self.expect(",")
        event = self.bracketed("event", EVENTS)
        self.expect("]")
        return lambda env: iter((Event(name, attributes=(source, target, int(event[-1]))),))

    def op_pto_set_flag(self) -> Action:
        return self.flag("set_flag")

    def op_pto_wait_flag(self) -> Action:
        return self.flag("wait_flag")

    def op_pto_barrier(self) -> Action:
        pipe = self.bracketed("pipe", PIPES)
        return lambda env: iter((Event("barrier", attributes=(pipe,)),))

    def op_pto_record_event(self) -> Action:
        self.expect("[", "#pto.sync_op_type")
        one = self.bracketed("sync op type", ("TLOAD", "TVEC", "TSTORE_VEC"))
        self.expect(",", "#pto.sync_op_type")
        two = self.bracketed("sync op type", ("TLOAD", "TVEC", "TSTORE_VEC"))
        self.expect(",", "#pto.event")
        event = self.bracketed("event", EVENTS)
        self.expect("]")
        return lambda env: iter((Event("event", attributes=(one, two, event)),))

    op_pto_wait_event = op_pto_record_event


def _within(tile: TileBuf) -> None:
    for size, whole in zip(tile.valid, tile.shape, strict=True):
        if size is not None and size > whole:
            raise Rejected("expects a valid region inside the shape")


def _known(one: tuple[int | None, int | None], two: tuple[int | None, int | None]) -> Iterator[tuple[int, int]]:
    """The sizes of two valid regions that the verifier knows."""
    return ((own, other) for own, other in zip(one, two, strict=True) if own is not None and other is not None)


def _bind(name: str, value: Callable[[Environment], Any]) -> Action:
    def run(environment: Environment) -> Iterator[Event]:
        environment[name] = value(environment)
        return iter(())

    return run
