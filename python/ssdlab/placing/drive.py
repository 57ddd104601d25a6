"""The drive of a placement study: spare space, reclaim units, endurance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ssdlab import _core, sources
from ssdlab._core import InputError
from ssdlab.running import Experiment

#: Defaults without a device: reclaim units, and flash beyond the capacity. 7 % is the excess of 1
#: GiB over 1 GB, the minimum of most drives.
UNITS = 512
SPARE = 0.07
#: A drive's superblock is taken as its reclaim unit, within these bounds of their number.
LEAST_UNITS, MOST_UNITS = 16, 1 << 20


@dataclass(frozen=True)
class Drive:
    """Parameters of a drive that matter for placement."""

    name: str | None
    units: int
    """Reclaim units."""
    spare: float
    """Over-provisioning: flash beyond the capacity, as a share of it."""
    capacity_bytes: float | None = None
    rated_cycles: int | None = None

    @classmethod
    def of(cls, device: str | None, units: int | None, spare: float | None) -> Drive:
        """Values of a preset or TOML file, overridden by the caller's units or spare space.

        >>> Drive.of(None, None, 0.28)
        Drive(name=None, units=512, spare=0.28, capacity_bytes=None, rated_cycles=None)
        """
        if units is not None and not LEAST_UNITS <= units <= MOST_UNITS:
            raise InputError(f"units = {units}: give {LEAST_UNITS} to {MOST_UNITS} reclaim units")
        if spare is not None and not 0.0 < spare <= 10.0:
            raise InputError(
                f"spare = {spare}: give the flash beyond the capacity as a share of it, above 0 "
                "to 10"
            )
        if device is None:
            return cls(None, units or UNITS, SPARE if spare is None else spare)
        layer = sources.from_name("device", device)
        keys = Experiment(device=device).to_dict()["device"]
        if keys["kind"] != "ssd":
            raise InputError(
                f'device {device}: kind "{keys["kind"]}" has no reclaim units; give a device of '
                "kind ssd (`ssdlab list devices`)"
            )
        capacity = float(_core.capacity_bytes([layer])) * int(keys.get("scale", 1))
        found = int(keys["blocks_per_plane"])
        own_units = min(max(found, LEAST_UNITS), MOST_UNITS)
        own_spare = _flash_bytes(keys) / capacity - 1
        return cls(
            device,
            own_units if units is None else units,
            own_spare if spare is None else spare,
            capacity,
            int(keys["wear"]["rated_cycles"]),
        )

    @property
    def flash_bytes(self) -> float | None:
        """Data bytes of the flash."""
        return None if self.capacity_bytes is None else self.capacity_bytes * (1 + self.spare)


def _flash_bytes(keys: dict[str, Any]) -> float:
    """Data bytes of a device's flash, without parity and summary pages."""
    from ssdlab.units import SIZE

    counts = ("channels", "packages_per_channel", "dies_per_package", "planes_per_die")
    flash = SIZE.parse("device.page_size", str(keys["page_size"]))
    for key in (*counts, "blocks_per_plane", "pages_per_block"):
        flash *= int(keys[key])
    of = int(keys.get("parity", {}).get("of", 0))
    if of > 0:
        flash *= (of - 1) / of
    if keys.get("summary_page"):
        flash *= 1 - 1 / int(keys["pages_per_block"])
    return float(flash)
