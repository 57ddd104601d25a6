"""Terminal output for the results of a run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import IO, TYPE_CHECKING, Any

from rich.console import Group, RenderableType
from rich.text import Text

from ssdlab import _core, counters, lifetime
from ssdlab.charts import stacks
from ssdlab.results import Results, remarks
from ssdlab.results.records import PARTS, Host, Kind, Record, part_labels
from ssdlab.results.verdict import Verdict, verdict
from ssdlab.terminal import (
    Canvas,
    Columns,
    continued,
    fact_table,
    grid,
    side_by_side,
    warning_lines,
)
from ssdlab.units import count, decimal_size, duration, energy, percent, plural, significant

if TYPE_CHECKING:
    from ssdlab.running.advice import Advice

#: The command that repeats an experiment with one more assignment.
Again = Callable[[str], str]

BUSIEST_UNITS = 5
UNIT_BAR = 30
SHORTEST_BAR = 8
#: Reason for a rejected request, by completion status.
REFUSALS = {
    "read_only": ("Refused", "end of life reached, writes are refused"),
    "unreadable": ("Failed", "the data are lost"),
    "power_lost": ("Unanswered", "power was cut"),
    "capacity_exceeded": ("Refused", "the namespace or reclaim group has no room"),
}


def results_table(results: Results, file: IO[str]) -> str:
    """The table of `results` as text for `file`: in colour for a terminal, else plain.

    It fits in 80 columns.
    """
    canvas = Canvas(file)
    width, plain = canvas.width, canvas.plain
    sections = [
        _headline(results),
        _sentence(verdict_of(results)),
        _latencies(results.host),
        _classes(results.get("classes")),
        _failures(results.host),
        _breakdown(results, width, plain),
        side_by_side(_flash(results), _wear(results)),
        _lifetime(results),
        _health(results.get("health")),
        _ageing(results.get("media")),
        _buffer(results),
        _map(results),
        _rare_section(results, "fdp"),
        _rare_section(results, "commands"),
        _rare_section(results, "power"),
        _rare_section(results, "disk"),
        _zones(results),
        _rare_section(results, "array"),
        remarks.cache(results.get("cache")),
        _energy(results.get("energy")),
        remarks.sold(results),
        _units(results.get("units") or [], width, plain),
        remarks.addresses(results),
        remarks.warm_up(results),
        remarks.silence(results),
        remarks.notices(results),
        warning_lines(results.warning_messages()),
        remarks.steady_state(results),
        remarks.sample(results),
        _clock(results),
        remarks.threads(results.elapsed.get("threads")),
    ]
    return canvas.draw(sections)


def _zones(results: Results) -> RenderableType | None:
    if not results.get("zones"):  # imported on demand, as most drives have none
        return None
    from ssdlab.results.zones import part

    return part(results)


def _rare_section(results: Results, section: str) -> RenderableType | None:
    """A rare section, whose renderer is imported on demand."""
    found = results.get(section)
    if not found:
        return None
    from ssdlab.results.seldom import PARTS

    return PARTS[section](found)


def advice_lines(advice: Advice, file: IO[str], again: Again) -> str:
    """A trial's helpful change, as text for `file`; `again` gives the command for it."""
    canvas = Canvas(file)
    said = Text(advice.sentence.replace("\u202f", " "))
    return f"\n{canvas.draw([said])}{continued(again(advice.change), canvas.width)}\n"


def _headline(results: Results) -> RenderableType:
    elapsed = results.elapsed
    title = Text("ssdlab", style="bold")
    title.append(f"  {results.experiment.title}")
    facts = (
        f"{results.host.all.requests:,} requests in {duration(results.simulated_seconds * 1e6, 4)} "
        f"of simulated time; took {duration(elapsed.wall_seconds * 1e6)}, "
        f"{count(elapsed.requests_per_second)} requests/s"
    )
    return Group(title, Text(facts, style="dim"))


def verdict_of(results: Results) -> Verdict | None:
    """The bottleneck of the run; None for devices without a latency breakdown and for a live
    device.
    """
    host = results.host.all
    known = host.get("breakdown_us") and "min_us" in host and results.get("units")
    if results.get("live") is not None:  # the serving machine limits it too
        return None
    return verdict(results) if known else None


def _sentence(found: Verdict | None) -> RenderableType | None:
    """The verdict's sentence, as in the report."""
    if found is None:
        return None
    return Text(found.sentence.replace("\u202f", " "), style="bold")


def _kinds(host: Host) -> list[tuple[str, Kind]]:
    """The kinds of request that occurred."""
    kinds = [(kind, host[kind]) for kind in _core.request_kinds() if kind in host]
    return [(kind, it) for kind, it in kinds if it.requests]


def _latencies(host: Host) -> RenderableType | None:
    kinds = _kinds(host)
    if not kinds:
        return None
    if len(kinds) > 1:  # with one kind, "all" would be redundant
        kinds.append(("all", host.all))
    times = ("mean", "p50", "p95", "p99", "p99.9", "max")
    table = Columns(["", "requests", "IOPS", "MB/s", *times], keys=1)
    for kind, it in kinds:
        p = it.percentiles_us
        remainder = [p["50"], p["95"], p["99"], p["99.9"], it.max_us]
        table.add_row(
            Text(kind, style="bold"),
            count(it.requests),
            count(it.iops or 0),
            significant(it.mb_per_s or 0, 4),
            Text(duration(it.mean_us, 4), style="bold"),
            *map(duration, remainder),
        )
    return table


def _classes(classes: Record | None) -> RenderableType | None:
    """The latencies of each class of the workload."""
    rows = [(name, *kind) for name, host in (classes or {}).items() for kind in _kinds(host)]
    if not rows:
        return None
    figures = ("IOPS", "mean", "p50", "p99", "p99.9", "p99.99")
    table = Columns(["Class", "", *figures], keys=2, left=["Class"])
    last = None
    for name, kind, it in rows:
        p = it.percentiles_us
        table.add_row(
            Text("" if name == last else name, style="bold"),
            kind,
            count(it.iops or 0),
            Text(duration(it.mean_us, 4), style="bold"),
            *(duration(p[percentile]) for percentile in ("50", "99", "99.9", "99.99")),
        )
        last = name
    return table


def _failures(host: Host) -> RenderableType | None:
    """Rejected requests, which are excluded from latencies."""
    lines = []
    for status, (head, reason) in REFUSALS.items():
        counted = [
            (kind, _ended(host[kind], status)) for kind in _core.request_kinds() if kind in host
        ]
        kinds = [f"{count(n)} {plural(kind) if n > 1 else kind}" for kind, n in counted if n]
        if kinds:
            lines.append(Text(f"{head}: {', '.join(kinds)}: {reason}", style="bold red"))
    return Group(*lines) if lines else None


def _ended(host: Kind, status: str) -> int:
    """Number of requests of a kind with that status; absent in results of an older version."""
    failures = host.get("failures", {"read_only": host.get("failed", 0)})
    return int(failures.get(status, 0))


def _breakdown(results: Results, width: int, plain: bool) -> RenderableType | None:
    labels = part_labels([results])
    measured = results.host.all.get("breakdown_us", {})
    # Results of another version may have unknown components.
    keys = [*PARTS, *(key for key in measured if key not in PARTS)]
    values = [measured.get(key) or 0.0 for key in keys]
    total = sum(values)
    if not total:
        return None
    table = grid("Lrr")
    for key, us, (glyph, colour) in zip(keys, values, stacks.looks(plain), strict=False):
        if us:
            name = Text(glyph * 2, style=colour).append(f" {labels.get(key, key)}", style="default")
            table.add_row(name, percent(us / total), duration(us, 4))
    bar = stacks.stack(values, width, plain)
    return Group(Text("Where the time goes", style="bold"), bar, table)


def _flash(results: Results) -> RenderableType | None:
    flash = results.get("flash")
    if not flash:
        return None
    # Results of an older version lack bytes.
    in_pages = flash["write_amplification"]
    amplification = flash.get("write_amplification_bytes", in_pages)
    rows = [
        ("write amplification", "no writes" if amplification is None else f"{amplification:.3f}"),
    ]
    if in_pages != amplification:
        rows.append(("  in flash pages", f"{in_pages:.3f}"))
    rows += _counts("flash", flash)
    if spare := flash.get("spare"):
        rows.append(("spare space", percent(spare["nominal"])))
        rows.append(("effective spare", percent(spare["effective"])))
    cleaning = flash.get("cleaning", {})
    rows += _counts("flash.cleaning", cleaning)
    if cleaning.get("blocks_cleaned"):
        rows.append(("cleaning efficiency", percent(cleaning["efficiency"])))
        rows.append(("mean time to clean", duration(cleaning["mean_block_us"])))
    rows += _counts("flash.merges", flash.get("merges", {}))
    rows += _counts("flash.block_buffer", flash.get("block_buffer", {}))
    rows += remarks.snapshots(flash)
    return fact_table("Flash", rows)


def _map(results: Results) -> RenderableType | None:
    found = results.get("map")
    if not found:
        return None
    rows = [("hits of look-ups", percent(found["hit_share"]))] if found.get("hit_share") else []
    return fact_table("Map cache", rows + _counts("map", found))


def _buffer(results: Results) -> RenderableType | None:
    rows = _counts("buffer", results.get("buffer") or {})
    return fact_table("Write buffer", rows) if rows else None


def _wear(results: Results) -> RenderableType | None:
    wear = results.get("wear")
    if not wear:
        return None
    rows = [
        ("mean erase count", f"{wear['mean_erases']:.3f}"),
        ("max erase count", count(wear["max_erases"])),
        ("mean P/E cycles left", f"{wear['mean_remaining']:,.1f}"),
    ]
    used = wear["mean_erases"] / (wear["mean_erases"] + wear["mean_remaining"] or 1)
    rows.append(("rated life left", f"{100 * (1 - used):.3f}%"))
    if wear["expired_blocks"]:
        rows.append(("worn-out blocks", count(wear["expired_blocks"])))
    if wear.get("ended"):
        rows.append(("end of life reached", "no spare space left"))
    rows += _counts("wear", wear)
    if (life := lifetime.of(results)) is not None:
        rows.append(("TBW under this load", _written(life)))
        if life.drive_writes_per_day is not None:
            per_day = f"{life.drive_writes_per_day:,.3g}"
            rows.append((f"  DWPD over {life.service_years:g} years", per_day))
        if first := wear["lifetime"].get("first_expiry"):
            written = decimal_size(first["host_bytes"])
            rows.append(("first block worn out after", written))
    return fact_table("Wear", rows)


def _written(life: lifetime.Lifetime) -> str:
    """Host bytes until end of life, with their error, or the reason for their absence."""
    if life.host_bytes is None:
        return life.why_not
    around = f" ± {100 * life.error:.2g}%" if life.error is not None else ""
    return f"{decimal_size(life.host_bytes)}{around}"


def _lifetime(results: Results) -> RenderableType | None:
    """Reason for an unknown lifetime, and a way to measure it."""
    life = lifetime.of(results)
    if life is None or life.known or life.unlimited or life.reason is None:
        return None
    return Text("Lifetime: ", style="bold").append(f"{life.reason_and_bound}.", style="default")


def _health(health: Mapping[str, Any] | None) -> RenderableType | None:
    """Health as in the drive's log, on one line."""
    if not health:  # absent in results of an older version
        return None
    written = 512e-6 * health["data_units_written"]
    amount = decimal_size(written * 1e9)
    said = f"{health['percentage_used']}% used, {health['available_spare']}% of the spare available"
    line = Text("Health: ", style="bold").append(f"{said}, {amount} written", style="default")
    if warned := ", ".join(health["critical_warnings"]):
        line.append(f"\nCritical warning {health['critical_warning']}: {warned}", style="bold red")
    return line


def _ageing(media: Mapping[str, Any] | None) -> RenderableType | None:
    """Effects of age and wear on data and reads, on one line."""
    if not media or not media["page_reads"]:
        return None
    reads, retries = media["page_reads"], media["mean_retries"]
    stated = f"{media['clock_days']:,.4g} days old at 30 °C at most, {retries:.3g} retries a page"
    if lost := media["uncorrectable"]:
        stated += f", {lost:,} of {reads:,} pages read beyond correction"
        if rebuilt := media["rebuilt"]:
            stated += f" ({rebuilt:,} rebuilt from parity)"
    return Text("Age: ", style="bold").append(stated, style="default")


def _energy(found: Record | None) -> RenderableType | None:
    """Energy, with the load for comparison."""
    if not found or not found.joules or not found.mean_watts:
        return None
    parts = [f"{part} {percent(it / found.joules)}" for part, it in found.parts.items() if it]
    line = Text("Energy: ", style="bold")
    line.append(f"{significant(found.mean_watts, 3)} W ({', '.join(parts)})", style="default")
    each = found.joules_per_request
    said = [f"{energy(each[it])} per {it}" for it in ("read", "write") if each[it]]
    if found.iops_per_watt:
        said.append(f"{count(found.iops_per_watt)} IOPS/W")
    if said:
        said[-1] += f", {percent(found.utilisation)} busy"
        line.append(f"\n{', '.join(said)}", style="default")
    return line


def _counts(section: str, found: Mapping[str, Any]) -> list[tuple[str, str]]:
    return [(label, count(number)) for label, number in counters.shown(section, found)]


def _units(units: list[Any], width: int, plain: bool) -> RenderableType | None:
    busiest = sorted(units, key=lambda unit: -unit["busy"])[:BUSIEST_UNITS]
    if not busiest or not busiest[0]["busy"]:
        return None
    table = grid("llrl")
    rows = []
    for unit in busiest:
        stated = []
        if unit.get("cleaning"):
            stated.append(f"{percent(unit['cleaning'])} cleaning")
        if unit.get("queue_mean") is not None:
            stated.append(f"queue {unit['queue_mean']:.2f}")
        rows.append((unit, percent(unit["busy"]), ", ".join(stated)))
    # Text beside the bar, with two blanks between the columns.
    neighbours = 6 + sum(
        max(map(len, column))
        for column in zip(*((unit["name"], busy, notes) for unit, busy, notes in rows), strict=True)
    )
    if neighbours + SHORTEST_BAR > width:  # keep the bar and its number
        neighbours -= max(len(notes) for _, _, notes in rows)
        rows = [(unit, busy, "") for unit, busy, _ in rows]
    cells = max(0, min(UNIT_BAR, width - neighbours))
    for unit, busy, notes in rows:
        table.add_row(unit["name"], stacks.level(unit["busy"], cells, plain), busy, notes)
    title = "Busiest units" if len(units) > len(busiest) else "Units"
    return Group(Text(title, style="bold").append(f" (of {len(units)})", style="dim"), table)


def _errors(live: Any) -> str:
    """Difference between measured and simulated latencies, and its observer."""
    error = live.error
    if error.mean is None or error.p99 is None:
        return "unknown"
    return f"{error.mean:+.1%}, {error.p99:+.1%} as the {error.seen_by} sees them"


def _clock(results: Results) -> RenderableType | None:
    """Timing accuracy of a live device."""
    live = results.get("live")
    if not live:
        return None
    title = Text("Timing", style="bold")
    title.append(f" {live.timing}", style="green" if live.timing == "valid" else "bold red")
    if not live.requests:
        return Group(title, Text(live.reason)) if live.reason else title
    rows = [
        ("mean latency, model", duration(live.model_mean_us, 4)),
        ("mean latency, measured", duration(live.measured_mean_us, 4)),
        ("error of mean and p99", _errors(live)),
        ("late by over 5% (of requests above the transport overhead)", f"{live.late_share:.2%}"),
        ("below the transport overhead", f"{live.below_overhead / live.requests:.2%}"),
    ]
    if live.record and live.record.lost:
        lost = live.record.lost.to_dict()
        stated = ", ".join(f"{count:,} {what.replace('_', ' ')}" for what, count in lost.items())
        rows.append((f"not in {live.record.file}", stated))
    facts = grid("LR")
    for row in rows:
        facts.add_row(*row)
    return Group(title, Text(live.reason), facts) if live.reason else Group(title, facts)
