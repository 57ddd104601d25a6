"""Successive halving: all points of a grid briefly, then fewer of them for longer.

All points of a round have the same requests; each round has another seed, and as many requests in
total as the one before. At most the better third goes to the next round, and only points whose
objective an interval cannot tell from the best. Points and rounds are a two-way layout: the
interval comes from what neither explains. The last points run in full, with their own seed.
"""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ssdlab import _core, layers
from ssdlab._core import InputError
from ssdlab.confidence import CONFIDENCE, student_quantile
from ssdlab.layers import Layer
from ssdlab.sweeps import plan
from ssdlab.sweeps.plan import Base, Point
from ssdlab.sweeps.space import Axis
from ssdlab.sweeps.table import Constraint, Goals

#: The key that shortens a run, and the preconditioning of short runs instead of a longer one.
LENGTH, STATE = "workload.requests", "run.precondition"
BRIEF = "random:1"
#: Share of the grid's requests that all rounds have together, and points that run in full. With the
#: preconditioning of short runs it takes about a tenth of the grid's time.
SHARE, FULL = 0.05, 2
#: Points of a round for each one of the next.
KEEP_ONE_OF = 3
#: Minimum number of requests of a run.
FEWEST = 2000
#: Smallest value with a logarithm, and the addition for a constraint that is missed by its limit.
LEAST, BEYOND = 1e-12, 1e3

Scores = dict[str, list[float]]


def run(
    base: Base,
    axes: Sequence[Axis],
    points: Sequence[Point],
    goals: Goals,
    check: bool,
    evaluate: Callable[[Sequence[Point]], Sequence[Mapping[str, Any]]],
) -> list[Point]:
    """Evaluate rounds of the grid's `points`; returns all runs, the full ones last."""
    whole, seed, state = of(base)
    left = [*points]
    rounds = max(math.ceil(math.log(len(left) / FULL, KEEP_ONE_OF)), 1)
    each = max(SHARE * len(left) - FULL, 1.0) * whole / rounds
    scores: Scores = {point.key: [] for point in left}
    lengths: list[int] = []
    ran: list[Point] = []
    footprints = plan.Footprints()

    def made(point: Point, length: int, more: Sequence[Layer]) -> Point:
        values = [point.parameters[axis.name] for axis in axes]
        own = replace(base, above=[*base.above, *more])
        found = plan.make(own, axes, values, check, footprints)
        return replace(found, parameters=point.parameters | {LENGTH: length})

    while len(left) > FULL:
        length = max(int(each / len(left)), FEWEST)
        if length >= whole:
            break
        above = [
            *layers.from_seed("halving", seed + 1 + len(lengths)),
            layers.from_assignment(LENGTH, length),
            *state,
        ]
        batch = [made(point, length, above) for point in left]
        lengths.append(length)
        for point, row in zip(left, evaluate(batch), strict=True):
            scores[point.key].append(_score(row, goals))
        ran += batch
        best = surviving([scores[point.key] for point in left], lengths)
        left = [left[place] for place in best]
    full = [made(point, whole, ()) for point in left]
    evaluate(full)
    return ran + full


def in_full(points: Sequence[Point]) -> Constraint:
    """The constraint that only runs in full satisfy, the last of `points` among them."""
    return Constraint(LENGTH, True, float(points[-1].parameters[LENGTH]))


def of(base: Base) -> tuple[int, int, list[Layer]]:
    """Requests and seed of an experiment, and the layers of its short runs."""
    resolved = json.loads(_core.resolve_json([*base.below, *base.peers, *base.above]))
    whole = resolved["workload"].get("requests")
    if not isinstance(whole, int):
        raise InputError(f"halving shortens runs: state their number, --set {LENGTH}=100000")
    kind, _, times = str(resolved["run"]["precondition"]).partition(":")
    is_long = kind == "steady" or (kind == "random" and float(times or 1) > 1)
    state = [layers.from_assignment(STATE, BRIEF)] if is_long else []
    return whole, int(resolved["run"]["seed"]), state


def _score(row: Mapping[str, Any], goals: Goals) -> float:
    """The objective's logarithm, less for a better point, and far more beyond the constraints."""
    values = goals.values(row)
    if values is None or row.get("error"):
        return math.inf
    size = math.log(max(abs(values[0]), LEAST))
    return (-size if values[0] < 0 else size) + BEYOND * max(goals.miss(row), 0.0)


def surviving(scores: Sequence[Sequence[float]], lengths: Sequence[int]) -> list[int]:
    """The points for the next round, the best first, by their score in each round.

    >>> surviving([[1.0, 1.0], [1.1, 1.1], [1.2, 1.21], [2.0, 1.9], [3.0, 3.1]], [100, 200])
    [0, 1]
    >>> surviving([[1.0], [9.0], [2.0], [3.0]], [100])
    [0, 2]
    """
    weight = sum(lengths)
    means = [sum(n * it for n, it in zip(lengths, mine, strict=True)) / weight for mine in scores]
    order = sorted(range(len(means)), key=lambda place: means[place])
    order = order[: math.ceil(len(order) / KEEP_ONE_OF)]
    finite = [mine for mine in scores if all(map(math.isfinite, mine))]
    if len(lengths) < 2 or len(finite) < 3:
        return order
    of_points = [statistics.fmean(mine) for mine in finite]
    of_rounds = [statistics.fmean(them) for them in zip(*finite, strict=True)]
    every = statistics.fmean(of_points)
    noise = sum(
        (it - a - b + every) ** 2
        for a, mine in zip(of_points, finite, strict=True)
        for b, it in zip(of_rounds, mine, strict=True)
    )
    freedom = (len(finite) - 1) * (len(lengths) - 1)
    deviation = math.sqrt(2 * noise / freedom * sum(n * n for n in lengths)) / weight
    width = student_quantile((1 + CONFIDENCE) / 2, freedom) * deviation
    return [place for place in order if means[place] <= means[order[0]] + width]
