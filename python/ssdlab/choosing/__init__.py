"""Which of the drives that can be bought serves this load, and what does it cost?

Every drive of the catalogue is simulated as sold (`hunt`). Drives that meet the goals are ordered
by cost, the others state the goals that they miss.
"""

from __future__ import annotations

import dataclasses
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ssdlab import arrow, layers, market, sizing
from ssdlab._core import InputError
from ssdlab.catalogue import devices
from ssdlab.choosing import trace as remarks
from ssdlab.choosing.hunt import Asked, Hunt, Told
from ssdlab.choosing.offer import Offer, Terms
from ssdlab.costing.need import Need
from ssdlab.sizing.load import Load
from ssdlab.sizing.trial import Goal, refuse_contradictions

__all__ = ["Asked", "Choice", "InterruptedChoice", "Offer", "Terms", "among", "choose"]

MAX_DRIVES = sizing.MAX_DRIVES


@dataclass(frozen=True)
class Move:
    """A price of one drive at which the answer changes."""

    drive: str
    dollars: float
    change: float
    """Relative change from today's price; negative for a lower price."""


@dataclass(frozen=True)
class Choice(arrow.Table):
    """Every drive tried: suitable ones first, in order of cost."""

    ROWS = "offers"

    load: Load
    goals: Sequence[Goal]
    need: Need
    offers: Sequence[Offer]
    notes: Sequence[str]
    """Limits of the trace: too short, or requests that it lacks."""
    is_whole: bool = True
    """True if all drives were tried; False after an interruption."""
    terms: Terms | None = None

    @property
    def best(self) -> Offer | None:
        """The cheapest drive that meets the goals; None if none does."""
        return next((it for it in self.offers if it.meets), None)

    @property
    def command(self) -> str | None:
        """The `ssdlab run` that repeats the best one."""
        return None if self.best is None else self.best.command

    def moves(self) -> list[Move]:
        """Prices of the best and other drives that would change the answer, in order of distance.

        Only drives that meet the goals, in the numbers tried.
        """
        best = self.best
        if best is None or best.dollars is None or not best.price:
            return []
        others = [it for it in self.offers if it.meets and it is not best and it.price]
        found = []
        for it in others:
            least = (best.dollars - it.power_dollars) / it.drives
            if it.price and least > 0:
                found.append(Move(it.drive, least, least / it.price - 1))
        if others:
            cheapest = min(it.price_of_all for it in others)
            most = (cheapest - best.power_dollars) / best.drives
            found.append(Move(best.drive, most, most / best.price - 1))
        return sorted(found, key=lambda it: abs(it.change))

    def priced(self) -> list[str]:
        """Dates of the catalogue prices used, sorted and without repetition."""
        when = [self.terms.of_when(it.drive) for it in self.offers] if self.terms else []
        return sorted({it for it in when if it is not None})

    def __repr__(self) -> str:
        best = "none meets the targets" if self.best is None else f"best {self.best.drive}"
        return f"<Choice: {len(self.offers)} offers under {self.load.name}, {best}>"

    def to_dict(self) -> dict[str, Any]:
        """The choice in the form of `ssdlab choose --json`; times in us, sizes in bytes."""
        return {
            "load": self.load.name,
            "trace": None if self.load.trace is None else str(self.load.trace),
            "partial": not self.is_whole,
            "goals": [it.to_dict() for it in self.goals],
            "need": self.need.to_dict(),
            "notes": list(self.notes),
            "best": None if self.best is None else self.best.drive,
            "command": self.command,
            "priced": self.priced(),
            "moves": [dataclasses.asdict(it) for it in self.moves()],
            "offers": [it.to_dict() for it in self.offers],
        }


def choose(
    trace: str | os.PathLike[str] | Load,
    *,
    p99: str | None = None,
    p999: str | None = None,
    years: float | None = None,
    need: str | Need | None = None,
    device: str | Sequence[str] = (),
    drives: int = MAX_DRIVES,
    prices: Mapping[str, float] | None = None,
    power_dollars_per_kwh: float | None = None,
    catalogue: str | os.PathLike[str] | None = None,
    set: Mapping[str, Any] | Sequence[str] = (),
    columns: str | None = None,
    seed: int = 42,
    progress: Told | None = None,
) -> Choice:
    """Try all drives of the catalogue under a trace or another load, in order of cost.

    `p99` and `p999` are limits over all requests, such as "2ms"; `years` is the minimum lifetime,
    by default 5 if a run or a rating yields one; `need` further ones as `ssdlab cost` has them:
    "gb=3000,read.p99=1ms". `device` names presets or files instead of the catalogue, `drives` how
    many of one kind may be striped, `set` keys of all runs, `prices` dollars by drive instead of
    the catalogue's, `power_dollars_per_kwh` adds the cost of their power over the years; rows of
    the file `catalogue` replace shipped ones. `progress` is called with each row, the number of
    rows so far and the total. Raises `InputError` for wrong input, and `InterruptedChoice` with the
    rows so far at Ctrl-C.

    >>> import ssdlab
    >>> ssdlab.choose("FILE", p99="2ms", need="gb=3000").best.drive  # doctest: +SKIP
    """
    load = trace if isinstance(trace, Load) else Load.of(Path(trace), columns)
    assignments = layers.assigned(set)
    need = _need(need)
    limit = sizing.YEARS if years is None else years
    rows = market.with_own(None if catalogue is None else Path(catalogue))
    chosen = named([device] if isinstance(device, str) else device, rows)
    terms = terms_of(limit, prices or {}, power_dollars_per_kwh, chosen, rows)
    limits = sizing.latency_limits(p99, p999) | need.latencies_us
    goals = [Goal(figure, limit) for figure, limit in limits.items()]
    refuse_contradictions(goals)
    # A closed loop writes as fast as the drive allows: no drive lasts years.
    if years is not None or load.is_paced:
        goals.append(Goal("years", limit, at_least=True, if_known=years is None))
    gigabytes = need.amounts.get("gb", 0.0)
    names = chosen or offered(rows)
    notes = remarks.notes(load, assignments)
    requested = Asked(load, goals, terms, gigabytes, drives, assignments, seed)
    return among(names, requested, need, notes, progress)


def among(
    names: Sequence[str],
    asked: Asked,
    need: Need,
    notes: Sequence[str] = (),
    told: Told | None = None,
) -> Choice:
    """The named drives under a load. Raises `InterruptedChoice`."""
    hunt = Hunt(asked, names, told)

    def found(is_whole: bool) -> Choice:
        return Choice(asked.load, asked.goals, need, hunt.found(), notes, is_whole, asked.terms)

    try:
        hunt.run()
    except KeyboardInterrupt as error:
        raise InterruptedChoice(found(False), len(names)) from error
    return found(True)


class InterruptedChoice(KeyboardInterrupt):
    """An interruption, with the choice among the drives tried so far."""

    def __init__(self, choice: Choice, drives: int) -> None:
        super().__init__()
        self.choice = choice
        tried = f"{len(choice.offers)} of {drives} drives were tried"
        self.said = f"interrupted; {tried}, the answer is partial"


def _need(need: str | Need | None) -> Need:
    """The needs; a trace leaves open only capacity and latencies."""
    from ssdlab.costing import need as needs

    found = needs.parse((need,)) if isinstance(need, str) else need or Need({}, {})
    for name in found.amounts:
        if name != "gb":
            raise InputError(
                f"--need {name}: the trace says what is asked of the drives; what it leaves open "
                "is gb, and latencies such as read.p99=1ms"
            )
    return found


def terms_of(
    years: float,
    prices: Mapping[str, float],
    power: float | None,
    drives: Sequence[str],
    rows: Mapping[str, market.Rated],
) -> Terms:
    """Terms of the cost. Raises `InputError` for a price of a drive outside the choice."""
    known = [*devices.DEVICES, *rows, *drives]
    for name, dollars in prices.items():
        if name not in known:
            raise InputError(
                f"--price {name}: no drive of this choice; drives: {', '.join(drives or rows)}"
            )
        if not (math.isfinite(dollars) and dollars >= 0):
            raise InputError(f"--price {name}={dollars:g}: a price is 0 or more dollars")
    if not 0 < years < math.inf:
        raise InputError(f"--years {years:g}: more than 0, and finite")
    if power is not None and not (math.isfinite(power) and power >= 0):
        raise InputError(f"--power-dollars-per-kwh {power:g}: expected a number, 0 or more")
    return Terms(years, prices, power, rows)


def offered(rows: Mapping[str, market.Rated]) -> list[str]:
    """The drives of a catalogue to try: each model, at its own capacity.

    Larger ones are tried where they are named: all their dies clean over the same buses at once,
    which no measurement of such a drive has confirmed, and their tails are longer for it.
    """
    return [drive for drive, row in rows.items() if not row.changes]


def named(drives: Sequence[str], rows: Mapping[str, market.Rated]) -> list[str]:
    """Presets and device files; a name in the catalogue stands for its file.

    Raises `InputError` for a drive that is given twice.
    """
    for name in drives:
        if [*drives].count(name) > 1:
            raise InputError(f"--device {name}: is given twice; keep one")
    files = {row.name: file for file, row in rows.items()}
    return [files.get(it, it) for it in drives]
