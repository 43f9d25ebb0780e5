"""Files of vectors, labels and codes, and datasets."""
import numpy as np
import pytest

import bdnn


@pytest.mark.parametrize("name", ["x.fvecs", "x.npy", "x.hdf5", "x.mat", "x.csv"])
def test_vectors_come_back(name, data, tmp_path):
    bdnn.save_vectors(data[0], tmp_path / name)
    loaded = bdnn.load_vectors(tmp_path / name)
    np.testing.assert_array_equal(loaded, data[0])
    if name == "x.npy":
        np.testing.assert_array_equal(np.load(tmp_path / name), data[0])


def test_elements_keep_their_type(tmp_path):
    for kind in ("u1", "i1", "f2", "i4", "u8", "f8"):
        x = np.arange(6, dtype=kind).reshape(2, 3)
        bdnn.save_vectors(x, tmp_path / "x.npy")
        assert bdnn.load_vectors(tmp_path / "x.npy").dtype == x.dtype
    bdnn.save_vectors(np.zeros((2, 3), np.uint8), tmp_path / "x.bvecs")
    assert bdnn.load_vectors(tmp_path / "x.bvecs").dtype == np.uint8
    with pytest.raises(bdnn.Error, match="0.5"):
        bdnn.save_vectors([[0.5]], tmp_path / "y.bvecs")
    assert not (tmp_path / "y.bvecs").exists()
    with pytest.raises(bdnn.MisuseError):
        bdnn.save_vectors([[0.5]], tmp_path / "y.unknown")


def test_csv_columns(tmp_path):
    (tmp_path / "x.csv").write_text("name,a,b,kind\nann,1,2,cat\nbob,3,4,dog\n")
    np.testing.assert_array_equal(bdnn.load_vectors(tmp_path / "x.csv", label_column="kind", id_column="name"), [[1, 2], [3, 4]])
    np.testing.assert_array_equal(bdnn.load_vectors(tmp_path / "x.csv", columns=["b"]), [[2], [4]])
    assert bdnn.load_labels(tmp_path / "x.csv", column="kind").tolist() == ["cat", "dog"]


def test_labels(tmp_path):
    bdnn.save_labels([3, -1, 7], tmp_path / "y.npy")
    assert bdnn.load_labels(tmp_path / "y.npy").tolist() == [3, -1, 7]
    (tmp_path / "y.txt").write_text("cat\ndog\n-1\ncat\n")
    names = bdnn.load_labels(tmp_path / "y.txt")
    assert names.tolist() == ["cat", "dog", "-1", "cat"]
    numbers = bdnn._arrays.as_labels(names, 4)
    assert numbers[0] == numbers[3] != numbers[1] and numbers[2] == -1


@pytest.mark.parametrize("name", ["c.codes", "c.npy", "c.bvecs"])
def test_codes(name, tmp_path):
    codes = np.random.default_rng(0).integers(16, size=(9, 2), dtype=np.uint8)
    bdnn.save_codes(codes, tmp_path / name, n_bits=12)
    loaded = bdnn.load_codes(tmp_path / name, n_bits=None if name == "c.codes" else 12)
    np.testing.assert_array_equal(loaded.codes, codes)
    assert loaded.n_bits == 12
    with pytest.raises(bdnn.Error, match="5 bits|40 bits|12"):
        bdnn.save_codes(codes, tmp_path / "d.codes", n_bits=40)


def test_missing_and_damaged_files(tmp_path):
    (tmp_path / "x.codes").write_bytes(b"junk")
    (tmp_path / "x.npy").write_bytes(b"\x93NUMPY")
    for call in (bdnn.load_vectors, bdnn.load_labels, bdnn.load_codes):
        for name in ("none.fvecs", "x.npy"):
            with pytest.raises(OSError, match=name):
                call(tmp_path / name)
    with pytest.raises(OSError):
        bdnn.load_codes(tmp_path / "x.codes", mmap=True)


def test_datasets(tmp_path, monkeypatch):
    digits = bdnn.datasets.fetch("digits")
    assert digits.train.dtype == np.uint8 and len(digits.train) == len(digits.train_labels)
    with pytest.raises(bdnn.MisuseError, match="no dataset 'x'; there are digits, mnist, fashion-mnist"):
        bdnn.datasets.fetch("x")
    monkeypatch.setitem(bdnn.datasets._FOLDERS, "mnist", [])
    with pytest.raises(OSError, match="mnist is not in"):
        bdnn.datasets.fetch("mnist", tmp_path)
    import gzip
    header = {"images": bytes([0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 2]), "labels": bytes([0, 0, 8, 1, 0, 0, 0, 2])}
    for part, file in bdnn.datasets._IDX.items():
        kind = "labels" if part.endswith("labels") else "images"
        content = header[kind] + bytes(range(4 if kind == "images" else 2))
        (tmp_path / (file + ".gz")).write_bytes(gzip.compress(content))
    data = bdnn.datasets.fetch("mnist", tmp_path)
    assert data.test.tolist() == [[0, 1], [2, 3]] and data.train_labels.tolist() == [0, 1]
