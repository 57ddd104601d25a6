"""The flash operations of the recorded window as bars over time, which the reader can enlarge.

Enlarging needs no script: the drawing is as wide as the chosen one of some radio buttons says.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from ssdlab.numbers import count, duration
from ssdlab.paper.svg import round_marks
from ssdlab.reports import html
from ssdlab.results import Results
from ssdlab.running.plots import OPERATIONS

#: How often the window is as wide as the page.
ZOOMS = (1, 4, 16, 64)
#: Operations drawn on a page; with so few in one drawing each says what it is when pointed at.
MAX_DRAWN = 20_000
MAX_TITLED = 2_000
#: Lanes drawn: those with most operations.
MAX_LANES = 64
#: Height of a lane.
LANE_REM = 1.2

STYLE = "".join(
    f".zoom{zoom}:checked ~ .lanes .sheet {{ width: {zoom}00% }} "
    f".zoom{zoom}:checked ~ .lanes .m{zoom} {{ display: block }}\n"
    for zoom in ZOOMS
)


def section(names: Sequence[str], results: Sequence[Results]) -> str:
    """A drawing for each of the results that recorded operations."""
    recorded = [
        (name, it.timeline.to_dict())
        for name, it in zip(names, results, strict=True)
        if it.get("timeline")
    ]
    if not recorded:
        return ""
    share = MAX_DRAWN // len(recorded)
    parts = [_drawing(n, name, it, share) for n, (name, it) in enumerate(recorded)]
    return f"<style>{STYLE}</style>{''.join(parts)}"


def _drawing(number: int, name: str, timeline: Mapping[str, Any], most: int) -> str:
    heading = f"<h3>{escape(name)}</h3>" if name else ""
    found = timeline["operations"]
    columns = (found[key] for key in ("lane", "kind", "start_ns", "end_ns", "bus_ns"))
    operations = [*zip(*columns, strict=True)]
    if not operations:
        return heading + "<p>No operation ended within the window.</p>"
    lanes = _busiest(operations, len(timeline["lanes"]))
    place = {lane: row for row, lane in enumerate(lanes)}
    shown = [operation for operation in operations if operation[0] in place][:most]
    begin = timeline["from_ns"]
    end = max(min(timeline["to_ns"], max(operation[3] for operation in shown)), begin + 1)
    lane_names = [timeline["lanes"][lane] for lane in lanes]
    drawn = _bars(shown, place, timeline["lanes"], (begin, end)) + _marks(begin, end)
    notes = []
    if timeline["cut"]:
        notes.append(f"The record was cut after {count(len(operations))} operations.")
    if len(shown) < len(operations):
        notes.append(f"{count(len(shown))} of {count(len(operations))} operations are drawn.")
    if len(lanes) < len(timeline["lanes"]):
        notes.append(f"The {len(lanes)} busiest of {len(timeline['lanes'])} lanes are drawn.")
    zooms = "".join(
        f'<input type="radio" class="zoom zoom{zoom}" name="zoom-{number}" '
        f'id="zoom-{number}-{zoom}"{" checked" if zoom == 1 else ""}>'
        f'<label for="zoom-{number}-{zoom}">'
        f"{f'{zoom} times' if zoom > 1 else 'whole window'}</label>"
        for zoom in ZOOMS
    )
    told = "Flash operations over simulated time; scroll with the arrow keys"
    return (
        f"{heading}{''.join(f'<p>{note}</p>' for note in notes)}{_legend(shown)}"
        f'<div role="group" aria-label="Enlarge">{zooms}'
        f"{html.lanes(lane_names, drawn, told)}</div>"
        f'<p class="legend">simulated time, us</p>{_table(operations)}'
    )


def _busiest(operations: Sequence[tuple[Any, ...]], lanes: int) -> list[int]:
    """The lanes with most operations, in their own order."""
    counts = [0] * lanes
    for operation in operations:
        counts[operation[0]] += 1
    return sorted(sorted(range(lanes), key=lambda lane: -counts[lane])[:MAX_LANES])


def _bars(
    operations: Sequence[tuple[Any, ...]],
    place: Mapping[int, int],
    names: Sequence[str],
    window: tuple[int, int],
) -> str:
    """The operations as an `<svg>` that is stretched: a unit is a nanosecond by a lane."""
    begin, end = window
    titled = len(operations) <= MAX_TITLED
    parts: dict[str, list[str]] = {}
    for lane, kind, start, stop, bus in operations:
        left, right = max(start, begin), min(stop, end)
        if right <= left:
            continue
        path = f"M{left - begin} {place[lane]}.1h{right - left}v.8h-{right - left}z"
        if titled:
            took = f"{duration((stop - start) / 1e3, 4)}, {duration(bus / 1e3, 4)} for the bus"
            told = escape(f"{kind}, {names[lane]}, at {start / 1e3:,.10g} us: {took}")
            path = f'<path d="{path}"><title>{told}</title></path>'
        parts.setdefault(kind, []).append(path)
    body = ""
    for kind, paths in parts.items():
        inner = "".join(paths) if titled else f'<path d="{"".join(paths)}"/>'
        body += f'<g class="c{OPERATIONS.index(kind)}">{inner}</g>'
    return (
        f'<svg viewBox="0 0 {end - begin} {len(place)}" preserveAspectRatio="none" role="img" '
        f'aria-label="Flash operations, {len(operations)} bars" '
        f'style="height:{LANE_REM * len(place):.1f}rem">{body}</svg>'
    )


def _marks(begin: int, end: int) -> str:
    """Round instants below the bars, as many more as the drawing is enlarged."""
    marks = ""
    for zoom in ZOOMS:
        step = (lambda found: found[1] - found[0])(round_marks(0.0, (end - begin) / 1e3 / zoom))
        number = -int(-begin / 1e3 // step)
        while number * step * 1e3 < end:
            left = 100 * (number * step * 1e3 - begin) / (end - begin)
            if left >= 0:
                label = f"{number * step:,.10g}"
                marks += f'<span class="m{zoom}" style="left:{left:.4f}%">{label}</span>'
            number += 1
    return f'<div class="marks" aria-hidden="true">{marks}</div>'


def _legend(operations: Sequence[tuple[Any, ...]]) -> str:
    kinds = sorted({operation[1] for operation in operations}, key=OPERATIONS.index)
    keys = "".join(
        f'<span><i class="swatch c{OPERATIONS.index(kind)}"></i>{kind}</span>' for kind in kinds
    )
    return f'<p class="legend">{keys}</p>'


def _table(operations: Sequence[tuple[Any, ...]]) -> str:
    """The operations of each kind: how many, how long, and how long they had to do with the bus."""
    rows = []
    for kind in OPERATIONS:
        of_kind = [(stop - start, bus) for _, it, start, stop, bus in operations if it == kind]
        if of_kind:
            times = [sum(column) / len(of_kind) / 1e3 for column in zip(*of_kind, strict=True)]
            rows.append([kind, count(len(of_kind)), *(duration(us, 4) for us in times)])
    return html.table(["", "operations", "mean time", "waiting for and using the bus"], rows)
