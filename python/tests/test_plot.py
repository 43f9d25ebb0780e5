"""Plots show the numbers they are given."""
import numpy as np
import pytest

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")

import bdnn  # noqa: E402
from bdnn import plot  # noqa: E402


def test_metric_over_bits():
    rows = [{"method": "itq", "bits": bits, "seed": seed, "metrics": {"mAP": bits / 100 + seed / 1000}}
            for bits in (8, 16) for seed in (1, 2)]
    ax = plot.metric_over_bits(rows)
    line, = ax.get_lines()
    np.testing.assert_allclose(line.get_xydata(), [[8, 0.0815], [16, 0.1615]])
    with pytest.raises(bdnn.MisuseError, match="unknown metric 'x'; the metrics are mAP"):
        plot.metric_over_bits(rows, "x")
    with pytest.raises(bdnn.MisuseError, match="no results"):
        plot.metric_over_bits([])


def test_precision_recall():
    codes = np.array([[0], [1], [3], [255]], np.uint8)
    result = bdnn.evaluate(codes, codes[:1], neighbors=[[0, 1]], curve=True)
    ax = plot.precision_recall({"codes": result})
    points = ax.get_lines()[0].get_xydata()
    np.testing.assert_allclose(points[0], [0.5, 1])
    np.testing.assert_allclose(points[-1], [1, 0.5])
    with pytest.raises(bdnn.MisuseError, match="curve=True"):
        plot.precision_recall({"codes": bdnn.evaluate(codes, codes[:1], neighbors=[[0]])})


def test_code_matrix():
    codes = np.array([[1], [2], [4]], np.uint8)
    image = plot.code_matrix(codes, 4, order=[2, 1, 0]).get_images()[0].get_array()
    np.testing.assert_array_equal(image, [[0, 0, 1, 0], [0, 1, 0, 0], [1, 0, 0, 0]])
    assert len(plot.code_matrix(np.zeros((2000, 1), np.uint8)).get_images()[0].get_array()) == 500
    with pytest.raises(bdnn.MisuseError, match="order"):
        plot.code_matrix(codes, order=[1])


def test_without_matplotlib(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match="needs matplotlib"):
        plot.code_matrix(np.zeros((1, 1), np.uint8))
