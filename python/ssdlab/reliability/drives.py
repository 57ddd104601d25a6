"""Failures in a fleet of drives over years: `ssdlab reliability DRIVE`.

Without requests: die failures, isolated bad blocks and defects are drawn drive by drive, and the
engine adds the closed forms. Wear follows from daily writes.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ssdlab import _core
from ssdlab._core import InputError
from ssdlab.rating import closed_form
from ssdlab.running import Experiment, Part

#: Default numbers of drives and years.
DRIVES, YEARS = 10_000, 5.0
#: Gamma shape of isolated bad blocks: most affected drives have one or two.
BAD_BLOCKS_SHAPE = 0.45
#: Maximum deviation of simulated shares from the closed forms, in standard errors.
SURE = 5.0
QLC_BITS = 4


@dataclass(frozen=True)
class Fleet:
    """The question, and the drives' outcome."""

    device: str
    drives: int
    years: float
    seed: int
    assumed_model: bool
    wear: float
    """Erases of a block at the end / its rating."""
    writes_per_day: float
    amplification: float
    found: Mapping[str, Any]

    @property
    def agrees(self) -> bool:
        """True if simulated shares agree with the closed forms."""
        forms = self.found["closed_forms"]
        pairs = [
            (self.found["with_lost_die"], forms["with_lost_die"]),
            (self.found["media_errors"]["drives_with"], forms["with_defects"]),
        ]
        return all(
            abs(share - form) <= SURE * (form * (1 - form) / self.drives) ** 0.5 + 2 / self.drives
            for share, form in pairs
        )

    def to_dict(self) -> dict[str, Any]:
        """The form of `--json`."""
        return {
            "version": _core.version,
            "device": self.device,
            "seed": self.seed,
            "assumed_model": self.assumed_model,
            "wear_at_the_end": self.wear,
            "drive_writes_per_day": self.writes_per_day,
            "write_amplification": self.amplification,
            "agrees": self.agrees,
            **self.found,
        }


def is_drive(device: Part) -> bool:
    """True if a device is a single drive."""
    return bool(Experiment(device=device).to_dict()["device"]["kind"] == "ssd")


def fleet(
    device: Part,
    drives: int = DRIVES,
    years: float = YEARS,
    *,
    bad_blocks: float = 0.0,
    bad_blocks_shape: float = BAD_BLOCKS_SHAPE,
    writes_per_day: float = 0.0,
    amplification: float = 1.0,
    set: Mapping[str, Any] | None = None,
    seed: int = 42,
    progress: Callable[[int, int], object] | None = None,
) -> Fleet:
    """Outcome of `drives` drives after `years`; raises `InputError` for invalid input.

    Die failures and defects follow the keys `device.spares`; isolated bad blocks follow a gamma
    distribution over drives with shape `bad_blocks_shape`.

    >>> found = ssdlab.reliability.drives.fleet("tlc-enterprise")  # doctest: +SKIP
    >>> found.found["afr"]  # doctest: +SKIP
    """
    keys = dict(set or {})
    ageing = ("device.media.", "device.ecc.", "device.retry.", "device.scrub.", "device.spares.",
              "device.health.", "device.parity.stagger")  # fmt: skip
    others = {key: value for key, value in keys.items() if not key.startswith(ageing)}
    plain = Experiment(device=device, set=others).to_dict()["device"]
    if plain.get("kind") != "ssd":
        raise InputError(f'{device}: only a device of kind "ssd" is a fleet of drives')
    named = keys.get("device.media.model", plain.get("media", {}).get("model", "none"))
    if assumed := named == "none":
        qlc = plain["cell"]["bits"] == QLC_BITS
        keys["device.media.model"] = "qlc-3d" if qlc else "tlc-3d"
    if not writes_per_day >= 0:
        raise InputError(f"--writes {writes_per_day}: drive writes a day of 0 or more")
    if not amplification >= 1:
        raise InputError(f"--amplification {amplification}: 1 or more")
    experiment = Experiment(device=device, set=keys)
    found = json.loads(
        _core.fleet(
            experiment.layers,
            drives=drives,
            years=years,
            bad_blocks=bad_blocks,
            bad_blocks_shape=bad_blocks_shape,
            seed=seed,
            progress=progress,
        )
    )
    days = years * closed_form.DAYS_PER_YEAR
    cycles = writes_per_day * days * amplification
    wear = cycles / float(plain["wear"]["rated_cycles"])
    return Fleet(str(device), drives, years, seed, assumed, wear, writes_per_day, amplification,
                 found)  # fmt: skip
