"""The status line of a live device on the terminal."""

from __future__ import annotations

import sys
import time

from ssdlab.live import LiveDevice, Status
from ssdlab.live.exports import LiveExports

CLEAR = "\r\x1b[K"


class StatusLine:
    """A status line on standard error about the last interval, updated in place."""

    def __init__(self, live: LiveDevice | LiveExports, seconds: float) -> None:
        self._live = live
        self._seconds = seconds
        self._before = live.status()
        self._at = time.monotonic()

    def show(self, last: bool = False) -> None:
        """Update the line if its interval is over; clear it with `last`."""
        if last:
            sys.stderr.write(CLEAR)
            sys.stderr.flush()
            return
        since = time.monotonic() - self._at
        now = self._live.status()
        if since < self._seconds or now is None or self._before is None:
            return
        sys.stderr.write(CLEAR + status_text(self._before, now, since))
        sys.stderr.flush()
        self._before, self._at = now, time.monotonic()


def status_text(before: Status, now: Status, seconds: float) -> str:
    """Counts between two samples, in a line of at most 79 characters."""
    requests = now.requests - before.requests
    rate = (now.bytes - before.bytes) / 1e6 / seconds
    parts = [f"{requests / seconds:,.0f} IOPS", f"{rate:,.1f} MB/s"]
    if requests:
        latency = (now.latency_seconds - before.latency_seconds) / requests
        parts.append(f"{latency * 1e6:,.1f} us")
    if now.write_amplification is not None:
        parts.append(f"write amplification {now.write_amplification:.2f}")
    parts.append(f"late {now.late_share:.1%}")
    return " | ".join(parts)[:79]
