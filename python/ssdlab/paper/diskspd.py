"""Gray and Fitzgerald, *Flash Disk Opportunity for Server Applications* (2008).

Sequential and random reads and writes of 512 B to 1 MiB, with 1, 2 and 4 requests outstanding, in a
file of 1 GiB, and the consequences for replacing an array of disks by flash. The article measured a
beta of a 32 GB Samsung drive, so its figures appear beside another device's for information only.
Item `gray` has the article's own figures.
"""

from __future__ import annotations

from typing import Any

from ssdlab.charts import Axis, Figure, Series
from ssdlab.paper.baseline import baseline
from ssdlab.paper.gray import READS, WRITES, Array, harmonic_mean
from ssdlab.paper.item import Item, Row
from ssdlab.paper.study import Study

SUMMARY = (
    "Gray and Fitzgerald 2008: their patterns, sizes and queue depths on your device (--device)"
)

FILE_BYTES = 1 << 30
BLOCK_BYTES = [512 << power for power in range(12)]
OUTSTANDING = (1, 2, 4)
PATTERNS = {
    "sequential read": (1.0, 0.0),
    "random read": (1.0, 1.0),
    "sequential write": (0.0, 0.0),
    "random write": (0.0, 1.0),
}
#: Measured requests per second, four outstanding (their Figure 2 and text).
PUBLISHED_IOPS = {("random read", 8192): READS, ("sequential write", 8192): WRITES}


def run(study: Study) -> Item:
    """Measure every point on the study's device and derive its equivalents.

    A quick study measures a tenth of the requests at each point. The study's `inputs` change fields
    of `Array`.
    """
    array = Array(**study.inputs)  # type: ignore[arg-type]
    points = [
        (pattern, outstanding, size)
        for pattern in PATTERNS
        for outstanding in OUTSTANDING
        for size in BLOCK_BYTES
    ]
    measured = study.measure({point: _experiment(study, *point) for point in points})
    iops: dict[tuple[str, int], list[float]] = {}
    for pattern, outstanding, size in points:
        rate = measured[pattern, outstanding, size].host.all.iops
        iops.setdefault((pattern, outstanding), []).append(rate)
    sizes = [size / 1024 for size in BLOCK_BYTES]
    requests = [
        Series(f"{pattern}, {outstanding} outstanding", sizes, line)
        for (pattern, outstanding), line in iops.items()
    ]
    bytes_ = [
        Series(
            f"{pattern}, {outstanding} outstanding",
            sizes,
            [n * kib * 1024 / 1e6 for n, kib in zip(line, sizes, strict=True)],
        )
        for (pattern, outstanding), line in iops.items()
    ]
    at_8_kib = BLOCK_BYTES.index(8192)
    rows = [
        Row(
            f"{pattern}, {BLOCK_BYTES[at_8_kib] // 1024} KiB, {outstanding} outstanding, IOPS",
            PUBLISHED_IOPS.get((pattern, 8192)) if outstanding == max(OUTSTANDING) else None,
            line[at_8_kib],
            note="published: the beta of a Samsung drive, another device"
            if outstanding == max(OUTSTANDING) and (pattern, 8192) in PUBLISHED_IOPS
            else "",
        )
        for (pattern, outstanding), line in iops.items()
    ]
    deepest = max(OUTSTANDING)
    mix = harmonic_mean(
        iops["random read", deepest][at_8_kib], iops["sequential write", deepest][at_8_kib]
    )
    rows += [
        Row("TPC-C mix of this device, IOPS", None, mix),
        *_replacing(mix, array),
    ]
    block_size = Axis("block size, KiB", log=2)
    figures = [
        Figure("Requests a second", block_size, Axis("requests/s", log=10), requests),
        Figure("Throughput", block_size, Axis("MB/s", log=10), bytes_),
    ]
    return Item("diskspd", "The DiskSpd study (Gray and Fitzgerald 2008)", rows, figures)


def _replacing(mix_iops: float, array: Array) -> list[Row]:
    """Savings by this device in place of the array."""
    drives = array.disks * array.disk_iops / mix_iops
    power = array.disks * array.disk_watts - drives * array.flash_watts
    money = array.array_dollars - drives * array.flash_dollars
    note = "rate for rate; whether the data fit is another question"
    return [
        Row("this device to replace the disks, drives", None, drives, note=note),
        Row("power saved, W", None, power),
        Row("money saved, $", None, money),
    ]


def _experiment(study: Study, pattern: str, outstanding: int, size: int) -> dict[str, Any]:
    read_share, random_share = PATTERNS[pattern]
    # Enough requests to average over, at most four passes over the file.
    requests = min(20_000, 4 * FILE_BYTES // size) // (10 if study.quick else 1)
    workload = {
        "kind": "closed",
        "requests": requests,
        "outstanding": outstanding,
        "read_share": read_share,
        "random_share": random_share,
        "block_size": f"{size}B",
        "footprint": f"{FILE_BYTES}B",
    }
    return {"device": study.device or baseline(study), "workload": workload}
