"""Exact search among packed codes, with the methods of scikit-learn's neighbours."""
from __future__ import annotations

from typing import Any, Optional

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from . import _core
from ._arrays import as_codes, check_one_of, ready, threads_of, whole_number
from ._errors import MisuseError
from ._estimators import Hasher


def _bits_of(n_bits: Any, codes: np.ndarray) -> int:
    if n_bits is None:
        return 8 * codes.shape[1]
    return whole_number(n_bits, "n_bits", 1, 4096)


class BinaryNeighbors(TransformerMixin, BaseEstimator):
    """Nearest neighbours by Hamming distance, exactly, among packed codes.

    Distances are numbers of bits. Neighbours are ordered by ascending distance, then ascending position.

    Parameters
    ----------
    n_neighbors : int, default 5
        Neighbours that kneighbors() and transform() look for.
    radius : int, default 2
        Largest distance for radius_neighbors(), inclusive.
    mode : str, default 'distance'
        What transform() puts in its graph: 'distance' or 'connectivity'.
    n_bits : int or None, default None
        Code length if it is not a multiple of 8.
    plan : str, default 'automatic'
        How to search: 'automatic', 'scan', 'mih' or 'bucket'. Results do not depend on it.
    tables : str, default 'automatic'
        Hash tables, which make large searches faster and take memory: 'automatic', 'always' or 'never'.
    n_jobs : int or None, default -1
        Threads: -1 for one per core. Results do not depend on it.

    Examples
    --------
    >>> import bdnn, numpy as np
    >>> codes = np.array([[0b0000], [0b0001], [0b0111], [0b1111]], np.uint8)
    >>> search = bdnn.BinaryNeighbors(n_neighbors=2).fit(codes)
    >>> distances, ids = search.kneighbors([[0b0011]])
    Traceback (most recent call last):
        ...
    bdnn.MisuseError: X has dtype int64; packed codes are uint8, as transform() gives them (numpy.packbits(bits, \
axis=1, bitorder='little') packs bits)
    >>> distances, ids = search.kneighbors(np.array([[0b0011]], np.uint8))
    >>> distances, ids
    (array([[1, 1]], dtype=int32), array([[1, 2]]))
    """

    def __init__(self, n_neighbors: int = 5, *, radius: int = 2, mode: str = "distance", n_bits: Optional[int] = None,
                 plan: str = "automatic", tables: str = "automatic", n_jobs: Optional[int] = -1) -> None:
        self.n_neighbors = n_neighbors
        self.radius = radius
        self.mode = mode
        self.n_bits = n_bits
        self.plan = plan
        self.tables = tables
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any = None) -> "BinaryNeighbors":
        """Arrange codes for search: uint8 of shape (n_codes, bytes)."""
        codes = as_codes(X, "X", minimum=1)
        bits = _bits_of(self.n_bits, codes)
        if self.n_bits is not None:
            as_codes(codes, "X", n_bits=bits)
        self._check()
        self._index = _core.Index.build(codes, bits, _core.Origin(), None, None, self.tables, threads_of(self.n_jobs))
        self._codes = codes
        self.n_features_in_ = codes.shape[1]
        self.n_samples_fit_ = codes.shape[0]
        return self

    def _check(self) -> None:
        check_one_of(self.plan, "plan", _core.PLANS)
        check_one_of(self.tables, "tables", _core.TABLES)
        if self.mode not in ("distance", "connectivity"):
            raise MisuseError(f"mode={self.mode!r} is not possible; mode is 'distance' or 'connectivity'")

    def _queries(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        self._check()
        return self._codes if X is None else as_codes(X, "X", n_bits=self._index.bits)

    def kneighbors(self, X: Any = None, n_neighbors: Optional[int] = None, return_distance: bool = True) -> Any:
        """Distances (int32) and positions (int64) of the nearest codes, each of shape (n_queries, n_neighbors).

        Without X, the neighbours of every code of the training set, not counting itself.
        """
        queries = self._queries(X)
        k = whole_number(self.n_neighbors if n_neighbors is None else n_neighbors, "n_neighbors", 1)
        most = self.n_samples_fit_ - (X is None)
        if k > most:
            raise MisuseError(f"Expected n_neighbors <= n_samples_fit, but n_neighbors = {k}, n_samples_fit = "
                              f"{self.n_samples_fit_}, n_samples = {queries.shape[0]}"
                              + (", and a code is not its own neighbour" if X is None else ""))
        wanted = k + (X is None)
        ids, distances, _, _ = self._index.search(queries, wanted, None, self.plan, threads_of(self.n_jobs), None)
        ids = ids.view(np.int64).reshape(len(queries), wanted)
        distances = distances.reshape(len(queries), wanted)
        if X is None:
            ids, distances = _without_self(ids, distances)
        return (distances, ids) if return_distance else ids

    def radius_neighbors(self, X: Any = None, radius: Optional[int] = None, return_distance: bool = True,
                         sort_results: bool = True) -> Any:
        """All codes within `radius` bits, inclusive: arrays of arrays, one per query, by ascending distance.

        `sort_results` is for scikit-learn; results are always sorted.
        """
        flat_ids, flat_distances, ends = self._within(X, radius)
        ids = _split(flat_ids, ends)
        if not return_distance:
            return ids
        return _split(flat_distances, ends), ids

    def _within(self, X: Any, radius: Optional[int]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        queries = self._queries(X)
        limit = _radius_of(self.radius if radius is None else radius)
        ids, distances, _, ends = self._index.search(queries, 1, limit, self.plan, threads_of(self.n_jobs), None)
        ids = ids.view(np.int64)
        if X is None:
            lengths = np.diff(ends, prepend=0)
            others = ids != np.repeat(np.arange(len(queries)), lengths)
            ids, distances = ids[others], distances[others]
            ends = np.cumsum(lengths - 1)
        return ids, distances, ends

    def kneighbors_graph(self, X: Any = None, n_neighbors: Optional[int] = None, mode: str = "connectivity") -> Any:
        """The k nearest codes of each query as a sparse matrix (CSR) of shape (n_queries, n_codes).

        mode='connectivity' has ones, 'distance' numbers of bits; equal codes are stored as explicit zeros.
        """
        if mode not in ("connectivity", "distance"):
            raise MisuseError(f"mode={mode!r} is not possible; mode is 'connectivity' or 'distance'")
        distances, ids = self.kneighbors(X, n_neighbors)
        ends = np.arange(1, len(ids) + 1) * ids.shape[1]
        return self._graph(ids.ravel(), distances.ravel(), ends, mode)

    def radius_neighbors_graph(self, X: Any = None, radius: Optional[int] = None, mode: str = "connectivity",
                               sort_results: bool = True) -> Any:
        """All codes within `radius` of each query as a sparse matrix (CSR), as kneighbors_graph()."""
        if mode not in ("connectivity", "distance"):
            raise MisuseError(f"mode={mode!r} is not possible; mode is 'connectivity' or 'distance'")
        ids, distances, ends = self._within(X, radius)
        return self._graph(ids, distances, ends, mode)

    def _graph(self, ids: np.ndarray, distances: np.ndarray, ends: np.ndarray, mode: str) -> Any:
        from scipy.sparse import csr_matrix

        values = np.ones(len(ids)) if mode == "connectivity" else distances.astype(np.float64)
        return csr_matrix((values, ids, np.concatenate([[0], ends])), shape=(len(ends), self.n_samples_fit_))

    def transform(self, X: Any) -> Any:
        """The graph of the nearest codes, as scikit-learn's KNeighborsTransformer gives it: one neighbour more than
        n_neighbors in mode 'distance', since a code of the training set is its own nearest."""
        check_is_fitted(self)
        extra = int(self.mode == "distance")
        k = min(whole_number(self.n_neighbors, "n_neighbors", 1) + extra, self.n_samples_fit_)
        return self.kneighbors_graph(X, k, self.mode)

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> Any:
        return self.fit(X, y).transform(X)

    def explain(self, n_queries: int = 1, n_neighbors: Optional[int] = None) -> dict[str, Any]:
        """The planner's choice for a batch of queries, and the times per query that it expects."""
        check_is_fitted(self)
        k = self.n_neighbors if n_neighbors is None else n_neighbors
        return self._index.explain(whole_number(n_queries, "n_queries", 0), whole_number(k, "n_neighbors", 1), None,
                                   self.plan, threads_of(self.n_jobs), None)

    def __getstate__(self) -> dict[str, Any]:
        state = dict(super().__getstate__())
        state.pop("_index", None)  # made again from the codes
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if hasattr(self, "_codes"):
            self.fit(self._codes)

    def _more_tags(self) -> dict[str, Any]:  # before scikit-learn 1.6
        return {"preserves_dtype": [], "X_types": ["2darray"]}

    def __sklearn_tags__(self) -> Any:  # 1.6 and later
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.transformer_tags.preserves_dtype = []
        return tags


def _radius_of(radius: Any) -> int:
    if isinstance(radius, (float, np.floating)) and radius >= 0:
        return int(radius)  # distances are whole
    return whole_number(radius, "radius", 0)


def _without_self(ids: np.ndarray, distances: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Leaves out each row's own position; if more equal codes than requested come before it, leaves out the last one."""
    keep = ids != np.arange(len(ids))[:, None]
    keep[keep.all(axis=1), -1] = False
    shape = (ids.shape[0], ids.shape[1] - 1)
    return ids[keep].reshape(shape), distances[keep].reshape(shape)


def _split(values: np.ndarray, ends: np.ndarray) -> np.ndarray:
    lists = np.empty(len(ends), object)
    first = 0
    for query, end in enumerate(ends.tolist()):
        lists[query] = values[first:end]
        first = end
    return lists


class ScoreNeighbors:
    """Exhaustive search by the distance to what a code represents, instead of Hamming distance.

    Parameters
    ----------
    hasher : Hasher
        Fitted estimator that made the codes.
    codes : uint8 array
        Packed codes of the database; for reconstruction best hasher.refined_codes(X).
    rank_by : str, default 'reconstruction'
        'reconstruction': squared distance of the query to the vector that the decoder rebuilds from the code;
        'asymmetric': of the query's outputs before the sign to the code; 'spherical': of the codes themselves.
    n_jobs : int or None, default -1
        Threads: -1 for one per core. Results do not depend on it.

    Examples
    --------
    >>> import bdnn, numpy as np
    >>> X = np.random.default_rng(0).normal(size=(500, 16)).astype(np.float32)
    >>> hasher = bdnn.ITQ(n_bits=16).fit(X)
    >>> search = bdnn.ScoreNeighbors(hasher, hasher.refined_codes(X))
    >>> scores, ids = search.kneighbors(X[:3], n_neighbors=4)
    >>> ids.shape
    (3, 4)
    """

    def __init__(self, hasher: Hasher, codes: Any, rank_by: str = "reconstruction", *,
                 n_jobs: Optional[int] = -1) -> None:
        check_is_fitted(hasher)
        self._hasher = hasher
        self._threads = threads_of(n_jobs)
        self.rank_by = rank_by
        codes = as_codes(codes, n_bits=hasher._model.bits)
        self._scan: Any
        if rank_by == "spherical":
            self._scan = _core.SphericalScan(codes, hasher._model.bits, self._threads)
        elif rank_by in ("reconstruction", "asymmetric"):
            self._scan = _core.ScoreScan(hasher._model, rank_by, codes, self._threads)
        else:
            raise MisuseError(f"rank_by={rank_by!r} is not possible; rank_by is 'reconstruction', 'asymmetric' or "
                              "'spherical' (BinaryNeighbors searches by Hamming distance)")
        self.n_samples_fit_ = codes.shape[0]

    def kneighbors(self, X: Any, n_neighbors: int = 5) -> tuple[np.ndarray, np.ndarray]:
        """Scores (float64) and positions (int64) of the nearest codes of each vector, nearest first."""
        k = whole_number(n_neighbors, "n_neighbors", 1)
        if k > self.n_samples_fit_:
            raise MisuseError(f"Expected n_neighbors <= n_samples_fit, but n_neighbors = {k}, n_samples_fit = "
                              f"{self.n_samples_fit_}")
        rows = self._hasher._rows(X)
        if self.rank_by == "spherical":
            found = self._scan.search(self._hasher._encode(rows), self._hasher._model.bits, k, self._threads)
        else:
            found = self._scan.search(ready(rows), k, self._threads)
        ids, _, scores, _ = found
        return scores.reshape(len(rows), k), ids.view(np.int64).reshape(len(rows), k)
