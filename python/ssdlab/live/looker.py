"""Samples a live device periodically, and keeps the samples.

The device's counters run since its start. The looker queries them a few times a second while a page
is open and once a second otherwise, and derives rates and percentiles from the difference of two
samples. The number of open pages does not change the rate of queries.
"""

from __future__ import annotations

import json
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ssdlab._core import InputError

#: Sampling interval with an open page, and without.
WATCHED_SECONDS = 0.25
ALONE_SECONDS = 1.0
#: Time without queries after which a page counts as closed.
FORGET_SECONDS = 3.0
#: Length of the history.
MEMORY_SECONDS = 600.0
#: Rates cover `RATE_SECONDS` before each sample, percentiles `LATENCY_SECONDS`.
RATE_SECONDS = 1.0
LATENCY_SECONDS = 2.0
#: Minimum number of requests for each percentile.
SHARES = {"p50": (0.5, 20), "p99": (0.99, 100), "p999": (0.999, 1000)}
KINDS = ("read", "write", "trim", "flush")
#: Fields of each sample, in order.
COLUMNS = (
    "t",
    *KINDS,
    "read_bytes",
    "write_bytes",
    *(f"model_{name}" for name in SHARES),
    *(f"measured_{name}" for name in SHARES),
    "amplification",
    "free_blocks",
    "erased",
    "late",
)

Say = Callable[[str], "str | None"]
Counts = Mapping[str, Any]


class Look(NamedTuple):
    """A sample of the counters."""

    t: float
    """Time, in seconds since the looker's start."""
    counts: Counts


class Looker:
    """Queries a device by `say` on a separate thread, and keeps the page's data.

    Raises `InputError` if the device has ended.
    """

    def __init__(self, say: Say) -> None:
        self._say = say
        self._began = time.monotonic()
        about = say("about")
        if about is None:
            raise InputError("the server has ended")
        self.about: dict[str, Any] = json.loads(about)
        """Constant facts."""
        self.bounds: list[int] = self.about.pop("bins", [])
        """Upper bounds of the latency bins, ns."""
        self._looks: deque[Look] = deque()
        self._points: deque[list[float | None]] = deque()
        self._asking, self._lock = threading.Lock(), threading.Lock()
        self._wanted = 0.0
        self._wake = threading.Event()
        self.ended = False
        """True if the device has stopped answering."""
        self.look()
        self._thread = threading.Thread(target=self._run, name="looker", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self.ended:
            is_watched = time.monotonic() - self._wanted < FORGET_SECONDS
            if self._wake.wait(WATCHED_SECONDS if is_watched else ALONE_SECONDS):
                self._wake.clear()
                if self.ended:
                    return
            self.look()

    def close(self) -> None:
        """Stop sampling."""
        self.ended = True
        self._wake.set()

    @property
    def now(self) -> float:
        """Seconds since the looker's start."""
        return time.monotonic() - self._began

    def look(self) -> None:
        """Take and store one sample."""
        with self._asking:
            answer = self._say("counts")
            if answer is None:
                self.ended = True
                return
            self._remember(Look(self.now, json.loads(answer)))

    def _remember(self, look: Look) -> None:
        with self._lock:
            self._looks.append(look)
            while len(self._looks) > 2 and self._looks[1].t < look.t - LATENCY_SECONDS:
                self._looks.popleft()
            self._points.append(self._point(look))
            while self._points[0][0] < look.t - MEMORY_SECONDS:  # type: ignore[operator]
                self._points.popleft()

    def _sample_before(self, look: Look, seconds: float) -> Look:
        """The latest sample that is at least `seconds` old, or the earliest."""
        found = self._looks[0]
        for other in self._looks:
            if other.t > look.t - seconds:
                break
            found = other
        return found

    def _point(self, look: Look) -> list[float | None]:
        before = self._sample_before(look, RATE_SECONDS)
        point: dict[str, float | None] = {"t": round(look.t, 3)}
        seconds = look.counts["at_seconds"] - before.counts["at_seconds"]

        def rate(*path: str) -> float | None:
            if seconds <= 0:
                return None
            more = _at(look.counts, path) - _at(before.counts, path)
            return float(
                round(max(more, 0.0) / seconds, 1)
            )  # Lower counts: the counters were reset.

        for kind in KINDS:
            point[kind] = rate("model", kind, "requests")
        for kind in ("read", "write"):
            point[f"{kind}_bytes"] = rate("model", kind, "bytes")
        point |= self._percentiles(look)
        if look.counts["flash"]:
            point |= _of_flash(look.counts["flash"], before.counts["flash"])
            point["erased"] = rate("flash", "blocks_erased")
        timing, then = look.counts["timing"], before.counts["timing"]
        answered = timing["requests"] - then["requests"]
        point["late"] = (timing["late"] - then["late"]) / answered if answered > 0 else None
        return [point.get(name) for name in COLUMNS]

    def _percentiles(self, look: Look) -> dict[str, float | None]:
        before = self._sample_before(look, LATENCY_SECONDS)
        found: dict[str, float | None] = {}
        for clock in ("model", "measured"):
            counts: dict[int, int] = {}
            for kind in KINDS:
                for number, count in _pairs(look.counts[clock][kind]["bins"]):
                    counts[number] = counts.get(number, 0) + count
                for number, count in _pairs(before.counts[clock][kind]["bins"]):
                    counts[number] = counts.get(number, 0) - count
            total = sum(counts.values())
            for name, (share, minimum) in SHARES.items():
                enough = total >= minimum
                seconds = percentile(counts, self.bounds, share) / 1e9 if enough else None
                found[f"{clock}_{name}"] = seconds
        return found

    def state(self, since: float) -> dict[str, Any]:
        """State for a page: the samples after `since`, and the current counts."""
        self._watched()
        with self._lock:
            points = [point for point in self._points if point[0] > since]  # type: ignore[operator]
            latest = self._looks[-1]
        counts = latest.counts
        totals = {kind: counts["model"][kind]["requests"] for kind in KINDS}
        return {
            "now": round(self.now, 3),
            "ended": self.ended,
            "points": points,
            "requests": totals,
            "failed": sum(counts["model"][kind]["failed"] for kind in KINDS),
            "timing": counts["timing"],
            "in_force": counts["in_force"],
            "flash": counts["flash"],
        }

    def latest(self) -> Counts:
        """Current counts, or the counts of the last query."""
        if not self.ended and self.now - self._looks[-1].t > ALONE_SECONDS:
            self.look()
        with self._lock:
            return self._looks[-1].counts

    def _watched(self) -> None:
        was_alone = time.monotonic() - self._wanted > FORGET_SECONDS
        self._wanted = time.monotonic()
        if was_alone:
            self._wake.set()


def _at(counts: Counts, path: Sequence[str]) -> float:
    value: Any = counts
    for key in path:
        value = value[key]
    return float(value)


def _pairs(flat: Sequence[int]) -> Iterator[tuple[int, int]]:
    return zip(flat[::2], flat[1::2], strict=True)


def _of_flash(now: Counts, before: Counts) -> dict[str, float | None]:
    written = now["host_bytes_written"] - before["host_bytes_written"]
    programmed = now["bytes_programmed"] - before["bytes_programmed"]
    ratio = round(programmed / written, 3) if written > 0 and programmed >= 0 else None
    return {"amplification": ratio, "free_blocks": now["free_blocks"]}


def percentile(counts: Mapping[int, int], bounds: Sequence[int], share: float) -> float:
    """Percentile at `share` of the counts, interpolated within its bin.

    >>> percentile({0: 1, 1: 3}, [100, 200], 0.5), percentile({1: 4}, [100, 200], 1.0)
    (133.33333333333334, 200.0)
    """
    rank = share * sum(counts.values())
    last = float(bounds[0])
    for number in sorted(counts):
        count = counts[number]
        if count <= 0:
            continue
        last = float(bounds[min(number, len(bounds) - 1)])
        if rank <= count:
            low = bounds[number - 1] if number else 0
            return low + (last - low) * max(rank, 0.0) / count
        rank -= count
    return last
