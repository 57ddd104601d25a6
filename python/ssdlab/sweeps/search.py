"""A search: Optuna chooses the points to run next.

It proposes `BATCH` points at a time and receives their results in that order. So a search finds the
same points on one core and on a cluster, and an interrupted search, when repeated, proposes its
completed points again.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from ssdlab import _core
from ssdlab._core import InputError
from ssdlab.optional import required
from ssdlab.sweeps import plan, space
from ssdlab.sweeps.plan import Base, Footprints, Point
from ssdlab.sweeps.space import Axis
from ssdlab.sweeps.table import Goals

#: Points proposed at a time: more would use more cores, but each with less information.
BATCH = 8


def require_optuna(source: str) -> Any:
    """The module optuna with logging off; otherwise `InputError` with the install command."""
    optuna = required("optuna", source)
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    warnings.filterwarnings("ignore", category=optuna.exceptions.ExperimentalWarning)
    return optuna


def samples(base: Base, axes: Sequence[Axis]) -> Iterator[Point]:
    """Sample points of a space: first corner, middle, last corner."""
    footprints = Footprints()
    for share in (0.0, 0.5, 1.0):
        values = []
        for axis in axes:
            if axis.span is None:
                values.append(axis.values[round(share * (len(axis.values) - 1))])
            else:
                low, high = float(axis.span.low), float(axis.span.high)
                values.append(space.at(axis.span, low + share * (high - low)))
        yield plan.make(base, axes, values, False, footprints)


def run(
    base: Base,
    axes: Sequence[Axis],
    trials: int,
    goals: Goals,
    check: bool,
    evaluate: Callable[[Sequence[Point]], Sequence[Mapping[str, Any]]],
) -> list[Point]:
    """Evaluate `trials` points; returns them in order.

    `evaluate` runs points and returns their rows.
    """
    optuna = require_optuna("a search")
    seed = json.loads(_core.resolve_json([*base.below, *base.peers, *base.above]))["run"]["seed"]
    sampler = optuna.samplers.TPESampler(
        seed=seed % 2**32,
        multivariate=True,
        constant_liar=True,
    )
    directions = ["minimize"] * len(goals.objectives)  # `Goals.values` negates the others
    study = optuna.create_study(directions=directions, sampler=sampler)
    footprints = Footprints()
    points: list[Point] = []
    while len(points) < trials:
        requested = [study.ask() for _ in range(min(BATCH, trials - len(points)))]
        batch = [
            plan.make(base, axes, [_suggest(trial, axis) for axis in axes], check, footprints)
            for trial in requested
        ]
        for trial, row in zip(requested, evaluate(batch), strict=True):
            values = goals.values(row)
            for constraint in goals.constraints:
                trial.set_constraint(constraint.column, constraint.excess(row))
            if values is None:
                study.tell(trial, state=optuna.trial.TrialState.FAIL)
            else:
                study.tell(trial, values)
        points += batch
        if len(points) == len(requested) and all(point.error for point in batch):
            raise InputError(str(batch[0].error))
    return points


def _suggest(trial: Any, axis: Axis) -> Any:
    """The next value of an axis to try."""
    span = axis.span
    if span is not None and span.whole:
        return space.at(span, trial.suggest_int(axis.name, int(span.low), int(span.high)))
    if span is not None:
        return space.at(span, trial.suggest_float(axis.name, float(span.low), float(span.high)))
    positions = range(len(axis.values))
    if axis.ordered:
        return axis.values[trial.suggest_int(axis.name, 0, positions[-1])]
    return axis.values[trial.suggest_categorical(axis.name, list(positions))]
