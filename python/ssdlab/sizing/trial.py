"""Simulation of one design: preconditioning, then the trace, with one or several seeds."""

from __future__ import annotations

import math
import statistics
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from ssdlab import lifetime, portable, under_load
from ssdlab._core import InputError
from ssdlab.confidence import margin
from ssdlab.costing.design import latencies_us
from ssdlab.layers import Layer
from ssdlab.results import Results
from ssdlab.running import Progress, run_layers
from ssdlab.under_load import DAYS
from ssdlab.units import duration

#: A single run suffices if its metric differs from the limit by this factor.
CLEAR = 1.25
#: Drive writes of the trace from which its own write amplification is used; below, the
#: preconditioning's, which repeats the trace until it settles.
ENOUGH = 0.05
#: Number of seeds for a design near a limit or the answer, and for an inconclusive one.
SEEDS, MOST_SEEDS = 3, 5
#: Text for a measurement without writes.
TOO_SHORT = "not known from this run: the measured part of the trace has too few writes"


@dataclass(frozen=True)
class Design:
    """A number of striped drives, each with a given spare space."""

    drives: int
    #: Spare / exported space; None for the unchanged drive.
    over_provisioning: float | None


@dataclass(frozen=True)
class Goal:
    """A metric of a trial with its upper or lower limit."""

    figure: str
    limit: float
    at_least: bool = False
    #: True to ignore an unknown metric: a default limit, or one with a rating.
    if_known: bool = False

    def to_dict(self) -> dict[str, Any]:
        """The goal in the JSON of the commands that size a drive."""
        return {"figure": self.figure, "limit": self.limit, "at_least": self.at_least}

    @property
    def name(self) -> str:
        """Display name of the figure."""
        return {"p99_us": "p99", "p999_us": "p99.9"}.get(self.figure, self.figure)

    def kept(self, values: Sequence[float | None]) -> bool | None:
        """Decision over several seeds; None if inconclusive."""
        known = [value for value in values if value is not None]
        if len(known) < len(values):
            return True if self.if_known else None
        return self._kept(known)

    def _kept(self, values: Sequence[float]) -> bool | None:
        if math.inf in values:  # unlimited lifetime without writes
            return self.at_least
        mean = statistics.fmean(values)
        if (half := margin(values)) is None:
            if not (mean > self.limit * CLEAR or mean < self.limit / CLEAR):
                return None
            half = 0.0
        if mean - half <= self.limit <= mean + half:
            return None if half else True
        return (mean > self.limit) == self.at_least


#: Goals on all requests, and the lower percentile of each pair.
_RISING = (("p99_us", "p999_us"),)


def refuse_contradictions(goals: Sequence[Goal]) -> None:
    """Raise `InputError` for a higher percentile that is required to be below a lower one."""
    limits = {it.figure: it for it in goals if not it.at_least}
    pairs = [*_RISING]
    for kind in ("", "read.", "write."):
        ranked = [
            f"{kind}{name}" for name in ("p50", "p90", "p95", "p99", "p99.9", "p99.99", "max")
        ]
        known = [it for it in ranked if it in limits]
        pairs += list(zip(known, known[1:], strict=False))
    for low, high in pairs:
        if low in limits and high in limits and limits[high].limit < limits[low].limit:
            first, second = limits[low], limits[high]
            raise InputError(
                f"{second.name} of {duration(second.limit)} below {first.name} of "
                f"{duration(first.limit)} contradicts itself: {second.name} is never less than "
                f"{first.name}; keep one of the two"
            )


@dataclass
class Trial:
    """Runs of a design, a list element per seed."""

    design: Design
    scale: int
    #: True if the trace has writes.
    writes: bool
    layers: Sequence[Layer]
    found: list[Results] = field(default_factory=list)
    #: Minimum evenness of wear for a run's lifetime.
    least_evenness: float = 0.0

    @property
    def over_provisioning(self) -> float:
        """Resulting spare / exported space."""
        nominal = self.found[0].flash.spare.nominal
        return float(nominal / (1 - nominal))

    @property
    def capacity_bytes(self) -> int:
        """Exported bytes of all drives."""
        return int(self.found[0].capacity_bytes) * self.scale

    @property
    def flash_bytes(self) -> float:
        """Data bytes of their flash."""
        return self.capacity_bytes * (1 + self.over_provisioning)

    def values(self, figure: str) -> list[float | None]:
        """A figure of each run: `p99_us`, `p999_us`, `years`, `tbw_bytes`, `amplification`.

        Or a latency by name, such as `read.p99`. None if a run was too short for a lifetime, or had
        no such requests.
        """
        own = getattr(self, f"_{figure}", None)
        if own is None:
            return [latencies_us(results.host).get(figure) for results in self.found]
        return [own(results) for results in self.found]

    def mean(self, figure: str) -> float | None:
        """The mean of a metric; None unless every run has it."""
        known = [value for value in self.values(figure) if value is not None]
        return statistics.fmean(known) if len(known) == len(self.found) else None

    def known(self, figure: str) -> float:
        """The mean of a metric that every run has."""
        mean = self.mean(figure)
        assert mean is not None, figure
        return mean

    def margin(self, figure: str) -> float | None:
        """Half-width of its 95 % confidence interval; None for a single run."""
        known = [value for value in self.values(figure) if value is not None]
        if math.inf in known or len(known) < len(self.found):
            return None
        return margin(known)

    @property
    def daily_bytes(self) -> float:
        """Daily bytes of the trace at its rate."""
        return under_load.daily_bytes(self.found)

    def writes_per_day(self, years: float) -> float | None:
        """Drive writes per day (DWPD) over `years` years of service."""
        written = self.mean("tbw_bytes")
        return None if written is None else written / self.capacity_bytes / (DAYS * years)

    def life(self, dwpd: float | None = None) -> under_load.Figure:
        """Lifetime in years under the load: simulated, by rated writes a day, or bounded."""
        return under_load.life(self.found, dwpd, self.least_evenness, self.writes)

    def why_unknown(self) -> str:
        """Reason for an unknown lifetime."""
        for results in self.found:
            life = lifetime.of(results)
            if life is not None and life.status == "unknown":
                return str(life.reason)
        return TOO_SHORT

    @property
    def least_years(self) -> float | None:
        """Lower bound of the lifetime in years, if runs do not yield it."""
        found = self.life()
        return None if found.value == math.inf else found.value

    def kept(self, goal: Goal) -> bool | None:
        """Decision on a goal; None if inconclusive so far."""
        stored = goal.kept(self.values(goal.figure))
        if goal.figure != "years" or self.mean("years") is not None:
            return stored
        minimum = self.least_years
        return True if minimum is not None and minimum >= goal.limit else stored

    @property
    def overloaded(self) -> bool:
        """True if the backlog kept growing."""
        return any("overloaded" in results.warning_names() for results in self.found)

    @property
    def served(self) -> float:
        """Least share of the offered requests a second that was served; 1 without a rate."""
        shares = [1.0]
        for results in self.found:
            offered = (results.get("workload") or {}).get("offered_iops")
            if offered:
                shares.append((results.host.all.iops or 0.0) / offered)
        return min(shares)

    def _p99_us(self, results: Results) -> float:
        return float(results.host.all.percentiles_us["99"])

    def _p999_us(self, results: Results) -> float:
        return float(results.host.all.percentiles_us["99.9"])

    def _amplification(self, results: Results) -> float:
        flash = results.flash
        measured = flash.get("write_amplification_bytes")
        if measured and flash.host_bytes_written >= ENOUGH * results.capacity_bytes:
            return float(measured)
        aged = results.get("steady_state", {}).get("preconditioning")
        return float(aged.window_mean if aged else measured or 1.0)

    def _tbw_bytes(self, results: Results) -> float | None:
        life = lifetime.of(results)
        if life is None or under_load.evenness_of(results) < self.least_evenness:
            return None
        return life.host_bytes

    def _years(self, results: Results) -> float | None:
        if not self.writes:
            return math.inf
        written, daily = self._tbw_bytes(results), self.daily_bytes
        return written / daily / DAYS if written is not None and daily else None

    def verdict(self, goals: Sequence[Goal]) -> bool | None:
        """Decision on all goals; None if inconclusive so far."""
        stored = [self.kept(goal) for goal in goals]
        if False in stored:
            return False
        return None if None in stored else True

    def lacks(self, goals: Sequence[Goal]) -> bool:
        """True if the runs lack the metric of a goal: further seeds would not help."""
        return any(self.kept(it) is None and self.mean(it.figure) is None for it in goals)

    def broken(self, goals: Sequence[Goal]) -> list[Goal]:
        """The goals that are certainly missed."""
        return [goal for goal in goals if self.kept(goal) is not True]

    def to_dict(self, goals: Sequence[Goal], years: float) -> dict[str, Any]:
        """The trial in the form of `ssdlab size --json`."""
        figures = ("p99_us", "p999_us", "amplification")
        lasts = self.mean("years")
        return {
            "drives": self.design.drives,
            "over_provisioning": self.over_provisioning,
            "capacity_bytes": self.capacity_bytes,
            "flash_bytes": self.flash_bytes,
            "meets": self.verdict(goals),
            "seeds": [results.experiment.run.seed for results in self.found],
            **{f: {"mean": self.mean(f), "margin": self.margin(f)} for f in figures},
            "tbw_bytes": self.mean("tbw_bytes"),
            "drive_writes_per_day": self.writes_per_day(years),
            "years": None if lasts in (None, math.inf) else lasts,
            "at_least_years": self.least_years if lasts is None else None,
            "unlimited": not self.writes,
            "lifetime_reason": self.why_unknown() if lasts is None else None,
        }


def add_seeds(
    trial: Trial,
    first: int,
    count: int,
    done: Callable[[], object] | None = None,
    cancelled: threading.Event | None = None,
) -> None:
    """Run the trial with further seeds until it has `count`, in parallel on all cores.

    Raises `KeyboardInterrupt` soon after `cancelled` is set.
    """
    seeds = range(first + len(trial.found), first + count)
    if not seeds:
        return
    stopped = threading.Event()

    def one(seed: int) -> Results:
        def move(_: Progress) -> None:
            if stopped.is_set() or (cancelled is not None and cancelled.is_set()):
                raise KeyboardInterrupt

        own = Layer("the seed of the run", f"run = {{seed = {seed}}}")
        results = run_layers([*trial.layers, own], progress=move)
        if done is not None:
            done()
        return results

    with ThreadPoolExecutor(min(portable.cores(), len(seeds))) as pool:
        futures = [pool.submit(one, seed) for seed in seeds]
        try:
            trial.found += [future.result() for future in futures]
        finally:
            stopped.set()
            for future in futures:
                future.cancel()


def judge(
    trial: Trial,
    goals: Sequence[Goal],
    first: int,
    done: Callable[[], object] | None = None,
    least: int = 1,
    cancelled: threading.Event | None = None,
) -> bool:
    """Run seeds until the goals are decided; an inconclusive goal counts as missed.

    Meeting the goals takes at least `least` seeds; fewer suffice to miss them.
    """
    counts = (1, SEEDS, MOST_SEEDS) if least > 1 else (1, SEEDS)
    for count in counts:
        add_seeds(trial, first, count, done, cancelled)
        verdict = trial.verdict(goals)
        if verdict is False or (verdict and len(trial.found) >= least) or trial.lacks(goals):
            break
    return trial.verdict(goals) is True
