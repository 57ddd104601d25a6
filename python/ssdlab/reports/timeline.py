"""Flash operations in the recorded window: a drawing with zoom, and a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from ssdlab import pages
from ssdlab._core import operations as kinds
from ssdlab.charts import svg
from ssdlab.readable import count, counted, time
from ssdlab.results import Results, figures
from ssdlab.units import time_text

#: Maximum number of operations drawn.
MAX_DRAWN = 20_000
#: Maximum number of lanes drawn: the busiest ones.
MAX_LANES = 64
#: A window with fewer operations gets a note, which proposes one with enough of them.
FEW, ENOUGH = 100, 1_000


def section(named: figures.Named) -> str:
    """A drawing for each of the results that recorded operations."""
    recorded = [(name, it) for name, it in named if it.get("timeline")]
    parts = [
        _drawing(n, name, it, MAX_DRAWN // len(recorded)) for n, (name, it) in enumerate(recorded)
    ]
    return "".join(parts)


def _drawing(number: int, name: str, it: Results, most: int) -> str:
    heading = f"<h3>{escape(name)}</h3>" if name else ""
    timeline: Mapping[str, Any] = it.timeline.to_dict()
    found = timeline["operations"]
    operations = [
        *zip(*(found[key] for key in ("kind", "start_ns", "end_ns", "bus_ns")), strict=True)
    ]
    if not operations:
        return heading + "<p>No operation ended within the window.</p>"
    drawn = figures.timeline(it, MAX_LANES, most)
    shown, lanes = drawn.count(), len(drawn.y.words)
    notes = []
    if timeline["cut"]:
        notes.append(f"The recording stopped after {count(len(operations))} operations.")
    if shown < len(operations):
        notes.append(f"{count(shown)} of {count(len(operations))} operations are drawn.")
    if lanes < len(timeline["lanes"]):
        notes.append(f"The {lanes} busiest of {len(timeline['lanes'])} lanes are drawn.")
    if len(operations) < FEW and not timeline["cut"]:
        notes.append(_wider(timeline, len(operations), it.simulated_seconds))
    said = "".join(f"<p>{note}</p>" for note in notes)
    return f"{heading}{said}{svg.draw(drawn, str(number))}{_table(operations)}"


def _wider(timeline: Mapping[str, Any], number: int, simulated_seconds: float) -> str:
    """A sentence about a window with few operations: the window that holds enough of them."""
    start, stop = timeline["from_ns"], timeline["to_ns"]
    length = float(f"{(stop - start) * ENOUGH / number:.1g}")
    said = f"Only {counted(number, 'operation')} ended within the window."
    if stop >= simulated_seconds * 1e9:
        return said
    window = "..".join(map(time_text, (start / 1e9, (start + length) / 1e9)))
    return f"{said} About {count(ENOUGH)} end within --timeline {window}, at this rate."


def _table(operations: Sequence[tuple[Any, ...]]) -> str:
    """Number, duration and bus time of each kind of operation."""
    rows = []
    for kind in kinds():
        of_kind = [(stop - start, bus) for it, start, stop, bus in operations if it == kind]
        if of_kind:
            times = [sum(column) / len(of_kind) / 1e3 for column in zip(*of_kind, strict=True)]
            rows.append([kind, count(len(of_kind)), *(time(us) for us in times)])
    return pages.table(["", "operations", "mean time", "bus time, waiting included"], rows)
