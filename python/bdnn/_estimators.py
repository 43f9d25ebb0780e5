"""Hash functions as scikit-learn estimators: one class per method of the library, made from its registry."""
from __future__ import annotations

import numbers
import os
import re
import textwrap
from typing import Any, Optional

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from . import _core
from ._arrays import (as_codes, as_labels, as_rows, for_training, in_blocks, path_of, raise_if_not_finite, threads_of,
                      whole_number)
from ._errors import Error, FailureError, MisuseError
from ._progress import Callback, Listener
from ._registry import MAX_BITS, class_name, parameters_of, signature_of, value_of

try:  # scikit-learn 1.6 and later
    from sklearn.utils.validation import _check_feature_names, _check_n_features  # type: ignore[attr-defined]
except ImportError:
    def _check_feature_names(estimator: Any, X: Any, *, reset: bool) -> None:
        estimator._check_feature_names(X, reset=reset)

    def _check_n_features(estimator: Any, X: Any, *, reset: bool) -> None:
        estimator._check_n_features(X, reset=reset)

try:
    from sklearn.base import ClassNamePrefixFeaturesOutMixin
except ImportError:  # before scikit-learn 1.2 under another name
    from sklearn.base import _ClassNamePrefixFeaturesOutMixin as ClassNamePrefixFeaturesOutMixin

OUTPUTS = ("packed", "bits", "signs")
SCORED_QUERIES = 1000
SCORED_NEIGHBORS = 10


def _has_outputs(estimator: "Hasher") -> bool:
    return not hasattr(estimator, "_model") or estimator._model.has_outputs


def _has_decoder(estimator: "Hasher") -> bool:
    return estimator._model.has_decoder if hasattr(estimator, "_model") else bool(estimator.decoder)


class Hasher(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Base of all hash functions. Use one of its subclasses, which `bdnn.methods()` lists.

    Attributes
    ----------
    n_features_in_ : int
        Dimension of the vectors.
    history_ : list of dict
        Figures of the training rounds, if the method has rounds.
    outcome_ : str
        What training reported, such as the round it kept; may be empty.
    fingerprint_ : str
        Checksum of the model file: equal for equal models.
    """

    method: str = ""
    supervised: bool = False
    resumable: bool = False
    _options: dict[str, tuple[str, Any]] = {}  # parameter: (name in the library, default)
    _profiles: dict[str, dict[str, Any]] = {}

    n_bits: int
    output: str
    decoder: bool
    random_state: Any
    n_jobs: Any
    verbose: int

    # Training

    def fit(self, X: Any, y: Any = None, *, checkpoint: Any = None, resume: bool = False,
            callback: Optional[Callback] = None, data_name: str = "") -> "Hasher":
        """Learn the hash function.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            float32 and uint8 arrays in C order are not copied; anything else becomes float32 once.
        y : array of shape (n_samples,), default None
            Labels for supervised methods: integers, -1 for unlabelled, or strings. Other methods ignore it.
        checkpoint : path, default None
            File that a long training writes after each round (UHBDNN and SHBDNN).
        resume : bool, default False
            Resume from `checkpoint` if it exists. The model is that of an uninterrupted training.
        callback : callable, default None
            Called as callback(stage, done, total), at most some twenty times a second. An exception ends the training.
        data_name : str, default ""
            Name of the data, recorded in the model; the program records the file's name.

        Returns
        -------
        self

        Notes
        -----
        Ctrl-C ends a training within about a second; the checkpoint of the last round stays.
        """
        bits = whole_number(self.n_bits, "n_bits", 1, MAX_BITS)
        self._check_output()
        settings = self._settings()
        seed = _seed_of(self.random_state)
        threads = threads_of(self.n_jobs)
        if checkpoint is not None and not self.resumable:
            raise MisuseError(f"{type(self).__name__} writes no checkpoints; leave checkpoint out")
        if resume and checkpoint is None:
            raise MisuseError("resume=True needs checkpoint, the file to resume from")
        rows = as_rows(X)
        _check_feature_names(self, X, reset=True)
        _check_n_features(self, rows, reset=True)
        labels = np.empty(0, np.int64)
        if self.supervised:
            if y is None:
                raise MisuseError(f"{type(self).__name__} requires y to be passed, but the target y is None. It learns "
                                  "from labels: give one per sample.")
            labels = as_labels(y, rows.shape[0])
        x = for_training(rows)
        listener = Listener(self.verbose, callback)
        try:
            model = _core.train(x, self.method, bits, seed, threads, settings, labels, data_name, bool(self.decoder),
                                "" if checkpoint is None else path_of(checkpoint), bool(resume), listener)
        except Error as error:
            raise_if_not_finite(rows)
            raise self._in_terms_of_python(error, rows.shape) from error
        finally:
            listener.close()
        self._take(model, listener.rounds)
        return self

    def _take(self, model: Any, rounds: list[dict[str, float]]) -> None:
        self._model = model
        self.n_features_in_ = model.dimension
        self.history_ = rounds
        self.outcome_ = model.record["outcome"]
        self.fingerprint_ = model.fingerprint

    def _settings(self) -> dict[str, str]:
        """The options that differ from their defaults, in the library's notation."""
        settings = {}
        for parameter, (name, default) in self._options.items():
            value = getattr(self, parameter)
            if value is None:
                raise MisuseError(f"{parameter}=None is not possible; the default is {default!r}")
            if type(value) is type(default) and value == default:
                continue
            settings[name] = _text_of(value)
        return settings

    def _check_output(self) -> None:
        if self.output not in OUTPUTS:
            raise MisuseError(f"output={self.output!r} is not possible; output is 'packed', 'bits' or 'signs'")

    def _in_terms_of_python(self, error: Error, shape: tuple[int, ...]) -> Error:
        """The library's message, with the parameters' names in Python and, if it may be the reason, the shape."""
        message = str(error)
        for parameter, (name, _) in self._options.items():
            if parameter != name:
                message = re.sub(rf"\b{name}\b(?!_)", parameter, message)
        # Not in "pca=30" and "pca is": every method has this option, and one has its name.
        message = re.sub(rf"\b{re.escape(self.method)}\b(?!=| is )", type(self).__name__, message)
        # A training set that cannot be trained on is the caller's, however the library classes it.
        kind = MisuseError if not isinstance(error, OSError) or "overflow" in message else FailureError
        if shape[0] == 1:
            message += " (n_samples = 1)"
        if shape[1] == 1:
            message += " (n_features = 1)"
        return kind(message)

    # Encoding

    def transform(self, X: Any) -> np.ndarray:
        """Codes of the vectors.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            Read in place if in C order, whatever its element type; memory-mapped arrays may exceed the memory.

        Returns
        -------
        array
            output="packed": uint8 of shape (n_samples, ceil(n_bits / 8)); bit i is bit i % 8, from the least
            significant, of byte i // 8. "bits": uint8 zeros and ones of shape (n_samples, n_bits). "signs": int8,
            -1 and +1.
        """
        check_is_fitted(self)
        self._check_output()
        codes = self._encode(X)
        if self.output == "packed":
            return codes
        bits = np.unpackbits(codes, axis=1, count=self._model.bits, bitorder="little")
        if self.output == "bits":
            return bits
        signs = bits.view(np.int8)
        signs *= 2
        signs -= 1
        return signs

    def refined_codes(self, X: Any, local_search: int = 8) -> np.ndarray:
        """Packed codes with a smaller reconstruction error than the signs, for search by reconstruction."""
        check_is_fitted(self)
        return self._encode(X, True, whole_number(local_search, "local_search", 0, 1000000))

    def _rows(self, X: Any) -> np.ndarray:
        rows = as_rows(X)
        _check_feature_names(self, X, reset=False)
        _check_n_features(self, rows, reset=False)
        return rows

    def _encode(self, X: Any, refined: bool = False, local_search: int = 8) -> np.ndarray:
        rows = self._rows(X)
        threads = threads_of(self.n_jobs)
        return self._by_blocks(rows, lambda block: self._model.encode(block, threads, refined, local_search))

    @staticmethod
    def _by_blocks(rows: np.ndarray, work: Any) -> np.ndarray:
        try:
            parts = [work(block) for _, block in in_blocks(rows)]
        except Error as error:
            raise_if_not_finite(rows)
            if isinstance(error, MisuseError):
                raise
            raise MisuseError(str(error)) from error  # values in X, which are the caller's
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    @available_if(_has_outputs)
    def decision_function(self, X: Any) -> np.ndarray:
        """Outputs of the hash function before the sign: float32 of shape (n_samples, n_bits); a bit is set if >= 0."""
        check_is_fitted(self)
        rows = self._rows(X)
        raise_if_not_finite(rows)  # outputs need not show it: tanh of infinity is 1
        threads = threads_of(self.n_jobs)
        return self._by_blocks(rows, lambda block: self._model.outputs(block, threads))

    @available_if(_has_decoder)
    def inverse_transform(self, codes: Any) -> np.ndarray:
        """Vectors that the decoder rebuilds from codes: float32 of shape (n_codes, n_features).

        `codes` has the form that transform() returns with the same `output`.
        """
        check_is_fitted(self)
        self._check_output()
        return self._model.reconstruct(self._packed(codes), threads_of(self.n_jobs))

    def _packed(self, codes: Any) -> np.ndarray:
        bits = self._model.bits
        if self.output == "packed":
            return as_codes(codes, n_bits=bits)
        values = as_rows(codes, "codes", minimum=0)
        if values.shape[1] != bits:
            raise MisuseError(f"codes has {values.shape[1]} columns; output={self.output!r} gives {bits}, one per bit")
        least = 0 if self.output == "bits" else -1
        if not ((values == least) | (values == 1)).all():
            raise MisuseError(f"codes holds values other than {least} and 1, which output={self.output!r} gives")
        return np.packbits(values > 0, axis=1, bitorder="little")

    def score(self, X: Any, y: Any = None) -> float:
        """Mean average precision of a search by Hamming distance within X: larger is better.

        Up to 1,000 rows of X, evenly spaced, are queries; every other row is the database, and a query does not find
        itself. Relevant are the rows with the query's label if y is given, else its 10 nearest neighbours.
        """
        from .evaluation import evaluate, exact_neighbors

        check_is_fitted(self)
        rows = self._rows(X)
        count = rows.shape[0]
        if count < 2:
            raise MisuseError("score needs at least 2 samples, got n_samples = 1")
        codes = self._encode(rows)
        places = np.unique(np.arange(SCORED_QUERIES) * count // SCORED_QUERIES) if count > SCORED_QUERIES else np.arange(count)
        relevant: dict[str, Any]
        if y is not None:
            labels = as_labels(y, count)
            relevant = {"database_labels": labels, "query_labels": labels[places]}
        else:
            relevant = {"neighbors": exact_neighbors(rows, rows[places], min(SCORED_NEIGHBORS, count - 1),
                                                     exclude=places, n_jobs=self.n_jobs)}
        result = evaluate(codes, codes[places], n_bits=self._model.bits, exclude=places, n_jobs=self.n_jobs, **relevant)
        return result["mAP"]

    # Files

    def save(self, path: Any) -> None:
        """Write the model file, which the program and `load` read."""
        check_is_fitted(self)
        self._model.save(path_of(path))

    @classmethod
    def load(cls, path: Any) -> "Hasher":
        """Read a model file written by the program or `save`; `Hasher.load` reads models of any method.

        Parameters of the estimator are those of the training, except `output`, `n_jobs` and `verbose`.
        """
        model = _core.Model.load(path_of(path))
        record = model.record
        found = _by_method.get(record["method"])
        if found is None:
            raise MisuseError(f"{os.fsdecode(path)}: was trained by '{record['method']}', which this version does not have")
        if not issubclass(found, cls):
            raise MisuseError(f"{os.fsdecode(path)}: was trained by '{record['method']}'; use bdnn.{found.__name__}.load or "
                              "bdnn.load")
        options = {parameter: value_of(record["options"][name])
                   for parameter, (name, _) in found._options.items() if name in record["options"]}
        estimator = found(n_bits=model.bits, random_state=record["seed"], decoder=model.has_decoder, **options)
        estimator._take(model, [])
        return estimator

    def transform_file(self, vectors: Any, codes: Any, *, refined: bool = False, local_search: int = 8,
                       callback: Optional[Callback] = None) -> int:
        """Encode a file of vectors to a file of codes (.codes, .npy or .bvecs); returns the number of vectors.

        Memory does not grow with the files.
        """
        check_is_fitted(self)
        listener = Listener(self.verbose, callback)
        try:
            return self._model.encode_file(path_of(vectors), path_of(codes), threads_of(self.n_jobs), refined,
                                           local_search, listener)
        finally:
            listener.close()

    @classmethod
    def from_profile(cls, profile: str, **parameters: Any) -> "Hasher":
        """An estimator with the options of a profile of the method; `parameters` override them."""
        if profile != "default" and profile not in cls._profiles:
            names = ", ".join(["default", *cls._profiles])
            raise MisuseError(f"{cls.__name__} has no profile '{profile}'; it has {names}")
        return cls(**{**cls._profiles.get(profile, {}), **parameters})

    def describe(self) -> list[str]:
        """The hash function in words, one line per part."""
        check_is_fitted(self)
        return self._model.describe()

    # scikit-learn

    @property
    def _n_features_out(self) -> int:
        bits = self._model.bits
        return (bits + 7) // 8 if self.output == "packed" else bits

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_model")

    def _more_tags(self) -> dict[str, Any]:  # before scikit-learn 1.6
        return {"preserves_dtype": [], "requires_y": self.supervised}

    def __sklearn_tags__(self) -> Any:  # 1.6 and later
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.target_tags.required = self.supervised
        tags.transformer_tags.preserves_dtype = []
        return tags


def _seed_of(random_state: Any) -> int:
    if isinstance(random_state, (int, np.integer)) and not isinstance(random_state, bool):
        if not 0 <= random_state < 2 ** 64:
            raise MisuseError(f"random_state={random_state} is not possible; random_state is 0 to 2**64 - 1")
        return int(random_state)
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2 ** 32))
    try:
        return int(check_random_state(random_state).randint(2 ** 32, dtype=np.uint64))
    except ValueError:
        raise MisuseError(f"random_state={random_state!r} is not possible; random_state is an integer, a RandomState, a "
                          "Generator or None") from None


def _text_of(value: Any) -> str:
    """A parameter in the library's notation."""
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, numbers.Integral):
        return str(int(value))
    if isinstance(value, numbers.Real):
        return repr(float(value))
    if isinstance(value, (list, tuple, np.ndarray)):
        return ",".join(_text_of(item) for item in value)
    return str(value)


def _docstring(name: str, info: dict[str, Any], quick: str) -> str:
    summary = info["summary"]
    lines = [f"{summary[0].upper()}{summary[1:]}.", "", f"{info['reference']}.", "", "Parameters", "----------"]
    for parameter, default, kind, text in signature_of(info):
        lines.append(f"{parameter} : {kind}, default {default!r}")
        lines.extend(textwrap.wrap(text, 100, initial_indent="    ", subsequent_indent="    "))
    if info["profiles"]:
        lines += ["", "Profiles", "--------"]
        for profile in info["profiles"]:
            lines.append(f"{name}.from_profile({profile['name']!r})")
            lines.append(f"    {profile['summary']}")
    labels = ", y" if info["supervised"] else ""
    lines += ["", "Examples", "--------", ">>> import bdnn, numpy as np",
              ">>> X = np.random.default_rng(0).normal(size=(400, 16)).astype(np.float32)"]
    if info["supervised"]:
        lines.append(">>> y = (X[:, 0] > 0).astype(int)")
    lines += [f">>> hasher = bdnn.{name}(n_bits=8{quick}).fit(X{labels})", ">>> hasher.transform(X).shape", "(400, 1)"]
    return "\n".join(lines) + "\n"


# Settings that make the examples quick, by option.
_QUICK = {"steps": 50, "first_steps": 50, "trees": 10}


def _make_class(info: dict[str, Any]) -> type[Hasher]:
    name = class_name(info["name"])
    parameters = signature_of(info)
    # A signature of its own, which scikit-learn, help() and editors look at.
    arguments = ", ".join([f"{parameters[0][0]}={parameters[0][1]!r}", "*",
                           *(f"{parameter}={default!r}" for parameter, default, _, _ in parameters[1:])])
    body = "".join(f"    self.{parameter} = {parameter}\n" for parameter, _, _, _ in parameters)
    scope: dict[str, Any] = {}
    exec(f"def __init__(self, {arguments}):\n{body}", scope)  # noqa: S102: names come from the library's registry
    options = parameters_of(info)
    quick = "".join(f", {parameter}={_QUICK[parameter]}" for parameter, *_ in options if parameter in _QUICK)
    to_parameter = {library_name: parameter for parameter, library_name, *_ in options}
    profiles = {profile["name"]: {to_parameter[key]: value_of(text) for key, text in profile["options"].items()}
                for profile in info["profiles"]}
    return type(name, (Hasher,), {
        "__module__": "bdnn",
        "__qualname__": name,
        "__doc__": _docstring(name, info, quick),
        "__init__": scope["__init__"],
        "method": info["name"],
        "supervised": info["supervised"],
        "resumable": info["resumable"],
        "_options": {parameter: (library_name, default) for parameter, library_name, default, _, _ in options},
        "_profiles": profiles,
    })


_by_method: dict[str, type[Hasher]] = {info["name"]: _make_class(info) for info in _core.methods()}
classes: dict[str, type[Hasher]] = {cls.__name__: cls for cls in _by_method.values()}


def load(path: Any) -> Hasher:
    """Read a model file as an estimator of its method's class."""
    return Hasher.load(path)


def methods() -> dict[str, type[Hasher]]:
    """The classes of all methods, by the method's name in the program.

    >>> import bdnn
    >>> bdnn.methods()["itq"]
    <class 'bdnn.ITQ'>
    """
    return dict(_by_method)
