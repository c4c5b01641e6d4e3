"""A user's .npy file as input data."""

from __future__ import annotations

import pathlib

import numpy as np
import pytest

from ptogen.golden.sort32 import generate
from ptogen.golden.values import load_values


def save(path: pathlib.Path, array: np.ndarray, **options: bool) -> pathlib.Path:
    np.save(path, array, **options)
    return path


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("endian", ["<", ">"])
def test_values_reach_src_bit_for_bit(tmp_path: pathlib.Path, dtype: str, order: str, endian: str) -> None:
    array = np.array([[1.5, -0.0, np.inf], [5e-8, -np.inf, 3.0]], np.dtype(dtype).newbyteorder(endian), order=order)
    values = load_values(save(tmp_path / "in.npy", array), dtype, 2, 3)
    assert "\\" not in values and '"' not in values and "'" not in values
    data = generate(dtype=dtype, rows=2, cols=3, valid=(1, 2), idx="per_row", data="in.npy", seed=0, values=values)
    assert data["src"].tobytes() == array.astype(np.dtype(dtype).newbyteorder("<")).tobytes(order="C")
    assert data["dst"].shape == (1, 2)


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.zeros((2, 4), "f4"), "has shape 2 x 4, the case needs 2 x 3"),
        (np.zeros(6, "f4"), "has shape 6, the case needs 2 x 3"),
        (np.zeros((), "f4"), "has shape of a single number, the case needs 2 x 3"),
        (np.zeros((2, 3), "f8"), "holds float64, the case needs float32"),
        (np.zeros((2, 3), "i4"), "holds int32, the case needs float32"),
        (np.array([[0, 0, 0], [0, np.nan, np.nan]], "f4"), "holds 2 NaN, the first at row 1, column 1"),
    ],
)
def test_wrong_arrays_are_refused(tmp_path: pathlib.Path, array: np.ndarray, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        load_values(save(tmp_path / "in.npy", array), "float32", 2, 3)


def test_pickled_objects_are_never_loaded(tmp_path: pathlib.Path) -> None:
    path = save(tmp_path / "in.npy", np.array([[{}]], object), allow_pickle=True)
    with pytest.raises(ValueError, match="pickled Python objects"):
        load_values(path, "float32", 1, 1)


def test_a_missing_file_is_said_to_be_missing(tmp_path: pathlib.Path) -> None:
    with pytest.raises(ValueError, match="cannot be read: No such file"):
        load_values(tmp_path / "none.npy", "float32", 1, 1)


def test_a_directory_cannot_be_read(tmp_path: pathlib.Path) -> None:
    with pytest.raises(ValueError, match="cannot be read"):
        load_values(tmp_path, "float32", 1, 1)


@pytest.mark.parametrize("content", [b"", b"1 2 3\n", b"PK\x03\x04 an archive", b"\x80\x04]\x94."])
def test_other_files_are_refused(tmp_path: pathlib.Path, content: bytes) -> None:
    (tmp_path / "in.npy").write_bytes(content)
    with pytest.raises(ValueError, match="^not a .npy file$"):
        load_values(tmp_path / "in.npy", "float32", 1, 1)


@pytest.mark.parametrize("kept", [6, 7, 20, 100, 128, 130])
def test_damaged_files_are_refused(tmp_path: pathlib.Path, kept: int) -> None:
    path = save(tmp_path / "in.npy", np.zeros((2, 3), "f4"))
    path.write_bytes(path.read_bytes()[:kept])
    with pytest.raises(ValueError, match="damaged"):
        load_values(path, "float32", 2, 3)


def test_a_header_that_promises_too_much_is_refused(tmp_path: pathlib.Path) -> None:
    path = save(tmp_path / "in.npy", np.zeros((2, 3), "f4"))
    path.write_bytes(path.read_bytes().replace(b"(2, 3)", b"(9999999999999, 3)"[:18]))
    with pytest.raises(ValueError):
        load_values(path, "float32", 2, 3)
