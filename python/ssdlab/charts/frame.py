"""Two axes on a page, with their marks.

The drawing scales with the page, its text does not: marks, labels and names are HTML over an SVG of
1000 by 1000 units. A narrow figure omits every other mark.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from html import escape

from ssdlab import readable
from ssdlab.charts import lanes
from ssdlab.charts.figure import CURVE, Axis, Band, Cells, Figure, Level, Series
from ssdlab.charts.scales import (
    PERCENTILES,
    Scale,
    level,
    mark_text,
    nines,
    percentile_text,
    scale,
    upright,
)
from ssdlab.charts.style import COLOURS, ramp

#: Side length of a drawing, in units.
SIDE = 1000
#: Height on a page.
HEIGHT = 280
DASHES = ("", "5 3", "2 3")
KEYS = ("", " dashed", " fine")
#: Maximum number of marks on the horizontal axis at the width of a phone.
FEW_MARKS = 5
#: Number of percentiles at which the cross-hair reads a curve.
READ_AT = 100
#: Maximum number of bars with labels.
TOLD_BARS = 10
#: Maximum number of bars with numbers in a narrow figure.
TOLD_NARROW = 4


def frame(drawn: Figure, height: int = HEIGHT) -> str:
    """The figure with its axes, below its legend."""
    y_marks = upright(drawn.y, drawn.values())
    y_scale = scale(y_marks[0], y_marks[-1], SIDE, 0, bool(drawn.y.log))
    first = drawn.series[0]
    if drawn.bars and first_mark(drawn) == "dots":
        return legend(drawn) + _dotted_words(drawn, y_marks, y_scale, height)
    if drawn.bars and not isinstance(first, Cells):
        return legend(drawn) + _words(drawn, y_marks, y_scale, height)
    parts = [_horizontal(y_scale(mark), not n) for n, mark in enumerate(y_marks)]
    over, data = "", ""
    if isinstance(first, Cells):
        cells = drawn.grid()
        low, high = drawn.x.low or 0.0, drawn.x.high or 1.0
        x_marks, begin, end = level(drawn.x, [low, high])
        x_scale = scale(begin, end, 0, SIDE, False)
        parts += _shaded(drawn, cells, x_scale, y_scale)
        told = lanes.shades(cells)
        positions = [(x_scale(mark), mark_text(mark), False) for mark in x_marks]
    else:
        x_scale, positions = across(drawn)
        if drawn.x.percentile:
            parts += [_vertical(x) for x, _, _ in positions]
            data = f' data-curves="{escape(_curves(drawn), quote=True)}" tabindex="0"'
        drawn_lines, over = marked(drawn, x_scale, y_scale)
        parts += drawn_lines
        told = legend(drawn)
    label = f"{drawn.title or drawn.y.label}: {drawn.y.label} by {drawn.x.label}"
    say = '<p class="say" aria-live="polite"></p>' if data else ""
    return (
        f'{told}<p class="yt">{escape(drawn.y.label)}</p>'
        + plot(drawn.y, y_marks, y_scale, (label, "".join(parts), over, data), height)
        + x_labels(positions)
        + f'<div class="xt">{escape(drawn.x.label)}</div></div>{say}'
    )


def first_mark(drawn: Figure) -> str:
    """Mark of the first series."""
    return next((line.mark for line in drawn.lines()), "line")


def plot(
    axis: Axis,
    marks: Sequence[float],
    y_scale: Scale,
    drawing: tuple[str, str, str, str],
    height: int,
    wide: int | None = None,
) -> str:
    """The vertical axis, `wide` pixels, and the drawing; the caller's HTML closes the grid."""
    label, body, over, data = drawing
    texts = [axis_text(axis, mark) for mark in marks]
    too_few = len(marks) if height >= 200 else 3
    step = max(1, -(-len(marks) // too_few))
    shown = "".join(
        f'<span style="bottom:{100 - y_scale(mark) / 10:.2f}%">{escape(text)}</span>'
        for n, (mark, text) in enumerate(zip(marks, texts, strict=True))
        if n % step == 0 or (n == len(marks) - 1 and height >= 200)
    )
    wide = 12 + 7 * max(map(len, texts)) if wide is None else wide
    told = escape(label, quote=True)
    return (
        f'<div class="plot" style="--h:{height}px;--l:{wide}px">'
        f'<div class="yl" aria-hidden="true">{shown}</div>'
        f'<div class="pa" role="img" aria-label="{told}"{data}>{svg(body)}{over}</div>'
    )


def svg(body: str) -> str:
    """A drawing that fills its container."""
    return (
        f'<svg viewBox="0 0 {SIDE} {SIDE}" preserveAspectRatio="none" aria-hidden="true">'
        f"{body}</svg>"
    )


def axis_text(axis: Axis, mark: float) -> str:
    """A mark beside an axis, with its unit."""
    if axis.percentile:
        return percentile_text(mark)
    if axis.unit == "share":
        return f"{100 * mark:.4g}{readable.THIN}%"
    if mark == 0:
        return "0"
    if axis.unit == "times":
        return f"{mark:.4g}{readable.THIN}×"
    if axis.unit in ("us", "s", "bytes", "watts"):
        return _plain(readable.value(mark, axis.unit))
    return mark_text(mark)


def _plain(text: str) -> str:
    """Text without trailing zeros: a mark is exact."""
    number, _, unit = text.partition(readable.THIN)
    if "." in number:
        number = number.rstrip("0").rstrip(".")
    return f"{number}{readable.THIN}{unit}" if number != "0" else "0"


def across(drawn: Figure) -> tuple[Scale, list[tuple[float, str, bool]]]:
    """The horizontal axis: its scale; position, text and weight of each mark."""
    every = [float(x) for x in drawn.all_x()] or [0.0]
    wide = max((line.width for line in drawn.lines()), default=0.0)
    marks, begin, end = level(drawn.x, [*every, every[-1] + wide] if wide else every)
    if drawn.x.percentile:
        position = scale(begin, end, 0, SIDE, False)

        def by_nines(value: float) -> float:
            return position(nines(value))

        return by_nines, [(by_nines(m), axis_text(drawn.x, m), PERCENTILES[m]) for m in marks]
    dots = any(line.mark == "dots" for line in drawn.lines()) or drawn.x.log
    inset = 48 if dots else 12 if not drawn.bars and len(every) <= CURVE else 0
    x_scale = scale(begin, end, inset, SIDE - inset, bool(drawn.x.log))
    many = len(marks) > FEW_MARKS
    positions = [
        (x_scale(mark), axis_text(drawn.x, mark), many and n % 2 == 1)
        for n, mark in enumerate(marks)
        if begin <= mark <= end or not drawn.x.log
    ]
    return x_scale, positions


def x_labels(places: Sequence[tuple[float, str, bool]]) -> str:
    """The marks below the drawing."""
    shown = ""
    for x, text, minor in places:
        kind = " e" if x > 0.965 * SIDE else " s" if x < 0.03 * SIDE else ""
        kind += " minor" if minor else ""
        place = f' class="{kind.strip()}"' if kind else ""
        shown += f'<span{place} style="left:{x / 10:.2f}%">{escape(text)}</span>'
    return f'<div class="xl" aria-hidden="true">{shown}</div>'


def colour_class(line: Series, colour: int) -> str:
    """The class that gives a series its colour."""
    return f"r-{line.role}" if line.role else f"c{colour % COLOURS}"


def marked(drawn: Figure, x_scale: Scale, y_scale: Scale) -> tuple[list[str], str]:
    """Bands, levels and series as SVG, with their labels."""
    parts, over = [], ""
    for mark in drawn.series:
        if isinstance(mark, Band):
            parts.append(_band(mark, x_scale, y_scale))
        elif isinstance(mark, Level):
            y = y_scale(mark.y)
            parts.append(f'<line class="dotted" x1="0" x2="{SIDE}" y1="{y:.1f}" y2="{y:.1f}"/>')
            side = f"top:calc({y / 10:.2f}% + 3px)" if y < 250 else f"bottom:{100.5 - y / 10:.2f}%"
            over += f'<div class="place" style="right:0;{side}">{escape(mark.name)}</div>'
    for line, (colour, dash) in zip(drawn.lines(), drawn.styles(), strict=True):
        parts += _series(drawn, line, colour_class(line, colour), dash, (x_scale, y_scale))
        over += _labels(line, x_scale, y_scale)
    return parts, over


def _labels(line: Series, x_scale: Scale, y_scale: Scale) -> str:
    """Labels beside dots, towards the middle of the figure; hidden in a narrow one."""
    found = ""
    placed: list[tuple[float, float]] = []
    for text, x, y in zip(line.labels, line.x, line.y, strict=False):
        if y is None:
            continue
        left, top = x_scale(float(str(x))) / 10, y_scale(y) / 10
        # Overlapping labels are omitted; each dot has its label as a tooltip.
        if any(abs(left - x_) < 30 and abs(top - y_) < 7 for x_, y_ in placed):
            continue
        placed.append((left, top))
        side = f"left:calc({left:.1f}% + 8px)" if left < 60 else f"right:{101 - left:.1f}%"
        # Avoids other dots at the same height.
        up = f"bottom:calc({100 - top:.1f}% + 6px)" if top > 15 else f"top:calc({top:.1f}% + 6px)"
        found += f'<div class="place minor" style="{side};{up}">{escape(text)}</div>'
    return found


def _series(
    drawn: Figure,
    line: Series,
    kind: str,
    dash: int,
    scales: tuple[Scale, Scale],
) -> list[str]:
    """A line with tooltips at its dots, dots alone, or bars over numbers."""
    position, y_scale = scales
    points = [
        (n, position(float(str(x))), y_scale(y), x, y)
        for n, (x, y) in enumerate(zip(line.x, line.y, strict=True))
        if y is not None
    ]
    message = [line.says[n] if line.says else _tip(drawn, line, x, y) for n, _, _, x, y in points]
    if line.mark == "bars":
        begin = float(str(line.x[0]))
        wide = position(begin + line.width) - position(begin)
        return [
            f'<path class="{kind}" fill="currentColor" d="M{x:.1f} {SIDE}V{y:.1f}h{wide:.1f}'
            f'V{SIDE}z"><title>{escape(text)}</title></path>'
            for (_, x, y, _, _), text in zip(points, message, strict=True)
        ]
    parts = []
    if line.mark == "line":
        dashes = f' stroke-dasharray="{DASHES[dash]}"' if dash else ""
        thin = " thin" if len(points) > CURVE and not drawn.x.percentile else ""
        path = _path([None if y is None else 0 for y in line.y], points)
        parts.append(f'<path class="line{thin} {kind}" d="{path}"{dashes}/>')
        if len(points) > CURVE or drawn.x.percentile:
            return parts
    for n, x, _, _, _ in points:
        if line.ranges and (ends := line.ranges[n]) is not None:
            low, high = map(y_scale, ends)
            parts.append(f'<path class="line {kind}" d="M{x:.1f} {low:.1f}V{high:.1f}"/>')
    strong = " strong" if line.strong else ""
    # A zero-length line with round caps is a dot that does not stretch with the drawing.
    parts += [
        f'<path class="dot{strong} {kind}" d="M{x:.1f} {y:.1f}h0">'
        f"<title>{escape(text)}</title></path>"
        for (_, x, y, _, _), text in zip(points, message, strict=True)
    ]
    return parts


def _path(
    there: Sequence[int | None], points: Sequence[tuple[int, float, float, object, float]]
) -> str:
    """The line through the points, with gaps at missing values."""
    path, last = "", -2
    for n, x, y, _, _ in points:
        begins = last < 0 or any(it is None for it in there[last + 1 : n])
        path += f"{'M' if begins else 'L'}{x:.1f} {y:.1f}"
        last = n
    return path


def _band(band: Band, x_scale: Scale, y_scale: Scale) -> str:
    points = [
        (x_scale(float(x)), y_scale(low), y_scale(high))
        for x, low, high in zip(band.x, band.low, band.high, strict=True)
        if low is not None and high is not None
    ]
    up = "L".join(f"{x:.1f} {high:.1f}" for x, _, high in points)
    down = "L".join(f"{x:.1f} {low:.1f}" for x, low, _ in reversed(points))
    return f'<path class="band r-{band.role}" d="M{up}L{down}z"/>' if points else ""


def _tip(drawn: Figure, line: Series, x: object, y: float) -> str:
    """Tooltip of a point."""
    at = x if isinstance(x, str) else axis_text(drawn.x, float(str(x)))
    value = readable.value(y, drawn.y.unit) if drawn.y.unit else mark_text(y)
    if line.mark == "dots":
        return f"{drawn.x.label} {at}, {drawn.y.label} {value}"
    return f"{line.name}, {at}: {value}"


def _curves(drawn: Figure) -> str:
    """Texts and positions of each curve's cross-hair, as JSON."""
    x = [float(value) for value in drawn.all_x()]
    end = max(nines(x[-1]), 1.0)
    positions = [end * n / READ_AT for n in range(READ_AT + 1)]
    curves = []
    for line, (colour, _) in zip(drawn.lines(), drawn.styles(), strict=True):
        at = [nines(float(value)) for value in line.x]
        values = [_between(at, line.y, position) for position in positions]
        texts = ["" if v is None else readable.value(v, drawn.y.unit or "short") for v in values]
        curves.append({"n": line.name, "c": colour_class(line, colour), "v": texts})
    shares = [_share_text(1 - 10**-position) for position in positions]
    return json.dumps({"at": shares, "curves": curves}, separators=(",", ":"), ensure_ascii=False)


def _share_text(share: float) -> str:
    return f"{100 * share:.1f}" if share < 0.99 else f"{100 * share:.5g}"


def _between(at: Sequence[float], y: Sequence[float | None], place: float) -> float | None:
    """The value of a curve at a position; None beyond its ends."""
    if not at or place > at[-1] + 1e-9:
        return None
    following = next((n for n, it in enumerate(at) if it >= place - 1e-12), len(at) - 1)
    right = y[following]
    left = y[max(following - 1, 0)]
    if left is None or right is None or at[following] <= at[max(following - 1, 0)]:
        return right
    part = (place - at[following - 1]) / (at[following] - at[following - 1])
    return left + part * (right - left)


def _words(drawn: Figure, y_marks: list[float], y_scale: Scale, height: int) -> str:
    """A group of bars for each word, one bar for each series."""
    lines = [_horizontal(y_scale(mark), not n) for n, mark in enumerate(y_marks)]
    words = drawn.all_x()
    styled = [*zip(drawn.lines(), drawn.styles(), strict=True)]
    message = len(words) * len(styled) <= TOLD_BARS and not drawn.y.label
    groups = ""
    for word in words:
        bars = ""
        for line, (colour, _) in styled:
            value = dict(zip(line.x, line.y, strict=True)).get(word)
            high = 0.0 if value is None else max(0.0, 100 - y_scale(value) / 10)
            text = "" if value is None else readable.value(value, drawn.y.unit or "short")
            title = escape(f"{line.name}, {word}: {text}".removeprefix(", "), quote=True)
            minor = ' class="minor"' if len(words) * len(styled) > TOLD_NARROW else ""
            above = f"<b{minor}>{escape(text)}</b>" if message else ""
            hidden = ";visibility:hidden" if value is None else ""
            bars += (
                f'<span class="{colour_class(line, colour)}" title="{title}" '
                f'style="height:{high:.2f}%{hidden}">{above}</span>'
            )
        groups += f"<div>{bars}</div>"
    label = f"{drawn.title}: {drawn.y.label} for each {drawn.x.label}"
    below = "".join(f"<span>{escape(str(word))}</span>" for word in words)
    over = f'<div class="bars" style="--n:{len(words)}">{groups}</div>'
    return (
        f'<p class="yt">{escape(drawn.y.label)}</p>'
        + plot(drawn.y, y_marks, y_scale, (label, "".join(lines), over, ""), height)
        + f'<div class="barx">{below}</div><div class="xt">{escape(drawn.x.label)}</div></div>'
    )


def _dotted_words(drawn: Figure, y_marks: list[float], y_scale: Scale, height: int) -> str:
    """A dot for each word, with its range."""
    words = drawn.all_x()
    step = SIDE / len(words)
    body = [_horizontal(y_scale(mark), not n) for n, mark in enumerate(y_marks)]
    for line, (colour, _) in zip(drawn.lines(), drawn.styles(), strict=True):
        message = [_tip(drawn, line, x, y or 0.0) for x, y in zip(line.x, line.y, strict=True)]
        placed = replace(line, x=[words.index(x) for x in line.x], says=line.says or message)
        kind = colour_class(line, colour)
        body += _series(drawn, placed, kind, 0, (lambda n: (n + 0.5) * step, y_scale))
    label = f"{drawn.title}: {drawn.y.label} for each {drawn.x.label}"
    below = "".join(f"<span>{escape(str(word))}</span>" for word in words)
    return (
        f'<p class="yt">{escape(drawn.y.label)}</p>'
        + plot(drawn.y, y_marks, y_scale, (label, "".join(body), "", ""), height)
        + f'<div class="barx">{below}</div><div class="xt">{escape(drawn.x.label)}</div></div>'
    )


def _shaded(drawn: Figure, cells: Cells, x_scale: Scale, y_scale: Scale) -> list[str]:
    """The cells between axes of numbers."""
    low, high = drawn.x.low or 0.0, drawn.x.high or 1.0
    bottom, top = y_scale(drawn.y.low or 0.0), y_scale(drawn.y.high or 1.0)
    wide, tall = (x_scale(high) - x_scale(low)) / cells.columns(), (bottom - top) / len(cells.rows)
    return [
        f'<path style="fill:{ramp(shade)}" d="'
        + "".join(
            f"M{x_scale(low) + x * wide:.1f} {bottom - (y + 1) * tall:.1f}"
            f"h{wide:.2f}v{tall:.2f}h-{wide:.2f}z"
            for x, y in positions
        )
        + '"/>'
        for shade, positions in sorted(lanes.shaded(cells).items())
    ]


def legend(drawn: Figure) -> str:
    """Legend of colours and dashes; empty for a single unnamed series."""
    keys = ""
    for line, (colour, dash) in zip(drawn.lines(), drawn.styles(), strict=True):
        if not line.name:
            continue
        kind = colour_class(line, colour)
        look = f"key{KEYS[dash]}"
        if line.mark == "bars":
            look = "swatch"
        elif line.mark == "dots":
            look = "key point"
        keys += f'<span><i class="{look} {kind}"></i>{escape(line.name)}</span>'
    return f'<p class="legend">{keys}</p>' if keys else ""


def _horizontal(y: float, base: bool) -> str:
    kind = "base" if base else "grid"
    return f'<line class="{kind}" x1="0" x2="{SIDE}" y1="{y:.1f}" y2="{y:.1f}"/>'


def _vertical(x: float) -> str:
    return f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="0" y2="{SIDE}"/>'
