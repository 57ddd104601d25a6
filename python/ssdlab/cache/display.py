"""Terminal output for the cache: prepared drives, and tables converted into traces."""

from __future__ import annotations

import time
from typing import IO, Any

from rich.console import RenderableType
from rich.text import Text

from ssdlab import readable
from ssdlab.terminal import Canvas, Columns
from ssdlab.units import duration, size

#: Maximum number of entries printed; `--json` lists all.
MOST = 20


def cache(found: dict[str, Any], file: IO[str]) -> str:
    """Cache entries, as text for `file`."""
    canvas, entries = Canvas(file), found["entries"]
    if found["folder"] is None:
        return canvas.draw([Text("No folder to keep prepared drives in: set SSDLAB_CACHE.")])
    head = Text(found["folder"], style="bold")
    if not found["in_use"]:
        head.append(" (off: SSDLAB_CACHE=off)")
    bound = found["bound_bytes"]
    limit = "" if bound is None else f" of at most {size(bound)}"
    kept = readable.counted(len(entries), "prepared drive")
    if traces := found["traces"]:
        kept += f" and {readable.counted(len(traces), 'converted trace')}"
    parts: list[RenderableType] = [
        head.append(f"\n{kept}, {size(found['bytes'])}{limit}", "default")
    ]
    for rows, table in ((entries, _table), (traces, _traces)):
        if rows:
            parts.append(table(rows[:MOST]))
        if len(rows) > MOST:
            parts.append(Text(f"and {len(rows) - MOST:,} more: --json - lists them"))
    return canvas.draw(parts)


def _traces(entries: list[dict[str, Any]]) -> Columns:
    table = Columns(["converted from", "size", "last use"], keys=1, left=["converted from"])
    for entry in entries:
        table.add_row(entry["table"], size(entry["bytes"]), _ago(time.time() - entry["last_used"]))
    return table


def _table(entries: list[dict[str, Any]]) -> Columns:
    figures = ("capacity", "by", "took", "size", "used", "last use")
    table = Columns(["prepared for", *figures], keys=1, left=["prepared for"])
    for entry in entries:
        table.add_row(
            entry["title"],
            size(entry["capacity_bytes"]),
            entry["precondition"],
            duration(entry["prepared_seconds"] * 1e6),
            size(entry["bytes"]),
            "once" if entry["hits"] == 1 else f"{entry['hits']:,} times",
            _ago(time.time() - entry["last_used"]),
        )
    return table


def _ago(seconds: float) -> str:
    for unit, length in (("day", 86_400), ("hour", 3_600), ("minute", 60)):
        if seconds >= length:
            number = int(seconds // length)
            return f"{number} {unit}{'s' if number > 1 else ''} ago"
    return "just now"
