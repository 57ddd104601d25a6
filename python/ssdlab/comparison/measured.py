"""The JSON of fio as a side of a comparison: a real drive against a simulated one.

fio measures submission to completion as `lat_ns` and its percentiles as `clat_ns` or `lat_ns`, by
its options. A group of jobs between stonewalls is a class of the simulation.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeGuard

from ssdlab import reading
from ssdlab._core import InputError

NS_PER_US = 1e3
DIRECTIONS = ("read", "write", "trim")
#: Job options that define the load; other options name files or control the measurement.
_ASKED = (
    "rw readwrite bs blocksize bsrange blocksize_range bssplit ba blockalign rwmixread rwmixwrite "
    "iodepth ioengine numjobs size offset offset_increment io_size io_limit number_ios loops "
    "runtime timeout time_based startdelay rate rate_iops rate_process random_distribution "
    "percentage_random norandommap thinktime thinktime_blocks stonewall wait_for_previous fsync "
    "fdatasync"
)
ASKED = frozenset(_ASKED.split())
#: Options that change the requests but are not simulated.
CHANGING = (
    "ramp_time",
    "zonemode",
    "verify",
    "trim_percentage",
    "dedupe_percentage",
    "latency_target",
)


@dataclass(frozen=True)
class Measured:
    """Measurements of fio: metrics by the names of results, and the jobs as text."""

    path: str
    version: str
    figures: Mapping[str, float]
    jobs: Sequence[str]
    job_file: str | None
    """The jobs in fio's syntax, if the JSON has their options."""
    left_out: Sequence[str]
    """Job options that change the requests but are not simulated."""


def is_fio(side: object) -> TypeGuard[str | os.PathLike[str]]:
    """True for a JSON file of fio."""
    if not isinstance(side, str | os.PathLike) or not os.path.isfile(side):
        return False
    if Path(side).suffix not in (".json", ".fio-json", ".out"):
        return False
    try:
        with open(side, "rb") as file:
            return b'"fio version"' in file.read(4096)
    except OSError:
        return False


def load(path: str | os.PathLike[str]) -> Measured:
    """Read measurements of fio. Raises `InputError` where the file is not fio's JSON."""
    try:
        text = reading.text(Path(path))
        found = reading.parsed(os.fspath(path), text[text.index("{") :])
        return _read(os.fspath(path), found)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        if isinstance(error, InputError):
            raise
        said = f"no {error}" if isinstance(error, KeyError) else f"{error}"
        raise InputError(f"{os.fspath(path)}: is not JSON as fio writes it: {said}") from None


def _read(path: str, found: Mapping[str, Any]) -> Measured:
    jobs = [_job(job) for job in found["jobs"]]
    if not jobs:
        raise InputError(f"{path}: fio has measured no job")
    groups = _groups(jobs)
    figures: dict[str, float] = {}
    if len(groups) == 1:
        figures = {f"host.{name}": value for name, value in _figures(*groups.values()).items()}
    for name, group in groups.items():
        figures |= {f"classes.{name}.{key}": value for key, value in _figures(group).items()}
    options = [found.get("global options", {}), *(job.get("job options", {}) for job in jobs)]
    left_out = sorted({key for each in options for key in each if key in CHANGING})
    version = str(found["fio version"])
    return Measured(path, version, figures, [*groups], _job_file(found), left_out)


def _job(job: Mapping[str, Any]) -> Mapping[str, Any]:
    if int(job.get("error", 0)):
        raise ValueError(f"job {job['jobname']} ended with error {job['error']}")
    return job


def _groups(jobs: Sequence[Mapping[str, Any]]) -> dict[str, list[Mapping[str, Any]]]:
    """Groups of concurrent jobs, by the name of the first."""
    by_id: dict[Any, list[Mapping[str, Any]]] = {}
    for job in jobs:
        by_id.setdefault(job.get("groupid", 0), []).append(job)
    found: dict[str, list[Mapping[str, Any]]] = {}
    for group in by_id.values():
        name, number = str(group[0]["jobname"]), 1
        while (key := name if number == 1 else f"{name} {number}") in found:
            number += 1
        found[key] = group
    return found


def _figures(group: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Metrics of concurrent jobs; percentiles of several jobs cannot be merged."""
    found: dict[str, float] = {}
    for of in DIRECTIONS:
        parts = [job[of] for job in group if job.get(of, {}).get("total_ios", 0)]
        if not parts:
            continue
        latencies = [part.get("lat_ns") or part["clat_ns"] for part in parts]
        if not all(it.get("mean") for it in latencies):
            latencies = [part["clat_ns"] for part in parts]
        counts = [float(part["total_ios"]) for part in parts]
        means = [float(it["mean"]) for it in latencies]
        found[f"{of}.requests"] = sum(counts)
        found[f"{of}.iops"] = sum(float(part["iops"]) for part in parts)
        found[f"{of}.mb_per_s"] = sum(_bytes_per_s(part) for part in parts) / 1e6
        weighted = sum(n * mean for n, mean in zip(counts, means, strict=True))
        found[f"{of}.mean_us"] = weighted / sum(counts) / NS_PER_US
        found[f"{of}.max_us"] = max(float(it["max"]) for it in latencies) / NS_PER_US
        if len(parts) == 1:
            found |= {f"{of}.{name}": us for name, us in _percentiles(parts[0]).items()}
    return found


def _bytes_per_s(part: Mapping[str, Any]) -> float:
    return float(part.get("bw_bytes", 1024 * float(part.get("bw", 0))))


def _percentiles(part: Mapping[str, Any]) -> dict[str, float]:
    """Percentiles in us, by their names in results."""
    for key in ("lat_ns", "clat_ns"):
        if listed := part.get(key, {}).get("percentile"):
            return {
                f"percentiles_us.{float(percent):g}": float(ns) / NS_PER_US
                for percent, ns in listed.items()
            }
    return {}


def _job_file(found: Mapping[str, Any]) -> str | None:
    """The jobs as text; None if the JSON lacks their options."""
    lines = ["[global]", *_options(found.get("global options", {}))]
    for job in found["jobs"]:
        options = job.get("job options")
        if options is None:
            return None
        lines += [f"[{job['jobname']}]", *_options(options)]
    return "\n".join(lines) + "\n"


def _options(options: Mapping[str, str]) -> list[str]:
    return [
        f"{key}={value}" if value not in ("", None) else key
        for key, value in options.items()
        if key in ASKED
    ]
