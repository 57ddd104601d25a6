"""Data sheets side by side: stated figures, and figures derived by arithmetic."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ssdlab.datasheet import arithmetic, contradictions
from ssdlab.datasheet.given import LATENCIES, Given
from ssdlab.datasheet.solve import solve
from ssdlab.units import BANDWIDTH, IOPS, RATIO, SIZE, TIME, Unit, decimal_size, text

#: Figures of sheets by key, with table titles and units.
SAID: Mapping[str, tuple[str, Unit | None]] = {
    "capacity": ("capacity", SIZE),
    "interface": ("interface", None),
    "bits": ("bits a cell", None),
    "raw_capacity": ("raw capacity", SIZE),
    "seq_read": ("sequential reads", BANDWIDTH),
    "seq_write": ("sequential writes", BANDWIDTH),
    "rand_read": ("random reads", IOPS),
    "fresh_write": ("random writes, fresh", IOPS),
    "rand_write": ("random writes, lasting", IOPS),
    "rand_write_by_flash": ("the same by its flash", IOPS),
    "read_latency": ("read latency", TIME),
    "write_latency": ("write latency", TIME),
    "write_amplification": ("write amplification, random", RATIO),
    "tbw": ("endurance", SIZE),
    "dwpd": ("drive writes a day", RATIO),
}


@dataclass(frozen=True)
class Line:
    """A quantity of each sheet, in its base unit."""

    key: str
    title: str
    unit: Unit | None
    values: Sequence[Any]
    """None if a sheet lacks it."""
    stated: Sequence[bool]
    """True if the sheet states it; else it is assumed or derived."""

    def shown(self, place: int) -> str:
        """Text of a sheet's figure; `~` marks an assumed or derived one."""
        value = self.values[place]
        if value is None:
            return "-"
        if self.unit is SIZE:
            said = decimal_size(value)
        else:
            said = str(value) if self.unit is None else text(self.unit, value)
        return said if self.stated[place] else f"~{said}"


def compared(sheets: Sequence[Given]) -> list[Line]:
    """Lines of the table; empty lines are omitted.

    Raises `InputError` for a sheet that contradicts itself.
    """
    followed = [_followed(given) for given in sheets]
    lines = []
    for key, (title, unit) in SAID.items():
        stated = [key in given for given in sheets]
        values = [
            given[key] if is_stated else more.get(key)
            for given, more, is_stated in zip(sheets, followed, stated, strict=True)
        ]
        if any(value is not None for value in values):
            lines.append(Line(key, title, unit, values, stated))
    return lines


def _followed(given: Given) -> dict[str, Any]:
    """Figures that the sheet lacks: assumed, or derived from its flash in closed form."""
    contradictions.refuse(given)
    drive = solve(given)
    amplification = given.get("write_amplification")
    if amplification is None:
        amplification = arithmetic.amplification(drive.capacity / drive.physical)
    units = max(1.0, given["rand_write_block"] / drive.flash.unit)
    found: dict[str, Any] = {key: given[key] for key in LATENCIES}
    found |= {
        "bits": drive.flash.bits,
        "raw_capacity": drive.physical,
        "write_amplification": amplification,
        "rand_write_by_flash": drive.flash.random_write_rate(amplification) / units,
    }
    a_day = given["capacity"] * 365 * given["years"]
    if "dwpd" in given:
        found["tbw"] = given["dwpd"] * a_day
    if "tbw" in given:
        found["dwpd"] = given["tbw"] / a_day
    return found
