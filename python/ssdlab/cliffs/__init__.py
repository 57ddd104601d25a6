"""When a long copy slows down: the SLC cache of a drive, and the rate behind it.

The drive is filled to a share, then its free range is written sequentially. With `device.scale` a
fraction is simulated; sizes and times are scaled up to the whole drive.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ssdlab import arrow
from ssdlab._core import InputError
from ssdlab.results import Results
from ssdlab.running import Experiment, Part, run
from ssdlab.units import BANDWIDTH, LONG_TIME, SIZE, TIME, share

#: Requests of a copy: size and queue depth.
BLOCK, DEPTH = 128 * 1024, 32
#: Rates that differ by less count as equal.
SAME = 0.02
#: Meaning of each state of the cache for the writes of the host.
WHY = {
    "fast": "into the SLC cache",
    "direct": "the cache is full",
    "forced": "space comes from folding the cache",
    "idle": "no writes",
    "native": "no SLC cache",
}


@dataclass(frozen=True)
class Phase:
    """A phase of the copy at one rate; sizes and times of the whole drive."""

    state: str
    written_bytes: float
    seconds: float

    @property
    def bytes_per_s(self) -> float:
        """The rate."""
        return self.written_bytes / self.seconds if self.seconds else 0.0

    @property
    def why(self) -> str:
        """Meaning of the state."""
        return WHY[self.state]

    def to_dict(self) -> dict[str, Any]:
        """The phase in the form of `ssdlab cliff --json`."""
        return {
            "state": self.state,
            "written_bytes": self.written_bytes,
            "seconds": self.seconds,
            "bytes_per_s": self.bytes_per_s,
            "why": self.why,
        }


@dataclass(frozen=True)
class Cliff(arrow.Table):
    """A copy to a drive: its phases, and the cache recovered by a pause."""

    ROWS = "phases"

    device: str
    capacity_bytes: float
    fill: float
    copy_bytes: float
    seconds: float
    cliff_at_bytes: float | None
    """Bytes written until the cache was full; None if it never was, or there is none."""
    phases: list[Phase]
    pause_seconds: float | None = None
    recovered_bytes: float | None = None
    """Bytes of the cache recovered by the pause."""
    scale: int = 1
    coarse: str | None = None
    """Reason why rates beyond the cache depend on `device.scale` by more than 2 %, if they do."""

    @property
    def bytes_per_s(self) -> float:
        """The mean rate of the copy."""
        return self.copy_bytes / self.seconds

    def to_dict(self, within: float | None = None) -> dict[str, Any]:
        """The answer in the form of `ssdlab cliff --json`; `within` is the time limit, s."""
        found: dict[str, Any] = {
            "device": self.device,
            "capacity_bytes": self.capacity_bytes,
            "fill": self.fill,
            "copy_bytes": self.copy_bytes,
            "seconds": self.seconds,
            "bytes_per_s": self.bytes_per_s,
            "cliff_at_bytes": self.cliff_at_bytes,
            "phases": [it.to_dict() for it in self.phases],
            "part_of_each_block": 1 / self.scale,
        }
        if self.coarse is not None:
            found["coarse"] = self.coarse
        if self.pause_seconds is not None:
            found["pause"] = {
                "seconds": self.pause_seconds,
                "recovered_bytes": self.recovered_bytes,
            }
        if within is not None:
            found["within"] = {"seconds": within, "passed": self.seconds <= within}
        return found


def cliff(
    device: Part,
    copy: str | None = None,
    *,
    fill: str | float = 0.0,
    pause: str | None = None,
    set: Mapping[str, Any] | None = None,
    seed: int | None = None,
    allow_code: bool = False,
) -> Cliff:
    """Copy to a drive: when does it slow down?

    `device` is a preset, a file or keys; `copy` the amount, such as "200GB", by default the free
    space; `fill` the share of the drive with data. After the copy the drive may idle for a `pause`
    such as "30s": `recovered_bytes` is the SLC cache recovered. `set` changes single keys. Raises
    `InputError` for wrong input.

    >>> found = ssdlab.cliff("samsung-980pro", "200GB")  # doctest: +SKIP
    >>> found.cliff_at_bytes, found.bytes_per_s  # doctest: +SKIP
    """
    copy_bytes = SIZE.given("--copy", copy)
    pause_seconds = LONG_TIME.given("--pause", pause)
    if (fill := share("--fill", fill, 1.0)) == 1:
        raise InputError("--fill 100%: no room is left for a copy")
    how: dict[str, Any] = {"device": device, "set": set, "seed": seed, "allow_code": allow_code}
    keys = Experiment(**how).to_dict()["device"]
    if keys.get("kind") != "ssd":
        raise InputError(f'cliff: {_name(device)} is not a solid-state drive (kind = "ssd")')
    how["set"] = {**(set or {}), "device.fill": fill}
    scale = int(keys.get("scale", 1))
    part = run(**how, workload={"kind": "closed", "requests": 1}).capacity_bytes
    begin = -int(-part * fill // BLOCK) * BLOCK
    room = (part - begin) // BLOCK * BLOCK
    size = room if copy_bytes is None else int(copy_bytes / scale) // BLOCK * BLOCK
    if not BLOCK <= size <= room:
        free = f"{room * scale / 1e9:.4g}GB"
        least = f"{BLOCK * scale / 1e6:.4g}MB"
        asked = "all that is free" if copy_bytes is None else f"{copy_bytes / 1e9:g}GB"
        raise InputError(
            f"cliff: a copy of {asked} to a drive that is {fill:.0%} full: from {least} to the "
            f"{free} that are free"
        )
    copied = run(**how, workload={"kind": "fio", "job": _job(begin, size)})
    recovered = None
    if pause_seconds is not None:
        job = _job(begin, size, pause_seconds / scale)
        recovered = _recovered(run(**how, workload={"kind": "fio", "job": job})) * scale
    slc = copied.to_dict().get("slc_cache", {})
    at, phases = slc.get("cliff_at_bytes"), _phases(copied, slc, scale)
    return Cliff(
        device=_name(device),
        capacity_bytes=part * scale,
        fill=fill,
        copy_bytes=size * scale,
        seconds=copied.simulated_seconds * scale,
        cliff_at_bytes=None if at is None else at * scale,
        phases=phases,
        pause_seconds=pause_seconds,
        recovered_bytes=recovered,
        scale=scale,
        coarse=_coarse(keys, phases),
    )


def _coarse(keys: Mapping[str, Any], phases: list[Phase]) -> str | None:
    """Warning if forced folds of a scaled drive deviate by more than 2 %.

    A native word line takes the data of as many one-bit word lines as a cell has bits: other block
    sizes leave one partly filled at each fold. At each fold one word line of the host or of the
    fold may also be in progress, which weighs more in small blocks.
    """
    scale, bits = int(keys.get("scale", 1)), int(keys["cell"]["bits"])
    if scale == 1 or all(it.state != "forced" for it in phases):
        return None
    whole = int(keys["pages_per_block"]) // bits

    def error(scale: int) -> float:
        return _word_line_share(keys, whole // scale)

    fits = [it for it in range(1, scale + 1) if whole % (it * bits) == 0]
    better = max((it for it in fits if error(it) <= SAME), default=1)
    if better == scale:
        return None
    lines = whole // scale
    why = (
        f"{lines} word lines are no multiple of {bits}, so that folds leave some filled in part"
        if scale not in fits
        else f"the rate where space comes from folding may be up to {error(scale):.0%} off"
    )
    return (
        f"a block of the part simulated has {lines} word lines of {whole}: {why}; within "
        f"{SAME:.0%} is --set device.scale={better}"
    )


def _word_line_share(keys: Mapping[str, Any], lines: int) -> float:
    """Time of a native word line, relative to a fold and to its gain."""
    bits, rate = int(keys["cell"]["bits"]), keys["slc_cache"]["fold_rate"]
    dies = math.prod(
        int(keys[it]) for it in ("channels", "packages_per_channel", "dies_per_package")
    )
    page = SIZE.parse("device.page_size", keys["page_size"])
    line = page * dies * int(keys["planes_per_die"])
    program = TIME.parse("device.timing.program", keys["timing"]["program"])
    native = bits * line / program
    limit = math.inf if rate == "unlimited" else BANDWIDTH.parse("device.slc_cache.fold_rate", rate)
    held = lines * line
    return program / (held / min(limit, native) + (bits - 1) * held / native)


def _name(device: Part) -> str:
    if isinstance(device, Mapping):
        return str(device.get("preset", "the device"))
    return os.fspath(device) if isinstance(device, str | os.PathLike) else "the device"


def _job(begin: int, size: int, pause: float | None = None) -> str:
    """The copy as a job of fio; with a pause, one more request after it."""
    lines = ["[global]", "rw=write", f"bs={BLOCK}", f"iodepth={DEPTH}", f"offset={begin}"]
    lines += ["[copy]", f"size={size}"]
    if pause is not None:
        lines += ["[again]", "stonewall", f"startdelay={round(pause * 1e6)}us", f"size={BLOCK}"]
    return "\n".join(lines) + "\n"


def _phases(copied: Results, slc: Mapping[str, Any], scale: int) -> list[Phase]:
    phases = [
        Phase(it["state"], it["written_bytes"] * scale, it["seconds"] * scale)
        for it in slc.get("phases", ())
    ]
    written = [it for it in phases if it.written_bytes]
    if written:
        return written
    host = copied.host.write
    return [Phase("native", host.bytes * scale, copied.simulated_seconds * scale)]


def _recovered(paused: Results) -> float:
    """Bytes of the simulated fraction's cache that were folded in the pause."""
    phases = paused.to_dict().get("slc_cache", {}).get("phases", [])
    rests = [at for at, it in enumerate(phases) if it["state"] == "idle" and at > 0]
    if not rests:
        return 0.0
    at = rests[-1]
    return float(max(0, phases[at - 1]["held_bytes"] - phases[at]["held_bytes"]))
