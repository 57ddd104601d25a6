"""Results as matplotlib figures: `results.plot.latency()` and so on.

Each call returns a `matplotlib.figure.Figure`. Without matplotlib it raises `InputError` with the
install command.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ssdlab._core import InputError
from ssdlab.charts import Figure, matplotlib
from ssdlab.results import Results, figures, over_time

if TYPE_CHECKING:
    from ssdlab.results import Results


class Plots:
    """The figures of one run."""

    def __init__(self, results: Results) -> None:
        self._results = results

    def latency(self, ax: Any = None, others: Sequence[Results] = ()) -> Any:
        """Latency by percentile in us, for each kind of request.

        With `others`, a line for all requests of each result, in the order given. All figures
        except `over_time` take `ax`, matplotlib axes to draw onto.
        """
        named = self._named()
        if others:
            beside = zip("ABCDEFGHIJKLMNOPQRSTUVWXYZ", [self._results, *others], strict=False)
            named = [(f"{name} {it['experiment']['title']}", it) for name, it in beside]
        return self._sheet("latency", figures.latency(named), ax=ax)

    def breakdown(self, ax: Any = None) -> Any:
        """Mean latency by component, in us, for each kind of request."""
        return self._sheet("breakdown", figures.breakdown(self._named()), ax=ax)

    def over_time(self) -> Any:
        """Requests, latency and flash activity over simulated time: figures below each other.

        Raises `InputError` if the run was too short for a time series.
        """
        return self._sheet("over_time", *over_time.strips(self._named()))

    def units(self, ax: Any = None) -> Any:
        """Share of time that each unit (package or die) serves requests and cleans."""
        drawn = figures.units(self._results)
        if drawn.empty():
            raise InputError("plot.units: this device has no units")
        return self._sheet("units", drawn, ax=ax)

    def timeline(self, ax: Any = None) -> Any:
        """The flash operations of the recorded window as bars, over simulated time in us.

        Raises `InputError` if none was recorded.
        """
        if not self._results.get("timeline"):
            problem = 'nothing was recorded; run with set={"run.timeline": "10ms..12ms"}'
            raise InputError(f"plot.timeline: {problem}")
        return self._sheet("timeline", figures.timeline(self._results), ax=ax)

    def _named(self) -> figures.Named:
        if not self._results._kinds():
            raise InputError("plot: no request completed in this run")
        return [("", self._results)]

    def _sheet(self, name: str, *drawn: Figure, ax: Any = None) -> Any:
        if ax is not None:
            return matplotlib.onto(ax, *drawn)
        rows = [[figure] for figure in drawn]
        return matplotlib.sheet(rows, f"plot.{name}", titled=False, share_x=len(rows) > 1)
