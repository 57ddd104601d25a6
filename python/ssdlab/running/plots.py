"""Results as matplotlib figures: `results.plot.latency()` and so on.

Each call returns a `matplotlib.figure.Figure`, which a notebook shows and `savefig` keeps. Without
matplotlib it raises `InputError` with the line that installs it.
"""

from __future__ import annotations

import functools
import io
from typing import Any

from ssdlab._core import InputError, operations, parts
from ssdlab.optional import required
from ssdlab.results import Record, Results

#: The kinds of flash operation of a timeline, in the order in which they are shown.
OPERATIONS = operations()


class Plots:
    """The figures of one run."""

    def __init__(self, results: Results) -> None:
        self._results = results

    def latency(self) -> Any:
        """The share of the requests that take at most so long, in us, for each kind of request."""
        figure, axes = _figure("latency")
        for kind, host in self._kinds():
            axes.plot(*cumulative(host), label=kind)
        axes.set(xlabel="latency, us", ylabel="share of requests, %", xscale="log", ylim=(0, 101))
        axes.legend()
        return figure

    def breakdown(self) -> Any:
        """Where the mean latency goes, in us, for each kind of request."""
        figure, axes = _figure("breakdown")
        kinds = self._kinds()
        names = [kind for kind, _ in kinds]
        left = [0.0] * len(kinds)
        for key, label in parts():
            widths = [host.breakdown_us.get(key) or 0.0 for _, host in kinds]
            axes.barh(names, widths, left=left, label=label)
            left = [start + width for start, width in zip(left, widths, strict=True)]
        axes.invert_yaxis()
        axes.set(xlabel="mean latency, us")
        axes.legend(fontsize="small")
        return figure

    def over_time(self) -> Any:
        """Requests a second, and mean and largest latency in us, over simulated time in s."""
        series = self._results.time_series
        figure, (above, below) = _figure("over_time", rows=2, sharex=True)
        at = [(n + 0.5) * series.bin_seconds for n in range(len(series.requests))]
        above.plot(at, [number / series.bin_seconds for number in series.requests])
        above.set(ylabel="requests/s", ylim=(0, None))
        means = [float("nan") if mean is None else mean for mean in series.mean_us]
        below.plot(at, means, label="mean")
        below.plot(at, [*series.max_us], label="max")
        below.set(xlabel="simulated time, s", ylabel="latency, us", yscale="log")
        below.legend()
        return figure

    def units(self) -> Any:
        """The share of the time that each unit (package or die) serves requests and cleans."""
        units = [*(self._results.get("units") or [])]
        if not units:
            raise InputError("plot.units: this device has no units")
        figure, axes = _figure("units")
        names = [unit.name for unit in units]
        cleaning = [100 * (unit.get("cleaning") or 0.0) for unit in units]
        serving = [100 * unit.busy - share for unit, share in zip(units, cleaning, strict=True)]
        axes.bar(names, serving, label="serving requests")
        axes.bar(names, cleaning, bottom=serving, label="cleaning")
        axes.tick_params(axis="x", rotation=90 if len(names) > 6 else 0)
        axes.set(ylabel="busy, %", ylim=(0, 100))
        axes.legend()
        return figure

    def timeline(self) -> Any:
        """The flash operations of the recorded window as bars, over simulated time in us.

        Raises `InputError` if none was recorded.
        """
        timeline = self._results.get("timeline")
        if not timeline:
            problem = 'nothing was recorded; run with set={"run.timeline": "10ms..12ms"}'
            raise InputError(f"plot.timeline: {problem}")
        figure, axes = _figure("timeline")
        bars: dict[tuple[str, int], list[tuple[float, float]]] = {}
        columns = timeline.operations.to_dict()
        for lane, kind, start, end in zip(
            *(columns[key] for key in ("lane", "kind", "start_ns", "end_ns")), strict=True
        ):
            bars.setdefault((kind, lane), []).append((start / 1e3, (end - start) / 1e3))
        seen = dict.fromkeys(kind for kind, _ in bars)
        colours = {kind: f"C{OPERATIONS.index(kind)}" for kind in seen}
        ordered = sorted(bars.items(), key=lambda it: OPERATIONS.index(it[0][0]))
        for (kind, lane), spans in ordered:
            label = kind if seen.pop(kind, True) is None else None
            look = {"facecolor": colours[kind], "edgecolor": "white", "linewidth": 0.3}
            axes.broken_barh(spans, (lane - 0.4, 0.8), label=label, **look)
        axes.set_yticks(range(len(timeline.lanes)), [*timeline.lanes], fontsize="small")
        axes.invert_yaxis()
        last = max(columns["end_ns"], default=timeline.to_ns)
        axes.set(
            xlabel="simulated time, us",
            xlim=(timeline.from_ns / 1e3, min(timeline.to_ns, last) / 1e3),
        )
        if bars:
            axes.legend(fontsize="small", loc="upper left", bbox_to_anchor=(1, 1))
        return figure

    def _kinds(self) -> list[tuple[str, Record]]:
        kinds = self._results._kinds()
        if not kinds:
            raise InputError("plot: no request completed in this run")
        return kinds[:1] if len(kinds) == 2 else kinds  # with one kind, "all" would repeat it


def cumulative(host: Record) -> tuple[list[float], list[float]]:
    """Latencies in us, and the share of the requests below each, in percent."""
    below, shares, done = [host.min_us], [0.0], 0
    for bound, number in zip(host.histogram.below_us, host.histogram.requests, strict=True):
        done += number
        # Nothing is slower than the slowest request, wherever its bin ends.
        below.append(min(bound, host.max_us))
        shares.append(100 * done / host.requests)
    return below, shares


def _figure(name: str, rows: int = 1, **options: Any) -> tuple[Any, Any]:
    """A figure that belongs to no window, and its axes."""
    figure = required("matplotlib.figure", f"plot.{name}").Figure(layout="constrained")
    # A notebook shows figures of pyplot by itself; one that belongs to no window must say how.
    figure._repr_png_ = functools.partial(_png, figure)
    return figure, figure.subplots(rows, **options)


def _png(figure: Any) -> bytes:
    picture = io.BytesIO()
    figure.savefig(picture, format="png")
    return picture.getvalue()
