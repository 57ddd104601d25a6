"""Expected data losses of an array over years: `ssdlab reliability`.

Redundancy, members and their capacity are taken from the array. The engine runs the Monte Carlo
simulation; times are distributions such as "weibull(461386h, 1.12)".
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from ssdlab import _core, layers, sources
from ssdlab._core import InputError
from ssdlab.units import BANDWIDTH

#: Default assumptions: a data sheet's MTTF, and a day.
LIFE, REPAIR = "1000000h", "24h"
HOURS_OF_YEAR = 8_760


@dataclass(frozen=True)
class Array:
    """An array: groups of members that tolerate some failures."""

    name: str
    redundancy: str
    groups: int
    members: int
    """Members per group."""
    tolerated: int
    member_bytes: int
    rebuild_hours: float | None
    """Rebuild time of a member at the rate limit; None without a limit."""

    @property
    def data_bytes(self) -> int:
        """Capacity of a group for hosts."""
        return self.member_bytes * (self.members - self.tolerated)


@dataclass(frozen=True)
class Times:
    """Distributions of member lifetime, repair time and latent defects."""

    life: str = LIFE
    repair: str = REPAIR
    repairs_together: bool = False
    """True if several missing members are repaired in parallel, False if one by one."""
    defects: str | None = None
    scrub: str | None = None
    defect_bytes: int = 4096


@dataclass(frozen=True)
class Outlook:
    """The question, and the groups' losses."""

    array: Array
    times: Times
    years: float
    groups: int
    seed: int
    found: dict[str, Any]
    """Figures per group, described in `docs/reliability.md`."""

    @property
    def of_array(self) -> float:
        """Expected losses of the whole array in the mission time."""
        return float(self.found["losses"]) * self.array.groups

    @property
    def over_mttdl(self) -> float:
        """Losses relative to the MTTDL formula."""
        return float(self.found["losses"] / self.found["losses_by_mttdl"])

    def to_dict(self) -> dict[str, Any]:
        """The form of `--json`."""
        return {
            "version": _core.version,
            "array": {**asdict(self.array), "data_bytes": self.array.data_bytes},
            "times": asdict(self.times),
            "years": self.years,
            "groups": self.groups,
            "seed": self.seed,
            "array_losses": self.of_array,
            "losses_over_mttdl": self.over_mttdl,
            **self.found,
        }


def read(array: str | os.PathLike[str], changes: Sequence[layers.Layer] = ()) -> Array:
    """The array in a preset or a TOML file. Raises `InputError` for other devices."""
    return of_stack(os.fspath(array), [sources.from_name("device", array, "ARRAY"), *changes])


def of_stack(name: str, stack: Sequence[layers.Layer]) -> Array:
    """The array of an experiment's layers, whole drives where they are scaled.

    Raises `InputError` for other devices.
    """
    device = json.loads(_core.resolve_json(stack))["device"]
    if device["kind"] != "array":
        raise InputError(f'{name}: device.kind is "{device["kind"]}"; reliability needs an "array"')
    redundancy, count = device["redundancy"], device["members"]
    tolerated = {"none": 0, "mirror": device["copies"] - 1, "double-parity": 2}.get(redundancy, 1)
    members = {"none": count, "mirror": device["copies"]}.get(redundancy, count)
    groups = count // members
    scale = int(device["member"].get("scale", 1))
    member_bytes = _core.capacity_bytes(stack) * scale // (groups * (members - tolerated))
    rate = device["rebuild"]["rate"]
    hours = None
    if redundancy != "none" and rate != "unlimited":
        hours = member_bytes / BANDWIDTH.parse("device.rebuild.rate", rate) / 3600
    return Array(name, redundancy, groups, members, tolerated, member_bytes, hours)


def outlook(
    array: Array,
    times: Times,
    years: float = 10.0,
    groups: int = 100_000,
    seed: int = 42,
    progress: Callable[[int, int], object] | None = None,
) -> Outlook:
    """Losses of `groups` groups of `array` in `years`. Raises `InputError` for invalid input."""
    found = _core.reliability(
        members=array.members,
        tolerated=array.tolerated,
        member_bytes=array.member_bytes,
        life=times.life,
        repair=times.repair,
        repairs_together=times.repairs_together,
        defects=times.defects,
        scrub=times.scrub,
        defect_bytes=times.defect_bytes,
        years=years,
        groups=groups,
        seed=seed,
        progress=progress,
    )
    return Outlook(array, times, years, groups, seed, json.loads(found))
