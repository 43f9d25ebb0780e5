"""Index files: changes, crashes, filters, damage."""

import json
import os
import signal
import subprocess
import time
import unittest

import numpy as np

from program import BDNN, CommandLine, read, write


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
        result = self.with_mounts(script)
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


if __name__ == "__main__":
    unittest.main(verbosity=2)
