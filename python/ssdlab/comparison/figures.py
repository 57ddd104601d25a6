"""The figure of a comparison: the difference under each condition."""

from __future__ import annotations

from ssdlab.charts import Axis, Figure, Series
from ssdlab.comparison.grid import Grid
from ssdlab.sweeps.table import spoken


def differences(found: Grid) -> Figure:
    """B less A in percent of A, bars per condition, one colour per metric."""
    words = list(dict.fromkeys(cell.condition or "both" for cell in found.cells))
    series = [
        Series(
            spoken(objective.column),
            words,
            [cell.difference_percent for cell in found.of(objective)],
            "bars",
        )
        for objective in found.objectives
    ]
    return Figure("B - A", Axis(words=words), Axis("difference, %"), series, horizontal=True)
