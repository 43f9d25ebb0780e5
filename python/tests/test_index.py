"""Index files from Python."""
import os
import threading

import numpy as np
import pytest

import bdnn


@pytest.fixture
def codes():
    return np.random.default_rng(1).integers(256, size=(200, 4), dtype=np.uint8)


def test_build_open_and_search(codes, tmp_path):
    path = tmp_path / "a.index"
    built = bdnn.Index.build(path, codes)
    assert len(built) == 200 and built.n_bits == 32 and built.path == str(path)
    assert "200 codes of 32 bits under ids" in repr(built)
    expected = bdnn.BinaryNeighbors(5).fit(codes).kneighbors(codes[:20])
    for index in (built, bdnn.Index.open(path), bdnn.Index.open(path, load=True), bdnn.Index.build(None, codes)):
        keys, distances = index.search(codes[:20], 5)
        assert keys.dtype == np.int64
        np.testing.assert_array_equal(distances, expected[0])
        np.testing.assert_array_equal(keys, expected[1])
    lists, within = built.search(codes[:3], radius=9)
    assert all((row <= 9).all() for row in within) and [row[0] for row in lists] == [0, 1, 2]
    assert built.explain(5)["plan"] in ("scan", "mih", "bucket")


def test_changes(codes, tmp_path):
    index = bdnn.Index.build(tmp_path / "a.index", codes[:100], ids=np.arange(1000, 1100))
    other = bdnn.Index.open(tmp_path / "a.index")
    assert index.add(codes[100:110])["added"] == 10
    assert index.search(codes[105:106], 1)[0][0, 0] == 1105
    assert len(other) == 100 and len(other.reload()) == 110
    assert index.upsert(codes[150:152], ids=[1000, 5])["replaced"] == 1
    assert index.search(codes[150:151], 1)[0][0, 0] == 1000
    assert index.remove([1000, 1001])["removed"] == 2
    assert index.remove(1002)["removed"] == 1
    assert index.remove([7], ignore_missing=True)["missing"] == 1
    with pytest.raises(bdnn.MisuseError, match="7"):
        index.remove([7])
    with pytest.raises(bdnn.MisuseError, match="1003"):
        index.add(codes[:1], ids=[1003])
    before = index.info["bytes"]
    assert index.compact() is index and index.info["bytes"] < before
    index.verify()
    assert len(index) == 108
    with pytest.raises(bdnn.MisuseError, match="give ids or names"):
        index.upsert(codes[:1])


def test_names_as_keys(codes, tmp_path):
    names = [f"photo-{i}é" for i in range(200)]
    index = bdnn.Index.build(tmp_path / "a.index", codes, names=names)
    keys, distances = index.search(codes[:3], 2)
    assert keys[:, 0].tolist() == names[:3] and distances[:, 0].tolist() == [0, 0, 0]
    index.remove("photo-1é")
    assert index.search(codes[1:2], 1)[0][0, 0] != "photo-1é"
    chosen = index.filter(["photo-5é", "photo-6é"])
    assert set(index.search(codes[:1], 10, filter=chosen)[0].ravel()) == {"photo-5é", "photo-6é"}
    with pytest.raises(bdnn.MisuseError, match="names are strings"):
        index.remove([3])
    with pytest.raises(bdnn.MisuseError, match="by ids"):
        index.filter(mask=np.ones(200, bool))


def test_names_and_paths_of_any_bytes(codes, tmp_path):
    path = os.fsdecode(os.fsencode(tmp_path) + b"/\xff.index")
    index = bdnn.Index.build(path, codes[:2], names=["a", "\udcff"])
    assert index.search(codes[1:2], 1)[0][0, 0] == "\udcff" and os.path.exists(path)
    assert len(bdnn.Index.open(os.fsencode(path))) == 2


def test_large_ids(codes):
    index = bdnn.Index.build(None, codes[:3], ids=[2 ** 64 - 1, 0, 2 ** 63])
    keys, _ = index.search(codes[:3], 1)
    assert keys.ravel().tolist() == [2 ** 64 - 1, 0, 2 ** 63]


def test_filters(codes):
    index = bdnn.Index.build(None, codes)
    allowed = np.array([3, 50, 51, 9999])
    expected = index.search(codes[:4], 200)
    mask = np.zeros(60, bool)
    mask[[3, 50, 51]] = True
    for chosen in (allowed, index.filter(allowed), index.filter(mask=mask)):
        keys, distances = index.search(codes[:4], 10, filter=chosen)
        assert keys.shape == (4, 3)
        for query in range(4):
            order = [key for key in expected[0][query] if key in (3, 50, 51)]
            assert keys[query].tolist() == order
    other = bdnn.Index.build(None, codes)
    with pytest.raises(bdnn.MisuseError, match="filter"):
        other.search(codes[:1], filter=index.filter(allowed))


def test_vectors_with_a_hasher(data, itq, tmp_path):
    x = data[0]
    path = tmp_path / "a.index"
    index = bdnn.Index.build(path, x[:300], hasher=itq)
    assert index.info["model"] == itq.fingerprint_
    index.add(x[300:])
    keys, distances = index.search(x[:10], 5)
    by_codes = bdnn.Index.open(path).search(itq.transform(x[:10]), 5)
    np.testing.assert_array_equal(keys, by_codes[0])
    # By the original vectors, from memory and from a file.
    keys, scores = index.search(x[:10], 3, rerank=x, shortlist=400)
    truth = bdnn.exact_neighbors(x, x[:10], 3)
    np.testing.assert_array_equal(keys, truth)
    np.testing.assert_allclose(scores, ((x[truth] - x[:10, None]) ** 2).sum(axis=2), rtol=1e-5)
    bdnn.save_vectors(x, tmp_path / "x.fvecs")
    from_file = index.search(x[:10], 3, rerank=tmp_path / "x.fvecs", shortlist=400)
    np.testing.assert_array_equal(from_file[0], keys)
    np.testing.assert_array_equal(from_file[1], scores)
    # By the codes.
    for rank_by in ("reconstruction", "asymmetric", "spherical"):
        keys, scores = index.search(x[:10], 5, rank_by=rank_by, shortlist=400)
        expected = bdnn.ScoreNeighbors(itq, itq.transform(x), rank_by).kneighbors(x[:10], 5)
        np.testing.assert_array_equal(keys, expected[1])
        np.testing.assert_array_equal(scores, expected[0])


def test_rerank_with_names(data, itq):
    x = data[0]
    names = [f"n{i}" for i in range(400)]
    index = bdnn.Index.build(None, x, names=names, hasher=itq)
    shuffled = np.random.default_rng(0).permutation(400)
    keys, _ = index.search(x[:5], 2, rerank=x[shuffled], rerank_keys=[names[i] for i in shuffled], shortlist=400)
    assert keys.tolist() == [[names[i] for i in row] for row in bdnn.exact_neighbors(x, x[:5], 2)]
    with pytest.raises(bdnn.MisuseError, match="rerank_keys"):
        index.search(x[:5], 2, rerank=x)


def test_another_model_is_refused(data, itq, tmp_path):
    bdnn.Index.build(tmp_path / "a.index", data[0], hasher=itq)
    with pytest.raises(bdnn.MisuseError):
        bdnn.Index.open(tmp_path / "a.index", hasher=bdnn.LSH(n_bits=16).fit(data[0]))


def test_misuse(codes, tmp_path):
    path = tmp_path / "a.index"
    index = bdnn.Index.build(path, codes)
    with pytest.raises(bdnn.MisuseError, match="exists"):
        bdnn.Index.build(path, codes)
    bdnn.Index.build(path, codes[:5], overwrite=True)
    assert len(index) == 200  # a snapshot
    for wrong, message in (({"k": 0}, "k=0"), ({"rank_by": "x"}, "rank_by='x'"), ({"rank_by": "asymmetric"}, "hasher"),
                           ({"radius": 2, "rerank": codes}, "radius cannot"), ({"shortlist": 3}, "shortlist needs"),
                           ({"plan": "x"}, "x")):
        with pytest.raises(bdnn.MisuseError, match=message):
            index.search(codes[:1], **wrong)
    for wrong, message in (({"ids": [1]}, "1 ids for 200"), ({"ids": [-1] * 200}, "negative"),
                           ({"ids": range(200), "names": ["x"] * 200}, "one of them"), ({"ids": [0.5] * 200}, "integers"),
                           ({"names": [1] * 200}, "strings"), ({"ids": [1] * 200}, "1"), ({"tables": "x"}, "tables='x'")):
        with pytest.raises(bdnn.MisuseError, match=message):
            bdnn.Index.build(None, codes, **wrong)
    with pytest.raises(bdnn.MisuseError, match="in memory"):
        bdnn.Index.build(None, codes).add(codes)


def damage_a_code(path):
    """Changes a byte that opening does not look at, but the checksums do."""
    sound = path.read_bytes()
    for place in range(len(sound) // 4, len(sound), 13):
        path.write_bytes(sound[:place] + bytes([sound[place] ^ 255]) + sound[place + 1:])
        try:
            index = bdnn.Index.open(path)
        except bdnn.Error:
            continue
        try:
            index.verify()
        except bdnn.Error:
            return
    raise AssertionError("no byte matters")


def test_files_that_are_gone_or_damaged(codes, tmp_path):
    path = tmp_path / "a.index"
    with bdnn.Index.build(path, codes) as index:
        path.unlink()
        assert index.search(codes[:1], 1)[1][0, 0] == 0  # the snapshot stays
        for change in (lambda: index.add(codes), lambda: index.remove([1]), index.compact, index.verify, index.reload):
            with pytest.raises(OSError, match="a.index"):
                change()
    with pytest.raises(bdnn.MisuseError, match="closed"):
        index.search(codes[:1])
    with pytest.raises(OSError, match="a.index"):
        bdnn.Index.open(path)
    bdnn.Index.build(path, codes)
    damage_a_code(path)
    with pytest.raises(bdnn.DamagedIndexError, match="a.index"):
        bdnn.Index.open(path).verify()
    salvaged = bdnn.Index.salvage(path)
    assert salvaged["kept"] + salvaged["lost"] == 200 and salvaged["damage"]
    path.write_bytes(b"junk")
    with pytest.raises(bdnn.FailureError):
        bdnn.Index.open(path)


def test_several_threads(codes, tmp_path):
    """Searches while the index changes: every answer is that of the old state or the new."""
    index = bdnn.Index.build(tmp_path / "a.index", codes[:100])
    wrong = []

    def search():
        for _ in range(30):
            keys, distances = index.search(codes[:10], 3)
            if (distances[:, 0] != 0).any() or (keys[:, 0] != np.arange(10)).any():
                wrong.append(keys)

    threads = [threading.Thread(target=search) for _ in range(3)]
    for thread in threads:
        thread.start()
    for i in range(5):
        index.add(codes[100 + i:101 + i])
    for thread in threads:
        thread.join()
    assert not wrong and len(index) == 105
