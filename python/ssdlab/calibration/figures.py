"""Plots of a calibration: measured and fitted times."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ssdlab.calibration.points import KIB, PATTERNS
from ssdlab.charts import Axis, Figure, Series


def times(found: Mapping[str, Any], name: str) -> Figure:
    """A pattern's times over size: measurements as dots, one colour per queue depth."""
    pattern = found["patterns"][name]
    sizes = [row["bytes"] / KIB for row in pattern["sizes"]]
    series = []
    for colour, (number, line) in enumerate(pattern["outstanding"].items()):
        chosen = [
            point
            for point in found["points"]
            if point["pattern"] == name and point["outstanding"] == int(number)
        ]
        series.append(
            Series(
                f"measured, {number} outstanding",
                [point["bytes"] / KIB for point in chosen],
                [point["mean_us"] for point in chosen],
                "dots",
                colour,
            )
        )
        fitted = [line["a_us"] + line["b_us_per_kib"] * size for size in sizes]
        series.append(Series("", sizes, fitted, colour=colour))
    title = PATTERNS[name].replace("_", " ")
    return Figure(
        f"{title}: {pattern['a_us']:.4g} us + {pattern['b_us_per_kib']:.3g} us/KiB",
        Axis("request size, KiB", log=2),
        Axis("time of a request, us", log=10),
        series,
    )


def errors(found: Mapping[str, Any], name: str) -> Figure:
    """Relative error of a pattern's fitted line, by size."""
    pattern = found["patterns"][name]
    sizes = [row["bytes"] / KIB for row in pattern["sizes"]]
    values = [row["error_percent"] for row in pattern["sizes"]]
    mean, most = pattern["mean_error_percent"], pattern["max_error_percent"]
    return Figure(
        f"mean {mean:.1f} %, max {most:.1f} %",
        Axis("request size, KiB", log=2),
        Axis("fitted - measured, %"),
        [Series("error", sizes, values)],
    )


def rows(found: Mapping[str, Any]) -> Sequence[Sequence[Figure]]:
    """All patterns side by side, the errors below the times."""
    return [[draw(found, name) for name in found["patterns"]] for draw in (times, errors)]
