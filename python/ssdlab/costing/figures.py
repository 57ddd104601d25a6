"""The figures of costs: the bill by item, and the Pareto front."""

from __future__ import annotations

from collections.abc import Sequence

from ssdlab.charts import Axis, Figure
from ssdlab.charts.figure import Series
from ssdlab.costing import Bill
from ssdlab.sweeps.figures import trade_off

#: Maximum number of designs with separate bars.
MOST_BARS = 20


def all_of(bills: Sequence[Bill], best: Sequence[bool], against: str) -> list[Figure]:
    """The non-empty figures."""
    drawn = [paid(bills)]
    if len(bills) > 1:
        drawn.append(pareto(bills, best, against))
    return [figure for figure in drawn if not figure.empty()]


def paid(bills: Sequence[Bill]) -> Figure:
    """Costs of each design by item; the cheapest first."""
    order = sorted(bills, key=lambda it: it.dollars)[:MOST_BARS]
    words = [f"{it.design.name} x {it.drives}" for it in order]
    first = [it.devices_dollars / it.times_bought for it in order]
    parts = {
        "drives": first,
        "replacements": [it.devices_dollars - once for it, once in zip(order, first, strict=True)],
        "power": [it.power_dollars for it in order],
        "maintenance": [it.maintenance_dollars for it in order],
    }
    bars = [Series(name, words, values, "bars") for name, values in parts.items() if any(values)]
    return Figure(
        "Cost breakdown",
        Axis(
            words=words,
            notes=[", does not meet the requirements" if it.lacks else "" for it in order],
        ),
        Axis("dollars"),
        bars,
        stacked=True,
        horizontal=True,
    )


def pareto(bills: Sequence[Bill], best: Sequence[bool], against: str) -> Figure:
    """Dollars over a latency, with the Pareto front."""
    latency = f"{against}, ms"
    rows = []
    for it in bills:
        us = it.design.latencies_us.get(against)
        rows.append({"dollars": it.dollars, latency: None if us is None else us / 1e3})
    return trade_off(rows, best, latency, "dollars")
