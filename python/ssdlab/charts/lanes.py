"""Drawings of lanes for a web page: bars over time with zoom, and a map.

Zoom needs no script: radio buttons select the width of the drawing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

from ssdlab.charts.figure import Cells, Figure, Spans
from ssdlab.charts.scales import round_marks
from ssdlab.charts.style import COLOURS, LANE_REM, SHADES, ZOOMS, ramp


def spans(drawn: Figure, key: str) -> str:
    """The spans of each lane, one path per span; notes become tooltips."""
    begin, end = drawn.x.low or 0.0, drawn.x.high or 1.0
    marks = [mark for mark in drawn.series if isinstance(mark, Spans)]
    body, number = "", 0
    for place, mark in enumerate(marks):
        paths = []
        for n, (lane, start, stop) in enumerate(
            zip(mark.lanes, mark.starts, mark.ends, strict=True)
        ):
            left, right = max(start, begin), min(stop, end)
            number += 1
            if right <= left:
                continue
            # Nanoseconds avoid zero widths.
            wide = round(1e3 * (right - left))
            path = f"M{round(1e3 * (left - begin))} {lane}.1h{wide}v.8h-{wide}z"
            if mark.notes:
                path = f'<path d="{path}"><title>{escape(mark.notes[n])}</title></path>'
            paths.append(path)
        inner = "".join(paths) if mark.notes else f'<path d="{"".join(paths)}"/>'
        body += f'<g class="{_colour(mark, place)}">{inner}</g>'
    names = drawn.y.words
    picture = (
        f'<svg viewBox="0 0 {round(1e3 * (end - begin))} {len(names)}" '
        f'preserveAspectRatio="none" role="img" aria-label="{escape(drawn.title, quote=True)}, '
        f'{number} bars" style="height:{LANE_REM * len(names):.1f}rem">{body}</svg>'
    )
    message = f"{drawn.title}; scroll with the arrow keys"
    legend = "".join(
        f'<span><i class="swatch {_colour(mark, place)}"></i>{escape(mark.name)}</span>'
        for place, mark in enumerate(marks)
    )
    shown = beside(names, picture + _marks(begin, end), message)
    return (
        f'<p class="legend">{legend}</p><div role="group" aria-label="Enlarge">{_zooms(key)}{shown}'
        f'</div><p class="legend">{escape(drawn.x.label)}</p>'
    )


def _colour(mark: Spans, place: int) -> str:
    if mark.role:
        return f"r-{mark.role}"
    return f"c{(place if mark.colour is None else mark.colour) % COLOURS}"


def _zooms(key: str) -> str:
    return "".join(
        f'<input type="radio" class="zoom zoom{zoom}" name="zoom-{key}" '
        f'id="zoom-{key}-{zoom}"{" checked" if zoom == 1 else ""}>'
        f'<label for="zoom-{key}-{zoom}">'
        f"{f'{zoom} times' if zoom > 1 else 'whole window'}</label>"
        for zoom in ZOOMS
    )


def _marks(begin: float, end: float) -> str:
    """Round time marks below the bars; their number grows with the zoom."""
    marks = ""
    for zoom in ZOOMS:
        first, second, *_ = round_marks(0.0, (end - begin) / zoom)
        step = second - first
        number = math.ceil(begin / step)
        while number * step < end:
            left = 100 * (number * step - begin) / (end - begin)
            label = f"{number * step:,.10g}"
            marks += f'<span class="m{zoom}" style="left:{left:.4f}%">{label}</span>'
            number += 1
    return f'<div class="marks" aria-hidden="true">{marks}</div>'


def grid(drawn: Figure, cells: Cells) -> str:
    """A row of shaded cells per word of the vertical axis."""
    paths = {
        shade: "".join(f"M{x} {y}h1v.9h-1z" for x, y in positions)
        for shade, positions in shaded(cells).items()
    }
    body = "".join(
        f'<path class="shade" style="fill:{ramp(shade)}" d="{path}"/>'
        for shade, path in sorted(paths.items())
    )
    low, high = cells.ends()
    told = f"{drawn.title}: a row for each, {cells.caption}; from {low:.4g} to {high:.4g}"
    picture = (
        f'<svg viewBox="0 0 {cells.columns()} {len(cells.rows)}" preserveAspectRatio="none" '
        f'role="img" aria-label="{escape(told, quote=True)}" '
        f'style="height:{LANE_REM * len(cells.rows):.1f}rem" '
        f'shape-rendering="crispEdges">{body}</svg>'
    )
    return beside(drawn.y.words, picture) + shades(cells)


def shaded(cells: Cells) -> dict[int, list[tuple[int, int]]]:
    """Positions of the cells, column and row, by shade."""
    low, high = cells.ends()
    found: dict[int, list[tuple[int, int]]] = {}
    for y, row in enumerate(cells.rows):
        for x, value in enumerate(row):
            if value is not None:
                found.setdefault(_shade(value, low, high, cells.log), []).append((x, y))
    return found


def _shade(value: float, low: float, high: float, log: bool) -> int:
    if high <= low:
        return SHADES - 1
    share = math.log(value / low) / math.log(high / low) if log else (value - low) / (high - low)
    return round((SHADES - 1) * share)


def shades(cells: Cells) -> str:
    """Meaning of the shades."""
    low, high = cells.ends()
    key = "".join(f'<i style="background:{ramp(shade)}"></i>' for shade in range(SHADES))
    more = f"; {cells.caption}" if cells.caption else ""
    return (
        f'<p class="legend plain">{low:.4g}<span class="ramp">{key}</span>{high:.4g} '
        f"{escape(cells.name + more)}</p>"
    )


def beside(names: Sequence[str], drawn: str, label: str = "") -> str:
    """A drawing of lanes with their names; with a label it scrolls, by keyboard too."""
    texts = map(escape, names)
    shown = "".join(f'<div title="{text}">{text}</div>' for text in texts)
    reach = f' tabindex="0" role="region" aria-label="{escape(label, quote=True)}"' if label else ""
    return (
        f'<div class="lanes"><div class="names">{shown}</div>'
        f'<div class="view"{reach}><div class="sheet">{drawn}</div></div></div>'
    )
