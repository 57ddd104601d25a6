"""The lifetime of a drive as results have it: one figure, or why it is not known.

The drive estimates it (`wear.lifetime`); every command reads it here, and none computes its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple


class Lifetime(NamedTuple):
    """What the host may write to a new drive under the load of a run until its spare space is gone.

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

    @property
    def known(self) -> bool:
        """Whether there is a figure."""
        return self.host_bytes is not None

    @property
    def unlimited(self) -> bool:
        """Whether the load wrote nothing, so that it does not limit the lifetime."""
        return self.status == "unwritten"

    @property
    def why_not(self) -> str:
        """Why there is no figure, in few words."""
        return "nothing written" if self.unlimited else f"not known, {self.erases:,} erasures"


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
    )
