"""Retention of a drive without power: `ssdlab retention`.

Two independent computations are compared. The engine's closed form integrates over the pages of the
whole drive. A simulation ages the scaled drive and reads it once. The scaled drive has few word
lines, with a milder worst case, so it is compared with the closed form over its own word lines.
Retries must agree, and losses within their random variation.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from ssdlab import _core
from ssdlab._core import InputError
from ssdlab.running import Experiment, Part
from ssdlab.units import SIZE, share

#: Requests of the read of the whole drive, and their queue depth.
BLOCK, OUTSTANDING = 128 * 1024, 32
#: Maximum difference of the two retry counts, relative and absolute: blocks differ.
AGREES, AGREES_AT_LEAST = 0.02, 0.02
#: Permitted difference of the two losses, in standard deviations and pages.
DEVIATIONS, FEW_PAGES = 4.0, 3.0
#: Keys of drives with ageing data.
AGEING = ("device.media.", "device.ecc.", "device.retry.", "device.scrub.", "device.spares.",
          "device.health.", "device.parity.stagger")  # fmt: skip
#: Four-bit cells age by the QLC law, all others by the TLC law, for lack of other laws.
QLC_BITS = 4


@dataclass(frozen=True)
class Reading:
    """A read of the scaled drive."""

    mb_per_s: float
    mean_retries: float
    retried_share: float
    pages: int
    uncorrectable: int
    rebuilt: int
    unreadable: int
    clock_days: float

    @property
    def lost(self) -> int:
        """Pages that could not be read, even with parity."""
        return self.uncorrectable - self.rebuilt


@dataclass(frozen=True)
class Kept:
    """Question, closed form, and the read of the scaled drive when new and when aged."""

    device: str
    age: str
    cycles: float
    wear: str
    """Origin of the cycles."""
    assumed_model: bool
    """True if the device names no law of ageing: its cell type's was taken."""
    scale: int
    form: Mapping[str, Any]
    new: Reading
    aged: Reading

    @property
    def verdict(self) -> str:
        """ "kept" or "lost" if true within a factor of ten of the losses, else "open"."""
        return str(self.form["verdict"])

    @property
    def expected_retries(self) -> float:
        """Expected retries per page in closed form"""
        return float(self.form["simulated"]["mean_retries"])

    @property
    def expected_lost(self) -> float:
        """Expected lost pages of the scaled drive, by the closed form over its word lines."""
        return float(self.form["simulated"]["page_lost"]) * self.aged.pages

    @property
    def deviation_of_lost(self) -> float:
        """Standard deviation of the number of lost pages."""
        form, lost = self.form["simulated"], self.expected_lost
        blocks = max(1.0, self.aged.pages / form["pages_of_block"])
        # Variance over blocks, plus pages within blocks.
        of_blocks = lost**2 * form["variance_of_blocks"] / blocks
        return math.sqrt(form["lost_together"] * lost + of_blocks)

    @property
    def compares_retries(self) -> bool:
        """True if the closed form covers the retries: not with references remembered from the last
        read.
        """
        return bool(self.form.get("retries_compare", True))

    @property
    def agrees(self) -> bool:
        """True if closed form and simulation agree."""
        expected = self.expected_retries
        off = abs(self.aged.mean_retries - expected)
        if self.compares_retries and off > max(AGREES * expected, AGREES_AT_LEAST):
            return False
        off = abs(self.aged.lost - self.expected_lost)
        return off <= DEVIATIONS * self.deviation_of_lost + FEW_PAGES

    def to_dict(self) -> dict[str, Any]:
        """The form of `--json`."""
        return {
            "device": self.device,
            "age": self.age,
            "cycles": self.cycles,
            "wear": self.wear,
            "assumed_model": self.assumed_model,
            "scale": self.scale,
            "verdict": self.verdict,
            "closed_form": dict(self.form),
            "simulated": {
                "new": asdict(self.new),
                "aged": asdict(self.aged),
                "expected_lost": self.expected_lost,
                "deviation_of_lost": self.deviation_of_lost,
                "agrees": self.agrees,
            },
            "evidence": self.evidence,
        }

    @property
    def evidence(self) -> str:
        """Evidence for the numbers, for the terminal and for `--json`."""
        retries = "" if self.compares_retries else f"{UNCOMPARED} "
        return f"{retries}{SPREADS[self.form['spread_origin']]} {EVIDENCE}"


#: Note on reads that begin at the last good reference.
UNCOMPARED = (
    "Retries depend on what was read before (device.retry.reference); those of the closed form "
    "begin at the table and are not compared."
)
#: Notes on reliability, by origin of the spread between pages.
SPREADS = {
    "given": (
        "How far to trust it: the spread between pages is the one given "
        "(device.media.spread_errors); it is worth many orders of magnitude of losses."
    ),
    "rating": (
        "How far to trust it: the spread between pages is derived from the drive's rating, so a "
        "drive within its rating keeps its data because the rating is believed."
    ),
    "out of reach": (
        "How far to trust it: no spread between pages meets the drive's rating, which is out of "
        "reach of this chip; 0.1 was taken, and the drive loses data before its rating."
    ),
}
#: Maximum wear, as a share of the rated cycles.
MOST_WORN = 10.0
EVIDENCE = (
    "What time adds to the errors "
    "rests on one recalled figure of one chip; losses are right to a factor of ten at best. "
    "Retries rest on four published conditions of another chip. No published test of worn drives "
    "left unpowered confirms either."
)


def retention(
    device: Part,
    age: str,
    *,
    worn: str | float | None = None,
    written: str | None = None,
    data: str | None = None,
    set: Mapping[str, Any] | None = None,
    seed: int | None = None,
    allow_code: bool = False,
) -> Kept:
    """Losses of `device` after `age`, such as "1y at 40C", without power.

    `device` is a preset, a file or keys. `worn` is a share of the rated cycles, such as "50%",
    `written` what was written to the whole drive, such as "300TB", at a write amplification of 1.
    `data` is the amount of data, such as "1TB"; None for the whole drive. `set` changes single
    keys. Without `worn` and `written` the wear is `device.media.cycles`, 0 by default. Raises
    `InputError` for wrong input.

    >>> found = ssdlab.retention("tlc-client", "1y at 40C", worn="50%")  # doctest: +SKIP
    >>> found.verdict, found.form["kept"]["pages_lost"]  # doctest: +SKIP
    """
    keys: dict[str, Any] = dict(set or {})
    how: dict[str, Any] = {"device": device, "seed": seed, "allow_code": allow_code}
    # Keys of ageing need a law, which the device may lack.
    others = {key: value for key, value in keys.items() if not key.startswith(AGEING)}
    if "device.media.model" in keys:
        others["device.media.model"] = keys["device.media.model"]
    plain = Experiment(**how, set=others).to_dict()["device"]
    if plain.get("kind") != "ssd":
        raise InputError(f'{_name(device)}: retention needs a device of kind "ssd"')
    assumed = plain.get("media", {}).get("model", "none") == "none"
    if assumed:
        qlc = plain["cell"]["bits"] == QLC_BITS
        keys["device.media.model"] = "qlc-3d" if qlc else "tlc-3d"
    scale = int(plain["scale"])
    capacity = _core.capacity_bytes(Experiment(**how, set=keys).layers)
    rated = int(plain["wear"]["rated_cycles"])
    stated = Experiment(**how, set=keys).to_dict()["device"].get("media", {}).get("cycles", 0)
    if worn is None and written is None and stated:
        cycles, wear = float(stated), f"{stated:,} cycles (device.media.cycles)"
    elif stated:
        option = "--worn" if written is None else "--written"
        problem = (
            f"device.media.cycles = {stated} and {option} both state the wear: give one of them"
        )
        raise InputError(problem)
    else:
        share_worn = None if worn is None else share("--worn", worn, MOST_WORN)
        bytes_written = SIZE.given("--written", written)
        cycles, wear = _cycles(share_worn, bytes_written, rated, capacity * scale)
    keys["device.media.cycles"] = round(cycles)
    load = {
        "kind": "closed",
        "read_share": 1.0,
        "random_share": 0.0,
        "block_size": f"{BLOCK}B",
        "outstanding": OUTSTANDING,
        "requests": max(1, capacity // BLOCK),
    }

    def experiment(run: Mapping[str, Any]) -> Experiment:
        return Experiment(**how, workload=load, set={**keys, **run})

    requested = _data(SIZE.given("--data", data), capacity * scale)
    form = json.loads(_core.keep(experiment({}).layers, age, cycles, requested))
    new = _reading(experiment({"run.age": "none"}).run())
    # No refresh takes place while unpowered.
    aged = _reading(experiment({"run.age": f"{age} off"}).run())
    return Kept(_name(device), age, cycles, wear, assumed, scale, form, new, aged)


def _name(device: Part) -> str:
    if isinstance(device, Mapping):
        return str(device.get("preset", "the device"))
    return os.fspath(device) if isinstance(device, str | os.PathLike) else "the device"


def _data(data: float | None, whole: int) -> int:
    if data is None:
        return whole
    if not 0 < data <= whole:
        most = f"{whole / 1e9:.4g}GB"
        raise InputError(f"--data {data / 1e9:g}GB: more than 0, and at most the drive's {most}")
    return round(data)


def _cycles(
    worn: float | None, written: float | None, rated: int, capacity: float
) -> tuple[float, str]:
    if worn is not None and written is not None:
        raise InputError("--worn and --written both state the wear: give one of them")
    if written is not None:
        cycles = written / capacity
        return cycles, f"{cycles:,.0f} drive writes at a write amplification of 1"
    worn = worn or 0.0
    return rated * worn, f"{worn:.0%} of {rated:,} rated cycles"


def _reading(results: Any) -> Reading:
    found = results.to_dict()
    media, host = found["media"], found["host"]
    reads = media["page_reads"]
    return Reading(
        mb_per_s=host["all"]["mb_per_s"],
        mean_retries=media["mean_retries"] or 0.0,
        retried_share=media["reads_retried"] / reads if reads else 0.0,
        pages=reads,
        uncorrectable=media["uncorrectable"],
        rebuilt=media["rebuilt"],
        unreadable=media["unreadable"],
        clock_days=media["clock_days"],
    )
