"""What a user or a disk may get wrong."""

import os
import select
import shutil
import signal
import struct
import subprocess
import tempfile
import time
import unittest

import numpy as np

from program import BDNN, CommandLine, read, run, write, write_fvecs


class Mistakes(CommandLine):
    def test_misuse_has_status_2(self):
        self.fails(2, "subcommand")
        self.fails(2, "--data is required", "train", "--model", self.path("m"))
        self.fails(2, "Try 'bdnn encode --help'", "encode", "--no-such-option")
        self.data()
        self.fails(2, "unknown method 'itqq'; the methods are lsh, ", "train", "--method", "itqq",
                   "--data", self.path("x.npy"), "--model", self.path("m"))
        self.fails(2, "itq has no option 'speed'; it has rotations", "train", "--method", "itq", "--data", self.path("x.npy"), "--bits", 8,
                   "--model", self.path("m"), "--set", "speed=9")
        self.fails(2, "rotations is 0 to 100000", "train", "--method", "itq", "--data", self.path("x.npy"), "--bits", 8,
                   "--model", self.path("m"), "--set", "rotations=many")
        self.fails(2, "write --set name=value", "train", "--data", self.path("x.npy"), "--model", self.path("m"), "--set", "speed")

    def test_data_that_cannot_be_learned_from(self):
        x = self.data()
        train = ["train", "--method", "pca", "--model", self.path("m"), "--data"]
        self.fails(2, "21 bits need as many directions, but the vectors have dimension 20", *train, self.path("x.npy"), "--bits", 21)
        np.save(self.path("few.npy"), x[:8])
        self.fails(2, "8 vectors vary in at most 7 directions", *train, self.path("few.npy"), "--bits", 8)
        np.save(self.path("same.npy"), np.ones((50, 20), np.float32))
        self.fails(2, "all 50 vectors are the same", *train, self.path("same.npy"), "--bits", 8)
        for bad, name in ((np.nan, "nan"), (np.inf, "inf")):
            x[123, 7] = bad
            np.save(self.path("bad.npy"), x)
            self.fails(1, f"{name} in row 123, column 7", *train, self.path("bad.npy"), "--bits", 8)

    def test_files_that_are_missing_empty_or_cut(self):
        x = self.data(rows=100, dimension=12)
        train = ["train", "--method", "itq", "--bits", 4, "--model", self.path("m"), "--data"]
        self.fails(1, "none.fvecs: cannot open: No such file or directory", *train, self.path("none.fvecs"))
        self.fails(1, "is a directory", *train, self.folder.name)
        for name in ("y.fvecs", "y.ivecs", "y.bvecs", "y.npy", "y.idx", "y.idx.gz", "y.csv", "y.hdf5", "y.mat", "y.mat73"):
            np.save(self.path("u8.npy"), self.rng.integers(1, 9, size=(100, 12)).astype(np.uint8))
            self.ok("convert", self.path("u8.npy"), self.path(name))
            whole = read(self.path(name))
            write(self.path(name), b"")
            self.fails(1, f"{name}: is empty", *train, self.path(name))
            cut = len(whole) - 7  # inside the last vector
            if name == "y.csv":
                cut = len(whole) - len(whole.splitlines(True)[-1]) + 3
            write(self.path(name), whole[:cut])
            self.fails(1, name, *train, self.path(name))
        np.save(self.path("u8.npy"), self.rng.integers(0, 9, size=(2, 3072)).astype(np.uint8))
        write(self.path("y.bin"), bytes(3073 * 2 - 1))
        self.fails(1, "y.bin: is truncated or not a CIFAR-10 file", *train, self.path("y.bin"))

    def test_rows_of_different_lengths(self):
        train = ["train", "--method", "itq", "--bits", 2, "--model", self.path("m"), "--data"]
        write(self.path("x.csv"), b"1,2,3\n4,5,6\n7,8\n")
        self.fails(1, "x.csv", *train, self.path("x.csv"))
        with open(self.path("x.fvecs"), "wb") as file:
            for d in (3, 3, 1, 5):
                file.write(struct.pack("<i", d) + bytes(4 * d))
        self.fails(1, "row 2 has dimension 1, the first has 3", *train, self.path("x.fvecs"))

    def test_models_that_do_not_fit_or_are_broken(self):
        self.data()
        self.train("x.npy")
        self.data("other.npy", dimension=21)
        encode = ["encode", "--out", self.path("c.codes"), "--data"]
        self.fails(2, "other.npy have dimension 21, the model expects 20 (trained on x.npy, itq, 8 bits)",
                   *encode, self.path("other.npy"), "--model", self.path("m.bdnn"))
        self.fails(1, "is not a usable model", *encode, self.path("x.npy"), "--model", self.path("x.npy"))
        raw = bytearray(read(self.path("m.bdnn")))
        raw[-1] ^= 1
        write(self.path("flipped.bdnn"), raw)
        self.fails(1, "is damaged: its checksum does not match", *encode, self.path("x.npy"), "--model", self.path("flipped.bdnn"))
        write(self.path("cut.bdnn"), raw[:-5])
        self.fails(1, "is not a usable model", *encode, self.path("x.npy"), "--model", self.path("cut.bdnn"))

    def test_codes_of_another_model_are_not_searched(self):
        self.data()
        self.train("x.npy", "a.bdnn")
        self.train("x.npy", "b.bdnn", "--seed", "2")
        self.ok("encode", "--model", self.path("a.bdnn"), "--data", self.path("x.npy"), "--out", self.path("a.codes"))
        self.ok("encode", "--model", self.path("b.bdnn"), "--data", self.path("x.npy"), "--out", self.path("b.codes"))
        self.fails(2, "encode both with the same model", "search", "--database", self.path("a.codes"), "--queries", self.path("b.codes"))
        self.fails(2, "not by this one", "search", "--model", self.path("b.bdnn"), "--database", self.path("a.codes"),
                   "--queries", self.path("x.npy"))
        np.save(self.path("labels.npy"), np.arange(399))
        self.fails(2, "labels.npy has 399 labels for 400 vectors", "search", "--database", self.path("a.codes"),
                   "--queries", self.path("a.codes"), "--database-labels", self.path("labels.npy"))

    def test_what_cannot_be_encoded_leaves_no_file(self):
        x = self.data(rows=5000)
        self.train("x.npy")
        x[4999, 3] = np.nan
        np.save(self.path("x.npy"), x)
        self.fails(1, "x.npy: vector 4999 has nan in column 3", "encode", "--model", self.path("m.bdnn"),
                   "--data", self.path("x.npy"), "--out", self.path("c.codes"))

    def test_outputs_never_overwrite_their_own_inputs(self):
        self.data()
        self.train("x.npy")
        x, m, c = self.path("x.npy"), self.path("m.bdnn"), self.path("c.npy")
        self.ok("encode", "--model", m, "--data", x, "--out", c)
        np.save(self.path("labels.npy"), np.arange(400) % 2)
        os.symlink(x, self.path("link.npy"))
        os.link(x, self.path("hard.npy"))
        before = {name: read(self.path(name)) for name in ("x.npy", "m.bdnn", "c.npy", "labels.npy")}
        for other in (x, self.path("link.npy"), self.path("hard.npy"), os.path.join(self.folder.name, ".", "x.npy")):
            self.fails(2, "--out would overwrite the input of --data", "encode", "--model", m, "--data", x, "--out", other)
        self.fails(2, "--out would overwrite the input of --codes", "decode", "--model", m, "--codes", c, "--out", c)
        self.fails(2, "--model would overwrite the input of --data", "train", "--method", "itq", "--bits", 8, "--data", x, "--model", x)
        self.fails(2, "--log would overwrite the input of --data", "train", "--method", "itq", "--bits", 8, "--data", x, "--model", m, "--log", x)
        self.fails(2, "--model and --log are the same file", "train", "--method", "itq", "--bits", 8, "--data", x,
                   "--model", self.path("n"), "--log", self.path("n"))
        self.fails(2, "would overwrite the input", "convert", x, x)
        self.fails(2, "--curve would overwrite the input of --database", "evaluate", "--model", m, "--database", x, "--queries", x,
                   "--neighbours", 3, "--curve", x)
        self.fails(2, "--index would overwrite the input of --data", "index", "build", "--index", c, "--data", c, "--force")
        os.link(x, self.path("n.bdnn.checkpoint"))
        self.fails(2, "the checkpoint of --model would overwrite the input of --data", "train", "--bits", 8,
                   "--data", self.path("n.bdnn.checkpoint"), "--model", self.path("n.bdnn"))
        self.fails(2, "the checkpoint of --model and --log are the same file", "train", "--bits", 8, "--data", x,
                   "--model", self.path("o.bdnn"), "--log", self.path("o.bdnn.checkpoint"))
        for name, content in before.items():
            self.assertEqual(read(self.path(name)), content, name)

    def test_nor_the_files_of_a_protocol_or_an_experiment(self):
        self.data(rows=60)
        shutil.copy(self.path("x.npy"), self.path("report.csv"))
        for name in ("x.npy", "report.csv"):
            with open(self.path("p.toml"), "w") as f:
                f.write(f'name = "p"\n[train]\nvectors = "{name}"\n[queries]\nvectors = "{name}"\n'
                        '[relevance]\nkind = "neighbours"\nneighbours = 3\n')
            before = read(self.path(name))
            self.fails(2, "--curve would overwrite the input of the protocol", "evaluate", "--protocol", self.path("p.toml"),
                       "--folder", self.folder.name, "--method", "lsh", "--bits", 8, "--curve", self.path(name))
            self.assertEqual(read(self.path(name)), before)
        with open(self.path("e.toml"), "w") as f:
            f.write('title = "e"\nprotocol = "p.toml"\ndataset = "."\nbits = [8]\n[[method]]\nlabel = "LSH"\nmethod = "lsh"\n')
        self.fails(2, "--out would overwrite the input of the protocol", "reproduce", self.path("e.toml"),
                   "--data", self.folder.name, "--out", self.folder.name)
        self.assertEqual(read(self.path("report.csv")), before)

    def test_what_was_written_stands_if_only_the_report_fails(self):
        self.data()
        self.train("x.npy")
        with open("/dev/full", "w") as full:
            result = subprocess.run([BDNN, "encode", "--model", self.path("m.bdnn"), "--data", self.path("x.npy"), "--out", self.path("c.codes")],
                                    stdout=full, stderr=subprocess.PIPE, text=True)
        self.assertEqual(result.returncode, 0)
        self.assertIn("warning: the output is written, but reporting it failed", result.stderr)
        self.ok("inspect", self.path("c.codes"))

    def test_outputs_that_cannot_be_written(self):
        self.data()
        self.train("x.npy")
        encode = ["encode", "--model", self.path("m.bdnn"), "--data", self.path("x.npy"), "--out"]
        self.fails(1, "cannot write: No such file or directory", *encode, self.path("no/such/c.codes"))
        self.fails(2, "end in .codes, .npy or .bvecs", *encode, self.path("c.txt"))
        os.mkdir(self.path("folder.codes"))
        self.fails(1, "is a directory", *encode, self.path("folder.codes"))

    def test_a_full_disk_leaves_the_old_file_and_nothing_else(self):
        self.data("few.npy", rows=300, dimension=20)
        self.data("many.npy", rows=20_000, dimension=20)
        self.ok("train", "--method", "lsh", "--bits", 64, "--data", self.path("few.npy"), "--model", self.path("m.bdnn"))
        self.ok("encode", "--model", self.path("m.bdnn"), "--data", self.path("few.npy"), "--out", self.path("old.codes"))
        os.mkdir(self.path("disk"))
        # A file system of 64 KB, in a name space of its own; what is written to it needs 160 KB and more.
        script = """
            cd "$1"
            mount -t tmpfs -o size=64k tmpfs disk || exit 90
            cp old.codes disk/c.codes
            "$2" encode --model m.bdnn --data many.npy --out disk/c.codes; echo "encode $?"
            for name in x.npy x.fvecs x.hdf5 x.mat x.csv x.idx.gz; do
              "$2" convert many.npy "disk/$name"; echo "convert $?"
            done
            head -c 100000 /dev/zero > disk/filler
            "$2" train --method itq --bits 8 --data few.npy --model disk/m.bdnn; echo "train $?"
            cmp old.codes disk/c.codes && echo "left: $(ls -A disk | tr '\\n' ' ')"
            umount disk
        """
        result = self.with_mounts(script)
        expected = ["encode 1"] + 6 * ["convert 1"] + ["train 1", "left: c.codes filler "]
        self.assertEqual(result.stdout.splitlines(), expected, result.stderr)
        self.assertEqual(result.stderr.count("bdnn convert: disk/x."), 6, result.stderr)
        self.assertIn("bdnn encode: disk/c.codes: cannot write: No space left on device", result.stderr)
        self.assertIn("bdnn train: disk/m.bdnn: cannot write: No space left on device", result.stderr)

    def test_interruption_leaves_nothing(self):
        write_fvecs(self.path("x.fvecs"), self.rng.normal(size=(200_000, 100)))
        self.data("few.npy", rows=300, dimension=100)
        self.train("few.npy")
        before = sorted(os.listdir(self.folder.name))
        interrupted = 0
        for delay in (0.02, 0.05, 0.1, 0.15, 0.2):
            for number in (signal.SIGINT, signal.SIGTERM):
                process = subprocess.Popen([BDNN, "encode", "--model", self.path("m.bdnn"), "--data", self.path("x.fvecs"),
                                            "--out", self.path("c.codes"), "--threads", "1"], stdout=subprocess.DEVNULL)
                time.sleep(delay)
                process.send_signal(number)
                status = process.wait()
                if os.path.exists(self.path("c.codes")):  # it was faster than we, then it is whole
                    self.assertIn("verified", self.ok("inspect", self.path("c.codes")))
                    os.remove(self.path("c.codes"))
                else:
                    self.assertEqual(status, -number)
                    interrupted += 1
                self.assertEqual(sorted(os.listdir(self.folder.name)), before)
        self.assertGreater(interrupted, 0)

    def test_hostile_files_do_not_crash(self):
        self.data()
        self.train("x.npy")
        self.ok("encode", "--model", self.path("m.bdnn"), "--data", self.path("x.npy"), "--out", self.path("x.codes"))
        for name in ("x.npy", "m.bdnn", "x.codes"):
            whole = read(self.path(name))
            for _ in range(15):
                broken = bytearray(whole)
                for at in self.rng.integers(0, min(len(whole), 300), size=8):
                    broken[at] = self.rng.integers(0, 256)
                write(self.path("broken." + name.split(".")[1]), broken)
                result = run("inspect", self.path("broken." + name.split(".")[1]))
                self.assertIn(result.returncode, (0, 1), result.stderr)

    def test_numbers_are_numbers(self):
        self.data()
        train = ["train", "--method", "itq", "--data", self.path("x.npy"), "--model", self.path("m.bdnn")]
        for option in ("--bits", "--seed"):
            for bad in ("-1", "010", "1.5", "x", "99999999999999999999", ""):
                self.fails(2, "is not a whole number", *train, option, bad)
        self.train("x.npy")
        self.ok("encode", "--model", self.path("m.bdnn"), "--data", self.path("x.npy"), "--out", self.path("x.codes"))
        search = ["search", "--database", self.path("x.codes"), "--queries", self.path("x.codes")]
        for option in ("--radius", "-k", "--first"):
            self.fails(2, "is not a whole number", *search, option, "-1")

    def test_a_place_that_cannot_be_written_is_found_before_training(self):
        self.fails(1, "cannot write: No such file or directory", "train", "--data", self.path("missing.npy"), "--model", self.path("no/m"))

    def test_links_and_devices_as_outputs(self):
        self.data()
        os.mkdir(self.path("folder"))
        os.symlink("folder/real.npy", self.path("link.npy"))
        self.ok("convert", self.path("x.npy"), self.path("link.npy"))
        self.assertTrue(os.path.islink(self.path("link.npy")))
        self.assertEqual(read(self.path("folder/real.npy"))[:6], b"\x93NUMPY")
        os.symlink("/proc/self/fd/1", self.path("stdout.csv"))
        result = run("convert", self.path("x.npy"), self.path("stdout.csv"))
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(result.stdout.count("\n"), 400 + 1)  # the vectors, and the line that says so
        self.assertTrue(os.path.islink(self.path("stdout.csv")))

    def test_pipes_are_refused_and_not_waited_for(self):
        os.mkfifo(self.path("x.npy"))
        self.fails(1, "is not a regular file", "inspect", self.path("x.npy"))
        self.data("y.npy")
        self.fails(1, "x.npy: is not a regular file", "encode", "--model", self.path("x.npy"), "--data", self.path("y.npy"),
                   "--out", self.path("c.codes"))

    def test_a_model_goes_through_a_named_pipe(self):
        self.data()
        os.mkfifo(self.path("pipe"))
        # Two methods: one leaves checkpoints where it can.
        for options in (["--method", "itq"], ["--method", "uh-bdnn", "--set", "iterations=1", "--set", "first_steps=200", "--set", "steps=100"]):
            train = ["train", "--bits", "8", "--data", self.path("x.npy"), *options, "--model"]
            self.ok(*train, self.path("m.bdnn"))
            reader = os.open(self.path("pipe"), os.O_RDONLY | os.O_NONBLOCK)
            process = subprocess.Popen([BDNN, *train, self.path("pipe")], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
            self.addCleanup(process.kill)
            received = self.read_until_closed(reader)
            os.close(reader)
            _, errors = process.communicate(timeout=60)
            self.assertEqual(process.returncode, 0, errors)
            self.assertEqual(received, read(self.path("m.bdnn")))
        self.assertEqual(sorted(os.listdir(self.folder.name)), ["m.bdnn", "pipe", "x.npy"])

    def read_until_closed(self, pipe):
        """All that the first writer of a pipe writes, as `cat` would see it."""
        waiting = select.poll()
        waiting.register(pipe, select.POLLIN)  # a hang-up is told in any case, but not before there was a writer
        content = b""
        while waiting.poll(60_000):
            part = os.read(pipe, 65536)
            if not part:
                break
            content += part
        return content

    def test_a_pipe_that_nobody_reads_is_found_before_training(self):
        self.data()
        os.mkfifo(self.path("pipe"))
        # The data are missing: had it come to them, the message would say so.
        result = subprocess.run([BDNN, "train", "--data", self.path("missing.npy"), "--model", self.path("pipe")],
                                capture_output=True, text=True, timeout=60)
        self.assertEqual(result.returncode, 1)
        self.assertIn("pipe: cannot write: nobody reads this pipe; start its reader first", result.stderr)

    def test_shared_memory_is_a_folder_like_any_other(self):
        self.data()
        with tempfile.TemporaryDirectory(prefix="bdnn cli ", dir="/dev/shm") as folder:
            model = os.path.join(folder, "m.bdnn")
            for bits in (16, 8):  # the second is shorter
                self.ok("train", "--method", "itq", "--bits", bits, "--data", self.path("x.npy"), "--model", model)
                self.assertIn("itq", self.ok("inspect", model))
            self.ok("train", "--method", "uh-bdnn", "--bits", 8, "--data", self.path("x.npy"), "--model", model, "--resume",
                    "--set", "iterations=1", "--set", "first_steps=200", "--set", "steps=100")
            self.assertEqual(os.listdir(folder), ["m.bdnn"])

    def test_closed_standard_error_is_no_crash(self):
        for redirection in ("2>&-", "2>/dev/full"):
            result = subprocess.run(f'"{BDNN}" inspect nofile {redirection}', shell=True)
            self.assertEqual(result.returncode, 1, redirection)

    def test_a_limit_on_file_size_is_reported(self):
        self.data(rows=20_000)
        result = subprocess.run(["bash", "-c", 'ulimit -f 40; "$0" convert "$1" "$2"', BDNN, self.path("x.npy"), self.path("y.npy")],
                                capture_output=True, text=True)
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertIn("y.npy: cannot write: File too large", result.stderr)
        self.assertEqual(os.listdir(self.folder.name), ["x.npy"])

    def test_names_with_colons_and_parts(self):
        self.data("a:b.npy")
        self.train("a:b.npy", "m:1.bdnn")
        self.assertIn("itq", self.ok("inspect", self.path("m:1.bdnn")))
        self.ok("encode", "--model", self.path("m:1.bdnn"), "--data", self.path("a:b.npy"), "--out", self.path("c:d.codes"))
        self.assertIn("verified", self.ok("inspect", self.path("c:d.codes")))
        self.ok("convert", self.path("a:b.npy"), self.path("x.hdf5"))
        self.ok("search", "--model", self.path("m:1.bdnn"), "--database", self.path("x.hdf5:train"), "--queries", self.path("x.hdf5"))

    def test_compressed_outputs_are_compressed_or_refused(self):
        self.data()
        for name in ("y.npy.gz", "y.fvecs.gz", "y.csv.gz", "y.npy.GZ"):
            self.fails(2, "cannot be written compressed", "convert", self.path("x.npy"), self.path(name))
        self.ok("convert", self.path("x.npy"), self.path("y.idx.GZ"))
        self.assertEqual(read(self.path("y.idx.GZ"))[:2], b"\x1f\x8b")
        write(self.path("e.bin.gz"), bytes.fromhex("1f8b08000000000000030300000000000000000000"[:40]))
        self.fails(1, "holds no labels", "convert", "--as-labels", self.path("e.bin.gz"), self.path("out.npy"))
        np.save(self.path("l.npy"), np.arange(400))
        self.fails(2, "needs a label per image; give --labels", "convert", self.path("x.npy"), self.path("y.bin"))
        self.fails(2, "separate file with --as-labels", "convert", "--labels", self.path("l.npy"), self.path("x.npy"), self.path("y.npy"))

    def test_a_bad_first_row_is_no_heading(self):
        write(self.path("x.csv"), b"1,2,NA\n4,5,6\n")
        self.fails(1, "line 1, column 3: 'NA' is not a number", "inspect", self.path("x.csv"))
        write(self.path("y.csv"), b"a,b,c\n4,5,6\n")
        self.assertIn("count                1\n", self.ok("inspect", self.path("y.csv")))

    def test_what_a_terminal_would_obey_is_not_printed(self):
        self.data("e\033[31m\u009b.npy")
        self.train("e\033[31m\u009b.npy")
        text = self.ok("inspect", self.path("m.bdnn"))
        self.assertNotIn("\033", text)
        self.assertNotIn("\u009b", text)
        self.assertIn("\\x1b[31m", text)

    def test_output_to_a_full_device_is_an_error(self):
        with open("/dev/full", "w") as full:
            result = subprocess.run([BDNN, "methods"], stdout=full, stderr=subprocess.PIPE, text=True)
        self.assertEqual(result.returncode, 1)
        self.assertIn("cannot write", result.stderr)

    def test_options_that_do_not_apply_are_refused(self):
        self.data()
        self.train("x.npy")
        model, x, codes = self.path("m.bdnn"), self.path("x.npy"), self.path("x.codes")
        np.save(self.path("y.npy"), np.zeros(400, int))
        self.fails(2, "--labels does not apply to itq, which learns without labels", "train", "--method", "itq", "--bits", 8,
                   "--data", x, "--labels", self.path("y.npy"), "--model", self.path("n.bdnn"))
        encode = ["encode", "--model", model, "--data", x, "--out"]
        self.fails(2, "--local-search does not apply without --codes refined", *encode, codes, "--local-search", 2)
        self.ok(*encode, codes)
        for option in (["--brief"], ["--model", model, "--data", x]):
            for file in (x, model):
                self.fails(2, "does not apply to a file that holds no codes", "inspect", file, *option)
        self.fails(2, "--model does not apply with --brief", "inspect", codes, "--brief", "--model", model, "--data", x)
        index = ["--index", self.path("x.index")]
        self.fails(2, "--local-search does not apply", "index", "build", *index, "--model", model, "--data", x, "--local-search", 2)
        self.ok("index", "build", *index, "--data", codes)
        search = ["search", "--model", model, "--queries", x]
        self.fails(2, "--codes does not apply to --index", *search, *index, "--codes", "refined")
        self.fails(2, "--plan does not apply to --rank", *search, "--database", codes, "--rank", "asymmetric", "--plan", "scan")


if __name__ == "__main__":
    unittest.main(verbosity=2)
