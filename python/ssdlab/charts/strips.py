"""Small multiples over simulated time: strips that share one axis and one cross-hair."""

from __future__ import annotations

import json
from collections.abc import Sequence
from html import escape

from ssdlab import readable
from ssdlab.charts.figure import Figure, Reading
from ssdlab.charts.frame import SIDE, axis_text, colour_class, marked, plot, x_labels
from ssdlab.charts.scales import round_marks, scale, upright

#: Height of a strip on a page.
HEIGHT = 72
#: Width of the marks beside each strip, equal for alignment.
WIDE = 64


def strips(drawn: Sequence[Figure], key: str = "time") -> str:
    """The figures below each other, with one horizontal axis below the last."""
    shown = [figure for figure in drawn if not figure.empty()]
    if not shown:
        return ""
    end = max(_end(figure) for figure in shown)
    marks = [mark for mark in round_marks(0.0, end) if mark <= end * 1.0001]
    x_scale = scale(0.0, end, 0, SIDE, False)
    positions = [
        (x_scale(mark), axis_text(shown[0].x, mark), len(marks) > 5 and n % 2 == 1)
        for n, mark in enumerate(marks)
    ]
    body = ""
    for n, figure in enumerate(shown):
        body += _strip(figure, end, x_labels(positions) if n + 1 == len(shown) else "")
    names = ", ".join(figure.title for figure in shown)
    told = f"Over {shown[0].x.label}: {names}; arrow keys move the cross-hair, + and − zoom"
    return (
        f'<figure id="{key}" tabindex="0" role="group" aria-label="{escape(told, quote=True)}" '
        f'data-strips="{end:.9g}"><div class="strips">{body}</div>'
        f'<div class="plot" style="--l:0px"><div class="xt">{escape(shown[0].x.label)}</div></div>'
        '<p class="say" aria-live="polite"></p></figure>'
    )


def _end(figure: Figure) -> float:
    every = [float(x) for x in figure.all_x()]
    step = every[1] - every[0] if len(every) > 1 else 0.0
    return every[-1] + step / 2


def _strip(figure: Figure, end: float, below: str) -> str:
    marks = upright(figure.y, figure.values())
    if not figure.y.log:
        marks = [marks[0], (marks[0] + marks[-1]) / 2, marks[-1]]
    y_scale = scale(marks[0], marks[-1], SIDE, 0, bool(figure.y.log))
    x_scale = scale(0.0, end, 0, SIDE, False)
    grid = "".join(
        f'<line class="{"grid" if n else "base"}" x1="0" x2="{SIDE}" y1="{y_scale(mark):.1f}" '
        f'y2="{y_scale(mark):.1f}"/>'
        for n, mark in enumerate(marks)
    )
    parts, over = marked(figure, x_scale, y_scale)
    said = "; ".join(f"{it.text} {it.what}".strip() for it in figure.readings)
    label = f"{figure.title} over {figure.x.label}: {said}"
    data = f' data-lines="{escape(_lines(figure), quote=True)}"'
    ends = [marks[0], marks[-1]] if not figure.y.log else marks
    drawing = plot(
        figure.y, ends, y_scale, (label, grid + "".join(parts), over, data), HEIGHT, WIDE
    )
    return (
        f'<div class="strip"><div class="t">{escape(figure.title)}'
        f"<i>{escape(figure.note)}</i></div>{drawing}{below}</div>"
        f'<div class="r">{"".join(map(_reading, figure.readings))}</div></div>'
    )


def _reading(it: Reading) -> str:
    role = f' class="r-{it.role}"' if it.role else ""
    return f"<b{role}>{escape(it.text)}</b>{escape(it.what)} "


def _lines(figure: Figure) -> str:
    """Texts of the cross-hair for each series, as JSON: begin, step, texts."""
    found = []
    several = len(figure.lines()) > 1
    for line, (colour, _) in zip(figure.lines(), figure.styles(), strict=True):
        x = [float(value) for value in line.x]
        texts = [readable.value(y, figure.y.unit or "short") for y in line.y]
        found.append(
            {
                "n": line.name if several else "",
                "c": colour_class(line, colour) if several else "",
                "x": round(x[0], 9) if x else 0,
                "d": round(x[1] - x[0], 9) if len(x) > 1 else 1,
                "v": texts,
            }
        )
    return json.dumps(found, separators=(",", ":"), ensure_ascii=False)
