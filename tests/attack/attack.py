"""Attacks on every command that writes: injected faults, kills, files cut while they are mapped.

    BDNN=build/release/bdnn FAULTS=build/release/tests/libbdnn_faults.so python3 tests/attack/attack.py [--long] [TEST]

Prints what was done and what came of it; docs/reliability.md shows the figures of the long form. Each attack starts from
the same files. Afterwards

  - status 0 means that the new state stands, whole; status 1 that the old one does, byte for byte, unless the message
    says that the new one is in place but may be lost if the power fails; no other status is allowed;
  - a failure explains itself on standard error;
  - no temporary file is left, unless the process was killed or its removal was what failed;
  - a process that was killed leaves the old state or the new, and the same command can be given again.
"""

import collections
import errno
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import numpy as np

BDNN = os.path.abspath(os.environ["BDNN"])
FAULTS = os.path.abspath(os.environ["FAULTS"])
SANITIZED = "asan" in BDNN
LONG = "--long" in sys.argv
IN_DOUBT = "may be lost if the power fails"


def read(path):
    with open(path, "rb") as file:
        return file.read()


class Attack(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        # In memory, where a sync takes no time: what is tested is what the program does about its outcome.
        cls.base = tempfile.TemporaryDirectory(prefix="bdnn attack ", dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None)
        cls.rng = np.random.default_rng(1)
        cls.pristine = os.path.join(cls.base.name, "pristine")
        cls.work = os.path.join(cls.base.name, "work")
        os.mkdir(cls.pristine)
        at = lambda name: os.path.join(cls.pristine, name)
        x = cls.rng.normal(size=(300, 12)).astype(np.float32)
        codes = cls.rng.integers(0, 256, size=(3000, 8), dtype=np.uint8)
        np.save(at("x.npy"), x)
        np.save(at("labels.npy"), np.arange(300) % 3)
        np.save(at("codes.npy"), codes[:1500])
        np.save(at("more.npy"), codes[1500:2000])
        np.save(at("large.npy"), codes)
        np.save(at("ids.npy"), np.arange(1400, 1900))
        np.save(at("gone.npy"), np.arange(0, 1500, 3))
        np.save(at("many.npy"), cls.rng.integers(0, 256, size=(12_000, 8), dtype=np.uint8))
        np.save(at("most.npy"), np.arange(11_500))
        cls.plain("train", "--method", "itq", "--bits", 8, "--data", at("x.npy"), "--model", at("m.bdnn"))
        cls.plain("encode", "--model", at("m.bdnn"), "--data", at("x.npy"), "--out", at("x.codes"))
        cls.plain("index", "build", "--index", at("x.index"), "--data", at("codes.npy"), "--tables", "always")
        cls.plain("index", "add", "--index", at("x.index"), "--data", at("more.npy"))
        cls.plain("index", "build", "--index", at("many.index"), "--data", at("many.npy"), "--tables", "never")
        # A damaged one, to salvage: a flipped bit among its codes.
        damaged = bytearray(read(at("x.index")))
        damaged[9000] ^= 1
        with open(at("damaged.index"), "wb") as file:
            file.write(damaged)

    @classmethod
    def tearDownClass(cls):
        cls.base.cleanup()

    @classmethod
    def plain(cls, *arguments):
        result = subprocess.run([BDNN, *map(str, arguments)], capture_output=True, text=True, timeout=600)
        if result.returncode != 0:
            raise RuntimeError(result.stderr)
        return result.stdout

    def start(self, arguments, **faults):
        environment = dict(os.environ, LD_PRELOAD=FAULTS, BDNN_FAULT_FOLDER=self.work, **faults)
        if SANITIZED:
            environment["ASAN_OPTIONS"] = "verify_asan_link_order=0:detect_leaks=0"
        return subprocess.run([BDNN, *arguments], capture_output=True, text=True, env=environment, timeout=600)

    def reset(self, output=None):
        """The files as they were at first; with `output`, only that one and what stands beside it under temporary names."""
        if output is None:
            shutil.rmtree(self.work, ignore_errors=True)
            shutil.copytree(self.pristine, self.work)
            return
        for name in self.left_behind():
            os.remove(self.at(name))
        original = os.path.join(self.pristine, os.path.basename(output))
        if os.path.exists(original):
            shutil.copyfile(original, output)
        elif os.path.exists(output):
            os.remove(output)

    def at(self, name):
        return os.path.join(self.work, name)

    def commands(self):
        """Name: arguments, and the file that is written."""
        x, m, index = self.at("x.npy"), self.at("m.bdnn"), self.at("x.index")
        one = ["--threads", "1"]
        return {
            "index build": (["index", "build", "--index", index, "--data", self.at("codes.npy"), "--force", *one], index),
            "index add": (["index", "add", "--index", index, "--data", self.at("more.npy"), *one], index),
            "index add, merging": (["index", "add", "--index", index, "--data", self.at("large.npy"), "--tables", "always", *one], index),
            "index upsert": (["index", "upsert", "--index", index, "--data", self.at("more.npy"), "--ids", self.at("ids.npy"), *one], index),
            "index remove": (["index", "remove", "--index", index, "--ids", self.at("gone.npy")], index),
            "index remove, compacting": (["index", "remove", "--index", self.at("many.index"), "--ids", self.at("most.npy")], self.at("many.index")),
            "index compact": (["index", "compact", "--index", index, *one], index),
            "index compact --salvage": (["index", "compact", "--index", self.at("damaged.index"), "--salvage", *one], self.at("damaged.index")),
            "encode": (["encode", "--model", m, "--data", x, "--out", self.at("new.codes"), *one], self.at("new.codes")),
            "decode": (["decode", "--model", m, "--codes", self.at("x.codes"), "--out", self.at("new.fvecs"), *one], self.at("new.fvecs")),
            "convert": (["convert", x, self.at("new.fvecs")], self.at("new.fvecs")),
            "train": (["train", "--method", "itq", "--bits", "8", "--seed", "2", "--data", x, "--model", m, *one], m),
            "evaluate --curve": (["evaluate", "--model", m, "--database", x, "--queries", x, "--neighbours", "3", "--curve",
                                  self.at("curve.csv"), *one], self.at("curve.csv")),
        }

    def chosen(self):
        """The quick form leaves out what the index does not need."""
        return {name: entry for name, entry in self.commands().items() if LONG or name.startswith("index") or name == "encode"}

    def state(self, path):
        """What an output holds, such that equal states are equal: of an index, what can be found in it."""
        if not os.path.exists(path):
            return None
        if not path.endswith(".index"):
            return read(path)
        return self.found_in(path)

    def found_in(self, path):
        info = json.loads(self.plain("index", "info", "--index", path, "--json", *([] if "damaged" in path else ["--verify"])))
        out = self.plain("search", "--index", path, "--queries", os.path.join(self.pristine, "large.npy"), "--first", 40, "-k", 8, "--json")
        return info["codes"], json.dumps(json.loads(out)["results"])

    def expectations(self, arguments, output):
        """The states before and after a command that is left alone, the bytes before, and the calls that it makes."""
        self.reset()
        before = self.state(output)
        old_bytes = read(output) if os.path.exists(output) else None
        log = os.path.join(self.base.name, "calls")
        if os.path.exists(log):
            os.remove(log)
        result = self.start(arguments, BDNN_FAULT_LOG=log)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.new_bytes = read(output)
        return before, self.state(output), old_bytes, read(log).decode().split()

    def expect_new(self, output, after, what):
        # Equal bytes are an equal state, and quicker to compare.
        if not os.path.exists(output) or read(output) != self.new_bytes:
            self.assertEqual(self.state(output), after, what)

    def is_unchanged(self, output, old_bytes):
        if old_bytes is None or not os.path.exists(output):
            return old_bytes is None and not os.path.exists(output)
        now = read(output)
        # What a killed writer appended to an index is not part of its state.
        return now[:len(old_bytes)] == old_bytes if output.endswith(".index") else now == old_bytes

    def header_is_torn(self, path):
        result = subprocess.run([BDNN, "index", "info", "--index", path, "--verify"], capture_output=True, text=True)
        return result.returncode == 1 and "one of its two headers cannot be read" in result.stderr

    def left_behind(self):
        return [name for name in os.listdir(self.work) if name.startswith(".")]

    def faults_of(self, call):
        faults = [errno.EIO]
        if LONG and call in ("open", "write", "pwrite", "fsync", "fdatasync", "ftruncate", "rename"):
            faults.append(errno.ENOSPC)
        if LONG and call in ("write", "pwrite", "read", "pread"):
            faults += [errno.EINTR, "short"]
        return faults

    def test_every_call_of_every_writing_command_fails_once(self):
        total = collections.Counter()
        for name, (arguments, output) in self.chosen().items():
            before, after, old_bytes, calls = self.expectations(arguments, output)
            tally = collections.Counter()
            for n, call in enumerate(calls, 1):
                if not LONG and n % (24 if SANITIZED else 4) != 1:
                    continue
                for mode in self.faults_of(call):
                    self.reset(output)
                    result = self.start(arguments, BDNN_FAULT_AT=str(n), BDNN_FAULT=str(mode))
                    what = f"{name}: call {n} of {len(calls)}, {call}, {mode}: status {result.returncode}: {result.stderr}"
                    self.assertIn(result.returncode, (0, 1), what)
                    if result.returncode == 0:
                        self.expect_new(output, after, what)
                        tally["done"] += 1
                    elif IN_DOUBT in result.stderr:
                        self.expect_new(output, after, what)
                        tally["in doubt"] += 1
                    else:
                        self.assertTrue(result.stderr.startswith("bdnn"), what)
                        self.assertTrue(self.is_unchanged(output, old_bytes), what)
                        tally["refused"] += 1
                    if mode in (errno.EINTR, "short"):
                        self.assertEqual(result.returncode, 0, what)
                    if call != "unlink":
                        self.assertEqual(self.left_behind(), [], what)
            total.update(tally)
            print(f"{name:26} {len(calls):4} calls, {sum(tally.values()):4} faults: {tally['refused']:4} refused, "
                  f"{tally['done']:4} overcome, {tally['in doubt']:2} in place but in doubt", flush=True)
        print(f"{sum(total.values())} faults, none with a false report\n", flush=True)

    def test_a_folder_that_cannot_be_synced_is_an_error(self):
        arguments, output = self.commands()["encode"]
        _, after, _, calls = self.expectations(arguments, output)
        n = len(calls) - calls[::-1].index("fsync")  # the last is that of the folder
        self.reset(output)
        result = self.start(arguments, BDNN_FAULT_AT=str(n), BDNN_FAULT=str(errno.EIO))
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertIn("is in place, but may be lost if the power fails: cannot sync its folder", result.stderr)
        self.expect_new(output, after, result.stderr)

    def test_killed_before_every_call_and_amid_every_write(self):
        total = 0
        for name, (arguments, output) in self.chosen().items():
            before, after, old_bytes, calls = self.expectations(arguments, output)
            tally = collections.Counter()
            for n, call in enumerate(calls, 1):
                if not LONG and n % (24 if SANITIZED else 6) != 1:
                    continue
                for mode in ("kill", "tear"):
                    if mode == "tear" and call not in ("write", "pwrite"):
                        continue
                    self.reset(output)
                    result = self.start(arguments, BDNN_FAULT_AT=str(n), BDNN_FAULT=mode)
                    what = f"{name}: {mode} at call {n} of {len(calls)}, {call}: {result.stderr}"
                    self.assertEqual(result.returncode, -signal.SIGKILL, what)
                    if self.is_unchanged(output, old_bytes):
                        tally["old"] += 1
                        if n % 3 == 1:  # what was left does not disturb the next
                            self.plain(*arguments)
                            self.expect_new(output, after, what)
                    elif mode == "tear" and self.header_is_torn(output):
                        # No kill does this, but a disk that writes half a sector would: the change had not happened.
                        self.plain("index", "compact", "--index", output, "--salvage")
                        self.assertEqual(self.state(output), before, what)
                        tally["old"] += 1
                    else:
                        self.expect_new(output, after, what)
                        tally["new"] += 1
            total += sum(tally.values())
            print(f"{name:26} {len(calls):4} calls, {sum(tally.values()):4} kills: {tally['old']:4} times the old state, {tally['new']:3} times the new",
                  flush=True)
        print(f"{total} kills, nothing between the old state and the new\n", flush=True)

    def test_killed_at_random_moments(self):
        kills = 1000 if LONG else 3 if SANITIZED else 8
        tally = collections.Counter()
        commands = {name: entry for name, entry in self.commands().items() if name.startswith("index")}
        known = {}
        while sum(tally.values()) < kills:
            name = list(commands)[int(self.rng.integers(len(commands)))]
            arguments, output = commands[name]
            if name not in known:
                before, after, old_bytes, _ = self.expectations(arguments, output)
                self.reset()
                begin = time.monotonic()
                self.plain(*arguments)
                known[name] = (after, old_bytes, self.new_bytes, time.monotonic() - begin)
            after, old_bytes, self.new_bytes, lasts = known[name]
            self.reset(output)
            process = subprocess.Popen([BDNN, *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
            time.sleep(self.rng.uniform(0, lasts))
            process.kill()
            error = process.communicate()[1]
            if process.returncode == 0:
                continue  # it was faster
            self.assertEqual(process.returncode, -signal.SIGKILL, error)
            unchanged = self.is_unchanged(output, old_bytes)
            if not unchanged:
                self.expect_new(output, after, name)
            tally["old" if unchanged else "new"] += 1
        print(f"{kills} kills at random moments: {tally['old']} times the old state, {tally['new']} times the new\n", flush=True)

    def test_a_file_cut_short_while_it_is_mapped_is_named(self):
        x, m = self.at("x.npy"), self.at("m.bdnn")
        big = self.at("big.fvecs")
        for name, arguments in {
            "x.index": ["search", "--index", self.at("x.index"), "--queries", self.at("more.npy"), "--plan", "scan"],
            "big.fvecs": ["search", "--model", m, "--database", x, "--queries", x, "--rerank", big],
            "x.index: add": ["index", "add", "--index", self.at("x.index"), "--data", self.at("large.npy")],
        }.items():
            self.reset()
            self.plain("convert", self.at("x.npy"), big)
            log = os.path.join(self.base.name, "calls")
            if os.path.exists(log):
                os.remove(log)
            self.assertEqual(self.start(arguments, BDNN_FAULT_LOG=log).returncode, 0)
            calls = read(log).decode().split()
            self.reset()
            self.plain("convert", self.at("x.npy"), big)
            # The first descriptor that is closed after its file was mapped.
            n = calls.index("close", calls.index("mmap")) + 1
            result = self.start(arguments, BDNN_FAULT_AT=str(n), BDNN_FAULT="cut")
            if "add" in name:  # it closes its files when all is done
                self.assertEqual(result.returncode, 0, result.stderr)
                continue
            self.assertEqual(result.returncode, 1, f"{name}: {result.returncode} {result.stderr}")
            self.assertIn(name, result.stderr)
            self.assertIn("replace a file by renaming another onto it", result.stderr)
        print("a file cut short while it is mapped: named, status 1\n", flush=True)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *(argument for argument in sys.argv[1:] if argument != "--long")], verbosity=2)
