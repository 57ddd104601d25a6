"""TPC-C without spindles: the 2008 paper's corollary, a group of disks against a few SSDs.

Section 7 expects small numbers of SSDs to replace many hundreds of spindles; slides 36 and 52
describe one controller's disks, load and 160 GB of database.
"""

from __future__ import annotations

from typing import Any

from ssdlab.paper.item import Item, Row
from ssdlab.paper.study import Study

SUMMARY = "Agrawal et al. 2008, section 7 and slides 36, 52, 54: TPC-C on disks and on SSDs"

DISKS, SSDS, CONTROLLERS = 28, 6, 14
#: Number of 36 GB disks that hold the 160 GB.
HOLDING = 5
USED = "160GB"
#: 6.8 million requests in half an hour.
RATE = 6.8e6 / 1800
CHOICES = '"3 to 5 times"'


def run(study: Study) -> Item:
    """A controller's load on its disks, on the fewest disks for the data, and on SSDs."""
    requests = 20_000 if study.quick else 120_000
    found = study.measure(
        {
            "disks": _experiment(_disks(DISKS), requests),
            "few": _experiment(_disks(HOLDING), requests // 4),
            "ssds": _experiment(_ssds(), requests),
            "saturated": _saturated(_ssds(), requests),
            **{name: _worn(study, **keys) for name, keys in CLEANING.items()},
        }
    )
    disks, too_few, ssds = (found[name].host.all for name in ("disks", "few", "ssds"))
    rows = [
        Row("requests/s of one controller", 3_778, ssds.iops, 2, "6.8 M in half an hour"),
        Row(f"{DISKS} disks, mean latency, ms", None, disks.mean_us / 1000),
        Row(f"{SSDS} SSDs, mean latency, ms", 0.2, ssds.mean_us / 1000, 15, "slide 22"),
        Row(
            "latency of the disks / of the SSDs",
            None,
            disks.mean_us / ssds.mean_us,
            note='"might well be replaced": no worse at the same load',
        ),
        Row(
            f"what {HOLDING} disks, which hold the data, complete of the load, %",
            None,
            100 * too_few.iops / RATE,
            note="the other disks are there for their arms: they complete a part of it",
            least=25,
            most=75,
        ),
        Row(
            "highest rate of the SSDs / the load",
            None,
            found["saturated"].host.all.iops / RATE,
            note="their number follows from the capacity, not from the rate",
        ),
        Row("spindles of all controllers", 392, CONTROLLERS * DISKS, 0, arithmetic=True),
        Row("SSDs of all controllers", 84, CONTROLLERS * SSDS, 0, arithmetic=True),
        *_lives(found),
    ]
    remarks = [
        "the disks are scsi-15k with 36 GB, striped, the database on the outer cylinders; the SSDs "
        "are agrawal2008. Arrivals are Poisson; the trace itself is not public.",
        "the slides count 5 SSDs for a controller, the paper 6: with 15 % spare space five hold "
        "only 135 GB of the 160.",
    ]
    return Item("tpcc", "TPC-C: disks or SSDs", rows, remarks=remarks)


#: Slide 54 estimates the life of a drive that rewrites a block per write. That drive and two
#: page-mapped ones are simulated.
CLEANING: dict[str, dict[str, Any]] = {
    "block": {"logical_page": "256KiB", "summary_page": False},
    "random": {"cleaning": {"policy": "random"}},
    "greedy": {"cleaning": {"policy": "greedy"}},
}


def _lives(found: Any) -> list[Row]:
    """Life of a page-mapped drive, against one that rewrites blocks."""
    erased = {
        name: found[name].flash.block_erases / found[name].host.write.requests for name in CLEANING
    }
    more = "greedy cleaning gains more on this drive, of which 15 % are spare"
    rows = []
    for name, of, missed in (
        ("random", "random victims", ""),
        ("greedy", "the emptiest", more),
    ):
        times = erased["block"] / erased[name]
        named = f"life with cleaning of {of} / with rewriting blocks"
        rows.append(Row(named, None, times, note=CHOICES, least=3, most=5, missed=missed))
    return rows


def _disks(members: int) -> dict[str, Any]:
    member = {"preset": "scsi-15k", "capacity": "36GB"}
    layout = {"layout": "striped", "stripe": "64KiB"}
    return {"kind": "array", "members": members, "member": member, **layout}


def _ssds() -> dict[str, Any]:
    return {"preset": "agrawal2008-array-6"}


def _experiment(device: dict[str, Any], requests: int) -> dict[str, Any]:
    # Load of one SSD at the rate of one controller.
    workload = {
        "preset": "paper-tpcc", "requests": requests, "footprint": USED,
        "interarrival": f"exponential(0, {1000 / RATE:.6f})",
        "sequential_interarrival": f"exponential(0, {1000 / RATE:.6f})",
    }  # fmt: skip
    return {"device": device, "workload": workload}


def _saturated(device: dict[str, Any], requests: int) -> dict[str, Any]:
    workload = {
        "kind": "closed", "read_share": 0.6667, "block_size": "8KiB", "footprint": USED,
        "outstanding": 192, "requests": requests,
    }  # fmt: skip
    return {"device": device, "workload": workload}


def _worn(study: Study, **keys: Any) -> dict[str, Any]:
    """TPC-C's writes at full speed on a small, overwritten drive."""
    device: dict[str, Any] = {"preset": "agrawal2008", "blocks_per_plane": 32, **keys}
    workload = {
        "kind": "closed", "read_share": 0.0, "block_size": "8KiB", "outstanding": 8,
        "requests": 40_000 if study.quick else 200_000,
    }  # fmt: skip
    return {"device": device, "workload": workload, "run": {"precondition": "random:2"}}
