"""Reproductions: what is kept, what is run again, and the report in a browser."""

import json
import os
import pty
import re
import shutil
import struct
import subprocess
import time
import unittest

import numpy as np

from program import BDNN, SANITIZED, CommandLine, read, run, write

PROTOCOL = """
name = "digits"
[train]
vectors = "x.idx"
labels = "xl.npy"
[queries]
vectors = "q.idx"
labels = "ql.npy"
[relevance]
kind = "labels"
"""

EXPERIMENT = """
title = "Digits & <signs>"
description = "A test."
protocol = "p.toml"
dataset = "digits"
bits = [4, 8]
seeds = [1, 2]
metrics = ["precision@r2", "mAP"]
[images]
width = 6
height = 5
[[method]]
label = "ITQ"
method = "itq"
[[method]]
label = "LSH"
method = "lsh"
[[paper]]
source = "Table 2"
metric = "precision@r2"
bits = [4, 8]
[paper.percent]
ITQ = [50.0, 60.0]
"""

# Written into a copy of the page: what a reader would see, as text in the title.
PROBE = """
<script>
const plots = [...document.querySelectorAll('figure .plot')];
const drawn = plots.map(p => [...p.querySelectorAll('.series .line')].filter(l => l.getTotalLength() > 1).length);
const button = document.querySelector('.legend button');
button.click();
const off = [...document.querySelectorAll('.series')].filter(s => s.getBoundingClientRect().width === 0).length;
button.click();
const back = [...document.querySelectorAll('.series')].filter(s => s.getBoundingClientRect().width === 0).length;
const plot = plots[0], point = plot.querySelector('.point').getBoundingClientRect();
plot.dispatchEvent(new PointerEvent('pointermove', {clientX: point.x + point.width / 2, clientY: point.y + point.height / 2}));
const tip = document.querySelector('.tip');
const images = [...document.images].map(i => i.complete && i.naturalWidth === 6 && i.naturalHeight === 5);
const fetched = performance.getEntriesByType('resource').filter(r => !r.name.startsWith('data:')).map(r => r.name);
document.body.dataset.probe = JSON.stringify({drawn, off, back, tip: tip.hidden ? null : tip.textContent, images: images.length,
  shown: images.every(x => x), fetched, wide: document.documentElement.scrollWidth - innerWidth});
</script>
"""


def write_idx(path, images):
    write(path, struct.pack(">BBBB3I", 0, 0, 8, 3, *images.shape) + images.tobytes())


class Reproduce(CommandLine):
    def setUp(self):
        super().setUp()
        os.mkdir(self.path("digits"))
        self.digits(400, 40)
        write(self.path("p.toml"), PROTOCOL.encode())
        write(self.path("e.toml"), EXPERIMENT.encode())

    def digits(self, train, queries):
        for name, count in (("x", train), ("q", queries)):
            labels = self.rng.integers(0, 4, size=count)
            images = 40 * self.rng.normal(size=(count, 5, 6)) + 60 * labels[:, None, None] * (np.arange(6) < 3)
            write_idx(self.path(f"digits/{name}.idx"), np.clip(images, 0, 255).astype(np.uint8))
            np.save(self.path(f"digits/{name}l.npy"), labels)

    def arguments(self, *more):
        return ["reproduce", self.path("e.toml"), "--data", self.path(""), "--out", self.path("out"), *more]

    def results(self):
        return json.loads(read(self.path("out/results.json")))

    def test_finished_cells_are_kept_and_the_report_is_the_same_again(self):
        out = self.ok(*self.arguments())
        self.assertIn("out/report.html", out)
        first, page = self.results(), read(self.path("out/report.html"))
        self.assertEqual(len(first["cells"]), 8)
        result = run(*self.arguments())
        self.assertIn("8 of 8 cells are finished, 0 to run", result.stderr)
        self.assertEqual(self.results(), first)
        self.ok("reproduce", "--report", "--out", self.path("out"))
        self.assertEqual(read(self.path("out/report.html")), page)
        report = json.loads(read(self.path("out/report.json")))
        rows = {(r["method"], r["bits"]): r for r in report["experiments"][0]["tables"][0]["rows"]}
        of_seeds = [100 * c["values"]["precision@r2"] for c in first["cells"] if c["method"] == "itq" and c["bits"] == 8]
        self.assertAlmostEqual(rows["ITQ", 8]["ours"], np.mean(of_seeds))
        self.assertAlmostEqual(rows["ITQ", 8]["spread"], max(of_seeds) - min(of_seeds))
        self.assertAlmostEqual(rows["ITQ", 8]["difference"], round(np.mean(of_seeds), 2) - 60)
        evaluated = json.loads(self.ok("evaluate", "--protocol", self.path("p.toml"), "--folder", self.path("digits"), "--method", "itq", "--bits", 8, "--seeds", "1,2", "--json"))
        self.assertAlmostEqual(rows["ITQ", 8]["ours"], 100 * evaluated["summary"][0]["mean"]["precision@r2"])

    def test_the_command_in_the_report_makes_it_again(self):
        self.ok(*self.arguments("--quick", "--method", "LSH", "--bits", "4", "--seeds", "7"))
        command = re.search(r"^    \$ (bdnn .*)$", read(self.path("out/report.md")).decode(), re.MULTILINE)[1]
        again = subprocess.run(command, shell=True, cwd=self.folder.name, capture_output=True, text=True,
                               env=dict(os.environ, PATH=os.path.dirname(BDNN) + ":" + os.environ["PATH"]))
        self.assertEqual(again.returncode, 0, again.stderr)
        values = lambda folder: [(c["method"], c["bits"], c["seed"], c["values"]) for c in
                                 json.loads(read(self.path(folder + "/results.json")))["cells"]]
        self.assertEqual(len(values("out")), 1)
        self.assertEqual(values("results"), values("out"))

    def test_killed_at_any_moment_it_loses_only_running_cells(self):
        self.ok(*self.arguments("--threads", 1))
        whole = {(c["method"], c["bits"], c["seed"]): c["values"] for c in self.results()["cells"]}
        shutil.rmtree(self.path("out"))
        finished, killed = {}, 0
        while True:
            process = subprocess.Popen([BDNN, *map(str, self.arguments("--threads", 2))], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            try:
                process.wait(timeout=self.rng.uniform(0.01, 0.1) if killed < 15 else 600)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
                killed += 1
            if os.path.exists(self.path("out/results.json")):
                cells = {(c["method"], c["bits"], c["seed"]): c for c in self.results()["cells"]}
                for key, cell in finished.items():
                    self.assertEqual(cells[key], cell, "a finished cell was lost or run again")
                finished = cells
            if process.returncode == 0:
                break
        self.assertEqual({key: cell["values"] for key, cell in finished.items()}, whole)

    def test_two_at_once_do_not_share_a_folder(self):
        self.digits(20000, 2000)
        first = subprocess.Popen([BDNN, *map(str, self.arguments("--seeds", "1,2,3,4,5,6,7,8,9", "--threads", 1))], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            while not os.path.exists(self.path("out/results.json")):
                time.sleep(0.01)
            self.fails(1, "another process is working in this folder", *self.arguments())
        finally:
            first.kill()
            first.wait()

    def test_quick_takes_a_small_part(self):
        self.digits(6000, 600)
        result = run(*self.arguments("--quick", "--method", "lsh"))
        self.assertEqual(result.returncode, 0, result.stderr)
        facts = "\n".join(self.results()["experiments"][0]["facts"])
        self.assertIn("training: 5,000 vectors of 30 u8", facts)
        self.assertIn("queries: 500 vectors", facts)
        self.assertEqual(len(self.results()["cells"]), 2)
        self.assertIn("A quick run on a small part", read(self.path("out/report.html")).decode())
        self.assertIn("--quick --method LSH", read(self.path("out/report.md")).decode())

    def test_progress_names_cells_and_failures(self):
        result = run(*self.arguments("--method", "ITQ,lsh:none"))
        self.assertEqual(result.returncode, 2)
        self.assertIn("lsh has no profile 'none'", result.stderr)
        self.ok(*self.arguments("--method", "ITQ,itq", "--bits", "4,4", "--seeds", "2,2"))
        self.assertNotIn("cells are finished", read(self.path("out/report.html")).decode())
        self.assertEqual([c["seed"] for c in self.results()["cells"]], [2], "what is named twice is run once")
        result = run(*self.arguments("--method", "ITQ,pca", "--bits", "8,64", "--seeds", 3))
        self.assertEqual(result.returncode, 1)
        self.assertRegex(result.stderr, r"\[\d/4\] ITQ, 8 bits, seed 3, mAP \d+\.\d\d %, precision@r2 \d+\.\d\d %, \d+\.\d s")
        self.assertIn("pca, 64 bits, seed 3 failed: ", result.stderr)
        self.assertIn("1 cell failed; the report shows the others", result.stderr)
        self.assertIn("3 of 4 cells are finished", read(self.path("out/report.html")).decode())

    def test_a_terminal_shows_cells_time_left_and_the_best_so_far(self):
        master, slave = pty.openpty()
        process = subprocess.Popen([BDNN, *map(str, self.arguments("--threads", 1))], stdout=subprocess.DEVNULL, stderr=slave)
        os.close(slave)
        shown = b""
        try:
            while part := os.read(master, 4096):
                shown += part
        except OSError:  # the other end is closed
            pass
        os.close(master)
        self.assertEqual(process.wait(), 0)
        self.assertRegex(shown.decode(), r"5 of 8 cells, \d+ s left; best so far: (ITQ|LSH) \d+\.\d\d % precision@r2 at \d bits; running: \w+, \d bits, seed 2")

    def test_mistakes(self):
        self.fails(2, "name one or more experiment files", "reproduce")
        self.fails(1, "results.json: no such file; run an experiment first", "reproduce", "--report", "--out", self.path("none"))
        self.fails(2, "--bits does not apply with --report", "reproduce", "--report", "--bits", 8)
        os.remove(self.path("digits/ql.npy"))
        os.mkdir(self.path("out"))
        self.fails(1, "digits/ql.npy: no such file; digits needs it", *self.arguments())
        write(self.path("out/results.json"), b'{"format": "bdnn results", "version": 7}')
        self.fails(1, "is version 7 of the format, this program reads version 1", *self.arguments())

    @unittest.skipIf(SANITIZED or not shutil.which("chromium"), "needs chromium, and tests no code of ours that a sanitizer sees")
    def test_the_page_in_a_browser(self):
        self.ok(*self.arguments())
        page = read(self.path("out/report.html")).decode()
        self.assertIsNone(re.search(r"https?://", page))
        write(self.path("probe.html"), page.replace("</body>", PROBE + "</body>").encode())
        shown = subprocess.run(
            ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--window-size=390,844",
             "--user-data-dir=" + self.path("profile"), "--virtual-time-budget=2000", "--dump-dom", "file://" + self.path("probe.html")],
            capture_output=True, text=True, timeout=120)
        found = re.search(r'data-probe="([^"]*)"', shown.stdout)
        self.assertTrue(found, shown.stderr[-2000:])
        probe = json.loads(found[1].replace("&quot;", '"'))
        self.assertEqual(probe["drawn"], [2, 2, 2, 2], "a curve per method in each plot")
        self.assertEqual(probe["off"], 4, "switching a method off hides its curve in every plot")
        self.assertEqual(probe["back"], 0)
        self.assertRegex(probe["tip"], r"LSH, 4 bits: \d+\.\d\d %")
        self.assertEqual(probe["images"], 6 + 2 * 6 * 10)
        self.assertTrue(probe["shown"])
        self.assertEqual(probe["fetched"], [])
        self.assertLessEqual(probe["wide"], 0, "a phone's screen is not wide enough")


if __name__ == "__main__":
    unittest.main()
