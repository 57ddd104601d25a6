"""Published tests of drives of the catalogue, cell by cell: write saturation, and a review.

Write saturation is a test of SNIA's PTS: random writes of 4 KiB from the start on, by drive writes.
*SSD-iq* (`ssdiq`) published raw series of two drives, filled sequentially after a sanitisation. A
cell is the mean rate between two numbers of drive writes. The PRO's addresses had a Zipf exponent
of 0.2; on the MAX, whose uniform series is published too, both differ by 1 %.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from ssdlab.charts import Axis, Figure, Series
from ssdlab.device.measurements import MEASUREMENTS, experiment
from ssdlab.paper.derived import Derived
from ssdlab.paper.item import Item, Row
from ssdlab.paper.study import Study

SUMMARY = "Published tests cell by cell: write saturation of two drives, and a review of a third"

#: Of the whole curve, in percent: the dip is where the emptiest blocks are reclaimed at once.
TOLERANCE = 10.0
#: Outstanding writes of the measurement: 4 threads of 128.
OUTSTANDING = 512


@dataclass(frozen=True)
class Saturation:
    """A series of write saturation: mean rates between numbers of drive writes."""

    name: str
    preset: str
    source: str
    ends: tuple[int, ...]
    """Ends of the cells, in percent of the drive."""
    rates: tuple[float, ...]
    """Thousands of writes a second."""

    @property
    def cells(self) -> list[tuple[int, int]]:
        """Start and end of each cell."""
        return [*pairwise((0, *self.ends))]


SERIES = (
    Saturation(
        "7450 MAX",
        "micron-7450-max",
        "SSD-iq's raw data, 29 August 2024: finalwa03c, mp0, uniform",
        (40, 50, 60, 70, 80, 90, 100, 120, 150, 200, 300),
        (354.4, 176.4, 120.6, 135.9, 151.4, 163.8, 174.3, 164.0, 156.7, 159.4, 159.6),
    ),
    Saturation(
        "7450 PRO",
        "micron-7450-pro",
        "SSD-iq's raw data, 31 August 2024: finalwa05b, m0, Zipf 0.2",
        (20, 30, 40, 50, 60, 70, 100, 200, 300),
        (352.9, 70.9, 80.5, 102.2, 97.8, 89.7, 94.1, 93.8, 93.5),
    ),
)

REVIEW = "KitGuru, Samsung SSD 870 EVO 1TB, 2021: ATTO, and 4 KiB at a queue depth of 32"
#: Measured of the 870 EVO: name of the row, measurement, its depth, unit, and value.
REVIEWED = (
    ("sequential read, MB/s", "seq_read", None, 1e6, 561.0),
    ("sequential write, MB/s", "seq_write", None, 1e6, 531.0),
    ("random reads of 4 KiB, K/s", "rand_read_iops", 32, 1e3, 94.0),
    ("random writes of 4 KiB, K/s", "fresh_write_iops", 32, 1e3, 84.1),
)
EVO, EVO_TOLERANCE = "samsung-870evo", 5.0
WRITES_MISSED = (
    "the drive promises 88 K/s and takes no more; its sheet has no cell of that, so that only the "
    "link and the firmware time of single writes limit the preset"
)

#: Constants of the presets that were fitted to the same quantities.
DERIVED = (
    Derived(
        "the program time of a word line of the 7450",
        tuple(
            f"saturation: {it.name}, 0 to {it.ends[0] / 100:g} drive writes, K/s" for it in SERIES
        ),
    ),
    Derived(
        "link, program time and firmware time of samsung-870evo",
        (
            "saturation: 870 EVO, sequential *",
            "saturation: 870 EVO, random reads of 4 KiB, K/s",
        ),
    ),
)


def run(study: Study) -> Item:
    """Both series, and the review."""
    found = study.measure(
        {it.preset: _writes(it) for it in SERIES}
        | {name: _reviewed(study, name, depth) for _, name, depth, _, _ in REVIEWED}
    )
    rows, lines = [], []
    for it in SERIES:
        classes = found[it.preset].to_dict()["classes"]
        rates = [classes[str(last)]["all"]["iops"] / 1e3 for last in it.ends]
        rows += [
            Row(
                f"{it.name}, {first / 100:g} to {last / 100:g} drive writes, K/s",
                published,
                rate,
                TOLERANCE,
                it.source,
            )
            for (first, last), published, rate in zip(it.cells, it.rates, rates, strict=True)
        ]
        middles = [(first + last) / 200 for first, last in it.cells]
        lines += [
            Series(f"{it.name}, measured", middles, it.rates, mark="dots"),
            Series(f"{it.name}, simulated", middles, rates),
        ]
    for title, name, depth, unit, published in REVIEWED:
        simulated = MEASUREMENTS[name].value(found[name], _parameters(name, depth)) / unit
        missed = WRITES_MISSED if name == "fresh_write_iops" else ""
        title = f"870 EVO, {title}"
        rows.append(Row(title, published, simulated, EVO_TOLERANCE, REVIEW, missed=missed))
    x, y = Axis("drive writes"), Axis("thousand writes a second")
    figure = Figure("Write saturation after a sequential fill", x, y, lines)
    return Item("saturation", "Write saturation, and a review", rows, [figure], [], DERIVED)


def _writes(series: Saturation) -> dict[str, Any]:
    """Random writes from a sequential fill on, in sections of a percentage of the drive."""
    sections = [f"[{last}]\nstonewall\nio_size={last - first}%\n" for first, last in series.cells]
    load = f"norandommap\nrw=randwrite\nbs=4k\niodepth={OUTSTANDING}\n"
    job = f"[global]\n{load}" + "".join(sections)
    return {
        "device": {"preset": series.preset},
        "workload": {"kind": "fio", "job": job},
        "run": {"precondition": "sequential"},
    }


def _parameters(name: str, depth: int | None) -> dict[str, Any]:
    given = {} if depth is None else {"depth": depth}
    return MEASUREMENTS[name].read_parameters(REVIEW, given)


def _reviewed(study: Study, name: str, depth: int | None) -> dict[str, Any]:
    return experiment(name, _parameters(name, depth), EVO, study.quick)
