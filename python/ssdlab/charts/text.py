"""Draws with characters, for a terminal: in colour, or in ASCII where it takes nothing else."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import chain, repeat

from rich.text import Text

from ssdlab.charts.figure import Cells, Figure

#: The look of the parts of a bar, in their order: glyph, its substitute, and colour.
LOOKS = (
    ("░", ".", "bright_black"),
    ("─", "-", "blue"),
    ("┼", "+", "bright_blue"),
    ("▚", "/", "bright_yellow"),
    ("▒", ":", "yellow"),
    ("▓", "%", "red"),
    ("╫", "|", "bright_red"),
    ("═", "=", "cyan"),
    ("█", "#", "green"),
)
#: Look of all other parts.
OTHER_LOOK = ("▪", "?", "magenta")
#: Two layers of a grid, two series of bars.
COLOURS = ("green", "yellow")
#: From few to many, and the same where there is only ASCII.
SHADES = " ░▒▓█", " .:+#"
LEVELS = " ▁▂▃▄▅▆▇█", " .,-=+*%#"
MAX_ROWS = 12
#: Width of the labels left of a grid.
LABEL = 9


def looks(plain: bool) -> chain[tuple[str, str]]:
    """Glyph and colour of the first part of a bar, the second, and so on without end."""
    every = chain(LOOKS, repeat(OTHER_LOOK))
    return chain((substitute if plain else glyph, colour) for glyph, substitute, colour in every)


def stack(values: Sequence[float], width: int, plain: bool) -> Text:
    """A bar of parts, `width` long."""
    bar = Text()
    for cells, (glyph, colour) in zip(shares(values, width), looks(plain), strict=False):
        bar.append(glyph * cells, style=colour)
    return bar


def shares(values: Sequence[float], cells: int) -> list[int]:
    """`cells` dealt out in proportion to `values`: by largest remainder, so that they add up."""
    exact = [value * cells / sum(values) for value in values]
    dealt = [int(share) for share in exact]
    order = sorted(range(len(values)), key=lambda i: dealt[i] - exact[i])
    for i in order[: cells - sum(dealt)]:
        dealt[i] += 1
    return dealt


def level(share: float, width: int, plain: bool) -> Text:
    """A bar that is full to a share of its width."""
    full, empty = ("#", ".") if plain else ("█", "░")
    cells = round(width * min(share, 1))
    return Text(full * cells, style="green").append(empty * (width - cells), style="bright_black")


def bars(drawn: Figure, width: int, plain: bool) -> list[Text]:
    """The stacked bars of a figure, one for each word, the longest `width` long."""
    most = max(drawn.values())
    glyph = "#" if plain else "█"
    found = []
    for values in zip(*(line.y for line in drawn.lines()), strict=True):
        first, total = values[0] or 0, sum(value or 0 for value in values)
        cells = math.ceil(width * total / most)
        begun = round(cells * first / (total or 1))
        bar = Text(glyph * begun, style=COLOURS[0])
        found.append(bar.append(glyph * (cells - begun), style=COLOURS[1]))
    return found


def steps(drawn: Figure, plain: bool) -> Text:
    """The bars over numbers of a figure, a character each."""
    values, levels = drawn.values(), LEVELS[plain]
    most = max(values)
    cells = (levels[math.ceil((len(levels) - 1) * it / most)] for it in values)
    return Text("".join(cells), style="cyan")


def grid(
    drawn: Figure,
    width: int,
    plain: bool,
    x_text: Callable[[float], str],
    y_text: Callable[[float], str],
) -> Text:
    """The cells of a figure: how much by shade, what most of it is by colour."""
    layers = [mark for mark in drawn.series if isinstance(mark, Cells)]
    columns = min(layers[0].columns(), width - LABEL - 2)
    rows = min(len(layers[0].rows), MAX_ROWS)
    shrunk = [_shrunk(layer.rows, rows, columns) for layer in layers]
    totals = [
        [sum(cell) for cell in zip(*lines, strict=True)] for lines in zip(*shrunk, strict=True)
    ]
    most = max(map(max, totals))
    low, high = drawn.y.low or 0.0, drawn.y.high or 1.0
    height = (high - low) / rows
    shades = SHADES[plain]
    picture = Text()
    for row in reversed(range(rows)):
        label = y_text(low + height * row) if row % 3 == 0 or rows < 4 else ""
        picture.append(f"{label:>{LABEL}} ", style="dim").append("|" if plain else "│", style="dim")
        for column, total in enumerate(totals[row]):
            parts = [layer[row][column] for layer in shrunk]
            shade = shades[_level(total, most, len(shades) - 1)]
            picture.append(shade, style=COLOURS[parts.index(max(parts))])
        picture.append("\n")
    corner, line = ("+", "-") if plain else ("└", "─")
    picture.append(f"{'':{LABEL}} {corner}{line * columns}\n", style="dim")
    # All at one instant: a single column has no length that the figure could know.
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
    """0 for nothing, else 1 to `levels` on a logarithmic scale."""
    if count == 0:
        return 0
    return 1 + min(levels - 1, int(levels * math.log(count) / math.log(most + 1)))
