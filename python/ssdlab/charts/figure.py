"""The model: a figure is two axes and its marks.

It promises that a back end needs nothing else to draw it: no number is computed twice. Sizes, fonts
and colours are the back end's; a colour here is a place in its palette.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

#: Dash patterns that a back end tells apart.
DASHES = 3
#: A line of more points is a curve: its points are not marked one by one.
CURVE = 24


@dataclass(frozen=True)
class Axis:
    """Quantity of an axis, or the words that stand along it."""

    label: str = ""
    log: int = 0
    """The base of its logarithm; 0 for a linear axis. One of base 2 is marked at the points."""
    percentile: bool = False
    """True if its values are shares, 0 to 1, stretched towards 1: -log10(1 - share)."""
    unit: str = ""
    """Unit of marks and values, one of `readable.FORMS`; without, a mark is a plain number."""
    low: float | None = None
    """Where it begins and ends, if not where the data do."""
    high: float | None = None
    zero: bool = True
    """True if a linear axis includes 0."""
    words: Sequence[str] = ()
    """The places along an axis that has no numbers; from the top on one that is upright."""
    notes: Sequence[str] = ()
    """Notes at the end of the bar of each word."""
    below: Sequence[str] = ()
    """Notes, dim, below each word."""
    ends: Sequence[tuple[str, str]] = ()
    """Least and greatest value at each word, on an axis that `Threads` cross."""


@dataclass(frozen=True)
class Series:
    """`y` over `x`: numbers, or words where bars are drawn. None is a gap.

    A series without a name is not in the legend.
    """

    name: str
    x: Sequence[float] | Sequence[str]
    y: Sequence[float | None]
    mark: Literal["line", "dots", "bars"] = "line"
    colour: int | None = None
    """The place in the palette; by default that of the words before a comma in the name."""
    width: float = 0.0
    """Width of bars over numbers: each covers `x` to `x + width`."""
    strong: bool = False
    """True if dots stand out from others."""
    role: str = ""
    """Role of its colour, one of `style.ROLES`, in place of a place in the palette."""
    dash: int | None = None
    """How a line is dashed: 0 for not; by default what tells it from others of its colour."""
    says: Sequence[str] = ()
    """Texts of the points, in place of their numbers."""
    labels: Sequence[str] = ()
    """Labels of the dots."""
    ranges: Sequence[tuple[float, float] | None] = ()
    """From where to where each dot reaches: an interval, or the values that it stands for."""


@dataclass(frozen=True)
class Band:
    """Area between two lines. None is a gap."""

    name: str
    x: Sequence[float]
    low: Sequence[float | None]
    high: Sequence[float | None]
    role: str


@dataclass(frozen=True)
class Level:
    """A dotted line across the figure, labelled in its place: a mean, a threshold."""

    name: str
    y: float


@dataclass(frozen=True)
class Reading:
    """A number at the right of a strip: what it says of the whole run."""

    text: str
    what: str = ""
    role: str = ""


@dataclass(frozen=True)
class Spans:
    """Occupants of the lanes of the upright axis, with begin and end."""

    name: str
    lanes: Sequence[int]
    starts: Sequence[float]
    ends: Sequence[float]
    notes: Sequence[str] = ()
    """Notes on each, where few enough are drawn."""
    colour: int | None = None
    role: str = ""


@dataclass(frozen=True)
class Cells:
    """A grid of values as shades, a row for each place of the upright axis; None is empty.

    Rows run from the top where that axis has words, from the bottom where it has numbers. Several
    grids of a figure are layers.
    """

    name: str
    """Quantity of the values."""
    rows: Sequence[Sequence[float | None]]
    log: bool = False
    """True if shades follow the logarithm."""
    caption: str = ""
    """Meaning of a cell."""
    unit: str = ""
    """Unit of the values, one of `readable.FORMS`; without, they are plain numbers."""

    def ends(self) -> tuple[float, float]:
        """The least and the greatest value."""
        values = [value for row in self.rows for value in row if value is not None] or [0.0]
        return min(values), max(values)

    def columns(self) -> int:
        """Cells of the longest row."""
        return max(map(len, self.rows), default=0)


@dataclass(frozen=True)
class Threads:
    """Lines that cross an axis of words, each at a share of the height above each word."""

    name: str
    lines: Sequence[Sequence[float]]
    colour: int = 0
    strong: bool = False


Mark = Series | Spans | Cells | Threads | Band | Level


@dataclass(frozen=True)
class Figure:
    """A figure, ready to be drawn by any back end."""

    title: str
    x: Axis
    y: Axis
    series: Sequence[Mark] = field(default_factory=list)
    stacked: bool = False
    """True if bars stand on each other instead of side by side."""
    horizontal: bool = False
    """True if bars lie: then the words of `x` stand beside the picture and `y` runs below it."""
    note: str = ""
    """The dim words below its title."""
    readings: Sequence[Reading] = ()
    """Readings of a strip for the whole run."""

    def lines(self) -> list[Series]:
        """The series of numbers or words."""
        return [mark for mark in self.series if isinstance(mark, Series)]

    @property
    def bars(self) -> bool:
        """True if the figure compares words instead of following a number."""
        return any(isinstance(x, str) for line in self.lines() for x in line.x)

    def all_x(self) -> list[Any]:
        """Every `x` of any series: words as they come, numbers ascending."""
        marks = [mark for mark in self.series if isinstance(mark, Series | Band)]
        every: list[Any] = list(dict.fromkeys(x for mark in marks for x in mark.x))
        return every if self.bars else sorted(every)

    def grid(self) -> Cells:
        """Sum of the layers, with empty cells where all are empty."""
        layers = [mark for mark in self.series if isinstance(mark, Cells)]
        if len(layers) == 1:
            return layers[0]
        rows = [
            [sum(value or 0 for value in values) or None for values in zip(*lines, strict=True)]
            for lines in zip(*(layer.rows for layer in layers), strict=True)
        ]
        names = " and ".join(layer.name for layer in layers)
        return Cells(names, rows, layers[0].log, layers[0].caption, layers[0].unit)

    def values(self) -> list[float]:
        """Every `y` that there is; of stacked bars, the top of each stack."""
        if not (self.stacked and self.bars):
            bands = [mark for mark in self.series if isinstance(mark, Band)]
            columns = [line.y for line in self.lines()] + [
                side for band in bands for side in (band.low, band.high)
            ]
            levels = [mark.y for mark in self.series if isinstance(mark, Level)]
            levels += [end for line in self.lines() for it in line.ranges if it for end in it]
            return [float(y) for column in columns for y in column if y is not None] + levels
        tops = dict.fromkeys(self.all_x(), 0.0)
        for line in self.lines():
            for x, y in zip(line.x, line.y, strict=True):
                tops[x] += y or 0.0
        return [*tops.values()]

    def count(self) -> int:
        """Number of points, spans, rows or lines."""
        return sum(_size(mark) for mark in self.series if not isinstance(mark, Level))

    def empty(self) -> bool:
        """True without content."""
        return self.count() == 0

    def styles(self) -> list[tuple[int, int]]:
        """Colour and dashes of each series: what shares the words before a comma shares a colour.

        Bars, which have no dashes, have a colour each.
        """
        lines = self.lines()
        if self.bars:
            return [(n if line.colour is None else line.colour, 0) for n, line in enumerate(lines)]
        kinds = list(dict.fromkeys(line.name.partition(", ")[0] for line in lines))
        seen: dict[str, int] = {}
        styles = []
        for line in lines:
            kind = line.name.partition(", ")[0]
            dash = seen.get(kind, 0) % DASHES if line.colour is None else 0
            dash = dash if line.dash is None else line.dash
            styles.append((kinds.index(kind) if line.colour is None else line.colour, dash))
            seen[kind] = seen.get(kind, 0) + 1
        return styles


def _size(mark: Mark) -> int:
    if isinstance(mark, Series):
        return len(mark.y)
    if isinstance(mark, Band):
        return len(mark.x)
    if isinstance(mark, Level):
        return 1
    if isinstance(mark, Spans):
        return len(mark.lanes)
    return len(mark.rows if isinstance(mark, Cells) else mark.lines)
