"""Fits device parameters to points, with errors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ssdlab import _core
from ssdlab._core import InputError
from ssdlab.calibration.points import KIB, PATTERNS, Measured, Point, means
from ssdlab.calibration.regression import (
    Line,
    Weights,
    errors_percent,
    left_out,
    line,
    mean_size,
)

#: Minimum number of measured sizes per pattern: a line through two points has no error estimate.
FEWEST_SIZES = 3
#: The mean error, percent, above which a line is called a poor model. The paper's own device and
#: its simulator differed by 4.1 to 6.6 %.
POOR_PERCENT = 7.0
KINDS = ("linear", "piecewise", "parallel")


def fitted(
    measured: Measured, kind: str, weights: Weights, required: bool = True
) -> dict[str, Any]:
    """The complete calibration of the linear model for JSON.

    Raises `InputError` if there are too few points for lines that are `required`.
    """
    points = means(measured.points)
    notes = list(measured.notes)
    patterns = {}
    for pattern in PATTERNS:
        mine = [point for point in points if point.pattern == pattern]
        alone = [point for point in mine if point.outstanding == 1]
        if len(alone) >= FEWEST_SIZES:
            patterns[pattern] = _pattern(mine, alone, weights)
            zones = [point for point in measured.points if point.pattern == pattern]
            _spread(patterns[pattern], zones)
        elif mine:
            notes.append(
                f"{pattern} was left out: a line takes {FEWEST_SIZES} sizes measured with "
                f"1 outstanding, and there are {len(alone)}"
            )
    if not patterns and required:
        raise InputError(
            f"{measured.source}: no pattern has {FEWEST_SIZES} sizes measured with 1 outstanding"
            + "".join(f"; {note}" for note in notes)
        )
    repeated = len(measured.points) - len(points)
    if repeated and "zones" not in measured.conditions:
        notes.append(f"{repeated} results repeat a point; the mean of all its requests was taken")
    notes += _verdicts(patterns, kind)
    return {
        "version": _core.version,
        "kind": kind,
        "weights": weights,
        "source": measured.source,
        "size_bytes": measured.size_bytes,
        "patterns": patterns,
        "conditions": measured.conditions,
        "notes": notes,
        "points": [point.to_dict() for point in points],
    }


def _pattern(points: Sequence[Point], alone: Sequence[Point], weights: Weights) -> dict[str, Any]:
    """The fit of one pattern; `alone` are the points with one outstanding."""
    sizes = [point.bytes / KIB for point in alone]
    times = [point.mean_us for point in alone]
    best = line(sizes, times, weights)
    other = line(sizes, times, "equal" if weights == "relative" else "relative")
    values = [best.at(size) for size in sizes]
    errors = errors_percent(times, values)
    others = errors_percent(times, [other.at(size) for size in sizes])
    rows = [
        {
            "bytes": point.bytes,
            "measured_us": point.mean_us,
            "fitted_us": value,
            "residual_us": value - point.mean_us,
            "error_percent": error,
            "requests": point.requests,
        }
        for point, value, error in zip(alone, values, errors, strict=True)
    ]
    lines = _lines(points, weights)
    return {
        "a_us": best.a,
        "b_us_per_kib": best.b,
        "r2": best.r2,
        "p_value": best.p_value,
        "mean_error_percent": mean_size(errors),
        "max_error_percent": max(map(abs, errors)),
        "mean_error_percent_of_other_weights": mean_size(others),
        "sizes": rows,
        "outstanding": {
            str(number): {"a_us": it.a, "b_us_per_kib": it.b, "r2": it.r2}
            for number, it in lines.items()
        },
        "models": _models(points, best, lines),
    }


def _lines(points: Sequence[Point], weights: Weights) -> dict[int, Line]:
    """A line for each queue depth with enough sizes."""
    found = {}
    for number in sorted({point.outstanding for point in points}):
        mine = [point for point in points if point.outstanding == number]
        if len(mine) >= FEWEST_SIZES:
            sizes = [point.bytes / KIB for point in mine]
            found[number] = line(sizes, [point.mean_us for point in mine], weights)
    return found


def _models(points: Sequence[Point], best: Line, lines: dict[int, Line]) -> dict[str, float]:
    """The mean error, percent, of each kind of law over all points, at all queue depths.

    The linear and piecewise laws serve one request at a time. The piecewise law passes through
    every point, so its error is the leave-one-out error.
    """
    points = [point for point in points if point.outstanding in lines]
    alone = [point for point in points if point.outstanding == 1]
    guesses = left_out([p.bytes / KIB for p in alone], [p.mean_us for p in alone])
    piece = {point.bytes: guess for point, guess in zip(alone, guesses, strict=True)}
    points = [point for point in points if point.bytes in piece]
    times = [point.mean_us for point in points]

    def error(values: list[float]) -> float:
        return mean_size(errors_percent(times, values))

    found = {
        "linear": error([p.outstanding * best.at(p.bytes / KIB) for p in points]),
        "piecewise": error([p.outstanding * piece[p.bytes] for p in points]),
    }
    if len(lines) > 1:
        found["parallel"] = error([lines[p.outstanding].at(p.bytes / KIB) for p in points])
    return found


def _spread(pattern: dict[str, Any], zones: Sequence[Point]) -> None:
    """Adds to each size the largest error among its zones."""
    for row in pattern["sizes"]:
        mine = [z for z in zones if z.bytes == row["bytes"] and z.outstanding == 1]
        errors = errors_percent([z.mean_us for z in mine], [row["fitted_us"]] * len(mine))
        row["mean_error_percent"] = mean_size(errors)
        row["max_error_percent"] = max(map(abs, errors))


def _verdicts(patterns: dict[str, Any], kind: str) -> list[str]:
    """Notes on patterns for which the line is a poor model, with the better kind."""
    notes = []
    for name, pattern in patterns.items():
        models = pattern["models"]
        better = min(models, key=models.__getitem__)
        pattern["poor"] = models["linear"] > POOR_PERCENT
        pattern["better"] = better if pattern["poor"] and better != "linear" else None
        if not pattern["poor"]:
            continue
        several = " (all numbers outstanding)" if "parallel" in models else ""
        text = f"{name}: the line is a poor model, its mean error is {models['linear']:.1f} %"
        if pattern["better"] is None:
            notes.append(f"{text}{several}, and no extension is better")
        else:
            chosen = "" if kind == better else f"; choose it with --kind {better}"
            notes.append(f"{text}{several}; kind {better} has {models[better]:.1f} %{chosen}")
    return notes
