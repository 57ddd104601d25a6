"""Draws with characters for a terminal: in colour, or in plain ASCII."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from rich.text import Text

from ssdlab.charts.figure import Cells, Figure

#: Colours of two layers of a grid, or of two series of bars.
COLOURS = ("green", "yellow")
#: Shades from few to many, with ASCII substitutes.
SHADES = " ░▒▓█", " .:+#"
LEVELS = " ▁▂▃▄▅▆▇█", " .,-=+*%#"
MAX_ROWS = 12
#: Width of the labels left of a grid.
LABEL = 9


def bars(drawn: Figure, width: int, plain: bool) -> list[Text]:
    """The stacked bars of a figure, one for each word, the longest `width` long."""
    maximum = max(drawn.values())
    glyph = "#" if plain else "█"
    found = []
    for values in zip(*(line.y for line in drawn.lines()), strict=True):
        first, total = values[0] or 0, sum(value or 0 for value in values)
        cells = math.ceil(width * total / maximum)
        begun = round(cells * first / (total or 1))
        bar = Text(glyph * begun, style=COLOURS[0])
        found.append(bar.append(glyph * (cells - begun), style=COLOURS[1]))
    return found


def steps(drawn: Figure, plain: bool) -> Text:
    """The bars over numbers of a figure, a character each."""
    values, levels = drawn.values(), LEVELS[plain]
    maximum = max(values)
    cells = (levels[math.ceil((len(levels) - 1) * it / maximum)] for it in values)
    return Text("".join(cells), style="cyan")


def grid(
    drawn: Figure,
    width: int,
    plain: bool,
    x_text: Callable[[float], str],
    y_text: Callable[[float], str],
) -> Text:
    """The cells of a figure: total by shade, largest part by colour."""
    layers = [mark for mark in drawn.series if isinstance(mark, Cells)]
    columns = min(layers[0].columns(), width - LABEL - 2)
    rows = min(len(layers[0].rows), MAX_ROWS)
    shrunk = [_shrunk(layer.rows, rows, columns) for layer in layers]
    totals = [
        [sum(cell) for cell in zip(*lines, strict=True)] for lines in zip(*shrunk, strict=True)
    ]
    maximum = max(map(max, totals))
    low, high = drawn.y.low or 0.0, drawn.y.high or 1.0
    height = (high - low) / rows
    shades = SHADES[plain]
    picture = Text()
    for row in reversed(range(rows)):
        label = y_text(low + height * row) if row % 3 == 0 or rows < 4 else ""
        picture.append(f"{label:>{LABEL}} ", style="dim").append("|" if plain else "│", style="dim")
        for column, total in enumerate(totals[row]):
            parts = [layer[row][column] for layer in shrunk]
            shade = shades[_level(total, maximum, len(shades) - 1)]
            picture.append(shade, style=COLOURS[parts.index(max(parts))])
        picture.append("\n")
    corner, line = ("+", "-") if plain else ("└", "─")
    picture.append(f"{'':{LABEL}} {corner}{line * columns}\n", style="dim")
    # A single column has no duration.
    end = x_text(drawn.x.high or 0.0) if columns > 1 else ""
    ends = f"0{end:>{max(columns - 1, len(end) + 1)}}" if end else "0"
    return picture.append(f"{'':{LABEL}}  {ends}", style="dim")


def _shrunk(matrix: Sequence[Sequence[float | None]], rows: int, columns: int) -> list[list[float]]:
    """The matrix with fewer cells and the same sum."""
    small = [[0.0] * columns for _ in range(rows)]
    for y, line in enumerate(matrix):
        target = small[y * rows // len(matrix)]
        for x, number in enumerate(line):
            target[x * columns // len(line)] += number or 0
    return small


def _level(count: float, most: float, levels: int) -> int:
    """0 for an empty cell, otherwise 1 to `levels` on a logarithmic scale."""
    if count == 0:
        return 0
    return 1 + min(levels - 1, int(levels * math.log(count) / math.log(most + 1)))
