"""Draws figures with matplotlib: for `.plot()` and notebooks, and into the file of a `--plot`.

The figures have no window: nothing appears on a screen. Without matplotlib every function raises
`InputError` with the install command.
"""

from __future__ import annotations

import functools
import io
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ssdlab import _core, delivery, forms
from ssdlab._core import InputError
from ssdlab.charts.figure import CURVE, Band, Cells, Figure, Level, Series, Spans, Threads
from ssdlab.charts.frame import axis_text
from ssdlab.charts.scales import PERCENTILES, nines
from ssdlab.charts.style import PALETTE, ROLES
from ssdlab.optional import required

DASHES = ("-", "--", ":")
#: Letters that fit below an axis; longer names are rotated.
LETTERS_PER_INCH = 11
#: Maximum series of a legend with one column and normal letters.
MAX_PLAIN_LEGEND = 6
#: Minimum lines for a legend beside the picture.
FEWEST_BESIDE = 4
DOTS_PER_INCH = 110
#: Metadata field and value by which `forms` recognises a picture of ssdlab.
MADE_BY = f"{forms.DRAWN} {_core.version}"
MAKERS = {"png": "Software", "svg": "Creator", "svgz": "Creator", "pdf": "Creator"}


def check(option: str, path: Path) -> None:
    """Raise `InputError` before any computation if `path` is not a valid picture path."""
    known = _empty(option).canvas.get_supported_filetypes()
    if not path.suffix:
        raise InputError(f"{option} {path}: the extension says which format: .png, .svg")
    if path.suffix[1:].lower() not in known:
        raise InputError(
            f"{option} {path}: the extension must be one of {', '.join(sorted(known))}"
        )


def save(path: Path, drawn: Any) -> None:
    """Write a figure of `sheet` to the picture `path` atomically. Raises `OSError`."""
    picture = io.BytesIO()
    kind = path.suffix[1:].lower()
    stated = {MAKERS[kind]: MADE_BY} if kind in MAKERS else None
    drawn.savefig(picture, dpi=DOTS_PER_INCH, format=kind, metadata=stated)
    delivery.write(path, picture.getvalue(), forms.PICTURE)


def sheet(
    rows: Sequence[Sequence[Figure]],
    what: str,
    *,
    title: str = "",
    titled: bool = True,
    size: tuple[float, float] | None = None,
    heights: Sequence[float] | None = None,
    share_x: bool = False,
) -> Any:
    """Figures in rows on one sheet, as a `matplotlib.figure.Figure`; `what` needs matplotlib.

    With `titled` each has its title.
    """
    if not any(rows):
        raise InputError(f"{what}: there is nothing to draw")
    drawn = _empty(what, figsize=size)
    axes = drawn.subplots(
        len(rows), max(map(len, rows)), sharex=share_x, squeeze=False, height_ratios=heights
    )
    drawn.suptitle(title, fontsize=10) if title else None
    for position, row in enumerate(rows):
        for axis, figure in zip(axes[position], row, strict=True):
            _draw(drawn, axis, figure, alone=len(row) == 1)
            if titled:
                axis.set_title(figure.title, fontsize=10)
            if share_x and position + 1 < len(rows):
                axis.set_xlabel("")
            if figure is not row[0] and figure.y == row[0].y:
                axis.set_ylabel("")
    return drawn


def onto(axis: Any, figure: Figure) -> Any:
    """Draw onto the caller's axes; returns the figure that owns them."""
    whole = axis.get_figure()
    _draw(whole, axis, figure)
    return whole


def _empty(what: str, **options: Any) -> Any:
    """A figure without a window."""
    drawn = required("matplotlib.figure", what).Figure(layout="constrained", **options)
    # Notebooks show pyplot's figures; a figure without a window needs `_repr_png_`.
    drawn._repr_png_ = functools.partial(_png, drawn)
    return drawn


def _png(drawn: Any) -> bytes:
    picture = io.BytesIO()
    drawn.savefig(picture, format="png")
    return picture.getvalue()


def shown(drawn: Figure, name: str, ax: Any, why: str = "there is nothing to draw") -> Any:
    """The figure of `plot.NAME`, or of the axes `ax`, onto which it is drawn.

    Raises `InputError` with `why` for an empty one.
    """
    if drawn.empty():
        raise InputError(f"plot.{name}: {why}")
    return sheet([[drawn]], f"plot.{name}", titled=False) if ax is None else onto(ax, drawn)


def _draw(whole: Any, axis: Any, figure: Figure, alone: bool = True) -> None:
    """Marks, then the axes and the legend; `alone` if the row has no other figure."""
    axis.set_axisbelow(True)
    first = figure.series[0] if figure.series else None
    if isinstance(first, Cells):
        _cells(whole, axis, figure, figure.grid())
    elif isinstance(first, Spans):
        _spans(axis, figure)
    elif isinstance(first, Threads):
        _threads(axis, figure)
    elif figure.bars:
        _bars(axis, figure)
    elif figure.lines():
        _lines(axis, figure)
    across, up = (figure.y, figure.x) if figure.horizontal else (figure.x, figure.y)
    axis.set(xlabel=across.label, ylabel=up.label)
    if not isinstance(first, Cells | Spans):
        axis.set_ylim(up.low, up.high)
        axis.set_xlim(across.low, across.high)
        if first is not None and not isinstance(first, Threads):
            values = ("x" if figure.horizontal else "y") if figure.bars else "both"
            which = "both" if across.log or up.log else "major"
            axis.grid(True, axis=values, which=which, alpha=0.2)
        if up.zero and not up.log and not up.words and up.low is None and figure.values():
            axis.set_ylim(bottom=min(0.0, *figure.values()) * 1.05)
    _legend(axis, figure, alone)


def _colour(role: str, place: int) -> str:
    """The colour of a role on light paper, or of a palette index."""
    return ROLES[role or PALETTE[place % len(PALETTE)]][0]


def _legend(axis: Any, figure: Figure, alone: bool) -> None:
    named = Series | Spans | Threads
    names = [mark.name for mark in figure.series if isinstance(mark, named) and mark.name]
    if not names or (len(figure.series) == 1 and isinstance(figure.series[0], Series)):
        return
    # Many lines leave no room for the legend inside.
    crowded = alone and FEWEST_BESIDE <= len(figure.lines()) <= MAX_PLAIN_LEGEND
    if isinstance(figure.series[0], Spans) or crowded and not figure.bars:
        axis.legend(fontsize="small", loc="upper left", bbox_to_anchor=(1, 1))
    elif len(names) > MAX_PLAIN_LEGEND:
        axis.legend(fontsize=7, ncols=2)
    else:
        axis.legend(fontsize="small")


def _lines(axis: Any, figure: Figure) -> None:
    """Each series as a line, as dots, or as bars over numbers."""
    for line, (colour, dash) in zip(figure.lines(), figure.styles(), strict=True):
        look = {"color": _colour(line.role, colour), "label": line.name or "_"}
        y = [math.nan if value is None else value for value in line.y]
        if line.mark == "bars":
            axis.bar([*line.x], y, width=line.width, align="edge", **look)
            axis.margins(x=0)
        elif line.mark == "dots":
            axis.plot([*line.x], y, "o", markersize=6 if line.strong else 4, **look)
            _ranges(axis, line, [*line.x], look["color"])
        else:
            marker = "o" if len(y) <= CURVE and not figure.x.percentile else None
            width = 1 if line.name == "" else None
            axis.plot(
                [*line.x],
                y,
                marker=marker if line.name else None,
                markersize=3,
                linewidth=width,
                linestyle=DASHES[dash],
                **look,
            )
    for mark in figure.series:
        if isinstance(mark, Band):
            sides = [[math.nan if y is None else y for y in side] for side in (mark.low, mark.high)]
            axis.fill_between(
                [*mark.x], *sides, color=_colour(mark.role, 0), alpha=0.2, linewidth=0
            )
        elif isinstance(mark, Level):
            axis.axhline(mark.y, color="#5a626d", linewidth=1, linestyle=":")
            position = {"xycoords": axis.get_yaxis_transform(), "ha": "right", "va": "bottom"}
            axis.annotate(mark.name, (1.0, mark.y), fontsize="x-small", **position)
    if figure.x.percentile:
        _percentiles(axis, figure)
    if figure.x.log:
        axis.set_xscale("log", base=figure.x.log)
        if figure.x.log == 2:
            axis.xaxis.set_major_formatter("{x:g}")
    if figure.y.log:
        axis.set_yscale("log", base=figure.y.log)
    # Scales reset the formatters, so set these last.
    for ticks, measured in ((axis.xaxis, figure.x), (axis.yaxis, figure.y)):
        if measured.unit and not measured.percentile:
            ticks.set_major_formatter(lambda value, _, of=measured: axis_text(of, value))


def _percentiles(axis: Any, figure: Figure) -> None:
    """The axis of shares, stretched towards 1."""
    numpy = required("numpy", "a chart")

    def forward(share: Any) -> Any:
        return -numpy.log10(numpy.maximum(1.0 - share, 1e-12))

    axis.set_xscale("function", functions=(forward, lambda z: 1.0 - 10.0**-z))
    end = max(0.9, *figure.all_x())
    visible = [mark for mark in PERCENTILES if nines(mark) <= nines(end) + 1e-9]
    axis.set_xticks(visible, [axis_text(figure.x, mark) for mark in visible])
    axis.set_xlim(0.0, end)


def _ranges(axis: Any, line: Series, places: Sequence[Any], colour: str) -> None:
    """The range of each dot."""
    for x, ends in zip(places, line.ranges, strict=False):
        if ends is not None:
            axis.plot([x, x], [*ends], color=colour, linewidth=1.5, label="_")


def _bars(axis: Any, figure: Figure) -> None:
    """Bars for each word, stacked or side by side, vertical or horizontal."""
    words = figure.all_x()
    count = 1 if figure.stacked else len(figure.series)
    thick = 0.8 / count
    feet = dict.fromkeys(words, 0.0)
    for number, (line, (colour, _)) in enumerate(zip(figure.lines(), figure.styles(), strict=True)):
        offset = 0.0 if figure.stacked else (number - (count - 1) / 2) * thick
        positions = [words.index(x) + offset for x in line.x]
        values = [value or 0.0 for value in line.y]
        foot = [feet[x] if figure.stacked else 0.0 for x in line.x]
        look = {"color": _colour(line.role, colour), "label": line.name or "_"}
        if line.mark == "dots":
            axis.plot(positions, values, "o", markersize=4, **look)
            _ranges(axis, line, positions, look["color"])
            continue
        if figure.horizontal:
            axis.barh(positions, values, thick, left=foot, **look)
            for y, ends in zip(positions, line.ranges, strict=False):
                if ends is not None:
                    axis.plot([*ends], [y, y], color="black", linewidth=1.5, label="_")
        else:
            axis.bar(positions, values, thick, bottom=foot, **look)
        for x, value in zip(line.x, values, strict=True):
            feet[x] += value
    if figure.horizontal:
        axis.set_yticks(range(len(words)), words)
        axis.invert_yaxis()
    else:
        room = LETTERS_PER_INCH * axis.get_figure().get_figwidth()
        turn = 90 if sum(len(word) + 1 for word in words) > room else 0
        axis.set_xticks(range(len(words)), words, rotation=turn)
    if figure.y.log:
        (axis.set_xscale if figure.horizontal else axis.set_yscale)("log")


def _spans(axis: Any, figure: Figure) -> None:
    """A bar on its lane for each span."""
    for position, mark in enumerate(figure.series):
        if not isinstance(mark, Spans):
            continue
        colour = _colour(mark.role, position if mark.colour is None else mark.colour)
        lanes: dict[int, list[tuple[float, float]]] = {}
        for lane, start, end in zip(mark.lanes, mark.starts, mark.ends, strict=True):
            lanes.setdefault(lane, []).append((start, end - start))
        look = {"facecolor": colour, "edgecolor": "white", "linewidth": 0.3}
        for number, (lane, spans) in enumerate(lanes.items()):
            label = None if number else mark.name
            axis.broken_barh(spans, (lane - 0.4, 0.8), label=label, **look)
    axis.set_yticks(range(len(figure.y.words)), [*figure.y.words], fontsize="small")
    axis.set_xlim(figure.x.low, figure.x.high)
    axis.invert_yaxis()


def _cells(whole: Any, axis: Any, figure: Figure, cells: Cells) -> None:
    """The grid as shades, with a colour bar."""
    wide = cells.columns()
    rows = [
        [math.nan if value is None else value for value in row] + [math.nan] * (wide - len(row))
        for row in cells.rows
    ]
    low, high = cells.ends()
    options: dict[str, Any] = {"aspect": "auto", "interpolation": "nearest", "cmap": "viridis_r"}
    if cells.log:
        norm = required("matplotlib.colors", "a chart").LogNorm
        options["norm"] = norm(low, max(high, 2 * low))
    if figure.y.words:
        picture = axis.imshow(rows, **options)
        axis.set_yticks(range(len(figure.y.words)), [*figure.y.words], fontsize="small")
        if figure.x.words:
            axis.set_xticks(range(len(figure.x.words)), [*figure.x.words])
    else:
        extent = (figure.x.low or 0.0, figure.x.high, figure.y.low or 0.0, figure.y.high)
        picture = axis.imshow(rows, origin="lower", extent=extent, **options)
    whole.colorbar(picture, ax=axis, label=cells.name)


def _threads(axis: Any, figure: Figure) -> None:
    """Labels of the minimum and maximum on parallel axes."""
    positions = range(len(figure.x.words))
    threads = [mark for mark in figure.series if isinstance(mark, Threads)]
    for mark in sorted(threads, key=lambda it: it.strong):
        width, opacity = (2.0, 1.0) if mark.strong else (0.8, 0.45)
        for number, line in enumerate(mark.lines):
            label = "_" if number else mark.name
            look = {"color": _colour("", mark.colour), "linewidth": width, "alpha": opacity}
            axis.plot(positions, line, label=label, **look)
    words = [
        f"{most}\n\n{word}\n{least}"
        for word, (least, most) in zip(figure.x.words, figure.x.ends, strict=True)
    ]
    axis.set_xticks(positions, words, fontsize="small")
    axis.set_yticks([])
