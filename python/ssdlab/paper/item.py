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
#: The largest over the smallest figure that bear out a claim: of one between them, half or twice
#: as much does not.
WIDEST = 4.0


@dataclass(frozen=True)
class Row:
    """A figure of an item, published and simulated, in the unit of its name.

    Where the study makes a claim instead of giving a number, the simulated figure bears it out if
    it is `least` at least and `most` at most, and `note` is the claim. No claim is so wide that
    half the figure and twice the figure bear it out as well: a figure of which only the direction
    is known, and which lies far on that side, is shown without a verdict. So is one beside which
    stands a figure that is simulated itself. A figure that was used to find a constant of the
    simulation is `fitted`: it is shown, and proves nothing; `Item` sets that from what its
    experiments were derived from. One that no simulation could change, a constant of the preset or
    a sum of published numbers, is `arithmetic`, and proves as little.

    A difference that is known and has an explanation is no failure: `missed` is the explanation.
    Where nothing is simulated, since no document at hand has the numbers, `simulated` is None.
    `unjudged` says why this form of the study cannot judge the figure.
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

        "fitted" is no verdict on the simulation: the published figure is one of its inputs.
        Nor is "arithmetic", to which no simulation contributes.
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
        """Agreement of the figures, or truth of the claim; None where neither is claimed.

        They agree when neither exceeds the other by more than the tolerance: 25 % is 1.25 times
        as much, or as little.
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
        """The note, the bounds of the claim, and why the figure is missed or not judged."""
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
    """Result of an item; `remarks` say what rows cannot, as where a source contradicts itself.

    `derived` are the constants of its experiments that were found from published figures: rows
    that compare with one of these are "fitted" or "arithmetic", whatever they say of themselves.
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
