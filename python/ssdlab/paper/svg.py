"""Figures as SVG for a web page: lines or bars, in colours that the page's style sheet chooses.

Not matplotlib, which is an optional dependency and draws in fixed colours: these figures follow the
reader's light or dark theme, and a plain installation can write the report.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from html import escape

from ssdlab.paper.item import Figure, Series

WIDTH, HEIGHT = 640, 340
LEFT, RIGHT, TOP, BOTTOM = 64, 12, 12, 48
#: Classes `c0` to `c7` of the style sheet.
COLOURS = 8
DASHES = ("", "6 3", "2 3")
#: A line of more points is a curve: its axis is marked at round numbers instead of at points.
CURVE = 24

Scale = Callable[[float], float]


def draw(figure: Figure) -> str:
    """The figure as an `<svg>` element, and a legend below it."""
    top = max((y for line in figure.series for y in line.y), default=1.0)
    lowest = min((y for line in figure.series for y in line.y if y > 0), default=top or 1.0)
    marks = _powers(lowest, top) if figure.log_y else round_marks(0.0, top)
    y_scale = _scale(marks[0], marks[-1], HEIGHT - BOTTOM, TOP, figure.log_y)
    parts = [_horizontal(mark, y_scale(mark)) for mark in marks]
    parts += _bars(figure, y_scale) if figure.bars else _lines(figure, y_scale)
    middle_x, middle_y = (LEFT + WIDTH - RIGHT) / 2, (TOP + HEIGHT - BOTTOM) / 2
    parts.append(_text(middle_x, HEIGHT - 8, figure.x_label, "middle"))
    turned = f' transform="rotate(-90 14 {middle_y})"'
    parts.append(_text(14, middle_y, figure.y_label, "middle", turned))
    label = escape(f"{figure.title}: {figure.y_label} by {figure.x_label}", quote=True)
    return (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{label}">'
        f"{''.join(parts)}</svg>{_legend(figure)}"
    )


def _lines(figure: Figure, y_scale: Scale) -> list[str]:
    """The axis of numbers, then each series as a line with a mark at each of its points."""
    every = [float(x) for x in figure.all_x()]
    if figure.log_x:
        marks = every[:: max(1, math.ceil(len(every) / 8))]
        if len(every) > CURVE:
            marks = _round_powers(every[0], every[-1])
        x_scale = _scale(every[0], every[-1], LEFT + 16, WIDTH - RIGHT - 16, True)
    else:
        marks = round_marks(min(0.0, every[0]), every[-1])
        x_scale = _scale(marks[0], marks[-1], LEFT, WIDTH - RIGHT - 8, False)
    parts = [_text(x_scale(mark), HEIGHT - BOTTOM + 16, f"{mark:.6g}", "middle") for mark in marks]
    for line, (colour, dash) in zip(figure.series, _styles(figure.series), strict=True):
        points = [
            (x_scale(float(str(x))), y_scale(y), x, y) for x, y in zip(line.x, line.y, strict=True)
        ]
        path = " ".join(f"{px:.1f},{py:.1f}" for px, py, _, _ in points)
        dashes = f' stroke-dasharray="{dash}"' if dash else ""
        parts.append(f'<polyline class="line c{colour}" points="{path}"{dashes}/>')
        for px, py, x, y in points:
            told = escape(f"{line.name}, {x:g}: {y:.4g}")
            parts.append(
                f'<circle class="dot c{colour}" cx="{px:.1f}" cy="{py:.1f}" r="3">'
                f"<title>{told}</title></circle>"
            )
    return parts


def _bars(figure: Figure, y_scale: Scale) -> list[str]:
    """A group of bars for each word, one bar for each series."""
    words = figure.all_x()
    group = (WIDTH - LEFT - RIGHT) / len(words)
    width = 0.8 * group / len(figure.series)
    parts = []
    for place, word in enumerate(words):
        centre = LEFT + (place + 0.5) * group
        parts.append(_text(centre, HEIGHT - BOTTOM + 16, str(word), "middle"))
    for number, line in enumerate(figure.series):
        for x, y in zip(line.x, line.y, strict=True):
            left = LEFT + (words.index(x) + 0.1) * group + number * width
            height = max(0.0, HEIGHT - BOTTOM - y_scale(y))
            parts.append(
                f'<rect class="bar c{number % COLOURS}" x="{left:.1f}" y="{y_scale(y):.1f}" '
                f'width="{width:.1f}" height="{height:.1f}">'
                f"<title>{escape(f'{line.name}, {x}: {y:.4g}')}</title></rect>"
            )
    return parts


def _styles(series: Sequence[Series]) -> list[tuple[int, str]]:
    """Colour and dashes of each line: what shares the words before a comma shares the colour."""
    kinds = list(dict.fromkeys(line.name.partition(", ")[0] for line in series))
    seen: dict[str, int] = {}
    styles = []
    for line in series:
        kind = line.name.partition(", ")[0]
        styles.append((kinds.index(kind) % COLOURS, DASHES[seen.get(kind, 0) % len(DASHES)]))
        seen[kind] = seen.get(kind, 0) + 1
    return styles


def _legend(figure: Figure) -> str:
    styles = _styles(figure.series)
    if figure.bars:
        styles = [(number % COLOURS, "") for number in range(len(figure.series))]
    keys = [
        f'<span><svg class="key" viewBox="0 0 24 8"><line class="line c{colour}" x1="0" y1="4" '
        f'x2="24" y2="4" stroke-dasharray="{dash}"/></svg>{escape(line.name)}</span>'
        for line, (colour, dash) in zip(figure.series, styles, strict=True)
    ]
    return f'<p class="legend">{"".join(keys)}</p>'


def _horizontal(mark: float, y: float) -> str:
    line = f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>'
    return line + _text(LEFT - 6, y + 4, _mark(mark), "end")


def _text(x: float, y: float, text: str, anchor: str, more: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{more}>{escape(text)}</text>'


def _mark(value: float) -> str:
    for scale, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= scale:
            return f"{value / scale:.4g}{unit}"
    return f"{value:.4g}"


def _scale(low: float, high: float, start: float, end: float, log: bool) -> Scale:
    """From values between `low` and `high` to places between `start` and `end`."""

    def place(value: float) -> float:
        if high <= low:
            return (start + end) / 2
        if log:
            share = math.log(max(value, low) / low) / math.log(high / low)
        else:
            share = (value - low) / (high - low)
        return start + share * (end - start)

    return place


def round_marks(low: float, high: float) -> list[float]:
    """Four to eight round numbers from `low` or below to `high` or above."""
    span = high - low or 1.0
    power = 10.0 ** math.floor(math.log10(span))
    step = next(power * s for s in (0.1, 0.2, 0.25, 0.5, 1, 2) if span / (power * s) <= 7)
    first, last = math.floor(low / step), math.ceil(high / step - 1e-9)
    return [number * step for number in range(first, max(last, first + 1) + 1)]


def _round_powers(low: float, high: float) -> list[float]:
    """The powers of ten from `low` to `high`; with their multiples by 2 and 5 if they are few."""
    tens = _powers(low, high)
    few = sum(low <= mark <= high for mark in tens) < 4
    marks = [ten * by for ten in tens for by in ((1, 2, 5) if few else (1,))]
    return [mark for mark in marks if low <= mark <= high]


def _powers(low: float, high: float) -> list[float]:
    """The powers of ten from `low` or below to `high` or above."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    return [10.0**power for power in range(first, max(last, first + 1) + 1)]
