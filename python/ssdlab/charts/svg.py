"""Draws a figure for a web page: HTML and SVG with colours from the page's style sheet.

matplotlib is optional and draws in fixed colours; these figures follow the reader's light or dark
theme and need no extra package. They work without script; `charts.js` adds a cross-hair. The
page must have `style.CHARTS`.
"""

from __future__ import annotations

from html import escape

from ssdlab import readable
from ssdlab.charts import lanes
from ssdlab.charts.figure import Cells, Figure, Series, Spans, Threads
from ssdlab.charts.flow import flow, ratio
from ssdlab.charts.frame import HEIGHT, SIDE, colour_class, frame, svg
from ssdlab.charts.strips import strips
from ssdlab.charts.style import COLOURS
from ssdlab.units import cell_text

__all__ = ["draw", "figure", "flow", "ratio", "stacks", "strips"]

#: Maximum number of `Threads` drawn.
MAX_THREADS = 2000


def figure(drawn: Figure, key: str = "0", height: int = HEIGHT) -> str:
    """The figure with its caption; nothing if there is nothing to draw."""
    if drawn.empty():
        return ""
    caption = f"<figcaption>{escape(drawn.title)}</figcaption>" if drawn.title else ""
    return f"<figure>{caption}{draw(drawn, key, height)}</figure>"


def draw(drawn: Figure, key: str = "0", height: int = HEIGHT) -> str:
    """The figure and its legend; `key` is unique on the page."""
    first = drawn.series[0]
    if isinstance(first, Spans):
        return lanes.spans(drawn, key)
    if isinstance(first, Threads):
        return _parallel(drawn)
    if isinstance(first, Cells) and drawn.y.words:
        return _table(drawn, first) if drawn.x.words else lanes.grid(drawn, first)
    if drawn.stacked and drawn.bars:
        return stacks(drawn)
    return frame(drawn, height)


def stacks(drawn: Figure, legend: bool = True) -> str:
    """Horizontal stacked bars, each beside its name, or below it on a narrow page."""
    words = drawn.all_x()
    notes = dict(zip(drawn.x.words, drawn.x.notes, strict=False))
    below = dict(zip(drawn.x.words, drawn.x.below, strict=False))
    styled = _styled(drawn)
    total = drawn.y.high or max(drawn.values(), default=0.0) or 1.0
    names = [(line.name, colour_class(line, colour)) for line, colour in styled]
    text = ""
    for word in words:
        spans = ""
        values = [dict(zip(line.x, line.y, strict=True)).get(word) or 0.0 for line, _ in styled]
        whole = sum(values) or 1.0
        for (line, colour), value in zip(styled, values, strict=True):
            if value <= 0:
                continue
            # Percent of the bar, or of the whole if that is 100 %.
            part = value / (drawn.y.high or whole)
            told = escape(f"{line.name}: {100 * part:.1f} %", quote=True)
            kind = colour_class(line, colour)
            name = _brief(line.name)
            size = " longest" if len(name) > 16 else " long" if len(name) > 11 else ""
            brief = f'<span class="w{size}">{escape(name)} </span>'
            inside = f"<em>{brief}{100 * part:.0f}\u202f%</em>"
            spans += (
                f'<span class="{kind}" style="width:{100 * value / total:.3f}%" title="{told}">'
                f"{inside}</span>"
            )
        under = f"<i>{escape(below[word])}</i>" if below.get(word) else ""
        text += (
            f'<div><div class="n">{escape(word)}{under}</div>'
            f'<div class="stack" aria-hidden="true">{spans}</div>'
            f'<div class="m">{escape(notes.get(word) or "")}</div></div>'
        )
    shown = swatches(names) if legend else ""
    return f'{shown}<div class="stacks">{text}</div>'


def _brief(name: str) -> str:
    """Short name of a part, for a segment."""
    for words in ("waiting for the ", "waiting for a ", "waiting for ", "on the ", "in the "):
        name = name.removeprefix(words)
    return name


def _styled(drawn: Figure) -> list[tuple[Series, int]]:
    """Non-empty series with their colour."""
    styled = zip(drawn.lines(), drawn.styles(), strict=True)
    return [(line, colour) for line, (colour, _) in styled if any(line.y)]


def swatches(named: list[tuple[str, str]]) -> str:
    """Meaning of the colours of bars."""
    keys = "".join(
        f'<span><i class="swatch {kind}"></i>{escape(name)}</span>' for name, kind in named
    )
    return f'<p class="legend">{keys}</p>'


#: Counts from here on are in thousands on a narrow page.
ROUNDED = 10_000


def _table(drawn: Figure, cells: Cells) -> str:
    """A grid between words: a table with shaded cells and their values."""
    low, high = cells.ends()
    head = "".join(f'<th scope="col">{escape(word)}</th>' for word in drawn.x.words)
    body = ""
    for word, row in zip(drawn.y.words, cells.rows, strict=True):
        line = ""
        for value in row:
            share = 0.0
            if value is not None:
                share = 4 + 42 * (value - low) / (high - low) if high > low else 4
            shade = f"background:color-mix(in srgb, var(--c0) {share:.0f}%, var(--bg))"
            text = escape(_cell(value, cells.unit))
            if value is not None and cells.unit == "count" and value >= ROUNDED:
                text = f'<i class="more">{text}</i><i class="less">{value / 1e3:.0f}k</i>'
            line += f'<td style="{shade}">{text}</td>'
        body += f'<tr><th scope="row">{escape(word)}</th>{line}</tr>'
    caption = f"{cells.name}: {drawn.y.label} down, {drawn.x.label} across; more colour is more"
    return (
        f'<div class="wide"><table class="map"><caption>{escape(caption)}</caption><thead><tr>'
        f"<th></th>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _cell(value: float | None, unit: str) -> str:
    if value is None or not unit:
        return cell_text(value) or readable.ABSENT
    return readable.value(value, unit)


def _parallel(drawn: Figure) -> str:
    """Vertical lines for the words and threads across them, emphasised ones on top."""
    words = drawn.x.words
    step = SIDE / len(words)
    positions = [(n + 0.5) * step for n in range(len(words))]
    body = "".join(
        f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="0" y2="{SIDE}"/>' for x in positions
    )
    threads = [mark for mark in drawn.series if isinstance(mark, Threads)]
    for mark in sorted(threads, key=lambda it: it.strong):
        kind = f"thread{' best' if mark.strong else ''} c{mark.colour % COLOURS}"
        for line in mark.lines[:MAX_THREADS]:
            path = " ".join(
                f"{x:.1f},{SIDE - share * SIDE:.1f}"
                for x, share in zip(positions, line, strict=True)
            )
            body += f'<polyline class="{kind}" points="{path}"/>'
    legend = swatches([(mark.name, f"c{mark.colour % COLOURS}") for mark in threads])
    label = escape(f"{drawn.title}: a line for each, {drawn.x.label}", quote=True)
    wide = 68 * len(words)  # five fit a phone
    tops = "".join(f"<span>{escape(most)}</span>" for _, most in drawn.x.ends)
    feet = "".join(
        f"<span>{escape(least)}<br/><b>{escape(word).replace('.', '.<wbr/>')}</b></span>"
        for word, (least, _) in zip(words, drawn.x.ends, strict=True)
    )
    return (
        f'{legend}<div class="wide"><div class="plot" style="--l:0px;min-width:{wide}px">'
        f'<div class="barx">{tops}</div>'
        f'<div class="yl"></div><div class="pa" role="img" aria-label="{label}">{svg(body)}</div>'
        f'<div class="barx">{feet}</div></div></div>'
    )
