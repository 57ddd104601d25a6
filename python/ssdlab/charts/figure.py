"""The model: a figure is two axes and its marks.

A back end needs no other data to draw it. The back end chooses sizes, fonts and colours; a colour
here is an index into its palette.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

#: Number of distinct dash patterns.
DASHES = 3
#: A line with more points is drawn as a curve, without a mark per point.
CURVE = 24


@dataclass(frozen=True)
class Axis:
    """Quantity of an axis, or the words along it."""

    label: str = ""
    log: int = 0
    """Base of its logarithm; 0 for a linear axis. A base-2 axis has its marks at the points."""
    percentile: bool = False
    """True if its values are shares, 0 to 1, stretched towards 1: -log10(1 - share)."""
    unit: str = ""
    """Unit of marks and values, one of `readable.FORMS`; without it, marks are plain numbers."""
    low: float | None = None
    """First and last value; by default from the data."""
    high: float | None = None
    zero: bool = True
    """True if a linear axis includes 0."""
    words: Sequence[str] = ()
    """Labels of an axis without numbers; a vertical axis lists them from the top."""
    notes: Sequence[str] = ()
    """Note at the end of each word's bar."""
    below: Sequence[str] = ()
    """Dimmed note below each word."""
    ends: Sequence[tuple[str, str]] = ()
    """Minimum and maximum at each word, for `Threads`."""


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
    """Palette index; by default shared by series with the same words before a comma in the name."""
    width: float = 0.0
    """Width of bars over numbers: each covers `x` to `x + width`."""
    strong: bool = False
    """True if the dots are emphasised."""
    role: str = ""
    """Role of its colour, one of `style.ROLES`, instead of a palette index."""
    dash: int | None = None
    """Dash pattern, 0 for solid; by default distinct among lines of its colour."""
    says: Sequence[str] = ()
    """Texts of the points, instead of their numbers."""
    labels: Sequence[str] = ()
    """Labels of the dots."""
    ranges: Sequence[tuple[float, float] | None] = ()
    """Range of each dot: a confidence interval, or the values that it represents."""


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
    """A labelled dotted line across the figure: a mean, a threshold."""

    name: str
    y: float


@dataclass(frozen=True)
class Reading:
    """A number at the right of a strip, for the whole run."""

    text: str
    what: str = ""
    role: str = ""


@dataclass(frozen=True)
class Spans:
    """Spans on the lanes of the vertical axis, with begin and end."""

    name: str
    lanes: Sequence[int]
    starts: Sequence[float]
    ends: Sequence[float]
    notes: Sequence[str] = ()
    """Notes on each span, if few are drawn."""
    colour: int | None = None
    role: str = ""


@dataclass(frozen=True)
class Cells:
    """A grid of values as shades, one row per position of the vertical axis; None is empty.

    Rows run from the top for a word axis, from the bottom for a numeric axis. Several grids of a
    figure are layers.
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
        """Minimum and maximum."""
        values = [value for row in self.rows for value in row if value is not None] or [0.0]
        return min(values), max(values)

    def columns(self) -> int:
        """Number of cells in the longest row."""
        return max(map(len, self.rows), default=0)


@dataclass(frozen=True)
class Threads:
    """Lines across an axis of words; each value is a share of the height above a word."""

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
    """True if bars are stacked instead of side by side."""
    horizontal: bool = False
    """True for horizontal bars: the words of `x` are at the left, `y` runs below."""
    note: str = ""
    """Dimmed subtitle."""
    readings: Sequence[Reading] = ()
    """Readings of a strip for the whole run."""

    def lines(self) -> list[Series]:
        """The series of numbers or words."""
        return [mark for mark in self.series if isinstance(mark, Series)]

    @property
    def bars(self) -> bool:
        """True if `x` has words instead of numbers."""
        return any(isinstance(x, str) for line in self.lines() for x in line.x)

    def all_x(self) -> list[Any]:
        """Every `x` of any series: words in order of occurrence, numbers ascending."""
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
        """Every `y`; for stacked bars, the top of each stack."""
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
        """Colour and dashes of each series: equal words before a comma share a colour.

        Each series of bars has its own colour, as bars have no dashes.
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
