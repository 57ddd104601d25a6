"""The tests as a table: loads of a round, figure checked for steady state, and later loads.

Numbers follow SNIA's Solid State Storage Performance Test Specification 2.0.2 for enterprise drives
(PTS-E). Times are the specification's, for a whole drive; `shortened` and `fewer` reduce them in
simulation.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

KIB = 1024
MINUTE = 60.0
#: Read percentages and block sizes of the IOPS test; large blocks come first.
MIXES = (100, 95, 65, 50, 35, 5, 0)
BLOCKS = (1024 * KIB, 128 * KIB, 64 * KIB, 32 * KIB, 16 * KIB, 8 * KIB, 4 * KIB, 512)
#: Threads, and queue depth per thread, of the tests at full demand.
THREADS, DEPTH = 4, 32
#: Threads and queue depths in the test of demand intensity.
DEMANDS = (32, 16, 8, 6, 4, 2, 1)
#: Rests between bursts of writes, and their length, in seconds.
RESTS, BURST = (5, 10, 15, 25, 50), 5.0
#: Percent of the drive written by a load of cross-stimulus recovery.
TENTH = 10


@dataclass(frozen=True)
class Load:
    """Requests of one kind, for a time or until they have written a share of the drive."""

    name: str
    block: int
    reads: int
    """Percentage of reads."""
    is_random: bool = True
    threads: int = THREADS
    depth: int = DEPTH
    seconds: float = MINUTE
    share: int = 0
    """Percentage of the drive to write, instead of `seconds`."""
    rest: float = 0.0
    """Idle seconds before it."""
    repeat: int = 1

    @property
    def mix(self) -> str:
        """Reads and writes in percent."""
        return f"{self.reads}/{100 - self.reads}"

    @property
    def size(self) -> str:
        """Display form of the block size."""
        return size_text(self.block)

    @property
    def outstanding(self) -> int:
        """Total queue depth."""
        return self.threads * self.depth


@dataclass(frozen=True)
class Test:
    """A test: preconditioning, loads of a round, and loads after the rounds."""

    __test__ = False  # not a test of pytest

    word: str
    title: str
    start: str
    """Initial state: "purged", "sequential", "random" or "mixed"."""
    round: tuple[Load, ...] = ()
    after: tuple[Load, ...] = ()
    figure: str = "iops"
    """The figure of `Measure` checked for steady state."""
    tracked: tuple[str, ...] = ()
    """Loads with that check."""
    most_rounds: int = 25
    skipped: int = 0
    """Initial rounds outside any window, before the drive is written once."""
    shortened: float = 1.0
    """Shortening of times: seconds of the specification per simulated second."""
    fewer: int = 1
    """One in this many repetitions is simulated."""

    def load(self, name: str) -> Load:
        """The load of that name."""
        return next(it for it in (*self.round, *self.after) if it.name == name)

    def times(self, load: Load, is_whole: bool) -> int:
        """Repetitions of a load: as specified, or as simulated."""
        return load.repeat if is_whole else max(1, load.repeat // self.fewer)


def size_text(block: int) -> str:
    """Display form of a block size.

    >>> size_text(512), size_text(4096), size_text(1048576)
    ('512 B', '4 KiB', '1 MiB')
    """
    for unit, size in (("MiB", KIB * KIB), ("KiB", KIB)):
        if block % size == 0:
            return f"{block // size} {unit}"
    return f"{block} B"


def size_word(block: int) -> str:
    """fio's form of a block size."""
    return size_text(block).replace(" ", "").replace("iB", "").replace("B", "").lower()


def _iops() -> Test:
    loads = [Load(f"rw{mix}-bs{size_word(block)}", block, mix) for mix in MIXES for block in BLOCKS]
    tracked = ("rw0-bs4k", "rw65-bs64k", "rw100-bs1m")
    return Test("iops", "IOPS", "mixed", tuple(loads), tracked=tracked, shortened=8)


def _throughput() -> Test:
    loads = [
        Load(f"{word}-bs{size_word(block)}", block, reads, False, 1)
        for block in (128 * KIB, 1024 * KIB)
        for word, reads in (("read", 100), ("write", 0))
    ]
    names = tuple(it.name for it in loads)
    return Test(
        "throughput", "Throughput", "sequential", tuple(loads), (), "mb_per_s", names, shortened=4
    )


def _latency() -> Test:
    loads = [
        Load(f"rw{mix}-bs{size_word(block)}", block, mix, threads=1, depth=1)
        for mix in (100, 65, 0)
        for block in (8 * KIB, 4 * KIB, 512)
    ]
    return Test(
        "latency",
        "Latency",
        "random",
        tuple(loads),
        figure="mean_us",
        tracked=("rw0-bs4k",),
        shortened=2,
    )


def _wsat() -> Test:
    # A round writes a fifth of the drive; the specification ends at four drive writes.
    load = Load("write", 4 * KIB, 0, share=4, repeat=5)
    return Test(
        "wsat",
        "Write saturation",
        "purged",
        (load,),
        tracked=("write",),
        most_rounds=20,
        skipped=5,
    )


def _dirth() -> Test:
    before = Load("before", 8 * KIB, 0, threads=32, seconds=5 * MINUTE)
    loads = [
        Load(f"t{threads}-q{depth}", 8 * KIB, 65, threads=threads, depth=depth)
        for threads in DEMANDS
        for depth in DEMANDS
    ]
    maximum = ("t32-q32",)
    return Test(
        "dirth", "Demand intensity", "random", (before, *loads), tracked=maximum, shortened=4
    )


def _xsr() -> Test:
    # In drive writes, as a fast drive needs fewer hours than the specification's 8, 6 and 8.
    def writes(name: str, block: int, is_random: bool) -> Load:
        return Load(name, block, 0, is_random, 1, share=TENTH, repeat=2 * 100 // TENTH)

    loads = (
        writes("sequential", 1024 * KIB, False),
        writes("random", 8 * KIB, True),
        writes("again", 1024 * KIB, False),
    )
    return Test("xsr", "Cross-stimulus recovery", "purged", after=loads)


def _hir() -> Test:
    baseline = Load("baseline", 4 * KIB, 0, repeat=30)
    loads = [
        it
        for rest in RESTS
        for it in (
            Load(f"rest{rest}", 4 * KIB, 0, seconds=BURST, rest=rest, repeat=360),
            Load(f"after{rest}", 4 * KIB, 0, repeat=30),
        )
    ]
    return Test(
        "hir", "Host idle recovery", "random", (baseline,), tuple(loads), tracked=("baseline",),
        fewer=30,
    )  # fmt: skip


#: All tests by word, in report order.
TESTS: Mapping[str, Test] = {
    it.word: it for it in (_iops(), _throughput(), _latency(), _wsat(), _dirth(), _xsr(), _hir())
}


def places(loads: tuple[Load, ...], test: Test, is_whole: bool) -> Iterator[tuple[Load, int, str]]:
    """Loads in order, with their number and job name."""
    for load in loads:
        for number in range(test.times(load, is_whole)):
            yield load, number, load.name if load.repeat == 1 else f"{load.name}.{number + 1}"
