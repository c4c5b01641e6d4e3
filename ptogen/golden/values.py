"""Values of a user's ``.npy`` file, as text that a rendered ``gen_data.py`` can hold."""

from __future__ import annotations

import base64
import io
import os

import numpy as np

NPY_MAGIC = b"\x93NUMPY"


def load_values(path: str | os.PathLike[str], dtype: str, rows: int, cols: int) -> str:
    """The array in ``path`` as base85 text of a .npy file: little endian, C order; raises as :func:`read_values`."""
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, read_values(path, dtype, rows, cols), version=(1, 0), allow_pickle=False)
    return base64.b85encode(buffer.getvalue()).decode("ascii")


def read_values(path: str | os.PathLike[str], dtype: str, rows: int, cols: int) -> np.ndarray:
    """The array in ``path``, rows x cols of ``dtype``, little endian, C order.

    Raises:
        ValueError: it cannot be read, is not a .npy file, holds Python objects or NaN, or has another dtype or shape;
            the message says which.
    """
    try:
        with open(path, "rb") as file:
            if file.read(len(NPY_MAGIC)) != NPY_MAGIC:
                raise ValueError("not a .npy file")
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except OSError as error:
        raise ValueError(f"cannot be read: {error.strerror or error}") from None
    except (ValueError, EOFError, SyntaxError, TypeError, OverflowError, MemoryError) as error:
        reason = str(error)
        if "Python objects" in reason or "allow_pickle" in reason:
            reason = "holds pickled Python objects, which are never loaded"
        elif reason != "not a .npy file":
            reason = "a damaged .npy file"
        raise ValueError(reason) from None
    if array.dtype.name != dtype:
        raise ValueError(f"holds {array.dtype.name}, the case needs {dtype}")
    if array.shape != (rows, cols):
        raise ValueError(f"has shape {_shape(array.shape)}, the case needs {_shape((rows, cols))}")
    plain = np.array(array, dtype=np.dtype(dtype).newbyteorder("<"), order="C")
    if plain.dtype.kind == "f" and len(not_numbers := np.argwhere(np.isnan(plain))):
        row, col = not_numbers[0]
        place = f"the first at row {row}, column {col}"
        raise ValueError(f"holds {len(not_numbers)} NaN, {place}; the order of NaN is undefined")
    return plain


def _shape(shape: tuple[int, ...]) -> str:
    return " x ".join(map(str, shape)) if shape else "of a single number"
