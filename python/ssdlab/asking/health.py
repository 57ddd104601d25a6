"""Use and remaining life of a drive, from its own health data: smartctl, nvme smart-log."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ssdlab import sources
from ssdlab._core import InputError
from ssdlab.asking import what as things
from ssdlab.asking.lines import wrapped
from ssdlab.catalogue import devices
from ssdlab.foreign import smart
from ssdlab.running import Experiment
from ssdlab.under_load import DAYS, RATED_YEARS
from ssdlab.units import SIZE, decimal_size, size

#: Ratio of the two shares of life used (rating, flash) above which they disagree.
APART = 1.5
#: Fewest full writes of a drive in its life.
FEW_DRIVES = 10


@dataclass(frozen=True)
class Health:
    """Content of a drive's health file, with stated or assumed values."""

    name: str
    wear: smart.Wear
    flash_bytes: float | None
    #: Bytes that the host may write by the rating; None if no rating is given.
    rated_bytes: float | None
    #: Rated program/erase cycles of the named preset's flash.
    rated_cycles: float | None
    assumed: tuple[str, ...]

    @property
    def amplification(self) -> float | None:
        """Write amplification so far."""
        return self.wear.amplification(self.flash_bytes)

    @property
    def daily_bytes(self) -> float | None:
        """Host bytes written per day of operation."""
        hourly = self.wear.bytes_per_hour
        return None if hourly is None else 24 * hourly

    @property
    def rating_used(self) -> float | None:
        """Share of the rated writes that is used; None without a rating."""
        return None if self.rated_bytes is None else self.wear.rating_used(self.rated_bytes)

    @property
    def model_used(self) -> float | None:
        """Share of the flash's rated erase cycles that is used, by the preset's rating."""
        erases = self.wear.erases
        programmed = self.wear.programmed()
        if erases is None and programmed is not None and self.flash_bytes:
            erases = programmed / self.flash_bytes
        if erases is None or self.rated_cycles is None:
            return None
        return erases / self.rated_cycles

    def left_bytes(self, used: float | None) -> float | None:
        """Host bytes left when the share `used` of a life is consumed; 0 beyond its end."""
        written = self.wear.host_written_bytes
        if not used or written is None:
            return None
        return max(written * (1 - used) / used, 0.0)

    def left_years(self, used: float | None) -> float | None:
        """Years left at the present rate."""
        left, daily = self.left_bytes(used), self.daily_bytes
        return None if left is None or not daily else left / daily / DAYS

    @property
    def lives(self) -> dict[str, float | None]:
        """Share of life used: by the rating, as the drive reports, and by the model."""
        return {
            "by_rating": self.rating_used,
            "by_drive": self.wear.life_used,
            "by_model": self.model_used,
        }

    @property
    def disagreement(self) -> str | None:
        """A sentence if the flash wears faster or slower than the rating assumes."""
        by_rating = self.rating_used
        by_flash = self.model_used if self.wear.life_used is None else self.wear.life_used
        if not by_rating or not by_flash or 1 / APART < by_flash / by_rating < APART:
            return None
        times = by_flash / by_rating
        how = f"{times:.1f} times as fast as" if times > 1 else f"at {times:.2f} of the pace that"
        why = self.amplification
        by = "" if why is None else f"write amplification is {why:.1f}, and "
        return f"{by}the flash wears {how} the rating allows for: believe the flash"

    def to_dict(self) -> dict[str, Any]:
        """The health in the form of `ssdlab ask --json`."""
        return {
            "health": self.name,
            "model": self.wear.model,
            "assumed": [*self.assumed],
            "host_written_bytes": self.wear.host_written_bytes,
            "flash_bytes": self.flash_bytes,
            "flash_written_bytes": self.wear.programmed(self.flash_bytes),
            "mean_erases": self.wear.erases,
            "write_amplification": self.amplification,
            "power_on_hours": self.wear.power_on_hours,
            "daily_bytes": self.daily_bytes,
            "rated_bytes": self.rated_bytes,
            "life_used": self.lives,
            "left_bytes": {key: self.left_bytes(used) for key, used in self.lives.items()},
            "left_years": {key: self.left_years(used) for key, used in self.lives.items()},
            "disagreement": self.disagreement,
        }

    def __str__(self) -> str:
        return "\n".join(self._lines()) + "\n"

    def _lines(self) -> list[str]:
        wear = self.wear
        model = f", {wear.model}" if wear.model else ""
        lines = [f"{self.name}: what {wear.source} says of a drive{model}"]
        lines += [part for it in self.assumed for part in wrapped(f"Assumed: {it}.")]
        lines += ["", *self._done(), ""]
        named = {
            "by_rating": "by its rating",
            "by_drive": "as it says itself",
            "by_model": "by the model's flash",
        }
        for key, used in self.lives.items():
            lines.append(_row(f"life used {named[key]}", self._used(used)))
        if self.disagreement is not None:
            lines += ["", *wrapped(f"{self.disagreement[0].upper()}{self.disagreement[1:]}.")]
        if surer := self._surer():
            lines += ["", *wrapped(f"Surer with: {'; '.join(surer)}.")]
        return lines

    def _done(self) -> list[str]:
        wear, daily, factor = self.wear, self.daily_bytes, self.amplification
        hours = wear.power_on_hours
        rows = [
            ("written by the host", _bytes(wear.host_written_bytes)),
            ("programmed into the flash", _bytes(wear.programmed(self.flash_bytes))),
            ("write amplification so far", "not known" if factor is None else f"{factor:.1f}"),
            ("mean erase count", "not known" if wear.erases is None else f"{wear.erases:,.0f}"),
            ("time of operation", "not known" if hours is None else f"{hours:,.0f} hours"),
            ("written a day", _bytes(daily)),
        ]
        return [_row(*row) for row in rows]

    def _used(self, used: float | None) -> str:
        if used is None:
            return "not known"
        left, years = self.left_bytes(used), self.left_years(used)
        stated = f"{100 * used:.1f} %"
        if left is not None:
            stated += f", the host may write {decimal_size(left)} more" if left else ", all of it"
        return stated + ("" if years is None else f": {years:.2g} years at this rate")

    def _surer(self) -> list[str]:
        found = []
        if self.rated_bytes is None:
            found.append("its rating, --rated 600TB")
        if self.amplification is None:
            found.append("nvme ocp smart-add-log, or the size of its flash, --flash 512GiB")
        if self.daily_bytes is None:
            found.append("the hours of operation (smartctl -j -a), for a rate and years")
        if self.rated_cycles is None:
            found.append("a preset like it, --device NAME, for the cycles of its flash")
        return found


def of(
    what: str | None, flash: str | None, rated: str | None, drives: tuple[str, ...]
) -> Health | None:
    """The health in the file `what`; None of another file. Raises `InputError`."""
    path = None if what is None else Path(what)
    wear = None
    if path is not None and path.is_file():
        head = things.begin(path).lstrip()
        said = things.parsed(path) if head[:1] == "{" else None
        wear = smart.of_text(head) if said is None else smart.wear(said)
        if wear is None and said is not None:
            _refuse_failed(path, said)
    if wear is None:
        for option, value in (("--flash", flash), ("--rated", rated)):
            if value is not None:
                raise InputError(
                    f"{option} {value}: goes with a file of smartctl or nvme smart-log"
                )
        return None
    if len(drives) > 1:
        raise InputError(f"--device {drives[1]}: one preset that is like the drive is enough")
    assumed = []
    flash_bytes = None if flash is None else SIZE.parse("--flash", flash)
    if flash_bytes is None and wear.capacity_bytes:
        flash_bytes = 2.0 ** math.ceil(math.log2(wear.capacity_bytes / 2**30)) * 2**30
        assumed.append(
            f"{size(flash_bytes)} of flash, the power of two above its "
            f"{decimal_size(wear.capacity_bytes)} (--flash says otherwise)"
        )
    if (written := wear.host_written_bytes) and written < FEW_DRIVES * (wear.life_used or 0) * (
        wear.capacity_bytes or 0
    ):
        assumed.append(
            f"{decimal_size(written)} of host writes, in blocks of 512 B, although so few do not "
            "wear flash: some drives count in MiB or 32 MiB"
        )
    rated_bytes = None if rated is None else SIZE.parse("--rated", rated)
    cycles = None
    for name in drives:
        cycles, by_preset = _of_preset(name)
        if rated_bytes is None and by_preset is not None:
            rated_bytes = by_preset
            assumed.append(f"{decimal_size(by_preset)} rated, as {name} is (--rated)")
    if wear.flash_written_bytes and not wear.host_written_bytes:
        raise InputError(
            f"{what}: it has bytes that the flash took, none that the host wrote; join it "
            f"with nvme smart-log -o json: `jq -s add smart-log.json {what}`"
        )
    if not any((wear.host_written_bytes, wear.erases, wear.life_used)):
        raise InputError(f"{what}: it has no written bytes, no erase counts and no wear level")
    return Health(str(what), wear, flash_bytes, rated_bytes, cycles, tuple(assumed))


def _refuse_failed(path: Path, said: Any) -> None:
    """Raise `InputError` for JSON of a smartctl that could not read the drive."""
    program = said.get("smartctl") if isinstance(said, Mapping) else None
    if not isinstance(program, Mapping):
        return
    messages = program.get("messages")
    stated = [it.get("string") for it in messages or [] if isinstance(it, Mapping)]
    why = f" ({stated[0]})" if stated else ""
    raise InputError(
        f"{path}: smartctl read no health of a drive{why}; run `smartctl -j -a DEVICE` as root"
    )


def _of_preset(name: str) -> tuple[float | None, float | None]:
    """Rated cycles of a preset's flash, and rated writes of its data sheet in bytes."""
    layer = sources.from_name("device", name, "--device")
    found = Experiment._from_layers([layer]).to_dict()["device"]
    cycles = (found.get("member", found).get("wear") or {}).get("rated_cycles")
    row = devices.DEVICES.get(name)
    rated = None
    if row is not None and row.dwpd is not None and row.capacity_bytes:
        rated = row.dwpd * DAYS * RATED_YEARS * row.capacity_bytes
    return None if cycles is None else float(cycles), rated


def _row(name: str, value: str) -> str:
    return f"{name:<34}{value}"


def _bytes(number: float | None) -> str:
    return "not known" if number is None else decimal_size(number)
