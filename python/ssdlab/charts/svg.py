"""Draws a figure for a web page: SVG in colours that the page's style sheet chooses, no script.

Not matplotlib, which is an optional dependency and draws in fixed colours: these figures follow the
reader's light or dark theme, and a plain installation can write the report. What would not fit a
narrow screen becomes text that wraps: names stand above bars that lie, and a grid of words is a
table. The page must have `style.CHARTS`.
"""

from __future__ import annotations

from html import escape

from ssdlab.charts import lanes
from ssdlab.charts.figure import CURVE, Cells, Figure, Series, Spans, Threads
from ssdlab.charts.scales import Scale, level, mark_text, scale, upright
from ssdlab.charts.style import COLOURS, opacity
from ssdlab.numbers import cell_text

WIDTH, HEIGHT = 640, 340
LEFT, RIGHT, TOP, BOTTOM = 64, 12, 36, 52
#: Of a drawing without numbers at its sides.
MARGIN = 40
DASHES = ("", "6 3", "2 3")
#: Lines drawn of many that cross an axis of words.
MAX_THREADS = 2000


def figure(drawn: Figure, key: str = "0") -> str:
    """The figure with its caption; nothing if there is nothing to draw."""
    if drawn.empty():
        return ""
    caption = f"<figcaption>{escape(drawn.title)}</figcaption>" if drawn.title else ""
    return f"<figure>{caption}{draw(drawn, key)}</figure>"


def draw(drawn: Figure, key: str = "0") -> str:
    """The figure itself, and its legend; `key` tells it from the others of the page."""
    first = drawn.series[0]
    if isinstance(first, Spans):
        return lanes.spans(drawn, key)
    if isinstance(first, Threads):
        return _parallel(drawn)
    if isinstance(first, Cells) and drawn.y.words:
        return _table(drawn, first) if drawn.x.words else lanes.grid(drawn, first)
    if drawn.stacked and drawn.bars:
        return _rows(drawn)
    return _frame(drawn)


def _frame(drawn: Figure) -> str:
    """Two axes with numbers or words, and what is marked between them."""
    first = drawn.series[0]
    y_marks = upright(drawn.y, drawn.values())
    y_scale = scale(y_marks[0], y_marks[-1], HEIGHT - BOTTOM, TOP, bool(drawn.y.log))
    parts = [_horizontal(mark, y_scale(mark)) for mark in y_marks]
    if isinstance(first, Cells):
        cells = drawn.grid()
        parts += _shaded(drawn, cells, y_scale)
        legend = lanes.shades(cells)
    else:
        parts += _bars(drawn, y_scale) if drawn.bars else _lines(drawn, y_scale)
        legend = _legend(drawn)
    parts.append(_text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 8, drawn.x.label, "middle"))
    # Above its axis, where it is level and long enough words fit at any width.
    parts.append(_text(LEFT, 18, drawn.y.label, "start"))
    label = f"{drawn.title}: {drawn.y.label} by {drawn.x.label}"
    return f"{_svg(label, ''.join(parts))}{legend}"


def _svg(label: str, body: str) -> str:
    told = escape(label, quote=True)
    return f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{told}">{body}</svg>'


def _lines(drawn: Figure, y_scale: Scale) -> list[str]:
    """The axis of numbers, then each series: a line, dots that say their values, or bars."""
    every = [float(x) for x in drawn.all_x()]
    wide = max((line.width for line in drawn.lines()), default=0.0)
    marks, begin, end = level(drawn.x, [*every, every[-1] + wide] if wide else every)
    inset = 16 if drawn.x.log else 0
    right = WIDTH - RIGHT - (16 if drawn.x.log else 8)
    x_scale = scale(begin, end, LEFT + inset, right, bool(drawn.x.log))
    parts = [
        _text(x_scale(mark), HEIGHT - BOTTOM + 20, mark_text(mark), "middle") for mark in marks
    ]
    for line, (colour, dash) in zip(drawn.lines(), drawn.styles(), strict=True):
        points = [
            (x_scale(float(str(x))), y_scale(y), float(str(x)), y)
            for x, y in zip(line.x, line.y, strict=True)
            if y is not None
        ]
        told = [_told(drawn, line, mark_text(x), y) for _, _, x, y in points]
        kind = f"c{colour % COLOURS}"
        if line.mark == "bars":
            wide = x_scale(begin + line.width) - x_scale(begin)
            foot = HEIGHT - BOTTOM
            parts += [
                _bar(kind, (x, y, wide, foot - y), text)
                for (x, y, _, _), text in zip(points, told, strict=True)
            ]
            continue
        if line.mark == "line":
            path = " ".join(f"{x:.1f},{y:.1f}" for x, y, _, _ in points)
            dashes = f' stroke-dasharray="{DASHES[dash]}"' if dash else ""
            parts.append(f'<polyline class="line {kind}" points="{path}"{dashes}/>')
        shown = "dot" if len(points) <= CURVE or line.mark == "dots" else "dot faint"
        size = 5 if line.strong else 3
        parts += [
            f'<circle class="{shown} {kind}" cx="{x:.1f}" cy="{y:.1f}" r="{size}">'
            f"<title>{escape(text)}</title></circle>"
            for (x, y, _, _), text in zip(points, told, strict=True)
        ]
    return parts


def _told(drawn: Figure, line: Series, x: str, y: float) -> str:
    """What a point says when it is pointed at."""
    if line.mark == "dots":
        return f"{drawn.x.label} {x}, {drawn.y.label} {mark_text(y)}"
    return f"{line.name}, {x}: {y:.4g}"


def _bars(drawn: Figure, y_scale: Scale) -> list[str]:
    """A group of bars for each word, one bar for each series."""
    words = drawn.all_x()
    group = (WIDTH - LEFT - RIGHT) / len(words)
    width = 0.8 * group / len(drawn.series)
    parts = []
    for place, word in enumerate(words):
        centre = LEFT + (place + 0.5) * group
        parts.append(_text(centre, HEIGHT - BOTTOM + 20, str(word), "middle"))
    styled = zip(drawn.lines(), drawn.styles(), strict=True)
    for number, (line, (colour, _)) in enumerate(styled):
        for x, y in zip(line.x, line.y, strict=True):
            if y is None:
                continue
            left = LEFT + (words.index(x) + 0.1) * group + number * width
            height = max(0.0, HEIGHT - BOTTOM - y_scale(y))
            place_and_size = (left, y_scale(y), width, height)
            parts.append(_bar(f"c{colour % COLOURS}", place_and_size, f"{line.name}, {x}: {y:.4g}"))
    return parts


def _bar(kind: str, place: tuple[float, float, float, float], told: str) -> str:
    x, y, width, height = place
    return (
        f'<rect class="bar {kind}" x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" '
        f'height="{height:.1f}"><title>{escape(told)}</title></rect>'
    )


def _shaded(drawn: Figure, cells: Cells, y_scale: Scale) -> list[str]:
    """The cells between axes of numbers."""
    low, high = drawn.x.low or 0.0, drawn.x.high or 1.0
    marks, begin, end = level(drawn.x, [low, high])
    x_scale = scale(begin, end, LEFT, WIDTH - RIGHT - 8, False)
    parts = [
        _text(x_scale(mark), HEIGHT - BOTTOM + 20, mark_text(mark), "middle") for mark in marks
    ]
    bottom, top = y_scale(drawn.y.low or 0.0), y_scale(drawn.y.high or 1.0)
    wide, tall = (x_scale(high) - x_scale(low)) / cells.columns(), (bottom - top) / len(cells.rows)
    for shade, places in sorted(lanes.shaded(cells).items()):
        path = "".join(
            f"M{x_scale(low) + x * wide:.1f} {bottom - (y + 1) * tall:.1f}"
            f"h{wide:.2f}v{tall:.2f}h-{wide:.2f}z"
            for x, y in places
        )
        parts.append(f'<path class="shade" fill-opacity="{opacity(shade)}" d="{path}"/>')
    return parts


def _legend(drawn: Figure) -> str:
    """What each colour and dash is; none where one unnamed series says it all."""
    styled = zip(drawn.lines(), drawn.styles(), strict=True)
    keys = [
        f'<span><svg class="key" viewBox="0 0 24 8">{_key(line, colour, dash)}</svg>'
        f"{escape(line.name)}</span>"
        for line, (colour, dash) in styled
        if line.name
    ]
    return f'<p class="legend">{"".join(keys)}</p>' if keys else ""


def _key(line: Series, colour: int, dash: int) -> str:
    kind = f"c{colour % COLOURS}"
    if line.mark == "dots":
        return f'<circle class="dot {kind}" cx="12" cy="4" r="4"/>'
    dashes = f' stroke-dasharray="{DASHES[dash]}"' if dash else ""
    return f'<line class="line {kind}" x1="0" y1="4" x2="24" y2="4"{dashes}/>'


def _rows(drawn: Figure) -> str:
    """Stacked bars that lie, each below its name: they fit a page of any width."""
    words = drawn.all_x()
    notes = dict(zip(drawn.x.words, drawn.x.notes, strict=False))
    total = drawn.y.high or max(drawn.values(), default=0.0) or 1.0
    text = swatches([(line.name, colour) for line, (colour, _) in _styled(drawn)])
    for word in words:
        spans = ""
        for line, (colour, _) in _styled(drawn):
            value = dict(zip(line.x, line.y, strict=True)).get(word) or 0.0
            if value > 0:
                share = 100 * value / total
                told = escape(f"{line.name}: {share:.1f}%", quote=True)
                spans += (
                    f'<span class="c{colour % COLOURS}" style="width:{share:.3f}%" title="{told}">'
                    "</span>"
                )
        name = word + (notes.get(word) or "")
        text += f'<div>{escape(name)}</div><div class="stack" aria-hidden="true">{spans}</div>'
    return text


def _styled(drawn: Figure) -> list[tuple[Series, tuple[int, int]]]:
    return list(zip(drawn.lines(), drawn.styles(), strict=True))


def swatches(named: list[tuple[str, int]]) -> str:
    """What the colours of bars mean."""
    keys = "".join(
        f'<span><i class="swatch c{colour % COLOURS}"></i>{escape(name)}</span>'
        for name, colour in named
    )
    return f'<p class="legend">{keys}</p>'


def _table(drawn: Figure, cells: Cells) -> str:
    """A grid between words: a table whose cells are shaded and say their values."""
    low, high = cells.ends()
    head = "".join(f'<th scope="col">{escape(word)}</th>' for word in drawn.x.words)
    body = ""
    for word, row in zip(drawn.y.words, cells.rows, strict=True):
        line = ""
        for value in row:
            share = 0.0
            if value is not None:
                share = 8 + 62 * (value - low) / (high - low) if high > low else 8
            shade = f"background:color-mix(in srgb, var(--c1) {share:.0f}%, var(--bg))"
            line += f'<td style="{shade}">{escape(cell_text(value)) or "-"}</td>'
        body += f'<tr><th scope="row">{escape(word)}</th>{line}</tr>'
    caption = f"{cells.name}: {drawn.y.label} down, {drawn.x.label} across; darker is more"
    return (
        f'<div class="wide"><table><caption>{escape(caption)}</caption><thead><tr><th></th>{head}'
        f"</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _parallel(drawn: Figure) -> str:
    """Upright lines for the words, and the threads across them, the strong ones on top."""
    words = drawn.x.words
    step = (WIDTH - 2 * MARGIN) / (len(words) - 1)
    body = ""
    for n, (word, (least, most)) in enumerate(zip(words, drawn.x.ends, strict=True)):
        x = MARGIN + n * step
        body += f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="30" y2="{HEIGHT - 50}"/>'
        body += _text(x, 22, most, "middle")
        body += _text(x, HEIGHT - 34, least, "middle")
        body += _text(x, HEIGHT - 18 + 14 * (n % 2), word, "middle")
    threads = [mark for mark in drawn.series if isinstance(mark, Threads)]
    for mark in sorted(threads, key=lambda it: it.strong):
        kind = f"thin{' best' if mark.strong else ''} c{mark.colour % COLOURS}"
        for line in mark.lines[:MAX_THREADS]:
            path = " ".join(
                f"{MARGIN + n * step:.1f},{HEIGHT - 50 - share * (HEIGHT - 80):.1f}"
                for n, share in enumerate(line)
            )
            body += f'<polyline class="{kind}" points="{path}"/>'
    legend = swatches([(mark.name, mark.colour) for mark in threads])
    return _svg(f"{drawn.title}: a line for each, {drawn.x.label}", body) + legend


def _horizontal(mark: float, y: float) -> str:
    line = f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>'
    return line + _text(LEFT - 6, y + 4, mark_text(mark), "end")


def _text(x: float, y: float, text: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'
