"""What the tests of the program share: how it is run, and what is expected of every run.

Each test here is run as: BDNN=path/to/bdnn python3 tests/cli/index_test.py
"""

import os
import subprocess
import tempfile
import unittest

import numpy as np

BDNN = os.path.abspath(os.environ["BDNN"])
SANITIZED = "asan" in BDNN or "tsan" in BDNN


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

    def with_mounts(self, script):
        """Runs a script that may mount: "$1" is the folder of the test, "$2" the program."""
        unshare = ["unshare", "--mount"] if os.geteuid() == 0 else ["unshare", "--user", "--map-root-user", "--mount"]
        for propagation in ("private", "unchanged"):  # in a chroot the first is not to be had
            result = subprocess.run([*unshare, "--propagation", propagation, "bash", "-c", script, "bash", self.folder.name, BDNN],
                                    capture_output=True, text=True)
            if "propagation" not in result.stderr:
                break
        return result

    def train(self, data, model="m.bdnn", *more):
        self.ok("train", "--method", "itq", "--bits", 8, "--data", self.path(data), "--model", self.path(model), *more)

    def data(self, name="x.npy", rows=400, dimension=20, dtype=np.float32):
        x = self.rng.normal(size=(rows, dimension)).astype(dtype)
        np.save(self.path(name), x)
        return x
