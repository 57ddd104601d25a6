"""Results in the forms of other tools.

`fio` is the subset of fio's JSON output that plotting scripts use; `diskspd` is DiskSpd's table.
Both contain only data from the results.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Callable, Mapping
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import Any

from ssdlab.results import Results

NS_PER_US = 1000
KIB = 1024
MIB = 1024 * 1024
#: Rows of DiskSpd's percentile table that the results have, with its labels.
DISKSPD_PERCENTILES = {
    "50": "50th",
    "90": "90th",
    "95": "95th",
    "99": "99th",
    "99.9": "3-nines",
    "99.99": "4-nines",
    "99.999": "5-nines",
}


def fio(results: Results) -> str:
    """The results in the form of fio's `--output-format=json`; times in ns, `bw` in KiB/s.

    One job, or one for each group of jobs between `stonewall`s. The latency is from submission to
    completion, fio's `lat_ns`. The simulator has no submission latency, so `clat_ns` is equal.
    """
    is_fio = results.experiment.workload.kind == "fio"
    sections = _sections(results.experiment.workload) if is_fio else {}
    if is_fio and (apart := results.get("classes")):
        names = sorted(apart, key=_places([*sections]))
        jobs = [_fio_group(name, n, apart[name]) for n, name in enumerate(names)]
        for each in jobs:
            # Concurrent jobs share their figures, so no single section describes them.
            if len(jobs) == len(sections) and each["jobname"] in sections:
                each["job options"] = sections[each["jobname"]]
        text = {"fio version": f"ssdlab-{results.version}", "jobs": jobs}
        return json.dumps(text, indent=2) + "\n"
    job: dict[str, Any] = {"jobname": results.experiment.title, "groupid": 0, "error": 0}
    if results.experiment.workload.kind == "closed":
        job["job options"] = _fio_options(results.experiment.workload)
    elif len(sections) == 1:
        job |= {"jobname": [*sections][0], "job options": [*sections.values()][0]}
    for op in ("read", "write", "trim"):
        job[op] = _fio_direction(results.host[op], results.simulated_seconds)
    text = {"fio version": f"ssdlab-{results.version}", "jobs": [job]}
    return json.dumps(text, indent=2) + "\n"


def _sections(workload: Any) -> dict[str, dict[str, str]]:
    """The jobs of a job file in order, each with its options and those of `[global]`."""
    text = workload.get("job") or ""
    with contextlib.suppress(OSError, UnicodeDecodeError):
        text = text or Path(workload.path).read_text(encoding="utf-8")
    common: dict[str, str] = {}
    found: dict[str, dict[str, str]] = {}
    options = common
    for line in map(str.strip, text.splitlines()):
        if section := re.match(r"\[(.+?)\]", line):
            is_global = section[1] == "global"
            options = common if is_global else found.setdefault(section[1], dict(common))
        elif line and line[0] not in "#;":
            key, _, value = line.partition("=")
            options[key.strip()] = value.strip()
    return found


def _places(sections: list[str]) -> Callable[[str], tuple[int, str]]:
    """Positions of groups of jobs in the job file, by name."""

    def place(name: str) -> tuple[int, str]:
        base, _, number = name.rpartition(" ")
        nth = int(number) if number.isdigit() and name not in sections else 1
        positions = [n for n, it in enumerate(sections) if it == (name if nth == 1 else base)]
        return (positions[min(nth, len(positions)) - 1] if positions else len(sections)), name

    return place


def _fio_group(name: str, number: int, stats: Any) -> dict[str, Any]:
    """The jobs of a phase; its runtime is from its first request to its last completion."""
    every = stats.all
    seconds = every.requests / every.iops if every.iops else 0.0
    job: dict[str, Any] = {"jobname": name, "groupid": number, "error": 0}
    return job | {op: _fio_direction(stats[op], seconds) for op in ("read", "write", "trim")}


def _fio_options(closed: Any) -> dict[str, str]:
    """The fio options equivalent to a closed loop."""
    order = "" if closed.random_share == 0 else "rand"
    options = {
        "rw": order + {0: "write", 1: "read"}.get(closed.read_share, "rw"),
        "iodepth": str(closed.outstanding),
        "numjobs": str(closed.threads),
    }
    if options["rw"].endswith("rw"):
        options["rwmixread"] = f"{100 * closed.read_share:g}"
    if closed.random_share not in (0, 1):
        options["percentage_random"] = f"{100 * closed.random_share:g}"
    if isinstance(closed.block_size, str):
        options["bs"] = closed.block_size
    return options


def _fio_direction(stats: Any, seconds: float) -> dict[str, Any]:
    def nanoseconds(us: float | None) -> float:
        return 0 if us is None else us * NS_PER_US

    latency = {
        "min": round(nanoseconds(stats.min_us)),
        "max": round(nanoseconds(stats.max_us)),
        "mean": nanoseconds(stats.mean_us),
        "stddev": nanoseconds(stats.std_us),
        "N": stats.requests,
    }
    percentiles = {
        f"{float(percent):.6f}": round(nanoseconds(us))
        for percent, us in stats.percentiles_us.to_dict().items()
        if stats.requests
    }
    rate = stats.bytes / seconds if seconds else 0.0
    return {
        "io_bytes": stats.bytes,
        "io_kbytes": stats.bytes // KIB,
        "bw_bytes": round(rate),
        "bw": round(rate / KIB),
        "iops": stats.iops or 0.0,
        "runtime": round(seconds * 1000),
        "total_ios": stats.requests,
        "clat_ns": latency | ({"percentile": percentiles} if percentiles else {}),
        "lat_ns": latency,
    }


def diskspd(results: Results) -> str:
    """The results in DiskSpd's form: totals, reads, writes, then percentiles, times in ms.

    For a load of DiskSpd without warm-up and cool-down, with the name of each command line.
    """
    apart = results.get("classes") if results.experiment.workload.kind == "diskspd" else None
    measured = [name for name in apart or () if name.endswith(MEASURED)]
    if not apart or not measured:
        return _diskspd_table(results.host, results.simulated_seconds)
    measured.sort(key=_line_of)
    tables = []
    for name in measured:
        every = apart[name].all
        seconds = every.requests / every.iops if every.iops else 0.0
        title = name.removesuffix(MEASURED).strip().capitalize()
        table = _diskspd_table(apart[name], seconds)
        tables.append(f"{title}\n\n{table}" if title else table)
    return "\n".join(tables)


#: Name of the printed class of a DiskSpd load.
MEASURED = "measured"


def _line_of(name: str) -> int:
    """Number of the command line for that class; 0 if there is only one."""
    found = re.search(r"\d+", name)
    return int(found[0]) if found else 0


def _diskspd_table(host: Any, seconds: float) -> str:
    lines = []
    for title, stats in ("Total IO", host.all), ("Read IO", host.read), ("Write IO", host.write):
        lines += [title, DISKSPD_HEAD, RULE, _diskspd_row(stats, seconds), ""]
    lines += ["total:", "  %-ile |  Read (ms) | Write (ms) | Total (ms)", "-" * 46]
    columns = (host.read, host.write, host.all)
    for name, value in _diskspd_percentiles():
        cells = (_milliseconds(value(stats)) for stats in columns)
        lines.append(f"{name:>7} | " + " | ".join(f"{cell:>10}" for cell in cells))
    return "\n".join(lines) + "\n"


DISKSPD_HEAD = (
    "       bytes     |     I/Os     |    MiB/s   |  I/O per s |  AvgLat (ms) | LatStdDev (ms)"
)
RULE = "-" * len(DISKSPD_HEAD)


def _diskspd_row(stats: Any, seconds: float) -> str:
    rate = stats.bytes / MIB / seconds if seconds else 0.0
    return (
        f"{stats.bytes:>16} | {stats.requests:>12} | {rate:>10.2f} | {stats.iops or 0.0:>10.2f} | "
        f"{_milliseconds(stats.mean_us):>12} | {_milliseconds(stats.std_us):>14}"
    )


def _diskspd_percentiles() -> list[tuple[str, Callable[[Any], float | None]]]:
    rows: list[tuple[str, Callable[[Any], float | None]]] = [("min", attrgetter("min_us"))]
    for percent, name in DISKSPD_PERCENTILES.items():
        rows.append((name, partial(_percentile, percent)))
    return [*rows, ("max", attrgetter("max_us"))]


def _percentile(percent: str, stats: Any) -> float | None:
    value: float | None = stats.percentiles_us[percent]
    return value


def _milliseconds(us: float | None) -> str:
    return "N/A" if us is None else f"{us / 1000:.3f}"


#: Output forms by word.
FORMS: Mapping[str, Callable[[Results], str]] = {"fio": fio, "diskspd": diskspd}
