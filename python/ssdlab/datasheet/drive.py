"""A drive derived from its data sheet: its parts, and the device file."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass, field
from typing import Any

from ssdlab.datasheet.arithmetic import Flash
from ssdlab.units import size_text, time_text

#: Target number of mapped units in simulation: larger drives are scaled down to at most twice this.
SIMULATED_UNITS = 2_000_000
#: Minimum number of word lines per block: a 176-die drive with one was 18 % slower.
LEAST_WORD_LINES = 3
#: Number of erased superblocks below which garbage collection runs: more would waste spare space.
SUPERBLOCKS_FREE = 4


@dataclass
class Drive:
    """Solution of a data sheet; `origins` has the kind and text of each key's origin."""

    name: str
    capacity: float
    flash: Flash
    independent: bool
    word_lines: int
    blocks: int
    erase: float
    cores: int
    firmware_read: float
    firmware_write: float
    link: float
    link_latency: float
    slots: int
    protected: bool
    cycles: int
    origins: dict[str, tuple[str, str]] = field(default_factory=dict)
    assumptions: list[str] = field(default_factory=list)
    #: Keys chosen by a measurement, overriding assumptions.
    chosen: dict[str, str] = field(default_factory=dict)

    @property
    def physical(self) -> float:
        """Number of data pages."""
        flash = self.flash
        return self.blocks * self.word_lines * flash.dies * flash.group

    @property
    def scale(self) -> int:
        """Scale: 1 / scale of each block is simulated."""
        scale = 1
        while (
            self.capacity / self.flash.unit / scale > 2 * SIMULATED_UNITS
            and self.word_lines % (2 * scale) == 0
            and self.word_lines >= 2 * scale * LEAST_WORD_LINES
        ):
            scale *= 2
        return scale

    def keys(self) -> dict[str, Any]:
        """The device section, nested as in a file."""
        found = self._keys()
        for key, value in self.chosen.items():
            section: dict[str, Any] = found
            *path, last = key.removeprefix("device.").split(".")
            for word in path:
                section = section[word]
            section[last] = int(value) if value.isdigit() else value
            self.origins[".".join([*path, last])] = ("fitted", "to what was measured by fio")
        return found

    def _keys(self) -> dict[str, Any]:
        flash = self.flash
        stripe = flash.dies * flash.group
        return {
            "kind": "ssd",
            "capacity": size_text(self.capacity),
            "channels": flash.channels,
            "packages_per_channel": 1,
            "dies_per_package": flash.dies // flash.channels,
            "planes_per_die": flash.planes,
            "blocks_per_plane": self.blocks,
            "pages_per_block": self.word_lines * flash.bits,
            "page_size": size_text(flash.page),
            "spare_size": size_text(flash.spare),
            "summary_page": False,
            "logical_page": size_text(flash.unit),
            "cache_commands": True,
            "scale": self.scale,
            "cell": {
                "bits": flash.bits,
                "program": "one-shot",
                "planes": "independent" if self.independent else "shared",
            },
            "timing": {
                "read": time_text(flash.read),
                "program": time_text(flash.program),
                "erase": time_text(self.erase),
                "command": time_text(flash.command),
                "bus_rate": f"{flash.bus / 1e6:g}MT/s",
            },
            "suspend": {
                "program": "35us",
                "erase": "35us",
                "step": "20us",
                "limit": 8,
                "unless_backlog": 64,
            },
            "firmware": {
                "cores": self.cores,
                "read": time_text(self.firmware_read),
                "write": time_text(self.firmware_write),
            },
            "buffer": {
                "size": size_text(2 * stripe),
                "copies": size_text(2 * stripe),
                "power_loss_protected": self.protected,
            },
            "cleaning": {
                "reclaim": "superblock",
                "pace": "token",
                "min_free": round(SUPERBLOCKS_FREE / self.blocks, 6),
            },
            "host_link": {
                "bandwidth": f"{self.link / 1e6:.10g}MB/s",
                "latency": time_text(self.link_latency),
                "duplex": "full",
                "queue_depth": self.slots,
                "order": "round-robin",
            },
            "wear": {"rated_cycles": self.cycles},
        }

    def file(self, head: list[str]) -> str:
        """The device file, with `head` as its first comment and the origin of each number."""
        lines = [f"# {part}" for text in head for part in textwrap.wrap(text, 98)]
        lines += ["#", "# Assumed:"]
        for text in self.assumptions:
            lines += [f"# {part}" for part in textwrap.wrap(f"- {text}", 98)]
        lines += ["", *self._section("device", self.keys())]
        return "\n".join(lines) + "\n"

    def _section(self, path: str, keys: dict[str, Any]) -> list[str]:
        plain = {key: value for key, value in keys.items() if not isinstance(value, dict)}
        lines = [f"[{path}]"]
        for key, value in plain.items():
            origin = self.origins.get(f"{path}.{key}".removeprefix("device."))
            if origin is not None:
                lines += [f"# {part}" for part in textwrap.wrap(": ".join(origin), 98)]
            lines.append(f"{key} = {_toml(value)}")
        for key, value in keys.items():
            if isinstance(value, dict):
                lines += ["", *self._section(f"{path}.{key}", value)]
        return lines


def _toml(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f'"{value}"' if isinstance(value, str) else str(value)
