"""The page of one run, or of several beside each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from ssdlab import _core, counters, layers, pages
from ssdlab.charts import svg
from ssdlab.comparison import compare
from ssdlab.numbers import cell_text, count, duration
from ssdlab.reports import timeline, wear_map
from ssdlab.results import PARTS, Results
from ssdlab.running import figures

#: Points of a curve over time; more would be narrower than a pixel.
MAX_POINTS = 160
#: Units that have a bar of their own.
MAX_UNITS = 64


def page(results: Sequence[Results]) -> str:
    """The report of `results` as HTML."""
    names = _names(results)
    named = [*zip(names, results, strict=True)]
    first = results[0]
    title = first.experiment.title if len(results) == 1 else f"{len(results)} results"
    sections = {
        "Side by side": _side_by_side(names, results) if len(results) > 1 else "",
        "Latency": _latency(named),
        "Where the time goes": _breakdown(named),
        "Over time": _over_time(named),
        "Disk": _scalars(names, results, "disk"),
        "Flash": _scalars(names, results, "flash"),
        "Write buffer": _scalars(names, results, "buffer"),
        "Flash operations": timeline.section(named),
        "Wear": _scalars(names, results, "wear") + wear_map.section(named),
        "Health": _scalars(names, results, "health"),
        "Energy": _scalars(names, results, "energy"),
        "Units and buses": _units(named),
        "Experiment": _experiments(names, results),
    }
    return pages.document(title, _lead(names, results), sections)


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
        said = {
            "requests": count(total.requests),
            "simulated": duration(it.simulated_seconds * 1e6, 4),
        }
        if total.requests:
            said |= {
                "IOPS": count(total.iops or 0),
                "MB/s": f"{total.mb_per_s or 0:,.1f}",
                "mean latency": duration(total.mean_us, 4),
                "p99": duration(total.percentiles_us["99"], 4),
            }
        if (amplification := it._amplification()) is not None:
            said["write amplification"] = f"{amplification:.3f}"
        lead += (f"<h2>{escape(name)}</h2>" if name else "") + pages.key_figures(said)
        lead += pages.warnings(it.warning_messages())
    return lead


def _latency(named: figures.Named) -> str:
    head = ["", "requests", "IOPS", "MB/s", "mean", "p50", "p95", "p99", "p99.9", "max"]
    rows = []
    for name, kind, host in [*figures.each(named), *figures.of_classes(named)]:
        if not host.requests:
            continue
        p = host.percentiles_us
        times = [host.mean_us, *(p[k] for k in ("50", "95", "99", "99.9")), host.max_us]
        label = f"{name} {kind}".strip()
        rows.append(
            [label, count(host.requests), count(host.iops or 0), f"{host.mb_per_s or 0:,.1f}"]
            + [duration(us) for us in times]
        )
    return pages.table(head, rows) + svg.figure(figures.latency(named))


def _breakdown(named: figures.Named) -> str:
    drawn = figures.breakdown(named)
    if drawn.empty():
        return ""
    rows = []
    for name, kind, host in figures.each(named):
        if not host.requests:
            continue
        times = [host.breakdown_us.get(part) or 0.0 for part in PARTS]
        cells = (f"{duration(us)} ({100 * us / (host.mean_us or 1):.1f} %)" for us in times)
        rows.append([f"{name} {kind}".strip(), *cells])
    return svg.draw(drawn) + pages.table(["mean", *PARTS.values()], rows)


def _over_time(named: figures.Named) -> str:
    drawn = [
        *figures.over_time(named, MAX_POINTS),
        *figures.flash_over_time(named, MAX_POINTS),
        figures.watts(named, MAX_POINTS),
    ]
    return "".join(map(svg.figure, drawn))


def _scalars(names: Sequence[str], results: Sequence[Results], part: str) -> str:
    found: dict[str, list[Any]] = {}
    for place, it in enumerate(results):
        for path, value in _leaves(it.get(part) or {}).items():
            found.setdefault(path, [None] * len(results))[place] = value
    rows = [[path, *map(_cell, values)] for path, values in found.items()]
    letters = [name.partition(":")[0] for name in names]
    return pages.table(["", *letters], rows, meanings=counters.meanings(part)) if rows else ""


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


def _units(named: figures.Named) -> str:
    text = ""
    for name, it in named:
        drawn = figures.units(it, MAX_UNITS)
        if drawn.empty():
            continue
        text += (f"<h3>{escape(name)}</h3>" if name else "") + svg.draw(drawn)
        if len(it.units) > MAX_UNITS:
            text += f"<p>The busiest {MAX_UNITS} of {len(it.units)}.</p>"
        buses = (it.get("buses") or {}).get("busy") or []
        rows = [[f"bus {n}", f"{100 * busy:.1f} %"] for n, busy in enumerate(buses[:MAX_UNITS])]
        text += pages.table(["", "busy"], rows) if rows else ""
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
    what = pages.table(["what differs", *letters], settings) if settings else ""
    return what + pages.table(["", *letters], rows)


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
