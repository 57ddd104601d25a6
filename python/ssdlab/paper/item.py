"""What an item of a study consists of: rows that compare, and figures to draw."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from ssdlab.charts import Figure

Verdict = Literal["pass", "fail", "fitted", "arithmetic", "info"]
#: Every verdict, in the order in which they are counted.
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)


@dataclass(frozen=True)
class Row:
    """One figure of an item, published and simulated, in the unit that its name says.

    Where the study makes a claim instead of giving a number, `holds` says whether the simulated
    figure bears it out, and `note` is the claim. A figure that was used to find the study's own
    constants is `fitted`: it is shown, and proves nothing. One that no simulation could change, a
    constant of the preset or a sum of published numbers, is `arithmetic`, and proves as little.
    """

    name: str
    published: float | None
    simulated: float
    tolerance_percent: float | None = None
    note: str = ""
    holds: bool | None = None
    fitted: bool = False
    arithmetic: bool = False

    @property
    def difference_percent(self) -> float | None:
        """How far the simulated figure lies above the published one."""
        if not self.published:
            return None
        return 100 * (self.simulated / self.published - 1)

    @property
    def verdict(self) -> Verdict:
        """Whether the figures agree, or the claim holds; "info" where neither is tested.

        "fitted" is no verdict on the simulation: the published figure is one of its inputs.
        Nor is "arithmetic", to which no simulation contributes.

        They agree when neither exceeds the other by more than the tolerance: 100 % is a factor
        of two up or down.
        """
        if self.fitted:
            return "fitted"
        if self.arithmetic:
            return "arithmetic"
        agrees = self.agrees
        if agrees is None:
            return "info"
        return "pass" if agrees else "fail"

    @property
    def agrees(self) -> bool | None:
        """Whether the claim holds, or the figures agree; None where neither is claimed."""
        if self.holds is not None:
            return self.holds
        if not self.published or self.tolerance_percent is None:
            return None
        most = 1 + self.tolerance_percent / 100
        return 1 / most <= self.simulated / self.published <= most

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
class Item:
    """What an item found; `remarks` say what rows cannot, as where a source contradicts itself."""

    name: str
    title: str
    rows: list[Row]
    figures: list[Figure] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        """The item as `ssdlab paper --json` has it."""
        figures = [
            {
                "title": figure.title,
                "x": figure.x.label,
                "y": figure.y.label,
                "series": {line.name: [list(line.x), list(line.y)] for line in figure.lines()},
            }
            for figure in self.figures
        ]
        return {
            "item": self.name,
            "title": self.title,
            "rows": [row.to_dict() for row in self.rows],
            "figures": figures,
            "remarks": self.remarks,
        }
