"""Rare sections: placement handles, commands, power cuts, hard disks, arrays."""

from __future__ import annotations

from collections.abc import Callable

from rich.console import RenderableType

from ssdlab.results import remarks
from ssdlab.results.records import Record
from ssdlab.terminal import fact_table
from ssdlab.units import count, decimal_size, duration, percent

#: Activities of the heads, in display order.
MECHANICS = ("seek", "rotation", "transfer")


def handles(fdp: Record) -> RenderableType | None:
    """Bytes written and moved by placement handle."""
    rows = []
    for handle in fdp["handles"]:
        if handle["host_bytes"]:
            written = decimal_size(handle["host_bytes"])
            words = f"WA {handle['write_amplification']:.3f}, {written} written"
            group = f"group {handle['group']} " if "group" in handle else ""
            rows.append((f"{group}handle {handle['handle']}", words))
    if refused := fdp.get("refused_bytes"):
        rows.append(("refused by full groups", decimal_size(refused)))
    if fdp["open_units"]:
        rows.append(("spare in open units", percent(fdp["spare_in_open_units"])))
    for label, event in (
        ("writes with no such handle", "invalid_handle"),
        ("units given up", "unit_not_full"),
        ("units open for too long", "time_limit"),
    ):
        if number := fdp["events"].get(event):  # results of an older version have fewer
            rows.append((label, count(number)))
    return fact_table("Placement handles", rows) if rows else None


def commands(found: Record) -> RenderableType | None:
    """Outcomes of multi-step NVMe commands, and refusals."""
    rows = [
        (label, decimal_size(found[part]["bytes"]))
        for label, part in (
            ("copied", "copy"),
            ("written with zeroes", "zeroes"),
            ("marked uncorrectable", "uncorrectable"),
        )
        if found[part]["bytes"]
    ]
    for label, number in (
        ("ranges deallocated", found["ranges"]),
        ("comparisons", found["compare"]["compared"]),
        ("  that failed", found["compare"]["failed"]),
        *((f"ended with {code}", number) for code, number in found["statuses"].items()),
    ):
        if number:
            rows.append((label, count(number)))
    for number, space in enumerate(found.get("namespaces", []), 1):
        size = decimal_size(space["bytes"])
        thin = space["capacity_bytes"] < space["bytes"]
        mapped = f", {decimal_size(space['mapped_bytes'])} mapped" if thin else ""
        rows.append((f"namespace {number}", f"{size}{mapped}"))
    return fact_table("Commands", rows) if rows else None


def power(power: Record) -> RenderableType:
    """Costs of power cuts."""
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
    return fact_table("Power cuts", rows)


def disk(disk: Record) -> RenderableType:
    """Work of heads and buffers of hard disks."""
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
    return fact_table("Disk", rows + remarks.standby(disk))


def array(array: Record) -> RenderableType:
    """Work of redundancy."""
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
    return fact_table("Array", rows)


#: Renderer of each section of the results.
PARTS: dict[str, Callable[[Record], RenderableType | None]] = {
    "fdp": handles,
    "commands": commands,
    "power": power,
    "disk": disk,
    "array": array,
}
