"""Learned binary codes for vectors: 32 bits instead of 3 KB, with exact search by Hamming distance.

>>> import bdnn, numpy as np
>>> X = np.random.default_rng(0).normal(size=(1000, 64)).astype(np.float32)
>>> hasher = bdnn.ITQ(n_bits=32).fit(X)
>>> codes = hasher.transform(X)
>>> codes.shape, codes.dtype
((1000, 4), dtype('uint8'))
>>> distances, ids = bdnn.BinaryNeighbors(n_neighbors=3).fit(codes).kneighbors(hasher.transform(X[:2]))
>>> ids[:, 0]
array([0, 1])
"""
try:
    import numpy  # noqa: F401
    import sklearn  # noqa: F401
except ImportError as error:
    raise ImportError("bdnn needs NumPy and scikit-learn (Debian: python3-numpy and python3-sklearn, which belong to "
                      f"/usr/bin/python3): {error}") from error

from . import _core, datasets, plot
from ._core import __version__, backend
from ._errors import DamagedIndexError, Error, FailureError, MisuseError
from ._estimators import Hasher, classes as _classes, load, methods
from ._index import Filter, Index
from ._neighbors import BinaryNeighbors, ScoreNeighbors
from .evaluation import (Metrics, Protocol, ProtocolData, diagnose, diagnose_quantization, evaluate, exact_neighbors,
                         load_neighbors, save_neighbors)
from .files import CodesFile, load_codes, load_labels, load_vectors, save_codes, save_labels, save_vectors

globals().update(_classes)

__all__ = [
    "BinaryNeighbors", "CodesFile", "DamagedIndexError", "Error", "FailureError", "Filter", "Hasher", "Index", "Metrics",
    "MisuseError", "Protocol", "ProtocolData", "ScoreNeighbors", "__version__", "backend", "datasets", "diagnose",
    "diagnose_quantization", "evaluate", "exact_neighbors", "load", "load_codes", "load_labels", "load_neighbors",
    "load_vectors", "methods", "plot", "save_codes", "save_labels", "save_neighbors", "save_vectors", *_classes,
]
