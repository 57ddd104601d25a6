"""All figures over simulated time: strips that share one axis.

A strip is a row of `STRIPS`: a function from results by name to a figure, which is empty without
data.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ssdlab import readable
from ssdlab.charts import Axis, Band, Figure, Reading, Series
from ssdlab.results.figures import Named, letter, run_role
from ssdlab.results.records import Kind

if TYPE_CHECKING:
    from ssdlab.results import Results

#: Maximum number of points per line: more would be narrower than two pixels.
MAX_POINTS = 256

TIME = Axis("simulated time", unit="s")


class Followed:
    """The time series of a run, in at most `MAX_POINTS` groups of intervals."""

    def __init__(self, name: str, role: str, it: Results) -> None:
        self.name, self.role, self.results = name, role, it
        self.letter = letter(name)
        self.series: dict[str, Any] = it.time_series.to_dict()
        count = len(self.series["requests"])
        self.step = -(-count // MAX_POINTS)
        self.seconds = self.series["bin_seconds"] * self.step
        self.at = [round((n + 0.5) * self.seconds, 9) for n in range(-(-count // self.step))]

    def groups(self, key: str) -> list[list[Any]]:
        """The values of each group."""
        values = self.series[key]
        return [values[n : n + self.step] for n in range(0, len(values), self.step)]

    def sums(self, key: str) -> list[float]:
        """Sum of each group."""
        return [sum(group) for group in self.groups(key)]

    def rates(self, key: str) -> list[float | None]:
        """Rates of counters; the last interval may be shorter."""
        return [*(number / self.seconds for number in self.sums(key)[:-1]), None]

    def weighted(self, key: str) -> list[float | None]:
        """Mean of times, weighted by the requests of each group."""
        found: list[float | None] = []
        for values, numbers in zip(self.groups(key), self.groups("requests"), strict=True):
            weights = [n if v is not None else 0 for v, n in zip(values, numbers, strict=True)]
            total = sum((v or 0.0) * n for v, n in zip(values, weights, strict=True))
            found.append(total / sum(weights) if sum(weights) else None)
        return found

    def highest(self, key: str) -> list[float | None]:
        """Maximum of each group."""
        return [max((v or 0.0 for v in group), default=0.0) or None for group in self.groups(key)]

    def line(self, y: Sequence[float | None], name: str = "", dash: int = 0) -> Series:
        """A line of this run, in the run's colour, or the quantity's for a single run."""
        return Series(name or self.name, self.at, y, role=self.role or "read", dash=dash)

    def reading(self, text: str, what: str = "") -> Reading:
        """A number of this run."""
        return Reading(text, what, self.role)


def followed(named: Named) -> list[Followed]:
    """The results with a time series; without roles if there is only one."""
    found = [
        (n, name, it)
        for n, (name, it) in enumerate(named)
        if (series := it.get("time_series")) and len(series["requests"]) > 1
    ]
    several = len(named) > 1
    return [Followed(name, run_role(n) if several else "", it) for n, name, it in found]


def strips(named: Named) -> list[Figure]:
    """All non-empty strips."""
    runs = followed(named)
    return [figure for strip in STRIPS for figure in strip(runs) if not figure.empty()]


def _requests(runs: list[Followed]) -> list[Figure]:
    lines = [run.line(run.rates("requests"), "requests") for run in runs]
    readings = [
        run.reading(readable.rate(run.results.host.all.iops), "" if run.role else "whole run")
        for run in runs
    ]
    axis = Axis("IOPS", unit="rate")
    return [Figure("Requests", TIME, axis, _named(runs, lines), note="IOPS", readings=readings)]


def _latency(runs: list[Followed]) -> list[Figure]:
    """Median and p99 if known, else mean and maximum; for several runs a strip each."""
    exact = all("p50_us" in run.series for run in runs)
    low, high = ("p50_us", "p99_us") if exact else ("mean_us", "max_us")
    words = ("median", "p99") if exact else ("mean", "slowest")
    values = [(_whole(run.results, low), _whole(run.results, high)) for run in runs]
    axis = Axis("latency", log=10, unit="us")
    if len(runs) == 1:
        run = runs[0]
        lines = [
            run.line(run.weighted(low), words[0]),
            run.line(run.highest(high), words[1], 1),
        ]
        band = Band("", run.at, lines[0].y, run.highest("max_us"), "read")
        readings = [
            run.reading(readable.time(values[0][0]), words[0]),
            run.reading(readable.time(values[0][1]), words[1]),
        ]
        note = f"{words[0]}; {words[1]} dashed; log"
        return [Figure("Latency", TIME, axis, [band, *lines], note=note, readings=readings)]
    found = []
    for position, (word, key) in enumerate(((words[1], high), (words[0], low))):
        lines = [run.line(run.highest(key) if key == high else run.weighted(key)) for run in runs]
        readings = [
            run.reading(readable.time(pair[1 - position]))
            for run, pair in zip(runs, values, strict=True)
        ]
        title = f"Latency, {word}"
        found.append(Figure(title, TIME, axis, lines, note="log", readings=readings))
    return found if runs else []


def _whole(it: Results, key: str) -> float | None:
    """Latency of the whole run, by its name in the time series."""
    host: Kind = it.host.all
    if key in ("p50_us", "p99_us"):
        return host.percentiles_us[key[1:-3]]  # type: ignore[no-any-return]
    return host[key]  # type: ignore[no-any-return]


def _amplification(runs: list[Followed]) -> list[Figure]:
    lines, readings = [], []
    for run in runs:
        # Results of an older version count pages only.
        in_bytes = "host_bytes_written" in run.series
        keys = ("host_bytes_written", "bytes_programmed")
        keys = keys if in_bytes else ("host_pages_written", "pages_programmed")
        if keys[0] not in run.series:
            continue
        pairs = zip(*(run.sums(key) for key in keys), strict=True)
        lines.append(run.line([p / w if w else None for w, p in pairs], "write amplification"))
        readings.append(
            run.reading(
                readable.times(run.results._amplification() or 0.0), "" if run.role else "whole run"
            )
        )
    axis = Axis("programmed / written", unit="times")
    note = "programmed / written"
    return _seen("Write amplification", axis, _named(runs, lines), note, readings)


def _erased(runs: list[Followed]) -> list[Figure]:
    having = [run for run in runs if any(run.series.get("blocks_erased") or [])]
    lines = [run.line(run.rates("blocks_erased"), "blocks erased") for run in having]
    readings = [
        run.reading(
            readable.rate(sum(run.series["blocks_erased"]) / run.results.simulated_seconds),
            "" if run.role else "mean",
        )
        for run in having
        if run.results.simulated_seconds
    ]
    axis = Axis("blocks/s", unit="rate")
    return _seen("Cleaning", axis, _named(having, lines), "blocks erased per second", readings)


def _free(runs: list[Followed]) -> list[Figure]:
    having = [run for run in runs if any(run.series.get("free_blocks") or [])]
    lines = [
        run.line([group[-1] for group in run.groups("free_blocks")], "erased blocks")
        for run in having
    ]
    readings = [
        run.reading(readable.count(run.series["free_blocks"][-1]), "" if run.role else "at the end")
        for run in having
    ]
    axis = Axis("erased blocks", unit="count")
    return _seen("Erased blocks", axis, _named(having, lines), "in reserve", readings)


def _watts(runs: list[Followed]) -> list[Figure]:
    having = [run for run in runs if any(run.series.get("watts") or [])]
    lines, readings = [], []
    for run in having:
        means = [sum(it or 0.0 for it in group) / len(group) for group in run.groups("watts")]
        lines.append(run.line(means, "watts"))
        mean = readable.watts(run.results.energy.mean_watts)
        readings.append(run.reading(mean, "" if run.role else "mean"))
    return _seen("Power", Axis("watts", unit="watts"), _named(having, lines), "watts", readings)


def _named(runs: list[Followed], lines: list[Series]) -> list[Series]:
    """The lines, labelled by run if there are several."""
    several = any(run.role for run in runs)
    if not several:
        return lines
    by_role = {run.role: run.letter for run in runs}
    return [replace(line, name=by_role[line.role]) for line in lines]


def _seen(
    title: str, axis: Axis, lines: list[Series], note: str, readings: list[Reading]
) -> list[Figure]:
    """The figure, if it has data."""
    there = [line for line in lines if any(line.y)]
    return [Figure(title, TIME, axis, there, note=note, readings=readings)] if there else []


#: All strips from the top, for the report and `plot.over_time()`.
STRIPS: tuple[Callable[[list[Followed]], list[Figure]], ...] = (
    _requests,
    _latency,
    _amplification,
    _erased,
    _free,
    _watts,
)
