"""The picture of a calibration: what was measured, and what the device will do."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ssdlab._core import InputError
from ssdlab.calibration.points import KIB

TITLES = {
    "seq_read": "sequential read",
    "rand_read": "random read",
    "seq_write": "sequential write",
    "rand_write": "random write",
}


def check() -> Any:
    """The module that draws. Raises `InputError` if it is missing."""
    try:
        import matplotlib
    except ImportError:
        raise InputError("--plot needs matplotlib: pip install 'ssdlab[plot]'") from None
    matplotlib.use("Agg")
    from matplotlib import pyplot

    return pyplot


def draw(found: Mapping[str, Any], path: Path) -> None:
    """Each pattern: times over size, measured and fitted; below, the error of each size."""
    pyplot = check()
    patterns = found["patterns"]
    sheet, axes = pyplot.subplots(
        2,
        len(patterns),
        figsize=(max(4.2 * len(patterns), 6), 6.4),
        sharex=True,
        squeeze=False,
        height_ratios=[3, 1.2],
        layout="constrained",
    )
    for column, (name, pattern) in enumerate(patterns.items()):
        upper, lower = axes[0][column], axes[1][column]
        _times(upper, name, pattern, found["points"])
        sizes = [row["bytes"] / KIB for row in pattern["sizes"]]
        errors = [row["error_percent"] for row in pattern["sizes"]]
        lower.axhline(0, color="black", linewidth=0.6)
        lower.plot(sizes, errors, marker="o", markersize=3)
        mean, most = pattern["mean_error_percent"], pattern["max_error_percent"]
        lower.set(xlabel="request size, KiB", title=f"mean {mean:.1f} %, max {most:.1f} %")
        lower.title.set_fontsize(9)
        lower.grid(True, alpha=0.2)
    axes[0][0].set_ylabel("time of a request, us")
    axes[1][0].set_ylabel("fitted - measured, %")
    sheet.suptitle(f"{found['source']}: the line with 1 outstanding", fontsize=10)
    try:
        sheet.savefig(path, dpi=110)
    finally:
        pyplot.close(sheet)


def _times(axis: Any, name: str, pattern: Mapping[str, Any], points: Any) -> None:
    mine = [point for point in points if point["pattern"] == name]
    sizes = [row["bytes"] / KIB for row in pattern["sizes"]]
    for number, line in pattern["outstanding"].items():
        chosen = [point for point in mine if point["outstanding"] == int(number)]
        marks = axis.plot(
            [point["bytes"] / KIB for point in chosen],
            [point["mean_us"] for point in chosen],
            "o",
            markersize=4,
            label=f"measured, {number} outstanding",
        )
        fitted = [line["a_us"] + line["b_us_per_kib"] * size for size in sizes]
        axis.plot(sizes, fitted, color=marks[0].get_color(), linewidth=1, label="_")
    axis.set_xscale("log", base=2)
    axis.set_yscale("log")
    axis.xaxis.set_major_formatter("{x:g}")
    axis.set_title(
        f"{TITLES[name]}: {pattern['a_us']:.4g} us + {pattern['b_us_per_kib']:.3g} us/KiB",
        fontsize=10,
    )
    axis.grid(True, which="both", alpha=0.2)
    axis.legend(fontsize=7)
