"""Remarks on a run: warm-up, notices, steady state, threads."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from ssdlab import under_load
from ssdlab.results import Results
from ssdlab.results.records import Record
from ssdlab.units import count, decimal_size, dollars, significant

#: Beginning of the notice of an option of fio that does nothing here.
IGNORED = "fio_ignored_"


def warm_up(results: Results) -> Text | None:
    """Remark on excluded warm-up requests."""
    left_out = results.get("workload", {}).get("warm_up", 0)
    if not left_out:
        return None
    return Text(
        f"Excluding the warm-up of {results.experiment.run.warm_up}, in which {count(left_out)} "
        f"request{'s' if left_out > 1 else ''} arrived"
    )


def addresses(results: Results) -> Text | None:
    """Mapping of a trace's addresses to the drive; None without a trace."""
    found = results.get("workload", {}).get("trace")
    if not found or not found["span_bytes"]:
        return None
    whole, span = found["whole_capacity_bytes"], found["span_bytes"]
    spans = f"the trace touches {decimal_size(found['touched_bytes'])} of a span of"
    spans = f"{spans} {decimal_size(span)}"
    drive = f"the whole drive of {decimal_size(whole)}"
    if found["scale"] > 1:
        drive = f"1/{found['scale']} of a drive of {decimal_size(whole)}"
    how = {
        "recorded": "as recorded",
        "wrapped": "modulo the capacity (workload.beyond=wrap)",
        "dense": "renumbered without gaps (workload.beyond=dense)",
    }.get(found["addresses"])
    if how is None:
        over = max(span, whole) / results.capacity_bytes
        how = f"divided by {over:.4g} in chunks of {decimal_size(found['chunk_bytes'])}"
        how += f", up to {math.ceil(over)} of which share a place"
        if span > whole:
            drive = f"{drive}, which is smaller"
    return Text("Addresses: ", style="bold").append(f"{how}, on {drive}; {spans}", style="default")


def sold(results: Results) -> Text | None:
    """Life, watts and dollars of a drive with a price under the load, each with its kind."""
    found = under_load.of([results])
    if found.dollars.value is None:
        return None
    parts = []
    if found.life_years.value is not None:
        parts.append(f"life {under_load.said_years(found.life_years)}")
    if found.watts.value is not None and found.watts.kind != under_load.SIMULATED:
        parts.append(f"{significant(found.watts.value, 3)} W ({found.watts.kind})")
    price = found.dollars
    parts.append(f"{dollars(price.value or 0.0)} ({price.origin})")
    return Text("Under this load: ", style="bold").append(", ".join(parts), style="default")


def notices(results: Results) -> Text | None:
    """Requests skipped or changed by the workload, unless a warning mentions them."""
    found = dict(results.get("workload", {}).get("notices", {}))
    for warning in results.get("warnings") or []:  # mentioned there
        found = {name: n for name, n in found.items() if name not in warning["figures"]}
    found = {name: n for name, n in found.items() if n}
    counts = [f"{count(n)} {name}" for name, n in found.items() if not name.startswith(IGNORED)]
    without = [name.removeprefix(IGNORED) for name in found if name.startswith(IGNORED)]
    notes = [f"the workload had {', '.join(counts)}"] if counts else []
    notes += [f"no effect here: fio's {', '.join(without)}"] if without else []
    return Text(f"Note: {'; '.join(notes)}", style="yellow") if notes else None


def silence(results: Results) -> Text | None:
    """The reason why a run has no request; None for a run with requests."""
    if results.get("workload", {}).get("asked") != 0:
        return None
    states = (results.get("zones") or {}).get("states") or {}
    why = "the load has none of the size and in the time that it states"
    if states.get("empty") and sum(states.values()) == states["empty"]:
        why = (
            "reads of zones end where their data end, and all zones are empty: "
            "--set device.zones.fill=0.5 writes half of them before, as does a job of writes"
        )
    return Text(f"No request was made: {why}", style="yellow")


def steady_state(results: Results) -> Text | None:
    """Steadiness of each phase, and the preconditioning."""
    lines = []
    for phase, seen in (results.get("steady_state") or {}).items():
        if not seen:
            continue
        rounds = f"{len(seen['rounds'])} rounds"
        line = f"Steady state of the {phase}: not reached in {rounds}"
        if seen["steady"]:
            mean = f"{seen['metric'].replace('_', ' ')} {seen['window_mean']:,.4g}"
            line = f"Steady state of the {phase} after {rounds}: {mean}"
        lines += [line, *_prepared_with(seen)]
    return Text("\n".join(lines)) if lines else None


def sample(results: Results) -> Text | None:
    """How a sampled run was measured; None for other runs."""
    found = results.get("sample")
    if not found:
        return None
    if "whole" in found:
        return Text(f"Not sampled: {found['whole']}; all requests were simulated in time")
    ended = "" if found["is_complete"] else "; it ended as soon as the intervals were narrow"
    each = [
        f"{op} {name} {low:,.1f} to {high:,.1f} us"
        for op in ("read", "write")
        for name, key in (("mean", "mean_us"), ("p99", "p99_us"))
        for _, low, high in [found.get(op, {}).get(key, (None,) * 3)]
        if low is not None
    ]
    return Text(
        f"Sampled: latencies of {found['requests']:,} requests in {found['slices']} slices{ended}. "
        f"95 % intervals: {', '.join(each)}"
    )


def _prepared_with(seen: Record) -> list[str]:
    """Preconditioning of a drive."""
    if "load" not in seen:
        return []
    why = f"uniform writes ({seen['because']})" if seen["because"] else "the workload's writes"
    return [f"Preconditioned with {seen['capacities_written']:.1f} capacities of {why}"]


def threads(used: Record | None) -> Text | None:
    """Threads of the preconditioning, and the reason for fewer than requested."""
    if not used or not used.preparing:
        return None
    why = f" ({used.preparing_alone})" if used.preparing_alone else ""
    return Text(f"Threads preparing: {used.preparing}{why}", style="dim")


def cache(found: Record | None) -> RenderableType | None:
    """Facts about a caching device, if any."""
    if not found:
        return None
    from ssdlab.results import caches

    return caches.facts(found)


def standby(disk: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Standby time of a disk, if it may spin down."""
    if not disk.get("standby"):
        return []
    from ssdlab.results import caches

    return caches.standby(disk)


def snapshots(flash: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Space of copy-on-write snapshots, if the drive keeps some."""
    if not flash.get("snapshots"):
        return []
    from ssdlab.results import caches

    return caches.snapshots(flash)
