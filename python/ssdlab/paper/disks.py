"""Hard disks: published rates, and four drives compared with measured service times."""

from __future__ import annotations

import json
import math
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ssdlab import _core
from ssdlab.charts import Axis, Figure, Series
from ssdlab.paper.derived import SATA_2008, SCSI_15K
from ssdlab.paper.item import Item, Row
from ssdlab.paper.study import Study

SUMMARY = "Hard disks: Gray's and Graefe's rates, DiskSim's validation traces (--traces)"


@dataclass(frozen=True)
class Drive:
    """A drive of DiskSim's validation set: preset, trace, and DiskSim's own demerit in ms."""

    title: str
    preset: str
    trace: str
    demerit_ms: float


DRIVES = (
    Drive("Cheetah 9LP", "cheetah9lp", "cheetah9LP.validate", 0.107),
    Drive("Atlas 10K", "atlas10k", "atlas10k.validate", 0.268),
    Drive("Barracuda", "barracuda", "barracuda.validate", 0.349),
    Drive("HP C3323A", "hp-c3323a", "hp_c3323a.validate", 0.306),
)
#: Maximum demerit relative to DiskSim's.
MOST_OF_DISKSIM = 1.5
#: Percentiles at which figures show a distribution.
PERCENTS = (1, 5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 95, 98, 99, 99.5, 99.9)
#: Number of steps at which two distributions are compared.
STEPS = 10_000


def demerit(one: Sequence[float], other: Sequence[float]) -> float:
    """The demerit figure of Ruemmler and Wilkes (1994): the distance of two distributions.

    The root of the mean square of the horizontal distance between their curves, at steps of 1e-4.
    """
    first, second = sorted(one), sorted(other)
    if not first or not second:
        raise ValueError("a distribution needs at least one value")

    def at(values: list[float], step: int) -> float:
        return values[int((step + 0.5) / STEPS * len(values))]

    squares = ((at(first, step) - at(second, step)) ** 2 for step in range(STEPS))
    return math.sqrt(sum(squares) / STEPS)


def run(study: Study) -> Item:
    """Rates that follow from seek and rotation, and each drive with a given trace."""
    found = study.measure(
        {
            "15k": _random("scsi-15k", 1, study),
            "2008": _random("sata-2008", 1, study),
            "cheetah": _random("cheetah9lp", 1, study),
            "array": _array(study),
            "tape": tape(),
            **{order: _queued(order, study) for order in ORDERS},
        }
    )
    rates = {name: results.host.all.iops for name, results in found.items()}
    cheetah = found["cheetah"]["disk"]["mean_us"]
    rows = [
        Row("15,000 a minute: random reads/s", 200, rates["15k"], 5, "Gray and Fitzgerald 2008"),
        Row("90 of these, striped: random reads/s", 18_000, rates["array"], 5, ARRAY_NOTE),
        Row("SATA of 2008: random reads/s", 83, rates["2008"], 5, "Graefe 2007: 12 ms each"),
        Row("Cheetah 9LP: mean seek, ms", 5.467, cheetah["seek"] / 1e3, 2, "mean of its table"),
        Row("Cheetah 9LP: mean rotation, ms", 2.987, cheetah["rotation"] / 1e3, 1, "half a turn"),
        Row(
            "Cheetah 9LP, 16 outstanding: reads/s of an order / of the one before, at least",
            None,
            min(rates[b] / rates[a] for a, b in zip(ORDERS, ORDERS[1:], strict=False)),
            note="fcfs, c-look, sstf, sptf: none is slower than the one before",
            least=1.0,
            most=1.5,
        ),
    ]
    rows.append(
        Row(
            "1.8 TB of a nearline disk, in order: hours",
            2,
            TAPE_MB / found["tape"].host.all.mb_per_s / 3_600,
            10,
            "disk as tape: a pass over 1.8 TB in two hours; outermost tracks, reads of 1 MiB",
        )
    )
    figures, left_out = [], []
    for drive in DRIVES:
        path = None if study.traces is None else _trace(study.traces, drive.trace)
        if path is None:
            left_out.append(drive.title)
            continue
        more, figure = _validated(study, drive, path)
        rows += more
        figures.append(figure)
    remarks = []
    if left_out:
        remarks.append(
            f"not held against measured times: {', '.join(left_out)}; --traces names a directory "
            f"with DiskSim's validation traces, such as {DRIVES[0].trace}.zst."
        )
    return Item("disks", "Hard disks", rows, figures, remarks, (SATA_2008, SCSI_15K))


ORDERS = ("fcfs", "c-look", "sstf", "sptf")
#: Size of a pass over a disk used as tape, MB.
TAPE_MB = 1.8e6
ARRAY_NOTE = "90 x 200; random reads of 8 KiB, three outstanding a disk"


def _workload(outstanding: int, requests: int, study: Study) -> dict[str, Any]:
    return {
        "kind": "closed",
        "read_share": 1.0,
        "random_share": 1.0,
        "block_size": "8KiB",
        "outstanding": outstanding,
        "requests": requests // 5 if study.quick else requests,
    }


def _random(preset: str, outstanding: int, study: Study) -> dict[str, Any]:
    return {"device": {"preset": preset}, "workload": _workload(outstanding, 100_000, study)}


def tape(**device: Any) -> dict[str, Any]:
    """A nearline disk, read sequentially at QD1."""
    workload = _workload(1, 2_000, Study()) | {"random_share": 0.0, "block_size": "1MiB"}
    return {"device": {"preset": "nearline-24tb", **device}, "workload": workload}


def _queued(order: str, study: Study) -> dict[str, Any]:
    experiment = _random("cheetah9lp", 16, study)
    return {**experiment, "device": {**experiment["device"], "scheduler": order}}


def _array(study: Study) -> dict[str, Any]:
    device = {"kind": "array", "members": 90, "member": {"preset": "scsi-15k"}}
    return {"device": device, "workload": _workload(3 * 90, 500_000, study)}


def _trace(directory: Path, name: str) -> Path | None:
    paths = (directory / f"{name}{suffix}" for suffix in (".zst", ".gz", ""))
    return next((path for path in paths if path.is_file()), None)


def _validated(study: Study, drive: Drive, path: Path) -> tuple[list[Row], Figure]:
    """A drive under its own trace: simulated against measured service times."""
    measured = _times_ms(path)
    with tempfile.TemporaryDirectory() as directory:
        requests = Path(directory) / "requests.parquet"
        workload = {"kind": "trace", "path": str(path), "format": "validate"}
        experiment = {"device": {"preset": drive.preset}, "workload": workload}
        study.measure({drive.preset: {**experiment, "requests": str(requests)}})
        simulated = _times_ms(requests)
    apart = demerit(measured, simulated)
    mean = sum(measured) / len(measured)
    rows = [
        Row(
            f"{drive.title}: demerit, ms",
            drive.demerit_ms,
            apart,
            note=f"published: DiskSim's own; at most {MOST_OF_DISKSIM:g} times that",
            most=MOST_OF_DISKSIM * drive.demerit_ms,
        ),
        Row(f"{drive.title}: mean service time, ms", mean, sum(simulated) / len(simulated), 5),
    ]
    lines = [_quantiles("measured", measured), _quantiles("simulated", simulated)]
    axes = Axis("share of requests (%)"), Axis("service time (ms)")
    return rows, Figure(f"{drive.title}: service times", *axes, lines)


def _times_ms(path: Path) -> list[float]:
    return [us / 1e3 for us in _core.trace_response_times(str(path), json.dumps({}))]


def _quantiles(name: str, times: list[float]) -> Series:
    ordered = sorted(times)
    positions = [round(percent / 100 * (len(ordered) - 1)) for percent in PERCENTS]
    return Series(name, list(PERCENTS), [ordered[position] for position in positions])
