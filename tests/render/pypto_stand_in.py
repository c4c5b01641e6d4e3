"""Runs a pypto_pro module on NumPy arrays: the ``pl`` calls of sort32 (source: pypto_pro page sort32) over one buffer
of bytes.

Every tile is a view of UB at its address, so tiles that overlap destroy each other's bytes. UB starts full of a pattern
that would lead every sort, tmp is really written, and records are written for whole blocks, as by the hardware. What
the document forbids is an error.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np

from ptogen.golden.sort32 import RECORDS, sort32

BLOCK = 32
UB_BYTES = 253_952
PATTERN = 0x7B
"""A byte that makes large positive floats, of 2 bytes as of 4."""


@dataclass(frozen=True)
class Dtype:
    name: str

    @property
    def numpy(self) -> np.dtype:
        return np.dtype(self.name).newbyteorder("<")


@dataclass(frozen=True)
class TensorType:
    shape: tuple[int, int]
    dtype: Dtype


@dataclass(frozen=True)
class TileType:
    shape: tuple[int, int]
    dtype: Dtype
    valid_shape: tuple[int, int]
    target_memory: str

    @property
    def bytes(self) -> int:
        return self.shape[0] * self.shape[1] * self.dtype.numpy.itemsize


@dataclass(frozen=True)
class Tile:
    type: TileType
    address: int
    mutex: int
    ub: np.ndarray

    @property
    def end(self) -> int:
        return self.address + self.type.bytes

    @property
    def data(self) -> np.ndarray:
        """Its elements, in UB."""
        return self.ub[self.address : self.end].view(self.type.dtype.numpy).reshape(self.type.shape)

    @property
    def valid(self) -> np.ndarray:
        rows, cols = self.type.valid_shape
        return self.data[:rows, :cols]


@dataclass
class Machine:
    """UB and what was done on it.

    Attributes:
        tiles: in the order in which they were made.
        calls: (name, addresses of its tiles) of every load, sort and store.
    """

    ub: np.ndarray = field(default_factory=lambda: np.full(UB_BYTES, PATTERN, np.uint8))
    tiles: list[Tile] = field(default_factory=list)
    calls: list[tuple[str, tuple[int, ...]]] = field(default_factory=list)

    def language(self) -> ModuleType:
        """``pypto_pro.language`` on this machine."""
        module = ModuleType("pypto_pro.language")
        module.Tensor = _Subscript()  # type: ignore[attr-defined]
        module.MemorySpace = SimpleNamespace(Vec="Vec")  # type: ignore[attr-defined]
        for name, numpy in (("DT_FP16", "float16"), ("DT_FP32", "float32"), ("DT_UINT32", "uint32")):
            setattr(module, name, Dtype(numpy))
        for name in ("jit", "TileType", "make_tile_group", "section_vector", "load", "sort32", "store"):
            setattr(module, name, getattr(self, name))
        return module

    # The calls of the language

    def jit(self, *, auto_mutex: bool) -> Callable[[Callable], Callable]:
        assert auto_mutex, "nothing else orders the steps"

        def wrap(kernel: Callable) -> Callable:
            def run(*tensors: np.ndarray) -> None:
                for tensor, kind in zip(tensors, kernel.__annotations__.values(), strict=True):
                    assert (tensor.shape, tensor.dtype) == (kind.shape, kind.dtype.numpy)
                kernel(*tensors)

            return run

        return wrap

    def TileType(  # noqa: N802
        self, *, shape: Sequence[int], dtype: Dtype, target_memory: str, valid_shape: Sequence[int] | None = None
    ) -> TileType:
        valid = valid_shape or shape
        assert len(shape) == len(valid) == 2 and all(own <= whole for own, whole in zip(valid, shape, strict=True))
        assert shape[1] * dtype.numpy.itemsize % 32 == 0, "a row fills blocks of 32 bytes"
        assert target_memory == "Vec"
        return TileType(tuple(shape), dtype, tuple(valid), target_memory)

    def make_tile_group(self, *, type: TileType, addrs: int, mutex_ids: Sequence[int]) -> SimpleNamespace:  # noqa: A002
        (mutex,) = mutex_ids
        tile = Tile(type, addrs, mutex, self.ub)
        assert tile.address % 32 == 0 and 0 <= tile.address and tile.end <= len(self.ub)
        assert mutex not in [other.mutex for other in self.tiles]
        self.tiles.append(tile)
        return SimpleNamespace(current=lambda: tile)

    @contextlib.contextmanager
    def section_vector(self) -> Iterator[None]:
        yield

    def load(self, tile: Tile, tensor: np.ndarray, place: Sequence[int]) -> None:
        tile.valid[...] = _part(tensor, tile, place)
        self.calls.append(("load", (tile.address,)))

    def store(self, tensor: np.ndarray, tile: Tile, place: Sequence[int]) -> None:
        _part(tensor, tile, place)[...] = tile.valid
        self.calls.append(("store", (tile.address,)))

    def sort32(self, dst: Tile, src: Tile, idx: Tile, tmp: Tile | None = None) -> None:
        _judge(dst, src, idx, tmp)
        rows, cols = src.type.valid_shape
        whole = -(-cols // BLOCK) * BLOCK
        one = idx.type.valid_shape[0] == 1
        for row in range(rows):
            values = src.data[row]
            if tmp is not None:
                # A short row goes through tmp as a whole, of a long one only the last block.
                first = 0 if cols * values.itemsize <= 8160 else whole - BLOCK
                tmp.data[0, : cols - first] = values[first:cols]
                tmp.data[0, cols - first : whole - first] = -np.inf
                values = np.concatenate([values[:first], tmp.data[0, : whole - first]])
            records = sort32(values[None, :whole], idx.data[None, 0 if one else row, :whole])
            dst.data[row, : whole * records.itemsize // dst.data.itemsize] = records.view(dst.type.dtype.numpy)[0]
        self.calls.append(("sort32", tuple(tile.address for tile in (dst, src, idx, tmp) if tile is not None)))


class _Subscript:
    """``pl.Tensor[[rows, cols], dtype]``."""

    def __getitem__(self, item: tuple[Sequence[int], Dtype]) -> TensorType:
        shape, dtype = item
        return TensorType(tuple(shape), dtype)  # type: ignore[arg-type]


def _part(tensor: np.ndarray, tile: Tile, place: Sequence[int]) -> np.ndarray:
    """The part of a tensor that a tile's valid region covers from ``place`` on."""
    rows, cols = tile.type.valid_shape
    part = tensor[place[0] : place[0] + rows, place[1] : place[1] + cols]
    assert part.shape == (rows, cols), "past the end of the tensor"
    assert tensor.dtype == tile.type.dtype.numpy
    return part


def _judge(dst: Tile, src: Tile, idx: Tile, tmp: Tile | None) -> None:
    """The document's rules for one sort."""
    (rows, cols), size = src.type.valid_shape, src.type.dtype.numpy.itemsize
    whole = -(-cols // BLOCK) * BLOCK
    coef = RECORDS[src.type.dtype.name].itemsize // size
    tiles = [tile for tile in (dst, src, idx, tmp) if tile is not None]
    for number, one in enumerate(tiles):
        for two in tiles[number + 1 :]:
            assert one.end <= two.address or two.end <= one.address, "buffers overlap"
    assert dst.type.dtype == src.type.dtype and idx.type.dtype.name == "uint32"
    assert dst.type.valid_shape == (rows, cols * coef) and dst.type.shape[1] >= whole * coef
    assert idx.type.valid_shape[0] in (1, rows) and idx.type.valid_shape[1] >= cols and idx.type.shape[1] >= whole
    assert src.address % (BLOCK * size) == 0 and idx.address % 128 == 0 and dst.address % 256 == 0
    assert (tmp is not None) == bool(cols % BLOCK), "tmp is there for a tail, and only then"
    if tmp is not None:
        assert tmp.type.dtype == src.type.dtype
        assert tmp.type.shape[1] >= (whole if cols * size <= 8160 else BLOCK)


@contextlib.contextmanager
def _installed(language: ModuleType) -> Iterator[None]:
    names = {"pypto_pro": ModuleType("pypto_pro"), "pypto_pro.language": language}
    names["pypto_pro"].language = language  # type: ignore[attr-defined]
    before = {name: sys.modules.get(name) for name in names}
    sys.modules.update(names)
    try:
        yield
    finally:
        for name, module in before.items():
            if module is None:
                del sys.modules[name]
            else:
                sys.modules[name] = module


def run(text: str, kernel: str, *tensors: np.ndarray) -> Machine:
    """Runs one kernel of a module's text; the tensors are changed in place."""
    machine = Machine()
    space: dict[str, Any] = {}
    with _installed(machine.language()):
        exec(compile(text, "module.py", "exec", dont_inherit=True), space)
        space[kernel](*tensors)
    return machine
