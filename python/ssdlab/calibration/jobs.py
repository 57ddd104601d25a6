"""fio's jobs as simulated loads, and the metrics to compare.

A job is a closed loop of its pattern, size and depth. Random-write jobs are assumed to be measured
in steady state: the simulated drive is preconditioned first.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ssdlab import layers
from ssdlab._core import InputError
from ssdlab.calibration import fio
from ssdlab.layers import Layer
from ssdlab.results import Results
from ssdlab.running import run_layers

#: fio's names, with their order and direction.
READS = {"read": 1.0, "randread": 1.0, "write": 0.0, "randwrite": 0.0}
MIXED = ("rw", "readwrite", "randrw")
#: Requests of a simulated job: number per outstanding request, minimum and maximum.
EACH, FEWEST, MOST = 60, 6000, 60_000
#: Minimum number of random writes: fewer would only use pages that are already erased.
FEWEST_WRITES = 24_000
#: Minimum number of slower requests for a percentile.
BEHIND = 5
#: Compared percentiles, by fio's names.
PERCENTILES = {
    "p50": "50.000000",
    "p90": "90.000000",
    "p99": "99.000000",
    "p99.9": "99.900000",
}
FIGURES = ("iops", "mean", *PERCENTILES)


#: Distance from a percentile within which neighbours are examined: in standard errors of its rank
#: for independent requests (waits for garbage collection are not), and as shares of the requests
#: beyond.
ERRORS, LEAST_BESIDE, MOST_BESIDE = 6.0, 0.1, 0.5


class Seen(float):
    """A simulated metric with the bounds `low` and `high` of its uncertainty."""

    low: float
    high: float

    @classmethod
    def of(cls, value: float, low: float, high: float) -> Seen:
        """A value with bounds, widened to contain it."""
        found = cls(value)
        found.low, found.high = min(low, value), max(high, value)
        return found


@dataclass(frozen=True)
class Job:
    """A measured job: its load, and its metrics by direction and name (per second, or us)."""

    name: str
    workload: Mapping[str, Any]
    figures: Mapping[tuple[str, str], float]

    @property
    def writes_at_random(self) -> bool:
        """True for random writes, which scatter invalid pages over the drive."""
        return bool(self.workload["random_share"] and self.workload["read_share"] < 1)


def read(target: Path) -> list[Job]:
    """The jobs of fio's JSON in a file, directory or tar. Raises `InputError`."""
    found = []
    for name, text in fio._texts(target):
        result = fio._parsed(name, text)
        for job in result["jobs"]:
            found.append(_job(name, job, fio._options(name, job, result)))
    return found


def _job(name: str, job: Mapping[str, Any], options: Mapping[str, Any]) -> Job:
    where = fio._where(name, job)
    word = str(options["rw"]).partition(":")[0]
    if word not in READS and word not in MIXED:
        known = ", ".join([*READS, *MIXED])
        raise InputError(f"{where}: rw={word}: a job of the model is one of {known}")
    mixed = {"read_share": float(options.get("rwmixread", 50)) / 100}
    try:
        threads = int(options["numjobs"])
        workload = {
            "kind": "closed",
            "outstanding": int(options["iodepth"]),
            "threads": threads,
            "read_share": READS.get(word, mixed["read_share"]),
            "random_share": float(word.startswith("rand")),
            "block_size": f"{fio._bytes(where, str(options['bs']))}B",
        }
        figures = {
            (op, figure): value
            for op in ("read", "write")
            for figure, value in _figures(job.get(op) or {}).items()
        }
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"{where}: lacks a number that is needed ({error})") from None
    if not figures:
        raise InputError(f"{where}: no request was measured")
    return Job(str(job.get("jobname", name)), workload, figures)


def _figures(stats: Mapping[str, Any]) -> dict[str, float]:
    """fio's metrics for a direction: IOPS, and latencies in us."""
    count = int(stats.get("total_ios") or 0)
    if count < 1:
        return {}
    latency = stats.get("lat_ns") or stats["clat_ns"]
    found = {"iops": float(stats["iops"]), "mean": float(latency["mean"]) / 1000}
    # fio's percentiles cover completion by default; a constant submission latency is added.
    known = latency if "percentile" in latency else stats.get("clat_ns") or {}
    shift = float(latency["mean"]) - float(known.get("mean") or latency["mean"])
    for name, key in PERCENTILES.items():
        if key in (known.get("percentile") or {}) and _is_resolved(count, key):
            found[name] = (float(known["percentile"][key]) + shift) / 1000
    return {name: value for name, value in found.items() if value > 0}


def _is_resolved(count: int, percent: str) -> bool:
    """True if enough requests lie beyond a percentile."""
    return count * (1 - float(percent) / 100) >= BEHIND


def simulated(
    stack: Sequence[Layer], job: Job, seed: int, fewest: int = FEWEST
) -> dict[tuple[str, str], float]:
    """Metrics of the job on a simulated device, from at least `fewest` requests."""
    outstanding = job.workload["outstanding"] * job.workload["threads"]
    fewest = max(fewest, FEWEST_WRITES) if job.writes_at_random else fewest
    requests = min(max(fewest, EACH * outstanding), MOST)
    way = "random:1" if job.writes_at_random else "none"
    table = {
        "workload": {**job.workload, "requests": requests},
        "run": {"seed": seed, "precondition": way},
    }
    return of_results(run_layers([*stack, *layers.from_mapping(f"job {job.name}", table)]))


def of_results(results: Results) -> dict[tuple[str, str], float]:
    """The figures of a run by direction and name."""
    found: dict[tuple[str, str], float] = {}
    for op in ("read", "write"):
        host = results.host[op]
        if not host.requests:
            continue
        values = {"iops": host.iops, "mean": host.mean_us}
        for name, key in PERCENTILES.items():
            if _is_resolved(host.requests, key):
                values[name] = _percentile(host, name)
        found |= {(op, name): value for name, value in values.items() if value}
    return found


def _percentile(host: Any, name: str) -> Seen:
    """A percentile with its neighbours: in a stepped distribution the next one may be far away."""
    value, counts = float(host.percentiles_us[name.removeprefix("p")]), host.histogram.requests
    share, edges = float(name.removeprefix("p")) / 100, host.histogram.below_us
    beyond = 1 - share
    neighbours = ERRORS * math.sqrt(share * beyond / host.requests)
    neighbours = min(max(neighbours, LEAST_BESIDE * beyond), MOST_BESIDE * beyond)

    def bin_of(rank: float) -> int:
        below = 0
        for position, count in enumerate(counts):
            below += count
            if below >= rank * host.requests:
                return position
        return len(counts) - 1

    here, under, over = (bin_of(share + it) for it in (0, -neighbours, neighbours))
    # The nearest edge of the neighbouring bin bounds the value.
    low = float(edges[under]) if under < here else value
    high = float(edges[over - 1]) if over > here else value
    return Seen.of(value, low, high)


def misses(job: Job, found: Mapping[tuple[str, str], float]) -> dict[tuple[str, str], float]:
    """Logarithm of simulated over measured, for each common metric."""
    return {
        key: math.log(found[key] / measured)
        for key, measured in job.figures.items()
        if key in found
    }


def certain_misses(
    job: Job, found: Mapping[tuple[str, str], float]
) -> dict[tuple[str, str], float]:
    """Misses that remain for all neighbouring percentiles.

    A percentile on a step of the distribution falls on either side by chance: p90 of a stream was
    twice the measured one with the true keys, and outweighed the throughput.
    """
    ends = {
        key: min(max(job.figures[key], getattr(it, "low", it)), getattr(it, "high", it))
        for key, it in found.items()
        if key in job.figures
    }
    return {key: math.log(end / job.figures[key]) for key, end in ends.items()}
