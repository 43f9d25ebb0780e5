"""Errors that say what to do instead, and limits that the system sets."""

import os
import subprocess
import unittest

import numpy as np

from program import BDNN, SANITIZED, CommandLine, write


class Help(CommandLine):
    def test_what_is_unknown_is_named_before_what_is_missing(self):
        self.fails(2, "unknown option --dta; did you mean '--data'?", "train", "--dta", "x.npy", "--model", "m")
        self.fails(2, "unknown option --dta; did you mean '--data'?", "train", "--dta=x.npy", "--model", "m")
        self.fails(2, "unknown option --quiet\n", "train", "--data", "x.npy", "--quiet", "--model", "m")
        self.fails(2, "unknown verb 'trian'; did you mean 'train'?", "trian", "--data", "x.npy")
        self.fails(2, "unknown verb 'biuld'; did you mean 'build'?", "index", "biuld", "--index", "x")
        self.fails(2, "unknown verb 'cook'\n", "cook")
        self.fails(2, "unknown option --verison; did you mean '--version'?", "--verison")
        self.fails(2, "'y.npy' is one argument too many", "inspect", "x.npy", "y.npy")
        self.fails(2, "--data is required", "train", "--model", "m")  # nothing is unknown

    def test_searches_say_what_to_give_instead(self):
        x = self.data()
        self.train("x.npy")
        model, index = self.path("m.bdnn"), self.path("x.index")
        self.ok("index", "build", "--index", index, "--model", model, "--data", self.path("x.npy"))
        self.fails(2, "x.npy holds vectors, not codes; give --model", "search", "--index", index, "--queries", self.path("x.npy"))
        np.save(self.path("u8.npy"), np.zeros((3, 20), np.uint8))
        self.fails(2, "u8.npy holds vectors, give --model", "search",
                   "--index", index, "--queries", self.path("u8.npy"))
        self.fails(2, "x.index is an index; give it as --index", "search", "--database", index, "--model", model,
                   "--queries", self.path("x.npy"))
        self.fails(2, "is an index; give it as --index", "evaluate", "--database", index, "--model", model,
                   "--queries", self.path("x.npy"), "--neighbours", 3)
        # One vector is one query, however its numbers are arranged.
        expected = self.ok("search", "--index", index, "--model", model, "--queries", self.path("x.npy"), "--first", 1)
        np.save(self.path("one.npy"), x[0])
        np.save(self.path("column.npy"), x[:1].T)
        for name in ("one.npy", "column.npy"):
            self.assertEqual(self.ok("search", "--index", index, "--model", model, "--queries", self.path(name)), expected)
        self.ok("search", "--index", index, "--model", model, "--queries", self.path("one.npy"), "--rank", "reconstruction")

    def test_nothing_is_not_asked_for(self):
        self.data()
        self.train("x.npy")
        search = ["search", "--model", self.path("m.bdnn"), "--database", self.path("x.npy"), "--queries", self.path("x.npy")]
        for option in ("--first", "--shortlist"):
            self.fails(2, f"{option}: 0 is too few; give 1 or more", *search, option, 0)
        evaluate = ["evaluate", "--model", self.path("m.bdnn"), "--database", self.path("x.npy"), "--queries", self.path("x.npy")]
        for option in ("--cutoff", "--neighbours", "--at"):
            self.fails(2, f"{option}: 0 is too few; give 1 or more", *evaluate, option, 0)

    def test_seeds_and_ids_up_to_the_largest(self):
        self.data()
        largest = 2**64 - 1
        train = ["train", "--method", "itq", "--bits", 8, "--data", self.path("x.npy"), "--model", self.path("m.bdnn"), "--seed"]
        self.ok(*train, largest)
        self.assertIn(str(largest), self.ok("inspect", self.path("m.bdnn")))
        self.fails(2, "'18446744073709551616' is not a whole number below 2^64", *train, largest + 1)
        np.save(self.path("ids.npy"), np.array([largest, *range(399)], np.uint64))
        index = ["--index", self.path("x.index")]
        self.ok("index", "build", *index, "--model", self.path("m.bdnn"), "--data", self.path("x.npy"), "--ids", self.path("ids.npy"))
        self.assertIn("now 399 codes", self.ok("index", "remove", *index, "--id", largest))

    def test_names_under_a_byte_order_mark(self):
        self.data(rows=2, dimension=20)
        self.data("base.npy")
        self.train("base.npy")
        write(self.path("names.txt"), b"\xef\xbb\xbfanna\r\nbert\r\n")
        index = ["--index", self.path("x.index")]
        self.ok("index", "build", *index, "--model", self.path("m.bdnn"), "--data", self.path("x.npy"), "--names", self.path("names.txt"))
        self.assertIn("now 1 codes", self.ok("index", "remove", *index, "--name", "anna"))

    def test_names_are_reranked(self):
        x = self.data(rows=200)
        self.train("x.npy")
        names = [f"v{(7 * i) % 200:03d}" for i in range(200)]  # not in their order
        write(self.path("names.txt"), "\n".join(names).encode())
        index = ["--index", self.path("x.index")]
        self.ok("index", "build", *index, "--model", self.path("m.bdnn"), "--data", self.path("x.npy"), "--names", self.path("names.txt"))
        search = ["search", *index, "--model", self.path("m.bdnn"), "--queries", self.path("x.npy"), "--first", 5, "-k", 3,
                  "--shortlist", 200, "--rerank", self.path("x.npy")]
        self.fails(2, "give --rerank-names, a file with the names of the vectors in", *search)
        found = self.ok(*search, "--rerank-names", self.path("names.txt"))
        rows = [line.split("\t") for line in found.splitlines()[1:]]
        distances = ((x[:5, None] - x[None]) ** 2).sum(axis=2)
        expected = [[str(q), names[i]] for q in range(5) for i in np.argsort(distances[q])[:3]]
        self.assertEqual([row[:2] for row in rows], expected)
        write(self.path("few.txt"), b"v000\n")
        self.fails(2, "has 200 vectors, and 1 names were given", *search, "--rerank-names", self.path("few.txt"))
        np.save(self.path("ids.npy"), np.arange(200))
        self.fails(2, "are names; give --rerank-names", *search, "--rerank-ids", self.path("ids.npy"))
        # Under ids of one's own.
        ids = np.array([(11 * i) % 200 + 1000 for i in range(200)])
        np.save(self.path("ids.npy"), ids)
        self.ok("index", "build", "--index", self.path("y.index"), "--model", self.path("m.bdnn"), "--data", self.path("x.npy"),
                "--ids", self.path("ids.npy"))
        search[2] = self.path("y.index")
        found = self.ok(*search, "--rerank-ids", self.path("ids.npy"))
        self.assertEqual([line.split("\t")[1] for line in found.splitlines()[1:]],
                         [str(ids[i]) for q in range(5) for i in np.argsort(distances[q])[:3]])

    def test_names_of_files_as_long_as_the_system_has_them(self):
        self.data()
        longest = os.pathconf(self.folder.name, "PC_NAME_MAX")
        for train in (["--method", "itq"], ["--method", "uh-bdnn", "--set", "iterations=1", "--set", "first_steps=10"]):
            model = self.path("m" * (longest - 5) + ".bdnn")
            self.ok("train", *train, "--bits", 8, "--data", self.path("x.npy"), "--model", model)
            self.ok("inspect", model)
        self.ok("encode", "--model", model, "--data", self.path("x.npy"), "--out", self.path("c" * (longest - 6) + ".codes"))
        self.fails(1, "File name too long", "convert", self.path("x.npy"), self.path("c" * (longest - 3) + ".npy"))

    @unittest.skipIf(SANITIZED, "a sanitizer needs more memory than the limit")
    def test_a_limit_of_memory_is_an_error_within_seconds(self):
        self.data()
        for limit in (150_000, 200_000, 300_000):
            train = subprocess.run(["bash", "-c", f'ulimit -v {limit}; "$0" train --method itq --bits 8 --data "$1" --model "$2"', BDNN,
                                    self.path("x.npy"), self.path("m.bdnn")], capture_output=True, text=True, timeout=60)
            if train.returncode != 0:  # with one thread of OpenBLAS, the limit may be enough
                self.assertEqual(train.returncode, 1)
                self.assertIn("out of memory: OpenBLAS needs 128 MB", train.stderr)
            methods = subprocess.run(["bash", "-c", f'ulimit -v {limit}; "$0" methods', BDNN], capture_output=True, text=True, timeout=60)
            self.assertEqual(methods.returncode, 0, methods.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
