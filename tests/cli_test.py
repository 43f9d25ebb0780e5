"""The program as its users meet it: verbs, files, messages, exit statuses. Run as: cli_test.py PATH_TO_BDNN"""

import json
import os
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest

import numpy as np

BDNN = None
SANITIZED = False


def run(*arguments, env=None):
    environment = dict(os.environ, **(env or {}))
    return subprocess.run([BDNN, *map(str, arguments)], capture_output=True, text=True, env=environment, timeout=600)


def write_fvecs(path, rows):
    rows = np.ascontiguousarray(rows, dtype="<f4")
    head = np.full((len(rows), 1), rows.shape[1], dtype="<i4").view("<f4")
    np.hstack([head, rows]).tofile(path)


def read(path):
    with open(path, "rb") as file:
        return file.read()


def write(path, content):
    with open(path, "wb") as file:
        file.write(content)


class CommandLine(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="bdnn cli ")  # with a space, on purpose
        self.addCleanup(self.folder.cleanup)
        self.rng = np.random.default_rng(1)

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def ok(self, *arguments, env=None):
        result = run(*arguments, env=env)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout

    def fails(self, status, text, *arguments, env=None):
        before = sorted(os.listdir(self.folder.name))
        result = run(*arguments, env=env)
        self.assertEqual(result.returncode, status, result.stdout + result.stderr)
        self.assertIn(text, result.stderr)
        self.assertEqual(sorted(os.listdir(self.folder.name)), before, "a failure left something behind")
        return result

    def train(self, data, model="m.bdnn", *more):
        self.ok("train", "--method", "itq", "--bits", 8, "--data", self.path(data), "--model", self.path(model), *more)

    def data(self, name="x.npy", rows=400, dimension=20, dtype=np.float32):
        x = self.rng.normal(size=(rows, dimension)).astype(dtype)
        np.save(self.path(name), x)
        return x


class BinaryNetworks(CommandLine):
    def clouds(self, rows=3000, dimension=16):
        labels = self.rng.integers(0, 5, size=rows)
        x = 3 * self.rng.normal(size=(5, dimension))[labels] + self.rng.normal(size=(rows, dimension))
        np.save(self.path("x.npy"), x.astype(np.float32))
        np.save(self.path("y.npy"), labels.astype(np.int64))

    def arguments(self, method, model, *more):
        labels = ["--labels", self.path("y.npy")] if method == "sh-bdnn" else []
        few = ["--set", "iterations=3", "--set", "first_epochs=4", "--set", "epochs=3", "--set", "batch=50"]
        return ["train", "--method", method, "--bits", 8, "--data", self.path("x.npy"), "--model", self.path(model), *labels, *few, *more]

    def test_rounds_are_shown_and_logged(self):
        self.clouds()
        out = self.ok(*self.arguments("uh-bdnn", "m.bdnn", "--log", self.path("log")))
        self.assertIn("reconstruction", out)
        self.assertIn("kept, held-out mAP", out)
        with open(self.path("log")) as file:
            rounds = [json.loads(line) for line in file]
        self.assertEqual([r["iteration"] for r in rounds], [0, 1, 2, 3])
        for key in ("objective", "reconstruction", "weights", "binary", "independence", "balance", "flipped", "differing", "held_out_mAP", "seconds"):
            self.assertIn(key, rounds[0])
        self.assertFalse(os.path.exists(self.path("m.bdnn.checkpoint")), "a checkpoint outlived its training")
        self.assertIn("held-out mAP", self.ok("inspect", self.path("m.bdnn")))

    def test_killed_at_any_moment_it_resumes_to_the_same_model(self):
        self.clouds()
        for method in ("uh-bdnn", "sh-bdnn"):
            self.ok(*self.arguments(method, "whole.bdnn"))
            expected = read(self.path("whole.bdnn"))
            for _ in range(2):
                killed = 0
                while True:
                    process = subprocess.Popen([BDNN, *map(str, self.arguments(method, "m.bdnn", "--resume"))], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                    try:
                        process.wait(timeout=self.rng.uniform(0.02, 0.3) if killed < 20 else 600)
                    except subprocess.TimeoutExpired:
                        process.kill()
                        process.wait()
                        killed += 1
                        continue
                    break
                self.assertEqual(process.returncode, 0)
                self.assertEqual(read(self.path("m.bdnn")), expected)

    def test_other_options_do_not_resume(self):
        self.clouds()
        first = subprocess.Popen([BDNN, *map(str, self.arguments("uh-bdnn", "m.bdnn", "--set", "iterations=100000"))], stdout=subprocess.DEVNULL)
        while not os.path.exists(self.path("m.bdnn.checkpoint")):
            time.sleep(0.01)
        first.kill()
        first.wait()
        self.fails(2, "is the checkpoint of another training", *self.arguments("uh-bdnn", "m.bdnn", "--resume", "--set", "lambda2=1"))

    def test_what_leaves_no_checkpoint_does_not_resume_nor_remove_one(self):
        self.clouds()
        self.fails(2, "itq leaves no checkpoints", "train", "--method", "itq", "--bits", 8, "--data", self.path("x.npy"), "--model", self.path("m.bdnn"), "--resume")
        self.fails(2, "--no-checkpoint forbids it", *self.arguments("uh-bdnn", "m.bdnn", "--resume", "--no-checkpoint"))
        self.fails(2, "a pipe or a device", *self.arguments("uh-bdnn", "/dev/stdout", "--resume"))
        write(self.path("m.bdnn.checkpoint"), b"somebody's")
        self.train("x.npy")
        self.assertEqual(read(self.path("m.bdnn.checkpoint")), b"somebody's")

    def test_a_log_that_cannot_be_written_is_an_error(self):
        self.clouds()
        self.fails(1, "/dev/full: cannot be written", *self.arguments("uh-bdnn", "m.bdnn", "--no-checkpoint", "--log", "/dev/full"))

    def test_labels_are_checked(self):
        self.clouds()
        np.save(self.path("y.npy"), np.zeros(2999, dtype=np.int64))
        self.fails(2, "2,999 labels for 3,000 vectors", *self.arguments("sh-bdnn", "m.bdnn"))
        np.save(self.path("y.npy"), np.zeros(3000, dtype=np.int64))
        self.fails(2, "all labelled samples have the same label", *self.arguments("sh-bdnn", "m.bdnn"))
        np.save(self.path("y.npy"), np.zeros((3000, 2), dtype=np.int64))
        self.fails(1, "one", *self.arguments("sh-bdnn", "m.bdnn"))

    def test_labels_may_be_names(self):
        self.clouds()
        labels = np.load(self.path("y.npy"))
        names = ["ant", "sea lion, young", "cat", "dog", "-1"]
        write(self.path("y.csv"), "".join(f'"{names[y]}"\n' if "," in names[y] else f"{names[y]}\n" for y in labels).encode())
        self.ok("train", "--method", "sh-bdnn", "--bits", 8, "--data", self.path("x.npy"), "--labels", self.path("y.csv"),
                "--model", self.path("m.bdnn"), "--no-checkpoint")
        common = ["--model", self.path("m.bdnn"), "--database", self.path("x.npy"), "--queries", self.path("x.npy"),
                  "--database-labels", self.path("y.csv"), "--query-labels", self.path("y.csv"), "--json"]
        self.assertGreater(json.loads(self.ok("evaluate", *common))["mAP"], 0.8)
        for entry in json.loads(self.ok("search", *common, "--first", 20, "-k", 3))["results"]:
            name = names[labels[entry["query"]]]
            self.assertEqual(entry["query_label"], -1 if name == "-1" else name)
            self.assertEqual([-1 if y == 4 else names[y] for y in labels[entry["ids"]]], entry["labels"])


class Reconstruction(CommandLine):
    def setUp(self):
        super().setUp()
        rng = np.random.default_rng(1)
        mix = rng.normal(size=(8, 20))
        x = (rng.normal(size=(2020, 8)) @ mix + 0.1 * rng.normal(size=(2020, 20))).astype(np.float32)
        self.x, self.q = x[:2000], x[2000:]
        np.save(self.path("x.npy"), self.x)
        np.save(self.path("q.npy"), self.q)
        self.ok("train", "--method", "uh-bdnn", "--profile", "recall", "--bits", "16", "--data", self.path("x.npy"),
                "--model", self.path("m.bdnn"))

    def encode(self, name, *more):
        self.ok("encode", "--model", self.path("m.bdnn"), "--data", self.path("x.npy"), "--out", self.path(name), *more)

    def decode(self, name):
        self.ok("decode", "--model", self.path("m.bdnn"), "--codes", self.path(name), "--out", self.path("back.npy"))
        return np.load(self.path("back.npy"))

    def test_decoding_rebuilds_and_reports_the_error(self):
        errors = []
        for more in ([], ["--codes", "refined", "--local-search", "0"], ["--codes", "refined"]):
            self.encode("x.codes", *more)
            back = self.decode("x.codes")
            self.assertEqual(back.shape, self.x.shape)
            report = json.loads(self.ok("decode", "--model", self.path("m.bdnn"), "--codes", self.path("x.codes"),
                                        "--data", self.path("x.npy"), "--json"))
            naive = np.square(self.x.astype(np.float64) - back).sum(axis=1).mean()
            self.assertAlmostEqual(report["error"] / naive, 1, places=5)
            variance = np.square(self.x - self.x.mean(axis=0, dtype=np.float64)).sum(axis=1).mean()
            self.assertAlmostEqual(report["variance"] / variance, 1, places=5)
            errors.append(report["error"])
        self.assertLess(errors[1], errors[0])
        self.assertLess(errors[2], errors[1])
        self.assertIn("refined, 8 rounds", self.ok("inspect", "--brief", self.path("x.codes")))

    def test_refined_codes_do_not_depend_on_threads(self):
        self.encode("a.codes", "--codes", "refined", "--threads", "1")
        self.encode("b.codes", "--codes", "refined", "--threads", "3")
        self.assertEqual(read(self.path("a.codes")), read(self.path("b.codes")))

    def test_search_ranks_by_the_rebuilt_vectors(self):
        self.encode("x.codes", "--codes", "refined")
        back = self.decode("x.codes").astype(np.float64)
        naive = np.square(self.q[:, None, :] - back[None]).sum(axis=2)
        self.ok("index", "build", "--index", self.path("x.index"), "--data", self.path("x.codes"))
        for source in (["--database", self.path("x.codes")],
                       ["--database", self.path("x.codes"), "--shortlist", "2000"],
                       ["--index", self.path("x.index"), "--shortlist", "2000"],
                       ["--database", self.path("x.npy"), "--codes", "refined"]):
            out = json.loads(self.ok("search", "--model", self.path("m.bdnn"), *source, "--queries", self.path("q.npy"),
                                     "-k", "5", "--rank", "reconstruction", "--json"))
            for q, answer in enumerate(out["results"]):
                np.testing.assert_allclose(answer["scores"], np.sort(naive[q])[:5], rtol=1e-4)
                np.testing.assert_allclose(naive[q][answer["ids"]], answer["scores"], rtol=1e-4)

    def test_evaluate_finds_more_by_reconstruction(self):
        self.ok("train", "--method", "itq", "--bits", "16", "--data", self.path("x.npy"), "--model", self.path("i.bdnn"))

        def found(*more):
            return json.loads(self.ok("evaluate", "--model", self.path("i.bdnn"), "--database", self.path("x.npy"),
                                      "--queries", self.path("q.npy"), "--neighbours", "10", "--json", *more))["mAP"]
        hamming = found()
        self.assertGreater(found("--rank", "asymmetric"), hamming)
        hash_codes = found("--rank", "reconstruction")
        self.assertGreater(hash_codes, hamming)
        self.assertGreater(found("--rank", "reconstruction", "--codes", "refined"), hash_codes)

    def test_what_does_not_fit_is_refused(self):
        self.encode("x.codes")
        model, codes, queries = self.path("m.bdnn"), self.path("x.codes"), self.path("q.npy")
        search = ("search", "--database", codes, "--queries")
        self.fails(2, "needs --model", *search, queries, "--rank", "reconstruction")
        self.fails(2, "takes queries as they are", *search, codes, "--model", model, "--rank", "asymmetric")
        self.fails(2, "there is no ranking", *search, queries, "--model", model, "--rank", "cosine")
        self.fails(2, "neither --radius", *search, queries, "--model", model, "--rank", "asymmetric", "--radius", "2")
        self.fails(2, "give one of them", *search, queries, "--model", model, "--shortlist", "5")
        self.fails(2, "--out", "decode", "--model", model, "--codes", codes)
        self.fails(2, "vectors of dimension", "decode", "--model", model, "--codes", codes, "--data", queries)
        self.ok("train", "--method", "itq", "--bits", "16", "--data", self.path("x.npy"), "--model",
                self.path("n.bdnn"), "--no-decoder")
        self.fails(2, "has no decoder", "encode", "--model", self.path("n.bdnn"), "--data", self.path("x.npy"),
                   "--out", self.path("n.codes"), "--codes", "refined")
        self.ok("train", "--method", "itq", "--bits", "16", "--data", self.path("x.npy"), "--model", self.path("i.bdnn"))
        self.fails(2, "made by the model", "decode", "--model", self.path("i.bdnn"), "--codes", codes, "--out",
                   self.path("y.npy"))
        self.assertFalse(os.path.exists(self.path("y.npy")))
        content = read(codes)
        write(self.path("bad.codes"), content[:-1] + bytes([content[-1] ^ 1]))
        self.fails(1, "checksum", "decode", "--model", model, "--codes", self.path("bad.codes"), "--out",
                   self.path("y.npy"))
        write(self.path("cut.codes"), content[:-1])
        self.fails(1, "truncated", "decode", "--model", model, "--codes", self.path("cut.codes"), "--out",
                   self.path("y.npy"))
        x = self.x.copy()
        x[7, 3] = np.nan
        np.save(self.path("nan.npy"), x)
        self.fails(1, "not finite", "decode", "--model", model, "--codes", codes, "--data", self.path("nan.npy"),
                   "--out", self.path("y.npy"))
        self.fails(1, "only finite", "encode", "--model", model, "--data",
                   self.path("nan.npy"), "--out", self.path("y.codes"), "--codes", "refined")
        self.fails(1, "only finite", "search", "--model", model, "--database", codes, "--queries",
                   self.path("nan.npy"), "--rank", "reconstruction")


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

    def test_a_forced_simd_target_is_used(self):
        self.assertIn("SIMD target: SCALAR", self.ok("--version", env={"BDNN_TARGET": "SCALAR"}))
        self.fails(2, "BDNN_TARGET=MMX: this machine and build have", "--version", env={"BDNN_TARGET": "MMX"})

    def test_help_of_every_verb_has_an_example(self):
        for verb in ("train", "encode", "index", "search", "evaluate", "dataset", "inspect", "convert", "methods"):
            self.assertIn(f"  bdnn {verb}", self.ok(verb, "--help"))
        listed = self.ok("methods")
        for method in ("lsh", "pca", "pca-rr", "itq"):
            self.assertIn(method, listed)
        self.assertIn("--set rotations=50", listed)

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


class IndexFiles(CommandLine):
    def setUp(self):
        super().setUp()
        self.codes = self.rng.integers(0, 256, size=(500, 4), dtype=np.uint8)
        np.save(self.path("c.npy"), self.codes)
        np.save(self.path("q.npy"), self.codes[::50] ^ 1)
        self.index = self.path("x.index")

    def naive(self, codes, ids, query, k):
        distances = np.unpackbits(codes ^ query, axis=1).sum(axis=1)
        order = np.lexsort((ids, distances))[:k]
        return [int(i) for i in ids[order]], [int(d) for d in distances[order]]

    def search(self, *more):
        return json.loads(self.ok("search", "--index", self.index, "--queries", self.path("q.npy"), "--json", *more))["results"]

    def expect_holds(self, codes, ids):
        for result, query in zip(self.search("-k", 9), self.codes[::50] ^ 1):
            self.assertEqual((result["ids"], result["distances"]), self.naive(codes, ids, query, 9))

    def test_build_add_remove_compact_info(self):
        out = self.ok("index", "build", "--index", self.index, "--data", self.path("c.npy"))
        self.assertIn("built: 500 codes of 32 bits under ids", out)
        self.expect_holds(self.codes, np.arange(500))
        more = self.rng.integers(0, 256, size=(60, 4), dtype=np.uint8)
        np.save(self.path("more.npy"), more)
        more_ids = 10_000 - np.arange(60)
        np.save(self.path("ids.npy"), more_ids)
        self.ok("index", "add", "--index", self.index, "--data", self.path("more.npy"), "--ids", self.path("ids.npy"))
        codes, ids = np.vstack([self.codes, more]), np.concatenate([np.arange(500), more_ids])
        self.expect_holds(codes, ids)
        self.ok("index", "remove", "--index", self.index, "--id", 7, "--id", 9_990)
        keep = ~np.isin(ids, [7, 9_990])
        self.expect_holds(codes[keep], ids[keep])
        info = json.loads(self.ok("index", "info", "--index", self.index, "--verify", "--json"))
        self.assertEqual((info["codes"], info["removed"], info["segments"], info["keys"]), (558, 2, 2, "ids"))
        self.ok("index", "compact", "--index", self.index)
        self.expect_holds(codes[keep], ids[keep])
        info = json.loads(self.ok("index", "info", "--index", self.index, "--verify", "--json"))
        self.assertEqual((info["codes"], info["removed"], info["segments"]), (558, 0, 1))

    def test_every_plan_gives_the_same_answers_and_explains_itself(self):
        self.ok("index", "build", "--index", self.index, "--data", self.path("c.npy"), "--tables", "always")
        expected = self.search("-k", 20)
        for plan in ("scan", "mih"):
            for threads in (1, 2):
                self.assertEqual(self.search("-k", 20, "--plan", plan, "--threads", threads), expected)
        for target in ("SCALAR", "SSSE3"):
            out = self.ok("search", "--index", self.index, "--queries", self.path("q.npy"), "-k", 20, "--json", env={"BDNN_TARGET": target})
            self.assertEqual(json.loads(out)["results"], expected)
        plain = ["search", "--database", self.path("c.npy"), "--queries", self.path("q.npy")]
        for plan in ("automatic", "scan", "mih"):
            self.assertEqual(json.loads(self.ok(*plain, "-k", 20, "--plan", plan, "--json"))["results"], expected)
        text = self.ok("search", "--index", self.index, "--queries", self.path("q.npy"), "--explain")
        self.assertIn("expected per query: scan", text)
        self.assertIn("plan: ", text)
        self.assertIn("plan: scan", self.ok(*plain, "--explain"))
        self.fails(2, "bucket lookup is for codes of at most 16 bits", *plain, "--plan", "bucket")
        self.fails(2, "there are automatic, scan, mih and bucket", *plain, "--plan", "best")
        self.fails(2, "give either --database or --index", "search", "--queries", self.path("q.npy"))

    def test_filters_and_names(self):
        write(self.path("names.txt"), b"".join(b"n%03d\n" % (999 - i) for i in range(500)))
        self.ok("index", "build", "--index", self.index, "--data", self.path("c.npy"), "--names", self.path("names.txt"))
        ids = 999 - np.arange(500)
        for result, query in zip(self.search("-k", 9), self.codes[::50] ^ 1):
            names, distances = self.naive(self.codes, ids, query, 9)
            self.assertEqual(result["ids"], ["n%03d" % i for i in names])
            self.assertEqual(result["distances"], distances)
        write(self.path("some.txt"), b"n999\nn777\nnobody\n")
        for result in self.search("--names", self.path("some.txt")):
            self.assertEqual(sorted(result["ids"]), ["n777", "n999"])
        self.assertIn("2 of them allowed", self.ok("search", "--index", self.index, "--queries", self.path("q.npy"),
                                                   "--names", self.path("some.txt"), "--explain"))
        np.save(self.path("some.npy"), np.array([3, 4, 400]))
        self.fails(2, "restrict the search by --names", "search", "--index", self.index, "--queries", self.path("q.npy"),
                   "--ids", self.path("some.npy"))
        plain = json.loads(self.ok("search", "--database", self.path("c.npy"), "--queries", self.path("q.npy"),
                                   "--ids", self.path("some.npy"), "--json"))
        for result in plain["results"]:
            self.assertEqual(sorted(result["ids"]), [3, 4, 400])

    def test_ranking_by_vectors(self):
        x = self.data("x.npy", rows=400, dimension=20)
        self.train("x.npy")
        common = ["--model", self.path("m.bdnn"), "--queries", self.path("x.npy"), "--first", 30, "-k", 5, "--json"]
        self.ok("index", "build", "--index", self.index, "--model", self.path("m.bdnn"), "--data", self.path("x.npy"))
        exact = np.argsort(((x[:30, None].astype(np.float64) - x[None]) ** 2).sum(axis=2), axis=1, kind="stable")[:, :5]
        for database in (["--index", self.index], ["--database", self.path("x.npy")]):
            out = json.loads(self.ok("search", *common, *database, "--rerank", self.path("x.npy"), "--shortlist", 400))
            self.assertEqual([r["ids"] for r in out["results"]], exact.tolist())
            self.assertEqual([r["scores"][0] for r in out["results"]], [0.0] * 30)
        self.fails(2, "the model expects", "search", "--index", self.index, "--model", self.path("m.bdnn"), "--queries", self.path("c.npy"))

    def test_what_is_wrong_is_said_and_nothing_is_lost(self):
        self.ok("index", "build", "--index", self.index, "--data", self.path("c.npy"))
        before = read(self.index)
        np.save(self.path("ids.npy"), np.arange(490, 990))
        np.save(self.path("wide.npy"), np.zeros((3, 5), np.uint8))
        add = ["index", "add", "--index", self.index, "--data"]
        self.fails(2, "id 490 is there already", *add, self.path("c.npy"), "--ids", self.path("ids.npy"))
        self.fails(2, "id 500 is not there", "index", "remove", "--index", self.index, "--id", 500)
        self.fails(2, "nothing to remove was named", "index", "remove", "--index", self.index)
        self.fails(2, "holds codes of 32 bits, those to be added have 40", *add, self.path("wide.npy"))
        self.fails(2, "the queries have 40 bits, the database has 32", "search", "--index", self.index, "--queries", self.path("wide.npy"))
        self.fails(1, "signature of an index", "index", "info", "--index", self.path("c.npy"))
        self.fails(1, "cannot open", "index", "add", "--index", self.path("none.index"), "--data", self.path("c.npy"))
        self.assertEqual(read(self.index), before)
        write(self.path("cut.index"), before[:-9])
        self.fails(1, "is truncated", "search", "--index", self.path("cut.index"), "--queries", self.path("q.npy"))
        flipped = bytearray(before)
        flipped[9000] ^= 1
        write(self.path("flipped.index"), flipped)
        self.fails(1, "is damaged", "index", "info", "--index", self.path("flipped.index"), "--verify")
        newer = bytearray(before)
        newer[8] = 2
        write(self.path("newer.index"), newer)
        self.fails(1, "use a newer bdnn", "search", "--index", self.path("newer.index"), "--queries", self.path("q.npy"))

    def test_a_full_disk_during_add_loses_nothing(self):
        np.save(self.path("many.npy"), self.rng.integers(0, 256, size=(40_000, 4), dtype=np.uint8))
        self.ok("index", "build", "--index", self.index, "--data", self.path("c.npy"))
        os.mkdir(self.path("disk"))
        script = """
            cd "$1"
            mount -t tmpfs -o size=64k tmpfs disk || exit 90
            cp x.index disk/x.index
            "$2" index add --index disk/x.index --data many.npy; echo "add $?"
            cmp x.index disk/x.index && echo "left: $(ls -A disk | tr '\\n' ' ')"
            "$2" index remove --index disk/x.index --id 3 > /dev/null; echo "remove $?"
            "$2" index info --index disk/x.index --verify --json | grep -c '"codes":499'
            umount disk
        """
        unshare = ["unshare", "--mount"] if os.geteuid() == 0 else ["unshare", "--user", "--map-root-user", "--mount"]
        for propagation in ("private", "unchanged"):  # in a chroot the first is not to be had
            result = subprocess.run([*unshare, "--propagation", propagation, "bash", "-c", script, "bash", self.folder.name, BDNN],
                                    capture_output=True, text=True)
            if "propagation" not in result.stderr:
                break
        self.assertEqual(result.stdout.splitlines(), ["add 1", "left: x.index ", "remove 0", "1"], result.stderr)
        self.assertIn("disk/x.index: cannot write: No space left on device", result.stderr)

    def test_killed_at_any_moment_it_holds_the_old_or_the_new_state(self):
        rows = 3_000
        base = self.rng.integers(0, 256, size=(rows, 8), dtype=np.uint8)
        np.save(self.path("base.npy"), base)
        self.ok("index", "build", "--index", self.index, "--data", self.path("base.npy"), "--tables", "always")
        size = lambda: json.loads(self.ok("index", "info", "--index", self.index, "--verify", "--json"))["codes"]
        commands = {
            "add": ["add", "--data", self.path("base.npy"), "--tables", "always", "--threads", 1],
            "remove": ["remove", "--ids", self.path("gone.npy")],
            "compact": ["compact", "--tables", "always", "--threads", 1],
        }
        lasts = {}
        present, next_id, killed, number = list(range(rows)), rows, 0, 0
        while killed < 200:
            number += 1
            name = ("add", "remove", "compact")[number % 3] if present else "add"
            gone = present[:rows]
            np.save(self.path("gone.npy"), np.array(gone))
            changes = {"add": rows, "remove": -len(gone), "compact": 0}[name]
            start = time.monotonic()
            process = subprocess.Popen([BDNN, "index", commands[name][0], "--index", self.index, *map(str, commands[name][1:])],
                                       stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
            if name in lasts:  # at a random point of the time that it takes when it is left alone
                time.sleep(self.rng.uniform(0, lasts[name]))
                process.kill()
            error = process.communicate()[1]
            if process.returncode == 0:
                lasts[name] = min(lasts.get(name, 10), time.monotonic() - start)
            killed += process.returncode == -signal.SIGKILL
            self.assertIn(process.returncode, (0, -signal.SIGKILL), error)
            now = size()
            self.assertIn(now, (len(present), len(present) + changes), name)
            if process.returncode == 0:
                self.assertEqual(now, len(present) + changes, name)
            if now != len(present):
                if name == "add":
                    present += range(next_id, next_id + rows)
                    next_id += rows
                else:
                    present = present[rows:]
        found = json.loads(self.ok("search", "--index", self.index, "--queries", self.path("base.npy"), "--first", 1, "--radius", 0, "--json"))
        twins = [int(i) for i in np.flatnonzero((base == base[0]).all(axis=1))]
        expected = sorted(i for i in present if i % rows in twins)
        self.assertEqual(found["results"][0]["ids"], expected)


class Evaluation(CommandLine):
    def brute_force(self, database, queries, relevant, radius):
        """Standard AP with ties in database order, precision and emptiness within a radius; by sorting."""
        aps, precisions, empties = [], [], []
        for q in range(len(queries)):
            distances = (database != queries[q]).sum(axis=1)
            order = np.argsort(distances, kind="stable")
            hits = relevant[q][order]
            precision = np.cumsum(hits) / np.arange(1, len(hits) + 1)
            aps.append(precision[hits].sum() / relevant[q].sum())
            within = distances <= radius
            precisions.append(relevant[q][within].mean() if within.any() else 0.0)
            empties.append(not within.any())
        return np.mean(aps), np.mean(precisions), np.mean(empties)

    def setUp(self):
        super().setUp()
        self.x = self.rng.integers(0, 50, size=(300, 12)).astype(np.float32)
        self.q = self.rng.integers(0, 50, size=(40, 12)).astype(np.float32)
        np.save(self.path("x.npy"), self.x)
        np.save(self.path("q.npy"), self.q)
        self.ok("train", "--bits", 12, "--data", self.path("x.npy"), "--model", self.path("m.bdnn"))
        for name in ("x", "q"):
            self.ok("encode", "--model", self.path("m.bdnn"), "--data", self.path(name + ".npy"), "--out", self.path(name + "c.npy"))
        unpack = lambda name: np.unpackbits(np.load(self.path(name)), axis=1, bitorder="little")[:, :12]
        self.codes, self.query_codes = unpack("xc.npy"), unpack("qc.npy")
        self.files = ["--model", self.path("m.bdnn"), "--database", self.path("x.npy"), "--queries", self.path("q.npy")]

    def test_neighbours_as_numpy_finds_them(self):
        squared = ((self.q[:, None, :].astype(np.float64) - self.x[None]) ** 2).sum(axis=2)
        nearest = np.lexsort((np.broadcast_to(np.arange(300), squared.shape), squared))[:, :7]
        relevant = np.zeros((40, 300), bool)
        np.put_along_axis(relevant, nearest, True, axis=1)
        expected = self.brute_force(self.codes, self.query_codes, relevant, 2)
        np.save(self.path("truth.npy"), nearest.astype(np.int32))
        for relevance in (["--neighbours", 7], ["--ground-truth", self.path("truth.npy")],
                          ["--ground-truth", self.path("truth.npy"), "--neighbours", 7]):
            out = json.loads(self.ok("evaluate", *self.files, *relevance, "--ties", "order", "--json"))
            np.testing.assert_allclose([out["mAP"], out["precision@r2"], out["empty@r2"]], expected, atol=1e-9)
            self.assertEqual((out["ties"], out["divided_by"], out["queries"], out["database"]), ("order", "all relevant", 40, 300))
        values = [json.loads(self.ok("evaluate", *self.files, "--neighbours", 7, "--ties", ties, "--json"))["mAP"]
                  for ties in ("worst", "expected", "best")]
        self.assertLess(values[0], values[1])
        self.assertLess(values[1], values[2])
        text = self.ok("evaluate", *self.files, "--neighbours", 7)
        self.assertIn("ties: expected", text)
        self.assertIn("divided by all relevant", text)

    def test_labels_leave_one_out_and_the_curve(self):
        labels = self.rng.integers(0, 3, size=300)
        np.save(self.path("labels.npy"), labels)
        relevant = labels[:, None] == labels[None]
        keep = ~np.eye(300, dtype=bool)
        aps = []
        for q in range(300):
            aps.append(self.brute_force(self.codes[keep[q]], self.codes[q : q + 1], relevant[q : q + 1, keep[q]], 2))
        expected = np.mean(aps, axis=0)
        out = json.loads(self.ok("evaluate", "--model", self.path("m.bdnn"), "--database", self.path("x.npy"), "--queries", self.path("x.npy"),
                                 "--database-labels", self.path("labels.npy"), "--query-labels", self.path("labels.npy"), "--leave-one-out",
                                 "--ties", "order", "--json", "--curve", self.path("curve.csv")))
        np.testing.assert_allclose([out["mAP"], out["precision@r2"], out["empty@r2"]], expected, atol=1e-9)
        curve = np.genfromtxt(self.path("curve.csv"), delimiter=",", names=True)
        self.assertEqual(len(curve), 13)
        self.assertAlmostEqual(curve["precision"][2], expected[1])
        self.assertEqual(curve["recall"][12], 1.0)

    def test_a_protocol_trains_and_evaluates(self):
        labels = np.repeat(np.arange(3), 100)
        np.save(self.path("labels.npy"), labels)
        write(self.path("p.toml"), b"""
            name = "small"
            [collection]
            vectors = "x.npy"
            labels = "labels.npy"
            [split]
            queries_per_class = 10
            [relevance]
            kind = "labels"
        """)
        common = ["--protocol", self.path("p.toml"), "--folder", self.folder.name, "--bits", "4,8", "--seeds", "1,2,3"]
        out = json.loads(self.ok("evaluate", *common, "--json"))
        self.assertEqual([row["bits"] for row in out["summary"]], [4, 8])
        self.assertEqual(len(out["runs"]), 6)
        for row in out["summary"]:
            runs = [run["mAP"] for run in out["runs"] if run["bits"] == row["bits"]]
            self.assertAlmostEqual(row["mean"]["mAP"], np.mean(runs))
            self.assertAlmostEqual(row["spread"]["mAP"], max(runs) - min(runs))
        self.assertEqual((out["runs"][0]["queries"], out["runs"][0]["database"]), (30, 270))
        self.assertIn("mean over 3 run(s)", self.ok("evaluate", *common))
        self.ok("dataset", self.path("p.toml"), "--folder", self.folder.name, "--out", self.path("split"))
        split = json.loads(read(self.path("split/split.json")))
        self.assertEqual(split["queries"], {"count": 30, "xxh3": out["queries"]})
        self.assertEqual(split["queries_also_in_training"], 0)

    def test_diagnostics_of_codes(self):
        self.ok("encode", "--model", self.path("m.bdnn"), "--data", self.path("x.npy"), "--out", self.path("x.codes"))
        out = json.loads(self.ok("inspect", self.path("x.codes"), "--model", self.path("m.bdnn"), "--data", self.path("x.npy"), "--json"))
        np.testing.assert_allclose(out["balance"], self.codes.mean(axis=0), atol=1e-12)
        self.assertEqual(out["distinct codes"], len(np.unique(self.codes, axis=0)))
        signed = 2.0 * self.codes - 1
        correlation = np.abs(np.corrcoef(signed.T)) - np.eye(12)
        self.assertAlmostEqual(out["largest correlation"], correlation.max(), places=6)
        self.assertGreater(out["mean |h|"], 0)
        self.assertIn("correlation of bits", self.ok("inspect", self.path("x.codes")))

    def test_what_does_not_fit_is_refused(self):
        evaluate = ["evaluate", *self.files]
        self.fails(2, "say what is relevant", *evaluate)
        self.fails(2, "give --database and --queries", "evaluate", "--neighbours", 5)
        np.save(self.path("labels.npy"), np.zeros(299, int))
        self.fails(2, "labels.npy has 299 labels for 300 vectors", *evaluate, "--database-labels", self.path("labels.npy"),
                   "--query-labels", self.path("labels.npy"))
        truth = self.rng.permuted(np.tile(np.arange(300), (40, 1)), axis=1)[:, :5].astype(np.int32)
        truth[13, 2] = 300
        np.save(self.path("truth.npy"), truth)
        self.fails(1, "300", *evaluate, "--ground-truth", self.path("truth.npy"))
        self.fails(2, "301", *evaluate, "--neighbours", 301)
        self.fails(2, "--leave-one-out is for queries that are the database itself", *evaluate, "--neighbours", 5, "--leave-one-out")
        self.fails(2, "--ties", *evaluate, "--neighbours", 5, "--ties", "random")


class Mistakes(CommandLine):
    def test_misuse_has_status_2(self):
        self.fails(2, "subcommand")
        self.fails(2, "--data is required", "train", "--model", self.path("m"))
        self.fails(2, "Try 'bdnn encode --help'", "encode", "--no-such-option")
        self.data()
        self.fails(2, "there is no method 'itqq'; there are lsh, pca, pca-rr, itq", "train", "--method", "itqq",
                   "--data", self.path("x.npy"), "--model", self.path("m"))
        self.fails(2, "itq has no option 'speed'; it has rotations", "train", "--data", self.path("x.npy"), "--bits", 8,
                   "--model", self.path("m"), "--set", "speed=9")
        self.fails(2, "rotations is 0 to 100000", "train", "--data", self.path("x.npy"), "--bits", 8,
                   "--model", self.path("m"), "--set", "rotations=many")
        self.fails(2, "write --set name=value", "train", "--data", self.path("x.npy"), "--model", self.path("m"), "--set", "speed")

    def test_data_that_cannot_be_learned_from(self):
        x = self.data()
        train = ["train", "--method", "itq", "--model", self.path("m"), "--data"]
        self.fails(2, "21 bits were asked for, but the vectors have dimension 20", *train, self.path("x.npy"), "--bits", 21)
        np.save(self.path("few.npy"), x[:8])
        self.fails(2, "8 vectors vary in at most 7 directions", *train, self.path("few.npy"), "--bits", 8)
        np.save(self.path("same.npy"), np.ones((50, 20), np.float32))
        self.fails(2, "all 50 vectors are the same", *train, self.path("same.npy"), "--bits", 8)
        for bad, name in ((np.nan, "nan"), (np.inf, "inf")):
            x[123, 7] = bad
            np.save(self.path("bad.npy"), x)
            self.fails(1, f"{name} in row 123, column 7", *train, self.path("bad.npy"), "--bits", 8)

    def test_files_that_are_missing_empty_or_cut(self):
        x = self.data(rows=100, dimension=12)
        train = ["train", "--bits", 4, "--model", self.path("m"), "--data"]
        self.fails(1, "none.fvecs: cannot open: No such file or directory", *train, self.path("none.fvecs"))
        self.fails(1, "is a directory", *train, self.folder.name)
        for name in ("y.fvecs", "y.ivecs", "y.bvecs", "y.npy", "y.idx", "y.idx.gz", "y.csv", "y.hdf5", "y.mat", "y.mat73"):
            np.save(self.path("u8.npy"), self.rng.integers(1, 9, size=(100, 12)).astype(np.uint8))
            self.ok("convert", self.path("u8.npy"), self.path(name))
            whole = read(self.path(name))
            write(self.path(name), b"")
            self.fails(1, f"{name}: is empty", *train, self.path(name))
            cut = len(whole) - 7  # inside the last vector
            if name == "y.csv":
                cut = len(whole) - len(whole.splitlines(True)[-1]) + 3
            write(self.path(name), whole[:cut])
            self.fails(1, name, *train, self.path(name))
        np.save(self.path("u8.npy"), self.rng.integers(0, 9, size=(2, 3072)).astype(np.uint8))
        write(self.path("y.bin"), bytes(3073 * 2 - 1))
        self.fails(1, "y.bin: is truncated or no CIFAR-10 file", *train, self.path("y.bin"))

    def test_rows_of_different_lengths(self):
        train = ["train", "--bits", 2, "--model", self.path("m"), "--data"]
        write(self.path("x.csv"), b"1,2,3\n4,5,6\n7,8\n")
        self.fails(1, "x.csv", *train, self.path("x.csv"))
        with open(self.path("x.fvecs"), "wb") as file:
            for d in (3, 3, 1, 5):
                file.write(struct.pack("<i", d) + bytes(4 * d))
        self.fails(1, "row 2 has dimension 1, the first has 3", *train, self.path("x.fvecs"))

    def test_models_that_do_not_fit_or_are_broken(self):
        self.data()
        self.train("x.npy")
        self.data("other.npy", dimension=21)
        encode = ["encode", "--out", self.path("c.codes"), "--data"]
        self.fails(2, "other.npy have dimension 21, the model expects 20 (trained on x.npy, itq, 8 bits)",
                   *encode, self.path("other.npy"), "--model", self.path("m.bdnn"))
        self.fails(1, "is no usable model", *encode, self.path("x.npy"), "--model", self.path("x.npy"))
        raw = bytearray(read(self.path("m.bdnn")))
        raw[-1] ^= 1
        write(self.path("flipped.bdnn"), raw)
        self.fails(1, "is damaged: its checksum does not agree", *encode, self.path("x.npy"), "--model", self.path("flipped.bdnn"))
        write(self.path("cut.bdnn"), raw[:-5])
        self.fails(1, "is no usable model", *encode, self.path("x.npy"), "--model", self.path("cut.bdnn"))

    def test_codes_of_another_model_are_not_searched(self):
        self.data()
        self.train("x.npy", "a.bdnn")
        self.train("x.npy", "b.bdnn", "--seed", "2")
        self.ok("encode", "--model", self.path("a.bdnn"), "--data", self.path("x.npy"), "--out", self.path("a.codes"))
        self.ok("encode", "--model", self.path("b.bdnn"), "--data", self.path("x.npy"), "--out", self.path("b.codes"))
        self.fails(2, "encode both with the same model", "search", "--database", self.path("a.codes"), "--queries", self.path("b.codes"))
        self.fails(2, "not by the given one", "search", "--model", self.path("b.bdnn"), "--database", self.path("a.codes"),
                   "--queries", self.path("x.npy"))
        np.save(self.path("labels.npy"), np.arange(399))
        self.fails(2, "labels.npy has 399 labels for 400 vectors", "search", "--database", self.path("a.codes"),
                   "--queries", self.path("a.codes"), "--database-labels", self.path("labels.npy"))

    def test_what_cannot_be_encoded_leaves_no_file(self):
        x = self.data(rows=5000)
        self.train("x.npy")
        x[4999, 3] = np.nan
        np.save(self.path("x.npy"), x)
        self.fails(1, "x.npy: vector 4999 has nan in column 3", "encode", "--model", self.path("m.bdnn"),
                   "--data", self.path("x.npy"), "--out", self.path("c.codes"))

    def test_outputs_that_cannot_be_written(self):
        self.data()
        self.train("x.npy")
        encode = ["encode", "--model", self.path("m.bdnn"), "--data", self.path("x.npy"), "--out"]
        self.fails(1, "cannot write: No such file or directory", *encode, self.path("no/such/c.codes"))
        self.fails(2, "end in .codes, .npy or .bvecs", *encode, self.path("c.txt"))
        os.mkdir(self.path("folder.codes"))
        self.fails(1, "is a directory", *encode, self.path("folder.codes"))

    def test_a_full_disk_leaves_the_old_file_and_nothing_else(self):
        self.data("few.npy", rows=300, dimension=20)
        self.data("many.npy", rows=20_000, dimension=20)
        self.ok("train", "--method", "lsh", "--bits", 64, "--data", self.path("few.npy"), "--model", self.path("m.bdnn"))
        self.ok("encode", "--model", self.path("m.bdnn"), "--data", self.path("few.npy"), "--out", self.path("old.codes"))
        os.mkdir(self.path("disk"))
        # A file system of 64 KB, in a name space of its own; what is written to it needs 160 KB and more.
        script = """
            cd "$1"
            mount -t tmpfs -o size=64k tmpfs disk || exit 90
            cp old.codes disk/c.codes
            "$2" encode --model m.bdnn --data many.npy --out disk/c.codes; echo "encode $?"
            for name in x.npy x.fvecs x.hdf5 x.mat x.csv x.idx.gz; do
              "$2" convert many.npy "disk/$name"; echo "convert $?"
            done
            head -c 100000 /dev/zero > disk/filler
            "$2" train --bits 8 --data few.npy --model disk/m.bdnn; echo "train $?"
            cmp old.codes disk/c.codes && echo "left: $(ls -A disk | tr '\\n' ' ')"
            umount disk
        """
        unshare = ["unshare", "--mount"] if os.geteuid() == 0 else ["unshare", "--user", "--map-root-user", "--mount"]
        for propagation in ("private", "unchanged"):  # in a chroot the first is not to be had
            result = subprocess.run([*unshare, "--propagation", propagation, "bash", "-c", script, "bash", self.folder.name, BDNN],
                                    capture_output=True, text=True)
            if "propagation" not in result.stderr:
                break
        expected = ["encode 1"] + 6 * ["convert 1"] + ["train 1", "left: c.codes filler "]
        self.assertEqual(result.stdout.splitlines(), expected, result.stderr)
        self.assertEqual(result.stderr.count("bdnn convert: disk/x."), 6, result.stderr)
        self.assertIn("bdnn encode: disk/c.codes: cannot write: No space left on device", result.stderr)
        self.assertIn("bdnn train: disk/m.bdnn: cannot write: No space left on device", result.stderr)

    def test_interruption_leaves_nothing(self):
        write_fvecs(self.path("x.fvecs"), self.rng.normal(size=(200_000, 100)))
        self.data("few.npy", rows=300, dimension=100)
        self.train("few.npy")
        before = sorted(os.listdir(self.folder.name))
        interrupted = 0
        for delay in (0.02, 0.05, 0.1, 0.15, 0.2):
            for number in (signal.SIGINT, signal.SIGTERM):
                process = subprocess.Popen([BDNN, "encode", "--model", self.path("m.bdnn"), "--data", self.path("x.fvecs"),
                                            "--out", self.path("c.codes"), "--threads", "1"], stdout=subprocess.DEVNULL)
                time.sleep(delay)
                process.send_signal(number)
                status = process.wait()
                if os.path.exists(self.path("c.codes")):  # it was faster than we, then it is whole
                    self.assertIn("verified", self.ok("inspect", self.path("c.codes")))
                    os.remove(self.path("c.codes"))
                else:
                    self.assertEqual(status, -number)
                    interrupted += 1
                self.assertEqual(sorted(os.listdir(self.folder.name)), before)
        self.assertGreater(interrupted, 0)

    def test_hostile_files_do_not_crash(self):
        self.data()
        self.train("x.npy")
        self.ok("encode", "--model", self.path("m.bdnn"), "--data", self.path("x.npy"), "--out", self.path("x.codes"))
        for name in ("x.npy", "m.bdnn", "x.codes"):
            whole = read(self.path(name))
            for _ in range(15):
                broken = bytearray(whole)
                for at in self.rng.integers(0, min(len(whole), 300), size=8):
                    broken[at] = self.rng.integers(0, 256)
                write(self.path("broken." + name.split(".")[1]), broken)
                result = run("inspect", self.path("broken." + name.split(".")[1]))
                self.assertIn(result.returncode, (0, 1), result.stderr)

    def test_numbers_are_numbers(self):
        self.data()
        train = ["train", "--data", self.path("x.npy"), "--model", self.path("m.bdnn")]
        for option in ("--bits", "--seed"):
            for bad in ("-1", "010", "1.5", "x", "99999999999999999999", ""):
                self.fails(2, "is no whole number", *train, option, bad)
        self.train("x.npy")
        self.ok("encode", "--model", self.path("m.bdnn"), "--data", self.path("x.npy"), "--out", self.path("x.codes"))
        search = ["search", "--database", self.path("x.codes"), "--queries", self.path("x.codes")]
        for option in ("--radius", "-k", "--first"):
            self.fails(2, "is no whole number", *search, option, "-1")

    def test_a_place_that_cannot_be_written_is_found_before_training(self):
        self.fails(1, "cannot write: No such file or directory", "train", "--data", self.path("missing.npy"), "--model", self.path("no/m"))

    def test_links_and_devices_as_outputs(self):
        self.data()
        os.mkdir(self.path("folder"))
        os.symlink("folder/real.npy", self.path("link.npy"))
        self.ok("convert", self.path("x.npy"), self.path("link.npy"))
        self.assertTrue(os.path.islink(self.path("link.npy")))
        self.assertEqual(read(self.path("folder/real.npy"))[:6], b"\x93NUMPY")
        os.symlink("/proc/self/fd/1", self.path("stdout.csv"))
        result = run("convert", self.path("x.npy"), self.path("stdout.csv"))
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(result.stdout.count("\n"), 400 + 1)  # the vectors, and the line that says so
        self.assertTrue(os.path.islink(self.path("stdout.csv")))

    def test_pipes_are_refused_and_not_waited_for(self):
        os.mkfifo(self.path("x.npy"))
        self.fails(1, "is not a regular file", "inspect", self.path("x.npy"))

    def test_closed_standard_error_is_no_crash(self):
        for redirection in ("2>&-", "2>/dev/full"):
            result = subprocess.run(f'"{BDNN}" inspect nofile {redirection}', shell=True)
            self.assertEqual(result.returncode, 1, redirection)

    def test_a_limit_on_file_size_is_reported(self):
        self.data(rows=20_000)
        result = subprocess.run(["bash", "-c", 'ulimit -f 40; "$0" convert "$1" "$2"', BDNN, self.path("x.npy"), self.path("y.npy")],
                                capture_output=True, text=True)
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertIn("y.npy: cannot write: File too large", result.stderr)
        self.assertEqual(os.listdir(self.folder.name), ["x.npy"])

    def test_names_with_colons_and_parts(self):
        self.data("a:b.npy")
        self.train("a:b.npy", "m:1.bdnn")
        self.assertIn("itq", self.ok("inspect", self.path("m:1.bdnn")))
        self.ok("encode", "--model", self.path("m:1.bdnn"), "--data", self.path("a:b.npy"), "--out", self.path("c:d.codes"))
        self.assertIn("verified", self.ok("inspect", self.path("c:d.codes")))
        self.ok("convert", self.path("a:b.npy"), self.path("x.hdf5"))
        self.ok("search", "--model", self.path("m:1.bdnn"), "--database", self.path("x.hdf5:train"), "--queries", self.path("x.hdf5"))

    def test_compressed_outputs_are_compressed_or_refused(self):
        self.data()
        for name in ("y.npy.gz", "y.fvecs.gz", "y.csv.gz", "y.npy.GZ"):
            self.fails(2, "is not written compressed", "convert", self.path("x.npy"), self.path(name))
        self.ok("convert", self.path("x.npy"), self.path("y.idx.GZ"))
        self.assertEqual(read(self.path("y.idx.GZ"))[:2], b"\x1f\x8b")
        write(self.path("e.bin.gz"), bytes.fromhex("1f8b08000000000000030300000000000000000000"[:40]))
        self.fails(1, "holds no labels", "convert", "--as-labels", self.path("e.bin.gz"), self.path("out.npy"))
        np.save(self.path("l.npy"), np.arange(400))
        self.fails(2, "hold no labels beside vectors", "convert", "--labels", self.path("l.npy"), self.path("x.npy"), self.path("y.npy"))

    def test_a_bad_first_row_is_no_heading(self):
        write(self.path("x.csv"), b"1,2,NA\n4,5,6\n")
        self.fails(1, "line 1, column 3: 'NA' is not a number", "inspect", self.path("x.csv"))
        write(self.path("y.csv"), b"a,b,c\n4,5,6\n")
        self.assertIn("count                1\n", self.ok("inspect", self.path("y.csv")))

    def test_what_a_terminal_would_obey_is_not_printed(self):
        self.data("e\033[31m\u009b.npy")
        self.train("e\033[31m\u009b.npy")
        text = self.ok("inspect", self.path("m.bdnn"))
        self.assertNotIn("\033", text)
        self.assertNotIn("\u009b", text)
        self.assertIn("\\x1b[31m", text)

    def test_output_to_a_full_device_is_an_error(self):
        with open("/dev/full", "w") as full:
            result = subprocess.run([BDNN, "methods"], stdout=full, stderr=subprocess.PIPE, text=True)
        self.assertEqual(result.returncode, 1)
        self.assertIn("cannot write", result.stderr)


if __name__ == "__main__":
    BDNN = os.path.abspath(sys.argv.pop(1))
    SANITIZED = "asan" in BDNN or "tsan" in BDNN
    unittest.main(verbosity=2)
