"""True neighbours, metrics, protocols and diagnostics."""
import numpy as np
import pytest
from sklearn.metrics import average_precision_score
from sklearn.neighbors import NearestNeighbors

import bdnn


def test_exact_neighbors_equal_scikit_learn(data, tmp_path):
    x = data[0]
    for metric in ("euclidean", "cosine"):
        ours = bdnn.exact_neighbors(x[:300], x[300:], 7, metric=metric)
        theirs = NearestNeighbors(n_neighbors=7, metric=metric, algorithm="brute").fit(x[:300].astype(np.float64))
        np.testing.assert_array_equal(ours, theirs.kneighbors(x[300:].astype(np.float64), return_distance=False))
    own = bdnn.exact_neighbors(x, x, 3, exclude=np.arange(400))
    assert (own != np.arange(400)[:, None]).all()
    bdnn.save_neighbors(own, tmp_path / "truth.ivecs")
    np.testing.assert_array_equal(bdnn.load_neighbors(tmp_path / "truth.ivecs", 400, 400), own)
    with pytest.raises(bdnn.MisuseError, match="n_neighbors=400 is more than the 399"):
        bdnn.exact_neighbors(x, x, 400, exclude=np.arange(400))
    with pytest.raises(bdnn.MisuseError, match="metric='l1'"):
        bdnn.exact_neighbors(x, x, metric="l1")
    with pytest.raises(bdnn.MisuseError, match="24 features, queries have 23"):
        bdnn.exact_neighbors(x, x[:, 1:])


def test_average_precision_without_ties_equals_scikit_learn():
    codes = np.array([[0], [1], [3], [7], [15], [31]], np.uint8)  # at distances 0 to 5 from the first
    relevant = np.array([1, 0, 1, 0, 0, 1])
    result = bdnn.evaluate(codes, codes[:1], database_labels=relevant, query_labels=[1], at=[3], radii=[2])
    assert result["mAP"] == pytest.approx(average_precision_score(relevant, -np.arange(6)))
    assert result["precision@3"] == result["precision@r2"] == pytest.approx(2 / 3)
    by_lists = bdnn.evaluate(codes, codes[:1], neighbors=[[0, 2, 5]], at=[3])
    assert by_lists["mAP"] == result["mAP"] and by_lists["recall@3"] == pytest.approx(2 / 3)


def test_evaluate_encodes_vectors(data, itq):
    x, y = data
    codes = itq.transform(x)
    labels = {"database_labels": y, "query_labels": y[:50]}
    by_codes = bdnn.evaluate(codes, codes[:50], **labels, curve=True)
    assert bdnn.evaluate(x, x[:50], hasher=itq, **labels) == by_codes
    assert bdnn.evaluate(codes, x[:50], hasher=itq, **labels) == by_codes
    assert [at["radius"] for at in by_codes.curve] == list(range(17)) and by_codes.curve[-1]["recall"] == 1
    for rank_by in ("asymmetric", "reconstruction", "spherical"):
        assert 0 < bdnn.evaluate(x, x[:50], hasher=itq, rank_by=rank_by, **labels)["mAP"] <= 1
    one, two = (bdnn.evaluate(codes, codes, database_labels=y, query_labels=y, n_jobs=jobs) for jobs in (1, 2))
    assert one == two


@pytest.mark.parametrize("wrong, message", [
    ({}, "what is relevant"), ({"neighbors": [[0]], "query_labels": [1]}, "not both"), ({"neighbors": [[-1]]}, "not positions"),
    ({"neighbors": [0]}, "two-dimensional"), ({"neighbors": [[0], [1]]}, "2 rows for 1 queries"),
    ({"neighbors": [[0]], "ties": "x"}, "ties='x'"), ({"neighbors": [[0]], "rank_by": "x"}, "rank_by='x'"),
    ({"neighbors": [[0]], "rank_by": "asymmetric"}, "give hasher"), ({"neighbors": [[9]]}, "9"),
    ({"neighbors": [[0]], "at": [0]}, "at=0"), ({"neighbors": [[0]], "exclude": [0, 1]}, "exclude"),
    ({"database_labels": [1, 2], "query_labels": [1]}, "database_labels")])
def test_misuse(wrong, message):
    codes = np.array([[0], [1], [3]], np.uint8)
    with pytest.raises(bdnn.MisuseError, match=message):
        bdnn.evaluate(codes, codes[:1], **wrong)


def test_diagnostics(data, itq):
    codes = itq.transform(data[0])
    facts = bdnn.diagnose(codes)
    bits = np.unpackbits(codes, axis=1, bitorder="little")
    np.testing.assert_allclose(facts["balance"], bits.mean(axis=0))
    assert facts["distinct"] == len(np.unique(codes, axis=0))
    assert facts["correlation"].shape == (16, 16) and str(facts["distinct"]) in facts["summary"]
    outputs = itq.decision_function(data[0]).astype(float)
    assert bdnn.diagnose_quantization(itq, data[0])["mean_magnitude"] == pytest.approx(np.abs(outputs).mean(), rel=1e-5)
    with pytest.raises(bdnn.MisuseError):
        bdnn.diagnose(np.zeros((0, 2), np.uint8))


PROTOCOL = """
name = "small"
description = "a test"
[train]
vectors = ["train.npy"]
labels = ["train-labels.npy"]
[queries]
vectors = ["queries.npy"]
labels = ["query-labels.npy"]
[relevance]
kind = "labels"
"""


def test_protocols(data, tmp_path, program):
    x, y = data
    (tmp_path / "p.toml").write_text(PROTOCOL)
    for name, array in (("train", x[:300]), ("queries", x[300:])):
        bdnn.save_vectors(array, tmp_path / f"{name}.npy")
    bdnn.save_labels(y[:300], tmp_path / "train-labels.npy")
    bdnn.save_labels(y[300:], tmp_path / "query-labels.npy")
    protocol = bdnn.Protocol(tmp_path / "p.toml")
    assert protocol.name == "small" and protocol.labels_are_relevant
    loaded = protocol.load(tmp_path)
    np.testing.assert_array_equal(loaded.train, x[:300])
    np.testing.assert_array_equal(loaded.query_labels, y[300:])
    assert loaded.overlap() == {"with_training": 0, "with_database": 0} and loaded.hashes()["train"]
    rows = protocol.run(loaded, ["lsh", bdnn.ITQ(rotations=5)], n_bits=[8, 16], seeds=[1, 2])
    assert [(row["method"], row["bits"], row["seed"]) for row in rows][:3] == [("lsh", 8, 1), ("lsh", 8, 2), ("lsh", 16, 1)]
    hasher = bdnn.ITQ(n_bits=16, rotations=5, random_state=2).fit(x[:300])
    expected = bdnn.evaluate(x[:300], x[300:], hasher=hasher, database_labels=y[:300], query_labels=y[300:])
    assert rows[-1]["metrics"]["mAP"] == expected["mAP"]
    with pytest.raises(bdnn.MisuseError, match="unknown method 'x'"):
        protocol.run(loaded, "x")
    with pytest.raises(OSError):
        bdnn.Protocol(tmp_path / "none.toml")
