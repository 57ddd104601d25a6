"""The lifetime of a drive as results have it: one figure, or why it is not known.

The drive estimates it (`wear.lifetime`); every command reads it here, and none computes its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from ssdlab.units import decimal_size


class Lifetime(NamedTuple):
    """Host bytes of a new drive under the load of a run until its spare space is gone.

    It has a field for each figure that commands show.
    """

    #: `estimated`, `measured` (the drive ended), `unknown` (too few erasures) or `unwritten`.
    status: str
    service_years: float
    #: Bytes of the whole drive, and the same in its capacities, in all and a day; None if unknown.
    host_bytes: float | None
    drive_writes: float | None
    drive_writes_per_day: float | None
    #: Half of the 95 % interval, as a share; None where there is no figure, or it was measured.
    error: float | None
    #: Why there is no figure.
    reason: str | None
    erases: int
    #: Lower bound of an unknown lifetime, bytes of the whole drive.
    at_least_bytes: float | None = None

    @property
    def known(self) -> bool:
        """True if there is a figure."""
        return self.host_bytes is not None

    @property
    def unlimited(self) -> bool:
        """True if the load wrote nothing, so that it does not limit the lifetime."""
        return self.status == "unwritten"

    @property
    def why_not(self) -> str:
        """Why there is no figure, in few words."""
        if self.at_least_bytes is not None:
            return f"at least {decimal_size(self.at_least_bytes)}, by arithmetic"
        return "nothing written" if self.unlimited else f"not known, {self.erases:,} erasures"

    @property
    def reason_and_bound(self) -> str | None:
        """Why there is no figure, and what arithmetic says instead."""
        if self.reason is None or self.at_least_bytes is None:
            return self.reason
        return (
            f"{self.reason}. By arithmetic at least {decimal_size(self.at_least_bytes)} may be "
            "written: the flash at its rating, its spare space alone worn, under the largest "
            "write amplification of the drive"
        )


def of(results: Mapping[str, Any]) -> Lifetime | None:
    """The lifetime in results; None of a device that does not wear, or of an older version."""
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
    """Lower bound of the host bytes, where a run is too short for the lifetime.

    A victim of cleaning has superseded pages of the share of the spare space at least, so that
    cleaning programs each page 1 / that share times at most, on top of what the run programmed for
    a byte of the host. Blocks of cold data do not wear, but the spare space does.
    """
    flash = results.get("flash") or {}
    spare = (flash.get("spare") or {}).get("effective")
    programmed = flash.get("write_amplification_bytes")
    if found["status"] != "unknown" or not spare or spare <= 0 or programmed is None:
        return None
    maximum = max(float(programmed), 1.0) / spare
    return float(found["physical_bytes"] * found["rated_cycles"] * spare / maximum)
