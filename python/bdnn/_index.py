"""Index files: codes with ids or names as keys, in files that open instantly and can be changed."""
from __future__ import annotations

import os
import threading
import warnings
from typing import Any, Iterable, Optional

import numpy as np
from sklearn.utils.validation import check_is_fitted

from . import _core
from ._arrays import as_codes, check_one_of, path_of, ready, threads_of, whole_number
from ._errors import MisuseError
from ._estimators import Hasher
from ._neighbors import _radius_of, _split


class Index:
    """Codes arranged for search, with ids or names as keys, in a file or in memory.

    Make one with `Index.build` or `Index.open`. Any number of threads may search the same object. It is a snapshot of
    the file: it includes changes made through itself, and those of others after `reload()`. Changes are atomic, and durable
    when the call returns.

    With a `hasher`, vectors are added and searched for; without one, packed codes.

    Examples
    --------
    >>> import bdnn, numpy as np, os, tempfile
    >>> X = np.random.default_rng(0).normal(size=(1000, 32)).astype(np.float32)
    >>> hasher = bdnn.ITQ(n_bits=32).fit(X)
    >>> path = os.path.join(tempfile.mkdtemp(), "photos.index")
    >>> with bdnn.Index.build(path, X, hasher=hasher) as index:
    ...     index.remove([3, 4])
    ...     keys, distances = index.search(X[:2], k=3)
    {'added': 0, 'replaced': 0, 'removed': 2, 'missing': 0, 'warnings': []}
    >>> keys[:, 0]
    array([0, 1])
    """

    def __init__(self, core: Any, path: Optional[str], hasher: Optional[Hasher], n_jobs: Optional[int]) -> None:
        self._core: Any = core
        self._path = path
        self._hasher = hasher
        self._threads = threads_of(n_jobs)
        self._lock = threading.Lock()
        if hasher is not None:
            check_is_fitted(hasher)
            core.check_model(hasher._model)

    @classmethod
    def build(cls, path: Any, data: Any, *, ids: Any = None, names: Optional[Iterable[str]] = None,
              hasher: Optional[Hasher] = None, n_bits: Optional[int] = None, refined: bool = False,
              tables: str = "automatic", overwrite: bool = False, n_jobs: Optional[int] = -1) -> "Index":
        """Build an index of packed codes or, with a hasher, of vectors.

        Parameters
        ----------
        path : path or None
            File to write; None builds in memory.
        data : array
            Packed codes (uint8), or vectors if `hasher` is given.
        ids, names : sequence, default None
            Unique keys, one per row: integers from 0 to 2**64 - 1, or strings. Without them, keys are 0, 1, 2, ...
        hasher : Hasher, default None
            Fitted estimator that encodes vectors, here and in later calls.
        n_bits : int, default None
            Code length if it is not a multiple of 8 and there is no hasher.
        refined : bool, default False
            Store refined codes, for search by reconstruction.
        tables : str, default 'automatic'
            Hash tables: 'automatic' (if they are expected to make searches faster), 'always' or 'never'.
        overwrite : bool, default False
            Replace an existing file.
        n_jobs : int or None, default -1
            Threads: -1 for one per core.
        """
        check_one_of(tables, "tables", _core.TABLES)
        threads = threads_of(n_jobs)
        codes, bits, origin = _encoded(data, hasher, n_bits, refined)
        keys = _keys(ids, names, len(codes))
        if path is None:
            return cls(_core.Index.build(codes, bits, origin, *keys, tables, threads), None, hasher, n_jobs)
        text = os.fsdecode(path)
        if not overwrite and os.path.isfile(text):
            raise MisuseError(f"{text} exists; add to it with Index.open(path).add(...), or pass overwrite=True to "
                              "replace it")
        _core.build_index(path_of(path), codes, bits, origin, *keys, tables, threads)
        return cls(_core.Index.open(path_of(path), False), text, hasher, n_jobs)

    @classmethod
    def open(cls, path: Any, *, hasher: Optional[Hasher] = None, load: bool = False,
             n_jobs: Optional[int] = -1) -> "Index":
        """Open an index file, which is mapped into memory; `load` reads it instead, for long-running searches."""
        text = os.fsdecode(path)
        return cls(_core.Index.open(path_of(path), bool(load)), text, hasher, n_jobs)

    # Facts

    @property
    def path(self) -> Optional[str]:
        """The file, or None in memory."""
        return self._path

    @property
    def n_bits(self) -> int:
        """Code length."""
        return self._snapshot().bits

    @property
    def info(self) -> dict[str, Any]:
        """What the index holds: size, segments, hash tables, bytes, keys ('ids' or 'names'), warnings and more."""
        return self._snapshot().info

    def __len__(self) -> int:
        return len(self._snapshot())

    def __repr__(self) -> str:
        if self._core is None:
            return "<bdnn.Index, closed>"
        info = self.info
        place = "in memory" if self._path is None else self._path
        return f"<bdnn.Index {place}: {info['size']:,} codes of {info['bits']} bits under {info['keys']}>"

    def _snapshot(self) -> Any:
        core = self._core
        if core is None:
            raise MisuseError("the index is closed; open it again")
        return core

    # Life

    def close(self) -> None:
        """Release the file. Later calls raise an error."""
        self._core = None

    def __enter__(self) -> "Index":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def reload(self) -> "Index":
        """Load the changes that others have made to the file."""
        path = self._file()
        with self._lock:
            self._snapshot()
            self._core = _core.Index.open(path_of(path), False)
        return self

    # Changes

    def _file(self) -> str:
        self._snapshot()
        if self._path is None:
            raise MisuseError("an index in memory cannot be changed; build it with a path")
        return self._path

    def _change(self, work: Any) -> dict[str, Any]:
        path = self._file()
        with self._lock:
            self._snapshot()
            result = work(path_of(path))
            self._core = _core.Index.open(path_of(path), False)
        for warning in (result or {}).get("warnings", []):
            warnings.warn(warning, RuntimeWarning, stacklevel=3)
        return result

    def add(self, data: Any, *, ids: Any = None, names: Optional[Iterable[str]] = None,
            refined: bool = False) -> dict[str, Any]:
        """Add codes, or vectors; without keys, ids continue from the last one. An existing key raises an error."""
        return self._put(False, data, ids, names, refined)

    def upsert(self, data: Any, *, ids: Any = None, names: Optional[Iterable[str]] = None,
               refined: bool = False) -> dict[str, Any]:
        """Add codes, or vectors, and replace those whose keys already exist, in one change."""
        if ids is None and names is None:
            raise MisuseError("upsert needs the keys of the codes; give ids or names")
        return self._put(True, data, ids, names, refined)

    def _put(self, replace: bool, data: Any, ids: Any, names: Any, refined: bool) -> dict[str, Any]:
        bits = self._snapshot().bits
        codes, _, origin = _encoded(data, self._hasher, bits, refined)
        keys = _keys(ids, names, len(codes))
        return self._change(lambda path: _core.change_index(path, replace, codes, bits, origin, *keys, None,
                                                            self._threads))

    def remove(self, keys: Any, *, ignore_missing: bool = False) -> dict[str, Any]:
        """Remove codes by their ids or names. A missing key raises an error unless `ignore_missing`."""
        ids, names = self._keys_of_kind(keys)
        return self._change(lambda path: _core.remove_from_index(path, ids, names, bool(ignore_missing), self._threads))

    def compact(self, *, tables: Optional[str] = None) -> "Index":
        """Free the space of removed codes and merge all segments into one."""
        if tables is not None:
            check_one_of(tables, "tables", _core.TABLES)
        self._change(lambda path: _core.compact_index(path, tables, self._threads))
        return self

    def verify(self) -> None:
        """Read the whole file and raise DamagedIndexError if a checksum does not match."""
        _core.verify_index(path_of(self._file()))

    @staticmethod
    def salvage(path: Any) -> dict[str, Any]:
        """Rewrite a damaged index file with all intact codes; returns what was kept and what was lost."""
        return _core.salvage_index(path_of(path), 0)

    # Search

    def filter(self, keys: Any = None, *, mask: Any = None) -> "Filter":
        """Restrict searches to these keys, or to ids i with mask[i] true. Build it once and reuse it."""
        return Filter(self._filter_of(self._snapshot(), keys, mask))

    def _filter_of(self, core: Any, keys: Any, mask: Any) -> Any:
        if (keys is None) == (mask is None):
            raise MisuseError("a filter is made of keys or of a mask; give one of them")
        if mask is not None:
            if core.info["keys"] == "names":
                raise MisuseError("a mask is by ids, and the keys of the index are names; give names")
            flags = np.asarray(mask)
            if flags.dtype != np.bool_ or flags.ndim != 1:
                raise MisuseError("mask is a one-dimensional array of bool, an entry per id")
            return _core.Filter.from_bitmap(core, np.packbits(flags, bitorder="little"))
        ids, names = self._keys_of_kind(keys)
        return _core.Filter(core, names if ids is None else ids)

    def search(self, queries: Any, k: int = 10, *, radius: Optional[int] = None, filter: Any = None,
               rank_by: str = "hamming", rerank: Any = None, rerank_keys: Any = None, shortlist: Optional[int] = None,
               plan: str = "automatic") -> tuple[np.ndarray, np.ndarray]:
        """The nearest codes of each query: keys, and distances or scores, nearest first.

        Parameters
        ----------
        queries : array
            Packed codes, or vectors if the index has a hasher.
        k : int, default 10
            Number of neighbours; fewer if the index is smaller.
        radius : int, default None
            All codes within this Hamming distance, inclusive, instead of k: arrays of arrays.
        filter : Filter or sequence of keys, default None
            Search among these codes only.
        rank_by : str, default 'hamming'
            'reconstruction', 'asymmetric' or 'spherical' sorts a shortlist by that distance; needs a hasher.
        rerank : array or path, default None
            Original vectors (float32 or uint8) to sort a shortlist by squared Euclidean distance: row i belongs to id
            i, or to rerank_keys[i]. A path is a file: .fvecs, .bvecs or .npy.
        rerank_keys : sequence, default None
            Keys of the rows of `rerank`; required if keys are names.
        shortlist : int, default None
            Length of the shortlist: 100 for rerank and 1000 for rank_by unless given.
        plan : str, default 'automatic'
            How to search: 'automatic', 'scan', 'mih' or 'bucket'. Results do not depend on it.

        Returns
        -------
        keys : array of shape (n_queries, k)
            int64, uint64 if an id needs it, or str (object).
        distances : array of shape (n_queries, k)
            int32 Hamming distances; float64 scores with rank_by or rerank.
        """
        core = self._snapshot()
        check_one_of(rank_by, "rank_by", _core.RANKS)
        by_rank = rank_by != "hamming"
        if radius is not None and (by_rank or rerank is not None):
            raise MisuseError("radius cannot be combined with rank_by or rerank")
        if by_rank and rerank is not None:
            raise MisuseError("give rank_by or rerank, not both")
        if shortlist is not None and not by_rank and rerank is None:
            raise MisuseError("shortlist needs rank_by or rerank")
        k = whole_number(k, "k", 1)
        limit = None if radius is None else _radius_of(radius)
        chosen = None
        if filter is not None:
            chosen = filter._core if isinstance(filter, Filter) else self._filter_of(core, filter, None)
            if not chosen.fits(core):
                raise MisuseError("the filter was made before the index changed; make it again")
        vectors, codes = self._split_queries(queries, core, by_rank and rank_by != "spherical" or rerank is not None)
        if rerank is not None:
            wanted = 100 if shortlist is None else whole_number(shortlist, "shortlist", 1)
            ids, names = (None, None) if rerank_keys is None else self._keys_of_kind(rerank_keys)
            if rerank_keys is None and core.info["keys"] == "names":
                raise MisuseError("the keys of the index are names; give rerank_keys, the names of the rows of rerank")
            found = core.search_by_vectors(codes, vectors, k, wanted, _originals(rerank), ids, names, plan,
                                           self._threads, chosen)
        elif by_rank:
            wanted = 1000 if shortlist is None else whole_number(shortlist, "shortlist", 1)
            model = None if self._hasher is None else self._hasher._model
            found = core.search_by_codes(codes, vectors, k, wanted, rank_by, model, plan, self._threads, chosen)
        else:
            found = core.search(codes, k, limit, plan, self._threads, chosen)
        ids, distances, scores, ends = found
        keys = _key_array(core, ids)
        values = scores if by_rank or rerank is not None else distances
        if limit is not None:
            return _split(keys, ends), _split(values, ends)
        each = len(ids) // max(1, len(ends))
        return keys.reshape(len(ends), each), values.reshape(len(ends), each)

    def _split_queries(self, queries: Any, core: Any, need_vectors: bool) -> tuple[Optional[np.ndarray], np.ndarray]:
        if self._hasher is None:
            if need_vectors:
                raise MisuseError("this search needs vectors and the hasher that encodes them; open the index with hasher=")
            return None, as_codes(queries, "queries", n_bits=core.bits)
        rows = self._hasher._rows(queries)
        return ready(rows), self._hasher._encode(rows)

    def explain(self, n_queries: int = 1, k: int = 10, *, radius: Optional[int] = None, filter: Any = None,
                plan: str = "automatic") -> dict[str, Any]:
        """The plan for a batch of queries and the times per query that it expects, without searching."""
        core = self._snapshot()
        chosen = filter._core if isinstance(filter, Filter) else None
        if filter is not None and chosen is None:
            chosen = self._filter_of(core, filter, None)
        return core.explain(whole_number(n_queries, "n_queries", 0), whole_number(k, "k", 1),
                            None if radius is None else _radius_of(radius), plan, self._threads, chosen)

    def _keys_of_kind(self, keys: Any) -> tuple[Optional[np.ndarray], Optional[list[bytes]]]:
        if self._snapshot().info["keys"] == "names":
            return None, _names(keys)
        return _ids(keys), None


class Filter:
    """The codes of an index that a search may return; made by Index.filter()."""

    def __init__(self, core: Any) -> None:
        self._core = core


def _encoded(data: Any, hasher: Optional[Hasher], n_bits: Optional[int], refined: bool) -> tuple[np.ndarray, int, Any]:
    """Codes, their length and their origin."""
    if hasher is not None:
        check_is_fitted(hasher)
        rows = hasher._rows(data)
        return hasher._encode(rows, refined), hasher._model.bits, hasher._model.origin(refined, 8)
    if refined:
        raise MisuseError("refined codes need a hasher; give it")
    codes = as_codes(data, "data", n_bits=None if n_bits is None else whole_number(n_bits, "n_bits", 1, 4096))
    return codes, 8 * codes.shape[1] if n_bits is None else int(n_bits), _core.Origin()


def _keys(ids: Any, names: Any, count: int) -> tuple[Optional[np.ndarray], Optional[list[bytes]]]:
    if ids is not None and names is not None:
        raise MisuseError("keys are ids or names; give one of them")
    keys: Any = None
    if ids is not None:
        keys = _ids(ids)
    if names is not None:
        keys = _names(names)
    if keys is not None and len(keys) != count:
        raise MisuseError(f"there are {len(keys)} {'ids' if names is None else 'names'} for {count} rows; give one per row")
    return (keys, None) if names is None else (None, keys)


def _ids(ids: Any) -> np.ndarray:
    values = np.asarray(ids)
    if values.dtype.kind == "f" and not isinstance(ids, np.ndarray):  # what NumPy makes of integers beyond int64
        values = np.array(list(ids), object)
    if values.size == 0 and values.ndim == 1:
        return np.empty(0, np.uint64)
    if values.ndim == 0:
        values = values.reshape(1)
    if values.dtype.kind == "O" and all(isinstance(value, int) for value in values.ravel()):
        if any(not 0 <= value < 2 ** 64 for value in values.ravel()):
            raise MisuseError("ids are 0 to 2**64 - 1")
        values = values.astype(np.uint64)
    if values.dtype.kind not in "iu" or values.ndim != 1:
        raise MisuseError(f"ids are a one-dimensional sequence of integers, not {values.dtype} of shape {values.shape}; "
                          "names are for an index that was built with names")
    if values.dtype.kind == "i" and values.min() < 0:
        raise MisuseError(f"ids are 0 to 2**64 - 1, and {values.min()} is negative")
    return np.ascontiguousarray(values, np.uint64)


def _names(names: Any) -> list[bytes]:
    listed = [names] if isinstance(names, str) else list(names)
    for name in listed:
        if not isinstance(name, str):
            raise MisuseError(f"names are strings, and {name!r} is not; ids are for an index that was built with ids")
    return [name.encode("utf-8", "surrogateescape") for name in listed]  # a file of the program may hold any bytes


def _key_array(core: Any, ids: np.ndarray) -> np.ndarray:
    if core.info["keys"] == "names":
        return core.names(ids)
    if len(ids) and ids.max() > np.iinfo(np.int64).max:
        return ids
    return ids.view(np.int64)


def _originals(rerank: Any) -> Any:
    if isinstance(rerank, (str, os.PathLike)):
        return path_of(rerank)
    from ._arrays import as_rows, for_training

    return for_training(as_rows(rerank, "rerank"))
