"""Gray and Fitzgerald, *Flash Disk Opportunity for Server Applications* (ACM Queue 6(4), 2008).

Every number of the article: its measurements of a beta of a 32 GB Samsung drive, beside the preset
fitted to it; the 90 disks to replace by flash, simulated as an array; and its sums, which are
arithmetic. `diskspd` measures any device in the article's way.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ssdlab.paper.derived import SAMSUNG_2007, SCSI_15K
from ssdlab.paper.item import Item, Row
from ssdlab.paper.study import Study
from ssdlab.results import Results

SUMMARY = "Gray and Fitzgerald 2008: their flash disk, the array of 90 disks, power and cost"

#: Measured requests per second, four outstanding (their Figure 2 and text).
READS, WRITES = 2_804, 1_233
#: Their estimate of good engineering, reads and writes per second.
ENGINEERED = (3_000, 1_100)
#: Outstanding per disk: "two or three" keep 90 disks busy.
PER_DISK = 3
#: Tolerances in percent for the preset's rates, and for the array.
FIT, ARRAY = 15.0, 5.0

#: Measurements of the Samsung: read share, random share, size, queue depth, requests, and True for
#: MB/s instead of IOPS.
MEASURED: Mapping[str, tuple[float, float, str, int, int, bool]] = {
    "plateau of sequential reads, MB/s": (1.0, 0.0, "1MiB", 4, 2_000, True),
    "plateau of sequential writes, MB/s": (0.0, 0.0, "1MiB", 4, 2_000, True),
    "sequential reads of 128 KB, 4 deep, MB/s": (1.0, 0.0, "128KiB", 4, 8_000, True),
    "sequential writes of 128 KB, 4 deep, MB/s": (0.0, 0.0, "128KiB", 4, 8_000, True),
    "random reads of 8 KB, 4 deep, a second": (1.0, 1.0, "8KiB", 4, 20_000, False),
    "random writes of 8 KB, 4 deep, cache off, a second": (0.0, 1.0, "8KiB", 4, 2_000, False),
    "sequential writes of 8 KB, 4 deep, a second": (0.0, 0.0, "8KiB", 4, 20_000, False),
    'sequential reads of "512-KB", 4 deep, a second': (1.0, 0.0, "512B", 4, 40_000, False),
    'sequential writes of "512-KB", 4 deep, a second': (0.0, 0.0, "512B", 4, 40_000, False),
}
RANDOM_WRITES = "random writes of 8 KB, 4 deep, cache off, a second"
MIX = "mix of 8 KB, 4 deep, a second"
PUBLISHED = (53, 35, 53, 35, READS, 27, WRITES, 6_528, 1_644)
FILE = "1GiB"

#: A used drive: written blocks must be erased.
USED = {"precondition": "random:0.2"}
PLATEAU = '"plateaus beyond 128-KB requests"'
BYTES = "must be 512 bytes: of 512 KB they would be 3.4 GB/s"
RATE = "90 x 200; random reads of 8 KiB, three outstanding a disk"
WHAT_IF = "with --input"


@dataclass(frozen=True)
class Array:
    """The disks to replace by flash, and the flash, as in the article's TPC-C example."""

    disks: int = 90
    disk_iops: float = 200
    disk_watts: float = 14
    array_dollars: float = 45_000
    flash_watts: float = 0.9
    flash_dollars: float = 600


def harmonic_mean(reads: float, writes: float) -> float:
    """Requests a second of an equal mix of reads and writes, one after the other."""
    return 2 / (1 / reads + 1 / writes)


def run(study: Study) -> Item:
    """The flash disk, the array, and the sums; the study's `inputs` change fields of `Array`."""
    array = Array(**study.inputs)  # type: ignore[arg-type]
    experiments = {name: _samsung(study, *how[:5]) for name, how in MEASURED.items()}
    experiments["mix"] = _mix(study)
    experiments["alone"] = _samsung(study, 0.0, 1.0, "8KiB", 1, 1_000)
    experiments["array"] = _array(study, array.disks)
    found = study.measure(experiments)
    sums = [*_sums(array), *_prices(array)]
    if study.inputs:
        sums = [_what_if(row) for row in sums]
    rows = [
        *_flash_disk(found),
        *_disks(found["array"], found["mix"], array, bool(study.inputs)),
        *sums,
    ]
    remarks = [
        "the mix one deep, 1,624 a second, has inputs that the article does not give.",
        "watts are the article's own; ssdlab's of a device are in its results.",
    ]
    rows.append(
        Row("curves of their Figure 2, points", None, None, note="the text has only those above")
    )
    title = "Gray and Fitzgerald 2008: flash instead of disks"
    return Item("gray", title, rows, remarks=remarks, derived=(SAMSUNG_2007, SCSI_15K))


def _flash_disk(found: Mapping[str, Results]) -> list[Row]:
    """Measurements of the Samsung, beside the preset."""
    rows = []
    for published, (name, how) in zip(PUBLISHED, MEASURED.items(), strict=True):
        host = found[name].host.all
        value = host.mb_per_s if how[-1] else host.iops
        note = BYTES if "512" in name else PLATEAU if "128" in name else ""
        rows.append(Row(name, published, value, FIT, note))
    mix = "random reads and sequential writes in turn, simulated"
    rows.append(Row(MIX, 1_713, found["mix"].host.all.iops, FIT, mix))
    together, alone = (found[it].host.all for it in (RANDOM_WRITES, "alone"))
    once = "1 / 27 = 37 ms: requests four deep are served one at a time"
    rows.append(Row("a random write of 8 KB, ms", 30, alone.mean_us / 1e3, note=once))
    gain = together.iops / alone.iops
    rows.append(
        Row("what four deep gains over one", None, gain, note=once, least=0.95, most=1.05),
    )
    return rows


def _disks(results: Results, flash: Results, array: Array, what_if: bool) -> list[Row]:
    """The array of disks, simulated; its watts and dollars are the article's."""
    rate = results.host.all.iops
    watts = array.disks * array.disk_watts
    theirs = 18_000 / 1_260
    mix = flash.host.all.iops
    rate_note = WHAT_IF if what_if else RATE
    rows = [
        Row("array of disks, requests/s", 18_000, rate, None if what_if else ARRAY, rate_note),
    ]
    for name, published, value, note in (
        (
            "flash disks for as many requests",
            10,
            rate / mix,
            "both simulated; 18,000 / 1,713 = 10.5",
        ),
        ("requests/s for a watt of the array", theirs, rate / watts, "18,000 / 1,260 W"),
        ("mJ for an access to the array", 1e3 / theirs, 1e3 * watts / rate, "18,000 / 1,260 W"),
        ("requests/s for a dollar of it", 0.40, rate / array.array_dollars, "of $45,000"),
    ):
        rows.append(Row(name, published, value, note=WHAT_IF if what_if else note))
    return rows


def _sums(array: Array) -> list[Row]:
    """The article's sums over rates and watts."""
    mix, better = harmonic_mean(READS, WRITES), harmonic_mean(*ENGINEERED)
    rate, watts = array.disks * array.disk_iops, array.disks * array.disk_watts
    access = 1e3 * array.disk_watts / array.disk_iops
    flash = 1e3 * array.flash_watts / mix
    return [
        _sum("mix of reads and writes, requests/s", 1_713, mix, "of 2,804 and 1,233"),
        _sum("mix with better engineering, requests/s", None, better, "of 3,000 and 1,100"),
        _sum("requests/s of all disks", 18_000, rate, "disks x 200"),
        _sum("flash disks to replace them", 10, rate / mix, "not rounded", 6),
        _sum("GB of ten flash disks", 320, 10 * 32, '"if the data would fit (it does not)"'),
        _sum("GB of the disks", None, array.disks * 36, "36 GB each"),
        _sum("power of the disks, W", 1_300, watts, "and as much for cooling", 5),
        _sum("watts, disk / flash", 15, array.disk_watts / array.flash_watts, '"15 times"', 5),
        _sum("accesses, flash / disk", 10, 2_500 / array.disk_iops, '"approximately"', 26),
        _sum("requests/s for a watt, disk", None, array.disk_iops / array.disk_watts),
        _sum("requests/s for a watt, flash, mix", None, mix / array.flash_watts),
        _sum("requests/s for a watt, flash, 2,500/s", None, 2_500 / array.flash_watts),
        _sum("mJ for an access, disk", None, access),
        _sum("mJ for an access, flash", None, flash),
        _sum("mJ for an access, disk / flash", None, access / flash),
    ]


def _prices(array: Array) -> list[Row]:
    """The article's cost calculations."""
    mix, rate = harmonic_mean(READS, WRITES), array.disks * array.disk_iops
    system = "the system: 68 % of it are the disks, and $10,000 more are their maintenance"
    return [
        _sum("$ for a disk", None, array.array_dollars / array.disks),
        _sum("$ for a GB of disk", None, array.array_dollars / (array.disks * 36)),
        _sum("$ of the system with the disks", None, array.array_dollars / 0.68, system),
        _sum("$ for a GB of flash, list", None, 1_800 / 32, "$1,800 for 32 GB"),
        _sum("$ for a GB of flash, SanDisk", None, 1_000 / 32, "$1,000 for 32 GB"),
        _sum("$ for a GB of flash, Ritek", None, 170 / 16, "$170 for 16 GB"),
        _sum("$ for a GB of flash, parts", 20, array.flash_dollars / 32, "about $600", 10),
        _sum("requests/s for a dollar, disk", None, rate / array.array_dollars),
        _sum("requests/s for a dollar, flash, list", None, mix / 1_800),
        _sum("requests/s for a dollar, flash, parts", None, mix / array.flash_dollars),
        _sum("array / flash in 2012, $", None, 44_000 / (10 * 400), "ten of $400 for $44,000"),
    ]


def _sum(
    name: str, published: float | None, value: float, note: str = "", tolerance: float = 0.1
) -> Row:
    limit = None if published is None else tolerance
    return Row(name, published, value, limit, note, arithmetic=True)


def _what_if(row: Row) -> Row:
    """A sum with other inputs: without a counterpart in the article."""
    return Row(row.name, row.published, row.simulated, note=WHAT_IF)


def _samsung(
    study: Study, read_share: float, random_share: float, size: str, outstanding: int, requests: int
) -> dict[str, Any]:
    return {
        "device": {"preset": "samsung-2007"},
        "workload": {
            "kind": "closed",
            "read_share": read_share,
            "random_share": random_share,
            "block_size": size,
            "outstanding": outstanding,
            "requests": requests // 4 if study.quick else requests,
            "footprint": FILE,
        },
        "run": USED,
    }


def _mix(study: Study) -> dict[str, Any]:
    """Four outstanding, two random reads and two sequential writes: they take turns."""

    def stream(read_share: float) -> dict[str, Any]:
        return {
            "kind": "closed",
            "read_share": read_share,
            "random_share": read_share,
            "block_size": "8KiB",
            "outstanding": 2,
            "requests": 2_500 if study.quick else 10_000,
            "footprint": FILE,
        }

    streams = [stream(1.0), stream(0.0)]
    return {
        "device": {"preset": "samsung-2007"},
        "workload": {"kind": "mix", "streams": streams},
        "run": USED,
    }


def _array(study: Study, disks: int) -> dict[str, Any]:
    return {
        "device": {"kind": "array", "members": disks, "member": {"preset": "scsi-15k"}},
        "workload": {
            "kind": "closed",
            "read_share": 1.0,
            "random_share": 1.0,
            "block_size": "8KiB",
            "outstanding": PER_DISK * disks,
            "requests": 100_000 if study.quick else 500_000,
        },
    }
