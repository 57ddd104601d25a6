"""Quantities of data sheets: texts with units, to and from numbers of seconds and bytes."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ssdlab._core import InputError

_NUMBER = re.compile(r"\s*([0-9][0-9_,]*(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)\s*(\S.*?)?\s*", re.ASCII)

_BYTES = {"B": 1, "kB": 1e3, "KB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12, "PB": 1e15}
_BINARY = {"KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40, "PiB": 2**50}
_SIZES: Mapping[str, float] = _BYTES | _BINARY


@dataclass(frozen=True)
class Unit:
    """A kind of quantity: what it is called in a message, and its units in its base unit."""

    noun: str
    units: Mapping[str, float]
    example: str

    def parse(self, where: str, value: Any) -> float:
        """The quantity `value` in its base unit.

        `where` names the source and key. Raises `InputError`, which says how it is written, for a
        unit that is missing or of another kind.

        >>> SIZE.parse("sheet, key capacity", "16KiB"), TIME.parse("sheet, key read", "75us")
        (16384.0, 7.5e-05)
        """
        if isinstance(value, int | float) and not isinstance(value, bool):
            if not self.units:
                return self._positive(where, float(value))
            first = self.example.lstrip("0123456789.")
            raise InputError(
                f"{where} = {value}: {self.noun} has a unit: {value}{first}; "
                f"units: {', '.join(self.units)}"
            )
        found = _NUMBER.fullmatch(value) if isinstance(value, str) else None
        unit = found.group(2) if found else None
        if found is None or (unit or "") not in (self.units or {"": 1.0}):
            given = f'"{value}"' if isinstance(value, str) else repr(value)
            units = f"; units: {', '.join(self.units)}" if self.units else ""
            raise InputError(f"{where} = {given}: expected {self.noun} such as {self._as}{units}")
        number = float(found.group(1).replace(",", "").replace("_", ""))
        return self._positive(where, number * self.units.get(unit or "", 1.0))

    @property
    def _as(self) -> str:
        return f'"{self.example}"' if self.units else self.example

    def _positive(self, where: str, value: float) -> float:
        if not (value > 0 and math.isfinite(value)):
            raise InputError(f"{where}: {self.noun} is above 0")
        return value


TIME = Unit("a time", {"us": 1e-6, "ns": 1e-9, "ms": 1e-3, "s": 1.0}, "80us")
SIZE = Unit("a size", _SIZES, "960GB")
BANDWIDTH = Unit("a rate", {f"{unit}/s": size for unit, size in _SIZES.items()}, "6500MB/s")
IOPS = Unit(
    "a rate of requests",
    {"/s": 1, "K/s": 1e3, "M/s": 1e6, "IOPS": 1, "kIOPS": 1e3, "KIOPS": 1e3, "MIOPS": 1e6},
    "580K/s",
)
RATIO = Unit("a number", {}, "4.2")


def time_text(seconds: float) -> str:
    """A time to the nanosecond, as configurations write it.

    >>> time_text(8e-05), time_text(0.0021), time_text(1.7241e-06), time_text(0)
    ('80us', '2.1ms', '1.724us', '0us')
    """
    nanoseconds = round(seconds * 1e9)
    unit, size = ("ms", 10**6) if nanoseconds >= 10**6 else ("us", 10**3)
    return f"{nanoseconds / size:.10g}{unit}"


def size_text(size: float) -> str:
    """A size, in the unit that takes the fewest digits and leaves nothing over.

    >>> size_text(960e9), size_text(3 * 2**20), size_text(16384), size_text(1920383410176)
    ('960GB', '3MiB', '16KiB', '1875374424KiB')
    """
    size = round(size)
    units = [unit for unit, each in _SIZES.items() if unit != "KB" and size % int(each) == 0]
    best = min(units, key=lambda unit: (size // int(_SIZES[unit]), unit))
    return f"{size // int(_SIZES[best])}{best}"


def text(unit: Unit, value: float) -> str:
    """A quantity for people, to four digits.

    >>> text(TIME, 8e-05), text(BANDWIDTH, 1.454e9), text(IOPS, 76500), text(RATIO, 4.2)
    ('80us', '1454MB/s', '76.5K/s', '4.2')
    """
    if unit is BANDWIDTH:
        return f"{value / 1e6:.4g}MB/s"
    if unit is IOPS:
        return f"{value / 1e3:.4g}K/s"
    if unit is RATIO:
        return f"{value:.4g}"
    if unit is SIZE:
        return size_text(value)
    for name, each in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if value >= each:
            return f"{value / each:.4g}{name}"
    return f"{value * 1e9:.4g}ns"
