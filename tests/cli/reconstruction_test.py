"""Decoders, refined codes, and the rankings that read codes through them."""

import json
import os
import unittest

import numpy as np

from program import CommandLine, read, write


class Reconstruction(CommandLine):
    model = None  # trained by the first test, for all of them

    def setUp(self):
        super().setUp()
        rng = np.random.default_rng(1)
        mix = rng.normal(size=(8, 20))
        x = (rng.normal(size=(2020, 8)) @ mix + 0.1 * rng.normal(size=(2020, 20))).astype(np.float32)
        self.x, self.q = x[:2000], x[2000:]
        np.save(self.path("x.npy"), self.x)
        np.save(self.path("q.npy"), self.q)
        if Reconstruction.model is None:
            self.ok("train", "--method", "uh-bdnn", "--profile", "recall", "--bits", "16", "--data", self.path("x.npy"),
                    "--model", self.path("m.bdnn"))
            Reconstruction.model = read(self.path("m.bdnn"))
        write(self.path("m.bdnn"), Reconstruction.model)

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

    def test_a_model_file_tells_how_to_decode(self):
        """As docs/formats.md says, without bdnn."""
        for group in (1, 4, 8):
            self.ok("train", "--method", "uh-bdnn", "--profile", "recall", "--bits", "13", "--data", self.path("x.npy"),
                    "--model", self.path("m.bdnn"), "--set", f"group={group}", "--set", "code_rounds=4", "--set", "first_steps=200")
            self.assertIn("linear" if group == 1 else f"by groups of {group} bits",
                          self.ok("inspect", self.path("m.bdnn")))
            self.encode("x.codes", "--codes", "refined")
            self.encode("x.npy.codes.npy", "--codes", "refined")
            bits = np.unpackbits(np.load(self.path("x.npy.codes.npy")), axis=1, bitorder="little")[:, :13] * 2.0 - 1
            content = read(self.path("m.bdnn"))
            length = int.from_bytes(content[:8], "little")
            header = json.loads(content[8:8 + length])
            tensors = {}
            for name in ("decoder.weight", "decoder.bias"):
                begin, end = header[name]["data_offsets"]
                tensors[name] = np.frombuffer(content[8 + length + begin:8 + length + end], np.float32)
                tensors[name] = tensors[name].reshape(header[name]["shape"])
            self.assertEqual(int(header["__metadata__"].get("decoder_group", "1")), group)
            features = [np.prod([bits[:, g + k] for k in range(n) if s >> k & 1], axis=0)
                        for g in range(0, 13, group) for n in [min(group, 13 - g)] for s in range(1, 2 ** n)]
            rebuilt = np.array(features).T @ tensors["decoder.weight"].T + tensors["decoder.bias"]
            np.testing.assert_allclose(self.decode("x.codes"), rebuilt, rtol=1e-4, atol=1e-4)

    def test_groups_are_checked(self):
        train = ("train", "--method", "uh-bdnn", "--bits", "16", "--data", self.path("x.npy"), "--model",
                 self.path("g.bdnn"), "--set")
        self.fails(2, "group", *train, "group=3")
        self.assertFalse(os.path.exists(self.path("g.bdnn")))

    def test_refined_codes_do_not_depend_on_threads(self):
        self.encode("a.codes", "--codes", "refined", "--threads", "1")
        self.encode("b.codes", "--codes", "refined", "--threads", "3")
        self.assertEqual(read(self.path("a.codes")), read(self.path("b.codes")))

    def test_an_index_remembers_that_its_codes_are_refined(self):
        index = ["--index", self.path("x.index")]
        vectors = ["--model", self.path("m.bdnn"), "--data", self.path("x.npy")]
        kind = lambda: json.loads(self.ok("index", "info", *index, "--json"))["kind"]
        self.ok("index", "build", *index, *vectors, "--codes", "refined", "--local-search", 3)
        self.assertEqual(kind(), "refined, 3 rounds of local search")
        self.assertIn("refined, 3 rounds", self.ok("index", "info", *index))
        self.fails(2, "encode them alike", "index", "add", *index, *vectors)
        self.encode("x.codes")
        self.fails(2, "already holds codes, which are not refined", "index", "build", *index, "--data", self.path("x.codes"), "--codes", "refined",
                   "--force")
        self.ok("index", "add", *index, *vectors, "--codes", "refined")
        self.ok("index", "compact", *index)
        self.assertEqual(kind(), "refined, 3 rounds of local search")
        self.ok("index", "build", *index, *vectors, "--force")
        self.assertEqual(kind(), "of the hash function")

    def test_codes_in_a_file_must_be_of_the_kind_asked_for(self):
        model = ["--model", self.path("m.bdnn")]
        self.encode("refined.codes", "--codes", "refined", "--local-search", 1)
        self.encode("hash.codes")
        verbs = lambda codes: (["search", *model, "--database", self.path(codes), "--queries", self.path("q.npy"), "-k", 1],
                               ["evaluate", *model, "--database", self.path(codes), "--queries", self.path("q.npy"),
                                "--ground-truth", self.path("truth.npy")],
                               ["index", "build", "--force", "--index", self.path("x.index"), "--data", self.path(codes)])
        np.save(self.path("truth.npy"), np.zeros((len(self.q), 1), np.int32))
        for verb in verbs("refined.codes"):
            self.fails(2, "refined.codes already holds codes, which are refined; give vectors to use --codes hash", *verb, "--codes", "hash")
            self.fails(2, "--local-search does not apply", *verb, "--codes", "refined", "--local-search", 2)
            self.ok(*verb, "--codes", "refined")
        for verb in verbs("hash.codes"):
            self.fails(2, "hash.codes already holds codes, which are not refined; give vectors to use --codes refined", *verb, "--codes", "refined")
            self.ok(*verb, "--codes", "hash")

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

    def test_codes_without_outputs_are_indices_of_codewords(self):
        model, codes = self.path("k.bdnn"), self.path("k.codes")
        data, queries = self.path("x.npy"), self.path("q.npy")
        self.ok("train", "--method", "kmh", "--bits", "13", "--data", data, "--model", model, "--set", "block=5")
        self.assertIn("1 subspace: the nearest of 32 codewords, 5 bits", self.ok("inspect", model))
        self.ok("encode", "--model", model, "--data", data, "--out", codes)
        # As docs/formats.md says, without bdnn.
        content = read(model)
        length = int.from_bytes(content[:8], "little")
        header = json.loads(content[8:8 + length])

        def tensor(name):
            first, last = header[name]["data_offsets"]
            return np.frombuffer(content[8 + length + first:8 + length + last], np.float32).reshape(header[name]["shape"])
        y = self.x.astype(np.float64) @ tensor("projection.weight").T + tensor("projection.bias")
        expected, at = [], 0
        for part in range(3):
            codewords = tensor(f"codewords.{part}")
            own = y[:, at:at + codewords.shape[1]]
            index = np.square(own[:, None, :] - codewords[None]).sum(axis=2).argmin(axis=1)
            expected.append(index[:, None] >> np.arange(len(codewords).bit_length() - 1) & 1)
            at += codewords.shape[1]
        self.ok("encode", "--model", model, "--data", data, "--out", self.path("k.npy"))
        bits = np.unpackbits(np.load(self.path("k.npy")), axis=1, bitorder="little")[:, :13]
        self.assertGreater((bits == np.hstack(expected)).all(axis=1).mean(), 0.998)  # all but what rounding may decide
        # What needs outputs says so, what reads codes works.
        search = ("search", "--model", model, "--queries", queries, "-k", 3)
        self.fails(2, "asymmetric distance needs outputs before the sign", *search, "--database", codes, "--rank", "asymmetric")
        self.fails(2, "has no outputs before the sign to measure", "inspect", codes, "--model", model, "--data", data)
        self.ok(*search, "--database", codes, "--rank", "reconstruction")
        self.ok(*search, "--database", data, "--codes", "refined")
        self.ok("decode", "--model", model, "--codes", codes, "--out", self.path("k.back.npy"))

    def test_what_does_not_fit_is_refused(self):
        self.encode("x.codes")
        model, codes, queries = self.path("m.bdnn"), self.path("x.codes"), self.path("q.npy")
        search = ("search", "--database", codes, "--queries")
        self.fails(2, "needs --model", *search, queries, "--rank", "reconstruction")
        self.fails(2, "needs vectors as queries", *search, codes, "--model", model, "--rank", "asymmetric")
        self.fails(2, "unknown ranking", *search, queries, "--model", model, "--rank", "cosine")
        self.fails(2, "cannot be combined with --radius or --rerank", *search, queries, "--model", model, "--rank", "asymmetric", "--radius", "2")
        self.fails(2, "--shortlist needs --rerank or --rank", *search, queries, "--model", model, "--shortlist", "5")
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


if __name__ == "__main__":
    unittest.main(verbosity=2)
