"""Display of a caching device, of a disk's standby, and of snapshots."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import RenderableType

from ssdlab.results.records import Record
from ssdlab.terminal import fact_table
from ssdlab.units import count, decimal_size, percent


def standby(disk: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Standby time of a disk, and number of spin-ups."""
    found = disk.get("standby")
    if not found:
        return []
    return [
        ("stopped", percent(found["share"] or 0.0)),
        ("spin-ups", count(found["spin_ups"])),
    ]


def snapshots(flash: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Number of copy-on-write snapshots, and space held by them alone."""
    found = flash.get("snapshots")
    if not found:
        return []
    rows = [
        ("snapshots", f"{count(len(found['kept']))} of {count(found['made'])} made"),
        ("pages of snapshots alone", count(found["pages_held"])),
    ]
    if found["crowded_out"]:
        rows.append(("dropped for want of space", count(found["crowded_out"])))
    return rows


def facts(cache: Record | None) -> RenderableType | None:
    """Facts about a caching device."""
    if not cache:
        return None
    rows = [("lines used", f"{count(cache.lines_used)} of {count(cache.lines)}")]
    tiered = cache.policy == "heat"
    if tiered:
        rows = [("lines of the fast device", count(cache.lines))]
    for label, share in (
        ("hits of reads", cache.hit_share),
        ("hits of writes", cache.write_hit_share),
    ):
        if share is not None:
            rows.append((label, percent(share)))
    for label, key in (
        ("brought in", "filled_bytes"),
        ("written back", "destaged_bytes"),
        ("past the cache", "bypassed_bytes"),
    ):
        if cache[key]:
            rows.append((label, decimal_size(cache[key])))
    for label, key in (
        ("lines that changed places" if tiered else "lines evicted", "evictions"),
        ("lines dirty at the end", "lines_dirty"),
        ("waits for room", "stalls"),
    ):
        if cache[key]:
            rows.append((label, count(cache[key])))
    if hints := cache.get("hints"):
        rows.append(("lines pinned by hints", count(hints.lines_pinned)))
    if power := cache.get("power"):
        rows.append(("power cuts", count(power.cuts)))
        rows.append(("durable lines lost", count(power.durable_lost)))
        if power.acknowledged_lost:
            rows.append(("answered lines lost", count(power.acknowledged_lost)))
    return fact_table("Cache", rows)
