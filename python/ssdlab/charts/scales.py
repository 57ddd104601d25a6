"""Positions of numbers along an axis, and the choice of labels."""

from __future__ import annotations

import math
from collections.abc import Callable

from ssdlab.charts.figure import CURVE, Axis

#: Maps a value to its position in the drawing.
Scale = Callable[[float], float]


def scale(low: float, high: float, start: float, end: float, log: bool) -> Scale:
    """Maps values between `low` and `high` to positions between `start` and `end`."""

    def place(value: float) -> float:
        if high <= low:
            return (start + end) / 2
        if log:
            share = math.log(max(value, low) / low) / math.log(high / low)
        else:
            share = (value - low) / (high - low)
        return start + share * (end - start)

    return place


def nines(share: float) -> float:
    """Number of nines of a share: its position on a percentile axis.

    >>> nines(0.0), nines(0.9), round(nines(0.999), 9)
    (0.0, 1.0, 3.0)
    """
    return max(0.0, -math.log10(max(1.0 - share, 1e-12)))


#: Shares marked on a percentile axis; True if a narrow figure omits them.
PERCENTILES = {
    0.0: False,
    0.5: True,
    0.9: False,
    0.99: False,
    0.999: False,
    0.9999: True,
    0.99999: False,
}


def percentile_text(share: float) -> str:
    """Label of a share on a percentile axis.

    >>> percentile_text(0.5), percentile_text(0.9999)
    ('50', '99.99')
    """
    return f"{100 * share:.6g}"


def upright(axis: Axis, values: list[float]) -> list[float]:
    """The marks of a vertical axis for these values; it spans the first to the last mark."""
    top = max(values, default=1.0)
    if axis.log:
        lowest = min((value for value in values if value > 0), default=top or 1.0)
        return _ends(lowest, top or 1.0)
    minimum = min(values, default=0.0)
    low = min(0.0, minimum) if axis.zero else minimum
    low, high = (low if axis.low is None else axis.low, top if axis.high is None else axis.high)
    return round_marks(low, high)


def level(axis: Axis, values: list[float]) -> tuple[list[float], float, float]:
    """The marks of a horizontal axis for ascending values, and its ends."""
    first, last = values[0], values[-1]
    if axis.percentile:
        end = max(nines(last), 1.0)
        return [p for p in PERCENTILES if nines(p) <= end + 1e-9], 0.0, end
    if axis.log == 2:
        marks = values[:: max(1, math.ceil(len(values) / 8))]
        return (marks if len(values) <= CURVE else round_powers(first, last)), first, last
    if axis.log:
        return round_powers(first, last), first, last
    low = min(0.0, first) if axis.zero else first
    low, high = (low if axis.low is None else axis.low, last if axis.high is None else axis.high)
    marks = round_marks(low, high)
    if all(value == int(value) for value in values):  # no marks between whole numbers
        marks = [mark for mark in marks if mark == int(mark)]
    if axis.low is not None or axis.high is not None:
        return [mark for mark in marks if low <= mark <= high], low, high
    return marks, marks[0], marks[-1]


def round_marks(low: float, high: float) -> list[float]:
    """Four to eight round numbers from `low` or below to `high` or above.

    >>> round_marks(0, 62)
    [0.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0]
    """
    span = high - low or 1.0
    power = 10.0 ** math.floor(math.log10(span))
    step = next(power * s for s in (0.1, 0.2, 0.25, 0.5, 1, 2) if span / (power * s) <= 7)
    first, last = math.floor(low / step), math.ceil(high / step - 1e-9)
    return [number * step for number in range(first, max(last, first + 1) + 1)]


def round_powers(low: float, high: float) -> list[float]:
    """The powers of ten from `low` to `high`; if few, with their multiples by 2 and 5."""
    tens = powers(low, high)
    too_few = sum(low <= mark <= high for mark in tens) < 3
    marks = [ten * by for ten in tens for by in ((1, 2, 5) if too_few else (1,))]
    return [mark for mark in marks if low <= mark <= high]


def _ends(low: float, high: float) -> list[float]:
    """The marks of a logarithmic axis from `low` or below to `high` or above.

    >>> _ends(62.6, 441), _ends(3, 20_000)
    ([50.0, 100.0, 200.0, 500.0], [1.0, 10.0, 100.0, 1000.0, 10000.0, 100000.0])
    """
    tens = powers(low, high)
    if len(tens) > 3:
        return tens
    marks = [ten * by for ten in tens for by in (1, 2, 5)]
    first = max(n for n, mark in enumerate(marks) if mark <= low * (1 + 1e-9))
    last = min(n for n, mark in enumerate(marks) if mark >= high * (1 - 1e-9))
    return marks[first : max(last, first + 1) + 1]


def powers(low: float, high: float) -> list[float]:
    """The powers of ten from `low` or below to `high` or above."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    return [10.0**power for power in range(first, max(last, first + 1) + 1)]


def mark_text(value: float) -> str:
    """Label of a number on an axis.

    >>> mark_text(2_000_000), mark_text(20_500), mark_text(0.25)
    ('2M', '20.5k', '0.25')
    """
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:.4g}{unit}"
    return f"{value:.4g}"
