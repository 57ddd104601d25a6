"""Flash as paging device: programs with too little memory, on a drive, its model, and a disk.

El Maghraoui et al. (2010) ran SPECjbb 2005 (10 warehouses) and DayTrader (500 clients) with 2 GB of
paging space on their drive, its linear model, and a disk; the slides have pictures with a
logarithmic axis, and state that the model meets throughput within 7 %. Here each program is
represented by the page faults of its threads (workload `paging`). Their accesses are unpublished,
so only claims of the slides are judged. `--live` swaps a real program on served devices.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ssdlab.calibration.regression import line
from ssdlab.paper import swapping
from ssdlab.paper.item import WIDEST, Item, Row
from ssdlab.paper.maghraoui import WITHIN
from ssdlab.paper.study import Study
from ssdlab.results import Results

SUMMARY = "El Maghraoui et al. 2010: SPECjbb and DayTrader page on a drive, a model and a disk"

#: Threads of each program: warehouses, and clients.
PROGRAMS = {"SPECjbb": 10, "DayTrader": 500}
PAGING_SPACE = "2GiB"
FLASH = {"preset": "enterprise-ssd", "blocks_per_plane": 512}
DISK = {"preset": "scsi-15k"}
#: Input of the model: service times per queue depth, measured at the sizes of paging.
DEPTHS = (1, 4, 10, 32)
SIZES = tuple(4096 << power for power in range(6))
PATTERNS = {
    "sequential_read": (1.0, 0.0),
    "random_read": (1.0, 1.0),
    "sequential_write": (0.0, 0.0),
    "random_write": (0.0, 1.0),
}
#: Minimum ratio of bars that need a logarithmic axis.
LOG_AXIS = 10
ONE_AT_A_TIME = "a line for one request at a time ignores the parallelism of the drive"


def run(study: Study) -> Item:
    """Each program on each device; with `--live` also a real program on served devices."""
    devices = {"flash": FLASH, "model": _model(study, (1,)), "disk": DISK}
    devices["model by depth"] = _model(study, DEPTHS)
    found = study.measure(
        {
            (name, device): {"device": keys, "workload": _program(study, threads)}
            for name, threads in PROGRAMS.items()
            for device, keys in devices.items()
        }
    )
    rows = []
    for name in PROGRAMS:
        rows += _rows(name, {device: found[name, device] for device in devices})
    remarks = [
        "a page of 4 KiB is touched each 2 us of computing, half of the working set is in memory, "
        "nine of ten touches go to three tenths of it: none of this is published.",
    ]
    if study.live:
        rows += swapping.rows()
    else:
        remarks.append("--live swaps a real program on served devices, where the system allows it.")
    return Item("paging", "Paging: flash, a model, and a disk", rows, remarks=remarks)


def _rows(name: str, on: Mapping[str, Results]) -> list[Row]:
    rate = {device: _operations(results) for device, results in on.items()}
    wait = {device: _wait_ms(results) for device, results in on.items()}
    log = "bars on a logarithmic axis"
    met = f'"within {WITHIN:g} %" of their drive'
    rows = [Row(f"{name} on {device}: touches/s", None, rate[device]) for device in on]
    rows.append(
        Row(
            f"{name}: flash / disk",
            None,
            rate["flash"] / rate["disk"],
            note=log,
            least=LOG_AXIS,
            most=WIDEST * LOG_AXIS,
        )
    )
    for device, missed in (("model", ONE_AT_A_TIME), ("model by depth", "")):
        value = rate[device] / rate["flash"]
        note = met if device == "model" else f"{met}; ours has a line for each number outstanding"
        tolerance = WITHIN if device == "model" else 2 * WITHIN
        rows.append(Row(f"{name}: {device} / flash", 1, value, tolerance, note, missed=missed))
    rows += [
        Row(f"{name} on {device}: wait for a page, ms", None, wait[device])
        for device in ("flash", "disk")
    ]
    return rows


def _operations(results: Results) -> float:
    """Operations of the program."""
    counts = results.to_dict()["workload"]["notices"]
    return float(counts["paging_touches"] / results.simulated_seconds)


def _wait_ms(results: Results) -> float:
    counts = results.to_dict()["workload"]["notices"]
    return float(counts["paging_wait_ns"] / counts["paging_faults"] / 1e6)


def _program(study: Study, threads: int) -> dict[str, Any]:
    part = 4 if study.quick else 1
    return {
        "kind": "paging",
        "threads": threads,
        "working_set": "256MiB",
        "memory": "128MiB",
        "touches": 240_000 // part,
        "compute": "2us",
        "locality": "hot-cold(0.9, 0.3)",
        "footprint": PAGING_SPACE,
        "load": False,
    }


def _model(study: Study, depths: tuple[int, ...]) -> dict[str, Any]:
    """The linear device per queue depth, fitted to micro-benchmarks of the drive."""
    found = study.measure(
        {
            (pattern, depth, size): {
                "device": FLASH,
                "workload": {
                    "kind": "closed",
                    "outstanding": depth,
                    "read_share": read_share,
                    "random_share": random_share,
                    "block_size": f"{size}B",
                    "requests": 1_000,
                    "footprint": PAGING_SPACE,
                },
            }
            for pattern, (read_share, random_share) in PATTERNS.items()
            for depth in depths
            for size in SIZES
        }
    )
    laws = {}
    for pattern in PATTERNS:
        lines = []
        for depth in depths:
            times = [found[pattern, depth, size].host.all.mean_us for size in SIZES]
            fitted = line([size / 1024 for size in SIZES], times, "relative")
            lines.append(f"{depth}: {round(1e3 * fitted.a)}ns + {round(1e3 * fitted.b)}ns/KiB")
        laws[pattern] = ", ".join(lines)
    return {"kind": "law", "size": "8GiB", **laws}
