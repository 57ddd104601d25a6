"""Stacked bars of characters: latency components, utilisation."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, repeat

from rich.text import Text

#: Style of the parts of a bar, in order: glyph, its substitute, and colour.
LOOKS = (
    ("░", ".", "bright_black"),
    ("─", "-", "blue"),
    ("┼", "+", "bright_blue"),
    ("▨", "*", "bright_green"),
    ("▚", "/", "bright_yellow"),
    ("▒", ":", "yellow"),
    ("▓", "%", "red"),
    ("╫", "|", "bright_red"),
    ("═", "=", "cyan"),
    ("█", "#", "green"),
    ("▞", "~", "bright_magenta"),
    ("▤", "^", "bright_cyan"),
    ("▧", "@", "bright_white"),
    ("▩", "&", "white"),
)
#: Style of all other parts.
OTHER_LOOK = ("▪", "?", "magenta")


def looks(plain: bool) -> chain[tuple[str, str]]:
    """Glyph and colour of each successive part of a bar, without end."""
    every = chain(LOOKS, repeat(OTHER_LOOK))
    return chain((substitute if plain else glyph, colour) for glyph, substitute, colour in every)


def stack(values: Sequence[float], width: int, plain: bool) -> Text:
    """A bar of parts, `width` long."""
    bar = Text()
    for cells, (glyph, colour) in zip(shares(values, width), looks(plain), strict=False):
        bar.append(glyph * cells, style=colour)
    return bar


def shares(values: Sequence[float], cells: int) -> list[int]:
    """`cells` apportioned to `values` by largest remainder, so that the sum is exact."""
    exact = [value * cells / sum(values) for value in values]
    dealt = [int(share) for share in exact]
    order = sorted(range(len(values)), key=lambda i: dealt[i] - exact[i])
    for i in order[: cells - sum(dealt)]:
        dealt[i] += 1
    return dealt


def level(share: float, width: int, plain: bool) -> Text:
    """A bar filled to a share of its width."""
    full, empty = ("#", ".") if plain else ("█", "░")
    cells = round(width * min(share, 1))
    return Text(full * cells, style="green").append(empty * (width - cells), style="bright_black")
