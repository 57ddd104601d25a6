"""The cost of meeting given needs: drives, replacements, power, maintenance.

Nothing is simulated: input is existing results and the user's prices. Each drive of a design
performs as in its run; the load is spread evenly over the drives.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ssdlab import market, under_load
from ssdlab._core import InputError
from ssdlab.costing.design import DAYS_PER_YEAR, SECONDS_PER_DAY, Design, of_results
from ssdlab.costing.need import Need
from ssdlab.costing.prices import DEVICE, Prices, option
from ssdlab.costing.rule import break_even_seconds
from ssdlab.sweeps.table import Goals, Objective
from ssdlab.units import duration

__all__ = [
    "Bill",
    "Design",
    "Need",
    "Prices",
    "bill",
    "cheapest",
    "front",
    "of_results",
    "refuse_unknown",
]

HOURS_PER_DAY = 24.0
GIB = 2**30


@dataclass(frozen=True)
class Bill:
    """Cost of a design: dollars over the years, and metrics to compare designs.

    Each line of the bill is a field. `lacks` has unmet needs; `notes` has omissions.
    """

    design: Design
    #: Number of drives for each requirement that depends on their number.
    drives_for: Mapping[str, int]
    drives: int
    binds: str | None
    lacks: Sequence[str]
    notes: Sequence[str]
    price: float
    #: Lifetime of a drive in years under its share of the load, and purchases per drive.
    lifetime_years: float | None
    #: Lower bound of an unknown lifetime.
    least_years: float | None
    times_bought: int
    written_tb_per_day: float
    devices_dollars: float
    watts: float | None
    power_dollars: float
    maintenance_dollars: float
    five_minute_seconds: float | None

    @property
    def years(self) -> float | None:
        """Period of the bill in years."""
        return self.design.prices.years

    @property
    def lasts_unknown(self) -> bool:
        """True if the replacement rate is unknown."""
        requested = self.design.lifetime is not None and self.written_tb_per_day > 0
        if not requested or self.years is None or self.lifetime_years is not None:
            return False
        return self.least_years is None or self.least_years < self.years

    @property
    def dollars(self) -> float:
        """Total cost."""
        return self.devices_dollars + self.power_dollars + self.maintenance_dollars

    def to_dict(self) -> dict[str, Any]:
        """The bill in the form of `ssdlab cost --json`."""
        design, iops = self.design, self.drives * self.design.iops
        written = None
        if self.years is not None:
            written = self.written_tb_per_day * DAYS_PER_YEAR * self.years
        busy = design.busy_watts
        return {
            "name": design.name,
            "meets": not self.lacks,
            "lacks": list(self.lacks),
            "notes": list(self.notes),
            "warnings": list(design.warnings),
            "prices": design.prices.given(),
            "drives": self.drives,
            "drives_for": dict(self.drives_for),
            "binds": self.binds,
            "device_dollars": self.price,
            "lifetime_years": self.lifetime_years,
            "lifetime_at_least_years": self.least_years,
            "lifetime_kind": design.writable.kind,
            "times_bought": self.times_bought,
            "years": self.years,
            "devices_dollars": self.devices_dollars,
            "power_dollars": self.power_dollars,
            "maintenance_dollars": self.maintenance_dollars,
            "dollars": self.dollars,
            "watts": self.watts,
            "iops": iops,
            "gb": self.drives * design.gigabytes,
            "latencies_us": dict(design.latencies_us),
            "dollars_per_iops": self.dollars / iops,
            "dollars_per_gb": self.dollars / (self.drives * design.gigabytes),
            "iops_per_watt": design.iops / busy if busy else None,
            "written_tb": written,
            "dollars_per_tb_written": self.dollars / written if written else None,
            "five_minute_seconds": self.five_minute_seconds,
        }


def bill(design: Design, need: Need, dollars_per_gib: float | None = None) -> Bill:
    """Cost of meeting `need` with drives of a design.

    With `dollars_per_gib`, the price of memory, also the break-even interval of a page in memory.
    Raises `InputError` that names a missing price.
    """
    prices = design.prices
    _refuse_missing(design, need)
    each = {"iops": design.iops, "mb_per_s": design.mb_per_s, "gb": design.gigabytes}
    drives_for = {
        name: math.ceil(amount / each[name] * (1 - 1e-12))
        for name, amount in need.amounts.items()
        if name in each and each[name] > 0
    }
    drives = max([1, *drives_for.values()])
    binds = max(drives_for, key=lambda name: drives_for[name]) if drives_for else None
    notes: list[str] = [*design.by_catalogue]
    lacks = [
        f"{name} is {duration(design.latencies_us[name])}, above the required {duration(most)}"
        if name in design.latencies_us
        else f"{name} is unknown: the run had none of these requests"
        for name, most in need.latencies_us.items()
        if not design.latencies_us.get(name, math.inf) <= most
    ]
    if "mb_per_s" in need.amounts and not design.mb_per_s:
        lacks.append("it moves no data")
    requests_per_s = need.amounts.get("iops", drives * design.iops)
    written = _written_per_day(design, need, drives, requests_per_s)
    lifetime = _lifetime(design, drives, written)
    least = _least_years(design, drives, written)
    if lifetime is None and least is not None and least >= (prices.years or 0.0):
        notes.append(f"lifetime: at least {least:,.3g} years, by arithmetic")
    elif lifetime is None and written > 0:
        if design.lifetime is None:
            notes.append(f"{WITHOUT_WEAR}; nothing is replaced")
        elif prices.years is not None:
            lacks.append(f"its lifetime is {design.lifetime.reason or UNWRITTEN}")
        else:
            notes.append(f"without replacements: {option('years')} is not given")
    times = 1
    if lifetime is not None and prices.years is not None:
        times = max(1, math.ceil(prices.years / lifetime * (1 - 1e-12)))
    price = prices.device(design.gigabytes)
    watts = design.watts(requests_per_s / drives)
    hours = (prices.years or 0.0) * DAYS_PER_YEAR * HOURS_PER_DAY
    total_watts = None if watts is None else drives * watts
    power = 0.0
    if prices.power_dollars_per_kwh is not None:
        pue = 1.0 if prices.pue is None else prices.pue
        power = (total_watts or 0.0) / 1e3 * hours * pue * prices.power_dollars_per_kwh
        if prices.pue is None:
            notes.append(f"without cooling: {option('pue')} is not given")
    else:
        notes.append(f"without power: {option('power_dollars_per_kwh')} is not given")
    maintenance = (prices.maintenance_share or 0.0) * (prices.years or 0.0) * drives * price
    rests = None
    if dollars_per_gib is not None:
        pages = GIB / design.bytes_per_request
        rests = break_even_seconds(pages, design.iops, price, dollars_per_gib)
    return Bill(
        design=design,
        drives_for=drives_for,
        drives=drives,
        binds=binds,
        lacks=lacks,
        notes=notes,
        price=price,
        lifetime_years=lifetime,
        least_years=least,
        times_bought=times,
        written_tb_per_day=written / 1e3,
        devices_dollars=drives * price * times,
        watts=total_watts,
        power_dollars=power,
        maintenance_dollars=maintenance,
        five_minute_seconds=rests,
    )


UNWRITTEN = "not known under writes"
WITHOUT_WEAR = "this device has no wear"


def _refuse_missing(design: Design, need: Need) -> None:
    """Raise `InputError` for missing inputs of the bill."""
    prices = design.prices
    missing = []
    if not prices.has_device():
        missing.append((" or ".join(DEVICE), "the price of a device"))
    given = prices.given()
    wanting: list[str] = [
        key for key in ("power_dollars_per_kwh", "maintenance_share") if key in given
    ]
    if "dwpd" in need.amounts:
        wanting.append("--need dwpd")
    if prices.years is None and wanting:
        missing.append(("years", f"for how long, which {' and '.join(wanting)} asks for"))
    if "power_dollars_per_kwh" in given and design.busy_watts is None:
        missing.append(("watts", "not in the results (device.energy)"))
    if missing:
        said = "; ".join(f"{key}, {what}" for key, what in missing)
        options = ", ".join(option(key) for keys, _ in missing for key in keys.split(" or "))
        raise InputError(
            f"{design.name}: prices are missing: {said}. Give {options}, or [cost] in the "
            f"experiment{_of_catalogue(design)}"
        )


def _of_catalogue(design: Design) -> str:
    """Hint with the catalogue's price of the drive, for the message on a missing price."""
    row = market.of_title(design.title)
    if row is None or row.price is None or any(it in design.prices.given() for it in DEVICE):
        return ""
    return f"; --device-dollars {row.price:g} is the catalogue's price, {row.said}"


def _written_per_day(design: Design, need: Need, drives: int, requests_per_s: float) -> float:
    """GB written per day to all drives: as required, or by the load."""
    if (daily := need.amounts.get("dwpd")) is not None:
        return daily * need.amounts.get("gb", drives * design.gigabytes)
    return design.written_gb_per_request * requests_per_s * SECONDS_PER_DAY


def _lifetime(design: Design, drives: int, written: float) -> float | None:
    """Lifetime of a drive in years under its share of the writes."""
    if design.lifetime is None or written <= 0 or design.writable.known is None:
        return None
    return under_load.years(design.writable, written / drives).value


def _least_years(design: Design, drives: int, written: float) -> float | None:
    """Lower bound of the lifetime in years, if only a bound is known."""
    found = design.writable
    if design.lifetime is None or written <= 0 or found.kind != under_load.BOUNDED:
        return None
    return under_load.years(found, written / drives).value


def refuse_unknown(bills: Sequence[Bill]) -> None:
    """Raise `InputError` if lifetimes are required but unknown for every design."""
    unknown = [it for it in bills if it.lasts_unknown]
    if unknown and len(unknown) == len(bills):
        it = unknown[0]
        reason = it.design.lifetime.reason if it.design.lifetime else None
        others = f" (and {len(bills) - 1} others)" if len(bills) > 1 else ""
        raise InputError(
            f"{it.design.name}{others}: the lifetime is {reason or UNWRITTEN}. Without it the "
            "number of replacements is unknown"
        )


def cheapest(bills: Sequence[Bill], latency: str) -> Bill | None:
    """The cheapest bill that meets the needs; the lowest latency breaks ties."""
    fit = [it for it in bills if not it.lacks]
    return min(
        fit,
        key=lambda it: (it.dollars, it.design.latencies_us.get(latency, math.inf)),
        default=None,
    )


def front(bills: Sequence[Bill], latency: str) -> list[bool]:
    """Bills on the Pareto front of dollars and a latency."""
    rows = [{"dollars": it.dollars, "latency": it.design.latencies_us.get(latency)} for it in bills]
    return Goals([Objective("dollars", False), Objective("latency", False)]).pareto(rows)
