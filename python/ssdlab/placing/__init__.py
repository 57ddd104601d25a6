"""Benefit of placement (FDP, streams) for a trace: write amplification with and without, on one
drive.

>>> import ssdlab
>>> found = ssdlab.placement("some.trace", device="samsung-pm9a3")  # doctest: +SKIP
>>> found.sentence  # doctest: +SKIP

The trace is replayed on a small untimed model of the drive with pages, reclaim units and handles:
the touched data fills `utilisation` of its capacity. Practical policies are compared with a
clairvoyant one.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from ssdlab import _core
from ssdlab import trace as traces
from ssdlab._core import InputError
from ssdlab.cleaners.conformance import Check, CheckReport
from ssdlab.placing.answer import Placed, Row
from ssdlab.placing.drive import Drive
from ssdlab.placing.log import HostLog, Zones, check_host_log, victims_of
from ssdlab.placing.own import (
    Placement,
    View,
    WriteRequest,
    check_placement,
    handles_of,
)
from ssdlab.running import thread_count

__all__ = [
    "Check",
    "CheckReport",
    "Drive",
    "HostLog",
    "Placed",
    "Placement",
    "Row",
    "View",
    "WriteRequest",
    "Zones",
    "check_host_log",
    "check_placement",
    "handles_of",
    "placement",
    "victims_of",
]

#: Names of the tried policies.
POLICIES = ("none", "clairvoyant", "lifetime", "address", "size", "hint", "column")
ISOLATIONS = ("initial", "persistent")

#: Called about ten times a second with the requests replayed so far.
Report: TypeAlias = Callable[[int], object]


def placement(
    trace: str | os.PathLike[str],
    *,
    device: str | None = None,
    handles: int = 8,
    utilisation: float | Sequence[float] = 1.0,
    isolation: str | Sequence[str] = "initial",
    units: int | None = None,
    spare: float | None = None,
    zones: bool = False,
    policy: Placement | HostLog | None = None,
    threads: int | str = "auto",
    read_progress: traces.Report | None = None,
    progress: Report | None = None,
    **options: Any,
) -> Placed:
    """Try placement policies on the writes of a trace, and return their gains.

    `device` gives spare space, reclaim units, rated P/E cycles and capacity; without it the drive
    has 7 % spare space and 512 units. `units` and `spare` override it. `utilisation` is the share
    of the capacity that holds data, or a list. `isolation` is "initial" (copies of all handles
    share units), "persistent" (each has its own), or both. `zones` also tries a host log on zones
    of a reclaim unit's size. `policy` is your own placement policy (`ssdlab.Placement`) or host log
    on zones (`ssdlab.HostLog`). Further arguments control reading the trace, as for
    `ssdlab.trace.info`. Results do not depend on the number of threads. Raises `InputError` for
    wrong input.

    >>> import os, tempfile, ssdlab.trace
    >>> path = os.path.join(tempfile.mkdtemp(), "it.parquet")
    >>> pages = [(7 * at) % 400 for at in range(4000)]  # all equally often
    >>> ssdlab.trace.write(path, at_ns=range(4000), op=["write"] * 4000,
    ...                    sector=[8 * it for it in pages], sectors=[8] * 4000)
    >>> ssdlab.placement(path, handles=2, units=32, spare=0.5).sentence[:7]
    'No gain'
    """
    drive = Drive.of(device, units, spare)
    levels = [utilisation] if isinstance(utilisation, (int, float)) else list(utilisation)
    isolations = [isolation] if isinstance(isolation, str) else list(isolation)
    _refuse_wrong(handles, levels, isolations)
    path, options = traces._read_as(trace, options)
    loaded = _core.PlacementTrace(path, traces._json(options), traces._report(read_progress))
    facts = json.loads(loaded.facts())
    own = None
    policies = list(POLICIES)
    if policy is not None:
        own = handles_of(policy, loaded, handles, drive)
        if not isinstance(policy, HostLog):
            policies.append("own")
    settings = {
        "handles": handles,
        "units": drive.units,
        "spare": drive.spare,
        "utilisations": levels,
        "isolations": [*isolations, *(["zones"] if zones else [])],
        "policies": policies,
        "threads": thread_count(threads),
    }
    requested = None if isinstance(policy, HostLog) else own
    rows = json.loads(loaded.study(json.dumps(settings), requested, progress))
    if isinstance(policy, HostLog) and own is not None:
        log = {**settings, "policies": []}
        rows += json.loads(loaded.study_log(json.dumps(log), own, victims_of(policy)))
    return Placed(os.fspath(trace), drive, handles, facts, [Row(**row) for row in rows])


def _refuse_wrong(handles: int, levels: Sequence[float], isolations: Sequence[str]) -> None:
    if isinstance(handles, bool) or not isinstance(handles, int) or not 2 <= handles <= 128:
        raise InputError(f"handles = {handles!r}: give 2 to 128 placement handles")
    if not levels or not isolations:
        raise InputError("utilisation and isolation: give one value at least of each")
    for level in levels:
        if not 0.01 <= level <= 1.0:
            raise InputError(f"utilisation = {level}: give a share of the capacity, 0.01 to 1")
    for name in isolations:
        if name not in ISOLATIONS:
            raise InputError(f'isolation = "{name}": choose initial, persistent or both of them')
