"""The arithmetic of the recipes: lines, stretches of equal rate, and intervals by resampling."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence

#: Number of bootstrap samples for a confidence interval, and the seed, for reproducible results.
DRAWS, SEED = 200, 1
#: Block length of the block bootstrap: neighbouring samples are correlated.
TOGETHER = 5
#: t quantiles of 97.5 % by degrees of freedom; beyond the last the normal one.
T = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228)
NORMAL = 1.96
#: Lower bound of a sample's rate, as a share of the mean rate.
LEAST = 0.02

Samples = Sequence[tuple[float, float]]


def line(x: Sequence[float], y: Sequence[float]) -> tuple[float, float]:
    """Least-squares line through points: intercept and slope."""
    count = len(x)
    mean_x, mean_y = sum(x) / count, sum(y) / count
    square = sum((it - mean_x) ** 2 for it in x)
    slope = sum((a - mean_x) * (b - mean_y) for a, b in zip(x, y, strict=True)) / square
    return mean_y - slope * mean_x, slope


def interval(value: float, drawn: Sequence[float]) -> tuple[float, float, float]:
    """A value with its 95 % bootstrap interval, widened to contain it."""
    ranked = sorted(drawn)
    low, high = ranked[int(0.025 * len(ranked))], ranked[math.ceil(0.975 * len(ranked)) - 1]
    return value, min(low, value), max(high, value)


def slope_interval(x: Sequence[float], y: Sequence[float]) -> float:
    """Half-width of the slope's confidence interval; at least three points."""
    begin, slope = line(x, y)
    freedom, mean = len(x) - 2, sum(x) / len(x)
    if freedom < 1:
        return 0.0
    remainder = sum((b - begin - slope * a) ** 2 for a, b in zip(x, y, strict=True))
    error = math.sqrt(remainder / freedom / sum((it - mean) ** 2 for it in x))
    return (T[freedom - 1] if freedom <= len(T) else NORMAL) * error


def resampled(of: Callable[[random.Random], float | None]) -> list[float]:
    """Values of `DRAWS` bootstrap samples."""
    draw = random.Random(SEED)
    found = (of(draw) for _ in range(DRAWS))
    return [it for it in found if it is not None]


def drawn(samples: Samples, draw: random.Random) -> list[tuple[float, float]]:
    """A sample of equal size, drawn in blocks of neighbours."""
    found: list[tuple[float, float]] = []
    reach = min(TOGETHER, len(samples))
    while len(found) < len(samples):
        start = draw.randrange(len(samples) - reach + 1)
        found += samples[start : start + reach]
    return found[: len(samples)]


def rate(samples: Samples) -> float:
    """Bytes a second."""
    seconds = sum(it for it, _ in samples)
    return sum(it for _, it in samples) / seconds if seconds else 0.0


def stretches(samples: Samples, most: int, ratio: float, fewest: int) -> list[tuple[int, int]]:
    """Change points of the rate: at most `most` stretches of samples, each at one rate.

    Neighbouring stretches whose rates differ by less than the factor `ratio` are joined. A stretch
    has at least `fewest` samples. The cuts minimise the variance of the logarithm.
    """
    # A stalled sample counts as slow, not as zero.
    minimum = max(LEAST * rate(samples), 1.0)
    logs = [math.log(max(amount / seconds, minimum)) for seconds, amount in samples]
    weights = [seconds for seconds, _ in samples]
    sums = [(0.0, 0.0, 0.0)]
    for w, it in zip(weights, logs, strict=True):
        a, b, c = sums[-1]
        sums.append((a + w, b + w * it, c + w * it * it))

    def cost(start: int, end: int) -> float:
        (a, b, c), (d, e, f) = sums[start], sums[end]
        return max(0.0, f - c - (e - b) ** 2 / (d - a))

    count = len(samples)
    best = [[cost(0, end) if end else 0.0 for end in range(count + 1)]]
    cuts: list[list[int]] = [[0] * (count + 1)]
    for part in range(1, most):
        costs, froms = [math.inf] * (count + 1), [0] * (count + 1)
        for end in range((part + 1) * fewest, count + 1):
            for start in range(part * fewest, end - fewest + 1):
                found = best[-1][start] + cost(start, end)
                if found < costs[end]:
                    costs[end], froms[end] = found, start
        best.append(costs)
        cuts.append(froms)
    for part in range(most - 1, -1, -1):
        if best[part][count] == math.inf:
            continue
        ends = [count]
        for back in range(part, 0, -1):
            ends.append(cuts[back][ends[-1]])
        ends.append(0)
        bounds = ends[::-1]
        found_parts = list(zip(bounds, bounds[1:]))  # noqa: B905
        levels = [rate(samples[a:b]) for a, b in found_parts]
        pairs = zip(levels, levels[1:])  # noqa: B905
        if all(max(a, b) >= ratio * min(a, b) for a, b in pairs):
            return found_parts
    return [(0, count)]


def thinned(samples: Samples, most: int) -> list[tuple[float, float]]:
    """At most `most` samples: neighbours are added up."""
    each = max(1, math.ceil(len(samples) / most))
    groups = [samples[start : start + each] for start in range(0, len(samples), each)]
    return [(sum(a for a, _ in it), sum(b for _, b in it)) for it in groups]
