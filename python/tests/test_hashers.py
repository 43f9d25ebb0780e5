"""What estimators do beyond scikit-learn's checks."""
import copy
import inspect
import multiprocessing
import os
import pickle
import threading
import time

import numpy as np
import pytest
from conftest import METHODS, quick
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

import bdnn


def test_every_method_of_the_registry_has_a_class_with_its_options():
    methods = {info["name"]: info for info in bdnn._core.methods()}
    assert list(bdnn.methods()) == list(methods)
    for name, cls in bdnn.methods().items():
        assert getattr(bdnn, cls.__name__) is cls and cls.__name__ in bdnn.__all__
        parameters = inspect.signature(cls.__init__).parameters
        for option in methods[name]["options"]:
            parameter = option["name"] + "_" * (option["name"] == "lambda")
            assert bdnn._estimators._text_of(parameters[parameter].default) == option["default"]
            assert f"{parameter} : " in cls.__doc__


def test_names_of_classes():
    names = {name: cls.__name__ for name, cls in bdnn.methods().items()}
    expected = {"uh-bdnn": "UHBDNN", "sh-bdnn": "SHBDNN", "itq": "ITQ", "lda-hash": "LDAHash", "isohash": "IsoHash",
                "fasthash": "FastHash", "semantic": "Semantic", "classifier": "Classifier", "pca-rr": "PCARR",
                "itq-cca": "ITQCCA", "bre-u": "BREU", "sklsh": "SKLSH"}
    assert {name: names[name] for name in expected} == expected


@pytest.mark.parametrize("preparation", [{}, {"pca": 16, "normalise": "unit"}], ids=["plain", "prepared"])
@pytest.mark.parametrize("cls", METHODS, ids=lambda cls: cls.__name__)
def test_every_method_round_trips(cls, preparation, data, tmp_path):
    x, y = data
    hasher = quick(cls, n_bits=10, **preparation).fit(x, y)
    assert hasher.n_features_in_ == x.shape[1]
    codes = hasher.transform(x)
    assert codes.dtype == np.uint8 and codes.shape == (400, 2) and codes.flags.c_contiguous
    # Outputs, bits and signs say the same.
    bits = np.unpackbits(codes, axis=1, count=10, bitorder="little")
    np.testing.assert_array_equal(clone_fitted(hasher, output="bits").transform(x), bits)
    signs = clone_fitted(hasher, output="signs").transform(x)
    assert signs.dtype == np.int8
    np.testing.assert_array_equal(signs, 2 * bits.astype(int) - 1)
    if hasattr(hasher, "decision_function"):
        outputs = hasher.decision_function(x)
        assert outputs.dtype == np.float32 and outputs.shape == (400, 10)
        np.testing.assert_array_equal(outputs >= 0, bits == 1)
    else:
        assert cls is bdnn.KMH
    # The decoder takes every form of codes.
    rebuilt = hasher.inverse_transform(codes)
    assert rebuilt.shape == x.shape and rebuilt.dtype == np.float32
    np.testing.assert_array_equal(clone_fitted(hasher, output="signs").inverse_transform(signs), rebuilt)
    np.testing.assert_array_equal(clone_fitted(hasher, output="bits").inverse_transform(bits), rebuilt)
    # Files and pickles hold all of it.
    hasher.save(tmp_path / "m.bdnn")
    for loaded in (bdnn.load(tmp_path / "m.bdnn"), cls.load(tmp_path / "m.bdnn"), pickle.loads(pickle.dumps(hasher)),
                   copy.deepcopy(hasher)):
        assert type(loaded) is cls and loaded.fingerprint_ == hasher.fingerprint_
        np.testing.assert_array_equal(loaded.transform(x), codes)
    # A loaded estimator has the parameters of the training and trains to the same model again.
    loaded = bdnn.load(tmp_path / "m.bdnn")
    assert loaded.get_params() == hasher.get_params()
    assert clone(loaded).fit(x, y).fingerprint_ == hasher.fingerprint_
    assert 0 < hasher.score(x, y) <= 1
    assert len(hasher.get_feature_names_out()) == 2


def clone_fitted(hasher, **parameters):
    return copy.copy(hasher).set_params(**parameters)


def test_options_reach_the_library(data):
    assert bdnn.ITQ(rotations=7).fit(data[0])._model.record["options"]["rotations"] == "7"
    hasher = quick(bdnn.UHBDNN, n_bits=8, hidden=(12, 10), lambda1=0.5, normalise="unit").fit(data[0])
    options = hasher._model.record["options"]
    assert (options["hidden"], options["lambda1"], options["normalise"]) == ("12,10", "0.5", "unit")
    assert quick(bdnn.KMH, n_bits=8, lambda_=3).fit(data[0])._model.record["options"]["lambda"] == "3"


def test_profiles_set_parameters_that_can_be_overridden():
    paper = bdnn.UHBDNN.from_profile("paper", n_bits=16, iterations=4, pca=20)
    assert (paper.solver, paper.lambda1, paper.iterations, paper.n_bits, paper.pca) == ("lbfgs", 1e-5, 4, 16, 20)
    assert bdnn.UHBDNN.from_profile("default").get_params() == bdnn.UHBDNN().get_params()
    with pytest.raises(bdnn.MisuseError, match="UHBDNN has no profile 'x'; it has default, paper, recall"):
        bdnn.UHBDNN.from_profile("x")


@pytest.mark.parametrize("parameters, message", [
    ({"n_bits": 0}, "n_bits=0 is not possible; n_bits is an integer, 1 to 4096"),
    ({"n_bits": 8.0}, "n_bits=8.0 is not possible"),
    ({"rotations": -1}, "rotations=-1 is not possible for ITQ; rotations is 0 to 100000"),
    ({"rotations": "many"}, "rotations=many is not possible for ITQ"),
    ({"rotations": None}, "rotations=None is not possible; the default is 50"),
    ({"output": "floats"}, "output is 'packed', 'bits' or 'signs'"),
    ({"normalise": "l1"}, "normalise=l1 is not possible for ITQ; normalise is none or unit"),
    ({"pca": -1}, "pca=-1 is not possible for ITQ; pca is 0 to"),
    ({"pca": 25}, "25 principal components are too many for vectors of dimension 24"),
    ({"random_state": -1}, "random_state is 0 to"),
    ({"random_state": "x"}, "random_state='x' is not possible"),
    ({"n_jobs": 0}, "n_jobs=0 is not possible"),
    ({"n_jobs": 1.5}, "n_jobs=1.5 is not possible"),
])
def test_wrong_parameters_are_named(parameters, message, data):
    with pytest.raises(bdnn.MisuseError) as caught:
        bdnn.ITQ(**parameters).fit(data[0])
    assert message in str(caught.value)
    assert "--" not in str(caught.value)


def test_a_keyword_is_named_as_in_python(data):
    with pytest.raises(ValueError, match="lambda_=-1 is not possible for KMH; lambda_ is 0 to"):
        quick(bdnn.KMH, lambda_=-1).fit(data[0])


def test_the_method_pca_is_told_from_the_option_pca(data):
    with pytest.raises(ValueError, match="pca=-1 is not possible for PCA; pca is 0 to"):
        bdnn.PCA(pca=-1).fit(data[0])


def test_more_bits_than_features_is_said(data):
    with pytest.raises(bdnn.MisuseError, match="25 bits"):
        bdnn.PCA(n_bits=25).fit(data[0])


def test_labels_of_any_kind_train_the_same_model(data):
    x, y = data
    hasher = quick(bdnn.SHBDNN, n_bits=8)
    expected = clone(hasher).fit(x, y).fingerprint_
    for same in (y.astype(np.int8), y.astype(float), y.astype(object), y.tolist()):
        assert clone(hasher).fit(x, same).fingerprint_ == expected
    names = np.array(["a", "b", "c", "d", "e"])[y]
    assert clone(hasher).fit(x, names).fingerprint_ == clone(hasher).fit(x, names.astype(object)).fingerprint_
    for wrong, message in ((y + 0.5, "Unknown label type"), (y[:-1], "inconsistent numbers of samples"), (None, "requires y"),
                           (np.stack([y, y]), "1d array"), ([{}] * len(x), "Unknown label type"),
                           (np.where(y == 0, np.nan, y), "contains NaN")):
        with pytest.raises(bdnn.MisuseError, match=message):
            clone(hasher).fit(x, wrong)


def test_jobs_change_nothing(data):
    x, y = data
    for cls in (bdnn.ITQ, bdnn.UHBDNN, bdnn.SHBDNN):
        one, two, all_cores = (quick(cls, n_bits=8, n_jobs=jobs).fit(x, y) for jobs in (1, 2, -1))
        assert one.fingerprint_ == two.fingerprint_ == all_cores.fingerprint_
        np.testing.assert_array_equal(one.transform(x), two.transform(x))


def test_seeds(data):
    x = data[0]
    assert bdnn.LSH(random_state=1).fit(x).fingerprint_ == bdnn.LSH().fit(x).fingerprint_
    assert bdnn.LSH(random_state=2).fit(x).fingerprint_ != bdnn.LSH().fit(x).fingerprint_
    from_state = [bdnn.LSH(random_state=np.random.RandomState(5)).fit(x).fingerprint_ for _ in range(2)]
    assert from_state[0] == from_state[1]
    assert bdnn.LSH(random_state=None).fit(x).fingerprint_ != bdnn.LSH(random_state=None).fit(x).fingerprint_


def test_in_a_pipeline_with_a_grid_search(data):
    x, y = data
    pipeline = make_pipeline(bdnn.ITQ(output="signs"), KNeighborsClassifier(3))
    search = GridSearchCV(pipeline, {"itq__n_bits": [2, 16]}, cv=3).fit(x, y)
    assert search.best_params_ == {"itq__n_bits": 16} and search.best_score_ > 0.9
    by_score = GridSearchCV(bdnn.ITQ(), {"n_bits": [2, 16]}, cv=3).fit(x)
    assert by_score.best_params_ == {"n_bits": 16}


def test_score_is_the_mean_average_precision(data, itq):
    x, y = data
    codes = itq.transform(x)
    places = np.arange(len(x))
    labelled = bdnn.evaluate(codes, codes, database_labels=y, query_labels=y, exclude=places, n_bits=16)
    assert itq.score(x, y) == labelled["mAP"]
    neighbors = bdnn.exact_neighbors(x, x, 10, exclude=places)
    assert itq.score(x) == bdnn.evaluate(codes, codes, neighbors=neighbors, exclude=places)["mAP"]


def test_models_without_decoder(data):
    hasher = bdnn.ITQ(n_bits=8, decoder=False).fit(data[0])
    assert not hasattr(hasher, "inverse_transform")
    with pytest.raises(bdnn.MisuseError, match="decoder"):
        hasher.refined_codes(data[0])


def test_refined_codes_rebuild_better(data, itq):
    x = data[0]
    def error(codes):
        return ((itq.inverse_transform(codes) - x) ** 2).sum()
    assert error(itq.refined_codes(x)) < error(itq.transform(x))


def test_codes_that_are_none(itq):
    for wrong, message in ((np.zeros((3, 3), np.uint8), "codes of 16 bits have 2"), (np.zeros((3, 2)), "float64"),
                           (np.zeros(2, np.uint8), "Expected 2D")):
        with pytest.raises(bdnn.MisuseError, match=message):
            itq.inverse_transform(wrong)
    with pytest.raises(bdnn.MisuseError, match="values other than -1 and 1"):
        clone_fitted(itq, output="signs").inverse_transform(np.zeros((1, 16)))


def test_files_that_are_no_models(tmp_path, itq):
    with pytest.raises(OSError, match="missing.bdnn"):
        bdnn.load(tmp_path / "missing.bdnn")
    (tmp_path / "junk").write_bytes(b"junk")
    with pytest.raises(bdnn.FailureError):
        bdnn.load(tmp_path / "junk")
    itq.save(tmp_path / "itq.bdnn")
    with pytest.raises(bdnn.MisuseError, match="use bdnn.ITQ.load"):
        bdnn.LSH.load(tmp_path / "itq.bdnn")
    with pytest.raises(OSError):
        itq.save(tmp_path / "no" / "folder" / "m.bdnn")


def test_several_threads_encode_with_one_estimator(data, itq):
    x = data[0]
    expected = itq.transform(x)
    wrong = []

    def work():
        for _ in range(50):
            if not np.array_equal(itq.transform(x), expected):
                wrong.append(1)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_other_threads_run_meanwhile(data, itq):
    x = np.repeat(data[0], 50, 0)
    worker = threading.Thread(target=lambda: itq.refined_codes(x, local_search=50))
    turns = 0
    worker.start()
    while worker.is_alive():
        turns += 1
        time.sleep(0.001)
    assert turns > 3


def _encode_in_child(hasher, x, queue):
    queue.put(hasher.transform(x).sum())


def test_a_forked_child_encodes_too(data):
    """A child has none of its parent's threads, so it must not wait for them."""
    hasher = bdnn.ITQ(n_bits=16, n_jobs=2).fit(data[0])
    expected = hasher.transform(data[0]).sum()
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=_encode_in_child, args=(hasher, data[0], queue))
    child.start()
    assert queue.get(timeout=30) == expected
    child.join(30)
    assert child.exitcode == 0


def test_callback_and_history(data):
    seen = []
    hasher = quick(bdnn.UHBDNN, n_bits=8).fit(data[0], callback=lambda *event: seen.append(event))
    assert seen and all(isinstance(stage, str) and 0 <= done <= total for stage, done, total in seen)
    assert hasher.history_ and {"iteration", "seconds"} <= set(hasher.history_[0])

    def refuse(*_):
        raise RuntimeError("no more")
    with pytest.raises(RuntimeError, match="no more"):
        bdnn.UHBDNN(n_bits=8).fit(data[0], callback=refuse)


def test_verbose_shows_a_bar(data, capfd, monkeypatch):
    quick(bdnn.UHBDNN, n_bits=8, verbose=2).fit(data[0])
    assert "network" in capfd.readouterr().err
    monkeypatch.setitem(__import__("sys").modules, "tqdm.auto", None)  # as if it were not installed
    quick(bdnn.UHBDNN, n_bits=8, verbose=1).fit(data[0])
    assert "network" in capfd.readouterr().err


def test_set_output_names_columns(data, itq):
    pytest.importorskip("pandas")
    frame = copy.copy(itq).set_output(transform="pandas").transform(data[0])
    assert list(frame.columns) == ["itq0", "itq1"]


def test_transform_file(data, itq, tmp_path):
    bdnn.save_vectors(data[0], tmp_path / "x.fvecs")
    assert itq.transform_file(tmp_path / "x.fvecs", tmp_path / "x.codes") == 400
    loaded = bdnn.load_codes(tmp_path / "x.codes")
    np.testing.assert_array_equal(loaded.codes, itq.transform(data[0]))
    assert (loaded.n_bits, loaded.fingerprint) == (16, itq.fingerprint_)
    with pytest.raises(OSError, match="none.fvecs"):
        itq.transform_file(tmp_path / "none.fvecs", tmp_path / "y.codes")
    assert not os.path.exists(tmp_path / "y.codes")
