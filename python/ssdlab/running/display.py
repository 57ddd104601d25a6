"""Terminal output for the results of a run."""

from __future__ import annotations

from collections.abc import Callable
from typing import IO, TYPE_CHECKING, Any

from ssdlab import _core
from ssdlab.charts import stacks
from ssdlab.layout import (
    Beside,
    Canvas,
    Columns,
    Facts,
    Grid,
    Group,
    Part,
    Text,
    continued,
    warnings,
)
from ssdlab.numbers import count, duration, energy, percent, significant
from ssdlab.results import PARTS, Host, Kind, Record, Results, part_labels
from ssdlab.running import drive, remarks
from ssdlab.running.verdict import Verdict, verdict

if TYPE_CHECKING:
    from ssdlab.running.advice import Advice

#: The command that repeats an experiment with one more assignment.
Again = Callable[[str], str]

BUSIEST_UNITS = 5
UNIT_BAR = 30
SHORTEST_BAR = 8
#: Why a device refuses a request, by the status of its answer.
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
        Beside.of(drive.flash(results), drive.wear(results)),
        drive.life(results),
        drive.health(results.get("health")),
        drive.ageing(results.get("media")),
        drive.buffer(results),
        drive.map_cache(results),
        drive.handles(results.get("fdp")),
        drive.commands(results.get("commands")),
        _power(results.get("power")),
        _disk(results),
        _zones(results),
        _array(results),
        remarks.cache(results.get("cache")),
        _energy(results.get("energy")),
        _units(results.get("units") or [], width, plain),
        remarks.warm_up(results),
        remarks.notices(results),
        warnings(results.warning_messages()),
        remarks.steady_state(results),
        _clock(results),
        remarks.threads(results.elapsed.get("threads")),
    ]
    return canvas.draw(sections)


def _zones(results: Results) -> Part | None:
    if not results.get("zones"):  # most drives have none: a plain start imports little
        return None
    from ssdlab.running.zones import part

    return part(results)


def advice_lines(advice: Advice, file: IO[str], again: Again) -> str:
    """What helped in a trial, as text for `file`; `again` says the command that does it."""
    canvas = Canvas(file)
    said = Text(advice.sentence.replace("\u202f", " "))
    return f"\n{canvas.draw([said])}{continued(again(advice.change), canvas.width)}\n"


def _headline(results: Results) -> Part:
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
    """What limits the run; None for devices without a latency breakdown and for a live device."""
    host = results.host.all
    known = host.get("breakdown_us") and "min_us" in host and results.get("units")
    if results.get("live") is not None:  # what limits it is also the machine that serves it
        return None
    return verdict(results) if known else None


def _sentence(found: Verdict | None) -> Part | None:
    """What limits the run, as the report has it."""
    if found is None:
        return None
    return Text(found.sentence.replace("\u202f", " "), style="bold")


def _kinds(host: Host) -> list[tuple[str, Kind]]:
    """The kinds of request that occurred."""
    kinds = [(kind, host[kind]) for kind in _core.request_kinds() if kind in host]
    return [(kind, it) for kind, it in kinds if it.requests]


def _latencies(host: Host) -> Part | None:
    kinds = _kinds(host)
    if not kinds:
        return None
    if len(kinds) > 1:  # with one kind, "all" would repeat it
        kinds.append(("all", host.all))
    times = ("mean", "p50", "p95", "p99", "p99.9", "max")
    table = Columns(["", "requests", "IOPS", "MB/s", *times], keys=1)
    for kind, it in kinds:
        p = it.percentiles_us
        rest = [p["50"], p["95"], p["99"], p["99.9"], it.max_us]
        table.add_row(
            Text(kind, style="bold"),
            count(it.requests),
            count(it.iops or 0),
            significant(it.mb_per_s or 0, 4),
            Text(duration(it.mean_us, 4), style="bold"),
            *map(duration, rest),
        )
    return table


def _classes(classes: Record | None) -> Part | None:
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


def _failures(host: Host) -> Part | None:
    """Requests that the device refused, which the latencies above do not include."""
    lines = []
    for status, (head, reason) in REFUSALS.items():
        counted = [
            (kind, _ended(host[kind], status)) for kind in _core.request_kinds() if kind in host
        ]
        kinds = [f"{count(n)} {kind}{'s' if n > 1 else ''}" for kind, n in counted if n]
        if kinds:
            lines.append(Text(f"{head}: {', '.join(kinds)}: {reason}", style="bold red"))
    return Group(*lines) if lines else None


def _ended(host: Kind, status: str) -> int:
    """How many requests of a kind ended so. Results of an older version do not say how."""
    failures = host.get("failures", {"read_only": host.get("failed", 0)})
    return int(failures.get(status, 0))


def _breakdown(results: Results, width: int, plain: bool) -> Part | None:
    labels = part_labels([results])
    measured = results.host.all.get("breakdown_us", {})
    # Results of another version may have a part that this one does not know.
    keys = [*PARTS, *(key for key in measured if key not in PARTS)]
    values = [measured.get(key) or 0.0 for key in keys]
    total = sum(values)
    if not total:
        return None
    table = Grid("Lrr")
    for key, us, (glyph, colour) in zip(keys, values, stacks.looks(plain), strict=False):
        if us:
            name = Text(glyph * 2, style=colour).append(f" {labels.get(key, key)}", style="default")
            table.add_row(name, percent(us / total), duration(us, 4))
    bar = stacks.stack(values, width, plain)
    return Group(Text("Where the time goes", style="bold"), bar, table)


#: Activities of the heads, in this order.
MECHANICS = ("seek", "rotation", "transfer")


def _disk(results: Results) -> Part | None:
    disk = results.get("disk")
    if not disk:
        return None
    rows = [("disks", count(disk["disks"]))] if disk["disks"] > 1 else []
    if disk["hit_share"] is not None:
        rows.append(("reads served from the buffer", percent(disk["hit_share"])))
    if disk["media_reads"] + disk["media_writes"]:
        rows += [
            ("reads from the disk", count(disk["media_reads"])),
            ("writes to the disk", count(disk["media_writes"])),
            *((f"mean {part}", duration(disk["mean_us"][part], 4)) for part in MECHANICS),
        ]
    if disk["busy"] is not None:
        rows.append(("head utilisation", percent(disk["busy"])))
        rows += [(f"  {part}", percent(disk["busy_parts"][part])) for part in MECHANICS]
    return Facts("Disk", rows + remarks.standby(disk))


def _power(power: Record | None) -> Part | None:
    if not power:
        return None
    rows = [("cuts", count(power["cuts"]))]
    times = power["recovery_seconds"]
    if times["mean"] is not None:
        mean, longest = (duration(times[key] * 1e6, 4) for key in ("mean", "max"))
        rows.append(("recovery", mean if mean == longest else f"{mean}, at most {longest}"))
    for label, key in (
        ("pages read", "pages_read"),
        ("torn pages", "torn_pages"),
        ("interrupted erases", "interrupted_erases"),
        ("pages rewritten", "pages_rewritten"),
        ("checkpoint pages", "checkpoint_programs"),
        ("unacknowledged writes kept", "unacknowledged_kept"),
        ("unacknowledged writes lost", "unacknowledged_lost"),
        ("trims undone", "trims_undone"),
        ("durable pages lost", "durable_lost"),
    ):
        if power[key] or key == "durable_lost":
            rows.append((label, count(power[key])))
    return Facts("Power cuts", rows)


def _array(results: Results) -> Part | None:
    """What redundancy did."""
    array = results.get("array")
    if not array:
        return None
    rows = [("redundancy", array.redundancy)]
    if array.full_stripe_share is not None:
        rows.append(("full-stripe writes", percent(array.full_stripe_share)))
        rows.append(("parity reads", count(array.parity_reads)))
        rows.append(("parity writes", count(array.parity_writes)))
    if array.write_amplification is not None:
        rows.append(("WA of the array", f"{array.write_amplification:.3f}"))
    if array.stripe_waits:
        rows.append(("waits for a stripe lock", count(array.stripe_waits)))
    if array.reads_around:
        rows.append(("reads around a cleaning member", count(array.reads_around)))
    if array.member_failures:
        rows.append(("failed members", count(array.member_failures)))
        rows.append(("degraded reads", count(array.degraded_reads)))
    if rebuild := array.get("rebuild"):
        rows.append(("rebuilt", percent(rebuild.progress)))
        rows.append(("rebuild time", duration(rebuild.seconds * 1e6)))
    if hole := array.get("hole"):
        rows.append(("stripes torn by power cuts", count(hole.stripes_dirty)))
        rows.append(("stripes resynchronised", count(hole.stripes_resynced)))
        rows.append(("resync time", duration(hole.resync_seconds * 1e6)))
        rows.append(("chunks lost to the write hole", count(hole.chunks_wrong)))
    if array.data_loss_sectors:
        rows.append(("data loss", f"{count(array.data_loss_sectors)} sectors"))
    return Facts("Array", rows)


def _energy(found: Record | None) -> Part | None:
    """What was taken of the supply, and the load beside it."""
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


def _units(units: list[Any], width: int, plain: bool) -> Part | None:
    busiest = sorted(units, key=lambda unit: -unit["busy"])[:BUSIEST_UNITS]
    if not busiest or not busiest[0]["busy"]:
        return None
    table = Grid("llrl")
    rows = []
    for unit in busiest:
        said = []
        if unit.get("cleaning"):
            said.append(f"{percent(unit['cleaning'])} cleaning")
        if unit.get("queue_mean") is not None:
            said.append(f"queue {unit['queue_mean']:.2f}")
        rows.append((unit, percent(unit["busy"]), ", ".join(said)))
    # What stands beside the bar, with two blanks between the columns.
    beside = 6 + sum(
        max(map(len, column))
        for column in zip(*((unit["name"], busy, notes) for unit, busy, notes in rows), strict=True)
    )
    if beside + SHORTEST_BAR > width:  # the bar and its number say the most
        beside -= max(len(notes) for _, _, notes in rows)
        rows = [(unit, busy, "") for unit, busy, _ in rows]
    cells = max(0, min(UNIT_BAR, width - beside))
    for unit, busy, notes in rows:
        table.add_row(unit["name"], stacks.level(unit["busy"], cells, plain), busy, notes)
    title = "Busiest units" if len(units) > len(busiest) else "Units"
    return Group(Text(title, style="bold").append(f" (of {len(units)})", style="dim"), table)


def _errors(live: Any) -> str:
    """The difference between measured latencies and the model's, and where it is seen."""
    error = live.error
    if error.mean is None or error.p99 is None:
        return "unknown"
    return f"{error.mean:+.1%}, {error.p99:+.1%} as the {error.seen_by} sees them"


def _clock(results: Results) -> Part | None:
    """How well a live device kept to the times of its model."""
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
        ("late by over 5% (of requests above the transport floor)", f"{live.late_share:.2%}"),
        ("below the transport floor", f"{live.below_floor / live.requests:.2%}"),
    ]
    if live.record and live.record.lost:
        lost = live.record.lost.to_dict()
        said = ", ".join(f"{count:,} {what.replace('_', ' ')}" for what, count in lost.items())
        rows.append((f"not in {live.record.file}", said))
    facts = Grid("LR")
    for row in rows:
        facts.add_row(*row)
    return Group(title, Text(live.reason), facts) if live.reason else Group(title, facts)
