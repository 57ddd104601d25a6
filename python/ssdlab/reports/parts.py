"""Shared parts of the pages of one run and of several: tables, flash, wear, units, experiment."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from ssdlab import _core, counters, layers, lifetime, pages, readable
from ssdlab.charts import svg
from ssdlab.results import Results, figures
from ssdlab.results.records import Kind, Record
from ssdlab.settings import changed as differing
from ssdlab.units import plural

#: Sections of results with their own table, and their titles.
TABLES = {
    "flash": "Flash",
    "buffer": "Write buffer",
    "map": "Map cache",
    "disk": "Disk",
    "wear": "Wear",
    "health": "Health",
    "energy": "Energy",
}
#: Maximum number of units with a bar, and the number shown if all are equally busy.
MAX_UNITS = 64
FEW_UNITS = 4
#: Maximum number of differing keys listed.
MAX_CHANGED = 24
#: Pattern of a size without a round binary unit.
_LONG_SIZE = re.compile(r"(\d{7,})KiB")
#: Minimum mean erases per block for a statement on even wear.
FEWEST_ERASES = 2
#: Rows of the table of latencies.
PERCENTILES = ("50", "90", "99", "99.9", "99.99")


def latency_table(columns: Sequence[tuple[str, Kind | Record]]) -> str:
    """Latencies, one column per kind of request or run."""
    head = ["", *(name for name, _ in columns)]
    rows = [["fastest", *(readable.time(it.min_us) for _, it in columns)]]
    rows.append(["mean", *(readable.time(it.mean_us) for _, it in columns)])
    for key in PERCENTILES:
        rows.append([f"p{key}", *(_percentile(it, key) for _, it in columns)])
    rows.append(["slowest", *(readable.time(it.max_us) for _, it in columns)])
    rows.append(["requests", *(readable.count(it.requests) for _, it in columns)])
    rows.append(["a second", *(readable.rate(it.iops) for _, it in columns)])
    return pages.table(head, rows, strong="p99")


def _percentile(host: Kind | Record, key: str) -> str:
    """A percentile; absent if fewer than ten requests are slower."""
    return readable.time(host.percentiles_us[key] if enough(host, key) else None)


def enough(host: Kind | Record, key: str) -> bool:
    """True if at least ten requests are slower than a percentile."""
    slower: float = host.requests * (1 - float(key) / 100)
    return slower >= figures.FEWEST_SLOWER - 1e-6


def counted(names: Sequence[str], results: Sequence[Results], part: str) -> str:
    """All numbers of a section of the results, in a collapsed block."""
    found: dict[str, list[Any]] = {}
    for position, it in enumerate(results):
        for path, value in _leaves(it.get(part) or {}).items():
            found.setdefault(path, [None] * len(results))[position] = value
    if not found:
        return ""
    units = {path: unit for path, unit in _units(part).items()}
    rows = [
        [path.replace("_", " ").replace(".", " "), *(_cell(path, v, units) for v in values)]
        for path, values in found.items()
    ]
    body = pages.table(["", *names], rows, meanings=counters.meanings(part))
    what = f"{TABLES[part]}: every figure"
    return f"<details><summary>{escape(what)}</summary>{body}</details>"


def _units(part: str) -> dict[str, str]:
    """The units of counters, by their path within the section."""
    return {
        f"{row.section}.{row.key}".removeprefix(f"{part}."): row.unit for row in counters.table()
    }


def _leaves(record: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    leaves: dict[str, Any] = {}
    for key, value in record.items():
        if isinstance(value, Mapping):
            leaves |= _leaves(value, f"{prefix}{key}.")
        elif not isinstance(value, list):
            leaves[f"{prefix}{key}"] = value
    return leaves


def _cell(path: str, value: Any, units: Mapping[str, str]) -> str:
    """A figure as text, in the unit of its name or of the engine's table of counters."""
    if value is None:
        return readable.ABSENT
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        return value
    key = path.rpartition(".")[2]
    if key.endswith("_us") or ".mean_us." in f".{path}":
        return readable.time(value)
    if units.get(path) == "bytes" or "bytes" in key.split("_"):
        return readable.traffic(value)
    if key == "terabytes_written":
        return readable.traffic(1e12 * value)
    if key.endswith("share") or key in ("busy", "efficiency") or path.startswith("busy_parts"):
        return readable.share(value)
    return readable.count(value) if isinstance(value, int) else readable.grouped(value)


def spent(label: str) -> str:
    """A latency component as the subject of a sentence.

    >>> spent("in the medium"), spent("waiting for room")
    ('time in the medium', 'waiting for room')
    """
    return label if label.startswith("waiting") else f"time {label}"


def flash(it: Results) -> tuple[str, str]:
    """Flash activity: finding, drawing and sentences."""
    found = it.get("flash")
    if not found:
        return "", ""
    wrote, moved = found["host_pages_written"], found["pages_moved"]
    if not wrote:
        said = "The host wrote no pages"
        more = (
            f", and cleaning moved {readable.count(moved)}"
            if moved
            else ", and no block was cleaned"
        )
        return "Nothing was written", f"<p>{said}{more}.</p>"
    cleaning = found["cleaning"]
    victims = cleaning.get("victim_pages") or 0
    valid = cleaning["victim_pages_moved"] / victims if victims else None
    body = ""
    if moved:
        body = svg.flow(wrote, moved, valid)
    text = f"The host wrote {readable.traffic(found.get('host_bytes_written'))}; the drive "
    text += f"programmed {readable.traffic(found.get('bytes_programmed'))}."
    if found["block_erases"]:
        rate = found["block_erases"] / it.simulated_seconds
        were = "was" if found["block_erases"] == 1 else "were"
        text += f" {readable.counted(found['block_erases'], 'block')} {were} erased, "
        text += f"{readable.grouped(rate)} a second."
    else:
        text += " No block was erased, so nothing was moved."
    if valid is not None and cleaning.get("mean_block_us"):
        text += f" {readable.about(valid).capitalize()} of the pages in cleaned blocks were valid; "
        text += (
            f"moving them and the erase took {readable.time(cleaning['mean_block_us'])} per block."
        )
    amplification = it._amplification() or 0.0
    heading = f"Write amplification {amplification:.2f}: bytes programmed per byte the host wrote"
    return heading, body + f"<p>{escape(text)}</p>"


def wear(name: str, it: Results) -> tuple[str, str]:
    """Wear of the blocks: finding, figure if any, sentences, and the map."""
    found = it.get("wear")
    if not found or "mean_erases" not in found:
        return "", ""
    if not found["mean_erases"]:
        return "No block was erased", "<p>Too little was written to estimate wear or endurance.</p>"
    rated = found["mean_erases"] + found["mean_remaining"]
    even = found["std_erases"] <= max(0.25 * found["mean_erases"], 1.0)
    text = f"Mean erase count of a block {readable.grouped(found['mean_erases'])}, at "
    text += f"most {found['max_erases']}, of {readable.count(round(rated))} rated."
    heading = f"Wear is {'even' if even else 'uneven'}"
    if found["mean_erases"] < FEWEST_ERASES:
        # Few erases per block do not show uneven wear.
        heading = f"A mean erase count of {readable.grouped(found['mean_erases'])}"
    life = lifetime.of(it)
    if life is not None and life.host_bytes is not None and life.drive_writes_per_day is not None:
        amount = readable.traffic(life.host_bytes)
        heading += f"; the load may write {amount} to a new drive"
        how = "Measured" if life.status == "measured" else "Estimated"
        text += f" {how} TBW under this load: {amount}, "
        text += f"{readable.grouped(life.drive_writes_per_day)} DWPD over "
        text += f"{life.service_years:g} years."
    elif life is not None and life.reason is not None:
        text += f" TBW under this load: {life.reason_and_bound}."
    drawn = figures.erasures(it)
    body = "" if drawn.empty() else svg.draw(drawn, height=150)
    return heading, body + f"<p>{escape(text)}</p>" + _map(name, it)


def _map(name: str, it: Results) -> str:
    drawn = figures.wear(name, it)
    if drawn.empty():
        return ""
    body = [
        [
            row.name,
            f"{sum(row.mean_erases) / len(row.mean_erases):.4g}",
            str(max(row.max_erases)),
        ]
        for row in it.wear.map
    ]
    numbers = pages.table(["", "mean erase count", "max erase count"], body)
    return f"{svg.figure(drawn)}<details><summary>As numbers</summary>{numbers}</details>"


def units(it: Results) -> tuple[str, str]:
    """Unit utilisation: finding and bars."""
    drawn = figures.units(it, MAX_UNITS)
    if drawn.empty():
        return "", ""
    shown = [*it.units]
    words = "".join(c for c in shown[0].name.split(" ")[-2] if c.isalpha()) or "unit"
    least, most = (choose(unit.busy for unit in shown) for choose in (min, max))
    cleaning = sum(unit.get("cleaning") or 0.0 for unit in shown) / len(shown)
    if most == 0:
        return f"The {plural(words)} were idle", ""
    equal = (most - least <= 0.1 and least >= 0.5 * most) or most <= 1.1 * least
    if len(shown) == 1:
        heading = f"The {words} is {readable.about(most)} busy"
    elif equal:
        about = "about " if most > 1.1 * least else ""
        heading = f"All {len(shown)} {plural(words)} are {about}equally busy,"
        heading += f" {readable.about(sum(unit.busy for unit in shown) / len(shown))}"
    else:
        heading = f"The {len(shown)} {plural(words)} are {readable.about(least)} to "
        heading += f"{readable.about(most)} busy"
    if cleaning >= 0.01:
        heading += f"; {readable.about(cleaning)} of their time is cleaning"
    text = svg.draw(drawn)
    if len(shown) > MAX_UNITS:
        text += f"<p>The busiest {MAX_UNITS} of {len(shown)}.</p>"
    if equal and len(shown) > FEW_UNITS:  # stated in the heading
        text = f"<details><summary>Each {words}</summary>{text}</details>"
    buses = (it.get("buses") or {}).get("busy") or []
    if buses:
        low, high = readable.share(min(buses)), readable.share(max(buses))
        span = low if low == high else f"{low} to {high}"
        text += f'<p class="sub">Buses: {span} busy, {len(buses)} in all.</p>'
    return heading, text


def experiment(it: Results) -> str:
    """The keys that differ from the defaults, and every key as a file."""
    changed = changed_keys(it)
    text = ""
    if changed and len(changed) <= MAX_CHANGED:
        rows = [[key, setting(mine), setting(default)] for key, (mine, default) in changed.items()]
        text = pages.table(["key", "this run", "default"], rows, kind="words")
    return text + every_key("", it)


def every_key(name: str, it: Results) -> str:
    """The experiment as a file, in a collapsed block."""
    stack = layers.from_mapping("the experiment", it.experiment.to_dict())
    toml = _core.resolve(stack)
    what = f"{name}: every key" if name else "Every key"
    return (
        f"<details><summary>{escape(what)}, as experiment.toml; running it gives bit-identical "
        f"results"
        f"</summary><pre>{escape(toml)}</pre></details>"
    )


def setting(value: Any) -> str:
    """The value of a key; large sizes in decimal units.

    >>> setting("781250000KiB"), setting("937692504KiB"), setting("512KiB"), setting(None)
    ('800GB', '960.2GB', '512KiB', '\u2013')
    """
    if value is None:
        return readable.ABSENT
    size = _LONG_SIZE.fullmatch(str(value))
    return f"{int(size[1]) * 1024 / 1e9:.4g}GB" if size else str(value)


def changed_keys(it: Results) -> dict[str, tuple[Any, Any]]:
    """The keys whose values differ from the default experiment, with both."""
    from ssdlab.running import Experiment

    mine, default = it.experiment.to_dict(), Experiment().to_dict()
    if any(mine[s].get("kind") != default[s].get("kind") for s in ("device", "workload")):
        return {}
    return differing(mine, default)


def placement(it: Results) -> tuple[str, str]:
    """Placement handles: the curve of write amplification, and a row per handle."""
    found = it.get("fdp")
    if not found or not found["host_bytes"]:
        return "", ""
    heading = f"Write amplification with {readable.counted(len(found['handles']), 'handle')} is "
    heading += f"{found['write_amplification']:.2f}"
    drawn = figures.placement(it)
    body = "" if drawn.empty() else svg.draw(drawn, height=150)
    rows = [
        [
            str(handle["handle"]),
            readable.traffic(handle["host_bytes"]),
            f"{handle['write_amplification']:.3f}" if handle["host_bytes"] else readable.ABSENT,
            readable.traffic(handle["moved_because_bytes"]),
            *(str(handle[f"units_{what}"]) for what in ("opened", "closed", "given_up")),
        ]
        for handle in found["handles"]
    ]
    head = ["handle", "written", "write amplification", "moved because of it"]
    body += pages.table([*head, "units opened", "closed", "given up"], rows)
    events = ", ".join(f"{name.replace('_', ' ')} {n}" for name, n in found["events"].items() if n)
    return heading, body + (f"<p>Events: {escape(events)}.</p>" if events else "")
