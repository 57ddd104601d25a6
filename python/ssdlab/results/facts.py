"""Input of the rules of a verdict: a run's shares, loads and settings, by short names."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cached_property
from typing import Any

from ssdlab import readable
from ssdlab.charts.style import part_role
from ssdlab.results import Results
from ssdlab.results.records import PARTS, Kind, Record, part_labels
from ssdlab.units import plural

#: Rank from which bands of requests count as the tail.
FROM = 0.99
#: Minimum number of requests of a kind for a p99.
FEWEST = 200
NOUNS = {"all": "requests", "flush": "flushes"}

_QUANTITY = re.compile(r"([\d.]+)([A-Za-zµ/]*)")


class Facts:
    """A run's input to the rules. Shares are relative to the mean latency of all requests."""

    def __init__(self, results: Results) -> None:
        self.results = results
        self.all: Kind = results.host.all
        self.mean: float = self.all.mean_us or 0.0
        self.fastest: float = self.all.min_us or 0.0

    @cached_property
    def shares(self) -> dict[str, float]:
        """Share of each latency component, by role."""
        parts = self.all.breakdown_us
        return {
            part_role(part): (parts.get(part) or 0.0) / self.mean if self.mean else 0.0
            for part in PARTS
        }

    def share(self, *parts: str) -> float:
        """Total share of these components."""
        return sum(self.shares.get(part, 0.0) for part in parts)

    @property
    def largest(self) -> str:
        """The largest component of the mean."""
        return max(self.shares, key=lambda part: self.shares[part])

    @cached_property
    def units(self) -> list[Record]:
        """The units of the drive."""
        return [*(self.results.get("units") or [])]

    @cached_property
    def busy(self) -> float | None:
        """Mean utilisation of the units, or of a disk's heads."""
        if self.units:
            return float(sum(unit.busy for unit in self.units) / len(self.units))
        disk = self.results.get("disk")
        return None if disk is None else float(disk.busy)

    @cached_property
    def busiest(self) -> float:
        """Utilisation of the busiest unit."""
        return max((unit.busy for unit in self.units), default=self.busy or 0.0)

    @cached_property
    def cleaning(self) -> float:
        """Mean share of unit time spent in garbage collection."""
        units = self.units
        return sum(unit.get("cleaning") or 0.0 for unit in units) / len(units) if units else 0.0

    @cached_property
    def buses(self) -> float | None:
        """Mean utilisation of the buses."""
        busy = (self.results.get("buses") or {}).get("busy")
        return sum(busy) / len(busy) if busy else None

    @cached_property
    def link(self) -> float | None:
        """Upper bound of the host link's utilisation, from the requests' bytes."""
        bandwidth = self.bandwidth
        rate = self.all.mb_per_s
        return None if not bandwidth or rate is None else min(1.0, rate / bandwidth)

    @property
    def bandwidth(self) -> float | None:
        """Bandwidth of the host link, MB/s."""
        found = _QUANTITY.fullmatch(str(self.setting("device.host_link.bandwidth")))
        sizes = {"B/s": 1e-6, "kB/s": 1e-3, "MB/s": 1.0, "GB/s": 1e3, "MiB/s": 1.048576}
        return float(found[1]) * sizes[found[2]] if found and found[2] in sizes else None

    @property
    def outstanding(self) -> int | None:
        """Queue depth of a closed loop."""
        load = self.results.experiment.get("workload")
        if load is None or load.get("outstanding") is None:
            return None
        return int(load.get("outstanding", 1)) * int(load.get("threads", 1))

    @property
    def overloaded(self) -> bool:
        """True if the offered load exceeded the throughput, by the engine's warning."""
        return "overloaded" in self.results.warning_names()

    @cached_property
    def unit(self) -> str:
        """Name of the units: packages, dies."""
        if not self.units:
            return "disk" if self.results.get("disk") is not None else "unit"
        words = re.findall(r"[a-z]+", self.units[0].name)
        return words[-1] if words else "unit"

    @property
    def drive(self) -> str:
        """Prefix of the drive's keys; a member's for an array."""
        array = self.setting("device.kind") == "array"
        return "device.member" if array else "device"

    @property
    def buffered(self) -> bool:
        """True if the drive has a write buffer."""
        size = self.setting(f"{self.drive}.buffer.size")
        return size is not None and not str(size).startswith("0")

    def setting(self, key: str) -> Any:
        """The value of an experiment's key; None if absent."""
        value: Any = self.results.experiment
        for word in key.split("."):
            value = value.get(word) if isinstance(value, Mapping) else None
        return value

    def quantity(self, key: str) -> float | None:
        """The value of a size key, bytes."""
        found = _QUANTITY.fullmatch(str(self.setting(key)))
        units = {"B": 1.0, "KiB": 1024.0, "MiB": 1024.0**2, "GiB": 1024.0**3}
        return float(found[1]) * units[found[2]] if found and found[2] in units else None

    def times(self, key: str, factor: float) -> str | None:
        """The assignment that multiplies the quantity of a key."""
        found = _QUANTITY.fullmatch(str(self.setting(key)))
        if not found or not float(found[1]):
            return None
        number = float(found[1]) * factor
        whole = isinstance(self.setting(key), int)
        # Digits only: an exponent before a unit is invalid.
        digits = str(round(number)) if whole else f"{float(f'{number:.6g}'):.12f}"
        digits = digits.rstrip("0").rstrip(".") if "." in digits else digits
        return f"{key}={digits}{found[2]}"

    def load(self) -> str:
        """Utilisation of the units, for a sentence."""
        stated = []
        if self.busy is not None and self.units:
            stated.append(
                f"mean utilisation of the {plural(self.unit)} is {readable.about(self.busy)}"
            )
        if self.buses is not None:
            stated.append(f"of the buses {readable.about(self.buses)}")
        return " and ".join(stated)


def tail(results: Results) -> str | None:
    """Components of the slowest 1 %, for the slowest kind of request; None without them.

    `The slowest 1 % of reads take 354 µs, 77 % of it waiting for cleaning.`
    """
    kind = _slowest(results)
    bands = [it for it in results.host[kind].get("bands") or [] if it["from_share"] >= FROM]
    count = sum(it["requests"] for it in bands)
    if not count:
        return None
    parts = _mean(bands, count)
    mean = sum(it["mean_us"] * it["requests"] for it in bands) / count
    labels = part_labels([results])
    largest = max(parts, key=lambda part: parts[part])
    share = readable.about(parts[largest] / mean) if mean else "0 %"
    noun = NOUNS.get(kind, f"{kind}s")
    said = f"The slowest 1 % of {noun} take {readable.time(mean)}, {share} of it {labels[largest]}"
    return f"{said}.".replace(readable.THIN, " ")


def _slowest(results: Results) -> str:
    """Kind of request with the longest p99, among those with enough requests."""
    known = {
        kind: host.percentiles_us["99"]
        for kind, host in results.host.items()
        if kind != "all" and (host.requests or 0) >= FEWEST
    }
    return max(known, key=lambda kind: known[kind], default="all")


def _mean(bands: list[Mapping[str, Any]], count: float) -> dict[str, float]:
    """Mean of each component over the bands."""
    found: dict[str, float] = {}
    for band in bands:
        for part, us in band["breakdown_us"].items():
            if us is not None:
                found[part] = found.get(part, 0.0) + us * band["requests"] / count
    return found
