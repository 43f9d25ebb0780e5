"""Arrays of every kind: the same codes as plain float32, or a clear exception."""
import subprocess
import sys
import textwrap

import numpy as np
import pytest
import scipy.sparse

import bdnn


class OnlyDLPack:
    """Speaks DLPack and nothing else, as a tensor of another library does."""

    def __init__(self, x):
        self._x = x

    def __dlpack__(self, **options):
        return self._x.__dlpack__(**options)

    def __dlpack_device__(self):
        return self._x.__dlpack_device__()


def read_only(x):
    x = x.copy()
    x.flags.writeable = False
    return x


def memory_mapped(x, folder):
    np.save(folder / "x.npy", x)
    return np.load(folder / "x.npy", mmap_mode="r")


def test_every_layout_gives_the_same_codes_and_model(data, itq, tmp_path):
    x = np.round(data[0] * 10)  # whole numbers, so that every type holds them
    hasher = bdnn.ITQ(n_bits=16).fit(x)
    codes = hasher.transform(x)
    wide = np.zeros((800, 48), np.float32)
    wide[::2, ::2] = x
    unaligned = np.frombuffer(b"\0" + x.tobytes(), np.uint8)[1:].view(np.float32).reshape(x.shape)
    assert not unaligned.flags.aligned
    same = {
        "read-only": read_only(x), "fortran": np.asfortranarray(x), "strided": wide[::2, ::2], "unaligned": unaligned,
        "reversed": x[::-1][::-1], "float64": x.astype(np.float64), "float16": x.astype(np.float16),
        "longdouble": x.astype(np.longdouble), "big-endian": x.astype(">f4"), "big-endian doubles": x.astype(">f8"),
        "int16": x.astype(np.int16), "int64": x.astype(np.int64), "big-endian int": x.astype(">i4"),
        "object": x.astype(object), "list": x.tolist(), "memory map": memory_mapped(x, tmp_path),
        "buffer": memoryview(x), "dlpack": OnlyDLPack(x),
    }
    for name, other in same.items():
        np.testing.assert_array_equal(hasher.transform(other), codes, err_msg=name)
        assert bdnn.ITQ(n_bits=16).fit(other).fingerprint_ == hasher.fingerprint_, name


def test_bytes_stay_bytes(data):
    x = np.clip(np.round(data[0] * 10 + 128), 0, 255)
    hasher = bdnn.ITQ(n_bits=16).fit(x.astype(np.uint8))
    assert hasher.fingerprint_ == bdnn.ITQ(n_bits=16).fit(x).fingerprint_
    np.testing.assert_array_equal(hasher.transform(x.astype(np.uint8)), hasher.transform(x))
    mask = x > 128
    np.testing.assert_array_equal(hasher.transform(mask), hasher.transform(mask.astype(np.float32)))


def test_blocks_of_what_must_be_copied(data, itq, monkeypatch):
    monkeypatch.setattr(bdnn._arrays, "BLOCK_BYTES", 1000)
    x = data[0]
    np.testing.assert_array_equal(itq.transform(x.astype(">f4")), itq.transform(x))
    assert bdnn.ITQ(n_bits=16).fit(x.astype(np.float64)).fingerprint_ == itq.fingerprint_
    bad = x.astype(">f8")
    bad[300, 5] = np.nan
    with pytest.raises(ValueError, match="contains NaN: row 300, column 5"):
        itq.transform(bad)


BAD = {
    "one dimension": (np.zeros(24, np.float32), ValueError, "Expected 2D array"),
    "three dimensions": (np.zeros((2, 3, 4)), ValueError, "Expected 2D array"),
    "a number": (3.0, ValueError, "Expected 2D array"),
    "no rows": (np.zeros((0, 24)), ValueError, r"0 sample\(s\)"),
    "no columns": (np.zeros((5, 0)), ValueError, r"0 feature\(s\)"),
    "complex": (np.zeros((5, 24), complex), ValueError, "Complex data not supported"),
    "text": (np.full((5, 24), "x"), ValueError, "dtype <U1"),
    "dates": (np.zeros((5, 24), "M8[s]"), ValueError, "dtype datetime64"),
    "records": (np.zeros((5, 24), [("a", "f4")]), ValueError, "dtype"),
    "objects": (np.full((5, 24), {}, object), TypeError, "not numbers"),
    "words": (np.full((5, 24), "x", object), ValueError, "not numbers"),
    "ragged": ([[1.0, 2.0], [1.0]], ValueError, "not a table|not numbers"),
    "None": (None, ValueError, "Expected 2D|not numbers"),
    "sparse": (scipy.sparse.eye(24, format="csr"), ValueError, "sparse matrix"),
    "masked": (np.ma.masked_less(np.zeros((5, 24)), 1), ValueError, "masked"),
    "NaN": (np.full((5, 24), np.nan), ValueError, "contains NaN: row 0, column 0"),
    "infinity": (np.full((5, 24), -np.inf, np.float32), ValueError, "contains infinity"),
    "too large": (np.full((5, 24), 1e300), ValueError, r"too large for dtype\('float32'\) \(1e\+300\)"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_vectors_raise(name, data, itq):
    bad, kind, message = BAD[name]
    for call in (lambda: bdnn.ITQ(n_bits=8).fit(bad), lambda: itq.transform(bad), lambda: itq.decision_function(bad),
                 lambda: itq.score(bad), lambda: bdnn.exact_neighbors(bad, data[0], 1),
                 lambda: itq.refined_codes(bad)):
        with pytest.raises(kind, match=message):
            call()


def test_the_wrong_number_of_features(itq):
    with pytest.raises(ValueError, match="X has 23 features, but ITQ is expecting 24 features as input"):
        itq.transform(np.zeros((3, 23), np.float32))


def test_bad_codes_raise(itq):
    search = bdnn.BinaryNeighbors(1).fit(np.zeros((5, 2), np.uint8))
    for bad, message in ((np.zeros((3, 2)), "dtype float64"), (np.zeros((3, 2), np.int8), "dtype int8"),
                         (np.zeros((3, 3), np.uint8), "3 byte"), (np.zeros(2, np.uint8), "Expected 2D"),
                         (scipy.sparse.eye(2, format="csr"), "sparse"), (np.zeros((3, 2), object), "dtype object"),
                         ([[1, 2]], "dtype int64")):
        for call in (search.kneighbors, search.radius_neighbors, itq.inverse_transform):
            with pytest.raises(ValueError, match=message):
                call(bad)
    for bad in (np.zeros((0, 2), np.uint8), np.zeros((3, 0), np.uint8)):
        with pytest.raises(ValueError):
            bdnn.BinaryNeighbors().fit(bad)
    with pytest.raises(ValueError, match="beyond its length of 12"):
        bdnn.BinaryNeighbors(1, n_bits=12).fit(np.full((2, 2), 255, np.uint8))
    # Layouts that can be read are.
    strided = np.zeros((10, 4), np.uint8)[::2, ::2]
    assert search.kneighbors(strided)[1].shape == (5, 1)
    assert search.kneighbors(read_only(np.zeros((1, 2), np.uint8)))[1].shape == (1, 1)


def test_arrays_of_the_library_live_as_long_as_needed(tmp_path):
    bdnn.save_vectors(np.arange(12, dtype=np.float32).reshape(4, 3), tmp_path / "x.fvecs")
    row = bdnn.load_vectors(tmp_path / "x.fvecs")[1:2].T
    import gc
    gc.collect()
    np.testing.assert_array_equal(row.ravel(), [3, 4, 5])
    bdnn.save_codes(np.ones((4, 2), np.uint8), tmp_path / "x.codes")
    mapped = bdnn.load_codes(tmp_path / "x.codes", mmap=True).codes
    with pytest.raises(ValueError, match="read-only"):
        mapped[0] = 3
    (tmp_path / "x.codes").unlink()
    assert mapped.sum() == 8


def peak_growth(setup, work):
    """MB by which the peak memory of a fresh process grows through `work`."""
    peak = "resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024"
    program = "\n".join([f"import resource, sys; sys.path[:0] = {sys.path!r}; import numpy as np, bdnn", textwrap.dedent(setup),
                         f"before = {peak}", textwrap.dedent(work), f"print({peak} - before)"])
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return float(done.stdout)


def test_memory_maps_of_more_than_the_memory(tmp_path):
    """Two files of 400 MB, of which a process with 200 MB for itself reads every byte."""
    for name in ("little", "big"):
        with open(tmp_path / name, "wb") as file:
            file.truncate(400 * 2 ** 20)
    peak_growth(f"""
        h = bdnn.LSH(n_bits=8, n_jobs=1, decoder=False).fit(np.eye(1024, dtype=np.float32))
        used = int(open("/proc/self/statm").read().split()[5]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_DATA, (used + 200 * 2 ** 20,) * 2)""", f"""
        little, big = (np.memmap({str(tmp_path)!r} + name, kind, "r", shape=(100 * 1024, 1024))
                       for name, kind in (("/little", "<f4"), ("/big", ">f4")))
        assert len(h.transform(little)) == len(h.transform(big)) == 100 * 1024
        try:
            np.array(little)
        except MemoryError: pass
        else: raise SystemExit("the limit does not hold")""")


def test_encoding_and_training_do_not_copy_their_input():
    """The inputs have 100 MB each."""
    assert peak_growth("""
            make = lambda kind, rows: np.resize(np.random.default_rng(0).integers(99, size=(5000, 256)).astype(kind), (rows, 256))
            inputs = [make(np.float32, 100000), make(np.uint8, 400000), make(np.float64, 50000)]
            h = bdnn.ITQ(n_bits=32, decoder=False).fit(inputs[0][:5000])
            h.transform(inputs[0][:5000])""", """
            for x in inputs: h.transform(x)
            bdnn.LSH(n_bits=16, decoder=False).fit(inputs[0])""") < 30
