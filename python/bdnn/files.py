"""Files of vectors, labels and codes, in every format that the program reads."""
from __future__ import annotations

from typing import Any, NamedTuple, Optional, Sequence

import numpy as np

from . import _core
from ._arrays import as_codes, as_labels, as_rows, path_of, ready, whole_number
from ._estimators import Hasher


def load_vectors(path: Any, *, columns: Sequence[str] = (), drop: Sequence[str] = (), label_column: str = "",
                 id_column: str = "") -> np.ndarray:
    """Read vectors: .fvecs .ivecs .bvecs .npy idx CIFAR-10 HDF5 MATLAB CSV, recognised by content, then by name.

    Elements keep the type of the file. "file.hdf5:train" selects one dataset of a file that holds several. Of CSV files,
    `columns` (names or numbers from 1) make up the vectors; those in `drop`, `label_column` and `id_column` do not.
    """
    return _core.load_vectors(path_of(path), [str(name) for name in columns], [str(name) for name in drop],
                              str(label_column), str(id_column))


def save_vectors(X: Any, path: Any) -> None:
    """Write vectors in the format given by the file name: .fvecs .ivecs .bvecs .npy .hdf5 .mat .csv, idx.

    >>> import bdnn, numpy as np, os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "x.fvecs")
    >>> bdnn.save_vectors(np.eye(2, dtype=np.float32), path)
    >>> bdnn.load_vectors(path)
    array([[1., 0.],
           [0., 1.]], dtype=float32)
    """
    _core.save_vectors(ready(as_rows(X, minimum=0)), path_of(path))


def load_labels(path: Any, *, column: str = "") -> np.ndarray:
    """Read labels: integers (int64), or names as strings; -1, or "-1" among names, means no label."""
    labels, names = _core.load_labels(path_of(path), str(column))
    if not names:
        return labels
    return np.array([names.get(label, str(label)) for label in labels.tolist()])


def save_labels(y: Any, path: Any) -> None:
    """Write labels, in the smallest type that holds them. Names become the numbers that the program uses for them."""
    _core.save_labels(as_labels(y, None), path_of(path))


class CodesFile(NamedTuple):
    """Codes read from a file, with their length and the model that made them (its fingerprint, or "")."""

    codes: np.ndarray
    n_bits: int
    fingerprint: str


def load_codes(path: Any, *, n_bits: Optional[int] = None, mmap: bool = False) -> CodesFile:
    """Read packed codes: .codes, .npy (uint8) or .bvecs; the last two do not record n_bits.

    With mmap, a .codes file is mapped into memory, and its checksum is not verified.
    """
    codes, bits, origin = _core.load_codes(path_of(path), 0 if n_bits is None else whole_number(n_bits, "n_bits", 1, 4096),
                                           bool(mmap))
    return CodesFile(codes, bits, origin.model)


def save_codes(codes: Any, path: Any, *, n_bits: Optional[int] = None, hasher: Optional[Hasher] = None) -> None:
    """Write packed codes: .codes, .npy or .bvecs. With `hasher`, a .codes file records which hasher made them."""
    array = as_codes(codes)
    bits = 8 * array.shape[1] if n_bits is None else whole_number(n_bits, "n_bits", 1, 4096)
    origin = _core.Origin()
    if hasher is not None:
        bits = hasher._model.bits
        origin = hasher._model.origin(False, 8)
    _core.save_codes(array, bits, origin, path_of(path))
