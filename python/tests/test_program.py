"""The package and the program give the same bytes."""
import os
import pathlib

import numpy as np
import pytest
from compare_with_program import compare

import bdnn


@pytest.fixture(scope="module")
def path(program):
    return os.environ.get("BDNN") or pathlib.Path(bdnn._core.__file__).resolve().parents[2] / "bdnn"


@pytest.mark.parametrize("pca", [0, 16])
@pytest.mark.parametrize("method", bdnn.methods())
def test_models_codes_and_answers_are_equal(method, pca, path, data, tmp_path):
    """On real images in compare_with_program.py; here on a few made-up ones."""
    x = np.clip(np.round(data[0] * 10 + 128), 0, 255).astype(np.uint8)
    assert compare(path, method, x, data[1], tmp_path, 12, quick=True, pca=pca) == []


def test_version(program):
    assert program("--version").split()[1] == bdnn.__version__
