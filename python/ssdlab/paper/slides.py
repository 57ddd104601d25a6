"""The 2008 paper's slides: savings by flash, its lifetime, the cost of a full drive."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ssdlab.paper.derived import MTRON
from ssdlab.paper.item import Item, Row
from ssdlab.paper.study import Study
from ssdlab.results import Results

SUMMARY = "Agrawal et al. 2008, slides: cost, lifetime, a full drive, the size of a logical page"

PER_WRITE = "each costs an erasure"
IN_ORDER = (
    "a queue served in order of arrival would give 19 ms; here reads slip in between the reading "
    "and the programming of a page"
)


#: Request rate of an SSD in the paper's trace, and its divisor to 420.
TPCC_RATE, FASTER = 630, 1.5

#: MTron rates of slide 16: published value, read share, random share, size, number of requests, and
#: True for MB/s. The queue depth is not stated.
MTRON_RATES = {
    "reads of 1 MiB in sequence, MB/s": (100, 1.0, 0.0, "1MiB", 2_000, True),
    "writes of 1 MiB in sequence, MB/s": (80, 0.0, 0.0, "1MiB", 2_000, True),
    "reads of 4 KiB in sequence a second": (25_000, 1.0, 0.0, "4KiB", 40_000, False),
    "writes of 4 KiB in sequence a second": (20_000, 0.0, 0.0, "4KiB", 320_000, False),
    "reads of 4 KiB at random a second": (11_000, 1.0, 1.0, "4KiB", 20_000, False),
    "writes of 4 KiB at random a second": (130, 0.0, 1.0, "4KiB", 4_000, False),
}
#: Tolerance of the preset's rates, percent.
MTRON_FIT = 15.0


@dataclass(frozen=True)
class Arrays:
    """Slides 36 and 54: the disk arrays of the TPC-C configuration, and their replacement."""

    arrays: int = 14
    disks: int = 28
    disk_dollars: float = 250
    ssds: int = 5
    ssd_dollars: float = 500
    writes: float = 2.4e6  # per array in half an hour
    dies: int = 5 * 16
    blocks_per_die: int = 8192
    rated_cycles: float = 100_000


def run(study: Study) -> Item:
    """The slides' figures from their inputs, and the cost of a 90 % full drive simulated."""
    found = study.measure(
        {
            "full": _full_drive(study),
            "page": _tpcc(study, "4KiB"),
            "block": _tpcc(study, "256KiB"),
            "faster": _tpcc(study, "256KiB", FASTER),
            **{name: _mtron(study, *how[1:5]) for name, how in MTRON_RATES.items()},
            "alone": _mtron(study, 0.0, 0.0, "4KiB", 2_000, buffered=False),
        }
    )
    amplification = found["full"].flash.write_amplification
    page, block = (found[size].host.all.mean_us / 1000 for size in ("page", "block"))
    rows = [
        *_arithmetic(Arrays()),
        Row(
            "share of the writes that are cleaning, drive 90 % full, %",
            90,
            100 * (1 - 1 / amplification),
            2,
            "random writes, random victims; theory: write amplification = 1 / spare factor = 10",
        ),
        Row("its write amplification", 10, amplification, 5),
        Row("TPC-C, logical page of 4 KiB, ms", 0.2, page, 10),
        Row(
            "TPC-C, logical page of 256 KiB, ms",
            20,
            block,
            note='"over 20 ms"',
            least=20,
            most=40,
            missed=IN_ORDER,
        ),
        Row(
            "what the large page costs, times",
            100,
            block / page,
            note='"more than two orders of magnitude"',
            least=100,
            most=200,
            missed=IN_ORDER,
        ),
        *_between(found["faster"]),
        *_of_mtron(found),
    ]
    remarks = [
        "the slide has 90 % of the writes go to cleaning when victims are taken without choosing; "
        "greedy cleaning writes less (ssdlab paper table6).",
        "the paper has 300 requests/s for each SSD where its 6.8 M requests in 30 minutes make "
        "630; with pages of 256 KiB, eight packages keep up with the lower rate only.",
    ]
    return Item(
        "slides",
        "The slides: cost, lifetime, a full drive",
        rows,
        remarks=remarks,
        derived=(MTRON,),
    )


def _arithmetic(given: Arrays) -> list[Row]:
    """Arithmetic of the slides from their own inputs."""
    disks = given.disks * given.disk_dollars
    flash = given.ssds * given.ssd_dollars
    per_die = given.writes / given.dies
    per_block = per_die / given.blocks_per_die
    per_year = per_block * 2 * 24 * 365
    years = given.rated_cycles / per_year
    in_all = given.arrays * (disks - flash)
    year = '"a little over a year\'s lifetime"'
    rewritten = "block-mapped, read-modify-write"
    return [
        Row("an array of disks, $", 7_000, disks, 0, "28 disks of $250", arithmetic=True),
        Row("an array of SSDs, $", 2_500, flash, 0, "5 SSDs of $500", arithmetic=True),
        Row("saved in all, $", 63_000, in_all, 0, "14 arrays", arithmetic=True),
        Row("writes of a die in half an hour", 30_000, per_die, 0, "2.4 M / 80", arithmetic=True),
        Row("writes of a block in half an hour", 3.66, per_block, 0.1, PER_WRITE, arithmetic=True),
        Row("writes of a block in a year", 64_000, per_year, 1, rewritten, arithmetic=True),
        Row("lifetime, years", None, years, note=year, least=1, most=2, arithmetic=True),
    ]


def _between(results: Results) -> list[Row]:
    """Between the paper's two rates of an SSD, the latency exceeds 20 ms."""
    latency = results.host.all.mean_us / 1000
    rate = TPCC_RATE / FASTER
    name = f"TPC-C, logical page of 256 KiB, {rate:.0f} requests/s, ms"
    note = "the paper speaks of 300 requests/s for an SSD, and its trace has 630"
    stored = "it keeps up with the load"
    return [
        Row(name, None, latency, note=note, least=20, most=40),
        Row(f"the same, completed a second of {rate:.0f}", rate, results.host.all.iops, 3, stored),
    ]


def _tpcc(study: Study, page: str, time_scale: float = 2.1) -> dict[str, object]:
    """TPC-C at the paper's 300 requests/s per SSD."""
    device = {
        "preset": "agrawal2008",
        "blocks_per_plane": 256,
        "logical_page": page,
        # A block of 64 pages holds a logical page of 256 KiB only without a summary page.
        "summary_page": False,
    }
    requests = 20_000 if study.quick else 60_000
    workload = {"preset": "paper-tpcc", "requests": requests, "time_scale": time_scale}
    return {"device": device, "workload": workload}


def _of_mtron(found: Mapping[str, Results]) -> list[Row]:
    """The rates of the MTron in one configuration, and the gain of its buffer."""
    rows = []
    for name, (published, *_, in_bytes) in MTRON_RATES.items():
        host = found[name].host.all
        value = host.mb_per_s if in_bytes else host.iops
        rows.append(Row(f"MTron: {name}", published, value, MTRON_FIT))
    alone = found["alone"].host.all.iops
    gains = found["writes of 4 KiB in sequence a second"].host.all.iops / alone
    without = "without the buffer each rewrites a logical page of 64 pages"
    rows.append(
        Row(
            "MTron: what its buffer gains there, times",
            None,
            gains,
            note=without,
            least=64,
            most=256,
        )
    )
    return rows


def _mtron(
    study: Study, read: float, random: float, size: str, requests: int, *, buffered: bool = True
) -> dict[str, object]:
    """Four requests outstanding."""
    device: dict[str, object] = {"preset": "mtron", "blocks_per_plane": 1024}
    if not buffered:
        device["block_buffer"] = {"size": "0B"}
    workload = {
        "kind": "closed",
        "read_share": read,
        "random_share": random,
        "block_size": size,
        "outstanding": 4,
        "requests": requests // 4 if study.quick else requests,
    }
    return {"device": device, "workload": workload, "run": {"precondition": "random:0.2"}}


def _full_drive(study: Study) -> dict[str, object]:
    """Random writes on a drive with 90 % data and random victims."""
    return {
        "device": {
            "preset": "agrawal2008",
            "blocks_per_plane": 64 if study.quick else 256,
            "spare_factor": 0.1,
            # The minimum reserve of erased blocks does not count as spare space.
            "cleaning": {"policy": "random", "min_free": 0.001},
        },
        "workload": {
            "kind": "closed",
            "read_share": 0.0,
            "outstanding": 32,
            "requests": 200_000 if study.quick else 1_000_000,
        },
        "run": {"precondition": "random:4"},
    }
