"""Flash operations in the recorded window: a drawing that the reader enlarges, and a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from ssdlab import pages
from ssdlab._core import operations as kinds
from ssdlab.charts import svg
from ssdlab.readable import count, time
from ssdlab.results import Results, figures

#: Operations drawn on a page.
MAX_DRAWN = 20_000
#: Lanes drawn: those with most operations.
MAX_LANES = 64


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
    said = "".join(f"<p>{note}</p>" for note in notes)
    return f"{heading}{said}{svg.draw(drawn, str(number))}{_table(operations)}"


def _table(operations: Sequence[tuple[Any, ...]]) -> str:
    """The operations of each kind: how many, how long, and how long they had to do with the bus."""
    rows = []
    for kind in kinds():
        of_kind = [(stop - start, bus) for it, start, stop, bus in operations if it == kind]
        if of_kind:
            times = [sum(column) / len(of_kind) / 1e3 for column in zip(*of_kind, strict=True)]
            rows.append([kind, count(len(of_kind)), *(time(us) for us in times)])
    return pages.table(["", "operations", "mean time", "bus time, waiting included"], rows)
