"""A straight line through measured times, by least squares.

Times over sizes of 512 B to 1 MiB span three decades. Ordinary least squares fits the largest sizes
and errs by a multiple at the smallest; weights of 1/time^2 minimise the relative error.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Weights = Literal["relative", "equal"]


@dataclass(frozen=True)
class Line:
    """y = a + b x, with its goodness of fit."""

    a: float
    b: float
    r2: float
    """The weighted coefficient of determination."""
    p_value: float | None
    """p-value of the slope (two-sided t test); None without a degree of freedom."""

    def at(self, x: float) -> float:
        """The line's y."""
        return self.a + self.b * x


def line(x: Sequence[float], y: Sequence[float], weights: Weights) -> Line:
    """The line through at least two points; y must be positive.

    Intercept and slope are not negative: if one would be, it is set to zero and the other fitted
    alone.
    """
    w = [1 / (value * value) if weights == "relative" else 1.0 for value in y]
    total = sum(w)
    mean_x = sum(wi * xi for wi, xi in zip(w, x, strict=True)) / total
    mean_y = sum(wi * yi for wi, yi in zip(w, y, strict=True)) / total
    points = list(zip(w, x, y, strict=True))
    sxx = sum(wi * (xi - mean_x) ** 2 for wi, xi, _ in points)
    sxy = sum(wi * (xi - mean_x) * (yi - mean_y) for wi, xi, yi in points)
    syy = sum(wi * (yi - mean_y) ** 2 for wi, _, yi in points)
    b = sxy / sxx
    a = mean_y - b * mean_x
    if b < 0:
        a, b = mean_y, 0.0
    elif a < 0:
        a = 0.0
        b = sum(wi * xi * yi for wi, xi, yi in points) / sum(wi * xi * xi for wi, xi, _ in points)
    unexplained = sum(wi * (yi - a - b * xi) ** 2 for wi, xi, yi in points)
    r2 = 1 - unexplained / syy if syy else 0.0
    return Line(a, b, r2, p_value(r2, len(y) - 2))


def p_value(r2: float, degrees_of_freedom: int) -> float | None:
    """Probability of an equally good or better line without any dependence.

    The two-sided t test of a slope: the regularised incomplete beta function of 1 - r2, by its
    power series (Abramowitz and Stegun 26.5.4 and 26.7.1), which is exact in the far tail.
    """
    if degrees_of_freedom < 1:
        return None
    half, remainder = degrees_of_freedom / 2, 1 - r2
    if remainder <= 0:
        return 0.0
    if remainder >= 1:
        return 1.0
    total, term, k = 0.0, 1.0, 0
    while True:
        part = term * half / (half + k)
        total += part
        if part < total * 1e-15 or k > 100_000:
            break
        term *= (k + 0.5) / (k + 1) * remainder
        k += 1
    front = half * math.log(remainder) + math.lgamma(half + 0.5) - math.lgamma(half + 1)
    return min(1.0, math.exp(front - math.lgamma(0.5)) * total)


def errors_percent(measured: Sequence[float], fitted: Sequence[float]) -> list[float]:
    """Distance of each fitted value from the measured one, %."""
    return [100 * (f / m - 1) for m, f in zip(measured, fitted, strict=True)]


def mean_size(errors: Sequence[float]) -> float:
    """Mean absolute error."""
    return sum(map(abs, errors)) / len(errors)


def interpolated(x: Sequence[float], y: Sequence[float], at: float) -> float:
    """Linear interpolation between the points, extrapolated by the first and last line."""
    upper = next((i for i, value in enumerate(x) if value >= at), len(x) - 1)
    upper = max(upper, 1)
    share = (at - x[upper - 1]) / (x[upper] - x[upper - 1])
    return y[upper - 1] + share * (y[upper] - y[upper - 1])


def left_out(x: Sequence[float], y: Sequence[float]) -> list[float]:
    """Leave-one-out prediction of each point: the test of a curve through all points."""
    guesses = []
    for i, at in enumerate(x):
        guess = interpolated([*x[:i], *x[i + 1 :]], [*y[:i], *y[i + 1 :]], at)
        guesses.append(max(guess, 0.0))
    return guesses
