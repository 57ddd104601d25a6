"""Prices given by the user, without defaults."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ssdlab._core import InputError


@dataclass(frozen=True)
class Prices:
    """The keys of `[cost]` in an experiment, which are also options of the command."""

    device_dollars: float | None = None
    capacity_dollars_per_gb: float | None = None
    watts: float | None = None
    power_dollars_per_kwh: float | None = None
    pue: float | None = None
    years: float | None = None
    maintenance_share: float | None = None

    @classmethod
    def of(cls, experiment: Mapping[str, Any]) -> Prices:
        """Prices of an experiment."""
        return cls(**(experiment.get("cost") or {}))

    def below(self, others: Prices) -> Prices:
        """These prices, overridden by `others`. A price per device in `others` replaces either kind
        of price.
        """
        given = others.given()
        stored = self.given()
        if any(key in given for key in DEVICE):
            stored = {key: value for key, value in stored.items() if key not in DEVICE}
        return Prices(**{**stored, **given})

    def given(self) -> dict[str, float]:
        """Given prices."""
        every = dataclasses.asdict(self)
        return {key: value for key, value in every.items() if value is not None}

    def has_device(self) -> bool:
        """True if the price of a device is given."""
        return any(getattr(self, key) is not None for key in DEVICE)

    def device(self, gigabytes: float) -> float:
        """Price of a device of that capacity, dollars."""
        if self.device_dollars is not None:
            return self.device_dollars
        if self.capacity_dollars_per_gb is None:
            raise ValueError("the device has no price")
        return self.capacity_dollars_per_gb * gigabytes


#: The two ways to state the price of a device.
DEVICE = ("device_dollars", "capacity_dollars_per_gb")
#: Every key, in order.
KEYS = [field.name for field in dataclasses.fields(Prices)]
#: Descriptions for the command's help.
MEANING = {
    "device_dollars": "Price of a device.",
    "capacity_dollars_per_gb": "Price of a device per exported GB.",
    "watts": "Power of a device. [default: from the energy in the results]",
    "power_dollars_per_kwh": "Price of electricity per kWh.",
    "pue": "Power usage effectiveness: facility watts per device watt, cooling included.",
    "years": "Period of the cost calculation, years.",
    "maintenance_share": "Yearly maintenance, as a share of the devices' price.",
}


def option(key: str) -> str:
    """The option of the command for a key."""
    return f"--{key.replace('_', '-')}"


def from_options(given: Mapping[str, float | None]) -> Prices:
    """The prices from options. Raises `InputError` for an invalid price."""
    for key, value in given.items():
        least = 1 if key == "pue" else 0
        if value is None:
            continue
        if not math.isfinite(value) or value < least or (key == "years" and value == 0):
            bound = "above 0" if key == "years" else f"{least} or more"
            raise InputError(f"{option(key)} {value:g}: expected a number, {bound}")
    found = Prices(**given)
    if all(getattr(found, key) is not None for key in DEVICE):
        both = " and ".join(map(option, DEVICE))
        raise InputError(f"{both}: a device has only one price; keep one of the two")
    return found
