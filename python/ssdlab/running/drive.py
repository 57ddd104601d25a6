"""What a run says of the drive: its flash and buffers, placement handles, wear, health and age."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ssdlab import counters, lifetime
from ssdlab.layout import Facts, Part, Text
from ssdlab.numbers import count, decimal_size, duration, percent
from ssdlab.results import Record, Results
from ssdlab.running import remarks


def flash(results: Results) -> Part | None:
    """What was programmed, cleaned and erased."""
    flash = results.get("flash")
    if not flash:
        return None
    # Results of an older version have no bytes.
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
    return Facts("Flash", rows)


def map_cache(results: Results) -> Part | None:
    """What look-ups in the map came to, of a drive that caches it."""
    found = results.get("map")
    if not found:
        return None
    rows = [("hits of look-ups", percent(found["hit_share"]))] if found.get("hit_share") else []
    return Facts("Map cache", rows + _counts("map", found))


def buffer(results: Results) -> Part | None:
    """What the write buffer came to."""
    rows = _counts("buffer", results.get("buffer") or {})
    return Facts("Write buffer", rows) if rows else None


def handles(fdp: Record | None) -> Part | None:
    """What was written with each placement handle, and moved of it."""
    if not fdp:
        return None
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
        if number := fdp["events"].get(event):  # results of an older version know fewer
            rows.append((label, count(number)))
    return Facts("Placement handles", rows) if rows else None


def commands(found: Record | None) -> Part | None:
    """What the commands of NVMe came to that are done in steps, and how many were refused."""
    if not found:
        return None
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
    return Facts("Commands", rows) if rows else None


def wear(results: Results) -> Part | None:
    """How far blocks are worn, and what may be written until they are."""
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
    return Facts("Wear", rows)


def _written(life: lifetime.Lifetime) -> str:
    """What the host may write, with its error, or why that is not known."""
    if life.host_bytes is None:
        return life.why_not
    around = f" ± {100 * life.error:.2g}%" if life.error is not None else ""
    return f"{decimal_size(life.host_bytes)}{around}"


def life(results: Results) -> Part | None:
    """Why the lifetime is not known, and what measures it."""
    life = lifetime.of(results)
    if life is None or life.known or life.unlimited or life.reason is None:
        return None
    return Text("Lifetime: ", style="bold").append(f"{life.reason}.", style="default")


def health(health: Mapping[str, Any] | None) -> Part | None:
    """What the drive's own log of health would say, on one line."""
    if not health:  # results of an older version have none
        return None
    written = 512e-6 * health["data_units_written"]
    amount = decimal_size(written * 1e9)
    said = f"{health['percentage_used']}% used, {health['available_spare']}% of the spare available"
    line = Text("Health: ", style="bold").append(f"{said}, {amount} written", style="default")
    if warned := ", ".join(health["critical_warnings"]):
        line.append(f"\nCritical warning {health['critical_warning']}: {warned}", style="bold red")
    return line


def ageing(media: Mapping[str, Any] | None) -> Part | None:
    """What age and wear did to the data, and what reading them took, on one line."""
    if not media or not media["page_reads"]:
        return None
    reads, retries = media["page_reads"], media["mean_retries"]
    said = f"{media['clock_days']:,.4g} days old at 30 °C at most, {retries:.3g} retries a page"
    if lost := media["uncorrectable"]:
        said += f", {lost:,} of {reads:,} pages read beyond correction"
        if rebuilt := media["rebuilt"]:
            said += f" ({rebuilt:,} rebuilt from parity)"
    return Text("Age: ", style="bold").append(said, style="default")


def _counts(section: str, found: Mapping[str, Any]) -> list[tuple[str, str]]:
    return [(label, count(number)) for label, number in counters.shown(section, found)]
