"""Which of the drives that can be bought serves this trace, and what does it cost?

Every drive of the catalogue is tried as it is sold: with as many drives as its data ask for, then
with twice as many, until the goals are met. The drives that meet them are ordered by what they
cost, the others say what they lack.
"""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ssdlab import portable, sizing
from ssdlab._core import InputError
from ssdlab.catalogue import devices
from ssdlab.choosing import reasons, trace
from ssdlab.choosing.offer import Offer, Terms
from ssdlab.costing.need import Need
from ssdlab.sizing.fit import NoRoomError
from ssdlab.sizing.trial import SEEDS, Design, Goal, Trial, judge

__all__ = ["Choice", "Offer", "choose"]

#: What a drive that is not of the catalogue has no price for.
MAX_DRIVES = sizing.MAX_DRIVES


@dataclass(frozen=True)
class Choice:
    """Every drive tried: those that meet the goals first, the cheapest of them first."""

    trace: Path
    goals: Sequence[Goal]
    years: float
    need: Need
    offers: Sequence[Offer]
    notes: Sequence[str]
    """What the trace is too short for, or does not have."""
    seed: int

    @property
    def best(self) -> Offer | None:
        """The cheapest drive that meets the goals; None if none does."""
        return next((it for it in self.offers if it.meets), None)

    @property
    def command(self) -> str | None:
        """The `ssdlab run` that repeats the best one."""
        return None if self.best is None else self.best.command

    def to_dict(self) -> dict[str, Any]:
        """The choice as `ssdlab choose --json` has it; times in us, sizes in bytes."""
        return {
            "trace": str(self.trace),
            "goals": [
                {"figure": it.figure, "limit": it.limit, "at_least": it.at_least}
                for it in self.goals
            ],
            "need": self.need.to_dict(),
            "notes": list(self.notes),
            "best": None if self.best is None else self.best.drive,
            "command": self.command,
            "offers": [it.to_dict() for it in self.offers],
        }


def choose(
    path: str | os.PathLike[str],
    *,
    p99_us: float | None = None,
    p999_us: float | None = None,
    years: float = sizing.YEARS,
    need: str | Need | None = None,
    drives: Sequence[str] = (),
    most: int = MAX_DRIVES,
    prices: Mapping[str, float] | None = None,
    power_dollars_per_kwh: float | None = None,
    assignments: Sequence[str] = (),
    columns: str | None = None,
    seed: int = 42,
    progress: Callable[[int, int], object] | None = None,
) -> Choice:
    """Try every drive of the catalogue under a trace, and order them by what they cost.

    `p99_us` and `p999_us` are limits in microseconds over all requests; `need` further ones as
    `ssdlab cost` has them: "gb=3000,read.p99=1ms". `drives` are presets or files instead of the
    catalogue, `most` how many of one kind may be striped, `prices` dollars by drive instead of the
    assumed ones, `power_dollars_per_kwh` adds what they draw over the years.
    Raises `InputError` for wrong input.

    >>> import ssdlab
    >>> ssdlab.choose("FILE", p99_us=2000.0, need="gb=3000").best.drive  # doctest: +SKIP
    """
    path = Path(path)
    need = _need(need)
    terms = _terms(years, prices or {}, power_dollars_per_kwh, drives)
    names = _unique(drives) or [it.name for it in devices.to_buy()]
    limits = {"p99_us": p99_us, "p999_us": p999_us, **need.latencies_us}
    goals = [Goal(figure, limit) for figure, limit in limits.items() if limit is not None]
    goals.append(Goal("years", years, at_least=True, if_known=True))
    gigabytes = need.amounts.get("gb", 0.0)
    cancelled = threading.Event()
    notes = trace.notes(path, assignments, columns)

    def tried(name: str) -> Offer:
        asked = (most, assignments, goals, terms, gigabytes, seed, cancelled)
        return _Trying(path, columns, name, *asked)()

    offers = _each(tried, names, cancelled, progress)
    offers = _confirmed(sorted(offers, key=_order), goals, terms, seed)
    return Choice(path, goals, years, need, offers, notes, seed)


def _each(
    tried: Callable[[str], Offer],
    names: Sequence[str],
    cancelled: threading.Event,
    progress: Callable[[int, int], object] | None,
) -> list[Offer]:
    """The offers, as many at once as there are cores; an interruption ends all of them."""
    done = 0

    def one(name: str) -> Offer:
        nonlocal done
        found = tried(name)
        done += 1
        if progress is not None:
            progress(done, len(names))
        return found

    with ThreadPoolExecutor(min(portable.cores(), len(names))) as pool:
        futures = [pool.submit(one, name) for name in names]
        try:
            finished, _ = wait(futures, return_when=FIRST_EXCEPTION)
            for future in finished:
                future.result()
        finally:
            cancelled.set()
            for future in futures:
                future.cancel()
    return [future.result() for future in futures]


def _order(offer: Offer) -> tuple[bool, float, float]:
    """First those that meet the goals, then by dollars, then by latency."""
    price = math.inf if offer.dollars is None else offer.dollars
    late = offer.trial.known("p99_us") if offer.trial is not None else math.inf
    return not offer.meets, price, late


def _confirmed(
    offers: Sequence[Offer], goals: Sequence[Goal], terms: Terms, seed: int
) -> list[Offer]:
    """The same with the first of them tried with several seeds: one may have been lucky."""
    found = list(offers)
    while found[0].meets and found[0].trial is not None and len(found[0].trial.found) < SEEDS:
        first = found[0]
        assert first.trial is not None
        kept = judge(first.trial, goals, seed, least=SEEDS)
        why = "" if kept else reasons.of(first.trial, goals, terms.years, first.dwpd)
        found[0] = replace(first, why=why)
        found.sort(key=_order)
    return found


def _need(need: str | Need | None) -> Need:
    """The needs, of which a trace leaves open capacity and latencies alone."""
    from ssdlab.costing import need as needs

    found = needs.parse((need,)) if isinstance(need, str) else need or Need({}, {})
    for name in found.amounts:
        if name != "gb":
            raise InputError(
                f"--need {name}: the trace says what is asked of the drives; what it leaves open "
                "is gb, and latencies such as read.p99=1ms"
            )
    return found


def _terms(
    years: float, prices: Mapping[str, float], power: float | None, drives: Sequence[str]
) -> Terms:
    known = [*devices.DEVICES, *drives]
    for name, dollars in prices.items():
        if name not in known:
            raise InputError(
                f"--price {name}: no drive of this choice; drives: "
                f"{', '.join(_unique(drives) or [it.name for it in devices.to_buy()])}"
            )
        if not (math.isfinite(dollars) and dollars >= 0):
            raise InputError(f"--price {name}={dollars:g}: a price is 0 or more dollars")
    if not 0 < years < math.inf:
        raise InputError(f"--years {years:g}: more than 0, and finite")
    if power is not None and not (math.isfinite(power) and power >= 0):
        raise InputError(f"--power-dollars-per-kwh {power:g}: expected a number, 0 or more")
    return Terms(years, prices, power)


def _unique(names: Sequence[str]) -> list[str]:
    """The names, each once; raises `InputError` for one that is given twice."""
    for name in names:
        if [*names].count(name) > 1:
            raise InputError(f"--device {name}: is given twice; keep one")
    return [*names]


@dataclass
class _Trying:
    """One drive of the catalogue: its numbers of drives, each tried until one meets the goals.

    It has a field for each thing that decides what is tried.
    """

    path: Path
    columns: str | None
    drive: str
    most: int
    assignments: Sequence[str]
    goals: Sequence[Goal]
    terms: Terms
    gigabytes: float
    seed: int
    cancelled: threading.Event
    trials: list[Trial] = field(default_factory=list)

    def __call__(self) -> Offer:
        if self.cancelled.is_set():
            raise KeyboardInterrupt
        try:
            search = sizing.Search(
                self.path, self.drive, None, self.assignments, self.most, self.columns
            )
        except NoRoomError as error:
            return self.terms.without_trial(self.drive, error.why)
        least = math.ceil(self.gigabytes * 1e9 / search.exported_bytes * (1 - 1e-9))
        if least > self.most:
            why = f"{self.gigabytes:,.0f} GB take {least} drives; --drives {self.most} are allowed"
            return self.terms.without_trial(self.drive, why)
        for count in sizing.counts(max(search.fit.fewest_drives, least), self.most):
            trial = search.trial(Design(count, None))
            trial.least_evenness = reasons.EVEN if self.terms.dwpd(self.drive) else 0.0
            judge(trial, self.goals, self.seed, cancelled=self.cancelled)
            self.trials.append(trial)
            if not (why := self._why(trial)):
                break
        nearest = trial if not why else self._nearest()
        command = search.command(nearest.design, self.seed)
        return self.terms.offer(self.drive, nearest, self._why(nearest), command)

    def _why(self, trial: Trial) -> str:
        return reasons.of(trial, self.goals, self.terms.years, self.terms.dwpd(self.drive))

    def _nearest(self) -> Trial:
        """The one that lacks least: that with the least p99."""
        return min(self.trials, key=lambda trial: trial.known("p99_us"))
