"""A drive under a trace: number, latency, lifetime and cost."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ssdlab import layers, sources, under_load
from ssdlab.choosing import reasons
from ssdlab.datasheet import given
from ssdlab.market import Rated, shipped
from ssdlab.results.facts import tail
from ssdlab.sizing.trial import Trial
from ssdlab.under_load import DAYS, RATED_YEARS, UnderLoad

HOURS_PER_DAY = 24


@dataclass(frozen=True)
class Offer:
    """A row of the choice; a field per column of the table."""

    drive: str
    #: None if no run was possible.
    trial: Trial | None
    #: Reason why it is unsuitable; empty if it is suitable.
    why: str
    #: Dollars per drive, None if unknown; and whether that is an assumption.
    price: float | None
    is_assumed: bool
    #: Life, p99, watts and dollars of all drives under this load; None without a run.
    figures: UnderLoad | None
    power_dollars: float
    #: Rated drive writes a day, over five years.
    dwpd: float | None
    command: str | None
    #: Adaptations of the load to the drive, one sentence each.
    how: Sequence[str] = ()
    #: True if doubling the drives was tried and did not help.
    is_final: bool = False

    @property
    def meets(self) -> bool:
        """True if it meets all goals."""
        return self.trial is not None and not self.why

    @property
    def drives(self) -> int:
        """Number of striped drives."""
        return 0 if self.trial is None else self.trial.design.drives

    @property
    def dollars(self) -> float | None:
        """Price of all drives, and of their power if priced."""
        if self.price is None or not self.drives:
            return None
        return self.drives * self.price + self.power_dollars

    @property
    def price_of_all(self) -> float:
        """Price to order by: offers without one come last."""
        return math.inf if self.dollars is None else self.dollars

    def ended(self) -> Offer:
        """The offer, marked: more drives do not help."""
        return replace(self, is_final=True)

    @property
    def all_watts(self) -> float | None:
        """Power of all drives, watts."""
        return None if self.figures is None else self.figures.watts.value

    @property
    def life(self) -> tuple[float | None, bool]:
        """Lifetime in years, and True if it is from the data sheet's rating."""
        return (None, False) if self.trial is None else reasons.life(self.trial, self.dwpd)

    def to_dict(self) -> dict[str, Any]:
        """The row in the form of `ssdlab choose --json`."""
        lasts, is_rated = self.life
        trial = self.trial
        measured: dict[str, Any] = {}
        if trial is not None:
            measured = {
                "capacity_bytes": trial.capacity_bytes,
                "seeds": [results.experiment.run.seed for results in trial.found],
                **{
                    f: {"mean": trial.mean(f), "margin": trial.margin(f)}
                    for f in ("p99_us", "p999_us", "amplification")
                },
                "first_p99_us": trial.values("p99_us")[0],
                "read_p99_us": trial.mean("read.p99"),
                "write_p99_us": trial.mean("write.p99"),
                "tail": tail(trial.found[0]),
            }
        return {
            "drive": self.drive,
            "meets": self.meets,
            "why_not": self.why or None,
            "drives": self.drives,
            **measured,
            "years": None if lasts in (None, float("inf")) else lasts,
            "unlimited": lasts == float("inf"),
            "years_by_rating": is_rated,
            "at_least_years": trial.least_years if trial is not None and lasts is None else None,
            "watts": self.all_watts,
            "drive_dollars": self.price,
            "price_is_assumed": self.is_assumed,
            "power_dollars": self.power_dollars,
            "dollars": self.dollars,
            "how": [*self.how],
            "figures": None if self.figures is None else self.figures.to_dict(),
            "command": self.command,
        }


@dataclass(frozen=True)
class Terms:
    """Terms of the cost: years, given prices, and the price per kWh."""

    years: float
    prices: Mapping[str, float]
    power_dollars_per_kwh: float | None
    catalogue: Mapping[str, Rated] = field(default_factory=shipped)

    def rated(self, drive: str) -> Rated | None:
        """Rating of a catalogue drive."""
        return self.catalogue.get(drive)

    def dwpd(self, drive: str) -> float | None:
        """Rated drive writes per day, of the catalogue or of a data sheet."""
        rated = self.rated(drive)
        return _of_sheet(drive) if rated is None else rated.dwpd

    def without_trial(self, drive: str, why: str) -> Offer:
        """The offer of a drive that could not be simulated."""
        price, is_assumed = self.price(drive)
        return Offer(drive, None, why, price, is_assumed, None, 0.0, self.dwpd(drive), None)

    def offer(
        self, drive: str, trial: Trial, why: str, command: str | None, how: Sequence[str]
    ) -> Offer:
        """The offer of a simulated drive."""
        price, is_assumed = self.price(drive)
        figures = self.figures(drive, trial)
        watts = figures.watts.value
        power = 0.0
        if self.power_dollars_per_kwh is not None and watts is not None:
            kwh = watts / 1e3 * self.years * DAYS * HOURS_PER_DAY
            power = kwh * self.power_dollars_per_kwh
        rated = self.dwpd(drive)
        return Offer(drive, trial, why, price, is_assumed, figures, power, rated, command, how)

    def figures(self, drive: str, trial: Trial) -> UnderLoad:
        """Life, p99, watts and dollars of a trial's drives."""
        row = replace(self.rated(drive) or Rated(drive), dwpd=self.dwpd(drive))
        found = under_load.of(
            trial.found,
            row=row,
            drives=trial.design.drives,
            dollars=self.prices.get(drive),
            least_evenness=trial.least_evenness,
        )
        return replace(found, life_years=trial.life(row.dwpd))

    def price(self, drive: str) -> tuple[float | None, bool]:
        """Dollars per drive, None if unknown; and whether that is an assumption."""
        if drive in self.prices:
            return self.prices[drive], False
        rated = self.rated(drive)
        return (None, False) if rated is None else (rated.price, rated.is_assumed)

    def of_when(self, drive: str) -> str | None:
        """Date of the drive's catalogue price; None if the user gave a price."""
        rated = self.rated(drive)
        return None if rated is None or drive in self.prices else rated.priced or None


def _of_sheet(drive: str) -> float | None:
    """Rated drive writes per day over five years, from a data sheet file."""
    if not Path(drive).is_file() or not sources.is_sheet(text := layers.from_file(drive).text):
        return None
    return given.parse(drive, text).dwpd(RATED_YEARS)
