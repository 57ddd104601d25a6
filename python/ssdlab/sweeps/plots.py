"""A sweep as matplotlib figures: `sweep.plot.by("device.channels")` and so on.

Each call returns a `matplotlib.figure.Figure`, or draws onto `ax`, axes of matplotlib's, and
returns their figure. A metric is named as in `ssdlab.sweep`: p99, iops, or its path.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ssdlab._core import InputError
from ssdlab.charts import Figure, matplotlib
from ssdlab.sweeps import figures, table

if TYPE_CHECKING:
    from ssdlab.sweeps.result import Sweep

#: Default metric of a figure, without objectives.
USUAL = "host.all.percentiles_us.99"


class Plots:
    """The figures of one sweep."""

    def __init__(self, sweep: Sweep) -> None:
        self._sweep = sweep

    def by(self, parameter: str, metric: str | None = None, ax: Any = None) -> Any:
        """A metric over a parameter: the mean over all others, with minimum and maximum.

        Raises `InputError` for an unknown parameter or metric, and if fewer than two of its values
        have results.
        """
        self._known(parameter)
        name = self._metric(metric)
        rows = self._sweep.rows([name])
        return self._drawn("by", figures.by_parameter(rows, parameter, name), ax)

    def heat_map(self, down: str, across: str, metric: str | None = None, ax: Any = None) -> Any:
        """A metric over two parameters. Raises `InputError` for an unknown one."""
        self._known(down)
        self._known(across)
        name = self._metric(metric)
        drawn = figures.heat_map(self._sweep.rows([name]), down, across, name)
        return self._drawn("heat_map", drawn, ax)

    def pareto(self, x: str | None = None, y: str | None = None, ax: Any = None) -> Any:
        """Every point over two metrics, and the line through the Pareto front.

        The metrics are the first two objectives unless given. Raises `InputError` for a sweep
        with fewer than two objectives.
        """
        objectives = [objective.column for objective in self._sweep.goals.objectives]
        if len(objectives) < 2:
            problem = "a Pareto front needs two objectives: minimize=[...] or maximize=[...]"
            raise InputError(f"plot.pareto: {problem}")
        across = objectives[0] if x is None else self._metric(x)
        up = objectives[1] if y is None else self._metric(y)
        best = [bool(it) for it in self._sweep.columns["pareto"]]
        rows = self._sweep.rows([across, up])
        drawn = figures.trade_off(rows, best, across, up, self._sweep.parameters)
        return self._drawn("pareto", drawn, ax)

    def _known(self, parameter: str) -> None:
        if parameter not in self._sweep.parameters:
            there = ", ".join(self._sweep.parameters)
            raise InputError(f'plot: the sweep does not vary "{parameter}", but {there}')

    def _metric(self, name: str | None) -> str:
        if name is None:
            objectives = self._sweep.goals.objectives
            return objectives[0].column if objectives else USUAL
        return table.find(name, self._sweep.columns, "plot")

    def _drawn(self, name: str, drawn: Figure, ax: Any) -> Any:
        why = "fewer than two points have it, or too many for a figure"
        return matplotlib.shown(drawn, name, ax, why)
