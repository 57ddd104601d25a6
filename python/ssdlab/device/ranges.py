"""Ranges of figures over plausible values of keys that a data sheet does not state. Each key is
varied alone, and a few fio jobs are simulated.

Each figure becomes a range, with the key of the largest effect and the fio job that would measure
it. Results of such jobs exclude values that do not fit, and narrow the ranges.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ssdlab import layers, portable
from ssdlab._core import InputError
from ssdlab.calibration import jobs
from ssdlab.calibration.jobs import Job
from ssdlab.datasheet.drive import Drive
from ssdlab.datasheet.given import Given
from ssdlab.layers import Layer
from ssdlab.units import size_text

SEED = 42
#: Requests per simulation: enough to average over bursts of garbage collection.
REQUESTS = 20_000
#: Maximum excess of a value's mean error over the best.
AS_GOOD = 0.03
#: Ratio below which a range counts as a number.
NARROW = 1.02

Key = tuple[str, str]


@dataclass(frozen=True)
class Load:
    """A fio job: its load, and the figures that it measures."""

    name: str
    rw: str
    depth: int
    figures: Sequence[Key]
    read_share: float

    def workload(self, block: str) -> dict[str, Any]:
        """The workload."""
        return {
            "kind": "closed",
            "outstanding": self.depth,
            "threads": 1,
            "read_share": self.read_share,
            "random_share": 1.0,
            "block_size": block,
        }

    def command(self, block: int) -> str:
        """The measuring command for a drive in use."""
        mix = f" --rwmixread={100 * self.read_share:g}" if self.rw == "randrw" else ""
        return (
            f"fio --name={self.name} --filename=/dev/YOURS --direct=1 --ioengine=io_uring "
            f"--rw={self.rw}{mix} --bs={block // 1024}k --iodepth={self.depth} --time_based "
            f"--runtime=600 --output-format=json --output={self.name}.json"
        )


LOADS = (
    Load("steady-writes", "randwrite", 32, (("write", "iops"), ("write", "p99.9")), 0.0),
    Load("light", "randrw", 1, (("read", "p99"), ("write", "p99")), 0.5),
    Load("mixed", "randrw", 32, (("read", "p99"), ("write", "p99")), 0.7),
    Load("saturated", "randrw", 256, (("read", "p99"), ("write", "iops")), 0.5),
)


@dataclass(frozen=True)
class Choice:
    """A plausible value of an unstated key: `keys` to set on the solved drive."""

    key: str
    value: str
    keys: Mapping[str, str] = field(default_factory=dict, compare=False)


@dataclass(frozen=True)
class Range:
    """Range of a load's figure over all plausible values."""

    load: Load
    figure: Key
    assumed: float
    low: float
    high: float
    #: The key with the largest effect, and its value; None if no key has one.
    decided_by: Choice | None
    measured: float | None = None
    #: The assumed latency on which this one depends.
    guess: str | None = None

    @property
    def is_number(self) -> bool:
        """True if no plausible value changes it."""
        return self.high <= NARROW * self.low


@dataclass(frozen=True)
class Ranges:
    """All figures, and the remaining plausible values."""

    rows: Sequence[Range]
    kept: Sequence[Choice]
    dropped: Sequence[Choice]
    #: The best-fitting value; None without measurements, or if the assumed value fits best.
    best: Choice | None
    block: int

    def to_dict(self) -> dict[str, Any]:
        """The ranges in the form of `ssdlab device from-datasheet --json`."""
        return {
            "figures": [
                {
                    "load": row.load.name,
                    "op": row.figure[0],
                    "figure": row.figure[1],
                    "assumed": row.assumed,
                    "low": row.low,
                    "high": row.high,
                    "decided_by": None if row.decided_by is None else row.decided_by.key,
                    "measured": row.measured,
                    "guess": row.guess,
                    "fio": row.load.command(self.block),
                }
                for row in self.rows
            ],
            "kept": [f"{it.key}={it.value}" for it in self.kept],
            "dropped": [f"{it.key}={it.value}" for it in self.dropped],
            "best": None if self.best is None else dict(self.best.keys),
        }


def choices(given: Given, drive: Drive) -> list[Choice]:
    """The assumed values, then each other plausible value of each unstated key."""
    stripe = drive.flash.dies * drive.flash.group
    found = [Choice("as assumed", "")]

    def add(key: str, value: str, *also: str) -> None:
        found.append(Choice(key, value, {f"device.{it}": value for it in (key, *also)}))

    for pace in ("burst", "adaptive"):
        add("cleaning.pace", pace)
    if given.most_slots is None:
        for slots in (64, 1024):
            add("host_link.queue_depth", str(slots))
    add("suspend.program", "none", "suspend.erase")
    add("suspend.unless_backlog", "unlimited")
    add("cleaning.read_order", "host-first")
    for stripes in (1, 6):
        add("buffer.size", size_text(stripes * stripe), "buffer.copies")
    return found


def of_drive(
    given: Given,
    drive: Drive,
    measured: Sequence[Job] = (),
    progress: Callable[[int, int], object] | None = None,
) -> Ranges:
    """The ranges of the drive's figures. Raises `InputError` for jobs outside `LOADS`."""
    block = _block(given)
    known = _matched(measured, block)
    every = choices(given, drive)
    base = layers.from_mapping("the sheet", {"device": drive.keys()})
    found = _simulated(base, every, block, progress)
    every = [it for it in every if it in found]
    errors = {it: _error(found[it], known) for it in every}
    minimum = min(errors.values())
    stored = [it for it in every if errors[it] <= minimum + AS_GOOD] if known else every
    best = min(stored, key=lambda it: errors[it])
    rows = [
        _range(given, load, figure, {it: found[it][load.name] for it in stored}, best, known)
        for load in LOADS
        for figure in load.figures
        if all(figure in found[it][load.name] for it in stored)
    ]
    dropped = [it for it in every if it not in stored]
    chosen = best if known and best.keys else None
    return Ranges(rows, stored, dropped, chosen, block)


def _matched(measured: Sequence[Job], block: int) -> dict[str, Job]:
    """Measured jobs by their load."""
    found = {}
    for job in measured:
        depth = job.workload["outstanding"] * job.workload["threads"]
        for load in LOADS:
            wanted = load.workload(f"{block}B")
            same = ("read_share", "random_share", "block_size")
            if depth == load.depth and all(job.workload[it] == wanted[it] for it in same):
                found[load.name] = job
    if measured and not found:
        jobs_ = "; ".join(load.command(block).split(" --time")[0] for load in LOADS)
        raise InputError(f"--measured: no job of it is one of those that settle a figure: {jobs_}")
    return found


def _simulated(
    base: Sequence[Layer],
    every: Sequence[Choice],
    block: int,
    progress: Callable[[int, int], object] | None,
) -> dict[Choice, dict[str, dict[Key, float]]]:
    """The figures of each load with each value; invalid values are omitted."""
    done = 0
    pairs = [(choice, load) for choice in every for load in LOADS]

    def one(pair: tuple[Choice, Load]) -> dict[Key, float] | None:
        nonlocal done
        choice, load = pair
        own = layers.from_options([f"{key}={value}" for key, value in choice.keys.items()])
        job = Job(load.name, load.workload(f"{block}B"), {})
        try:
            return jobs.simulated([*base, *own], job, SEED, REQUESTS)
        except InputError:
            if not choice.keys:
                raise
            return None
        finally:
            done += 1
            if progress is not None:
                progress(done, len(pairs))

    with ThreadPoolExecutor(portable.cores()) as pool:
        outcomes = dict(zip(pairs, pool.map(one, pairs), strict=True))
    found: dict[Choice, dict[str, dict[Key, float]]] = {}
    for choice in every:
        figures = {load.name: outcomes[choice, load] for load in LOADS}
        if None not in figures.values():
            found[choice] = {name: it for name, it in figures.items() if it is not None}
    return found


def _error(found: Mapping[str, Mapping[Key, float]], known: Mapping[str, Job]) -> float:
    """Mean absolute ln(simulated / measured)."""
    every = [it for name, job in known.items() for it in jobs.misses(job, found[name]).values()]
    return sum(map(abs, every)) / len(every) if every else 0.0


def _range(
    given: Given,
    load: Load,
    figure: Key,
    values: Mapping[Choice, Mapping[Key, float]],
    best: Choice,
    known: Mapping[str, Job],
) -> Range:
    at = values[best][figure]
    far = max(values, key=lambda it: abs(math.log(values[it][figure] / at)))
    low, high = (end(it[figure] for it in values.values()) for end in (min, max))
    measured = known[load.name].figures.get(figure) if load.name in known else None
    moves = values[far][figure] != at
    guess = None if figure[1] == "iops" else given.guess_behind(figure[0], 1e-6 * low)
    return Range(load, figure, at, low, high, far if moves else None, measured, guess)


def read(given: Given, path: Path) -> list[Job]:
    """The jobs of fio's JSON that `--measured` names.

    Raises `InputError` before the first simulation if none is in `LOADS`.
    """
    found = jobs.read(path)
    _matched(found, _block(given))
    return found


def _block(given: Given) -> int:
    """Request size: a mapping unit, which avoids read-modify-write."""
    return int(max(4096, given["mapping_unit"]))
