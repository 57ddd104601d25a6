"""Parts of an item of a study: rows that compare, and figures to draw."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

from ssdlab.charts import Figure
from ssdlab.paper.derived import Derived, consumed

Verdict = Literal["pass", "fitted", "arithmetic", "not reproduced", "not judged", "info", "fail"]
#: All verdicts in counting order.
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
#: Maximum ratio of the bounds of a claim: half or twice a value between them is outside.
WIDEST = 4.0


@dataclass(frozen=True)
class Row:
    """A figure of an item, published and simulated, in the unit of its name.

    If the study makes a claim instead of giving a number, the simulated figure must lie between
    `least` and `most`, and `note` is the claim. No claim is wide enough to hold for both half and
    twice the figure: a figure far on the right side of a one-sided claim has no verdict. Nor has a
    figure compared with a simulated one. A figure used to fit a constant of the simulation is
    `fitted`: it is shown, and proves nothing; `Item` sets that from the constants of its
    experiments. A figure that no simulation could change, a constant of the preset or a sum of
    published numbers, is `arithmetic`, and proves nothing either.

    A known difference with an explanation, in `missed`, is not a failure. If nothing is simulated
    for lack of published numbers, `simulated` is None. `unjudged` is the reason why this form of
    the study cannot judge the figure.
    """

    name: str
    published: float | None
    simulated: float | None
    tolerance_percent: float | None = None
    note: str = ""
    least: float | None = None
    most: float | None = None
    fitted: bool = False
    arithmetic: bool = False
    missed: str = ""
    unjudged: str = ""

    def __post_init__(self) -> None:
        beyond = self.most is None or self.most > WIDEST * (self.least or 0.0) > 0
        if (self.least is not None and beyond) or (self.tolerance_percent or 0.0) >= 100:
            wide = "a claim that half and twice the figure bear out as well"
            raise ValueError(f"{self.name}: {wide}")

    @property
    def difference_percent(self) -> float | None:
        """Relative excess of the simulated figure."""
        if not self.published or self.simulated is None:
            return None
        return 100 * (self.simulated / self.published - 1)

    @property
    def verdict(self) -> Verdict:
        """Verdict on the figures, or on the claim; "info" where neither is tested.

        "fitted" is not a verdict on the simulation, as the published figure is an input. Nor is
        "arithmetic", which is independent of the simulation.
        """
        if self.fitted:
            return "fitted"
        if self.arithmetic:
            return "arithmetic"
        if self.simulated is None:
            return "not reproduced"
        agrees = self.agrees
        if agrees is None:
            return "info"
        if self.unjudged:
            return "not judged"
        if agrees:
            return "pass"
        return "not reproduced" if self.missed else "fail"

    @property
    def agrees(self) -> bool | None:
        """Agreement of the figures, or truth of the claim; None without a tolerance or a claim.

        The larger may exceed the smaller by the tolerance: 25 % is a factor of 1.25 up or down.
        """
        if self.most is not None:
            if self.simulated is None:
                return None
            return (self.least or 0.0) <= self.simulated <= self.most
        if not self.published or self.simulated is None or self.tolerance_percent is None:
            return None
        maximum = 1 + self.tolerance_percent / 100
        return 1 / maximum <= self.simulated / self.published <= maximum

    @property
    def explained(self) -> str:
        """The note, the bounds of the claim, and the reason for a miss or a missing verdict."""
        why = {"not reproduced": self.missed, "not judged": self.unjudged}.get(self.verdict, "")
        bounds = ""
        if self.most is not None:
            bounds = (
                f"{self.least:.4g} to {self.most:.4g}" if self.least else f"at most {self.most:.4g}"
            )
        return "; ".join(part for part in (self.note, bounds, why) if part)

    def to_dict(self) -> dict[str, Any]:
        """The row in the form of `ssdlab paper --json`."""
        return {
            "name": self.name,
            "published": self.published,
            "simulated": self.simulated,
            "difference_percent": self.difference_percent,
            "tolerance_percent": self.tolerance_percent,
            "verdict": self.verdict,
            "note": self.explained,
        }


@dataclass(frozen=True)
class Item:
    """Result of an item; `remarks` have facts outside rows, such as contradictions in a source.

    `derived` are the constants of its experiments that were fitted to published figures: rows that
    compare with these figures become "fitted" or "arithmetic".
    """

    name: str
    title: str
    rows: list[Row]
    figures: list[Figure] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    derived: tuple[Derived, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "rows", [self._marked(row) for row in self.rows])

    def _marked(self, row: Row) -> Row:
        """The row, marked if a constant was fitted to its figure."""
        found = consumed([f"{self.name}: {row.name}"], self.derived)
        if found is None:
            return row
        verdict, constant = found
        note = "; ".join(part for part in (row.note, f"{verdict}: {constant}") if part)
        fitted = verdict == "fitted"
        return replace(row, note=note, fitted=fitted, arithmetic=not fitted)

    def to_dict(self) -> dict[str, Any]:
        """The item in the form of `ssdlab paper --json`."""
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
            "verdicts": counts([self]),
            "derived": [it.constant for it in self.derived],
            "figures": figures,
            "remarks": self.remarks,
        }


def counts(items: Iterable[Item]) -> dict[str, int]:
    """Number of rows of `items` with each verdict."""
    found = Counter(row.verdict for item in items for row in item.rows)
    return {kind: found[kind] for kind in VERDICTS}
