"""Index files: changes, crashes, filters, damage."""

import fcntl
import json
import os
import signal
import subprocess
import time
import unittest

import numpy as np

from program import BDNN, SANITIZED, CommandLine, read, run, write


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
        self.fails(2, "choose automatic, scan, mih or bucket", *plain, "--plan", "best")
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
        self.fails(2, "nothing to remove; give --id", "index", "remove", "--index", self.index)
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
        newer[8] = 6
        write(self.path("newer.index"), newer)
        self.fails(1, "use a newer bdnn", "search", "--index", self.path("newer.index"), "--queries", self.path("q.npy"))

    def build(self, *more):
        return self.ok("index", "build", "--index", self.index, "--data", self.path("c.npy"), *more)

    def info(self, *more):
        return json.loads(self.ok("index", "info", "--index", self.index, "--json", *more))

    def test_damage_is_not_compacted_away_but_can_be_salvaged(self):
        self.build()
        damaged = bytearray(read(self.index))
        damaged[9000] ^= 1
        write(self.index, damaged)
        index = ["--index", self.index]
        self.fails(1, "is damaged", "index", "info", "--verify", *index)
        result = self.fails(1, "the codes (2048 bytes at byte 8192) do not agree with their checksum", "index", "compact", *index)
        self.assertIn(f"'bdnn index compact --index {self.index} --salvage' keeps the intact codes and lists the lost ones", result.stderr)
        np.save(self.path("many.npy"), np.tile(self.codes, (3, 1)))
        self.fails(1, "--salvage", "index", "add", "--data", self.path("many.npy"), *index)
        self.assertEqual(read(self.index), damaged)
        out = self.ok("index", "compact", "--salvage", *index)
        self.assertIn("0 kept, 500 lost", out)  # all stand in one block of 4,096 bytes
        self.assertIn("lost ids: 0 to 499", out)
        self.info("--verify")
        self.ok("index", "add", "--data", self.path("c.npy"), *index)
        # A header: the last change is missing, which every reader says and no writer passes over.
        damaged = bytearray(read(self.index))
        damaged[4096 + 20:4096 + 40] = b"x" * 20
        write(self.index, damaged)
        search = run("search", "--queries", self.path("q.npy"), "--json", *index)
        self.assertEqual(search.returncode, 0)
        self.assertIn("warning", search.stderr)
        self.assertIn("the last change is missing", search.stderr)
        self.assertEqual(len(self.info()["warnings"]), 1)
        self.fails(1, "--salvage", "index", "remove", "--id", 3, *index)
        self.fails(1, "--salvage", "index", "info", "--verify", *index)
        change = json.loads(self.ok("index", "compact", "--salvage", "--json", *index))["change"]
        self.assertEqual((change["kept"], change["lost"]), (0, 0))
        self.assertEqual(self.info("--verify")["warnings"], [])

    def test_upsert_and_removals_that_may_miss(self):
        self.build()
        np.save(self.path("ids.npy"), np.arange(400, 600))
        np.save(self.path("two.npy"), self.codes[:200])
        keys = ["--index", self.index, "--ids", self.path("ids.npy")]
        change = json.loads(self.ok("index", "upsert", "--data", self.path("two.npy"), "--json", *keys))["change"]
        self.assertEqual((change["added"], change["replaced"]), (100, 100))
        self.expect_holds(np.vstack([self.codes[:400], self.codes[:200]]), np.arange(600))
        self.fails(2, "give the keys of the codes: --ids or --names", "index", "upsert", "--index", self.index, "--data", self.path("two.npy"))
        self.ok("index", "remove", "--index", self.index, "--id", 3)
        self.fails(2, "id 3 is not there", "index", "remove", "--index", self.index, "--id", 3)
        out = self.ok("index", "remove", "--index", self.index, "--id", 3, "--id", 4, "--ignore-missing")
        self.assertIn("1 removed, 1 not found; now 598 codes", out)
        self.fails(2, "the keys of its codes are ids, not names", "index", "remove", "--index", self.index, "--name", "x")
        write(self.path("names.txt"), b"".join(b"%d\n" % i for i in range(500)))
        self.build("--names", self.path("names.txt"), "--force")
        self.fails(2, "the keys of its codes are names, not ids", "index", "remove", "--index", self.index, "--id", 3)

    def test_a_change_that_was_made_is_never_reported_as_failed(self):
        self.build()
        with open("/dev/full", "w") as full:
            result = subprocess.run([BDNN, "index", "remove", "--index", self.index, "--id", "3"], stdout=full, stderr=subprocess.PIPE, text=True)
        self.assertEqual(result.returncode, 0)
        self.assertIn("warning: the output is written, but reporting it failed", result.stderr)
        self.assertEqual(self.info()["codes"], 499)
        # The compaction after a removal finds no room.
        rows = 40_000
        np.save(self.path("many.npy"), self.rng.integers(0, 256, size=(rows, 4), dtype=np.uint8))
        np.save(self.path("gone.npy"), np.arange(rows * 3 // 4))
        self.ok("index", "build", "--index", self.index, "--data", self.path("many.npy"), "--force", "--tables", "never")
        os.mkdir(self.path("disk"))
        script = """
            cd "$1"
            mount -t tmpfs -o size=$(($(stat -c %s x.index) / 1024 + 40))k tmpfs disk || exit 90
            cp x.index disk/x.index
            "$2" index remove --index disk/x.index --ids gone.npy > /dev/null; echo "remove $?"
            "$2" index info --index disk/x.index --verify --json | grep -c '"codes":10000'
            echo "left: $(ls -A disk | tr '\\n' ' ')"
            umount disk
        """
        result = self.with_mounts(script)
        self.assertEqual(result.stdout.splitlines(), ["remove 0", "1", "left: x.index "], result.stderr)
        self.assertIn("warning: the change is made; the compaction that was due failed", result.stderr)
        self.assertIn("No space left on device", result.stderr)

    def test_the_choice_of_tables_is_kept(self):
        self.build("--tables", "always")
        self.ok("index", "add", "--index", self.index, "--data", self.path("c.npy"))
        self.ok("index", "compact", "--index", self.index)
        self.assertEqual((self.info()["tables_choice"], self.info()["tables"] > 0), ("always", True))
        self.ok("index", "compact", "--index", self.index, "--tables", "never")
        self.ok("index", "compact", "--index", self.index)
        self.assertEqual((self.info()["tables_choice"], self.info()["tables"]), ("never", 0))

    def test_inspect_knows_an_index(self):
        self.build()
        facts = json.loads(self.ok("inspect", self.index, "--json"))
        self.assertEqual((facts["kind"], facts["count"], facts["bits"], facts["keys"]), ("index", 500, 32, "ids"))
        self.fails(2, "does not apply to a file that holds no codes", "inspect", self.index, "--brief")

    def test_writers_and_what_they_left_are_explained(self):
        self.build()
        with open(self.index, "rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            self.assertTrue(self.info()["writer_at_work"])
            self.assertIn("another process is writing to it now", self.ok("index", "info", "--index", self.index))
            process = subprocess.Popen([BDNN, "index", "remove", "--index", self.index, "--id", "3"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
            self.assertIn(b"waiting for another writer of", process.stderr.readline())
        self.assertEqual(process.wait(), 0)
        process.stderr.close()
        self.assertFalse(self.info()["writer_at_work"])
        left = self.path(".x.index.0123abcd")
        write(left, b"unfinished")
        write(self.path(".x.index.notours!"), b"")
        self.assertEqual(self.info()["left_behind"], [left])
        self.assertIn("left behind by a killed writer", self.ok("index", "info", "--index", self.index))
        with open(left, "rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX)  # as a writer holds its own
            self.assertEqual(self.info()["left_behind"], [])

    def test_build_asks_before_it_replaces(self):
        self.build()
        before = read(self.index)
        again = ["index", "build", "--index", self.index, "--data", self.path("c.npy")]
        self.fails(2, "exists; add to it with 'bdnn index add', or give --force to replace it", *again)
        self.assertEqual(read(self.index), before)
        self.ok(*again, "--force")

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

    # Slow: a moment is hit by chance, so it takes many kills to hit each.
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
        # A killed process tells a sanitizer nothing; what reads the state it left does.
        while killed < (50 if SANITIZED else 200):
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
