"""A design: performance and consumption of one simulated device."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ssdlab import lifetime, under_load
from ssdlab._core import InputError
from ssdlab.costing.need import LATENCIES
from ssdlab.costing.prices import Prices
from ssdlab.lifetime import Lifetime

DAYS_PER_YEAR = 365.0
SECONDS_PER_DAY = 86_400.0


@dataclass(frozen=True)
class Design:
    """A device as measured in its run; an array is one device. Each metric that a bill needs is a
    field.

    `lifetime` is None for a device without wear.
    """

    name: str
    title: str
    prices: Prices
    gigabytes: float
    iops: float
    mb_per_s: float
    written_gb_per_request: float
    bytes_per_request: float
    latencies_us: Mapping[str, float]
    lifetime: Lifetime | None
    constant_watts: float | None
    joules_per_request: float
    warnings: Sequence[str] = ()
    #: Rated drive writes per day of the drive as sold, and False where its wear is too uneven to
    #: tell its life.
    dwpd: float | None = None
    is_even: bool = True
    #: Origins of prices and power that are the catalogue's.
    by_catalogue: Sequence[str] = ()

    @property
    def writable(self) -> under_load.Figure:
        """GB that the device can be written until its flash is worn out."""
        lives = [] if self.lifetime is None else [self.lifetime]
        capacity = self.gigabytes * 1e9
        return under_load.of_lives(lives, capacity, self.dwpd, self.is_even).over(1e9)

    @property
    def busy_watts(self) -> float | None:
        """Power under the load of its run."""
        if self.prices.watts is not None:
            return self.prices.watts
        if self.constant_watts is None:
            return None
        return self.constant_watts + self.joules_per_request * self.iops

    def watts(self, requests_per_s: float) -> float | None:
        """Power under its share of the load."""
        if self.prices.watts is not None or self.constant_watts is None:
            return self.prices.watts
        return self.constant_watts + self.joules_per_request * min(requests_per_s, self.iops)


def of_results(name: str, results: Mapping[str, Any], options: Prices) -> Design:
    """The design of these results; prices given as options precede its experiment's.

    Raises `InputError` if the run completed no request.
    """
    host, experiment = results["host"], results["experiment"]
    every = host["all"]
    if not every["requests"] or not every["iops"]:
        raise InputError(f"{name}: no request completed in the run, so its throughput is zero")
    constant, joules = _energy(results)
    prices, sources = Prices.of(experiment).below(options), []
    row = under_load.sold(experiment)
    if row is not None and row.price is not None and not prices.has_device():
        prices = dataclasses.replace(prices, device_dollars=row.price)
        sources.append(f"price: {under_load.price(row).origin}")
    if constant is None and prices.watts is None and row is not None:
        power = under_load.watts([results], row)
        constant = power.value
        sources.append(f"power: {power.origin}")
    dwpd = None if row is None else row.dwpd
    evenness = under_load.evenness_of(results)
    return Design(
        name=name,
        title=experiment["title"],
        prices=prices,
        gigabytes=results["capacity_bytes"] * under_load.scale_of(results) / 1e9,
        iops=every["iops"],
        mb_per_s=every["mb_per_s"] or 0.0,
        written_gb_per_request=host["write"]["bytes"] / 1e9 / every["requests"],
        bytes_per_request=every["bytes"] / every["requests"],
        latencies_us=latencies_us(host),
        lifetime=_lifetime(name, results),
        constant_watts=constant,
        joules_per_request=joules,
        warnings=[warning["name"] for warning in results.get("warnings") or []],
        dwpd=dwpd,
        is_even=dwpd is None or evenness >= under_load.EVEN,
        by_catalogue=sources,
    )


def _lifetime(name: str, results: Mapping[str, Any]) -> Lifetime | None:
    found = lifetime.of(results)
    if found is None and "wear" in results:
        raise InputError(
            f"{name}: results of an older version, whose lifetimes are not used; rerun it"
        )
    return found


def _energy(results: Mapping[str, Any]) -> tuple[float | None, float]:
    """Constant power in watts, if known, and energy per request in joules."""
    energy = results.get("energy")
    if not energy or not energy["mean_watts"]:
        return None, 0.0
    parts, seconds = energy["parts"], energy["joules"] / energy["mean_watts"]
    constant = parts["controller"] + parts["idle"]
    return constant / seconds, (energy["joules"] - constant) / results["host"]["all"]["requests"]


def latencies_us(host: Mapping[str, Any]) -> dict[str, float]:
    """Latencies that a need may bound, by name, for the request kinds that occurred."""
    found = {}
    for kind in ("all", "read", "write"):
        stats = host[kind]
        if not stats["requests"]:
            continue
        for name in LATENCIES:
            us = (
                stats["percentiles_us"].get(name[1:])
                if name.startswith("p")
                else stats[f"{name}_us"]
            )
            if us is not None:
                found[name if kind == "all" else f"{kind}.{name}"] = us
    return found
