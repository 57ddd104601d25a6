"""Tries all drives under a load: briefly first, then the cheapest in full.

Every drive is run briefly, the cheapest first, so that a table appears within seconds. Then more
drives of a kind are tried if they could help and cost less than the cheapest suitable offer so far.
Last, the cheapest is confirmed with a longer preconditioning and several seeds; if it fails, the
next one is. Limits are counts, not times, so that the answer is the same on every machine.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace

from ssdlab import interruption, portable, sizing, under_load
from ssdlab.choosing import reasons
from ssdlab.choosing.offer import Offer, Terms
from ssdlab.sizing.fit import BRIEF, CONFIRMED, Effort, NoRoomError
from ssdlab.sizing.load import Load
from ssdlab.sizing.trial import SEEDS, Design, Goal, add_seeds, judge

#: Called for each new row: the row, the number of rows so far, the total.
Told = Callable[[Offer, int, int], object]
#: Minimum improvement of the worst metric by doubling the drives; below it no more are tried.
IMPROVES = 1.1


@dataclass(frozen=True)
class Asked:
    """Requirements for the drives; one field per input of the search."""

    load: Load
    goals: Sequence[Goal]
    terms: Terms
    gigabytes: float
    most: int
    assignments: Sequence[str]
    seed: int


@dataclass
class Hunt:
    """The drives of the catalogue under a load; `offers` has the results so far."""

    asked: Asked
    names: Sequence[str]
    told: Told | None = None
    #: True to leave the cheapest unconfirmed.
    is_brief: bool = False
    offers: dict[str, Offer] = field(default_factory=dict)
    _cancelled: threading.Event = field(default_factory=threading.Event)

    def run(self) -> None:
        """Try all drives; an interruption stops the runs and keeps `offers`."""
        try:
            self.try_all()
        finally:
            self._cancelled.set()

    def try_all(self) -> None:
        """Try all drives, and confirm the cheapest; the hunt can be run again."""
        self._screen()
        self._with_more_drives()
        if not self.is_brief:
            self._confirm()

    def found(self) -> list[Offer]:
        """The drives tried: suitable ones first, in order of cost; then the others, nearest to the
        goals first.
        """
        return sorted(self.offers.values(), key=self._order)

    def _order(self, offer: Offer) -> tuple[bool, float, float]:
        late = offer.trial.known("p99_us") if offer.trial is not None else math.inf
        if offer.meets:
            return False, offer.price_of_all, late
        return True, reasons.miss(offer, self.asked.goals), offer.price_of_all

    def _screen(self) -> None:
        """Try all drives briefly, each in the number that holds the data; the cheapest are reported
        first.
        """
        each = {name: self.asked.terms.price(name)[0] for name in self.names}
        known = [name for name in self.names if each[name] is not None]
        names = sorted(known, key=lambda name: each[name] or 0.0)
        names += [name for name in self.names if each[name] is None]
        for offer in self._parallel([(name, None) for name in names]):
            self._tell(offer)

    def _with_more_drives(self) -> None:
        """Double the number of insufficient drives, if that could be cheapest."""
        while todo := [
            (it.drive, count)
            for it in self.found()
            if (count := self._next_count(it)) is not None and self._is_cheaper(it, count)
        ]:
            for offer in self._parallel(todo):
                before = self.offers[offer.drive]
                if self._improves(before, offer):
                    self._tell(offer)
                else:
                    self.offers[offer.drive] = before.ended()

    def _improves(self, before: Offer, after: Offer) -> bool:
        if after.meets:
            return True
        goals = self.asked.goals
        return reasons.miss(after, goals) * IMPROVES < reasons.miss(before, goals)

    def _next_count(self, offer: Offer) -> int | None:
        """Next number of drives to try; None if no number helps."""
        if offer.meets or offer.is_final or offer.trial is None or offer.drives >= self.asked.most:
            return None
        goals, maximum = self.asked.goals, self.asked.most
        if not reasons.may_help(offer, goals, maximum):
            return None
        # Writes per drive fall with the number of drives; ratings are per drive.
        count, wanted = 2 * offer.drives, offer.drives * reasons.short_of_life(offer, goals)
        while count < min(wanted, maximum):
            count *= 2
        return min(count, maximum)

    def _is_cheaper(self, offer: Offer, count: int) -> bool:
        """True if `count` drives could cost less than the cheapest suitable offer."""
        best = next((it for it in self.found() if it.meets), None)
        if best is None or best.dollars is None or offer.price is None:
            return best is None
        return count * offer.price < best.dollars

    def _confirm(self) -> None:
        """Run the first offer that meets the goals, or nearly does at a lower cost, in full; else
        the next.
        """
        tried: set[tuple[str, int]] = set()
        while True:
            best = next((it for it in self.found() if it.meets), None)
            maximum = math.inf if best is None else best.price_of_all
            close = [
                it
                for it in self.offers.values()
                if it.trial is not None
                and (it.drive, it.drives) not in tried
                and (it.meets or reasons.is_close(it, self.asked.goals))
                and it.price_of_all <= maximum
            ]
            if not close:
                return
            first = min(close, key=lambda it: (it.price_of_all, it.drive))
            tried.add((first.drive, first.drives))
            offer = self._tried(first.drive, first.drives, CONFIRMED)
            self._tell(offer)
            if offer.meets:
                return
            more = self._next_count(offer)
            if more is not None and self._is_cheaper(offer, more):
                self._tell(self._tried(offer.drive, more, BRIEF))

    def _tell(self, offer: Offer) -> None:
        self.offers[offer.drive] = offer
        if self.told is not None:
            self.told(offer, len(self.offers), len(self.names))

    def _parallel(self, todo: Sequence[tuple[str, int | None]]) -> Iterator[Offer]:
        """The offers in the order of `todo`, run in parallel on all cores."""
        with ThreadPoolExecutor(min(portable.cores(), max(len(todo), 1))) as pool:
            futures = [pool.submit(self._tried, *it, BRIEF) for it in todo]
            yield from interruption.finished(futures, futures, self._cancelled)

    def _tried(self, drive: str, count: int | None, effort: Effort) -> Offer:
        """`count` drives, or the fewest that hold the data, under the load."""
        asked = self.asked
        if self._cancelled.is_set():
            raise KeyboardInterrupt
        given = asked.assignments
        try:
            search = sizing.Search(asked.load, drive, None, given, asked.most, effort)
        except NoRoomError as error:
            return asked.terms.without_trial(drive, error.why)
        least = math.ceil(asked.gigabytes * 1e9 / search.exported_bytes * (1 - 1e-9))
        if least > asked.most:
            room = f"{asked.gigabytes:,.0f} GB take {least} drives"
            return asked.terms.without_trial(drive, f"{room}; --drives {asked.most} are allowed")
        design = Design(count or max(search.fit.fewest_drives, least), None)
        trial = search.trial(design)
        trial.least_evenness = under_load.EVEN if asked.terms.dwpd(drive) else 0.0
        if effort is BRIEF:
            add_seeds(trial, asked.seed, 1, cancelled=self._cancelled)
        else:
            # Without a lifetime from the run, use the rating.
            goals = [replace(it, if_known=it.figure == "years") for it in asked.goals]
            judge(trial, goals, asked.seed, least=SEEDS, cancelled=self._cancelled)
        why = reasons.of(trial, asked.goals, asked.terms.years, asked.terms.dwpd(drive))
        command = search.command(design, asked.seed)
        return asked.terms.offer(drive, trial, why, command, search.fit.words)
