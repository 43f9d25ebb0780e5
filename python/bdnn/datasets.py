"""Data to begin with."""
from __future__ import annotations

import os
from typing import Any, Optional

import numpy as np
from sklearn.utils import Bunch

from ._errors import FailureError, MisuseError
from .files import load_labels, load_vectors

_IDX = {"train": "train-images-idx3-ubyte", "train_labels": "train-labels-idx1-ubyte",
        "test": "t10k-images-idx3-ubyte", "test_labels": "t10k-labels-idx1-ubyte"}
_FOLDERS = {"mnist": ["/usr/share/datasets/mnist"], "fashion-mnist": ["/usr/share/datasets/fashion-mnist"]}
NAMES = ("digits", *_FOLDERS)


def fetch(name: str, folder: Optional[Any] = None) -> Bunch:
    """A dataset by name: `train`, `train_labels`, `test` and `test_labels`.

    'digits' comes with scikit-learn. 'fashion-mnist' is Debian's package dataset-fashion-mnist; it and 'mnist' are
    also found as idx files (.gz or not) in `folder`, or in a folder of that name in $BDNN_DATA. Nothing is downloaded.

    >>> from bdnn import datasets
    >>> data = datasets.fetch("digits")
    >>> data.train.shape, data.test.shape
    ((1500, 64), (297, 64))
    """
    if name == "digits":
        return _digits()
    if name not in _FOLDERS:
        raise MisuseError(f"there is no dataset '{name}'; there are {', '.join(NAMES)}")
    folders = [os.fspath(folder)] if folder is not None else []
    if "BDNN_DATA" in os.environ:
        folders.append(os.path.join(os.environ["BDNN_DATA"], name))
    folders += _FOLDERS[name]
    for place in folders:
        files = {part: _existing(place, file) for part, file in _IDX.items()}
        if all(files.values()):
            return Bunch(name=name, **{part: (load_labels if part.endswith("labels") else load_vectors)(file)
                                       for part, file in files.items()})
    raise FailureError(f"{name} is not in {' or '.join(folders)}; "
                       + ("install Debian's dataset-fashion-mnist, or " if name == "fashion-mnist" else "")
                       + f"put {_IDX['train']} and the other three files into a folder and pass it as folder")


def _existing(folder: str, file: str) -> str:
    for ending in ("", ".gz"):
        path = os.path.join(folder, file + ending)
        if os.path.isfile(path):
            return path
    return ""


def _digits() -> Bunch:
    from sklearn.datasets import load_digits

    digits = load_digits()
    vectors = digits.data.astype(np.uint8)
    labels = digits.target.astype(np.int64)
    held = 1500
    return Bunch(name="digits", train=vectors[:held], train_labels=labels[:held], test=vectors[held:],
                 test_labels=labels[held:])
