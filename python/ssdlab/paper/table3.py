"""Table 3 of the 2008 paper: sequential and random 4 KiB requests, with and without cleaning."""

from __future__ import annotations

from typing import Any

from ssdlab.paper.baseline import PACKAGES, baseline, busy_us, scaled
from ssdlab.paper.item import Item, Row
from ssdlab.paper.study import Study

SUMMARY = "Agrawal et al. 2008, Table 3: six micro-benchmarks"

#: name: read share, random share, footprint, requests on the whole drive. The original's "random
#: write with cleaning" covers an eighth of the drive: its parameter file states the pages of one
#: package (877,363) as the drive's capacity in sectors.
EIGHTH = 0.125
BENCHMARKS = {
    "sequential read": (1.0, 0.0, 1.0, 250_000),
    "random read": (1.0, 1.0, 1.0, 250_000),
    "sequential write": (0.0, 0.0, 1.0, 250_000),
    "random write": (0.0, 1.0, 1.0, 250_000),
    "sequential write with cleaning": (0.0, 0.0, EIGHTH, 5_000_000),
    "random write with cleaning": (0.0, 1.0, EIGHTH, 5_000_000),
}
#: Latency in us, and IOPS.
PUBLISHED: dict[str, tuple[float, float]] = {
    "sequential read": (130, 61_255),
    "random read": (130, 61_255),
    "sequential write": (309, 25_898),
    "random write": (309, 25_898),
    "sequential write with cleaning": (327, 24_457),
    "random write with cleaning": (433, 18_480),
}
#: Tolerances in percent: a latency truncated to whole us, and a rate to five digits with one
#: summary page in 63 uncertain.
CUT, ROUNDED = 100.0, 0.1
#: Tolerance with cleaning: other random numbers change its start and the valid pages of a block.
CLEANED = (1.0, 1.0)
#: Not in the paper: uniform random writes over the whole drive in steady state, from the mean-field
#: theory of greedy cleaning at a write amplification of 4.60.
WHOLE_DRIVE_US, WHOLE_DRIVE_IOPS = 1_989, 4_020


def run(study: Study) -> Item:
    """Each benchmark, and random writes over the whole drive in steady state."""
    drive = baseline(study)
    experiments: dict[str, dict[str, Any]] = {
        name: {"device": drive, "workload": _closed(*load[:3], scaled(study, load[3]))}
        for name, load in BENCHMARKS.items()
    }
    experiments["whole"] = {
        "device": drive,
        "workload": _closed(0.0, 1.0, 1.0, scaled(study, 2_000_000)),
        "run": {"precondition": "random:2"},
    }
    found = study.measure(experiments)
    rows = []
    for name, (latency, rate) in PUBLISHED.items():
        note = "the writes stay within 1/8 of the drive, see below" if "cleaning" in name else ""
        us = busy_us(found[name])
        latency_percent, rate_percent = (
            CLEANED if "cleaning" in name else (round(CUT / latency, 2), ROUNDED)
        )
        rows.append(Row(f"{name}, us", latency, us, latency_percent, note))
        rows.append(Row(f"{name}, requests/s", rate, PACKAGES / us * 1e6, rate_percent))
    us = busy_us(found["whole"])
    note = "not in the paper: derived for the whole drive in steady state"
    rows.append(Row("random write over the whole drive, us", WHOLE_DRIVE_US, us, 3, note))
    rate = PACKAGES / us * 1e6
    rows.append(Row("random write over the whole drive, requests/s", WHOLE_DRIVE_IOPS, rate, 3))
    amplification = found["whole"].flash.write_amplification
    rows.append(Row("its write amplification", 4.60, amplification, 3, note))
    remarks = [
        "the paper's 433 us is no property of a full drive. It comes out when the writes touch an "
        "eighth of the drive and stop after 5 M requests, before all spare space was used; "
        "the same writes over the whole drive settle at 1,989 us.",
        "requests/s are packages / latency, as in the paper: its latency is the time that a "
        "request keeps its package busy, a share of cleaning included.",
    ]
    return Item("table3", "Table 3: SSD performance under micro-benchmarks", rows, remarks=remarks)


def _closed(
    read_share: float, random_share: float, footprint: float, requests: int
) -> dict[str, Any]:
    return {
        "kind": "closed",
        "requests": requests,
        "outstanding": 32,
        "read_share": read_share,
        "random_share": random_share,
        "footprint": footprint,
    }
