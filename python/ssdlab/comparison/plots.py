"""A comparison as matplotlib figures: `comparison.plot.differences()`, `plot.latency()`.

Each call returns a `matplotlib.figure.Figure`, or draws onto `ax`, axes of matplotlib's, and
returns their figure.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ssdlab._core import InputError
from ssdlab.charts import Axis, Figure, Series, matplotlib
from ssdlab.results import figures
from ssdlab.sweeps.table import spoken

if TYPE_CHECKING:
    from ssdlab.comparison import Comparison


class Plots:
    """The figures of one comparison."""

    def __init__(self, comparison: Comparison) -> None:
        self._comparison = comparison

    def differences(self, ax: Any = None) -> Any:
        """B less A in percent of A, one bar per main metric."""
        found = {
            spoken(row.name): row.difference_percent
            for row in self._comparison.shown()
            if row.difference_percent is not None
        }
        series = [Series("", [*found], [*found.values()], "bars")] if found else []
        axes = Axis(words=[*found]), Axis("difference, %")
        drawn = Figure("B - A", *axes, series, horizontal=True)
        return matplotlib.shown(drawn, "differences", ax)

    def latency(self, ax: Any = None) -> Any:
        """Latency of all requests by percentile in us, of A and of B.

        Raises `InputError` unless both sides were simulated.
        """
        runs = self._comparison.results
        if len(runs) != 2:
            raise InputError("plot.latency: only simulated sides have a latency by percentile")
        named = [*zip((f"A {self._comparison.a}", f"B {self._comparison.b}"), runs, strict=True)]
        return matplotlib.shown(figures.latency(named), "latency", ax)
