"""The lifetime of a drive in results: a value, or the reason why it is unknown.

The drive estimates it (`wear.lifetime`); all commands read it here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from ssdlab.units import decimal_size


class Lifetime(NamedTuple):
    """Host bytes that a new drive can write under a run's load until its spare space is used up.

    Each figure that commands show is a field.
    """

    #: `estimated`, `measured` (the drive reached its end of life), `unknown` (too few erases) or
    #: `unwritten`.
    status: str
    service_years: float
    #: Bytes of the whole drive, in capacities (drive writes), and per day; None if unknown.
    host_bytes: float | None
    drive_writes: float | None
    drive_writes_per_day: float | None
    #: Relative half-width of the 95 % confidence interval; None if unknown or measured.
    error: float | None
    #: Reason for a missing value.
    reason: str | None
    erases: int
    #: Lower bound of an unknown lifetime, bytes of the whole drive.
    at_least_bytes: float | None = None

    @property
    def known(self) -> bool:
        """True if the lifetime is known."""
        return self.host_bytes is not None

    @property
    def unlimited(self) -> bool:
        """True if the load wrote nothing, so that it does not limit the lifetime."""
        return self.status == "unwritten"

    @property
    def why_not(self) -> str:
        """Short reason for a missing value."""
        if self.at_least_bytes is not None:
            return f"at least {decimal_size(self.at_least_bytes)}, by arithmetic"
        return "nothing written" if self.unlimited else f"not known, {self.erases:,} erasures"

    @property
    def reason_and_bound(self) -> str | None:
        """Reason for a missing value, with the lower bound by arithmetic."""
        if self.reason is None or self.at_least_bytes is None:
            return self.reason
        return (
            f"{self.reason}. By arithmetic at least {decimal_size(self.at_least_bytes)} may be "
            "written: the flash at its rating, its spare space alone worn, under the largest "
            "write amplification of the drive"
        )


def of(results: Mapping[str, Any]) -> Lifetime | None:
    """The lifetime in results; None for a device without wear, or results of an older version."""
    found = (results.get("wear") or {}).get("lifetime") or {}
    if "status" not in found:
        return None
    return Lifetime(
        found["status"],
        found["service_years"],
        found["host_bytes"],
        found["drive_writes"],
        found["drive_writes_per_day"],
        found["error"],
        found["reason"],
        found["erases"],
        _at_least(results, found),
    )


def _at_least(results: Mapping[str, Any], found: Mapping[str, Any]) -> float | None:
    """Lower bound of the host bytes, for a run too short for a lifetime.

    A victim's share of invalid pages is at least the share of spare space. So garbage collection
    programs each page at most 1 / that share times, on top of the run's programs per host byte.
    Blocks of cold data do not wear, but the spare space does.
    """
    flash = results.get("flash") or {}
    spare = (flash.get("spare") or {}).get("effective")
    programmed = flash.get("write_amplification_bytes")
    if found["status"] != "unknown" or not spare or spare <= 0 or programmed is None:
        return None
    maximum = max(float(programmed), 1.0) / spare
    return float(found["physical_bytes"] * found["rated_cycles"] * spare / maximum)
