"""Parsed values of a data sheet, for `ssdlab device from-datasheet`.

Each key is a row of `KEYS`, from which the template and messages are generated.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ssdlab import _core, toml
from ssdlab._core import InputError
from ssdlab.units import BANDWIDTH, IOPS, RATIO, SIZE, TIME, Unit, time_text

Reader = Callable[[str, Any], Any]


@dataclass(frozen=True)
class Key:
    """A key of a sheet: parser, example and description."""

    read: Reader
    example: str
    doc: str
    needed: bool = False


def _text(where: str, value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise InputError(f"{where} = {value!r}: expected a string")
    return value


def _truth(where: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise InputError(f"{where} = {value!r}: expected true or false")
    return value


def _count(most: int) -> Reader:
    def read(where: str, value: Any) -> int:
        if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= most:
            raise InputError(f"{where} = {value!r}: expected a whole number from 1 to {most}")
        return value

    return read


#: PCI Express in vendors' notation, as in "PCIe 4.0 x4", "PCI Express Gen4" or "Gen 5x4".
_PCIE = re.compile(
    r"(?:pcie|pci express|gen)[ -]*(?:gen)?[ -]*([1-6])(?:\.[0-9])?(?:[ ,]*x ?([0-9]+))?"
)
#: Assumed number of lanes, as in U.2, M.2 and E3.S.
LANES = 4
#: Other links in vendors' notation; without a number, the newest.
_SERIAL = (
    (r"sata.*\b1\.5 ?gb|sata[ -]*(i|1)\b", "sata-150"),
    (r"sata.*\b3(\.0)? ?gb|sata[ -]*(ii|2)\b", "sata-300"),
    (r"sata.*\b6(\.0)? ?gb|sata(?!.*gb)", "sata-600"),
    (r"sas.*\b3(\.0)? ?gb|sas[ -]*1\b", "sas-300"),
    (r"sas.*\b6(\.0)? ?gb|sas[ -]*2\b", "sas-600"),
    (r"sas.*\b12(\.0)? ?gb|sas(?!.*gb)", "sas-1200"),
)


def link_of(said: str) -> tuple[str | None, bool]:
    """The host link in a vendor's text, if any, and True if the lanes are assumed.

    >>> link_of("PCIe 4.0 x4, NVMe 1.4"), link_of("PCI Express Gen5"), link_of("SATA 6Gb/s")
    (('pcie4-x4', False), ('pcie5-x4', True), ('sata-600', False))
    """
    signs = said.replace("\N{MULTIPLICATION SIGN}", "x").replace("\N{REGISTERED SIGN}", "")
    plain = " ".join(signs.lower().split())
    if found := _PCIE.search(plain):
        generation, lanes = found[1], found[2]
        return f"pcie{'' if generation == '1' else generation}-x{lanes or LANES}", lanes is None
    return next((link for form, link in _SERIAL if re.search(form, plain)), None), False


def _link(where: str, value: Any) -> str:
    links = dict(_core.list("links") or [])
    if isinstance(value, str):
        if value in links:
            return value
        if (found := link_of(value)[0]) in links:
            return str(found)
    raise InputError(
        f'{where} = {value!r}: expected a host link such as "PCIe 4.0 x4" or "SATA 6Gb/s", or as '
        "ssdlab list links names it"
    )


def _with(suffix: str, unit: Unit) -> Reader:
    """Parser of a quantity with a vendor's suffix: "1 DWPD", "5 years", "1752 TBW"."""
    end = re.compile(rf"\s*-?{suffix}\s*$", re.IGNORECASE)

    def read(where: str, value: Any) -> float:
        return unit.parse(where, end.sub("", value) if isinstance(value, str) else value)

    return read


def _amplification(where: str, value: Any) -> float:
    found = RATIO.parse(where, value)
    if found < 1:
        raise InputError(f"{where} = {value}: a write amplification is at least 1")
    return found


_DEPTH = _count(65536)

#: Every key, in the order of the template.
KEYS: Mapping[str, Key] = {
    "name": Key(_text, '"My drive 960 GB"', "Name of the drive.", True),
    "capacity": Key(SIZE.parse, '"960GB"', "Exported capacity.", True),
    "interface": Key(_link, '"pcie4-x4"', "The host link, as `ssdlab list links` names it.", True),
    "read_latency": Key(TIME.parse, '"80us"', "Latency of a 4 KiB random read at QD1."),
    "write_latency": Key(TIME.parse, '"15us"', "Latency of a 4 KiB random write at QD1."),
    "seq_read": Key(BANDWIDTH.parse, '"6500MB/s"', "Bandwidth of 128 KiB sequential reads.", True),
    "seq_write": Key(
        BANDWIDTH.parse,
        '"1500MB/s"',
        "Sustained bandwidth of sequential writes, beyond any SLC cache.",
        True,
    ),
    "rand_read": Key(IOPS.parse, '"580K/s"', "IOPS of 4 KiB random reads at rand_read_depth."),
    "rand_read_depth": Key(_DEPTH, "256", "Total queue depth; 256."),
    "rand_write": Key(IOPS.parse, '"70K/s"', "IOPS of random writes in steady state."),
    "rand_write_depth": Key(_DEPTH, "256", "Total queue depth; 256."),
    "rand_write_block": Key(SIZE.parse, '"4KiB"', "The size of these writes; 4KiB."),
    "fresh_write": Key(IOPS.parse, '"500K/s"', "IOPS of 4 KiB random writes on a fresh drive."),
    "fresh_write_depth": Key(_DEPTH, "128", "Total queue depth; 128."),
    "raw_capacity": Key(SIZE.parse, '"1TiB"', "Raw flash capacity, if known."),
    "bits": Key(_count(4), "3", "Bits per cell, if known: 1 (SLC) to 4 (QLC)."),
    "dies": Key(_count(4096), "16", "Number of flash dies, if known."),
    "mapping_unit": Key(SIZE.parse, '"4KiB"', "Mapping unit; 4KiB."),
    "power_loss_protected": Key(
        _truth, "true", "Power-loss protection, so that flushes are free; true."
    ),
    "write_amplification": Key(
        _amplification, "4.2", "Measured, 4 KiB random writes over the whole drive."
    ),
    "tbw": Key(
        _with("(?<=[PTG]B)W", SIZE),
        '"1752TB"',
        "Endurance, bytes written by the host. This, dwpd or both.",
    ),
    "dwpd": Key(_with("DWPD", RATIO), "1.0", "Endurance, drive writes per day over `years`."),
    "years": Key(_with("years?", RATIO), "5", "Years for which dwpd is rated; 5."),
}

#: Optional latencies, with the rate that bounds each.
LATENCIES = {"read_latency": "rand_read", "write_latency": "fresh_write"}

DEFAULTS: Mapping[str, Any] = {
    "rand_read_depth": 256,
    "rand_write_depth": 256,
    "rand_write_block": 4096.0,
    "fresh_write_depth": 128,
    "mapping_unit": 4096.0,
    "power_loss_protected": True,
    "years": 5.0,
}


#: Assumed QD1 latencies of a read, by bits per cell, and of a write: rounded values of measured
#: presets. SATA adds to both.
READ_LATENCIES = {1: 20e-6, 2: 50e-6, 3: 80e-6, 4: 110e-6}
WRITE_LATENCY = 15e-6
SATA_LATENCY = 40e-6
#: A latency depends on an assumed one above this share.
GOOD_PART = 0.1


@dataclass(frozen=True)
class Given:
    """The sheet: its values, and their positions for messages."""

    source: str
    values: Mapping[str, Any]
    written: Mapping[str, Any]

    def __contains__(self, key: str) -> bool:
        return key in self.values

    def __getitem__(self, key: str) -> Any:
        """The value in base units, or the default of the key; a latency may be assumed."""
        if key in self.values:
            return self.values[key]
        return self._assumed(key) if key in LATENCIES else DEFAULTS[key]

    def _assumed(self, key: str) -> float:
        """A typical value for a missing latency, bounded by the sheet's rates."""
        typical = WRITE_LATENCY
        if key == "read_latency":
            typical = READ_LATENCIES[self.values.get("bits", 3)]
        typical += SATA_LATENCY if self.most_slots is not None else 0.0
        rate = self.values.get(LATENCIES[key])
        return min(typical, self.depth(LATENCIES[key]) / rate) if rate else typical

    def guess_behind(self, operation: str, seconds: float) -> str | None:
        """The assumed latency that dominates the operation's latency, if any."""
        key = f"{operation}_latency"
        guessed = key in LATENCIES and key not in self and self[key] > GOOD_PART * seconds
        return key if guessed else None

    @property
    def most_slots(self) -> int | None:
        """Maximum queue depth of the link: 32 with SATA NCQ (Serial ATA 3.0, 13.6)."""
        return 32 if self["interface"].startswith(("sata-", "ata-")) else None

    def depth(self, key: str) -> int:
        """Commands in the drive at the rate `key`; further commands wait in the host."""
        depth: int = self[f"{key}_depth"]
        return min(depth, self.most_slots or depth)

    def dwpd(self, years: float) -> float | None:
        """Rated drive writes per day over `years`; None without a rating."""
        if "dwpd" in self:
            return float(self["dwpd"] * self["years"] / years)
        return float(self["tbw"] / (365 * years * self["capacity"])) if "tbw" in self else None

    def get(self, key: str) -> Any:
        """The value; None if the sheet lacks it."""
        return self.values.get(key)

    def shown(self, key: str) -> str:
        """A key and its value in the sheet's wording."""
        if key in LATENCIES and key not in self:
            return f"{key}, assumed as {time_text(self[key])}"
        value = self.written.get(key, DEFAULTS.get(key))
        if isinstance(value, bool):
            return f"{key} = {str(value).lower()}"
        return f'{key} = "{value}"' if isinstance(value, str) else f"{key} = {value:g}"


def parse(source: str, text: str) -> Given:
    """The sheet in `text`; `source` names it in messages.

    Raises `InputError` for an unknown or missing key, and for a missing unit.
    """
    table = toml.parse(source, text)
    for key in table:
        if key not in KEYS:
            near = difflib.get_close_matches(key, KEYS, n=1)
            hint = f" (did you mean {near[0]}?)" if near else ""
            raise InputError(
                f'{source}: there is no key "{key}"{hint}; '
                "ssdlab device from-datasheet --template shows all keys"
            )
    missing = [key for key, row in KEYS.items() if row.needed and key not in table]
    if missing:
        raise InputError(
            f"{source}: {' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing; "
            f"ssdlab device from-datasheet --template shows a sheet"
        )
    values = {key: KEYS[key].read(f"{source}, {key}", value) for key, value in table.items()}
    return Given(source, values, table)


def template() -> str:
    """A sheet with every key; optional keys are comments."""
    lines = [
        "# A data sheet for `ssdlab device from-datasheet THIS.toml --out my.toml`.",
        "# Keys that begin with # are optional; missing values are assumed, and reported.",
        "",
    ]
    width = max(len(f"{key} = {row.example}") for key, row in KEYS.items()) + 3
    for key, row in KEYS.items():
        setting = f"{'' if row.needed else '#'}{key} = {row.example}"
        lines.append(f"{setting:{width}}# {row.doc}")
    return "\n".join(lines) + "\n"
