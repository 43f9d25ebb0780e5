"""The measures, against NumPy."""

import json
import os
import re
import subprocess
import time
import unittest

import numpy as np

from program import BDNN, CommandLine, read, run, write


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
        self.ok("train", "--method", "itq", "--bits", 12, "--data", self.path("x.npy"), "--model", self.path("m.bdnn"))
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
        brief = ["--method", "uh-bdnn", "--set", "first_steps=60", "--set", "steps=60"]
        out = json.loads(self.ok("evaluate", *common, *brief, "--json"))
        self.assertEqual([row["bits"] for row in out["summary"]], [4, 8])
        self.assertEqual(len(out["runs"]), 6)
        for row in out["summary"]:
            runs = [run["mAP"] for run in out["runs"] if run["bits"] == row["bits"]]
            self.assertAlmostEqual(row["mean"]["mAP"], np.mean(runs))
            self.assertAlmostEqual(row["spread"]["mAP"], max(runs) - min(runs))
        self.assertEqual((out["runs"][0]["queries"], out["runs"][0]["database"]), (30, 270))
        self.assertIn("mean over 3 run(s)", self.ok("evaluate", *common, *brief))
        several = json.loads(self.ok("evaluate", *common, "--method", "lsh,itq", "--json"))
        self.assertEqual([(row["method"], row["bits"]) for row in several["summary"]], [("lsh", 4), ("lsh", 8), ("itq", 4), ("itq", 8)])
        alone = json.loads(self.ok("evaluate", *common, "--method", "itq", "--json"))
        self.assertEqual([row["mean"] for row in several["summary"][2:]], [row["mean"] for row in alone["summary"]])
        recall = ["--method", "uh-bdnn,uh-bdnn:recall", "--bits", 4, "--seeds", 1, "--set", "first_steps=60", "--set", "steps=60"]
        self.assertIn("uh-bdnn:recall", self.ok("evaluate", *common[:4], *recall))
        self.fails(2, "itq has no profile 'paper'", "evaluate", *common, "--method", "itq:paper")
        self.ok("dataset", "split", self.path("p.toml"), "--folder", self.folder.name, "--out", self.path("split"))
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
        self.fails(2, "--leave-one-out needs the database itself as queries", *evaluate, "--neighbours", 5, "--leave-one-out")
        self.fails(2, "--ties", *evaluate, "--neighbours", 5, "--ties", "random")

    def test_options_that_do_not_apply_are_refused(self):
        np.save(self.path("labels.npy"), np.repeat(np.arange(3), 100))
        labels = self.path("labels.npy")
        write(self.path("p.toml"), b'name = "p"\n[collection]\nvectors = "x.npy"\nlabels = "labels.npy"\n'
              b'[split]\nqueries_per_class = 10\n[relevance]\nkind = "labels"\n')
        write(self.path("whole.toml"), b'name = "w"\n[train]\nvectors = "x.npy"\n[queries]\nvectors = "q.npy"\n'
              b'[relevance]\nkind = "neighbours"\n')
        protocol = ["evaluate", "--folder", self.folder.name, "--protocol"]
        for option in (["--neighbours", 5], ["--metric", "cosine"], ["--ground-truth", labels], ["--database-labels", labels],
                       ["--query-labels", labels], ["--database", self.path("x.npy")], ["--queries", self.path("q.npy")],
                       ["--leave-one-out"]):
            self.fails(2, f"{option[0]} does not apply with --protocol", *protocol, self.path("p.toml"), *option)
        training = (["--method", "lsh"], ["--bits", 8], ["--seeds", 2], ["--profile", "paper"], ["--set", "rotations=3"])
        for option in training:
            self.fails(2, f"{option[0]} does not apply with --model", *protocol, self.path("p.toml"), "--model", self.path("m.bdnn"), *option)
        files = ["evaluate", *self.files, "--neighbours", 5]
        for option in (*training, ["--folder", "."], ["--split-seed", 2]):
            self.fails(2, f"{option[0]} does not apply without --protocol", *files, *option)
        given = ["evaluate", *self.files, "--database-labels", labels, "--query-labels", labels]
        for option in (["--metric", "cosine"], ["--cache", self.path("cache")]):
            self.fails(2, f"{option[0]} does not apply unless --neighbours", *given, *option)
        self.fails(2, "give --database-labels and --query-labels together", *files, "--query-labels", labels)
        self.fails(2, "--curve does not apply to several runs", *protocol, self.path("p.toml"), "--seeds", "1,2", "--curve", self.path("c.csv"))
        self.fails(2, "--split-seed does not apply", *protocol, self.path("whole.toml"), "--split-seed", 2)
        self.fails(2, "--cache does not apply to a protocol with relevance by labels", *protocol, self.path("p.toml"), "--cache", self.path("c"))
        self.fails(2, "--seed does not apply", "dataset", "split", self.path("whole.toml"), "--folder", self.folder.name, "--seed", 2)
        self.fails(2, "--local-search does not apply without --codes refined", *files, "--local-search", 2)

    def test_dataset_takes_threads(self):
        np.save(self.path("x.npy"), self.rng.integers(0, 256, size=(20000, 600)).astype(np.uint8))
        np.save(self.path("q.npy"), self.rng.integers(0, 256, size=(50, 600)).astype(np.uint8))
        write(self.path("p.toml"), b'name = "p"\n[train]\nvectors = "x.npy"\n[queries]\nvectors = "q.npy"\n[features]\npca = 4\n'
              b'[relevance]\nkind = "neighbours"\n')
        dataset = ["dataset", "split", self.path("p.toml"), "--folder", self.folder.name, "--json", "--threads"]
        one, alone = self.with_most_threads(*dataset, 1)
        three, most = self.with_most_threads(*dataset, 3)
        self.assertEqual(one, three)
        self.assertEqual((alone, most), (1, 3))
        self.fails(2, "--threads", *dataset, 0)

    def with_most_threads(self, *arguments):
        """What a command prints, and the most threads that it was seen with; it must take some tenths of a second."""
        most = 0
        with subprocess.Popen([BDNN, *map(str, arguments)], stdout=subprocess.PIPE, text=True,
                              env=dict(os.environ, OPENBLAS_NUM_THREADS="1")) as process:
            while process.poll() is None:
                threads = re.search(r"^Threads:\s+(\d+)$", read(f"/proc/{process.pid}/status").decode(), re.MULTILINE)
                most = max(most, int(threads[1]) if threads else 0)
                time.sleep(0.001)
            self.assertEqual(process.returncode, 0)
            return process.stdout.read(), most

    def test_a_model_with_pca_is_measured_as_one_of_reduced_vectors(self):
        write(self.path("p.toml"), b'name = "p"\n[train]\nvectors = "x.npy"\n[queries]\nvectors = "q.npy"\n[features]\npca = 4\n'
              b'[relevance]\nkind = "neighbours"\nneighbours = 5\n')
        evaluate = ["evaluate", "--protocol", self.path("p.toml"), "--folder", self.folder.name, "--json"]
        training = ["--method", "itq", "--bits", 4]
        reduced = json.loads(self.ok(*evaluate, *training))["runs"][0]
        itself = json.loads(self.ok(*evaluate, *training, "--pca", 4))["runs"][0]
        model = self.path("m4.bdnn")
        self.ok("train", *training, "--data", self.path("x.npy"), "--pca", 4, "--model", model)
        loaded = json.loads(self.ok(*evaluate, "--model", model))["runs"][0]
        for run in (reduced, itself, loaded):
            run.pop("train_seconds")
        self.assertEqual(reduced, itself)
        self.assertEqual(reduced, loaded)
        self.assertIn("principal components", self.ok("inspect", model))
        self.fails(2, "give --pca or --set pca=..., not both", *evaluate, *training, "--pca", 4, "--set", "pca=4")
        self.fails(2, "100 principal components are too many", *evaluate, *training, "--pca", 100)
        self.fails(2, "--pca does not apply", *evaluate, "--model", model, "--pca", 4)


if __name__ == "__main__":
    unittest.main(verbosity=2)
