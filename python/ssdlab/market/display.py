"""Terminal output for commercial data of drives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import IO

from rich.text import Text

from ssdlab.market import Rated
from ssdlab.terminal import Columns, console_for, rendered
from ssdlab.units import dollars


def table(rows: Sequence[Rated], file: IO[str]) -> str:
    """A line for each drive, as text for `file`."""
    console, _ = console_for(file)
    shown = Columns(["drive", "dollars", "of", "watts", "DWPD"], keys=1, left=["drive", "of"])
    for row in rows:
        watts = row.idle_watts is not None
        shown.add_row(
            Text(row.drive, style="cyan"),
            "" if row.price is None else f"{dollars(row.price)}{'*' if row.is_assumed else ''}",
            row.priced,
            f"{row.idle_watts:g} to {row.active_watts:g}" if watts else "",
            "" if row.dwpd is None else f"{row.dwpd:g}",
        )
    sources = sorted({it.watts_source for it in rows} - {""})
    notes = [
        "*: assumed, the order of shop prices. watts: awake without requests, and under load.",
        f"Sources of the watts: {'; '.join(sources)}.",
        "DWPD: rated drive writes a day over five years. --json has the sources of each row.",
    ]
    return rendered(console, [shown, Text("\n".join(notes), style="dim")])
