"""The devices of the catalogue in groups, with facts for choosing one.

A device file models a drive. This table has its group, interface and evidence; `catalogue.toml`
(`market`) its price, watts and rated writes.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ssdlab import _core, market, plugins
from ssdlab._core import InputError

TODAY, GENERIC, OLD, DISKS, LAWS, PACKAGES = (
    "flash of today",
    "flash of today, generic",
    "drives of 2008",
    "disks",
    "laws of service times",
    "of other packages",
)
GROUPS = (TODAY, GENERIC, OLD, DISKS, LAWS, PACKAGES)

#: Evidence for a preset.
MEASURED, SHEET, ANNOUNCED, PAPER, NONE = "measured", "sheet only", "announced", "paper", "-"


@dataclass(frozen=True)
class Device:
    """A row of the catalogue."""

    name: str
    group: str
    interface: str
    checked: str
    """Evidence for the preset: measurements, a sheet, an announcement or a paper only, or none."""

    @property
    def rated(self) -> market.Rated | None:
        """Commercial data; None if it cannot be bought."""
        return market.shipped().get(self.name)

    @property
    def summary(self) -> str:
        """The line of `ssdlab list`."""
        return (plugins.names("devices") | dict(_core.list("devices") or []))[self.name]

    @property
    def resolved(self) -> dict[str, Any]:
        """Keys with their values."""
        from ssdlab.running import Experiment

        found: dict[str, Any] = Experiment(device=self.name).to_dict()["device"]
        return found

    @property
    def capacity_bytes(self) -> float | None:
        """Exported capacity of the whole device; None if it depends on the load."""
        from ssdlab import sources

        drive = self.resolved
        scale = int(drive.get("member", drive).get("scale", 1))
        if drive["kind"] == "law" and drive.get("capacity") in (None, "unlimited"):
            return None
        return scale * float(_core.capacity_bytes([sources.from_name("device", self.name)]))

    @property
    def dwpd(self) -> float | None:
        """Rated drive writes per day (DWPD) over five years; from the data sheet for drives without
        a catalogue price.
        """
        if self.rated is not None:
            return self.rated.dwpd
        from ssdlab.device import sheet

        if self.name not in sheet.names():
            return None
        cells = sheet.load(self.name).cells
        return next((it.value for it in cells if it.measure == "drive_writes_per_day"), None)

    @property
    def cells(self) -> str:
        """Kind of cells, if any."""
        drive = self.resolved
        cell = drive if drive["kind"] == "zoned" else drive.get("member", drive).get("cell")
        if cell is None or self.group in (DISKS, LAWS):
            return "-"
        return BITS.get(int(cell["bits"]), f"{cell['bits']} bits")


BITS = {1: "SLC", 2: "MLC", 3: "TLC", 4: "QLC"}

_TODAY = (
    Device("iops-optimised", TODAY, "PCIe 6 x4", ANNOUNCED),
    Device("micron-9550-max", TODAY, "PCIe 5 x4", SHEET),
    Device("samsung-pm1743", TODAY, "PCIe 5 x4", SHEET),
    Device("micron-7450-pro", TODAY, "PCIe 4 x4", MEASURED),
    Device("micron-7450-max", TODAY, "PCIe 4 x4", MEASURED),
    Device("samsung-pm9a3", TODAY, "PCIe 4 x4", MEASURED),
    Device("samsung-990pro", TODAY, "PCIe 4 x4", SHEET),
    Device("wd-sn850x", TODAY, "PCIe 4 x4", SHEET),
    Device("wd-zn540", TODAY, "PCIe 3 x4", MEASURED),
    Device("samsung-980pro", TODAY, "PCIe 4 x4", SHEET),
    Device("wd-sn580", TODAY, "PCIe 4 x4", SHEET),
    Device("samsung-bm1743", TODAY, "PCIe 4 x4", SHEET),
    Device("micron-5210-ion", TODAY, "SATA", SHEET),
    Device("samsung-970pro", TODAY, "PCIe 3 x4", SHEET),
    Device("samsung-983zet", TODAY, "PCIe 3 x4", MEASURED),
    Device("micron-5400-pro", TODAY, "SATA", SHEET),
    Device("samsung-870evo", TODAY, "SATA", SHEET),
)
_GENERIC = tuple(
    Device(name, GENERIC, "PCIe 4 x4", NONE)
    for name in ("tlc-enterprise", "tlc-client", "qlc-enterprise")
)
_OLD = (
    Device("agrawal2008", OLD, "unlimited", PAPER),
    Device("mlc-2008", OLD, "unlimited", PAPER),
    Device("agrawal2008-array-6", OLD, "unlimited", PAPER),
    Device("agrawal2008-array-10", OLD, "unlimited", PAPER),
    Device("disksim-ssd", OLD, "DiskSim's bus", PAPER),
    Device("enterprise-ssd", OLD, "Fibre Channel", PAPER),
    Device("laptop-ssd", OLD, "SATA 1.5 Gb/s", PAPER),
    Device("usb-stick", OLD, "USB 2", PAPER),
    Device("mtron", OLD, "SATA 1.5 Gb/s", PAPER),
    Device("samsung-2007", OLD, "IDE", PAPER),
    Device("iodrive", OLD, "PCIe x4", PAPER),
)
_DISKS = (
    Device("nearline-24tb", DISKS, "SATA", SHEET),
    Device("sata-2008", DISKS, "SATA", SHEET),
    Device("hybrid-disk", DISKS, "SATA", NONE),
    Device("nvram-raid5", DISKS, "SCSI", NONE),
    Device("scsi-15k", DISKS, "SCSI", SHEET),
    Device("atlas10k", DISKS, "SCSI", MEASURED),
    Device("barracuda", DISKS, "SCSI", MEASURED),
    Device("cheetah9lp", DISKS, "SCSI", MEASURED),
    Device("hp-c3323a", DISKS, "SCSI", MEASURED),
)
_LAWS = (
    Device("intel-p4800x", LAWS, "PCIe 3 x4", MEASURED),
    Device("zeus-linear", LAWS, "-", MEASURED),
    Device("null", LAWS, "-", NONE),
)
#: All presets in display order.
DEVICES: Mapping[str, Device] = {it.name: it for it in (*_TODAY, *_GENERIC, *_OLD, *_DISKS, *_LAWS)}


def to_buy() -> list[Device]:
    """Drives on sale."""
    return [it for it in DEVICES.values() if it.rated is not None]


def of_packages() -> list[Device]:
    """Valid devices from installed packages."""
    found = []
    for name in plugins.found("devices"):
        row = Device(name, PACKAGES, "-", NONE)
        try:
            is_new = bool(row.resolved) and name not in DEVICES
        except InputError:
            continue  # reported in full when requested by name
        found += [row] if is_new else []
    return found


def kinds() -> dict[str, str]:
    """Kinds of devices, each with its summary."""
    return {name: stated for name, stated in _core.list("devices") or [] if name not in DEVICES}


def about(words: str) -> list[Device]:
    """Devices that contain all parts of `words` in name, group and interface, or in the summary.

    Raises `InputError` with near matches if there are none.

    >>> [it.name for it in about("7450")]
    ['micron-7450-pro', 'micron-7450-max']
    """
    parts = words.lower().replace("-", " ").split()
    every = [*DEVICES.values(), *of_packages()]

    def having(said: Callable[[Device], str]) -> list[Device]:
        texts = {it: said(it).lower().replace("-", " ") for it in every}
        return [it for it, text in texts.items() if all(part in text for part in parts)]

    parts = ["zoned" if part == "zns" else part for part in parts]
    found = having(lambda it: f"{it.name} {it.group} {it.interface}")
    if found := found or having(lambda it: it.summary):
        return found
    near = difflib.get_close_matches(words, DEVICES, n=3, cutoff=0.4)
    hint = f"; did you mean {', '.join(near)}?" if near else "; ssdlab list devices has them all"
    raise InputError(f'no device is about "{words}"{hint}')
