"""Spherical Hashing and the ranking by spherical Hamming distance."""

import json
import unittest
from fractions import Fraction

import numpy as np

from program import CommandLine


def spherical(a, b):
    """Of two rows of bits; an empty intersection counts as 1 / (bits + 1)."""
    differing, common = int((a != b).sum()), int((a & b).sum())
    return Fraction(differing, common) if common else Fraction(differing * (len(a) + 1))


class Spherical(CommandLine):
    def setUp(self):
        super().setUp()
        mix = self.rng.normal(size=(6, 10))
        x = (self.rng.normal(size=(430, 6)) @ mix).astype(np.float32)
        self.x, self.q = x[:400], x[400:]
        np.save(self.path("x.npy"), self.x)
        np.save(self.path("q.npy"), self.q)
        self.ok("train", "--method", "sph", "--bits", "13", "--data", self.path("x.npy"), "--model", self.path("m.bdnn"))
        for name in ("x", "q"):
            for end in (".codes", ".codes.npy"):
                self.ok("encode", "--model", self.path("m.bdnn"), "--data", self.path(name + ".npy"), "--out", self.path(name + end))
        bits = [np.unpackbits(np.load(self.path(name + ".codes.npy")), axis=1, bitorder="little")[:, :13] for name in ("x", "q")]
        self.distances = [[spherical(code, query) for code in bits[0]] for query in bits[1]]
        self.bits = bits

    def search(self, *more):
        return json.loads(self.ok("search", "--rank", "spherical", "-k", "7", "--json", *more))["results"]

    def test_a_model_is_anchors_and_its_bits_are_balanced(self):
        self.assertIn("10 -> 13 anchors, distances", self.ok("inspect", self.path("m.bdnn")))
        self.assertEqual(set(self.bits[0].sum(axis=0)), {200})

    def test_search_equals_a_naive_one(self):
        model = ["--model", self.path("m.bdnn")]
        self.ok("index", "build", "--index", self.path("x.index"), "--data", self.path("x.codes"))
        for source in (["--database", self.path("x.codes"), "--queries", self.path("q.codes")],
                       ["--database", self.path("x.codes"), "--queries", self.path("q.codes"), "--threads", "1"],
                       ["--database", self.path("x.npy"), "--queries", self.path("q.npy"), *model],
                       ["--database", self.path("x.codes"), "--queries", self.path("q.codes"), "--shortlist", "400"],
                       ["--index", self.path("x.index"), "--queries", self.path("q.codes")],
                       ["--index", self.path("x.index"), "--queries", self.path("q.npy"), *model]):
            for naive, query, answer in zip(self.distances, self.bits[1], self.search(*source)):
                expected = sorted(range(400), key=lambda i: (naive[i], i))[:7]
                self.assertEqual(answer["ids"], expected)
                self.assertEqual(answer["scores"], [float(naive[i]) for i in expected])
                self.assertEqual(answer["distances"], [int((self.bits[0][i] != query).sum()) for i in expected])

    def test_a_short_shortlist_holds_the_nearest_by_hamming_distance(self):
        answers = self.search("--database", self.path("x.codes"), "--queries", self.path("q.codes"), "--shortlist", "20")
        for naive, query, answer in zip(self.distances, self.bits[1], answers):
            hamming = (self.bits[0] != query).sum(axis=1)
            near = sorted(range(400), key=lambda i: (hamming[i], i))[:20]
            self.assertEqual(answer["ids"], sorted(near, key=lambda i: (naive[i], i))[:7])

    def test_evaluate_equals_a_naive_ranking(self):
        labels = self.rng.integers(0, 3, 400)
        query_labels = self.rng.integers(0, 3, 30)
        np.save(self.path("yx.npy"), labels)
        np.save(self.path("yq.npy"), query_labels)
        total = 0
        for naive, label in zip(self.distances, query_labels):
            ranked = labels[sorted(range(400), key=lambda i: (naive[i], i))] == label
            total += (np.cumsum(ranked) / np.arange(1, 401))[ranked].mean()
        evaluate = ["evaluate", "--rank", "spherical", "--database-labels", self.path("yx.npy"), "--query-labels",
                    self.path("yq.npy"), "--json", "--at", "5"]
        codes = ["--database", self.path("x.codes"), "--queries", self.path("q.codes")]
        out = json.loads(self.ok(*evaluate, *codes, "--ties", "order"))
        self.assertAlmostEqual(out["mAP"], total / 30, places=12)
        self.assertNotIn("precision@r2", out)
        self.assertIn("precision@5", out)
        vectors = ["--database", self.path("x.npy"), "--queries", self.path("q.npy"), "--model", self.path("m.bdnn")]
        self.assertEqual(json.loads(self.ok(*evaluate, *vectors, "--ties", "order")), out)
        best, expected, worst = (json.loads(self.ok(*evaluate, *codes, "--ties", ties))["mAP"]
                                 for ties in ("best", "expected", "worst"))
        self.assertLess(worst, expected)
        self.assertLess(expected, best)

    def test_what_does_not_fit_is_refused(self):
        search = ["search", "--rank", "spherical", "--database", self.path("x.codes"), "--queries", self.path("q.codes")]
        self.fails(2, "cannot be combined with --radius or --rerank", *search, "--radius", "2")
        self.fails(2, "cannot be combined with --radius or --rerank", *search, "--rerank", self.path("x.npy"))
        self.fails(2, "--plan does not apply", *search, "--plan", "scan")
        self.fails(2, "need Hamming distance", "evaluate", "--rank", "spherical", "--radius", "2", "--database", self.path("x.codes"),
                   "--queries", self.path("q.codes"), "--ground-truth", self.path("x.npy"))
        self.ok("train", "--method", "sph", "--bits", "13", "--seed", "2", "--data", self.path("x.npy"), "--model", self.path("n.bdnn"))
        self.ok("encode", "--model", self.path("n.bdnn"), "--data", self.path("q.npy"), "--out", self.path("n.codes"))
        self.fails(2, "model", "search", "--rank", "spherical", "--database", self.path("x.codes"), "--queries", self.path("n.codes"))


if __name__ == "__main__":
    unittest.main()
