"""Steady state by the specification's rule, over the figures of rounds.

Within a window of five rounds the figure's range is at most 20 % of its mean, and the fitted line
changes by at most 10 % of the mean over the window.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

WINDOW = 5
EXCURSION, SLOPE = 0.20, 0.10


@dataclass(frozen=True)
class Window:
    """Window of five rounds of one figure."""

    first: int
    """First round, counted from 1."""
    values: tuple[float, ...]

    @property
    def last(self) -> int:
        """Number of the last round."""
        return self.first + len(self.values) - 1

    @property
    def mean(self) -> float:
        """Mean of its rounds."""
        return statistics.fmean(self.values)

    @property
    def excursion(self) -> float:
        """Range (maximum less minimum), as a share of the mean."""
        return (max(self.values) - min(self.values)) / self.mean if self.mean else 0.0

    @property
    def line(self) -> tuple[float, float]:
        """The fitted line at the first round and at the last."""
        rounds = range(len(self.values))
        if len(self.values) < 2:
            return self.mean, self.mean
        slope, start = statistics.linear_regression(rounds, self.values)
        return start, start + slope * rounds[-1]

    @property
    def slope(self) -> float:
        """Change of the fitted line over the window, as a share of the mean."""
        start, end = self.line
        return abs(end - start) / self.mean if self.mean else 0.0

    @property
    def is_steady(self) -> bool:
        """True for a complete window within both limits."""
        is_whole = len(self.values) == WINDOW
        return is_whole and self.excursion <= EXCURSION and self.slope <= SLOPE


def windows(figures: Mapping[str, Sequence[float]], skipped: int = 0) -> dict[str, Window]:
    """The first window in which every figure is steady, else the last, by name of figure.

    The first `skipped` rounds are in no window.
    """
    rounds = min((len(it) for it in figures.values()), default=0)
    found: dict[str, Window] = {}
    for last in range(min(skipped + WINDOW, rounds), rounds + 1):
        first = max(last - WINDOW, 0)
        found = {name: Window(first + 1, tuple(it[first:last])) for name, it in figures.items()}
        if all(it.is_steady for it in found.values()):
            break
    return found
