"""The figures of a run, or of several beside each other: each is described here and nowhere else.

A function takes results by name, the name being "" where there is only one, and returns a figure;
an empty one where the results have nothing to show.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ssdlab._core import operations
from ssdlab.charts import Axis, Cells, Figure, Series, Spans
from ssdlab.numbers import duration
from ssdlab.results import PARTS, Record, Results

#: Results by name.
Named = Sequence[tuple[str, Results]]

TIME = Axis("simulated time, s")
#: What is drawn of the flash over time: title and axis.
FLASH = {
    "amplification": ("Write amplification", "bytes programmed / bytes written"),
    "free": ("Free blocks", "erased blocks"),
    "erased": ("Cleaning: blocks erased a second", "blocks/s"),
}
#: Where a bin of a histogram of latencies begins at the earliest, as a share of its end: there are
#: eight of equal width to each doubling (`engine/src/stats.rs`).
BIN_START = 8 / 9
#: With so few operations in a figure each says what it is.
MAX_TOLD = 2_000


def kinds(results: Results) -> list[tuple[str, Record]]:
    """The kinds of request that there were; all of them last, unless it would repeat the one."""
    found = results._kinds()
    return found[:1] if len(found) == 2 else found


def each(named: Named) -> list[tuple[str, str, Record]]:
    """Every kind of request of every result: the result's name, the kind, the figures."""
    return [(name.partition(":")[0], kind, host) for name, it in named for kind, host in kinds(it)]


def of_classes(named: Named) -> list[tuple[str, str, Record]]:
    """Every kind of request of every class of a workload, as `each` has those of all classes."""
    return [
        (name.partition(":")[0], f"{of} {kind}", host)
        for name, it in named
        for of, answers in (it.get("classes") or {}).items()
        for kind, host in answers.items()
        if kind != "all" and host.requests
    ]


def latency(named: Named) -> Figure:
    """The cumulative distribution of latencies, for each kind of request."""
    curves = [
        _cumulative(f"{kind}, {name}" if name else kind, host)
        for name, kind, host in each(named)
        # What took no time has no place on a logarithmic axis.
        if host.requests and host.max_us > 0 and "histogram" in host
    ]
    return Figure(
        "Latency CDF",
        Axis("latency, us", log=10),
        Axis("share of requests, %", low=0, high=100),
        curves,
    )


def _cumulative(name: str, host: Record) -> Series:
    """The share of the requests below each bound, from the shortest on; the axis is logarithmic."""
    below, shares, done = [host.min_us], [0.0], 0
    for bound, number in zip(host.histogram.below_us, host.histogram.requests, strict=True):
        # Empty bins are left out of the histogram: over them the curve is level.
        if bound * BIN_START > below[-1]:
            below.append(bound * BIN_START)
            shares.append(100 * done / host.requests)
        done += number
        # Nothing is slower than the slowest request, wherever its bin ends.
        below.append(min(bound, host.max_us))
        shares.append(100 * done / host.requests)
    start = next((place for place, us in enumerate(below) if us > 0), 0)
    return Series(name, below[start:], shares[start:])


def breakdown(named: Named) -> Figure:
    """Where the mean latency goes, for each kind of request."""
    found = [(f"{name} {kind}".strip(), host) for name, kind, host in each(named) if host.requests]
    words = [word for word, _ in found]
    bars = [
        Series(label, words, [host.breakdown_us.get(part) or 0.0 for _, host in found], "bars")
        for part, label in PARTS.items()
    ]
    notes = [f", {duration(host.mean_us, 4)}" for _, host in found]
    return Figure(
        "",
        Axis(words=words, notes=notes),
        Axis("mean latency, us"),
        bars if found else [],
        stacked=True,
        horizontal=True,
    )


def over_time(named: Named, most: int | None = None) -> tuple[Figure, Figure]:
    """Requests a second, and the mean and largest latency, over simulated time.

    With `most`, intervals are put together until there are no more than that, and of the rates the
    last, which may have ended early, is left out.
    """
    rates, means, maxima = [], [], []
    for name, it in named:
        series = it.get("time_series")
        if not series or len(series.requests) < 2:
            continue
        step, at = _intervals(series, most)
        seconds = series.bin_seconds * step
        requests = _sums(series.requests, step)
        last = None if most is None else -1
        label = f", {name}" if name else ""
        rate = [number / seconds for number in requests]
        rates.append(Series(name or "IOPS", at[:last], rate[:last]))
        times = [m * n if n else 0 for m, n in zip(series.mean_us, series.requests, strict=True)]
        mean = [
            total / number if number else None
            for total, number in zip(_sums(times, step), requests, strict=True)
        ]
        means.append(Series(f"mean{label}", at, mean))
        largest = [
            max(series.max_us[n : n + step]) or None for n in range(0, len(series.max_us), step)
        ]
        maxima.append(Series(f"max{label}", at, largest))
    title = "Latency of the requests that completed"
    return (
        Figure("Requests a second", TIME, Axis("requests/s"), rates),
        Figure(title, TIME, Axis("latency, us", log=10), [*means, *maxima]),
    )


def flash_over_time(named: Named, most: int | None = None) -> list[Figure]:
    """Write amplification, free blocks and cleaning over simulated time."""
    curves: dict[str, list[Series]] = {key: [] for key in FLASH}
    for name, it in named:
        series = it.get("time_series")
        if not series or len(series.requests) < 2:
            continue
        step, at = _intervals(series, most)
        for key, line in _flash(series.to_dict(), step).items():
            curves[key].append(Series(name or FLASH[key][0], at, line))
    return [Figure(title, TIME, Axis(y), curves[key]) for key, (title, y) in FLASH.items()]


def watts(named: Named, most: int | None = None) -> Figure:
    """What was taken of the supply, over simulated time."""
    curves = []
    for name, it in named:
        series = it.get("time_series")
        if not series or not series.get("watts") or len(series.watts) < 2:
            continue
        step, at = _intervals(series, most)
        taken = [it or 0.0 for it in series.watts]
        means = [sum(group) / len(group) for group in _groups(taken, step)]
        curves.append(Series(name or "watts", at, means))
    return Figure("Power", TIME, Axis("watts"), curves)


def _groups(values: Sequence[float], step: int) -> list[Sequence[float]]:
    return [values[n : n + step] for n in range(0, len(values), step)]


def _intervals(series: Record, most: int | None) -> tuple[int, list[float]]:
    """How many intervals are put together, and the middle of each group in seconds."""
    count = len(series.requests)
    step = 1 if most is None else -(-count // most)
    seconds = series.bin_seconds * step
    return step, [round((n // step + 0.5) * seconds, 9) for n in range(0, count, step)]


def _sums(values: Sequence[float], step: int) -> list[float]:
    return [sum(values[n : n + step]) for n in range(0, len(values), step)]


def _flash(series: Mapping[str, Any], step: int) -> dict[str, list[float | None]]:
    """What the flash did in each group of `step` intervals, by the keys of `FLASH`."""
    if "free_blocks" not in series:
        return {}
    seconds = series["bin_seconds"] * step
    # Results of an older version count pages only.
    in_bytes = "host_bytes_written" in series
    written = _sums(series["host_bytes_written" if in_bytes else "host_pages_written"], step)
    programmed = _sums(series["bytes_programmed" if in_bytes else "pages_programmed"], step)
    free = series["free_blocks"]
    found: dict[str, list[float | None]] = {
        "amplification": [p / w if w else None for p, w in zip(programmed, written, strict=True)],
        "erased": [
            *(blocks / seconds for blocks in _sums(series["blocks_erased"], step)[:-1]),
            None,
        ],
        "free": [free[n : n + step][-1] for n in range(0, len(free), step)],
    }
    # Where nothing was written there is nothing to see.
    return {key: line for key, line in found.items() if any(line)}


def units(results: Results, most: int | None = None) -> Figure:
    """The share of the time that each unit serves requests and cleans; the busiest `most`."""
    shown = [*(results.get("units") or [])]
    if most is not None and len(shown) > most:
        shown = sorted(shown, key=lambda unit: -unit.busy)[:most]
    names, notes = [unit.name for unit in shown], []
    cleaning = [100 * (unit.get("cleaning") or 0.0) for unit in shown]
    serving = [max(100 * u.busy - share, 0.0) for u, share in zip(shown, cleaning, strict=True)]
    for unit, share in zip(shown, cleaning, strict=True):
        queue = unit.get("queue_mean")
        waiting = "" if queue is None else f", queue {queue:.2f}"
        notes.append(f": {100 * unit.busy:.1f} % busy, {share:.1f} % cleaning{waiting}")
    bars = [
        Series("serving requests", names, serving, "bars"),
        Series("cleaning", names, cleaning, "bars"),
    ]
    return Figure(
        "",
        Axis(words=names, notes=notes),
        Axis("busy, %", low=0, high=100),
        bars if shown else [],
        stacked=True,
    )


def timeline(results: Results, lanes: int | None = None, most: int | None = None) -> Figure:
    """The recorded flash operations: at most so many, on the lanes that have most of them."""
    recorded = results.timeline.to_dict()
    found = recorded["operations"]
    columns = (found[key] for key in ("lane", "kind", "start_ns", "end_ns", "bus_ns"))
    every = [*zip(*columns, strict=True)]
    names = recorded["lanes"]
    kept = _busiest(every, len(names), len(names) if lanes is None else lanes)
    place = {lane: row for row, lane in enumerate(kept)}
    shown = [operation for operation in every if operation[0] in place][:most]
    begin = recorded["from_ns"]
    last = max((operation[3] for operation in shown), default=recorded["to_ns"])
    end = max(min(recorded["to_ns"], last), begin + 1)
    spans = []
    for colour, kind in enumerate(operations()):
        mine = [operation for operation in shown if operation[1] == kind]
        if not mine:
            continue
        told = [_told(names[lane], *rest) for lane, *rest in mine] if len(shown) <= MAX_TOLD else []
        spans.append(
            Spans(
                kind,
                [place[lane] for lane, *_ in mine],
                [start / 1e3 for _, _, start, _, _ in mine],
                [stop / 1e3 for _, _, _, stop, _ in mine],
                told,
                colour,
            )
        )
    return Figure(
        "Flash operations over simulated time",
        Axis("simulated time, us", low=begin / 1e3, high=end / 1e3),
        Axis(words=[names[lane] for lane in kept]),
        spans,
    )


def _busiest(every: Sequence[tuple[Any, ...]], lanes: int, most: int) -> list[int]:
    """The lanes with most operations, in their own order."""
    counts = [0] * lanes
    for operation in every:
        counts[operation[0]] += 1
    return sorted(sorted(range(lanes), key=lambda lane: -counts[lane])[:most])


def _told(lane: str, kind: str, start: int, stop: int, bus: int) -> str:
    took = f"{duration((stop - start) / 1e3, 4)}, {duration(bus / 1e3, 4)} for the bus"
    return f"{kind}, {lane}, at {start / 1e3:,.10g} us: {took}"


def wear(name: str, results: Results) -> Figure:
    """How often the blocks were erased, by place."""
    rows = [row.to_dict() for row in (results.get("wear") or {}).get("map") or []]
    worn = any(mean for row in rows for mean in row["mean_erases"])
    blocks = rows[0]["blocks_per_cell"] if rows else 1
    a_cell = "a block" if blocks == 1 else f"the mean of {blocks} consecutive blocks"
    cells = Cells("erases", [row["mean_erases"] for row in rows], caption=f"{a_cell} a cell")
    return Figure(
        f"Erases by place{f', {name}' if name else ''}",
        Axis("place"),
        Axis(words=[row["name"] for row in rows]),
        [cells] if worn else [],
    )
