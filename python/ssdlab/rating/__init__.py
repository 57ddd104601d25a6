"""Endurance of a drive: JESD218's rating, as limited by wear and capacity.

The standard writes drives with the workload of their class, stores them unpowered, reads all data,
and requires four properties: retained capacity, few failed drives, few bit errors (UBER), and data
retention. A drive fails at the end of its spare space, after which it rejects writes, or when it
has lost more dies than tolerated (device.spares.sick_dies). UBER and retention are tested with
ageing data (device.media.model): a closed form yields the cycles up to which data is retained, and
the scaled drive is read after these. The standard tests a given TBW. Here each drive is written
once until its end of life: equal seeds give equal requests, so that a run to a smaller TBW is a
prefix of this one. At its end each drive is audited, page by page.
"""

from __future__ import annotations

import json
import math
import os
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ssdlab import _core, arrow, layers, market, sources, under_load
from ssdlab import trace as traces
from ssdlab._core import InputError
from ssdlab.layers import Layer
from ssdlab.rating import closed_form
from ssdlab.rating.lives import Life, Subject, live, several
from ssdlab.running import Experiment, run_layers
from ssdlab.trace.samples import is_sample, written_bytes
from ssdlab.under_load import Figure

#: Share of the drives that may fail (JESD218, both classes).
FAILURES = 0.03
#: Maximum erases simulated per block; higher ratings are extrapolated.
CYCLES = 100
MAX_DRIVES = 1000
#: Number of requests that read the whole drive, and bits per page read.
READ = "128KiB"
CODEWORD_BITS = 8192
#: Default workload of class enterprise.
ENTERPRISE = "jesd219"
#: Cycles of a short life, which shows the growth of uneven wear; fewer would be dominated by
#: chance.
SHORT, SHORTEST = 4, 40


@dataclass(frozen=True)
class Class:
    """JESD218's requirements for a class, besides retained capacity and few failures."""

    name: str
    uber: str
    retention: str
    age: str
    """Required retention, as the value of a key."""


CLASSES = {
    "client": Class("client", "1e-15", "1 year at 30 °C", "1y at 30C"),
    "enterprise": Class("enterprise", "1e-16", "3 months at 40 °C", "3mo at 40C"),
}


@dataclass(frozen=True)
class Rating(arrow.Table):
    """Rating of whole drives, simulated and in closed form.

    `lives` are as simulated: at 1/`scale`, with `cycles` rated erases.
    """

    ROWS = "lives"

    device: str
    of: Class
    subject: Subject
    cycles: int
    #: Assumed loss by uneven wear; None without extrapolation.
    uneven: closed_form.Uneven | None
    lives: Sequence[Life]
    #: Cycles that meet the retention requirement, and a read of the scaled drive after them; None
    #: without ageing data.
    retention: Mapping[str, Any] | None = None
    #: Share of drives that lose more dies than tolerated in the years of service, and the time
    #: until too many have; None without die failures.
    functional: Mapping[str, Any] | None = None
    #: Bytes that a trace writes a day; None for a load without a rate.
    daily_bytes: float | None = None

    @property
    def life_years(self) -> Figure:
        """Years until the TBW is written, at the rate of a trace around the clock."""
        if self.daily_bytes is None:
            return Figure(None, under_load.UNKNOWN, "the load has no rate")
        row = market.shipped().get(self.device)
        dwpd = None if row is None else row.dwpd
        if dwpd is not None and self.evenness < under_load.EVEN:
            written = under_load.of_lives([], self.capacity_bytes, dwpd, is_even=False)
        else:
            origin = f"{len(self.lives)} drives written to their end, by {self.decided}"
            written = Figure(self.tbw_bytes, under_load.SIMULATED, origin)
        return under_load.years(written, self.daily_bytes)

    @property
    def capacity_bytes(self) -> int:
        """Exported capacity."""
        return self.lives[0].capacity_bytes * self.subject.scale

    @property
    def physical_bytes(self) -> float:
        """Data capacity of its flash."""
        return self.lives[0].physical_bytes * self.subject.scale

    @property
    def amplification(self) -> float:
        """Write amplification in bytes over the whole life, mean of the drives."""
        return statistics.fmean(life.amplification for life in self.lives)

    @property
    def evenness(self) -> float:
        """Mean erases of a block at end of life / its rating, mean of the drives."""
        return statistics.fmean(self._mean(it) for it in self.lives) / self.subject.rated

    def written(self, life: Life) -> float:
        """Host bytes written until end of life, at the device's rating."""
        return life.host_bytes * self.subject.scale * self._mean(life) / life.mean_erases

    def _mean(self, life: Life) -> float:
        if self.uneven is None:
            return life.mean_erases
        # This drive's loss beyond the first drive's is assumed independent of the rating.
        lost = self.uneven.lost(self.lives[0].mean_erases)
        more = max(life.cycles - life.mean_erases, 0.0) / lost if lost else 0.0
        own = closed_form.Uneven(self.uneven.share * more, self.uneven.by_chance * more)
        return own.mean_erasures(self.subject.rated)

    @property
    def capacity_bytes_written(self) -> float:
        """Maximum host bytes at which few enough drives run out of spare space."""
        ends = sorted(self.written(life) for life in self.lives)
        return ends[int(FAILURES * len(ends))]

    @property
    def retention_bytes_written(self) -> float:
        """Maximum host bytes at which data meets the class's retention."""
        if self.retention is None:
            return math.inf
        # By then the most worn blocks have used that share of their rating.
        share = self.retention["cycles"] / self.subject.rated
        return math.inf if share >= 1 else share * self.capacity_bytes_written

    @property
    def functional_bytes_written(self) -> float:
        """Host bytes, written evenly over the days, until too many drives have failed."""
        if self.functional is None:
            return math.inf
        share = self.functional["years"] / self.subject.years
        return math.inf if share >= 1 else share * self.capacity_bytes_written

    @property
    def _limits(self) -> dict[str, float]:
        """Bytes by limit; the first of equal limits decides."""
        return {
            "capacity": self.capacity_bytes_written,
            "retention": self.retention_bytes_written,
            "functional": self.functional_bytes_written,
        }

    @property
    def decided(self) -> str:
        """Limit that decides the TBW: retained capacity, retention, or other drive failures."""
        limits = self._limits
        return min(limits, key=lambda it: limits[it])

    @property
    def tbw_bytes(self) -> float:
        """Maximum host bytes (TBW) at which few enough drives fail, and data is retained."""
        return min(self._limits.values())

    @property
    def closed_form_bytes(self) -> float:
        """Bytes by the closed form, from the means of the drives."""
        rated, evenness = self.subject.rated, self.evenness
        return closed_form.written(self.physical_bytes, rated, evenness, self.amplification)

    def failed(self, tbw_bytes: float) -> int:
        """Number of drives that reach end of life before `tbw_bytes`."""
        return sum(self.written(life) < tbw_bytes for life in self.lives)

    def passes(self, tbw_bytes: float) -> bool:
        """True if few enough drives fail before `tbw_bytes`, and data is retained then."""
        too_few = self.failed(tbw_bytes) <= FAILURES * len(self.lives)
        limits = self._limits
        return too_few and tbw_bytes <= min(limits["retention"], limits["functional"])

    def per_day(self, tbw_bytes: float) -> float:
        """Drive writes per day (DWPD) over the years of service."""
        years = self.subject.years
        return closed_form.drive_writes_per_day(tbw_bytes, self.capacity_bytes, years)

    def left_out(self) -> list[str]:
        """Parts of the standard that are not tested."""
        others = "failures other than running out of spare space"
        found = [f"{others}, and of dies" if self.functional is not None else others]
        if self.retention is None:
            found = [
                f"UBER <= {self.of.uber}: the flash model has no read errors",
                f"retention of {self.of.retention} without power: cells do not age",
                *found,
            ]
        return found

    def to_dict(self, tried: float | None = None) -> dict[str, Any]:
        """The rating in the form of `ssdlab endurance --json`; `tried` is a TBW in bytes."""
        subject, tbw = self.subject, self.tbw_bytes
        found: dict[str, Any] = {
            "device": self.device,
            "class": self.of.name,
            "workload": subject.workload,
            "drives": len(self.lives),
            "failures_allowed": FAILURES,
            "decided_by": self.decided,
            "retention": None if self.retention is None else dict(self.retention),
            "functional": None if self.functional is None else dict(self.functional),
            "left_out": self.left_out(),
            "capacity_bytes": self.capacity_bytes,
            "physical_bytes": self.physical_bytes,
            "rated_cycles": subject.rated,
            "service_years": subject.years,
            "tbw_bytes": tbw,
            "drive_writes": tbw / self.capacity_bytes,
            "drive_writes_per_day": self.per_day(tbw),
            "life_years": self.life_years.to_dict(),
            "closed_form": {
                "write_amplification": self.amplification,
                "evenness": self.evenness,
                "tbw_bytes": self.closed_form_bytes,
                "drive_writes_per_day": self.per_day(self.closed_form_bytes),
            },
            "scaling": {
                "simulated_cycles": self.cycles,
                "uneven_wear": None if self.uneven is None else self.uneven._asdict(),
                "part_of_each_block": 1 / subject.scale,
            },
            "lives": [life.to_dict() | {"tbw_bytes": self.written(life)} for life in self.lives],
        }
        if tried is not None:
            found["tried"] = {
                "tbw_bytes": tried,
                "drive_writes_per_day": self.per_day(tried),
                "failed": self.failed(tried),
                "passed": self.passes(tried),
            }
        return found


def endurance(
    device: str | os.PathLike[str],
    application_class: str = "enterprise",
    *,
    trace: str | os.PathLike[str] | None = None,
    workload: str | os.PathLike[str] | None = None,
    set: Mapping[str, Any] | None = None,
    drives: int = 1,
    cycles: int = CYCLES,
    seed: int | None = None,
    progress: Callable[[int, int], object] | None = None,
) -> Rating:
    """Write drives to their end of life: the TBW and DWPD of a device, by JESD218's classes.

    `device` is a preset or a file; `application_class` "enterprise", whose workload is JESD219's,
    or "client", which needs a `trace` or a `workload`. `set` changes single keys, `drives` is how
    many are written, one seed each; at most `cycles` P/E cycles are simulated, the rest is
    extrapolated. `progress` is called with the requests done and their total. Raises `InputError`
    for wrong input.

    >>> rating = ssdlab.endurance("samsung-pm9a3", drives=4)  # doctest: +SKIP
    >>> rating.tbw_bytes, rating.per_day(rating.tbw_bytes)  # doctest: +SKIP
    """
    if application_class not in CLASSES:
        known = " and ".join(CLASSES)
        raise InputError(f"application_class {application_class!r}: the classes are {known}")
    load = load_of(application_class, trace, workload, set or {})
    changes = layers.from_assignments(set or {})
    return rate(
        os.fspath(device),
        application_class,
        load,
        changes,
        drives=drives,
        cycles=cycles,
        seed=seed,
        progress=progress,
    )


def load_of(
    of: str,
    trace: str | os.PathLike[str] | None,
    workload: str | os.PathLike[str] | None,
    changed: Iterable[str] = (),
) -> list[Layer]:
    """The layers of the workload: the given one, or the class's.

    `changed` are keys set by other layers.
    """
    if trace is not None and workload is not None:
        raise InputError("--trace and --workload exclude each other: a trace is a workload")
    if trace is not None:
        return layers.from_trace(f"--trace {trace}", Path(trace), changed=changed)
    if workload is None and of == "client":
        raise InputError(
            "the workload of class client is a recorded trace, which ssdlab does not have: give "
            "one with --trace FILE, or another workload with --workload, such as zipf-mixed"
        )
    return [sources.from_name("workload", os.fspath(workload or ENTERPRISE))]


def rate(
    device: str,
    of: str,
    load: Sequence[Layer],
    changes: Sequence[Layer] = (),
    *,
    allow_code: bool = False,
    drives: int = 1,
    cycles: int = CYCLES,
    seed: int | None = None,
    progress: Callable[[int, int], object] | None = None,
) -> Rating:
    """Write `drives` new drives to end of life, with seeds from `seed` or `run.seed` on.

    `device` is a preset or a TOML file, `load` has the layers of the workload, `changes` further
    ones on top. A rating above `cycles` erases is simulated with `cycles` and extrapolated: a short
    and a long life determine the loss by uneven wear. `progress` is called with the requests done
    and their total.

    Raises `InputError` for wrong input, a device without flash and a workload that does not write.
    """
    if not 1 <= drives <= MAX_DRIVES:
        raise InputError(f"--drives {drives}: from 1 to {MAX_DRIVES} drives")
    if cycles < SHORTEST:
        raise InputError(f"--cycles {cycles}: at least {SHORTEST} erasures of each block")
    stack = [sources.from_name("device", device, "DEVICE"), *load]
    if allow_code:
        stack = layers.permitting(stack)
    places, daily = _fitted([*stack, *changes])
    subject = Subject.of(device, load[0].source, [*stack, *places], changes)
    subject.refuse_without_writes()
    is_whole = subject.rated <= cycles
    simulated = subject.rated if is_whole else cycles
    # For an unscaled drive a short life only predicts the duration of the others.
    first = subject.seed if seed is None else seed
    short = live(subject, max(simulated // SHORT, 1), first)
    seeds = [first + number for number in range(drives)]
    expected = short.requests * simulated / short.cycles
    lives = several(subject, simulated, seeds, expected, progress)
    uneven = None if is_whole else closed_form.uneven(short.wear, lives[0].wear)
    stored = _retention(subject, CLASSES[of]) if subject.ages else None
    failing = _functional(subject) if subject.ages else None
    return Rating(device, CLASSES[of], subject, simulated, uneven, lives, stored, failing, daily)


def _fitted(stack: Sequence[Layer]) -> tuple[list[Layer], float | None]:
    """Layers that replay a trace as the load itself would go on, and the bytes it writes a day.

    A sample of a wide load goes to other places in each replay. Without a trace, or without its
    duration, there is no rate.
    """
    workload = Experiment._from_layers(stack).to_dict()["workload"]
    if workload["kind"] != "trace":
        return [], None
    options = {key: workload[key] for key in traces.READING if key in workload}
    found = traces.info(workload["path"], **options)
    moves = workload["beyond"] == "span" and workload["loop_places"] == "same" and is_sample(found)
    places = layers.from_mapping("ssdlab endurance", {"workload": {"loop_places": "moved"}})
    if not found.duration_seconds or not found.requests:
        return places if moves else [], None
    seconds = float(found.duration_seconds) * float(workload["time_scale"])
    daily = written_bytes(found) / seconds * under_load.DAY_SECONDS
    return places if moves else [], daily


def _functional(subject: Subject) -> dict[str, Any] | None:
    """Share of drives that fail by die failures, and the time until too many have; None without die
    failures.
    """

    def share(years: float) -> float:
        fleet = _core.fleet(list(subject.stack), drives=1, years=years, bad_blocks=0.0,
                            bad_blocks_shape=1.0, seed=0)  # fmt: skip
        return float(json.loads(fleet)["closed_forms"]["failed_by_dies"])

    if (at_end := share(subject.years)) == 0.0:
        return None
    low, high = 0.0, subject.years
    if at_end > FAILURES:
        for _ in range(40):
            middle = (low + high) / 2
            low, high = (middle, high) if share(middle) <= FAILURES else (low, middle)
    return {"failed_share": at_end, "allowed": FAILURES, "years": high}


def _retention(subject: Subject, of: Class) -> dict[str, Any]:
    """Cycles up to which data is retained, and a read of the scaled drive at that age and wear."""
    form = json.loads(_core.retention(list(subject.stack), of.name))
    cycles = round(min(form["cycles"], subject.rated))
    capacity = _core.capacity_bytes(list(subject.stack))
    load = {"kind": "closed", "read_share": 1.0, "random_share": 0.0, "block_size": READ,
            "requests": max(1, capacity // (128 * 1024))}  # fmt: skip
    worn = {
        "device": {"media": {"cycles": cycles}},
        "workload": load,
        "run": {"age": f"{of.age} off", "pace": "none"},
    }
    media = run_layers([*subject.stack, *layers.from_mapping("retention", worn)]).to_dict()["media"]
    read = {
        "cycles": cycles,
        "age": of.age,
        "pages": media["page_reads"],
        "lost": media["uncorrectable"] - media["rebuilt"],
        "expected_lost": form["uber_allowed"] * CODEWORD_BITS * media["page_reads"],
        "uber_upper95": media["uber_upper95"],
    }
    return {**form, "read": read}
