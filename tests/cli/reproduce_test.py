"""Reproductions: what is kept, what is run again, and the report in a browser."""

import html
import json
import os
import pty
import re
import shutil
import struct
import subprocess
import time
import unittest
import zlib

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


# Brightness, from 0 to 1, of what the page paints.
COLOURS = """
<script>
const brightness = (selector, what) =>
  getComputedStyle(document.querySelector(selector))[what].match(/[\\d.]+/g).slice(0, 3).reduce((sum, c) => sum + c / 765, 0);
document.body.dataset.probe = JSON.stringify({page: brightness('body', 'backgroundColor'), text: brightness('body', 'color'),
  caption: brightness('figcaption', 'color'), axis: brightness('figure .plot text', 'fill')});
</script>
"""


def streams(pdf):
    """The streams of a PDF that can be decompressed."""
    for found in re.finditer(rb"(?<!end)stream\r?\n", pdf):
        try:
            yield zlib.decompressobj().decompress(pdf[found.end():])
        except zlib.error:
            pass


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

    def cells(self):
        """Finished cells by method, length and seed."""
        if not os.path.exists(self.path("out/results.json")):
            return {}
        return {(c["method"], c["bits"], c["seed"]): c for c in self.results()["cells"]}

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

    # Slow: trainings must last long enough to be killed between two cells.
    def test_killed_at_any_moment_it_loses_only_running_cells(self):
        for samples in (400, 1600, 6400, 25600):  # a fast machine may finish all cells before the first kill
            self.digits(samples, 40)
            if self.kills_between_cells() > 0:
                return
        self.fail("no kill met some of the cells finished, not all")

    def kills_between_cells(self):
        """Runs and kills a reproduction until it ends; how many kills met some of its cells finished, not all."""
        seeds = ["--seeds", "1,2,3,4,5,6,7,8,9,10"]
        self.ok(*self.arguments(*seeds, "--threads", 1))
        whole = {key: cell["values"] for key, cell in self.cells().items()}
        shutil.rmtree(self.path("out"))
        finished, killed, killed_between_cells = {}, 0, 0
        while True:
            process = subprocess.Popen([BDNN, *map(str, self.arguments(*seeds, "--threads", 2))], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            while killed % 2 == 1 and process.poll() is None and len(self.cells()) == len(finished):
                time.sleep(0.001)  # every other time it is killed just after it has added a cell
            try:
                process.wait(timeout=600 if killed == 15 else 0 if killed % 2 == 1 else self.rng.uniform(0.01, 0.1))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
                killed += 1
            cells = self.cells()
            for key, cell in finished.items():
                self.assertEqual(cells[key], cell, "a finished cell was lost or run again")
            finished = cells
            if process.returncode == 0:
                break
            killed_between_cells += 0 < len(finished) < len(whole)
        self.assertEqual({key: cell["values"] for key, cell in finished.items()}, whole)
        shutil.rmtree(self.path("out"))
        return killed_between_cells

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
        write(self.path("e.toml"), EXPERIMENT.replace('method = "lsh"', 'method = "lsh"\nquick = false').encode())
        result = run(*self.arguments("--quick", "--method", "lsh"))
        self.assertEqual(result.returncode, 0, result.stderr)
        facts = "\n".join(self.results()["experiments"][0]["facts"])
        self.assertIn("training: 5,000 vectors of 30 u8", facts)
        self.assertIn("queries: 500 vectors", facts)
        self.assertEqual(len(self.results()["cells"]), 2)
        self.assertIn("A quick run on a small part", read(self.path("out/report.html")).decode())
        self.assertIn("--quick --method LSH", read(self.path("out/report.md")).decode())
        self.ok(*self.arguments("--quick"))
        self.assertEqual([m["label"] for m in self.results()["experiments"][0]["methods"]], ["ITQ"], "slow methods run when they are named")

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

    def chromium(self, page, *options):
        """Runs Chromium without a window; what it prints."""
        if SANITIZED or not shutil.which("chromium"):
            self.skipTest("needs chromium, and tests no code of ours that a sanitizer sees")
        shown = subprocess.run(["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                                "--user-data-dir=" + self.path("profile"), *options, "file://" + self.path(page)],
                               capture_output=True, text=True, timeout=120)
        self.assertEqual(shown.returncode, 0, shown.stderr[-2000:])
        return shown.stdout

    def probe(self, script, *options):
        """What a script finds out on the page of the report, as it left it in the data of the body."""
        page = read(self.path("out/report.html")).decode()
        write(self.path("probe.html"), page.replace("</body>", script + "</body>").encode())
        found = re.search(r'data-probe="([^"]*)"', self.chromium("probe.html", "--virtual-time-budget=2000", "--dump-dom", *options))
        self.assertTrue(found, "the script did not run")
        return json.loads(html.unescape(found[1]))

    def test_the_page_in_a_browser(self):
        self.ok(*self.arguments())
        page = read(self.path("out/report.html")).decode()
        self.assertIsNone(re.search(r"https?://", page))
        probe = self.probe(PROBE, "--window-size=390,844")
        self.assertEqual(probe["drawn"], [2, 2, 2, 2], "a curve per method in each plot")
        self.assertEqual(probe["off"], 4, "switching a method off hides its curve in every plot")
        self.assertEqual(probe["back"], 0)
        self.assertRegex(probe["tip"], r"LSH, 4 bits: \d+\.\d\d %")
        self.assertEqual(probe["images"], 6 + 2 * 6 * 10)
        self.assertTrue(probe["shown"])
        self.assertEqual(probe["fetched"], [])
        self.assertLessEqual(probe["wide"], 0, "a phone's screen is not wide enough")

    def test_the_page_in_the_dark(self):
        self.ok(*self.arguments())
        light, dark = (self.probe(COLOURS, f"--blink-settings=preferredColorScheme={scheme}") for scheme in (1, 0))
        for name in ("text", "caption", "axis"):
            self.assertGreater(light["page"] - light[name], 0.4, name)
            self.assertGreater(dark[name] - dark["page"], 0.4, name)
        self.assertGreater(light["page"], 0.9)
        self.assertLess(dark["page"], 0.2)

    def test_the_page_on_paper(self):
        self.ok(*self.arguments())
        self.chromium("out/report.html", "--blink-settings=preferredColorScheme=0", "--print-to-pdf=" + self.path("report.pdf"))
        pdf = read(self.path("report.pdf"))
        self.assertTrue(pdf.startswith(b"%PDF-"))
        pages = [page for page in streams(pdf) if re.search(rb"^BT$", page, re.MULTILINE)]
        self.assertEqual(len(pages), len(re.findall(rb"/Type /Page\b", pdf)), "every page has text")
        self.assertGreaterEqual(pdf.count(b"/Subtype /Image"), 6, "the query images")
        for page in pages:
            colours = [sum(map(float, colour.split())) / 3 for colour in re.findall(rb"([\d.]+ [\d.]+ [\d.]+) rg", page)]
            self.assertEqual(colours[0], 1, "paper is white, for readers who like the dark on a screen too")
            self.assertIn(0, colours)
        shown = sum(len(re.findall(rb"> Tj$", page, re.MULTILINE)) for page in pages)
        self.assertGreater(shown, 200, "pieces of text")


if __name__ == "__main__":
    unittest.main()
