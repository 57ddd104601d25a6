"""Wear reported by a drive: smartctl and nvme smart-log, as JSON or as text.

Only what the file states is read. The raw flash size of a SATA drive, which converts erase counts
to programmed bytes, is in no such file: it is an argument of `Wear.programmed`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

#: Bytes of an NVMe data unit: 1000 blocks of 512 B.
DATA_UNIT = 512_000
#: Names of mean erase counts in smartmontools' database.
ERASES = (
    "Wear_Leveling_Count", "Average_Block_Erase_Count", "Ave_Block_Erase_Count", "Avg_Erase_Count",
    "Average_Erase_Count", "Mean_Erase_Count", "Ave_Block-Erase_Count", "Avg_Block_Erase_Count",
)  # fmt: skip
#: Attributes whose normalised value falls from 100 with wear.
LIFE_LEFT = (
    "Wear_Leveling_Count", "Media_Wearout_Indicator", "SSD_Life_Left", "Percent_Lifetime_Remain",
    "Remaining_Lifetime_Perc", "Perc_Rated_Life_Remain", "Drive_Life_Remaining%", "Wear_Levelling",
    "Percent_Life_Remaining", "Lifetime_Left", "SSD_Life_Left_Perc",
)  # fmt: skip
_UNITS = {
    "kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30, "tib": 1 << 40,
    "mb": 10**6, "gb": 10**9, "tb": 10**12,
}  # fmt: skip
_WRITTEN = re.compile(
    r"(?P<who>Host|Total|Lifetime|NAND|TLC|Flash|Nand)_(?:LBAs_)?(?P<what>Writes?|Written|Reads?)"
    r"(?:_to_.*?)?(?:_(?P<count>\d+)?(?P<unit>[KMGT]i?B))?",
    re.I,
)

#: Bytes programmed, in JSON of `nvme ocp smart-add-log`.
PHYSICAL = "Physical media units written"
#: Bytes of a unit of `nvme intel smart-log-add`.
INTEL_UNIT = 32 << 20
NVME_LINES = ("data_units_written", "data_units_read", "percentage_used", "power_on_hours")
CAPACITIES = ("user_capacity", "total_nvm_capacity", "namespace_1_size/capacity")
_NVME_HEADING = re.compile(r"(?:Additional )?Smart Log for NVME device", re.I)
_INTEL = re.compile(r"^(nand|host)_bytes_written\s*:.*?sectors: *(\d+)", re.M)
_LINE = re.compile(r"^([A-Za-z][\w /-]*?)[ \t]*:[ \t]*(.+)$", re.M)
#: Attributes of ATA, in the long form (-a) and the brief one (-x).
_ATTRIBUTE = re.compile(
    r"^ *\d+ +(\S+) +(?:0x[0-9a-f]+|[A-Z-]{6}) +(\d+) +\d+ +(?:\d+|---) +"
    r"(?:\S+ +\S+ +)?\S+ +(\d+)",
    re.M,
)
#: Statistics of ATA: page, offset, size, value, flags, name.
_STATISTIC = re.compile(r"^0x[0-9a-f]+ +0x[0-9a-f]+ +\d+ +(\d+) +\S+ +(\S.*?) *$", re.M)


@dataclass(frozen=True)
class Wear:
    """Wear of a drive, as far as its file states it."""

    #: Source of the file: `smartctl` or `nvme smart-log`.
    source: str
    model: str | None = None
    capacity_bytes: int | None = None
    host_written_bytes: float | None = None
    host_read_bytes: float | None = None
    #: Bytes programmed into the flash, if counted.
    flash_written_bytes: float | None = None
    #: The mean erase count of the blocks.
    erases: float | None = None
    power_on_hours: float | None = None
    #: Used share of the flash's life, as reported; above 1 beyond its rating.
    life_used: float | None = None

    def programmed(self, flash_bytes: float | None = None) -> float | None:
        """Programmed bytes: as counted, or flash size times mean erase count."""
        if self.flash_written_bytes is not None or flash_bytes is None or self.erases is None:
            return self.flash_written_bytes
        return self.erases * flash_bytes

    def amplification(self, flash_bytes: float | None = None) -> float | None:
        """Write amplification so far; None if an input is unknown."""
        programmed = self.programmed(flash_bytes)
        if programmed is None or not self.host_written_bytes:
            return None
        return programmed / self.host_written_bytes

    @property
    def bytes_per_hour(self) -> float | None:
        """Host bytes written per hour of operation."""
        if self.host_written_bytes is None or not self.power_on_hours:
            return None
        return self.host_written_bytes / self.power_on_hours

    def rating_used(self, rated_bytes: float) -> float | None:
        """Host bytes written, as a share of the rating."""
        return None if self.host_written_bytes is None else self.host_written_bytes / rated_bytes


def wear(said: Any) -> Wear | None:
    """Wear in JSON of `smartctl -j` or `nvme smart-log -o json`; None for other JSON."""
    if not isinstance(said, Mapping):
        return None
    if isinstance(log := said.get("nvme_smart_health_information_log"), Mapping):
        return _common(said, _of_nvme(log, "smartctl"))
    if isinstance(table := _inside(said, "ata_smart_attributes", "table"), list):
        return _common(said, _of_ata(said, [it for it in table if isinstance(it, Mapping)]))
    if "smartctl" in said and _is_scsi(said):
        return _common(said, _of_scsi(said))
    if _number(said.get("data_units_written")) is not None:
        return Wear(**_of_nvme(said, "nvme smart-log"))
    if (physical := _number(said.get(PHYSICAL))) is not None:
        return Wear("nvme ocp smart-add-log", flash_written_bytes=physical)
    return None


def of_text(text: str) -> Wear | None:
    """Wear in the text of `smartctl -a` or `-x`, `nvme smart-log` or `nvme intel smart-log-add`;
    None for other text.
    """
    is_smartctl = text.startswith("smartctl ")
    if not is_smartctl and not _NVME_HEADING.match(text):
        return None
    if written := dict(_INTEL.findall(text)):
        host, flash = (int(written[it]) * INTEL_UNIT for it in ("host", "nand"))
        return Wear("nvme intel smart-log-add", host_written_bytes=host, flash_written_bytes=flash)
    said: dict[str, Any] = {}
    for name, value in _LINE.findall(text):
        said.setdefault(name.strip().lower().replace(" ", "_"), value.strip())
    log = {name: _digits(said.get(name)) for name in NVME_LINES}
    if not is_smartctl:
        return Wear(**_of_nvme(log, "nvme smart-log"))
    common: dict[str, Any] = {"model_name": said.get("device_model", said.get("model_number"))}
    capacity = next((said[it] for it in CAPACITIES if it in said), None)
    common["user_capacity"] = {"bytes": _digits(capacity)}
    if log["data_units_written"] is not None:
        return _common(common, _of_nvme(log, "smartctl"))
    table: list[Mapping[str, Any]] = [
        {"name": name, "value": int(value), "raw": {"value": int(raw)}}
        for name, value, raw in _ATTRIBUTE.findall(text)
    ]
    rows = [{"name": name, "value": int(value)} for value, name in _STATISTIC.findall(text)]
    common["logical_block_size"] = _digits(said.get("sector_size", said.get("sector_sizes")))
    common["ata_device_statistics"] = {"pages": [{"table": rows}]}
    return _common(common, _of_ata(common, table))


def _digits(text: str | None) -> int | None:
    """The number at the beginning of a text, with any separator of thousands."""
    found = re.match(r"\d[\d,.'\u2019\xa0\u202f ]*", text or "")
    return None if found is None else int(re.sub(r"\D", "", found[0]))


def _inside(said: Any, *names: str) -> Any:
    for name in names:
        said = said.get(name) if isinstance(said, Mapping) else None
    return said


def _number(value: Any) -> float | None:
    """A count of at least zero; newer versions write large counts as text, or in two halves."""
    if isinstance(value, Mapping) and {"hi", "lo"} <= set(value):
        high, low = _number(value["hi"]), _number(value["lo"])
        return None if high is None or low is None else high * 2.0**64 + low
    if isinstance(value, str):
        value = value.replace(",", "")
        try:
            value = float(value)
        except ValueError:
            return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1e38:
        return None
    return float(value)


def _common(said: Mapping[str, Any], found: dict[str, Any]) -> Wear:
    """Adds smartctl's properties common to all drives."""
    model = said.get("model_name") or said.get("scsi_model_name")
    capacity = _number(_inside(said, "user_capacity", "bytes"))
    hours = _number(_inside(said, "power_on_time", "hours"))
    found |= {"model": model if isinstance(model, str) else None}
    found |= {"capacity_bytes": None if capacity is None else int(capacity)}
    if hours is not None:
        found["power_on_hours"] = hours
    return Wear(**found)


def _of_nvme(log: Mapping[str, Any], source: str) -> dict[str, Any]:
    used = _first(_number, log.get("percentage_used"), log.get("percent_used"))
    written, read = (_number(log.get(f"data_units_{it}")) for it in ("written", "read"))
    physical = _number(log.get(PHYSICAL))
    return {
        "source": source,
        "host_written_bytes": None if written is None else written * DATA_UNIT,
        "host_read_bytes": None if read is None else read * DATA_UNIT,
        "flash_written_bytes": physical,
        "power_on_hours": _number(log.get("power_on_hours")),
        "life_used": None if used is None else used / 100,
    }


def _first(parse: Callable[[Any], float | None], *values: Any) -> float | None:
    return next((number for value in values if (number := parse(value)) is not None), None)


def _of_ata(said: Mapping[str, Any], table: list[Mapping[str, Any]]) -> dict[str, Any]:
    block = _number(said.get("logical_block_size")) or 512.0
    found: dict[str, Any] = {"source": "smartctl"}
    programs: dict[str, float] = {}
    for row in table:
        name = str(row.get("name", ""))
        raw, value = _number(_inside(row, "raw", "value")), _number(row.get("value"))
        if raw is not None and name in ERASES:
            found.setdefault("erases", raw)
        if name in LIFE_LEFT and value is not None and value <= 100:
            found.setdefault("life_used", 1 - value / 100)
        if raw is None:
            continue
        if name == "Power_On_Hours":
            found["power_on_hours"] = raw % 2**32
        elif name in ("Host_Program_Page_Count", "FTL_Program_Page_Count"):
            programs[name] = raw
        elif (match := _WRITTEN.match(name)) is not None:
            unit = block
            if match["unit"]:
                unit = _UNITS[match["unit"].lower()] * int(match["count"] or 1)
            key = "host_read_bytes" if match["what"].lower().startswith("read") else ""
            is_flash = match["who"].lower() in ("nand", "tlc", "flash")
            key = key or ("flash_written_bytes" if is_flash else "host_written_bytes")
            if not (is_flash and (key == "host_read_bytes" or not match["unit"])):
                found.setdefault(key, raw * unit)
    host = programs.get("Host_Program_Page_Count")
    written = found.get("host_written_bytes")
    if host and written and "FTL_Program_Page_Count" in programs:
        found["flash_written_bytes"] = written * (1 + programs["FTL_Program_Page_Count"] / host)
    return found | _statistics(said, block)


def _statistics(said: Mapping[str, Any], block: float) -> dict[str, Any]:
    """Add ATA device statistics, whose units are standard: they override attributes."""
    found: dict[str, Any] = {}
    pages = _inside(said, "ata_device_statistics", "pages")
    for page in pages if isinstance(pages, list) else []:
        table = _inside(page, "table")
        for row in table if isinstance(table, list) else []:
            number = _number(_inside(row, "value"))
            if number is None or _inside(row, "flags", "valid") is False:
                continue
            match _inside(row, "name"):
                case "Logical Sectors Written":
                    found["host_written_bytes"] = number * block
                case "Logical Sectors Read":
                    found["host_read_bytes"] = number * block
                case "Percentage Used Endurance Indicator":
                    found["life_used"] = number / 100
                case "Power-on Hours":
                    found["power_on_hours"] = number
    return found


def _is_scsi(said: Mapping[str, Any]) -> bool:
    return "scsi_error_counter_log" in said or "scsi_percentage_used_endurance_indicator" in said


def _of_scsi(said: Mapping[str, Any]) -> dict[str, Any]:
    used = _number(said.get("scsi_percentage_used_endurance_indicator"))

    def moved(way: str) -> float | None:
        said_gb = _inside(said, "scsi_error_counter_log", way, "gigabytes_processed")
        gigabytes = _number(said_gb)
        return None if gigabytes is None else gigabytes * 1e9

    return {
        "source": "smartctl",
        "host_written_bytes": moved("write"),
        "host_read_bytes": moved("read"),
        "life_used": None if used is None else used / 100,
    }
