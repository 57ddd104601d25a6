"""Points from a trace with response times."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ssdlab import _core
from ssdlab._core import InputError
from ssdlab.calibration.points import KIB, PATTERNS, Measured, Point

#: Minimum number of requests of a pattern and size for a mean.
FEWEST_REQUESTS = 5
#: Larger requests are rare; a single one would determine the slope.
LARGEST_BYTES = 4 * KIB * KIB


def read(
    target: Path,
    options: Mapping[str, Any],
    progress: Callable[[int, int, int | None], object] | None = None,
) -> Measured:
    """The points in the trace `target`; `options` are as for `ssdlab.trace.info`.

    The queue depth is counted at a request's arrival, itself included.
    """
    stated = {key: value for key, value in options.items() if value is not None}
    found = json.loads(_core.trace_services(str(target), json.dumps(stated), progress))
    points, few = [], 0
    for group in found["groups"]:
        keys = ("pattern", "bytes", "outstanding", "mean_us", "requests")
        point = Point(*(group[key] for key in keys))
        if point.requests < FEWEST_REQUESTS or point.bytes > LARGEST_BYTES:
            few += point.requests
        else:
            points.append(point)
    total = sum(group["requests"] for group in found["groups"])
    conditions = {
        "tool": "a trace",
        "format": found["format"],
        "requests": total,
        "without_time": found["without_time"],
    }
    notes = []
    if few:
        notes.append(
            f"{few} of {total} requests were left out: their pattern, size and number outstanding "
            f"occur fewer than {FEWEST_REQUESTS} times, or they have more than 4 MiB"
        )
    if not any(point.pattern in PATTERNS and point.outstanding == 1 for point in points):
        raise InputError(
            f"{target}: no size has {FEWEST_REQUESTS} requests that met the device idle; "
            "their times would not be service times"
        )
    return Measured(str(target), points, conditions, notes=notes)
