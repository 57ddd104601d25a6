"""The transport latency between a client and the live device, as seen by the client."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["measure"]

SIZES = (512, 4096, 65536, 262144, 1 << 20)


def measure(
    seconds: float = 0.5,
    port: int | None = None,
    realtime: bool = False,
    progress: Callable[[int, int], object] | None = None,
) -> dict[str, Any]:
    """Transport latency seen by fio, in us: `outside_us` for each direction and size.

    It measures a device with a constant latency of 200 us, over a Unix socket or a TCP `port`.
    Saved in a file, the result is a valid `overhead` of `ssdlab.serve`. Raises `InputError` without
    fio and its engine `nbd`.
    """
    from ssdlab.calibration import known
    from ssdlab.calibration.measure import Plan
    from ssdlab.calibration.remote import measure as measured

    plan = Plan(SIZES, (1,), 1, seconds, True, 42, "median")
    with known.served(early=False, port=port, realtime=realtime) as uri:
        found = measured(uri, plan, progress)
    rows: dict[str, list[dict[str, float]]] = {"read": [], "write": []}
    for direction, stored in rows.items():
        for size in SIZES:
            times = [
                point.mean_us
                for point in found.points
                if point.bytes == size and point.pattern.endswith(direction)
            ]
            # Other load of the machine can only add latency.
            more = max(0.0, min(times) - known.SERVICE_US)
            stored.append({"bytes": size, "outside_us": more, "least_us": more})
    return {"overhead": rows, "conditions": found.conditions}
