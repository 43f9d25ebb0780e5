"""Trains, encodes and searches with the program and with the package, and compares the files and answers byte by byte.

    PYTHONPATH=build/release/python /usr/bin/python3 python/tests/compare_with_program.py build/release/bdnn \\
        train-images-idx3-ubyte train-labels-idx1-ubyte [--samples 5000] [--bits 32] [--pca 64] [--quick] [METHOD ...]
"""
import argparse
import inspect
import json
import pathlib
import subprocess
import sys
import tempfile
import time

import numpy as np

import bdnn

QUICK = {"steps": 10, "first_steps": 10, "iterations": 2, "trees": 3, "cycles": 1, "anchors": 50, "per_class": 50,
         "samples": 200}


def compare(program, method, x, labels, folder, bits, quick, pca=0, jobs=(1, 2)):
    """Returns what differs, a sentence each: nothing, if all is well."""
    cls = bdnn.methods()[method]
    settings = {name: value for name, value in (QUICK if quick else {}).items()
                if name in inspect.signature(cls.__init__).parameters}
    settings["pca"] = pca
    folder = pathlib.Path(folder)
    bdnn.save_vectors(x, folder / "x.npy")
    bdnn.save_labels(labels, folder / "y.npy")

    def run(*arguments):
        done = subprocess.run([str(program), *(str(argument) for argument in arguments)], capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(done.stderr)
        return done.stdout

    run("train", "--method", method, "--bits", bits, "--data", folder / "x.npy", "--model", folder / "m.bdnn", "--threads", 2,
        *(["--labels", folder / "y.npy"] if cls.supervised else []),
        *(argument for name, value in settings.items() for argument in ("--set", f"{name}={value}")))
    run("encode", "--model", folder / "m.bdnn", "--data", folder / "x.npy", "--out", folder / "x.codes")
    queries = x[:50]
    bdnn.save_vectors(queries, folder / "q.npy")
    answers = json.loads(run("search", "--model", folder / "m.bdnn", "--database", folder / "x.codes", "--queries",
                             folder / "q.npy", "-k", 10, "--json"))["results"]
    problems = []
    for n_jobs in jobs:
        hasher = cls(n_bits=bits, n_jobs=n_jobs, **settings).fit(x, labels, data_name="x.npy")
        hasher.save(folder / "python.bdnn")
        if (folder / "python.bdnn").read_bytes() != (folder / "m.bdnn").read_bytes():
            problems.append(f"{method}, n_jobs={n_jobs}: another model")
            continue
        codes = hasher.transform(x)
        bdnn.save_codes(codes, folder / "python.codes", hasher=hasher)
        if (folder / "python.codes").read_bytes() != (folder / "x.codes").read_bytes():
            problems.append(f"{method}, n_jobs={n_jobs}: other codes")
        distances, ids = bdnn.BinaryNeighbors(10, n_jobs=n_jobs).fit(codes).kneighbors(hasher.transform(queries))
        if ids.tolist() != [answer["ids"] for answer in answers] or \
                distances.tolist() != [answer["distances"] for answer in answers]:
            problems.append(f"{method}, n_jobs={n_jobs}: other answers")
    return problems


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("vectors")
    parser.add_argument("labels")
    parser.add_argument("methods", nargs="*")
    parser.add_argument("--samples", type=int, default=5000)
    parser.add_argument("--bits", type=int, default=32)
    parser.add_argument("--pca", type=int, default=0, help="principal components that vectors are reduced to; 0: none")
    parser.add_argument("--quick", action="store_true", help="few steps of training")
    arguments = parser.parse_intermixed_args()
    x = bdnn.load_vectors(arguments.vectors)[:arguments.samples]
    labels = bdnn.load_labels(arguments.labels)[:arguments.samples]
    print(f"{len(x)} vectors of dimension {x.shape[1]}, {arguments.bits} bits, with 1 and 2 jobs")
    failed = False
    for method in arguments.methods or bdnn.methods():
        start = time.monotonic()
        with tempfile.TemporaryDirectory() as folder:
            problems = compare(arguments.program, method, x, labels, folder, arguments.bits, arguments.quick,
                               arguments.pca)
        failed = failed or bool(problems)
        print(f"{method:<11} {'; '.join(problems) or 'equal'} ({time.monotonic() - start:.1f} s)", flush=True)
    sys.exit(failed)


if __name__ == "__main__":
    main()
