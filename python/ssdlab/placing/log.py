"""Host logs on zones written in Python: their interface, and the conformance suite."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ssdlab._core import InputError, PolicyError
from ssdlab.cleaners.conformance import CheckReport, checked
from ssdlab.placing.own import Placement, _tried

#: The engine's callback for a victim zone, with the fields of `Zones`.
Ask = Callable[[list[int], list[int], list[int], int, int], int]


class Zones(NamedTuple):
    """The zones at the time of cleaning."""

    valid: Sequence[int]
    """Valid pages of each zone."""
    full_at: Sequence[int]
    """Host pages written when each zone became full; 0 for other zones."""
    full: Sequence[int]
    """Numbers of the zones that may be cleaned: full, with at least one invalid page."""
    zone_pages: int
    """Pages per zone."""
    now: int
    """Host pages written so far."""


class HostLog(Placement):
    """The base of a host log on zones: `place` returns the stream of a write, `victim` a zone.

    Cleaning moves data to a separate zone. By default all writes use one stream, and the zone with
    the fewest valid pages is cleaned.

    >>> class Oldest(HostLog):
    ...     def victim(self, zones):
    ...         return min(zones.full, key=lambda zone: zones.full_at[zone])
    >>> check_host_log(Oldest).passed
    True
    """

    def place(self, request: Any, view: Any) -> int:
        """The stream, 0 to `view.handles - 1`."""
        return 0

    def victim(self, zones: Zones) -> int:
        """The zone to clean next, from `zones.full`."""
        return min(zones.full, key=lambda zone: (zones.valid[zone], zones.full_at[zone]))


def victims_of(policy: HostLog) -> Ask:
    """Callback of the engine. Raises `PolicyError` if the policy raises or chooses no zone."""

    def ask(
        valid: list[int], full_at: list[int], full: list[int], zone_pages: int, now: int
    ) -> int:
        return _chosen(policy, Zones(valid, full_at, full, zone_pages, now))

    return ask


def _chosen(policy: Any, zones: Zones) -> int:
    name, where = type(policy).__qualname__, f"after {zones.now} pages"
    if not zones.full:
        raise PolicyError(f"{where} no zone may be cleaned: all of every full zone is valid")
    try:
        zone = policy.victim(zones)
    except Exception as error:
        raise PolicyError(f"{name} raised {where}: {type(error).__name__}: {error}") from error
    try:
        number = zone.__index__()
    except AttributeError:
        raise PolicyError(f"{name} chose {zone!r} {where}, not a zone") from None
    if number not in zones.full:
        raise PolicyError(
            f"{name} chose zone {number} {where}, which may not be cleaned; there are "
            f"{len(zones.full)} that may, such as {zones.full[0]}"
        )
    return int(number)


def check_host_log(policy: Any) -> CheckReport:
    """Check a host log, a class or an object.

    Every write must get a stream, and victims must be zones that may be cleaned. Raises
    `PolicyError` if a check fails; its message is the report.

    >>> print(check_host_log(HostLog))
    HostLog: conforms
      ok      every write gets a stream
      ok      a zone is chosen that may be cleaned
      ok      the same zones get the same choice
    """
    made = policy() if isinstance(policy, type) else policy
    for method in ("place", "victim"):
        if not callable(getattr(made, method, None)):
            raise InputError(
                f"argument policy: {policy!r} has no method {method}; see ssdlab.HostLog"
            )
    return checked(
        made,
        {
            "every write gets a stream": _streams,
            "a zone is chosen that may be cleaned": _chooses,
            "the same zones get the same choice": _reproducible,
        },
    )


def _states() -> list[Zones]:
    """States of zones: one that may be cleaned, few, and many."""
    draw, states = random.Random(3), []
    for count in (1, 2, 5, 40):
        for _ in range(25):
            valid = [draw.randrange(64) for _ in range(count + 2)]
            full = sorted(draw.sample(range(count + 2), count))
            full_at = [draw.randrange(1, 1000) if it in full else 0 for it in range(count + 2)]
            states.append(Zones(valid, full_at, full, 64, 1000))
    return states


def _streams(policy: Any) -> str | None:
    _tried(policy, 8)
    _tried(policy, 2)
    return None


def _choices(policy: Any) -> list[int]:
    own = copy.deepcopy(policy)
    return [_chosen(own, zones) for zones in _states()]


def _chooses(policy: Any) -> str | None:
    _choices(policy)
    return None


def _reproducible(policy: Any) -> str | None:
    return None if _choices(policy) == _choices(policy) else "another run chose other zones"
