"""Training binary networks: rounds, checkpoints, labels."""

import json
import os
import subprocess
import time
import unittest

import numpy as np

from program import BDNN, SANITIZED, CommandLine, read, run, write


class BinaryNetworks(CommandLine):
    def clouds(self, rows=3000, dimension=16):
        labels = self.rng.integers(0, 5, size=rows)
        x = 3 * self.rng.normal(size=(5, dimension))[labels] + self.rng.normal(size=(rows, dimension))
        np.save(self.path("x.npy"), x.astype(np.float32))
        np.save(self.path("y.npy"), labels.astype(np.int64))

    def arguments(self, method, model, *more):
        labels = ["--labels", self.path("y.npy")] if method == "sh-bdnn" else []
        few = ["--set", "iterations=3", "--set", "patience=0", "--set", "first_steps=240", "--set", "steps=180", "--set", "batch=54"]
        return ["train", "--method", method, "--bits", 8, "--data", self.path("x.npy"), "--model", self.path(model), *labels, *few, *more]

    def test_rounds_are_shown_and_logged(self):
        self.clouds()
        out = self.ok(*self.arguments("uh-bdnn", "m.bdnn", "--log", self.path("log")))
        self.assertIn("reconstruction", out)
        self.assertIn("kept, held-out mAP", out)
        with open(self.path("log")) as file:
            rounds = [json.loads(line) for line in file]
        self.assertEqual([r["iteration"] for r in rounds], [-1, 0, 1, 2, 3])
        for key in ("objective", "reconstruction", "weights", "binary", "independence", "balance", "flipped", "differing", "neighbours", "held_out_mAP", "seconds"):
            self.assertIn(key, rounds[0])
        self.assertFalse(os.path.exists(self.path("m.bdnn.checkpoint")), "a checkpoint outlived its training")
        self.assertIn("held-out mAP", self.ok("inspect", self.path("m.bdnn")))

    def test_training_says_what_codes_it_got(self):
        x = self.rng.normal(size=(500, 12)).astype(np.float32)
        np.save(self.path("x.npy"), x)
        out = self.ok(*self.arguments("uh-bdnn", "m.bdnn"))
        self.assertRegex(out, r"500 codes: \d+ distinct, no constant bits")
        self.assertRegex(out, r"held-out mAP 0\.\d+ \(ITQ 0\.\d+\), codes differ from B in ")
        x[7, 3] = 1e6  # one huge value makes all others look the same
        np.save(self.path("x.npy"), x)
        result = run(*self.arguments("uh-bdnn", "m.bdnn"))
        self.assertEqual(result.returncode, 0)
        self.assertIn("warning: 8 of 8 bits are the same for at least 99% of the vectors", result.stderr)
        self.assertIn("warning: the codes carry ", result.stderr)
        report = json.loads(self.ok(*self.arguments("uh-bdnn", "m.bdnn", "--json")))
        self.assertEqual(len(report["warnings"]), 2)

    def test_models_may_scale_vectors_to_unit_length(self):
        self.clouds(rows=500)
        self.ok(*self.arguments("uh-bdnn", "m.bdnn", "--set", "normalise=unit"))
        self.assertIn("inputs scaled to unit length", self.ok("inspect", self.path("m.bdnn")))
        self.ok("encode", "--model", self.path("m.bdnn"), "--data", self.path("x.npy"), "--out", self.path("a.npy"))
        np.save(self.path("x.npy"), 8 * np.load(self.path("x.npy")))
        self.ok("encode", "--model", self.path("m.bdnn"), "--data", self.path("x.npy"), "--out", self.path("b.npy"))
        self.assertTrue(np.array_equal(np.load(self.path("a.npy")), np.load(self.path("b.npy"))))

    # Slow: a moment is hit by chance, so both methods are killed and resumed many times.
    def test_killed_at_any_moment_it_resumes_to_the_same_model(self):
        self.clouds()
        for method in ("uh-bdnn", "sh-bdnn"):
            self.ok(*self.arguments(method, "whole.bdnn"))
            expected = read(self.path("whole.bdnn"))
            for _ in range(1 if SANITIZED else 2):
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
        self.fails(2, "is the checkpoint of another training run", *self.arguments("uh-bdnn", "m.bdnn", "--resume", "--set", "lambda2=1"))

    def test_what_leaves_no_checkpoint_does_not_resume_nor_remove_one(self):
        self.clouds()
        self.fails(2, "itq writes no checkpoints", "train", "--method", "itq", "--bits", 8, "--data", self.path("x.npy"), "--model", self.path("m.bdnn"), "--resume")
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
                "--model", self.path("m.bdnn"), "--no-checkpoint", "--set", "first_steps=300", "--set", "iterations=0")
        common = ["--model", self.path("m.bdnn"), "--database", self.path("x.npy"), "--queries", self.path("x.npy"),
                  "--database-labels", self.path("y.csv"), "--query-labels", self.path("y.csv"), "--json"]
        found = json.loads(self.ok("evaluate", *common))
        self.assertEqual(found["queries_without_relevant"], (labels == 4).sum())
        self.assertGreater(found["mAP"], 0.8 * (labels != 4).mean())
        for entry in json.loads(self.ok("search", *common, "--first", 20, "-k", 3))["results"]:
            name = names[labels[entry["query"]]]
            self.assertEqual(entry["query_label"], -1 if name == "-1" else name)
            self.assertEqual([-1 if y == 4 else names[y] for y in labels[entry["ids"]]], entry["labels"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
