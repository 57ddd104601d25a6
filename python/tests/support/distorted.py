"""Finds the rows of a study that say nothing of the simulation, whatever their verdict.

An item is run again on results of which every number is another one. A row that stays as it was is
made of constants: it would pass whatever the simulator does. One whose published figure is another
one compares the simulation with itself. And a row that half of its figure and twice as much bear
out as well cannot fail.
"""

import copy
import zlib
from collections.abc import Callable
from dataclasses import replace

from ssdlab.paper import Item, Row, Study
from ssdlab.results import Results

#: What no simulation decides.
GIVEN = ("experiment", "capacity_bytes")


class Distorted:
    """A study that has been run, with other results for the same experiments."""

    def __init__(self, study: Study) -> None:
        self._study = study

    def __getattr__(self, name):
        return getattr(self._study, name)

    def measure(self, experiments):
        found = self._study.measure(experiments)
        return {key: distorted(results, f"{key}") for key, results in found.items()}

    def figures(self, name, found):
        return _other(found, name)


def distorted(results: Results, name: str) -> Results:
    """The results with every number changed, each by another factor, but those of the experiment
    and the capacity, which follows from it.

    `name` tells experiments apart, so that ratios change as well.
    """
    data = results.to_dict()
    return Results(
        {key: v if key in GIVEN else _other(v, f"{name} {key}") for key, v in data.items()}
    )


def _other(value, path: str):
    if isinstance(value, dict):
        return {key: _other(inner, f"{path}.{key}") for key, inner in value.items()}
    if isinstance(value, list):
        return [_other(inner, f"{path}.{place}") for place, inner in enumerate(value)]
    if isinstance(value, bool) or not isinstance(value, int | float):
        return copy.copy(value)
    factor = 1.05 + zlib.crc32(path.encode()) % 997 / 1000
    if isinstance(value, int):
        return int(value * factor) + 1
    return value * factor or factor


def again(run: Callable[[Study], Item], study: Study, item: Item) -> list[tuple[Row, Row | None]]:
    """Each row of `item`, a run of `study`, and the same of other results; None if it is gone."""
    found = {row.name: row for row in run(Distorted(study)).rows}
    return [(row, found.get(row.name)) for row in item.rows]


def perturbed(row: Row) -> list[Row]:
    """The row with other figures; of none at all, with one."""
    assert row.simulated is not None
    figures = [0.5 * row.simulated, 2 * row.simulated] if row.simulated else [1.0]
    return [replace(row, simulated=figure) for figure in figures]


def passes_at_any_value(row: Row) -> bool:
    """Whether the row is judged, and none of these figures fails it.

    Another sign is none of them: it fails all that is counted or measured.
    """
    return row.verdict == "pass" and all(it.verdict == "pass" for it in perturbed(row))
