"""From vectors of any format to codes and neighbours."""

import json
import struct
import unittest

import numpy as np

from program import CommandLine, SANITIZED, read, write_fvecs


class TheWayOfTheData(CommandLine):
    def test_codes_are_what_packbits_makes_of_the_signs(self):
        for bits in (1, 7, 8, 12, 19):
            x = self.data()
            self.ok("train", "--method", "lsh", "--bits", bits, "--data", self.path("x.npy"), "--model", self.path("m.bdnn"))
            self.ok("encode", "--model", self.path("m.bdnn"), "--data", self.path("x.npy"), "--out", self.path("c.npy"))
            # The model is in the safetensors layout: NumPy reads it without bdnn.
            raw = read(self.path("m.bdnn"))
            (length,) = struct.unpack("<Q", raw[:8])
            header = json.loads(raw[8 : 8 + length])
            tensors = {}
            for name, info in header.items():
                if name == "__metadata__":
                    self.assertTrue(all(isinstance(v, str) for v in info.values()))
                    continue
                begin, end = info["data_offsets"]
                flat = np.frombuffer(raw[8 + length + begin : 8 + length + end], dtype="<f4")
                tensors[name] = flat.reshape(info["shape"])
            h = x.astype(np.float64) @ tensors["layers.0.weight"].T.astype(np.float64) + tensors["layers.0.bias"]
            expected = np.packbits(h >= 0, axis=1, bitorder="little")
            self.assertGreater(np.abs(h).min(), 1e-4 / 100)
            np.testing.assert_array_equal(np.load(self.path("c.npy")), expected)

    def test_codes_from_numpy_are_searched(self):
        bits = self.rng.integers(0, 2, size=(50, 24), dtype=np.uint8)
        np.save(self.path("c.npy"), np.packbits(bits, axis=1, bitorder="little"))
        out = json.loads(self.ok("search", "--database", self.path("c.npy"), "--queries", self.path("c.npy"), "-k", 50, "--json"))
        for result in out["results"]:
            distances = (bits != bits[result["query"]]).sum(axis=1)
            order = np.lexsort((np.arange(50), distances))
            self.assertEqual(result["ids"], order.tolist())
            self.assertEqual(result["distances"], distances[order].tolist())

    def test_threads_change_nothing(self):
        self.data(rows=9000)
        for threads in (1, 2, 3):
            self.train("x.npy", f"m{threads}.bdnn", "--threads", str(threads))
            self.ok("encode", "--model", self.path(f"m{threads}.bdnn"), "--data", self.path("x.npy"),
                    "--out", self.path(f"c{threads}.codes"), "--threads", threads)
        for threads in (2, 3):
            self.assertEqual(read(self.path("m1.bdnn")), read(self.path(f"m{threads}.bdnn")))
            self.assertEqual(read(self.path("c1.codes")), read(self.path(f"c{threads}.codes")))

    def test_the_seed_decides(self):
        self.data()
        self.train("x.npy", "a.bdnn", "--seed", "5")
        self.train("x.npy", "b.bdnn", "--seed", "5")
        self.train("x.npy", "c.bdnn", "--seed", "6")
        self.assertEqual(read(self.path("a.bdnn")), read(self.path("b.bdnn")))
        self.assertNotEqual(read(self.path("a.bdnn")), read(self.path("c.bdnn")))

    def test_every_format_leads_to_the_same_codes(self):
        x = self.rng.integers(0, 256, size=(300, 12)).astype(np.uint8)
        np.save(self.path("x.npy"), x)
        self.train("x.npy")
        self.ok("encode", "--model", self.path("m.bdnn"), "--data", self.path("x.npy"), "--out", self.path("expected.npy"))
        expected = np.load(self.path("expected.npy"))
        np.save(self.path("fortran.npy"), np.asfortranarray(x.astype(np.float64)))
        np.save(self.path("half.npy"), x.astype(np.float16))
        names = ["fortran.npy", "half.npy"]
        for name in ("x.fvecs", "x.ivecs", "x.bvecs", "x.idx", "x.idx.gz", "x.csv", "x.tsv", "x.hdf5", "x.mat", "x.mat73"):
            self.ok("convert", self.path("x.npy"), self.path(name))
            info = json.loads(self.ok("inspect", self.path(name), "--json"))
            self.assertEqual((info["count"], info["dimension"], info["most"]), (300, 12, 255.0), name)
            names.append(name)
        for name in names:
            self.ok("encode", "--model", self.path("m.bdnn"), "--data", self.path(name), "--out", self.path("c.npy"))
            np.testing.assert_array_equal(np.load(self.path("c.npy")), expected, name)

    def test_cifar10_images_and_labels(self):
        images = self.rng.integers(0, 256, size=(30, 3072)).astype(np.uint8)
        labels = self.rng.integers(0, 10, size=30).astype(np.uint8)
        np.hstack([labels[:, None], images]).tofile(self.path("data_batch_1.bin"))
        self.ok("convert", self.path("data_batch_1.bin"), self.path("images.npy"))
        self.ok("convert", "--as-labels", self.path("data_batch_1.bin"), self.path("labels.npy"))
        np.testing.assert_array_equal(np.load(self.path("images.npy")), images)
        np.testing.assert_array_equal(np.load(self.path("labels.npy"))[:, 0], labels)
        self.ok("convert", "--labels", self.path("labels.npy"), self.path("images.npy"), self.path("back.bin"))
        self.assertEqual(read(self.path("back.bin")), read(self.path("data_batch_1.bin")))

    def test_search_encodes_what_is_not_codes_yet(self):
        self.data()
        self.train("x.npy")
        self.ok("encode", "--model", self.path("m.bdnn"), "--data", self.path("x.npy"), "--out", self.path("x.codes"))
        common = ["--queries", self.path("x.npy"), "--model", self.path("m.bdnn"), "-k", 3, "--json", "--database"]
        results = lambda database: json.loads(self.ok("search", *common, self.path(database)))["results"]
        self.assertEqual(results("x.codes"), results("x.npy"))
        np.save(self.path("labels.npy"), np.arange(400))
        text = self.ok("search", "--model", self.path("m.bdnn"), "--database", self.path("x.npy"), "--queries", self.path("x.npy"),
                       "--first", 2, "-k", 2, "--database-labels", self.path("labels.npy"), "--query-labels", self.path("labels.npy"))
        lines = [line.split("\t") for line in text.splitlines()]
        self.assertEqual(lines[0], ["query", "query label", "id", "distance", "label"])
        self.assertEqual(len(lines), 5)
        for line in lines[1:]:
            self.assertEqual(line[0], line[1])
            self.assertEqual(line[2], line[4])

    def test_the_version_names_the_commit(self):
        self.assertRegex(self.ok("--version"), r"^bdnn \d+\.\d+\.\d+\ncommit: ([0-9a-f]{12}(-dirty)?|unknown)\n")

    def test_a_forced_simd_target_is_used(self):
        self.assertIn("SIMD target: SCALAR", self.ok("--version", env={"BDNN_TARGET": "SCALAR"}))
        self.fails(2, "BDNN_TARGET=MMX is not available; this machine and build have", "--version", env={"BDNN_TARGET": "MMX"})

    def test_help_of_every_verb_has_an_example(self):
        for verb in ("train", "encode", "index", "search", "evaluate", "dataset", "inspect", "convert", "methods"):
            self.assertIn(f"  bdnn {verb}", self.ok(verb, "--help"))
        listed = self.ok("methods")
        for method in ("lsh", "pca", "pca-rr", "itq"):
            self.assertIn(method, listed)
        self.assertLess(listed.index("Unsupervised"), listed.index("itq"))
        self.assertLess(listed.index("Supervised"), listed.index("sh-bdnn"))
        self.assertLess(len(listed.splitlines()), 40)
        self.assertIn("--set rotations=50", self.ok("methods", "itq"))
        self.assertEqual([m["name"] for m in json.loads(self.ok("methods", "itq", "lsh", "--json"))["methods"]], ["itq", "lsh"])
        self.fails(2, "unknown method 'itqq'", "methods", "itqq")

    def test_encoding_needs_no_more_memory_for_a_longer_file(self):
        if SANITIZED:
            self.skipTest("a sanitizer's own memory drowns ours")
        peaks = []
        for rows in (20_000, 200_000):
            write_fvecs(self.path("x.fvecs"), np.zeros((rows, 200)) + self.rng.normal(size=200))
            if rows == 20_000:
                np.save(self.path("some.npy"), self.rng.normal(size=(100, 200)).astype(np.float32))
                self.train("some.npy")
            out = self.ok("encode", "--model", self.path("m.bdnn"), "--data", self.path("x.fvecs"),
                          "--out", self.path("x.codes"), "--json")
            peaks.append(json.loads(out)["peak_memory_bytes"])
        self.assertLess(peaks[1], peaks[0] + 10e6)  # the longer file is 144 MB longer


if __name__ == "__main__":
    unittest.main(verbosity=2)
