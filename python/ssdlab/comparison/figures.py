"""The figure of a comparison: the difference under each condition."""

from __future__ import annotations

from ssdlab.charts import Axis, Figure, Series
from ssdlab.comparison.grid import Grid, title
from ssdlab.sweeps.table import spoken


def differences(found: Grid) -> Figure:
    """B less A in percent of A with its interval, bars per condition, one colour per metric."""
    words = list(dict.fromkeys(cell.condition for cell in found.cells))
    series = []
    for objective in found.objectives:
        cells = found.of(objective)
        percents = [cell.difference_percent for cell in cells]
        ranges = [
            None if mean is None or cell.margin_percent is None
            else (mean - cell.margin_percent, mean + cell.margin_percent)
            for cell, mean in zip(cells, percents, strict=True)
        ]  # fmt: skip
        series.append(Series(spoken(objective.column), words, percents, "bars", ranges=ranges))
    return Figure(
        f"{title(found.b)} against {title(found.a)}",
        Axis(words=words),
        Axis("difference, % (with 95 % confidence interval)"),
        series,
        horizontal=True,
    )
