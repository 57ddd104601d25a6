"""The page of one run, or of several beside each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from ssdlab import _core, counters, layers
from ssdlab.comparison import compare
from ssdlab.numbers import count, duration
from ssdlab.paper.item import Figure, Series
from ssdlab.reports import html, timeline, wear_map
from ssdlab.results import Record, Results
from ssdlab.running.plots import cumulative
from ssdlab.sweeps.result import cell_text

#: Points of a curve over time; more would be narrower than a pixel.
MAX_POINTS = 160
#: Units that have a bar of their own.
MAX_UNITS = 64
#: What is drawn of the flash over time: title and axis.
FLASH = {
    "amplification": ("Write amplification", "bytes programmed / bytes written"),
    "free": ("Free blocks", "erased blocks"),
    "erased": ("Cleaning: blocks erased a second", "blocks/s"),
}


def page(results: Sequence[Results]) -> str:
    """The report of `results` as HTML."""
    names = _names(results)
    first = results[0]
    title = first.experiment.title if len(results) == 1 else f"{len(results)} results"
    sections = {
        "Side by side": _side_by_side(names, results) if len(results) > 1 else "",
        "Latency": _latency(names, results),
        "Where the time goes": _breakdown(names, results),
        "Over time": _over_time(names, results),
        "Flash": _scalars(names, results, "flash"),
        "Flash operations": timeline.section(names, results),
        "Wear": _scalars(names, results, "wear") + wear_map.section(names, results),
        "Units and buses": _units(names, results),
        "Experiment": _experiments(names, results),
    }
    return html.document(title, _lead(names, results), sections)


def _names(results: Sequence[Results]) -> list[str]:
    """What each result is called: its title, with a letter where there are several."""
    if len(results) == 1:
        return [""]
    letters = [chr(ord("A") + n) if n < 26 else str(n) for n in range(len(results))]
    return [f"{n}: {it.experiment.title}" for n, it in zip(letters, results, strict=True)]


def _lead(names: Sequence[str], results: Sequence[Results]) -> str:
    lead = ""
    for name, it in zip(names, results, strict=True):
        total = it.host.all
        figures = {
            "requests": count(total.requests),
            "simulated": duration(it.simulated_seconds * 1e6, 4),
        }
        if total.requests:
            figures |= {
                "IOPS": count(total.iops or 0),
                "MB/s": f"{total.mb_per_s or 0:,.1f}",
                "mean latency": duration(total.mean_us, 4),
                "99 % within": duration(total.percentiles_us["99"], 4),
            }
        if (amplification := it._amplification()) is not None:
            figures["write amplification"] = f"{amplification:.3f}"
        lead += (f"<h2>{escape(name)}</h2>" if name else "") + html.key_figures(figures)
        lead += html.warnings(it.warning_messages())
    return lead


def _kinds(it: Results) -> list[tuple[str, Record]]:
    """The kinds of request that there were; all of them last, unless it would repeat the one."""
    kinds = it._kinds()
    return kinds[:1] if len(kinds) == 2 else kinds


def _each(names: Sequence[str], results: Sequence[Results]) -> list[tuple[str, str, Record]]:
    """Every kind of request of every result: the result's name, the kind, the figures."""
    found = []
    for name, it in zip(names, results, strict=True):
        found += [(name.partition(":")[0], kind, host) for kind, host in _kinds(it)]
    return found


def _latency(names: Sequence[str], results: Sequence[Results]) -> str:
    head = ["", "requests", "IOPS", "MB/s", "mean", "p50", "p95", "p99", "p99.9", "max"]
    rows, curves = [], []
    for name, kind, host in _each(names, results):
        label = f"{name} {kind}".strip()
        p = host.percentiles_us
        times = [host.mean_us, *(p[k] for k in ("50", "95", "99", "99.9")), host.max_us]
        if not host.requests:
            continue
        rows.append(
            [label, count(host.requests), count(host.iops or 0), f"{host.mb_per_s or 0:,.1f}"]
            + [duration(us) for us in times]
        )
        if "histogram" in host:
            curves.append(_cumulative(f"{kind}, {name}" if name else kind, host))
    drawn = Figure(
        "Share of the requests that take at most so long",
        "latency, us",
        "share of requests, %",
        curves,
        log_x=True,
    )
    return html.table(head, rows) + html.figure(drawn)


def _cumulative(name: str, host: Record) -> Series:
    """The share of the requests below each bound, from the shortest on; the axis is logarithmic."""
    below, shares = cumulative(host)
    start = next((place for place, us in enumerate(below) if us > 0), 0)
    return Series(name, below[start:], shares[start:])


def _breakdown(names: Sequence[str], results: Sequence[Results]) -> str:
    each = [(name, kind, host) for name, kind, host in _each(names, results) if host.requests]
    if not each:
        return ""
    longest = max(host.mean_us for _, _, host in each)
    labels = dict(_core.parts())
    bars, rows = html.swatches(list(labels.values())), []
    for name, kind, host in each:
        parts = {labels[key]: host.breakdown_us.get(key) or 0.0 for key in labels}
        label = f"{name} {kind}".strip()
        bars += f"<div>{escape(label)}, {duration(host.mean_us, 4)}</div>"
        bars += html.stack(parts, longest)
        cells = (f"{duration(us)} ({100 * us / host.mean_us:.1f} %)" for us in parts.values())
        rows.append([label, *cells])
    return bars + html.table(["mean", *labels.values()], rows)


def _over_time(names: Sequence[str], results: Sequence[Results]) -> str:
    curves: dict[str, list[Series]] = {name: [] for name in ("IOPS", "mean", "max", *FLASH)}
    for name, it in zip(names, results, strict=True):
        series = it.get("time_series")
        if not series or len(series.requests) < 2:
            continue
        step = -(-len(series.requests) // MAX_POINTS)
        seconds = series.bin_seconds * step
        groups = range(0, len(series.requests), step)
        at = [round((n // step + 0.5) * seconds, 9) for n in groups]
        requests = [sum(series.requests[n : n + step]) for n in groups]
        # The last interval may have ended early.
        rates = [number / seconds for number in requests][:-1]
        curves["IOPS"].append(Series(name or "IOPS", at[:-1], rates))
        sums = [m * n if n else 0 for m, n in zip(series.mean_us, series.requests, strict=True)]
        means = [
            (t, sum(sums[n : n + step]) / number)
            for t, n, number in zip(at, groups, requests, strict=True)
            if number
        ]
        label = f", {name}" if name else ""
        curves["mean"].append(Series(f"mean{label}", [t for t, _ in means], [m for _, m in means]))
        maxima = [max(series.max_us[n : n + step]) for n in groups]
        curves["max"].append(Series(f"max{label}", at, maxima))
        for key, line in _flash_over_time(series.to_dict(), step).items():
            places = [(t, value) for t, value in zip(at, line, strict=True) if value is not None]
            curves[key].append(Series(name or FLASH[key][0], *map(list, zip(*places, strict=True))))
    if not curves["IOPS"]:
        return ""
    x = "simulated time, s"
    latencies = [*curves["mean"], *curves["max"]]
    return (
        html.figure(Figure("Requests a second", x, "requests/s", curves["IOPS"]))
        + html.figure(
            Figure(
                "Latency of the requests that completed", x, "latency, us", latencies, log_y=True
            )
        )
        + "".join(
            html.figure(Figure(title, x, y, curves[key])) for key, (title, y) in FLASH.items()
        )
    )


def _flash_over_time(series: Mapping[str, Any], step: int) -> dict[str, list[float | None]]:
    """What the flash did in each group of `step` intervals, by the keys of `FLASH`."""
    if "free_blocks" not in series:
        return {}
    groups = range(0, len(series["free_blocks"]), step)
    seconds = series["bin_seconds"] * step

    def sums(key: str) -> list[int]:
        return [sum(series[key][n : n + step]) for n in groups]

    # Results of an older version count pages only.
    in_bytes = "host_bytes_written" in series
    written = sums("host_bytes_written" if in_bytes else "host_pages_written")
    programmed = sums("bytes_programmed" if in_bytes else "pages_programmed")
    found: dict[str, list[float | None]] = {
        "amplification": [p / w if w else None for p, w in zip(programmed, written, strict=True)],
        "erased": [blocks / seconds for blocks in sums("blocks_erased")[:-1]] + [None],
        "free": [series["free_blocks"][n : n + step][-1] for n in groups],
    }
    # Where nothing was written there is nothing to see.
    return {key: line for key, line in found.items() if any(line)}


def _scalars(names: Sequence[str], results: Sequence[Results], part: str) -> str:
    found: dict[str, list[Any]] = {}
    for place, it in enumerate(results):
        for path, value in _leaves(it.get(part) or {}).items():
            found.setdefault(path, [None] * len(results))[place] = value
    rows = [[path, *map(_cell, values)] for path, values in found.items()]
    letters = [name.partition(":")[0] for name in names]
    return html.table(["", *letters], rows, meanings=counters.meanings(part)) if rows else ""


def _leaves(record: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    leaves: dict[str, Any] = {}
    for key, value in record.items():
        if isinstance(value, Mapping):
            leaves |= _leaves(value, f"{prefix}{key} ".replace("_", " "))
        elif not isinstance(value, list):
            leaves[f"{prefix}{key}".replace("_", " ")] = value
    return leaves


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return cell_text(value)


def _units(names: Sequence[str], results: Sequence[Results]) -> str:
    text = ""
    for name, it in zip(names, results, strict=True):
        units = [*(it.get("units") or [])]
        if not units:
            continue
        text += f"<h3>{escape(name)}</h3>" if name else ""
        text += html.swatches(["serving requests", "cleaning"])
        shown = sorted(units, key=lambda unit: -unit.busy)[:MAX_UNITS]
        for unit in units if len(units) <= MAX_UNITS else shown:
            cleaning = unit.get("cleaning") or 0.0
            queue = unit.get("queue_mean")
            note = "" if queue is None else f", queue {queue:.2f}"
            label = f"{unit.name}: {100 * unit.busy:.1f} % busy, {100 * cleaning:.1f} % cleaning"
            parts = {"serving requests": max(unit.busy - cleaning, 0.0), "cleaning": cleaning}
            text += f"<div>{escape(label + note)}</div>{html.stack(parts, 1.0)}"
        if len(units) > MAX_UNITS:
            text += f"<p>The busiest {MAX_UNITS} of {len(units)}.</p>"
        buses = (it.get("buses") or {}).get("busy") or []
        rows = [[f"bus {n}", f"{100 * busy:.1f} %"] for n, busy in enumerate(buses[:MAX_UNITS])]
        text += html.table(["", "busy"], rows) if rows else ""
    return text


def _side_by_side(names: Sequence[str], results: Sequence[Results]) -> str:
    """Each figure that matters, and how it differs from the first result's."""
    pairs = [compare(results[0], other) for other in results]
    letters = [name.partition(":")[0] for name in names]
    rows = []
    for row in pairs[0].shown():
        cells = [cell_text(row.a)]
        for pair in pairs[1:]:
            other = next((it for it in pair.rows if it.name == row.name), None)
            percent = None if other is None else other.difference_percent
            shown = "-" if other is None else cell_text(other.b)
            cells.append(shown if percent is None else f"{shown} ({percent:+.1f} %)")
        rows.append([row.name.removeprefix("host.").replace("percentiles_us.", "p"), *cells])
    changed = dict.fromkeys(key for pair in pairs for key in pair.changed)
    settings = [
        [key, *(str(pair.changed.get(key, (None, _setting(results[0], key)))[1]) for pair in pairs)]
        for key in changed
    ]
    what = html.table(["what differs", *letters], settings) if settings else ""
    return what + html.table(["", *letters], rows)


def _setting(it: Results, key: str) -> Any:
    value: Any = it.experiment
    for word in key.split("."):
        value = value.get(word) if isinstance(value, Mapping) else None
    return value


def _experiments(names: Sequence[str], results: Sequence[Results]) -> str:
    text = (
        "<p>Keep the text as <code>experiment.toml</code>; <code>ssdlab run experiment.toml</code> "
        "gives the same bits again.</p>"
    )
    for name, it in zip(names, results, strict=True):
        stack = layers.from_mapping("the experiment", it.experiment.to_dict())
        toml = _core.resolve(stack)
        text += (
            f"<details{' open' if len(results) == 1 else ''}><summary>{escape(name or 'Every key')}"
            f"</summary><pre>{escape(toml)}</pre></details>"
        )
    return text
