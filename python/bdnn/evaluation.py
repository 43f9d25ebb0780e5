"""Evaluation: true neighbours, metrics, protocols, diagnostics."""
from __future__ import annotations

from typing import Any, Optional, Sequence, Union

import numpy as np

from . import _core
from ._arrays import (as_codes, as_labels, as_rows, check_one_of, for_training, path_of, raise_if_not_finite, ready,
                      threads_of, whole_number)
from ._errors import Error, MisuseError
from ._estimators import Hasher, methods
from ._progress import Callback, Listener


class Metrics(dict):
    """Results by name ("mAP", "precision@r2", "recall@100"); `curve` has precision and recall at every radius."""

    curve: list[dict[str, float]]

    def __init__(self, values: dict[str, float], curve: list[dict[str, float]]) -> None:
        super().__init__(values)
        self.curve = curve


def exact_neighbors(database: Any, queries: Any, n_neighbors: int = 50, *, metric: str = "euclidean",
                    exclude: Any = None, cache: Any = None, n_jobs: Optional[int] = -1, verbose: int = 0,
                    callback: Optional[Callback] = None) -> np.ndarray:
    """The nearest database vectors of each query, nearest first, ties by position: int32 of shape (n_queries, k).

    Parameters
    ----------
    database, queries : array of shape (n, n_features)
    n_neighbors : int, default 50
    metric : str, default 'euclidean'
        'euclidean' or 'cosine'.
    exclude : sequence of int, default None
        For each query the database position to leave out, such as its own; -1 for none.
    cache : path, default None
        Folder that keeps results.

    Examples
    --------
    >>> import bdnn, numpy as np
    >>> X = np.array([[0.0], [1.0], [3.0], [7.0]])
    >>> bdnn.exact_neighbors(X, [[2.1]], 2)
    array([[2, 1]], dtype=int32)
    """
    check_one_of(metric, "metric", _core.METRICS)
    base_rows = as_rows(database, "database")
    query_rows = as_rows(queries, "queries", minimum=0)
    if base_rows.shape[1] != query_rows.shape[1]:
        raise MisuseError(f"database has {base_rows.shape[1]} features, queries have {query_rows.shape[1]}")
    k = whole_number(n_neighbors, "n_neighbors", 1)
    left_out = None if exclude is None else _positions(exclude, len(query_rows), "exclude")
    if k > len(base_rows) - (left_out is not None):
        raise MisuseError(f"n_neighbors={k} is more than the {len(base_rows) - (left_out is not None)} vectors that can "
                          "be found")
    listener = Listener(verbose, callback)
    try:
        return _core.exact_neighbours(for_training(base_rows), for_training(query_rows), k, metric, left_out,
                                      "" if cache is None else path_of(cache), threads_of(n_jobs), listener)
    except Error:
        raise_if_not_finite(base_rows, "database")
        raise_if_not_finite(query_rows, "queries")
        raise
    finally:
        listener.close()


def _positions(values: Any, count: int, name: str) -> np.ndarray:
    array = np.asarray(values)
    if array.ndim != 1 or array.dtype.kind not in "iu" or len(array) != count:
        raise MisuseError(f"{name} is a sequence of {count} integers, one per query")
    return np.ascontiguousarray(array, np.int64)


def save_neighbors(neighbors: Any, path: Any) -> None:
    """Write true neighbours as rows of int32: .ivecs, .npy or another format that holds them."""
    _core.save_ground_truth(_neighbor_array(neighbors, None), path_of(path))


def load_neighbors(path: Any, database_size: int, n_queries: int, n_neighbors: int = 0) -> np.ndarray:
    """Read true neighbours (.ivecs, .npy, "file.hdf5:neighbors"), the first n_neighbors columns or all if 0."""
    return _core.load_ground_truth(path_of(path), database_size, n_queries, n_neighbors)


def _neighbor_array(neighbors: Any, queries: Optional[int]) -> np.ndarray:
    array = np.asarray(neighbors)
    if array.ndim != 2 or array.dtype.kind not in "iu" or array.shape[1] < 1:
        raise MisuseError("neighbors is a two-dimensional array of integers: a row of database positions per query")
    if queries is not None and len(array) != queries:
        raise MisuseError(f"neighbors has {len(array)} rows for {queries} queries; give one row per query")
    if array.size and (array.min() < 0 or array.max() > np.iinfo(np.int32).max):
        raise MisuseError("neighbors holds numbers that are not positions")
    return np.ascontiguousarray(array, np.int32)


def evaluate(database: Any, queries: Any, *, neighbors: Any = None, database_labels: Any = None,
             query_labels: Any = None, exclude: Any = None, hasher: Optional[Hasher] = None,
             n_bits: Optional[int] = None, rank_by: str = "hamming", ties: str = "expected", cutoff: int = 0,
             radii: Sequence[int] = (2,), at: Sequence[int] = (), curve: bool = False, n_jobs: Optional[int] = -1,
             verbose: int = 0, callback: Optional[Callback] = None) -> Metrics:
    """How well a ranking of codes finds what is relevant.

    Parameters
    ----------
    database : array
        Packed codes or, with a hasher, vectors.
    queries : array
        The same; vectors for rank_by='asymmetric' and 'reconstruction'.
    neighbors : array of shape (n_queries, k), default None
        Database positions that are relevant to each query, nearest first: exact_neighbors() gives them.
    database_labels, query_labels : array, default None
        Instead of neighbors: codes with the query's label are relevant.
    exclude : sequence of int, default None
        For each query the database position to leave out of its ranking; -1 for none.
    rank_by : str, default 'hamming'
        'hamming', 'spherical', 'asymmetric' or 'reconstruction'.
    ties : str, default 'expected'
        How codes at the same distance are ordered: the mean over all orders ('expected'), 'order', 'best' or 'worst'.
    cutoff : int, default 0
        Average precision over this many first codes; 0 for all.
    radii, at : sequences of int
        Precision and recall within each of these distances, and among each of these numbers of first codes.
    curve : bool, default False
        Precision and recall at every radius, in the attribute `curve`.

    Examples
    --------
    >>> import bdnn, numpy as np
    >>> codes = np.array([[0], [1], [3], [255]], np.uint8)
    >>> bdnn.evaluate(codes, codes[:1], neighbors=[[0, 1]])["mAP"]
    1.0
    """
    check_one_of(ties, "ties", _core.TIES)
    check_one_of(rank_by, "rank_by", _core.RANKS)
    by_scores = rank_by in ("asymmetric", "reconstruction")
    if by_scores and hasher is None:
        raise MisuseError(f"rank_by={rank_by!r} compares vectors with codes; give hasher")
    base = _codes_for(database, hasher, n_bits, "database")
    bits = hasher._model.bits if hasher is not None else n_bits or 8 * base.shape[1]
    asked = ready(hasher._rows(queries)) if by_scores and hasher is not None else _codes_for(queries, hasher, bits, "queries")
    relevant: tuple[Any, Any, Any]
    if neighbors is not None:
        if database_labels is not None or query_labels is not None:
            raise MisuseError("give neighbors or labels, not both")
        relevant = (_neighbor_array(neighbors, len(asked)), None, None)
    else:
        if database_labels is None or query_labels is None:
            raise MisuseError("what is relevant? give neighbors, or database_labels and query_labels")
        relevant = (None, as_labels(database_labels, len(base), "database_labels"),
                    as_labels(query_labels, len(asked), "query_labels"))
    left_out = None if exclude is None else _positions(exclude, len(asked), "exclude")
    radii = [whole_number(radius, "radii", 0) for radius in radii]
    at = [whole_number(k, "at", 1) for k in at]
    cutoff = whole_number(cutoff, "cutoff", 0)
    threads = threads_of(n_jobs)
    listener = Listener(verbose, callback)
    try:
        if by_scores and hasher is not None:
            values = _core.evaluate_scores(hasher._model, base, asked, *relevant, left_out, rank_by, ties, cutoff, at,
                                           threads, listener)
        else:
            values = _core.evaluate_codes(base, asked, bits, *relevant, left_out, rank_by, ties, cutoff, radii, at,
                                          bool(curve), threads, listener)
    finally:
        listener.close()
    return Metrics(*values)


def _codes_for(data: Any, hasher: Optional[Hasher], n_bits: Optional[int], name: str) -> np.ndarray:
    """Packed codes; with a hasher, vectors are encoded; type and shape tell them from codes."""
    if hasher is None:
        return as_codes(data, name, n_bits=n_bits)
    array = np.asarray(data)
    bytes_per_code = (hasher._model.bits + 7) // 8
    if array.dtype == np.uint8 and array.ndim == 2 and array.shape[1] == bytes_per_code != hasher.n_features_in_:
        return as_codes(array, name)
    return hasher._encode(array)


def diagnose(codes: Any, n_bits: Optional[int] = None, *, of_classes: bool = False,
             n_jobs: Optional[int] = -1) -> dict[str, Any]:
    """Statistics of codes: balance and correlation of bits, distinct codes, entropy, distances.

    Parameters
    ----------
    codes : uint8 array
        Packed codes.
    of_classes : bool, default False
        The codes were learned from labels, so few distinct codes are no problem.

    Examples
    --------
    >>> import bdnn, numpy as np
    >>> facts = bdnn.diagnose(np.array([[0], [1], [1], [3]], np.uint8))
    >>> facts["distinct"], facts["balance"][:2]
    (3, array([0.75, 0.25]))
    """
    array = as_codes(codes, minimum=1)
    return _core.diagnose_codes(array, n_bits or 8 * array.shape[1], bool(of_classes), threads_of(n_jobs))


def diagnose_quantization(hasher: Hasher, X: Any, *, n_jobs: Optional[int] = -1) -> dict[str, float]:
    """How far the outputs of a hash function are from binary: their mean magnitude and the error of the sign."""
    return _core.diagnose_quantization(hasher._model, ready(hasher._rows(X)), threads_of(n_jobs))


class Protocol:
    """A protocol file (TOML): data, split, relevance and metrics.

    Attributes: name, description, splits, seed, leave_one_out, labels_are_relevant, n_neighbors, metric, radii, at,
    cutoff.
    """

    def __init__(self, path: Any) -> None:
        self._core = _core.Protocol.load(path_of(path))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._core, name)

    def load(self, folder: Any, *, seed: Optional[int] = None, n_jobs: Optional[int] = -1) -> "ProtocolData":
        """The protocol's data from a folder, split and reduced: train, database and queries with their labels."""
        return ProtocolData(_core.load_dataset(self._core, path_of(folder), self._core.seed if seed is None else seed,
                                               threads_of(n_jobs)))

    def run(self, data: "ProtocolData", hashers: Union[str, Hasher, Sequence[Union[str, Hasher]]] = "uh-bdnn", *,
            n_bits: Sequence[int] = (32,), seeds: Sequence[int] = (1,), refined: bool = False,
            rank_by: str = "hamming", curve: bool = False, cache: Any = None, n_jobs: Optional[int] = -1,
            verbose: int = 0, callback: Optional[Callback] = None) -> list[dict[str, Any]]:
        """Train and measure a model for every hasher, code length and seed: a dict each, with "metrics" by name.

        `hashers` are names of methods or estimators; of an estimator, the options of its method are used.
        """
        chosen = []
        for hasher in [hashers] if isinstance(hashers, (str, Hasher)) else hashers:
            if isinstance(hasher, str):
                if hasher not in methods():
                    raise MisuseError(f"unknown method '{hasher}'; the methods are {', '.join(methods())}")
                chosen.append((hasher, {}))
            else:
                chosen.append((hasher.method, hasher._settings()))
        listener = Listener(verbose, callback)
        try:
            return _core.run_experiment(self._core, data._core, chosen, list(n_bits), list(seeds), refined, rank_by,
                                        curve, "" if cache is None else path_of(cache), threads_of(n_jobs), listener)
        finally:
            listener.close()


class ProtocolData:
    """The data of a protocol: train, database, queries; train_labels, database_labels, query_labels (empty without
    labels); `exclude`, the position of each query in the database in leave-one-out."""

    def __init__(self, core: Any) -> None:
        self._core = core
        self.train: np.ndarray = core.train
        self.database: np.ndarray = core.database
        self.queries: np.ndarray = core.queries
        self.train_labels: np.ndarray = core.train_labels
        self.database_labels: np.ndarray = core.database_labels
        self.query_labels: np.ndarray = core.query_labels
        self.exclude: np.ndarray = core.self

    def hashes(self) -> dict[str, str]:
        """A hash of each part: equal for equal data."""
        return self._core.hashes()

    def overlap(self) -> dict[str, int]:
        """Queries that also occur in the training set or the database, which make results look better than they are."""
        return self._core.overlap()
