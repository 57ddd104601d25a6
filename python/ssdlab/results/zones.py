"""Zones of a drive in the terminal."""

from __future__ import annotations

from rich.console import RenderableType

from ssdlab.results import Results
from ssdlab.terminal import fact_table
from ssdlab.units import count, duration, percent

#: Figures of zones shown when nonzero, with labels.
ZONES = {
    "resets": "zones reset",
    "finishes": "finishes of zones",
    "closed_by_controller": "zones closed for others",
    "program_failures": "failed programs",
    "erase_failures": "failed erases",
}


def part(results: Results) -> RenderableType | None:
    """States of the zones, and counts of zone operations; None without zones."""
    zones = results.get("zones")
    if not zones:
        return None
    states = ", ".join(
        f"{count(number)} {name.replace('_', ' ')}"
        for name, number in zones["states"].items()
        if number
    )
    rows = [("zones", states)]
    rows += [(label, count(zones[key])) for key, label in ZONES.items() if zones[key]]
    rows += [
        (f"mean {what}", duration(zones[f"{what}_us"]["mean"], 4))
        for what in ("reset", "finish")
        if zones[f"{what}_us"]["mean"] is not None
    ]
    rows += [
        (f"refused, {name.replace('_', ' ')}", count(n)) for name, n in zones["refused"].items()
    ]
    log = zones.get("host_log")
    if log and log["write_amplification"] is not None:
        rows.append(("write amplification of the host's log", f"{log['write_amplification']:.3f}"))
    if zones["dies_busy"] is not None:
        rows.append(("utilisation of the dies", percent(zones["dies_busy"])))
    return fact_table("Zones", rows)
