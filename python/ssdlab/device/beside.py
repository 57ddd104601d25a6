"""Data sheets side by side: stated figures, and figures derived by arithmetic."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ssdlab import _core, sources
from ssdlab.datasheet import arithmetic, contradictions
from ssdlab.datasheet.given import DEFAULTS, LATENCIES, Given
from ssdlab.datasheet.solve import solve
from ssdlab.device import sheet
from ssdlab.running import Experiment
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


@dataclass(frozen=True)
class Side:
    """A column of the table: published figures of a drive, and figures that follow from them."""

    name: str
    published: Mapping[str, Any]
    followed: Mapping[str, Any]


#: Measurements of the catalogue's sheets that are keys of `from-datasheet`, by key.
MEASURED = {
    "seq_read": "seq_read",
    "seq_write": "seq_write",
    "rand_read": "rand_read_iops",
    "fresh_write": "fresh_write_iops",
    "rand_write": "rand_write_iops",
    "read_latency": "read_latency",
    "write_latency": "write_latency",
    "write_amplification": "write_amplification",
    "dwpd": "drive_writes_per_day",
}


def of_sheet(given: Given) -> Side:
    """The side of a sheet of the user. Raises `InputError` if it contradicts itself."""
    followed = _followed(given)
    return Side(str(given["name"]), {key: given[key] for key in SAID if key in given}, followed)


def of_catalogue(name: str) -> Side:
    """The side of a drive of the catalogue: the cells of its sheet. Raises `InputError`."""
    found = sheet.load(name)
    drive = Experiment(device=found.device).to_dict()["device"]
    simulated = _core.capacity_bytes([sources.from_name("device", found.device)])
    published: dict[str, Any] = {"capacity": float(simulated) * int(drive.get("scale", 1))}
    for key, measure in MEASURED.items():
        cells = (it for it in found.cells if it.measure == measure and not it.assumed)
        if (cell := next(cells, None)) is not None:
            published[key] = cell.value
    followed: dict[str, Any] = {"bits": drive.get("cell", {}).get("bits")}
    if "dwpd" in published:
        followed["tbw"] = published["dwpd"] * published["capacity"] * 365 * DEFAULTS["years"]
    return Side(found.title, published, followed)


def compared(sides: Sequence[Side]) -> list[Line]:
    """The lines of a table of the sides; a line that no side has is left out."""
    lines = []
    for key, (title, unit) in SAID.items():
        stated = [key in side.published for side in sides]
        values = [side.published.get(key, side.followed.get(key)) for side in sides]
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
