"""Converts users' arrays to the form that the C++ library takes: rows in C order and native byte order.

float32 and uint8 arrays in C order are used as they are. Whatever else has to be copied is copied in blocks.
"""
from __future__ import annotations

import os
import sys
from typing import Any, Iterator, Sequence

import numpy as np

from ._errors import MisuseError

BLOCK_BYTES = 1 << 26

_NATIVE = frozenset(np.dtype(name).str[1:] for name in
                    ("f2", "f4", "f8", "u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8"))


def as_rows(x: Any, name: str = "X", minimum: int = 1) -> np.ndarray:
    """A two-dimensional array of numbers, not copied if NumPy can use the memory of `x`.

    Speaks the buffer protocol, the array interface and DLPack. Byte order and memory layout may still be any.
    """
    if hasattr(x, "tocsr") or type(x).__module__.startswith("scipy.sparse"):
        raise MisuseError(f"{name} is a sparse matrix, which bdnn does not take; pass {name}.toarray()")
    if not isinstance(x, np.ndarray):
        if hasattr(x, "__dlpack__") and not hasattr(x, "__array__"):
            x = np.from_dlpack(x)
        else:
            try:
                x = np.asarray(x)
            except ValueError as error:  # rows of different lengths
                raise MisuseError(f"{name} is not a table of numbers: {error}") from error
    if isinstance(x, np.ma.MaskedArray) and np.ma.is_masked(x):
        raise MisuseError(f"{name} is a masked array with masked entries; fill them first")
    kind = x.dtype.kind
    if kind == "O":
        x = _numbers_from_objects(x, name)
    elif kind == "c":
        raise MisuseError(f"Complex data not supported: {name} is {x.dtype}; pass real numbers")
    elif kind == "b":
        x = x.view(np.uint8)
    elif kind == "f" and x.dtype.itemsize > 8:
        x = x.astype(np.float64)
    elif x.dtype.str[1:] not in _NATIVE:
        raise MisuseError(f"{name} has dtype {x.dtype}; pass numbers, best float32 or uint8")
    if x.ndim != 2:
        hint = ("Reshape your data: reshape(1, -1) for a single sample, reshape(-1, 1) for a single feature"
                if x.ndim == 1 else "give one row per sample")
        raise MisuseError(f"Expected 2D array for {name}, got {x.ndim}D array instead (shape={x.shape}). {hint}.")
    if x.shape[0] < minimum:
        raise MisuseError(f"Found array with {x.shape[0]} sample(s) (shape={x.shape}) while a minimum of "
                          f"{minimum} is required for {name}.")
    if x.shape[1] < 1:
        raise MisuseError(f"Found array with 0 feature(s) (shape={x.shape}) while a minimum of 1 is required for {name}.")
    return x


def _numbers_from_objects(x: np.ndarray, name: str) -> np.ndarray:
    try:
        return x.astype(np.float64)
    except TypeError as error:  # such as "float() argument must be a string or a real number"
        raise TypeError(f"{name} holds objects that are not numbers: {error}") from error
    except ValueError as error:
        raise MisuseError(f"{name} holds objects that are not numbers: {error}") from error


def is_ready(x: np.ndarray) -> bool:
    """Whether the C++ library can read the rows where they are."""
    return x.flags.c_contiguous and x.flags.aligned and x.dtype.isnative


def _rows_per_block(x: np.ndarray) -> int:
    return max(1, BLOCK_BYTES // max(1, x.shape[1] * x.dtype.itemsize))


def in_blocks(x: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
    """(first row, rows) pairs that cover the array: all of it if the rows are ready, else copies of blocks."""
    if is_ready(x):
        yield 0, x
        return
    rows = _rows_per_block(x)
    for first in range(0, x.shape[0], rows):
        piece = x[first:first + rows]
        yield first, np.require(piece, piece.dtype.newbyteorder("="), ["C", "A"])


def ready(x: np.ndarray) -> np.ndarray:
    """The array in C order and native byte order; copied only if necessary."""
    return x if is_ready(x) else np.require(x, x.dtype.newbyteorder("="), ["C", "A"])


def for_training(x: np.ndarray) -> np.ndarray:
    """float32 or uint8, which training reads again and again; anything else is converted once, in blocks."""
    if x.dtype in (np.float32, np.uint8) and is_ready(x):
        return x
    out = np.empty(x.shape, np.uint8 if x.dtype == np.uint8 else np.float32)
    rows = _rows_per_block(x)
    with np.errstate(over="ignore"):  # an infinity is found in training
        for first in range(0, x.shape[0], rows):
            out[first:first + rows] = x[first:first + rows]
    return out


def raise_if_not_finite(x: np.ndarray, name: str = "X") -> None:
    """Raises an error for the first entry that is not a finite 32-bit float."""
    if x.dtype.kind != "f":
        return
    rows = _rows_per_block(x)
    for first in range(0, x.shape[0], rows):
        piece = x[first:first + rows]
        with np.errstate(over="ignore"):
            good = np.isfinite(piece.astype(np.float32, copy=False))
        if good.all():
            continue
        row, column = (int(i) for i in np.argwhere(~good)[0])
        value = piece[row, column]
        what = "NaN" if np.isnan(value) else f"infinity or a value too large for dtype('float32') ({value!s})"
        raise MisuseError(f"Input {name} contains {what}: row {first + row}, column {column}, counted from 0.")


def as_codes(codes: Any, name: str = "codes", n_bits: int | None = None, minimum: int = 0) -> np.ndarray:
    """Packed codes: uint8, a row per code, in C order. A copy is made only of rows that are not in C order."""
    if hasattr(codes, "tocsr"):
        raise MisuseError(f"{name} is a sparse matrix; pass packed codes, a uint8 array")
    if not isinstance(codes, np.ndarray):
        codes = np.from_dlpack(codes) if hasattr(codes, "__dlpack__") else np.asarray(codes)
    if codes.dtype != np.uint8:
        raise MisuseError(f"{name} has dtype {codes.dtype}; packed codes are uint8, as transform() gives them "
                          "(numpy.packbits(bits, axis=1, bitorder='little') packs bits)")
    if codes.ndim != 2:
        raise MisuseError(f"Expected 2D array for {name}, got {codes.ndim}D array instead: one row of bytes per code")
    if codes.shape[1] < 1 or codes.shape[0] < minimum:
        raise MisuseError(f"{name} has shape {codes.shape}; there must be at least {max(1, minimum)} code(s) of at "
                          "least one byte")
    if n_bits is not None and codes.shape[1] != (n_bits + 7) // 8:
        raise MisuseError(f"{name} has {codes.shape[1]} byte(s) per code; codes of {n_bits} bits have {(n_bits + 7) // 8}")
    return np.ascontiguousarray(codes)


def as_labels(y: Any, samples: int | None, name: str = "y") -> np.ndarray:
    """Labels as int64. Integers stay what they are, -1 meaning unlabelled; names become the numbers that the program uses."""
    from . import _core

    if y is None:
        raise MisuseError(f"{name} is None; give one label per sample")
    values = np.asarray(y)
    if values.ndim == 2 and values.shape[1] == 1:
        import warnings

        from sklearn.exceptions import DataConversionWarning

        warnings.warn(f"A column-vector {name} was passed when a 1d array was expected. Please change the shape of "
                      f"{name} to (n_samples,), for example using ravel().", DataConversionWarning, stacklevel=3)
        values = values.ravel()
    if values.ndim != 1:
        raise MisuseError(f"{name} should be a 1d array, got an array of shape {values.shape} instead.")
    if samples is not None and len(values) != samples:
        raise MisuseError(f"Found input variables with inconsistent numbers of samples: {samples} samples, "
                          f"{len(values)} labels in {name}; give one label per sample")
    if values.dtype.kind == "O":
        if all(isinstance(value, (str, np.str_)) for value in values):
            values = values.astype(str)
        else:
            try:
                values = values.astype(np.float64)
            except (TypeError, ValueError) as error:
                raise MisuseError(f"Unknown label type: {name} mixes names and numbers, or holds other objects; give "
                                  "integers or strings") from error
    if values.dtype.kind in "US":
        names, inverse = np.unique(values.astype(str), return_inverse=True)
        numbers = [-1 if text == "-1" else _core.label_of(text) for text in names.tolist()]
        return np.array(numbers, np.int64)[inverse]
    if values.dtype.kind == "f":
        if not np.isfinite(values).all():
            what = "NaN" if np.isnan(values).any() else "infinity or a value too large for dtype('float64')"
            raise MisuseError(f"Input {name} contains {what}.")
        if (values != np.floor(values)).any():
            raise MisuseError(f"Unknown label type: {name} is continuous; labels are integers or strings")
    elif values.dtype.kind not in "iub":
        raise MisuseError(f"Unknown label type: {name} has dtype {values.dtype}; labels are integers or strings")
    if values.dtype.kind == "u" and values.dtype.itemsize == 8 and len(values) and values.max() > np.iinfo(np.int64).max:
        raise MisuseError(f"{name} has labels above 2**63 - 1")
    return np.ascontiguousarray(values, np.int64)


def threads_of(n_jobs: Any) -> int:
    """scikit-learn's n_jobs as a number of threads; 0 is one per core."""
    if n_jobs is None:
        return 1
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, (int, np.integer)) or n_jobs == 0:
        raise MisuseError(f"n_jobs={n_jobs!r} is not possible; n_jobs is a number of threads, -1 for one per core, or "
                          "None for one")
    if n_jobs == -1:
        return 0
    if n_jobs < -1:
        return max(1, (os.cpu_count() or 1) + 1 + int(n_jobs))
    if n_jobs > 4096:
        raise MisuseError(f"n_jobs={n_jobs} is not possible; n_jobs is at most 4096")
    return int(n_jobs)


def whole_number(value: Any, name: str, least: int, most: int = sys.maxsize) -> int:
    """An integer parameter, checked."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or not least <= value <= most:
        bounds = f"at least {least}" if most == sys.maxsize else f"{least} to {most}"
        raise MisuseError(f"{name}={value!r} is not possible; {name} is an integer, {bounds}")
    return int(value)


def check_one_of(value: Any, name: str, choices: Sequence[str]) -> None:
    """A parameter that is one of the library's names, which it keeps in lists."""
    if value not in choices:
        raise MisuseError(f"{name}={value!r} is not possible; {name} is one of {', '.join(choices)}")


def path_of(path: Any) -> bytes:
    """A file name as the system knows it, which need not be valid text."""
    return os.fsencode(path)
