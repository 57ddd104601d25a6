"""The page of one run: bottleneck, then latency, time, flash, wear, units and trust."""

from __future__ import annotations

from html import escape

from ssdlab import lifetime, pages, readable, under_load
from ssdlab.charts import svg
from ssdlab.pages import KeyFigure, Section
from ssdlab.reports import parts, timeline, trust
from ssdlab.results import Results, figures, over_time
from ssdlab.results.records import PARTS, part_labels
from ssdlab.results.verdict import Verdict, verdict
from ssdlab.units import dollars

#: Maximum relative difference of a run's halves in steady state.
STEADY = 0.05


def page(it: Results) -> str:
    """The report of `it` as HTML."""
    found = verdict(it)
    flash_heading, flash = parts.flash(it)
    wear_heading, wear = parts.wear("", it)
    units_heading, units = parts.units(it)
    placement_heading, placement = parts.placement(it)
    named = [("", it)]
    tables = {part: parts.counted([""], [it], part) for part in parts.TABLES}
    neighbours = bool(flash and wear)
    changed = parts.changed_keys(it)
    changed = changed if len(changed) <= parts.MAX_CHANGED else {}
    sections = [
        Section("latency", _latency_heading(it), _latency(named), _latency_about(it)),
        _where(it),
        _over_time(named),
        Section(
            "flash",
            flash_heading,
            flash + tables["flash"] + tables["buffer"] + tables["map"] if flash else "",
            "Pages written by the host and by cleaning; heights are to scale."
            if 'class="flow"' in flash
            else "",
            "s7" if neighbours else "",
        ),
        Section(
            "wear",
            wear_heading,
            wear + tables["wear"] + tables["health"] if wear else "",
            "",
            "s5" if neighbours else "",
        ),
        Section(
            "placement",
            placement_heading,
            placement,
            "Bytes programmed for each byte of the host, by tenths of the capacity."
            if "viewBox" in placement
            else "",
        ),
        Section("disk", "Disk activity", tables["disk"].replace("<details>", "<details open>")),
        Section("energy", _energy_heading(it), tables["energy"]),
        Section(
            "units",
            units_heading,
            units,
            "Shares of the run time: cleaning, serving requests, idle.",
        ),
        Section("operations", "Flash operations in the recorded window", timeline.section(named)),
        Section(
            "experiment",
            "Changed keys" if changed else "The experiment",
            parts.experiment(it),
            "Keys that differ from their defaults." if changed else "",
            "s7",
        ),
        Section(
            "trust",
            "How far to trust these numbers",
            pages.checks(trust.checks(it)),
            "",
            "s5",
        ),
    ]
    return pages.document(it.experiment.title, _lead(it, found), sections)


def _lead(it: Results, found: Verdict) -> str:
    simulated = f"{readable.time(1e6 * it.simulated_seconds)} simulated"
    words = [it.experiment.title, readable.counted(it.host.all.requests, "request"), simulated]
    prepared = (it.experiment.get("run") or {}).get("precondition")
    if prepared and prepared != "none":
        words.append(f"prepared: {prepared}")
    return (
        f'<p class="over">{escape(" · ".join(words))}</p><h1>{escape(found.sentence)}</h1>'
        f'<p class="lede">{escape(found.why)}</p>'
        + pages.warnings([*it.warning_messages(), *trust.behind(it)])
        + pages.key_figures(_key_figures(it))
    )


def _key_figures(it: Results) -> list[KeyFigure]:
    total = it.host.all
    if not total.requests:
        return []
    offered = (it.get("workload") or {}).get("offered_iops")
    beside = f"of {readable.rate(offered)} offered" if offered else ""
    rate = f"{readable.throughput(total.mb_per_s)}{', ' if beside else ''}{beside}"
    p = total.percentiles_us
    ratio = total.mean_us / total.min_us if total.min_us else None
    least = f"the minimum of {readable.time(total.min_us)}"
    # A median of zero has no multiples.
    beside_mean = f"{readable.grouped(ratio)} times {least}" if ratio else ""
    found = [KeyFigure("IOPS", readable.grouped(total.iops or 0.0), rate)]
    found += [KeyFigure("Mean latency", readable.time(total.mean_us), beside_mean)]
    median, slowest = (f"median {readable.time(p['50'])}", readable.time(total.max_us))
    message = [key for key in ("99", "99.9") if parts.enough(total, key)]
    if message and (apart := _p99_by_kind(it)):
        return [*found, *apart, *_of_flash(it)]
    found += [
        KeyFigure(f"p{key}", readable.time(p[key]), stated)
        for key, stated in zip(message, (median, f"slowest {slowest}"), strict=False)
    ]
    if len(message) < 2:
        too_few = total.requests < figures.FEWEST_REQUESTS
        found.append(KeyFigure("Slowest", slowest, "" if message or too_few else median))
    return found + _of_flash(it)


def _p99_by_kind(it: Results) -> list[KeyFigure]:
    """The p99 of reads and of writes; empty unless both have one."""
    both = [(kind, it.host[kind]) for kind in ("read", "write") if it.host[kind].requests]
    if len(both) < 2 or not all(parts.enough(host, "99") for _, host in both):
        return []
    told = [(f"{kind.capitalize()} p99", host.percentiles_us) for kind, host in both]
    return [
        KeyFigure(k, readable.time(p["99"]), f"median {readable.time(p['50'])}") for k, p in told
    ]


def _of_flash(it: Results) -> list[KeyFigure]:
    found = []
    if (amplification := it._amplification()) is not None:
        words = "bytes programmed per byte the host wrote"
        found.append(KeyFigure("Write amplification", readable.times(amplification), words))
    if (life := lifetime.of(it)) is not None:
        found.append(_endurance(life))
    return found + _sold(it)


def _sold(it: Results) -> list[KeyFigure]:
    """Key figures of a drive with a price: life under the load, power and price."""
    found = under_load.of([it])
    if found.dollars.value is None:
        return []
    years, watts, price = found.life_years, found.watts, found.dollars
    shown = [KeyFigure("Price", dollars(price.value or 0.0), price.origin)]
    if watts.value is not None:
        shown.append(KeyFigure("Power", readable.watts(watts.value), watts.origin))
    if years.value is not None:
        shown.append(KeyFigure("Life, this load", under_load.said_years(years), years.origin))
    return shown[::-1]


def _endurance(life: lifetime.Lifetime) -> KeyFigure:
    """Key figure of the drive's lifetime under this load, if known."""
    if life.host_bytes is None or life.drive_writes_per_day is None:
        if life.at_least_bytes is not None:
            minimum = f"≥ {readable.traffic(life.at_least_bytes)}"
            return KeyFigure("Endurance", minimum, "by arithmetic: the run is too short to tell")
        return KeyFigure(
            "Endurance", "not limited" if life.unlimited else "not known", life.why_not
        )
    day = f"{readable.grouped(life.drive_writes_per_day)} DWPD, {life.service_years:g} years"
    return KeyFigure("Endurance", readable.traffic(life.host_bytes), day)


def _latency_about(it: Results) -> str:
    """The curves to draw, and the kinds of request described by a sentence instead."""
    return " ".join(["Latency CDF.", *(f"{text}." for text in figures.flat(it).values())])


def _latency_heading(it: Results) -> str:
    total = it.host.all
    if not total.requests or not total.max_us:
        return "Latency"
    if total.requests < figures.FEWEST_REQUESTS:
        ends = dict.fromkeys(map(readable.time, (total.min_us, total.max_us)))
        return f"Latency: {' to '.join(ends)}"
    if apart := _p99_by_kind(it):
        return f"Latency: {', '.join(f'{name.lower()} {value}' for name, value, _ in apart)}"
    p = total.percentiles_us
    key = next((key for key in ("99", "90") if parts.enough(total, key)), "")
    tail = f"p{key} {readable.time(p[key])}" if key else f"slowest {readable.time(total.max_us)}"
    return f"Latency: median {readable.time(p['50'])}, {tail}"


def _latency(named: figures.Named) -> str:
    it = named[0][1]
    columns = [(kind, host) for kind, host in figures.kinds(it) if host.requests]
    if not columns:
        return ""
    table = parts.latency_table(columns)
    drawn = figures.latency(named)
    curves = "" if drawn.empty() else f"<figure>{svg.draw(drawn)}</figure>"
    classes = [(label, host) for _, label, host in figures.of_classes(named)]
    more = f"<h3>By class of the workload</h3>{parts.latency_table(classes)}" if classes else ""
    if not curves:
        return table + more
    return (
        f'<div class="row"><div class="s7">{curves}</div><div class="s5">{table}</div></div>{more}'
    )


def _where(it: Results) -> Section:
    """Time by component: by latency percentile if known, and by kind."""
    named = [("", it)]
    drawn = figures.breakdown(named)
    if drawn.empty() or not any(drawn.values()):
        return Section("time", "", "")
    total = it.host.all
    spent = total.breakdown_us
    part = max(PARTS, key=lambda name: spent.get(name) or 0.0)
    share = (spent.get(part) or 0.0) / (total.mean_us or 1.0)
    labels = part_labels([it])
    label = parts.spent(labels[part])
    heading = f"{label[0].upper()}{label[1:]} is {readable.about(share)} of the mean latency"
    note = "Breakdown of the mean latency by kind of request, on one scale."
    body = svg.draw(drawn)
    ranks = figures.bands(total, labels=labels)
    if not ranks.empty():
        # The table is omitted for fewer requests.
        slow = [row for row in total.bands if row.requests >= figures.FEWEST_SLOWER][-1]
        worst = max(PARTS, key=lambda name: slow.breakdown_us.get(name) or 0.0)
        of = (slow.breakdown_us.get(worst) or 0.0) / (slow.mean_us or 1.0)
        what = "it" if worst == part else parts.spent(labels[worst])
        if slow.from_share:
            heading += f"; {figures.band_name(slow)}, {what} is {readable.about(of)}"
        body = svg.draw(ranks) + "<h3>By kind of request</h3>" + svg.stacks(drawn, legend=False)
        note = (
            "By latency percentile: each bar is 100 % of the mean latency of its band, given at "
            "the right."
        )
    rows = []
    for _, kind, host in figures.each(named):
        if not host.requests:
            continue
        times = [host.breakdown_us.get(name) or 0.0 for name in PARTS]
        cells = (
            f"{readable.time(us)} ({readable.share(us / (host.mean_us or 1))})"
            if us
            else readable.ABSENT
            for us in times
        )
        rows.append([kind, *cells])
    numbers = pages.table(["mean", *labels.values()], rows, kind="words")
    body += f"<details><summary>As numbers</summary>{numbers}</details>"
    return Section("time", heading, body, note)


def _energy_heading(it: Results) -> str:
    energy = it.get("energy")
    if not energy or not energy.mean_watts:
        return "Energy"
    part, maximum = max(energy.parts.items(), key=lambda found: found[1] or 0.0)
    share = readable.about((maximum or 0.0) / energy.joules)
    return f"{readable.watts(energy.mean_watts)} on average; {part} is {share} of it"


def _over_time(named: figures.Named) -> Section:
    visible = over_time.strips(named)
    if not visible:
        return Section("over-time", "", "")
    it = named[0][1]
    series = it.time_series
    interval = readable.time(1e6 * series.bin_seconds)
    note = f"All strips share one axis of simulated time, in intervals of {interval}."
    return Section("over-time", _steady(it), svg.strips(visible), note)


def _steady(it: Results) -> str:
    """True if both halves of the run agree."""
    names = it.warning_names()
    if "overloaded" in names:
        return "The queue grows until the end of the run"
    if "transient" in names:
        return "Not in steady state: the drive was still changing"
    run = over_time.Followed("", "", it)
    rates = [rate for rate in run.rates("requests") if rate is not None]
    means = [mean for mean in run.weighted("mean_us") if mean is not None]
    named = (("Mean latency", means), ("Throughput", rates))
    changes = {what: _change(values) for what, values in named if len(values) >= 4}
    if not changes:
        return "Over time"
    what = max(changes, key=lambda name: abs(changes[name]))
    if abs(changes[what]) <= STEADY:
        return f"Steady over time: both halves of the run agree within {readable.about(STEADY)}"
    return f"{what} changes by {_percent(changes[what])} in the second half of the run"


def _change(values: list[float]) -> float:
    """Relative change from the first to the second half."""
    half = len(values) // 2
    first, second = sum(values[:half]) / half, sum(values[-half:]) / half
    return second / first - 1 if first else 0.0


def _percent(change: float) -> str:
    sign = readable.MINUS if change < 0 else "+"
    return f"{sign}{readable.about(abs(change))}"
