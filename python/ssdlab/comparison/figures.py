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
        ends = [(cell.difference_percent, cell.margin_percent or 0.0) for cell in cells]
        ranges = [None if mean is None else (mean - half, mean + half) for mean, half in ends]
        percents = [mean for mean, _ in ends]
        series.append(Series(spoken(objective.column), words, percents, "bars", ranges=ranges))
    axes = Axis(words=words), Axis("difference, % (with 95 % confidence interval)")
    return Figure(f"{title(found.b)} against {title(found.a)}", *axes, series, horizontal=True)
