"""Quantities with units: formats numbers for display, and parses texts of data sheets."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ssdlab._core import InputError

#: Commas separate groups of three digits: "1,92TB" is not 192 TB.
_NUMBER = re.compile(
    r"\s*((?:[0-9]{1,3}(?:,[0-9]{3})+|[0-9][0-9_]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)"
    r"\s*(\S.*?)?\s*"
)

_MICRO = str.maketrans({"\N{MICRO SIGN}": "u", "\N{GREEK SMALL LETTER MU}": "u"})

_BYTES = {"B": 1, "kB": 1e3, "KB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12, "PB": 1e15}
_BINARY = {"KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40, "PiB": 2**50}
_SIZES: Mapping[str, float] = _BYTES | _BINARY


@dataclass(frozen=True)
class Unit:
    """A kind of quantity: its name in messages, and its units in terms of the base unit."""

    noun: str
    units: Mapping[str, float]
    example: str
    #: The unit to suggest for a bare number, if unambiguous.
    only: str = ""

    def parse(self, where: str, value: Any) -> float:
        """The quantity `value` in its base unit.

        `where` names the source and key. Raises `InputError`, with the syntax, for a missing or
        wrong unit.

        >>> SIZE.parse("sheet, key capacity", "16KiB"), TIME.parse("sheet, key read", "75us")
        (16384.0, 7.5e-05)
        """
        if isinstance(value, int | float) and not isinstance(value, bool):
            number = self._positive(where, value, _float(value))
            if not self.units:
                return number
            raise self._unit_is_missing(f"{where} = {value}", str(value))
        found = _NUMBER.fullmatch(value) if isinstance(value, str) else None
        given = f'"{value}"' if isinstance(value, str) else repr(value)
        if found is not None and found[2] is None and self.units:
            raise self._unit_is_missing(f"{where} = {given}", found[1])
        size = self._size_of(found[2] or "") if found else None
        if found is None or size is None:
            units = f"; units: {', '.join(self.units)}" if self.units else ""
            raise InputError(f"{where} = {given}: expected {self.noun} such as {self._as}{units}")
        number = float(found[1].replace(",", "").replace("_", ""))
        return self._positive(where, given, number * size)

    def given(self, where: str, value: str | None) -> float | None:
        """The quantity `value` in its base unit; None for None."""
        return None if value is None else self.parse(where, value)

    def _size_of(self, unit: str) -> float | None:
        """Size of a unit in base units: "K IOPS", "µs" with either sign."""
        if not self.units:
            return None if unit else 1.0
        sizes = {_joined(name): size for name, size in self.units.items()}
        plain = _joined(unit)
        return sizes.get(plain, sizes.get("K" + plain[1:]) if plain[:1] == "k" else None)

    def _unit_is_missing(self, said: str, number: str) -> InputError:
        # Suggest a unit only for an unambiguous number.
        example = f"{number} {self.only}" if self.only else self.example
        words = "write" if self.only else "as in"
        return InputError(
            f'{said}: {self.noun} has a unit, {words} "{example}"; units: {", ".join(self.units)}'
        )

    @property
    def _as(self) -> str:
        return f'"{self.example}"' if self.units else self.example

    def _positive(self, where: str, given: object, value: float) -> float:
        if not (value > 0 and math.isfinite(value)):
            raise InputError(f"{where} = {given}: {self.noun} is above 0, and finite")
        return value


def _float(number: float) -> float:
    """A number of a file, whose integers may be arbitrarily large."""
    try:
        return float(number)
    except OverflowError:
        return math.inf


def _joined(unit: str) -> str:
    """A unit without spaces, with u for either micro sign."""
    return "".join(unit.split()).translate(_MICRO)


TIME = Unit("a time", {"us": 1e-6, "ns": 1e-9, "ms": 1e-3, "s": 1.0}, "80us")
#: Of pauses and deadlines.
LONG_TIME = Unit("a time", {"s": 1.0, "ms": 1e-3, "us": 1e-6, "min": 60, "h": 3600}, "5min")
SIZE = Unit("a size", _SIZES, "960GB")
BANDWIDTH = Unit("a rate", {f"{unit}/s": size for unit, size in _SIZES.items()}, "6500MB/s")
IOPS = Unit(
    "a rate of requests",
    {"IOPS": 1, "K IOPS": 1e3, "M IOPS": 1e6, "K": 1e3, "M": 1e6, "/s": 1, "K/s": 1e3, "M/s": 1e6},
    "580K/s",
    only="IOPS",
)
RATIO = Unit("a number", {}, "4.2")


def share(where: str, value: str | float, most: float) -> float:
    """A share from 0 to `most`, such as "60%" or 0.6. Raises `InputError`.

    >>> share("--fill", "60%", 1), share("--fill", 0.6, 1)
    (0.6, 0.6)
    """
    text = str(value).strip()
    try:
        number = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        number = -1.0
    if not 0 <= number <= most:
        raise InputError(f'{where} {value}: a share from 0% to {most:.0%}, such as "60%"')
    return number


def time_text(seconds: float) -> str:
    """A time to the nanosecond, in the syntax of configurations.

    >>> time_text(8e-05), time_text(0.0021), time_text(1.7241e-06), time_text(0)
    ('80us', '2.1ms', '1.724us', '0us')
    """
    nanoseconds = round(seconds * 1e9)
    unit, size = ("ms", 10**6) if nanoseconds >= 10**6 else ("us", 10**3)
    return f"{nanoseconds / size:.10g}{unit}"


def size_text(size: float) -> str:
    """A size, exact, in the unit with the fewest digits.

    >>> size_text(960e9), size_text(3 * 2**20), size_text(16384), size_text(1920383410176)
    ('960GB', '3MiB', '16KiB', '1875374424KiB')
    """
    size = round(size)
    units = [unit for unit, each in _SIZES.items() if unit != "KB" and size % int(each) == 0]
    best = min(units, key=lambda unit: (size // int(_SIZES[unit]), unit))
    return f"{size // int(_SIZES[best])}{best}"


def _four_digits(value: float) -> str:
    """A number with four significant digits."""
    return f"{float(f'{value:.4g}'):.15g}"


def text(unit: Unit, value: float) -> str:
    """A quantity for display, with four significant digits.

    >>> text(TIME, 8e-05), text(BANDWIDTH, 1.454e9), text(IOPS, 76500), text(RATIO, 4.2)
    ('80us', '1454MB/s', '76.5K/s', '4.2')
    >>> text(BANDWIDTH, 14e9), text(IOPS, 11.9996e6)
    ('14000MB/s', '12000K/s')
    """
    if unit is BANDWIDTH:
        return f"{_four_digits(value / 1e6)}MB/s"
    if unit is IOPS:
        return f"{_four_digits(value / 1e3)}K/s"
    if unit is RATIO:
        return _four_digits(value)
    if unit is SIZE:
        return size_text(value)
    for name, each in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if value >= each:
            return f"{value / each:.4g}{name}"
    return f"{value * 1e9:.4g}ns"


def plural(noun: str) -> str:
    """Several of a thing; plural nouns stay unchanged.

    >>> plural("die"), plural("planes"), plural("flush"), plural("switch"), plural("copy")
    ('dies', 'planes', 'flushes', 'switches', 'copies')
    """
    if noun.endswith("s"):
        return noun
    if noun.endswith(("sh", "ch", "x")):
        return f"{noun}es"
    ends_in_y = noun.endswith("y") and noun[-2:-1] not in "aeiou"
    return f"{noun[:-1]}ies" if ends_in_y else f"{noun}s"


def duration(us: float, digits: int = 3) -> str:
    """A time of `us` microseconds in a suitable unit, with `digits` significant digits.

    >>> duration(130.6), duration(130.6, 4), duration(1532.9), duration(0), duration(9999.9)
    ('131µs', '130.6µs', '1.53ms', '0µs', '10.0ms')
    """
    if us == 0:
        return "0µs"
    for unit, size in (("ns", 1e-3), ("µs", 1.0), ("ms", 1e3)):
        text = significant(us / size, digits)
        if float(text) < 1000:
            return text + unit
    return significant(us / 1e6, digits) + "s"


def energy(joules: float) -> str:
    """An energy in a suitable unit, with three significant digits.

    >>> energy(165.3e-6), energy(0.07), energy(12.34), energy(0)
    ('165µJ', '70.0mJ', '12.3J', '0J')
    """
    if joules == 0:
        return "0J"
    for unit, size in (("nJ", 1e-9), ("µJ", 1e-6), ("mJ", 1e-3)):
        text = significant(joules / size, 3)
        if float(text) < 1000:
            return text + unit
    return significant(joules, 3) + "J"


def count(number: float) -> str:
    """A large number, short: exact below a hundred million.

    >>> count(61255.1), count(5704304), count(123456789)
    ('61,255', '5,704,304', '123.5M')
    """
    for limit, size, unit in ((1e8, 1, ""), (1e11, 1e6, "M"), (1e14, 1e9, "G")):
        if number < limit:
            return f"{number / size:,.0f}" if size == 1 else f"{number / size:,.1f}{unit}"
    return f"{number:.3g}"


def significant(value: float, digits: int) -> str:
    """`value` with `digits` significant digits, and all digits before the point.

    >>> significant(130.62, 3), significant(1.5329, 3), significant(99.96, 3)
    ('131', '1.53', '100')
    """
    before = len(str(int(float(f"{value:.{digits - 1}e}"))))  # after rounding: 99.96 has three
    return f"{value:.{max(digits - before, 0)}f}"


def percent(share: float) -> str:
    """A share in percent, to a tenth."""
    return f"{100 * share:.1f}%"


def study_number(number: float) -> str:
    """A number of a study: whole if it is large, else with four significant digits."""
    if abs(number) >= 1000 or number == int(number):
        return f"{number:,.0f}"
    return f"{number:.4g}"


def size(number: float) -> str:
    """A number of bytes in a suitable binary unit.

    >>> size(512), size(4096), size(227656), size(1.1e12)
    ('512 B', '4 KiB', '222 KiB', '1.00 TiB')
    """
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if number < 1000 or unit == "TiB":
            break
        number /= 1024
    text = f"{number:.0f}" if number == int(number) else significant(number, 3)
    return f"{text} {unit}"


def decimal_size(number: float) -> str:
    """A number of bytes in a suitable decimal unit, as in data sheets.

    >>> decimal_size(1.1017e12), decimal_size(4.84e12), decimal_size(1.61e9), decimal_size(2.2e16)
    ('1.10 TB', '4.84 TB', '1.61 GB', '22.0 PB')
    """
    for unit in ("B", "kB", "MB", "GB", "TB", "PB", "EB"):
        if float(f"{number:.3g}") < 1000 or unit == "EB":
            break
        number /= 1000
    return f"{significant(number, 3)} {unit}"


def cell_text(value: Any) -> str:
    """Display form of a table value."""
    if value is None or value is False:
        return ""
    if value is True:
        return "yes"
    if isinstance(value, float):
        return f"{value:,.4g}" if abs(value) < 1000 else f"{value:,.0f}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def dollars(amount: float) -> str:
    """Dollars, whole for large amounts.

    >>> dollars(45_000), dollars(3.4567), dollars(0.000123), dollars(0)
    ('$45,000', '$3.46', '$0.000123', '$0')
    """
    if amount == 0:
        return "$0"
    if amount >= 100:
        return f"${amount:,.0f}"
    return f"${significant(amount, 3)}" if amount >= 1 else f"${amount:.3g}"
