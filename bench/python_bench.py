"""transform() and kneighbors() in Python beside the C++ calls behind them, Faiss and scikit-learn, in one process.

    tools/setup build python bench && tools/build bench -DBDNN_BUILD_PYTHON=ON
    PYTHONPATH=build/bench/python /usr/bin/python3 bench/python_bench.py build/bench/bench/libpython_rival.so

Rivals take turns; the best of the rounds counts. Memory is the growth of the peak in a process of its own.
"""
import ctypes
import os
import subprocess
import sys
import tempfile
import time

import numpy as np

import bdnn

ROUNDS = 15


def best_of(rivals, rounds=ROUNDS):
    """The best (seconds, CPU seconds) of each rival."""
    best = {name: (float("inf"), float("inf")) for name in rivals}
    for _ in range(rounds):
        for name, work in rivals.items():
            start, cpu = time.perf_counter(), time.process_time()
            work()
            seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
            best[name] = (min(best[name][0], seconds), min(best[name][1], cpu))
    return best


def show(title, best, reference):
    print(title)
    for name, (seconds, cpu) in best.items():
        print(f"  {name:<44} {1e3 * seconds:10.2f} ms {seconds / best[reference][0]:8.2f} {cpu / best[reference][1]:8.2f}")


def library(path):
    rival = ctypes.CDLL(os.path.abspath(path))
    return rival


def pointer(array):
    return ctypes.c_void_p(array.ctypes.data)


def size(number):
    return ctypes.c_size_t(number)


def encoding(rival, jobs):
    rng = np.random.default_rng(0)
    floats = rng.normal(size=(60000, 784)).astype(np.float32)
    bytes_ = rng.integers(256, size=(60000, 784), dtype=np.uint8)
    hasher = bdnn.ITQ(n_bits=64, n_jobs=jobs, decoder=False).fit(floats[:10000])
    with tempfile.TemporaryDirectory() as folder:
        hasher.save(os.path.join(folder, "m.bdnn"))
        rival.prepare_encoder(os.path.join(folder, "m.bdnn").encode(), jobs)
    for name, array, call in (("float32", floats, rival.encode_floats), ("uint8", bytes_, rival.encode_bytes)):
        def cpp():
            call(pointer(array), size(784), size(60000))

        def python():
            hasher.transform(array)
        show(f"60,000 x 784 {name} to 64 bits, {jobs} thread(s)",
             best_of({"C++ Encoder::encode": cpp, "Python transform": python}), "C++ Encoder::encode")


def searching(rival, jobs):
    rng = np.random.default_rng(1)
    codes = rng.integers(256, size=(1000000, 8), dtype=np.uint8)
    queries = rng.integers(256, size=(200, 8), dtype=np.uint8)
    k = 10
    rival.prepare_search(pointer(codes), size(64), size(len(codes)), jobs)
    neighbors = bdnn.BinaryNeighbors(k, n_jobs=jobs).fit(codes)
    rivals = {
        "C++ Searcher::search": lambda: rival.search_codes(pointer(queries), size(64), size(len(queries)), size(k)),
        "Python kneighbors": lambda: neighbors.kneighbors(queries),
    }
    try:
        import faiss
    except ImportError:
        print("python3-faiss is not installed")
    else:
        faiss.omp_set_num_threads(jobs)
        flat = faiss.IndexBinaryFlat(64)
        flat.add(codes)
        rivals[f"Faiss {faiss.__version__} IndexBinaryFlat.search"] = lambda: flat.search(queries, k)
    best = best_of(rivals)
    from sklearn.neighbors import NearestNeighbors

    some = 2  # queries; it takes long
    bits = np.unpackbits(codes, axis=1).astype(bool)
    theirs = NearestNeighbors(n_neighbors=k, metric="hamming", algorithm="brute", n_jobs=jobs).fit(bits)
    asked = np.unpackbits(queries[:some], axis=1).astype(bool)
    slow = best_of({"": lambda: theirs.kneighbors(asked)}, 2)[""]
    best[f"scikit-learn NearestNeighbors (from {some} queries)"] = tuple(seconds * len(queries) / some for seconds in slow)
    show(f"{len(queries)} queries among 1,000,000 codes of 64 bits, k = {k}, {jobs} thread(s)", best, "C++ Searcher::search")


def memory():
    program = """
import resource, numpy as np, bdnn
x = np.ones((60000, 784), {kind})
hasher = bdnn.ITQ(n_bits=64, decoder=False).fit(np.random.default_rng(0).normal(size=(2000, 784)).astype(np.float32))
hasher.transform(x[:4096])
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
codes = hasher.transform(x)
after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(f"  {{x.dtype}}: input {{x.nbytes / 1e6:.1f}} MB, codes {{codes.nbytes / 1e6:.1f}} MB, peak grows by {{(after - before) * 1024 / 1e6:.1f}} MB")
"""
    print("memory of transform, 60,000 x 784")
    for kind in ("np.float32", "np.uint8", "np.float64"):
        done = subprocess.run([sys.executable, "-c", program.format(kind=kind)], capture_output=True, text=True, check=True)
        print(done.stdout, end="")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    rival = library(sys.argv[1])
    print(f"bdnn {bdnn.__version__}, {bdnn.backend()['simd']}; best of {ROUNDS}; last columns: ratios to the C++ call, of time and of CPU time")
    for jobs in (1, 2):
        encoding(rival, jobs)
    for jobs in (1, 2):
        searching(rival, jobs)
    memory()
