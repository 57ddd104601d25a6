"""What an item of a study consists of: rows that compare, and figures to draw."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

Verdict = Literal["pass", "fail", "info"]


@dataclass(frozen=True)
class Row:
    """One figure of an item, published and simulated, in the unit that its name says."""

    name: str
    published: float | None
    simulated: float
    tolerance_percent: float | None = None
    note: str = ""

    @property
    def difference_percent(self) -> float | None:
        """How far the simulated figure lies above the published one."""
        if not self.published:
            return None
        return 100 * (self.simulated / self.published - 1)

    @property
    def verdict(self) -> Verdict:
        """Whether the difference is within the tolerance; "info" where none is claimed."""
        difference = self.difference_percent
        if difference is None or self.tolerance_percent is None:
            return "info"
        return "pass" if abs(difference) <= self.tolerance_percent else "fail"

    def to_dict(self) -> dict[str, Any]:
        """The row as `ssdlab paper --json` has it."""
        return {
            "name": self.name,
            "published": self.published,
            "simulated": self.simulated,
            "difference_percent": self.difference_percent,
            "tolerance_percent": self.tolerance_percent,
            "verdict": self.verdict,
            "note": self.note,
        }


@dataclass(frozen=True)
class Series:
    """A line of a figure: `y` over `x`."""

    name: str
    x: list[float]
    y: list[float]


@dataclass(frozen=True)
class Figure:
    """A figure of an item, ready to be drawn."""

    title: str
    x_label: str
    y_label: str
    series: list[Series]


@dataclass(frozen=True)
class Item:
    """What an item found."""

    name: str
    title: str
    rows: list[Row]
    figures: list[Figure] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        """The item as `ssdlab paper --json` has it."""
        figures = [
            {
                "title": figure.title,
                "x": figure.x_label,
                "y": figure.y_label,
                "series": {line.name: [line.x, line.y] for line in figure.series},
            }
            for figure in self.figures
        ]
        return {
            "item": self.name,
            "rows": [row.to_dict() for row in self.rows],
            "figures": figures,
        }
