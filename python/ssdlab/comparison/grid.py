"""A against B under many conditions, with a verdict for each and overall. Both sides use the same
seeds, hence the same requests, and differences are paired.

A verdict requires a confidence interval that excludes zero.
"""

from __future__ import annotations

import math
import os
import re
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ssdlab import _core, layers, sources
from ssdlab._core import InputError
from ssdlab.comparison import MAX_REPEATS, distinct_warnings, load, run_points
from ssdlab.confidence import CONFIDENCE, margin
from ssdlab.layers import Layer
from ssdlab.results import Results
from ssdlab.sweeps import plan, space, table
from ssdlab.sweeps.plan import Base, Footprints
from ssdlab.sweeps.run import probed_goals
from ssdlab.sweeps.space import Axis, text_of
from ssdlab.sweeps.table import Goals, Objective

#: Default metrics of a comparison, if available.
FIGURES = ("host.all.percentiles_us.99", "flash.write_amplification_bytes")
REPEATS = 5
BETTER, WORSE, UNKNOWN = "better", "worse", "cannot tell"


@dataclass(frozen=True)
class Cell:
    """A metric of both sides under one condition, one value per seed."""

    condition: str
    objective: Objective
    a: Sequence[float]
    b: Sequence[float]

    @property
    def difference_percent(self) -> float | None:
        """B less A, in percent of A; of the means."""
        mean = statistics.fmean(self.a)
        return 100 * (statistics.fmean(self.b) - mean) / abs(mean) if mean else None

    @property
    def margin_percent(self) -> float | None:
        """Half-width of the paired difference's confidence interval, in percent of A."""
        half = margin([y - x for x, y in zip(self.a, self.b, strict=True)])
        mean = statistics.fmean(self.a)
        return 100 * half / abs(mean) if half is not None and mean else None

    @property
    def verdict(self) -> str:
        """Verdict: B is better than A, worse, or undecided."""
        return _verdict(self.difference_percent, self.margin_percent, self.objective.maximize)

    def to_dict(self) -> dict[str, Any]:
        """The cell in the form of `ssdlab compare --json`."""
        return {
            "condition": self.condition,
            "figure": self.objective.column,
            "a": {"mean": statistics.fmean(self.a), "margin": margin(self.a), "values": [*self.a]},
            "b": {"mean": statistics.fmean(self.b), "margin": margin(self.b), "values": [*self.b]},
            "difference_percent": self.difference_percent,
            "margin_percent": self.margin_percent,
            "verdict": self.verdict,
        }


@dataclass(frozen=True)
class Overall:
    """A metric over all conditions: geometric mean of the ratios B / A."""

    objective: Objective
    difference_percent: float | None
    margin_percent: float | None
    better: int
    worse: int
    unknown: int

    @property
    def verdict(self) -> str:
        """True if B is better over all conditions."""
        return _verdict(self.difference_percent, self.margin_percent, self.objective.maximize)


@dataclass(frozen=True)
class Grid:
    """A comparison under several conditions."""

    a: str
    b: str
    seeds: Sequence[int]
    objectives: Sequence[Objective]
    cells: Sequence[Cell]
    #: Warnings of the runs of A and of B: each kind once, with the number of runs that have it.
    warnings: dict[str, list[str]] = field(default_factory=dict)

    def of(self, objective: Objective) -> list[Cell]:
        """The cells of a metric, one per condition."""
        return [cell for cell in self.cells if cell.objective == objective]

    def overall(self, objective: Objective) -> Overall:
        """A metric over all conditions: one geometric mean of B / A per seed."""
        cells = self.of(objective)
        counts = [sum(c.verdict == it for c in cells) for it in (BETTER, WORSE, UNKNOWN)]
        logs = []
        for position in range(len(self.seeds)):
            pairs = [(cell.a[position], cell.b[position]) for cell in cells]
            if not all(x > 0 and y > 0 for x, y in pairs):
                return Overall(objective, None, None, *counts)
            logs.append(statistics.fmean(math.log(y / x) for x, y in pairs))
        mean, half = statistics.fmean(logs), margin(logs)
        percent = 100 * math.expm1(mean)
        around = None if half is None else 100 * math.exp(mean) * math.sinh(half)
        return Overall(objective, percent, around, *counts)

    def to_dict(self) -> dict[str, Any]:
        """The comparison in the form of `ssdlab compare --json`."""
        overall = [self.overall(objective) for objective in self.objectives]
        return {
            "a": self.a,
            "b": self.b,
            "seeds": [*self.seeds],
            "confidence": CONFIDENCE,
            "warnings": self.warnings,
            "cells": [cell.to_dict() for cell in self.cells],
            "overall": [
                {
                    "figure": it.objective.column,
                    "difference_percent": it.difference_percent,
                    "margin_percent": it.margin_percent,
                    "verdict": it.verdict,
                    "better": it.better,
                    "worse": it.worse,
                    "cannot_tell": it.unknown,
                }
                for it in overall
            ],
        }


def _verdict(difference: float | None, half: float | None, maximize: bool) -> str:
    if difference is None or half is None or abs(difference) <= half or not difference:
        return UNKNOWN
    return BETTER if (difference > 0) == maximize else WORSE


#: The side that takes the experiment from the options.
AS_IS = "as-is"


def split(text: str) -> tuple[str, ...]:
    """The assignments of a side; a comma within a value stays.

    >>> split("device.channels=16,device.timing.read=38us, 45us")
    ('device.channels=16', 'device.timing.read=38us, 45us')
    """
    return tuple(re.split(r",\s*(?=[A-Za-z_][\w.]*=)", text))


def sides(
    a: str, b: str, below: Sequence[Layer], shared: Sequence[Layer]
) -> list[tuple[list[Layer], list[Layer]]]:
    """The layers of both sides, below and beside the varied keys.

    `below` and `shared` apply to both. If A is an experiment or `as-is`, B may be a change to it:
    keys or another drive, in layers above A's.
    """
    (own_a, peers_a), (own_b, peers_b) = side("A", a), side("B", b)
    is_change = not own_b or _core.preset_layer("device", b) is not None
    if is_change and (a == AS_IS or _is_experiment(a)):
        both = [*own_a, *below]
        return [(both, list(shared)), ([*both, *shared, *own_b], peers_b)]
    # --set applies to both sides; a side with that key would give it two values.
    return [
        ([*own, *below], [*shared, *peers]) for own, peers in ((own_a, peers_a), (own_b, peers_b))
    ]


def _is_experiment(said: str) -> bool:
    return sources.is_experiment(said) or os.path.exists(said)


def side(name: str, said: str) -> tuple[list[Layer], list[Layer]]:
    """Layers of a side, below and above the shared ones.

    A side is a device preset, a cleaning policy (`greedy`, `module:Class(window=3)`),
    `KEY=VALUE` or several with commas, an experiment (.toml), results of one, or `as-is`. Raises
    `InputError` for anything else.
    """
    if said == AS_IS:
        return [], []
    key = said.partition("(")[0]
    if sources.is_experiment(said):
        return sources.from_experiment(said), []
    if "=" in key:
        return [], layers.from_options(split(said))
    if os.path.exists(said):
        found = Results.load(said).experiment.to_dict()
        return layers.from_mapping(f"the experiment of {name}", found), []
    if _core.preset_layer("device", said) is not None:
        return [sources.from_name("device", said)], []
    known = [policy for policy, _ in _core.list("cleaners") or ()]
    if key in known or ":" in key:
        return [], layers.from_options([f"device.cleaning.policy={said}"])
    raise InputError(
        f'{name} "{said}": cannot be read, nor is it a device preset or a cleaning policy '
        f"({', '.join(known)}, or module:Class of your own); a side is also KEY=VALUE, an "
        "experiment (FILE.toml), or results of ssdlab run"
    )


def compare_over(
    a: str,
    b: str,
    *,
    below: Sequence[Layer] = (),
    assignments: Sequence[str] = (),
    axes: Sequence[Axis] = (),
    minimize: Sequence[str] = (),
    maximize: Sequence[str] = (),
    repeat: int = REPEATS,
    seed: int | None = None,
    allow_code: bool = False,
    workers: int | None = None,
    progress: Callable[[int, int], object] | None = None,
) -> Grid:
    """Run both sides under every combination of the axes' values, with `repeat` seeds each.

    `below` and `assignments` apply to both sides. Raises `InputError` for wrong input, and for a
    point that fails.
    """
    if not 2 <= repeat <= MAX_REPEATS:
        raise InputError(f"--repeat {repeat}: from 2 to {MAX_REPEATS} repetitions")
    shared = layers.from_options(assignments)
    permitted = layers.permitting if allow_code else list
    stacks = [
        (permitted(low), layers.peers(peers) if peers else [])
        for low, peers in sides(a, b, below, shared)
    ]
    if not any(space.is_of_load(axis.name) for axis in axes):
        stacks = load.of_both(stacks)
    bases = [Base(low, peers, (), {}, allow_code) for low, peers in stacks]
    conditions = plan.choices(axes)
    first = _seed(bases[0], axes, conditions[0]) if seed is None else seed
    seeds = [first + n for n in range(repeat)]
    footprints = Footprints()
    points = []
    for base in bases:
        for values in conditions:
            for number in seeds:
                own = layers.from_seed(f"seed {number}", number)
                seeded = Base(base.below, base.peers, own, {}, allow_code)
                point = plan.make(seeded, axes, values, False, footprints)
                if point.error is not None:
                    raise InputError(point.error)
                points.append(point)
    if minimize or maximize:
        goals = probed_goals(points, minimize, maximize, (), "--")
    found = run_points(points, workers, None, progress)
    flat = [table.flat(found[point.key].to_dict()) for point in points]
    if not (minimize or maximize):
        goals = _goals(flat)
    half = len(flat) // 2
    cells = []
    for objective in goals.objectives:
        for position, values in enumerate(conditions):
            words = ", ".join(
                f"{text_of(value)}" if axis.name in ("workload", "device", "trace")
                else f"{axis.name.removeprefix('device.')}={text_of(value)}"
                for axis, value in zip(axes, values, strict=True)
            )  # fmt: skip
            at = slice(position * repeat, (position + 1) * repeat)
            rows = [flat[:half][at], flat[half:][at]]
            if any(row.get(objective.column) is None for each in rows for row in each):
                raise InputError(f"{words}: has no {objective.column}")
            pair = [[float(row[objective.column]) for row in each] for each in rows]
            cells.append(Cell(words, objective, *pair))
    runs = [found[point.key] for point in points]
    warned = {"A": distinct_warnings(runs[:half]), "B": distinct_warnings(runs[half:])}
    return Grid(a, b, seeds, goals.objectives, cells, warned)


def _seed(base: Base, axes: Sequence[Axis], values: Sequence[Any]) -> int:
    import json

    point = plan.make(base, axes, values, False, Footprints())
    if point.error is not None:
        raise InputError(point.error)
    return int(json.loads(_core.resolve_json(point.layers))["run"]["seed"])


def _goals(flat: Sequence[dict[str, Any]]) -> Goals:
    there = [name for name in FIGURES if all(row.get(name) is not None for row in flat)]
    return Goals([Objective(name, maximize=False) for name in there])


def title(path: str) -> str:
    """Display name of a side."""
    return Path(path).name if os.sep in path else path
