"""Arrays with redundancy against closed forms, Diff-RAID, and DiskSim's arrays of disks.

Six drives of 2008 are 48 packages that read a page in 130.6 us and write one in 309.0: the rate of
an array follows from the reads and writes per request that its redundancy adds.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ssdlab.charts import Axis, Figure, Series
from ssdlab.paper.baseline import baseline
from ssdlab.paper.item import Item, Row
from ssdlab.paper.study import Study
from ssdlab.results import Results

SUMMARY = "Arrays: closed forms of RAID-0, 1, 5 and 6, Diff-RAID, DiskSim's arrays (--traces)"

#: Mean time of a page read and written without cleaning, us (Table 3), and packages of six drives.
READ_US, WRITE_US, PACKAGES = 130.6, 308.98, 48
#: Redundancy: reads and writes of members for a small write.
WRITES = {"none": (0, 1), "mirror": (0, 2), "parity": (2, 2), "double-parity": (3, 3)}
#: Requests outstanding, and in total: K requests in n equal stations reach K / (K + n - 1) of the
#: maximum rate.
WHOLE, QUICK = (12_000, 240_000), (4_000, 40_000)
FORM, WEAR = 1.5, 1.0
#: Writes in the first half of a run that wears five small members.
WRITES_OF_PARITY = 100_000

#: Parity shares of five members, and relative wear of the first (Diff-RAID).
SHARES = {
    "100,0,0,0,0": 4.0,
    "80,5,5,5,5": 2.957,
    "60,10,10,10,10": 2.154,
    "40,15,15,15,15": 1.517,
    "equal": 1.0,
}

#: DiskSim's runs: name, recorded stream, members, order of requests, keys.
DISKSIM: Mapping[str, tuple[str, str, int, str, dict[str, Any]]] = {
    "no redundancy": ("none_fcfs", "raid", 9, "fcfs", {}),
    "rotated parity": ("parity_left_symmetric_fcfs", "raid", 9, "fcfs", {"redundancy": "parity"}),
    "rotated parity, C-LOOK": (
        "parity_left_symmetric_clook_lbn",
        "raid",
        9,
        "c-look",
        {"redundancy": "parity"},
    ),
    "parity disk, C-LOOK": (
        "parity_disk_clook_lbn",
        "raid",
        9,
        "c-look",
        {"redundancy": "parity-disk"},
    ),
    "mirrors": (
        "mirror_primary_fcfs",
        "raid_half",
        8,
        "fcfs",
        {"redundancy": "mirror", "read_copy": "primary"},
    ),
}
RUNS, CHUNK = "raid_results.json", "32KiB"
#: Tolerance of the disks' total requests, percent; times depend on the disk model.
ASKED = 1.0
DISKS = "the disks are hp-c3323a; theirs wait in the host, ours in the disk"


def run(study: Study) -> Item:
    """Rates, wear, and DiskSim's runs if `--traces` has them."""
    rows = [*_rates(study), *_wear(study)]
    figures, remarks = [], []
    runs = None if study.traces is None else study.traces / RUNS
    if runs is not None and runs.is_file():
        more, figure = _disksim(study, runs.parent)
        rows += more
        figures.append(figure)
    else:
        remarks.append(
            f"not compared with DiskSim's arrays: --traces names a directory with {RUNS} and its "
            "streams."
        )
    return Item("raid", "Arrays with redundancy", rows, figures, remarks)


def _rates(study: Study) -> list[Row]:
    """Small requests to six drives of 2008."""
    requested: dict[str, tuple[dict[str, Any], float]] = {
        kind: ({"redundancy": kind}, 0.0) for kind in WRITES
    }
    requested["reads"] = ({"redundancy": "parity"}, 1.0)
    requested["degraded"] = ({"redundancy": "parity", "failed": "2"}, 1.0)
    found = study.measure({name: _six(study, *it) for name, it in requested.items()})
    rate = {name: _steady(results) for name, results in found.items()}
    maximum = 1e6 * PACKAGES
    rows = [
        Row(
            f"{kind}: random writes/s of 4 KiB",
            maximum / (reads * READ_US + writes * WRITE_US),
            rate[kind],
            FORM,
            f"48 packages, {reads} reads and {writes} writes each",
        )
        for kind, (reads, writes) in WRITES.items()
    ]
    rows += [
        Row("parity: random reads/s", maximum / READ_US, rate["reads"], FORM),
        Row(
            "parity, a member missing: reads/s",
            maximum / READ_US / 2,
            rate["degraded"],
            FORM,
            "a survivor has 2/N of the load instead of 1/N",
        ),
    ]
    return rows


def _steady(results: Results) -> float:
    """Requests per second in the middle of a run, at full queue depth."""
    series = results.time_series
    counts = series.requests
    middle = counts[int(0.4 * len(counts)) : int(0.8 * len(counts))]
    return float(sum(middle) / len(middle) / series.bin_seconds)


def _six(study: Study, keys: dict[str, Any], read_share: float) -> dict[str, Any]:
    outstanding, requests = QUICK if study.quick else WHOLE
    return {
        "device": {
            "kind": "array",
            "members": 6,
            "stripe": "64KiB",
            "member": baseline(study),
            **keys,
        },
        "workload": {
            "kind": "closed",
            "read_share": read_share,
            "outstanding": outstanding,
            "requests": requests,
        },
    }


def _wear(study: Study) -> list[Row]:
    """Erases of the first of five members relative to the others, by its parity share.

    Erases begin when the erased blocks are used up, later on members with fewer writes; so the
    first half of a run is excluded.
    """
    halves = (WRITES_OF_PARITY, 2 * WRITES_OF_PARITY)
    found = study.measure(
        {(share, writes): _five(share, writes) for share in SHARES for writes in halves}
    )
    rows = []
    for share, expected in SHARES.items():
        first, both = (_erases(found[share, writes]) for writes in halves)
        aged = [after - before for before, after in zip(first, both, strict=True)]
        ratio = aged[0] / (sum(aged[1:]) / (len(aged) - 1))
        note = "Balakrishnan et al. 2010; so much is spare that nothing is moved"
        name = f"parity {share}: erasures of member 0 / another"
        rows.append(Row(name, expected, ratio, WEAR, note))
    return rows


def _erases(results: Results) -> list[float]:
    """Erasures of each member."""
    erases = [0.0] * 5
    for row in results.wear.map:
        member = int(row.name.split()[1])
        cells = row.mean_erases
        erases[member] += row.blocks_per_cell * sum(cells)
    return erases


def _five(share: str, writes: int) -> dict[str, Any]:
    drive = {
        "preset": "agrawal2008",
        "channels": 1,
        "dies_per_package": 1,
        "planes_per_die": 1,
        "blocks_per_plane": 256,
        "pages_per_block": 16,
        "spare_factor": 0.95,
    }
    return {
        "device": {
            "kind": "array",
            "members": 5,
            "stripe": "4KiB",
            "redundancy": "parity",
            "parity_share": share,
            "member": drive,
        },
        "workload": {
            "kind": "closed",
            "read_share": 0.0,
            "outstanding": 1,
            "requests": writes,
        },
        "run": {"timed": False},
    }


def _disksim(study: Study, directory: Path) -> tuple[list[Row], Figure]:
    """DiskSim's recorded stream on nine HP C3323A, or eight as mirrors."""
    runs = json.loads((directory / RUNS).read_text(encoding="utf-8"))
    found = study.measure({name: _nine(directory, *it[1:]) for name, it in DISKSIM.items()})
    rows = []
    times: dict[str, list[float]] = {"DiskSim": [], "simulated": []}
    for name, (run, *_) in DISKSIM.items():
        theirs, results = runs[run], found[name]
        if "array" in results:
            requested = sum(results.array.member_requests)
            note = "theirs has two ranges of parity where a write goes from chunk to chunk"
            published = theirs["disk_requests"]
            rows.append(Row(f"DiskSim, {name}: disk requests", published, requested, ASKED, note))
        mean = float(results.host.all.mean_us) / 1e3
        times["DiskSim"].append(theirs["mean_ms"])
        times["simulated"].append(mean)
        rows.append(Row(f"DiskSim, {name}: mean response, ms", theirs["mean_ms"], mean, note=DISKS))
    names = list(DISKSIM)
    lines = [Series(word, names, values) for word, values in times.items()]
    return rows, Figure("DiskSim's stream on arrays", Axis("array"), Axis("mean, ms"), lines)


def _nine(
    directory: Path, stream: str, members: int, order: str, keys: Mapping[str, Any]
) -> dict[str, Any]:
    member = {"preset": "hp-c3323a", "scheduler": order}
    return {
        "device": {
            "kind": "array",
            "members": members,
            "stripe": CHUNK,
            "member": member,
            **keys,
        },
        "workload": {
            "kind": "trace",
            "path": str(directory / f"{stream}.trace.zst"),
            "format": "disksim",
        },
    }
