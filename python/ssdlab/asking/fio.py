"""Results of fio (`--output-format=json`) as the load that was measured."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ssdlab._core import InputError
from ssdlab.asking.described import Asked
from ssdlab.sizing.load import Load
from ssdlab.units import duration, size

#: The sum over all clients, which has no options.
ALL = "All clients"


def is_json(found: Any) -> bool:
    """True for JSON of fio."""
    return (
        isinstance(found, Mapping)
        and "fio version" in found
        and ("jobs" in found or "client_stats" in found)
    )


def last(text: str) -> Any:
    """The last results of a file with several (--status-interval), or with lines of fio's messages
    between them; None without results.
    """
    found, decoder, at = None, json.JSONDecoder(), 0
    while (begins := re.compile(r"^\{", re.M).search(text, at)) is not None:
        try:
            said, at = decoder.raw_decode(text, begins.start())
        except ValueError:
            at = begins.end()
            continue
        found = said if is_json(said) else found
    return found


def read(path: Path, found: Mapping[str, Any]) -> Asked:
    """The load of the busiest job of the results."""
    listed = found.get("jobs") or found.get("client_stats") or []
    jobs = [it for it in listed if isinstance(it, Mapping) and it.get("jobname") != ALL]
    totals = [sum(_iops(job, kind) for kind in ("read", "write")) for job in jobs]
    if not any(totals):
        raise InputError(f"{path}: no job of fio in it has read or written")
    job = jobs[totals.index(max(totals))]
    options = {**(found.get("global options") or {}), **(job.get("job options") or {})}
    reads, writes = _iops(job, "read"), _iops(job, "write")
    moved = sum(_moved(job, kind) for kind in ("read", "write"))
    block = max(round(moved / (reads + writes) / 512), 1) * 512 if moved else 4096
    depth = _whole(path, options, "iodepth") * _whole(path, options, "numjobs")
    pattern = str(options.get("rw") or options.get("readwrite") or "read")
    keys = {
        "workload.kind": "closed",
        "workload.outstanding": str(depth),
        "workload.read_share": f"{reads / (reads + writes):.4g}",
        "workload.random_share": "1" if "rand" in pattern else "0",
        "workload.block_size": f"{block}B",
    }
    name = str(job.get("jobname") or path.stem)
    stated = [
        f"Job {name}: {pattern}, {100 * reads / (reads + writes):.3g} % reads, "
        f"{size(block)}, {depth} outstanding.",
        f"Measured there: {reads + writes:,.0f} requests a second{_latencies(job)}.",
    ]
    if len(jobs) > 1:
        stated.append(f"The busiest of {len(jobs)} jobs.")
    assumed = [
        "requests as fast as they are answered, as fio sends them without a rate",
        "the whole drive is in use, filled and overwritten before",
    ]
    surer = ["the job file itself (ssdlab ask FILE.fio), which has every option of the job"]
    load = Load(f"{path.name}, {name}", keys=keys, is_paced=False)
    return Asked(load, stated, assumed, surer, reads / (reads + writes))


def _iops(job: Mapping[str, Any], kind: str) -> float:
    value = (job.get(kind) or {}).get("iops")
    return float(value) if isinstance(value, int | float) else 0.0


def _moved(job: Mapping[str, Any], kind: str) -> float:
    """Bytes a second; fio 2 has them in KiB alone."""
    found = job.get(kind) or {}
    return float(found.get("bw_bytes") or 0) or 1024 * float(found.get("bw") or 0)


def _whole(path: Path, options: Mapping[str, Any], name: str) -> int:
    text = str(options.get(name) or "1")
    if not text.isdigit():
        raise InputError(f"{path}: {name} = {text}: expected a whole number")
    return max(int(text), 1)


def _latencies(job: Mapping[str, Any]) -> str:
    stated = ""
    for kind in ("read", "write"):
        said = job.get(kind) or {}
        # fio 2 has microseconds.
        unit = 1 if "clat_ns" in said else 1000
        found = (said.get("clat_ns") or said.get("clat") or {}).get("percentile") or {}
        if "99.000000" in found and _iops(job, kind):
            stated += f", {kind} p99 {duration(float(found['99.000000']) * unit / 1000)}"
    return stated
