"""Plots of codes and results, with matplotlib. Every function draws into `ax`, or a new figure, and returns the axes."""
from __future__ import annotations

from typing import Any, Mapping, Optional, Sequence, Union

import numpy as np

from ._arrays import as_codes
from ._errors import MisuseError
from .evaluation import Metrics


def _axes(ax: Any) -> Any:
    if ax is not None:
        return ax
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError("bdnn.plot needs matplotlib; install it (Debian: python3-matplotlib)") from error
    return plt.subplots()[1]


def metric_over_bits(results: Union[Sequence[Mapping[str, Any]], Mapping[str, Mapping[int, float]]], metric: str = "mAP",
                     *, ax: Any = None) -> Any:
    """A metric over the code length, a line per method; seeds are averaged, and their range is shaded.

    `results` are the rows of Protocol.run(), or {method: {bits: value}}.

    >>> import matplotlib; matplotlib.use("Agg")
    >>> from bdnn import plot
    >>> ax = plot.metric_over_bits({"ITQ": {8: 0.1, 16: 0.2}, "UHBDNN": {8: 0.15, 16: 0.3}})
    >>> [line.get_label() for line in ax.get_lines()]
    ['ITQ', 'UHBDNN']
    """
    points: dict[str, dict[int, list[float]]] = {}
    if isinstance(results, Mapping):
        for method, values in results.items():
            for bits, value in values.items():
                points.setdefault(method, {}).setdefault(int(bits), []).append(float(value))
    else:
        for row in results:
            if metric not in row["metrics"]:
                raise MisuseError(f"unknown metric '{metric}'; the metrics are {', '.join(row['metrics'])}")
            points.setdefault(row["method"], {}).setdefault(row["bits"], []).append(row["metrics"][metric])
    if not points:
        raise MisuseError("there are no results to plot")
    ax = _axes(ax)
    for method, of_method in points.items():
        lengths = sorted(of_method)
        means = [np.mean(of_method[bits]) for bits in lengths]
        line, = ax.plot(lengths, means, marker="o", label=method)
        if any(len(of_method[bits]) > 1 for bits in lengths):
            ax.fill_between(lengths, [min(of_method[bits]) for bits in lengths],
                            [max(of_method[bits]) for bits in lengths], color=line.get_color(), alpha=0.2)
    ax.set_xticks(sorted({bits for of_method in points.values() for bits in of_method}))
    ax.set_xlabel("bits")
    ax.set_ylabel(metric)
    ax.legend()
    return ax


def precision_recall(results: Mapping[str, Metrics], *, ax: Any = None) -> Any:
    """Precision over recall as the Hamming radius grows, a line per entry of {name: evaluate(..., curve=True)}."""
    for name, result in results.items():
        if not getattr(result, "curve", None):
            raise MisuseError(f"'{name}' has no curve; call evaluate(..., curve=True)")
    ax = _axes(ax)
    for name, result in results.items():
        found = [at for at in result.curve if at["empty"] < 1]  # where nothing is found, precision is undefined
        ax.plot([at["recall"] for at in found], [at["precision"] for at in found], marker=".", label=name)
    ax.set_xlabel("recall")
    ax.set_ylabel("precision")
    ax.set_xlim(0, 1)
    ax.set_ylim(0, 1)
    ax.legend()
    return ax


def code_matrix(codes: Any, n_bits: Optional[int] = None, *, order: Any = None, most: int = 500, ax: Any = None) -> Any:
    """Codes as an image, a row per code and a column per bit.

    Rows are sorted by `order` (such as labels) if given; more than `most` are thinned out evenly.
    """
    array = as_codes(codes, minimum=1)
    if order is not None:
        values = np.asarray(order)
        if values.shape != (len(array),):
            raise MisuseError(f"order has shape {values.shape}; give one value for each of the {len(array)} codes")
        array = array[np.argsort(values, kind="stable")]
    if len(array) > most:
        array = array[np.arange(most) * len(array) // most]
    bits = np.unpackbits(array, axis=1, count=n_bits, bitorder="little")
    ax = _axes(ax)
    ax.imshow(bits, aspect="auto", interpolation="nearest", cmap="gray_r", vmin=0, vmax=1)
    ax.set_xlabel("bit")
    ax.set_ylabel("code")
    return ax
