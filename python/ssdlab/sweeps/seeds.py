"""Sweeps over `run.seed`: mean over seeds of each design, with its confidence interval."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ssdlab.confidence import margin
from ssdlab.sweeps.table import margin_of

if TYPE_CHECKING:
    from ssdlab.sweeps.result import Sweep

SEED = "run.seed"


class Mean(NamedTuple):
    """The mean of a metric over seeds; `margin` is the half-width of its 95 % interval."""

    mean: float
    margin: float | None
    seeds: int


class Design(NamedTuple):
    """Results of the points that differ only in their seeds."""

    parameters: dict[str, Any]
    figures: dict[str, Mean]
    rows: Sequence[int]
    """Indices of the points in the sweep."""


def rows_of(found: Sequence[Design]) -> list[dict[str, Any]]:
    """A row for each design: its parameters, and means with their margins (`table.margin_of`)."""
    every = []
    for design in found:
        row = dict(design.parameters)
        for name, it in design.figures.items():
            row[name], row[margin_of(name)] = it.mean, it.margin
        every.append(row)
    return every


def designs(sweep: Sweep, names: Iterable[str] | None = None) -> list[Design]:
    """The points of a sweep by design, each with the means over its seeds; none without seeds.

    `names` are the columns with means, by default all.
    """
    columns = sweep.columns
    if len(set(columns.get(SEED, ()))) < 2:
        return []
    others = [name for name in sweep.parameters if name != SEED]
    groups: dict[tuple[Any, ...], list[int]] = {}
    for row in range(len(sweep)):
        groups.setdefault(tuple(str(columns[name][row]) for name in others), []).append(row)
    found = [
        Design({name: columns[name][rows[0]] for name in others}, {}, rows)
        for rows in groups.values()
    ]
    wanted = columns if names is None else dict.fromkeys(names)
    for name in (it for it in wanted if it in columns and it not in sweep.parameters):
        values = columns[name]
        for design in found:
            mine = [values[row] for row in design.rows]
            numbers = [v for v in mine if isinstance(v, int | float) and not isinstance(v, bool)]
            if numbers:
                design.figures[name] = Mean(
                    statistics.fmean(numbers), margin(numbers), len(numbers)
                )
    return found
