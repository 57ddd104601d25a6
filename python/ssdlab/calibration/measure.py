"""Micro-benchmarks of a file or block device, after El Maghraoui et al. (2010).

The target is divided into an odd number of zones, which no power of two in a device divides evenly.
In each zone, requests of one size and pattern run for a fixed time. The order of these runs is
random, so that drift favours no size. O_DIRECT bypasses the page cache.

Each outstanding request has a thread; its system call releases the interpreter lock. The overhead
of the loop is measured against /dev/zero and stated (`overhead_us`), not subtracted.
"""

from __future__ import annotations

import itertools
import mmap
import os
import platform
import random
import stat
import statistics
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ssdlab._core import InputError
from ssdlab.calibration.points import Measured, Point, Steps, size_text
from ssdlab.calibration.safety import refuse_to_write

#: Minimum zone size in blocks of the largest size, for random addresses.
FEWEST_BLOCKS = 4
#: Minimum number of requests for a meaningful mean.
FEWEST_REQUESTS = 5


def low(times: Sequence[float]) -> float:
    """The 20th percentile: a busy machine can only add to a time, and does so to most."""
    return sorted(times)[len(times) // 5]


#: Statistics that can represent the times of a point.
STATISTICS: dict[str, Callable[[Sequence[float]], float]] = {
    "mean": statistics.mean,
    "median": statistics.median,
    "low": low,
}


@dataclass(frozen=True)
class Plan:
    """Plan of a measurement."""

    block_bytes: Sequence[int] = tuple(512 << power for power in range(12))
    outstanding: Sequence[int] = (1, 2, 4)
    zones: int = 5
    seconds: float = 0.5
    """For each pattern, size and queue depth; in all zones together."""
    write: bool = False
    seed: int = 42
    statistic: str = "mean"
    """Statistic of the times of a point: one of `STATISTICS`."""
    subtract_way: str | None = None
    """Server whose round trip is subtracted, for NBD: "ssdlab", or an "other"."""

    def patterns(self) -> list[str]:
        """Reads, and writes if they were asked for."""
        writes = ["seq_write", "rand_write"] if self.write else []
        return ["seq_read", "rand_read", *writes]

    def check(self) -> None:
        """Raise `InputError` for an invalid plan."""
        if self.zones < 1 or self.zones % 2 == 0:
            raise InputError(f"--zones {self.zones}: an odd number, such as 5")
        if not 0.001 <= self.seconds <= 3600:
            raise InputError(f"--seconds {self.seconds}: from 0.001 to 3600")
        if max(self.outstanding) > 256:
            raise InputError(f"--outstanding {max(self.outstanding)}: at most 256")


@dataclass(frozen=True)
class Cell:
    """A measurement."""

    pattern: str
    bytes: int
    outstanding: int
    zone: int


def measure(path: Path, plan: Plan, progress: Steps | None = None) -> Measured:
    """Measure the target. Raises `InputError` if it must not be measured or written."""
    plan.check()
    if plan.subtract_way is not None:
        raise InputError(f"--subtract-way {plan.subtract_way}: {path} is no NBD server")
    if not hasattr(os, "O_DIRECT"):
        raise InputError(f"{path}: this system ({platform.system()}) has no O_DIRECT")
    size = _size(path)
    if plan.write:
        refuse_to_write(path)
    _refuse_holes(path, size)
    zone_bytes = _zone_bytes(path, size, plan)
    descriptor = _open(path, plan)
    try:
        smallest = min(plan.block_bytes)
        _check_block(path, descriptor, smallest)
        cells = [
            Cell(*cell)
            for cell in itertools.product(
                plan.patterns(), plan.block_bytes, plan.outstanding, range(plan.zones)
            )
        ]
        draw = random.Random(plan.seed)
        draw.shuffle(cells)
        points = []
        for done, cell in enumerate(cells):
            if progress is not None:
                progress(done, len(cells))
            loop = Loop(descriptor, cell, zone_bytes, draw, plan.statistic)
            points.append(loop.run(plan.seconds / plan.zones))
    except OSError as error:
        raise InputError(f"{path}: cannot be measured: {error.strerror}") from None
    finally:
        os.close(descriptor)
    notes = []
    load, processors = os.getloadavg()[0], os.cpu_count() or 1
    if load > processors:
        notes.append(
            f"the machine was busy (load {load:.1f} on {processors} processors): the times include "
            "waiting for a processor"
        )
    conditions: dict[str, Any] = {
        "tool": "ssdlab",
        "direct": True,
        "zones": plan.zones,
        "seconds_per_point": plan.seconds,
        "seed": plan.seed,
        "statistic": plan.statistic,
        "writes": plan.write,
        "overhead_us": overhead_us(smallest),
        "system": f"{platform.system()} {platform.release()}, Python {platform.python_version()}",
        "measured_at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }
    return Measured(str(path), points, conditions, size, notes)


def _size(path: Path) -> int:
    try:
        mode = path.stat().st_mode
        if stat.S_ISDIR(mode):
            raise InputError(f"{path}: a directory; name a file in it, or a block device")
        if not (stat.S_ISREG(mode) or stat.S_ISBLK(mode)):
            raise InputError(f"{path}: neither a file nor a block device")
        with path.open("rb") as file:
            return file.seek(0, os.SEEK_END)
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from None


def _refuse_holes(path: Path, size: int) -> None:
    if not size or not stat.S_ISREG(path.stat().st_mode):
        return
    with path.open("rb") as file:
        hole = os.lseek(file.fileno(), 0, os.SEEK_HOLE)
    if hole < size:
        raise InputError(
            f"{path}: has holes, from byte {hole} on; reading them would measure memory. Measure a "
            "copy without holes (cp --sparse=never), or another file"
        )


def _zone_bytes(path: Path, size: int, plan: Plan) -> int:
    largest = max(plan.block_bytes)
    zone = size // plan.zones // largest * largest
    if zone < FEWEST_BLOCKS * largest:
        least = plan.zones * FEWEST_BLOCKS * largest
        raise InputError(
            f"{path}: has {size} bytes, too few for {plan.zones} zones of {FEWEST_BLOCKS} blocks "
            f"of {size_text(largest)}; at least {size_text(least)}, or smaller --block-sizes"
        )
    return zone


def _open(path: Path, plan: Plan) -> int:
    flags = (os.O_RDWR if plan.write else os.O_RDONLY) | os.O_DIRECT
    if plan.write and stat.S_ISBLK(path.stat().st_mode):
        flags |= os.O_EXCL  # with O_EXCL the kernel refuses a device that is mounted or in use
    try:
        return os.open(path, flags)
    except OSError as error:
        raise InputError(f"{path}: cannot be opened with O_DIRECT: {error.strerror}") from None


def _check_block(path: Path, descriptor: int, block: int) -> None:
    try:
        os.preadv(descriptor, [mmap.mmap(-1, block)], 0)
    except OSError as error:
        raise InputError(
            f"{path}: blocks of {size_text(block)} cannot be read with O_DIRECT "
            f"({error.strerror}); try larger --block-sizes"
        ) from None


class Loop:
    """Requests of one cell for its duration."""

    def __init__(
        self,
        descriptor: int,
        cell: Cell,
        zone_bytes: int,
        draw: random.Random,
        statistic: str = "mean",
    ) -> None:
        self.descriptor = descriptor
        self.statistic = STATISTICS[statistic]
        self.cell = cell
        blocks = zone_bytes // cell.bytes
        self.first = cell.zone * zone_bytes
        if cell.pattern.startswith("seq"):
            # A sequence begins at a random address and wraps around in its zone.
            start = draw.randrange(blocks)
            self.places: Iterator[int] = itertools.chain(
                range(start, blocks), itertools.cycle(range(blocks))
            )
        else:
            drawn = random.Random(draw.random())
            self.places = iter(lambda: int(drawn.random() * blocks), None)
        self.times: list[int] = []

    def run(self, seconds: float) -> Point:
        """Measure, and return the mean or median."""
        self.turns(0)  # one unmeasured request: absorbs the effects of the previous cell
        self.times.clear()
        self.failure: OSError | None = None
        end = time.perf_counter_ns() + int(seconds * 1e9)
        cell = self.cell
        if cell.outstanding == 1:
            self.turns(end)
        else:
            threads = [
                threading.Thread(target=self.thread, args=(end,)) for _ in range(cell.outstanding)
            ]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        if self.failure is not None:
            raise self.failure
        typical = self.statistic(self.times) / 1000
        return Point(cell.pattern, cell.bytes, cell.outstanding, typical, len(self.times))

    def thread(self, end: int) -> None:
        """Loop of one of several threads."""
        try:
            self.turns(end)
        except OSError as error:
            self.failure = error

    def turns(self, end: int) -> None:
        """Request after request until `end`."""
        buffer = mmap.mmap(-1, self.cell.bytes)  # aligned to a page, as O_DIRECT requires
        transfer = os.preadv
        if self.cell.pattern.endswith("write"):
            buffer.write(os.urandom(self.cell.bytes))
            transfer = os.pwritev
        buffers, descriptor, positions = [buffer], self.descriptor, self.places
        first, size = self.first, self.cell.bytes
        clock, mine = time.perf_counter_ns, []
        while True:
            offset = first + size * next(positions)
            before = clock()
            transfer(descriptor, buffers, offset)
            after = clock()
            mine.append(after - before)
            if after >= end and (end == 0 or len(mine) >= FEWEST_REQUESTS):
                break
        self.times += mine


def overhead_us(block: int) -> float:
    """Time of the loop for a request that no device serves: the median of reads of /dev/zero."""
    buffers, times = [mmap.mmap(-1, block)], []
    descriptor = os.open("/dev/zero", os.O_RDONLY)
    try:
        for _ in range(2000):
            before = time.perf_counter_ns()
            os.preadv(descriptor, buffers, 0)
            times.append(time.perf_counter_ns() - before)
    finally:
        os.close(descriptor)
    return sorted(times)[len(times) // 2] / 1000
