"""The figures of `ssdlab placement`."""

from __future__ import annotations

from ssdlab.charts import Axis, Figure, Level, Series
from ssdlab.placing.answer import REAL, Placed
from ssdlab.placing.display import ORDER


def policies(found: Placed) -> Figure:
    """Write amplification by policy, at the highest utilisation."""
    level = max(found.utilisations)
    rows = [row for row in found.at(level) if row.dlwa is not None]
    rows.sort(key=lambda row: ORDER.index(row.policy))
    series = []
    for isolation in dict.fromkeys(row.isolation for row in rows):
        here = [row for row in rows if row.isolation == isolation]
        names = [row.policy for row in here]
        series.append(Series(isolation, names, [row.dlwa for row in here], mark="bars"))
    none = found.none(level).dlwa
    return Figure(
        f"Write amplification by policy, {level:.0%} full",
        Axis("policy"),
        Axis("write amplification"),
        [*series, *([Level("without", none)] if none is not None else [])],
    )


def utilisation(found: Placed) -> Figure:
    """Write amplification over utilisation: without placement, best policy, and bound."""
    levels = sorted(found.utilisations)
    at = [100 * level for level in levels]
    best = [found.best(level, REAL) for level in levels]
    bound = [found.bound(level) for level in levels]
    return Figure(
        "Write amplification by utilisation",
        Axis("data, % of the capacity", zero=False),
        Axis("write amplification"),
        [
            Series("none", at, [found.none(level).dlwa for level in levels]),
            Series("best policy", at, [row.dlwa if row else None for row in best]),
            Series("bound", at, [row.dlwa if row else None for row in bound]),
        ],
    )
