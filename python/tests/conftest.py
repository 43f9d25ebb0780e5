import inspect
import os
import pathlib
import subprocess

import numpy as np
import pytest

import bdnn

# Training settings that keep tests quick; results are as exact as with any others.
QUICK = {"steps": 10, "first_steps": 10, "iterations": 2, "trees": 3, "depth": 2, "cycles": 1, "anchors": 8, "weights": 5,
         "subset": 3, "held_out": 20, "local_search": 1, "near": 5}


def quick(cls, **parameters):
    """An estimator of this class that trains in a moment."""
    known = inspect.signature(cls.__init__).parameters
    return cls(**{**{name: value for name, value in QUICK.items() if name in known}, **parameters})


METHODS = list(bdnn.methods().values())


@pytest.fixture(scope="session")
def data():
    """400 vectors of 5 classes in 24 dimensions, and their labels."""
    rng = np.random.default_rng(3)
    centres = rng.normal(size=(5, 24)) * 3
    labels = rng.integers(5, size=400)
    return (centres[labels] + rng.normal(size=(400, 24))).astype(np.float32), labels


@pytest.fixture(scope="session")
def itq(data):
    return bdnn.ITQ(n_bits=16).fit(data[0])


@pytest.fixture(scope="session")
def program():
    """Runs the program that was built with the package."""
    path = os.environ.get("BDNN") or pathlib.Path(bdnn._core.__file__).resolve().parents[2] / "bdnn"
    if not os.path.exists(path):
        pytest.skip("the program was not built; BDNN names it")

    def run(*arguments):
        done = subprocess.run([str(path), *(str(argument) for argument in arguments)], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout
    return run
