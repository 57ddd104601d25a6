"""Which drive for a load that grows, how many each year, what breaks when, and the total cost.

Each drive is simulated under the load of each year, in the least number that meets the targets.
Wear adds up over the years: a drive whose life is used up is bought anew.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

from ssdlab import portable
from ssdlab._core import InputError
from ssdlab.choosing import Offer
from ssdlab.choosing.hunt import Asked, Hunt

#: Maximum number of years, and of drives of a kind.
MOST_YEARS, MOST_DRIVES = 15, 64


@dataclass(frozen=True)
class Year:
    """A year of a plan."""

    number: int
    gigabytes: float
    #: The load, relative to the first year's.
    load: float
    #: Drives in use, and bought: more drives and replacements of worn ones.
    drives: int
    bought: int
    offer: Offer
    #: Reason why the drives of the year before no longer suffice; empty if they do.
    breaks: str

    def to_dict(self) -> dict[str, Any]:
        """The year in the form of `ssdlab plan --json`."""
        figures = self.offer.figures
        return {
            "year": self.number,
            "gb": self.gigabytes,
            "load": self.load,
            "drives": self.drives,
            "bought": self.bought,
            "breaks": self.breaks or None,
            "figures": None if figures is None else figures.to_dict(),
        }


@dataclass(frozen=True)
class Fleet:
    """A drive over the years; `fails` is the reason why the plan ends early, or empty."""

    drive: str
    years: Sequence[Year]
    fails: str
    price: float | None
    is_assumed: bool
    power_dollars: float

    @property
    def bought(self) -> int:
        """Drives bought over all years."""
        return sum(it.bought for it in self.years)

    @property
    def dollars(self) -> float | None:
        """Price of all drives bought, and of their power if priced; None without a price."""
        return None if self.price is None else self.bought * self.price + self.power_dollars

    @property
    def is_life_known(self) -> bool:
        """True if the life is known in every year."""
        return all(it.offer.life[0] is not None for it in self.years)

    @property
    def order(self) -> tuple[bool, float, float]:
        """Order of fleets: whole plans by cost, then the longest of the others."""
        cost = float("inf") if self.dollars is None else self.dollars
        return bool(self.fails), -len(self.years) if self.fails else 0.0, cost

    def to_dict(self) -> dict[str, Any]:
        """The fleet in the form of `ssdlab plan --json`."""
        return {
            "drive": self.drive,
            "fails": self.fails or None,
            "bought": self.bought,
            "drive_dollars": self.price,
            "price_is_assumed": self.is_assumed,
            "power_dollars": self.power_dollars,
            "dollars": self.dollars,
            "life_is_known": self.is_life_known,
            "years": [it.to_dict() for it in self.years],
        }


@dataclass(frozen=True)
class Plan:
    """The fleets of all drives, the cheapest that lasts first."""

    asked: Asked
    growth: float
    load_growth: float
    years: int
    fleets: Sequence[Fleet]

    @property
    def best(self) -> Fleet | None:
        """The cheapest fleet that meets the targets in all years; None if none does."""
        return next((it for it in self.fleets if not it.fails), None)

    def to_dict(self) -> dict[str, Any]:
        """The plan in the form of `ssdlab plan --json`."""
        return {
            "load": self.asked.load.name,
            "growth": self.growth,
            "load_growth": self.load_growth,
            "service_years": self.years,
            "goals": [it.to_dict() for it in self.asked.goals],
            "best": None if self.best is None else self.best.drive,
            "fleets": [it.to_dict() for it in self.fleets],
        }


def plan(
    asked: Asked,
    drives: Sequence[str],
    years: int,
    growth: float,
    load_growth: float,
    report_offer: Callable[[int, int], object] | None = None,
) -> Plan:
    """Plan `years` years for each of the drives, whose data and load grow by these shares a year.

    `asked` is the first year; its targets hold in every year. `told` gets the drive-years done and
    their number. Raises `InputError` for a growth that is no share, and a load without a pace that
    is to grow.
    """
    if not 1 <= years <= MOST_YEARS:
        raise InputError(f"{years} years: from 1 to {MOST_YEARS} are planned")
    for name, share in (("--growth", growth), ("--load-growth", load_growth)):
        if not -1 < share <= 10:
            raise InputError(f"{name} {100 * share:g} %: from -99 to 1000 % a year")
    if growth and not asked.gigabytes:
        raise InputError(
            "--growth: of how much? --need 4TB says the data of the first year, as a trace shows "
            "only what it touches"
        )
    asked.load.faster(1 + load_growth)  # refuses a load without a pace
    cancelled, done = threading.Event(), 0

    def one(drive: str) -> Fleet:
        nonlocal done

        def moved() -> None:
            nonlocal done
            done += 1
            if report_offer is not None:
                report_offer(min(done, years * len(drives)), years * len(drives))

        return _fleet(asked, drive, years, (growth, load_growth), cancelled, moved)

    with ThreadPoolExecutor(min(portable.cores(), len(drives))) as pool:
        futures = [pool.submit(one, drive) for drive in drives]
        try:
            fleets = [future.result() for future in futures]
        finally:
            cancelled.set()
            for future in futures:
                future.cancel()
    return Plan(asked, growth, load_growth, years, sorted(fleets, key=lambda it: it.order))


def _fleet(
    asked: Asked,
    drive: str,
    years: int,
    growths: tuple[float, float],
    cancelled: threading.Event,
    moved: Callable[[], object],
) -> Fleet:
    """One drive over the years, until its plan fails."""
    found: list[Year] = []
    worn: list[float] = []  # used share of the life of each drive
    price, is_assumed = asked.terms.price(drive)
    power, fails = 0.0, ""
    offer: Offer | None = None
    for number in range(years):
        data, load = ((1 + it) ** number for it in growths)
        if offer is None or data != 1 or load != 1:
            now = replace(asked, gigabytes=asked.gigabytes * data, load=asked.load.faster(load))
            offer, broken = _least(now, drive, cancelled)
        moved()
        if not offer.meets:
            fails = offer.why
            break
        before = len(worn)
        renewed = sum(it >= 1 - 1e-9 for it in worn)
        worn = [0.0 if it >= 1 - 1e-9 else it for it in worn]
        worn += [0.0] * (offer.drives - before)
        used = _used_a_year(offer, len(worn))
        worn = [it + used for it in worn]
        breaks = _why_more(before, broken) if number and len(worn) > before else ""
        if renewed:
            breaks = "; ".join(filter(None, [breaks, f"{renewed} worn out"]))
        bought = max(len(worn) - before, 0) + renewed
        found.append(
            Year(number + 1, asked.gigabytes * data, load, len(worn), bought, offer, breaks)
        )
        power += _power_dollars(asked, offer, len(worn))
    return Fleet(drive, found, fails, price, is_assumed, power)


def _least(asked: Asked, drive: str, cancelled: threading.Event) -> tuple[Offer, Mapping[int, str]]:
    """The least number of drives that meets the targets, and why smaller numbers do not."""
    broken: dict[int, str] = {}

    def report_offer(offer: Offer, _done: int, _all: int) -> None:
        if not offer.meets:
            broken[offer.drives] = offer.why

    hunt = Hunt(asked, [drive], report_offer, is_brief=True, _cancelled=cancelled)
    hunt.try_all()
    return hunt.found()[0], broken


def _why_more(before: int, broken: Mapping[int, str]) -> str:
    """Reason why `before` drives do not suffice: a missed target, else their capacity."""
    counts = [count for count in broken if count >= before]
    return broken[min(counts)] if counts else f"the data no longer fit {before} drives"


def _used_a_year(offer: Offer, drives: int) -> float:
    """Share of a drive's life that is used in a year; the load is spread over `drives`."""
    lasts, _ = offer.life
    if lasts is None or lasts == float("inf"):
        return 0.0
    return offer.drives / drives / lasts


def _power_dollars(asked: Asked, offer: Offer, drives: int) -> float:
    price, watts = asked.terms.power_dollars_per_kwh, offer.all_watts
    if price is None or watts is None:
        return 0.0
    return watts / offer.drives * drives / 1e3 * 365 * 24 * price
