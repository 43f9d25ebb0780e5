"""Files of vectors, labels and codes, and datasets."""
import gzip
import hashlib

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


def small_idx_files(folder):
    """The four files of an MNIST of two images of two pixels, packed as its publisher does."""
    header = {"images": bytes([0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 2]), "labels": bytes([0, 0, 8, 1, 0, 0, 0, 2])}
    contents = {}
    for name in ("train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"):
        kind = name.split("-")[1]
        contents[name + ".gz"] = header[kind] + bytes(range(4 if kind == "images" else 2))
        (folder / (name + ".gz")).write_bytes(gzip.compress(contents[name + ".gz"]))
    return contents


def catalog_of(folder, contents, source):
    text = '[[dataset]]\nname = "tiny"\ntitle = "Tiny"\nabout = "two images"\nvectors = "2 + 2"\ndimension = 2\n'
    for name, content in contents.items():
        digest = hashlib.sha256(content).hexdigest()
        text += f'[[dataset.file]]\nname = "{name}"\nbytes = {len(content)}\nsha256 = "{digest}"\n'
    path = folder / "catalog.toml"
    path.write_text(text + f'[[dataset.source]]\nfolder = "{source}"\npackage = "tiny"\n')
    return path


def test_datasets(tmp_path, monkeypatch):
    digits = bdnn.datasets.fetch("digits")
    assert digits.train.dtype == np.uint8 and len(digits.train) == len(digits.train_labels)
    with pytest.raises(bdnn.MisuseError, match="unknown dataset 'x'; the datasets are mnist, fashion-mnist"):
        bdnn.datasets.fetch("x")
    with pytest.raises(bdnn.MisuseError, match="scikit-learn"):
        bdnn.datasets.fetch_files("digits")

    published = tmp_path / "published"
    published.mkdir()
    catalog = catalog_of(tmp_path, small_idx_files(published), published)
    monkeypatch.setenv("BDNN_DATA", str(tmp_path / "home"))
    data = bdnn.datasets.fetch("tiny", catalog=catalog)
    assert data.test.tolist() == [[0, 1], [2, 3]] and data.train_labels.tolist() == [0, 1]
    assert data.files[0] == str(tmp_path / "home" / "tiny" / "train-images-idx3-ubyte.gz")
    assert bdnn.datasets.names(catalog) == ["digits", "tiny"]

    # What was fetched stays; another file in its place is not taken for it.
    for file in published.iterdir():
        file.unlink()
    assert bdnn.datasets.fetch("tiny", catalog=catalog).train.tolist() == data.train.tolist()
    with open(data.files[1], "wb") as file:
        file.write(gzip.compress(bytes(10)))
    with pytest.raises(OSError, match="train-labels-idx1-ubyte"):
        bdnn.datasets.fetch("tiny", catalog=catalog)
    with pytest.raises(OSError, match="tiny"):
        bdnn.datasets.fetch("tiny", tmp_path / "elsewhere", catalog=catalog)
    assert not (tmp_path / "elsewhere").exists()


def test_a_dataset_of_batches_and_descriptors(tmp_path):
    batch = bytes([7]) + bytes(3072)
    contents = {"data_batch_1.bin": batch, "data_batch_2.bin": batch * 2, "test_batch.bin": batch}
    vector = np.arange(4, dtype=np.float32)
    contents["base.fvecs"] = np.int32(4).tobytes() + vector.tobytes()
    contents["groundtruth.ivecs"] = np.int32(2).tobytes() + np.int32([5, 6]).tobytes()
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content)
    data = bdnn.datasets.fetch("tiny", tmp_path / "home", catalog=catalog_of(tmp_path, contents, "/nowhere"), source=tmp_path)
    assert data.train.shape == (3, 3072) and data.train_labels.tolist() == [7, 7, 7] and data.test_labels.tolist() == [7]
    assert data.base.tolist() == [vector.tolist()] and data.neighbors.tolist() == [[5, 6]]
