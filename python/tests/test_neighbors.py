"""Search of codes against naive loops and scikit-learn."""
import pickle

import numpy as np
import pytest
from sklearn.cluster import DBSCAN
from sklearn.neighbors import KNeighborsClassifier, NearestNeighbors
from sklearn.pipeline import make_pipeline

import bdnn


def naive(database, queries):
    """Distances of all pairs, and positions by ascending distance, then position."""
    distances = np.unpackbits(database[None] ^ queries[:, None], axis=2).sum(axis=2).astype(int)
    return distances, np.argsort(distances, axis=1, kind="stable")


@pytest.fixture(scope="module", params=[1, 3, 8])
def codes(request):
    rng = np.random.default_rng(request.param)
    return rng.integers(256, size=(300, request.param), dtype=np.uint8) & rng.integers(256, size=(300, request.param), dtype=np.uint8)


@pytest.mark.parametrize("plan", ["automatic", "scan"])
def test_equals_a_naive_search(codes, plan):
    database, queries = codes[:250], codes[250:]
    distances, order = naive(database, queries)
    search = bdnn.BinaryNeighbors(7, plan=plan, radius=4).fit(database)
    found_distances, found = search.kneighbors(queries)
    assert found.dtype == np.int64 and found_distances.dtype == np.int32
    np.testing.assert_array_equal(found, order[:, :7])
    np.testing.assert_array_equal(found_distances, np.take_along_axis(distances, order, 1)[:, :7])
    np.testing.assert_array_equal(search.kneighbors(queries, 3, return_distance=False), order[:, :3])
    within_distances, within = search.radius_neighbors(queries)
    for query in range(len(queries)):
        expected = [i for i in order[query] if distances[query, i] <= 4]
        assert within[query].tolist() == expected
        assert within_distances[query].tolist() == distances[query, expected].tolist()


def test_a_code_is_not_its_own_neighbour(codes):
    codes = np.repeat(codes[:60], 3, axis=0)  # with equal ones, which must not be taken for the code itself
    distances, _ = naive(codes, codes)
    np.fill_diagonal(distances, 10000)
    order = np.argsort(distances, axis=1, kind="stable")
    search = bdnn.BinaryNeighbors(4, radius=3).fit(codes)
    found_distances, found = search.kneighbors()
    np.testing.assert_array_equal(found_distances, np.take_along_axis(distances, order, 1)[:, :4])
    assert (found != np.arange(len(codes))[:, None]).all()
    assert all(i not in row for i, row in enumerate(search.radius_neighbors(return_distance=False)))
    assert [len(row) for row in search.radius_neighbors()[1]] == (distances <= 3).sum(axis=1).tolist()


def test_agrees_with_scikit_learn(codes):
    bits = np.unpackbits(codes, axis=1)
    theirs = NearestNeighbors(n_neighbors=5, metric="hamming", algorithm="brute").fit(bits)
    ours = bdnn.BinaryNeighbors(5).fit(codes)
    np.testing.assert_allclose(theirs.kneighbors(bits)[0] * bits.shape[1], ours.kneighbors(codes)[0])
    for mode in ("connectivity", "distance"):
        their_graph, our_graph = theirs.kneighbors_graph(bits, mode=mode), ours.kneighbors_graph(codes, mode=mode)
        assert our_graph.shape == their_graph.shape and our_graph.nnz == their_graph.nnz
    radius = ours.radius_neighbors_graph(codes, 3, mode="distance")
    assert radius.nnz == theirs.radius_neighbors_graph(bits, (3 + 1e-6) / bits.shape[1]).nnz


def test_graphs_serve_scikit_learn(data):
    x, y = data
    hasher = bdnn.ITQ(n_bits=24).fit(x)
    codes = hasher.transform(x)
    graph = bdnn.BinaryNeighbors(radius=5).fit(codes).radius_neighbors_graph(codes, mode="distance")
    clusters = DBSCAN(eps=5, min_samples=4, metric="precomputed").fit_predict(graph)
    expected = DBSCAN(eps=5, min_samples=4, metric="precomputed").fit_predict(naive(codes, codes)[0])
    np.testing.assert_array_equal(clusters, expected)
    pipeline = make_pipeline(bdnn.ITQ(n_bits=24), bdnn.BinaryNeighbors(8, mode="distance"),
                             KNeighborsClassifier(5, metric="precomputed"))
    assert pipeline.fit(x[:300], y[:300]).score(x[300:], y[300:]) > 0.9


def test_lengths_that_are_no_multiple_of_8():
    codes = np.array([[0, 0], [255, 15], [1, 0]], np.uint8)
    search = bdnn.BinaryNeighbors(3, n_bits=12).fit(codes)
    np.testing.assert_array_equal(search.kneighbors(codes[1:2])[0], [[0, 11, 12]])


@pytest.mark.parametrize("parameters, message", [
    ({"n_neighbors": 0}, "n_neighbors=0"), ({"n_neighbors": 301}, "n_neighbors <= n_samples_fit"),
    ({"n_neighbors": 2.0}, "n_neighbors=2.0"), ({"plan": "guess"}, "plan='guess'"), ({"mode": "x"}, "mode='x'"),
    ({"tables": "some"}, "tables='some'"), ({"n_bits": 100}, "n_bits|13")])
def test_wrong_parameters_are_named(parameters, message, codes):
    with pytest.raises(bdnn.MisuseError, match=message):
        bdnn.BinaryNeighbors(**parameters).fit(codes).kneighbors(codes)


def test_radius_is_checked(codes):
    search = bdnn.BinaryNeighbors().fit(codes)
    for wrong in (-1, "2", None if False else -0.5):
        with pytest.raises(bdnn.MisuseError, match="radius"):
            search.radius_neighbors(codes, wrong)
    assert len(search.radius_neighbors(codes, 2.5)[0]) == 300


def test_jobs_and_pickles_change_nothing(codes):
    one, two = (bdnn.BinaryNeighbors(5, n_jobs=jobs).fit(codes) for jobs in (1, 2))
    for other in (two, pickle.loads(pickle.dumps(one))):
        np.testing.assert_array_equal(other.kneighbors(codes), one.kneighbors(codes))
    assert one.explain(10)["plan"] in ("scan", "mih", "bucket")


@pytest.mark.parametrize("rank_by", ["reconstruction", "asymmetric", "spherical"])
def test_scans_by_score(rank_by, data, itq):
    x = data[0]
    codes = itq.transform(x)
    scores, ids = bdnn.ScoreNeighbors(itq, codes, rank_by).kneighbors(x[:5], 6)
    if rank_by == "reconstruction":
        expected = ((itq.inverse_transform(codes)[None] - x[:5, None]) ** 2).sum(axis=2)
    elif rank_by == "asymmetric":
        signs = 2.0 * np.unpackbits(codes, axis=1, bitorder="little") - 1
        expected = ((itq.decision_function(x[:5])[:, None] - signs[None]) ** 2).sum(axis=2)
    else:
        bits = np.unpackbits(codes, axis=1).astype(int)
        both = bits[:5] @ bits.T
        different = (bits[:5, None] != bits[None]).sum(axis=2)
        expected = np.where(different == 0, 0, different / np.where(both == 0, 1 / 17, both))
    np.testing.assert_allclose(scores, np.sort(expected, axis=1)[:, :6], rtol=1e-4, atol=1e-3)
    np.testing.assert_allclose(np.take_along_axis(expected, ids, 1), scores, rtol=1e-4, atol=1e-3)
    with pytest.raises(bdnn.MisuseError, match="rank_by='x'"):
        bdnn.ScoreNeighbors(itq, codes, "x")
