"""A live device of known latency, used to measure the round trip to a server."""

from __future__ import annotations

import contextlib
import json
import tempfile
from collections.abc import Iterator
from pathlib import Path

#: The latency of every request: about that of a flash read, long enough for a client to sleep and
#: be woken. At zero latency the measured round trip would be too short.
SERVICE_US = 200.0
PATTERNS = ("sequential_read", "random_read", "sequential_write", "random_write")


@contextlib.contextmanager
def served(early: bool, port: int | None = None, realtime: bool = False) -> Iterator[str]:
    """Serve the reference over a Unix socket or a TCP `port`: its address. With `early` it replies
    earlier by its estimate of the round trip, as all servers of ssdlab do.
    """
    from ssdlab.live import serve

    nothing = [{"bytes": 1, "outside_us": 0.0, "least_us": 0.0}]
    device = {f"device.{pattern}.fixed": f"{SERVICE_US:g}us" for pattern in PATTERNS}
    device |= {f"device.{pattern}.per_kib": "0us" for pattern in PATTERNS}
    with tempfile.TemporaryDirectory(prefix="ssdlab-") as directory:
        zero = Path(directory, "zero.json")
        zero.write_text(json.dumps({"overhead": {"read": nothing, "write": nothing}}))
        live = serve(
            "zeus-linear",
            socket=Path(directory, "socket") if port is None else None,
            port=port,
            size="256MiB",
            set=device,
            overhead=None if early else zero,
            realtime=realtime,
        )
        with live:
            yield live.uri
