"""The five-minute rule: Gray and Putzolu (1987), Gray and Graefe (1997), Graefe (2007), and today.

A page accessed more often than once per interval is cheaper on the faster level. With the articles'
prices and rates the intervals are arithmetic, and prove nothing about ssdlab. Further rows use
simulated rates: of the disk of 2007, and of a flash drive that serves fewer reads during writes and
garbage collection.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ssdlab.costing.rule import break_even_seconds
from ssdlab.paper.derived import SATA_2008
from ssdlab.paper.item import WIDEST, Item, Row
from ssdlab.paper.study import Study

SUMMARY = "The five-minute rule 1987, 1997, 2007, and with simulated rates"

#: Graefe's prices of 2007: memory at $3 for 64 MB, a disk at $80, flash of 32 GB at $999 or $400.
RAM_DOLLARS_PER_MB = 3 / 64
DISK_DOLLARS, FLASH_DOLLARS, CHEAPER_FLASH = 80, 999, 400
FLASH_DOLLARS_PER_MB = FLASH_DOLLARS / (32 * 1024)
#: Pages of 4 KB per MB, and the rates that he assumes.
PAGES_PER_MB = 256
DISK_READS_PER_S, FLASH_READS_PER_S = 83, 6_200
MINUTE, HOUR = 60, 3_600


@dataclass(frozen=True)
class Published:
    """A published interval in its unit, with its inputs."""

    name: str
    interval: float
    unit_seconds: float
    pages_per_mb: float
    accesses_per_s: float
    device_dollars: float
    dollars_per_mb: float
    note: str = ""

    @property
    def reckoned(self) -> float:
        """The interval by the formula, in that unit."""
        seconds = break_even_seconds(
            self.pages_per_mb, self.accesses_per_s, self.device_dollars, self.dollars_per_mb
        )
        return seconds / self.unit_seconds


def of_2007(
    name: str, interval: float, unit: float, rate: float, dollars: float, per_mb: float
) -> Published:
    """An interval published by Graefe, for pages of 4 KB."""
    return Published(name, interval, unit, PAGES_PER_MB, rate, dollars, per_mb)


PUBLISHED = (
    Published("1987, 1 KB: memory over disk, s", 205, 1, 1024, 15, 15_000, 5_000),
    Published(
        "1997, 8 KB: memory over disk, s", 266, 1, 128, 64, 2_000, 15, "inputs as remembered"
    ),
    of_2007("2007, 4 KB: memory over disk, h", 1.46, HOUR, DISK_READS_PER_S, DISK_DOLLARS,
            RAM_DOLLARS_PER_MB),
    of_2007("2007: memory over flash, min", 14.7, MINUTE, FLASH_READS_PER_S, FLASH_DOLLARS,
            RAM_DOLLARS_PER_MB),
    of_2007("2007: memory over flash at $400, min", 5.9, MINUTE, FLASH_READS_PER_S, CHEAPER_FLASH,
            RAM_DOLLARS_PER_MB),
    of_2007("2007: flash over disk, h", 2.25, HOUR, DISK_READS_PER_S, DISK_DOLLARS,
            FLASH_DOLLARS_PER_MB),
)  # fmt: skip
#: Shares of reads tested on the flash drive.
READ_SHARES = (1.0, 0.9, 0.5)
OUTSTANDING = 4


def run(study: Study) -> Item:
    """The intervals of the articles, and intervals with simulated rates."""
    found = study.measure(
        {"disk": _disk(study), **{share: _flash(study, share) for share in READ_SHARES}}
    )
    disk = found["disk"].host.read.iops
    rows = [Row(it.name, it.interval, it.reckoned, 3, it.note, arithmetic=True) for it in PUBLISHED]
    rows += [
        _simulated("memory over the disk of 2007, h", 1.46, HOUR, disk, DISK_DOLLARS,
                   RAM_DOLLARS_PER_MB),
        _simulated("flash over the disk of 2007, h", 2.25, HOUR, disk, DISK_DOLLARS,
                   FLASH_DOLLARS_PER_MB),
    ]  # fmt: skip
    for share in READ_SHARES:
        rate = found[share].host.all.iops
        rows.append(
            Row(
                f"memory over flash of 32 GiB, {share:.0%} reads, {OUTSTANDING} deep, min",
                None,
                break_even_seconds(PAGES_PER_MB, rate, FLASH_DOLLARS, RAM_DOLLARS_PER_MB) / MINUTE,
                note=STATE,
            )
        )
    worse = [found[share].host.all.iops for share in READ_SHARES]
    rows.append(
        Row(
            "written, the drive serves fewer: the interval grows, times",
            None,
            worse[0] / worse[-1],
            note="memory is worth more beside a drive that cleans",
        )
    )
    rows.append(
        Row(
            "the same by read share, each / the one before, at least",
            None,
            min(more / fewer for more, fewer in zip(worse, worse[1:], strict=False)),
            note="the more is written, the longer the interval",
            least=1.01,
            most=WIDEST,
        )
    )
    return Item("fiveminute", "The five-minute rule", rows, derived=(SATA_2008,))


STATE = "agrawal2008 overwritten twice at random, at the price of 2007"


def _simulated(
    name: str, published: float, unit: float, rate: float, dollars: float, per_mb: float
) -> Row:
    reckoned = break_even_seconds(PAGES_PER_MB, rate, dollars, per_mb) / unit
    return Row(f"{name}, simulated rate", published, reckoned, 5, "the rate of sata-2008")


def _disk(study: Study) -> dict[str, Any]:
    return {"device": {"preset": "sata-2008"}, "workload": _random(study, 1.0, 1)}


def _flash(study: Study, read_share: float) -> dict[str, Any]:
    device = {"preset": "agrawal2008", "blocks_per_plane": 64 if study.quick else 512}
    workload = _random(study, read_share, OUTSTANDING)
    return {"device": device, "workload": workload, "run": {"precondition": "random:2"}}


def _random(study: Study, read_share: float, outstanding: int) -> dict[str, Any]:
    return {
        "kind": "closed",
        "read_share": read_share,
        "random_share": 1.0,
        "block_size": "4KiB",
        "outstanding": outstanding,
        "requests": 10_000 if study.quick else 100_000,
    }
