"""The wear of the blocks by place: a map, and its numbers."""

from __future__ import annotations

from ssdlab import pages
from ssdlab.charts import svg
from ssdlab.results import Results
from ssdlab.running import figures


def section(named: figures.Named) -> str:
    """A map for each of the results that has blocks which were erased."""
    return "".join(_map(name, it) for name, it in named)


def _map(name: str, it: Results) -> str:
    drawn = figures.wear(name, it)
    if drawn.empty():
        return ""
    body = [
        [
            row.name,
            f"{sum(row.mean_erases) / len(row.mean_erases):.4g}",
            str(max(row.max_erases)),
        ]
        for row in it.wear.map
    ]
    numbers = pages.table(["", "mean of the cells", "most erased block"], body)
    return f"{svg.figure(drawn)}<details><summary>As numbers</summary>{numbers}</details>"
