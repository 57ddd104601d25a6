"""What the way between a client and the live device takes, as the client itself sees it."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

__all__ = ["measure"]

#: What the device of the measurement takes: about a flash read, for whoever waits that long sleeps.
SERVICE_US = 200.0
SIZES = (512, 4096, 65536, 262144, 1 << 20)
PATTERNS = ("sequential_read", "random_read", "sequential_write", "random_write")


def measure(
    seconds: float = 0.5,
    port: int | None = None,
    realtime: bool = False,
    progress: Callable[[int, int], object] | None = None,
) -> dict[str, Any]:
    """The floor of fio as the client: of each direction and size what its requests take more.

    It measures a device whose requests all take 200 us, over a Unix socket or a TCP `port`. What it
    returns is what `ssdlab.serve` takes as `floor`, once it is in a file. Raises `InputError`
    without fio and its engine `nbd`.
    """
    from ssdlab.calibration.measure import Plan
    from ssdlab.calibration.remote import measure as measured
    from ssdlab.live import serve

    nothing = [{"bytes": 1, "outside_us": 0.0, "least_us": 0.0}]
    device = {f"device.{pattern}.fixed": f"{SERVICE_US:g}us" for pattern in PATTERNS}
    device |= {f"device.{pattern}.per_kib": "0us" for pattern in PATTERNS}
    plan = Plan(SIZES, (1,), 1, seconds, True, 42, "median")
    with tempfile.TemporaryDirectory(prefix="ssdlab-") as directory:
        zero = Path(directory, "zero.json")
        zero.write_text(json.dumps({"floor": {"read": nothing, "write": nothing}}))
        live = serve(
            "zeus-linear",
            socket=Path(directory, "socket") if port is None else None,
            port=port,
            size="256MiB",
            set=device,
            floor=zero,
            realtime=realtime,
        )
        with live:
            found = measured(live.uri, plan, progress)
    rows: dict[str, list[dict[str, float]]] = {"read": [], "write": []}
    for direction, kept in rows.items():
        for size in SIZES:
            times = [
                point.mean_us
                for point in found.points
                if point.bytes == size and point.pattern.endswith(direction)
            ]
            # Whatever else the machine does can only add to it.
            more = max(0.0, min(times) - SERVICE_US)
            kept.append({"bytes": size, "outside_us": more, "least_us": more})
    return {"floor": rows, "conditions": found.conditions}
