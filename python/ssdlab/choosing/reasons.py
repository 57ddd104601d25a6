"""Reasons why a drive is unsuitable for a trace."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ssdlab import under_load
from ssdlab.sizing import said
from ssdlab.sizing.trial import Goal, Trial
from ssdlab.under_load import life_text
from ssdlab.units import duration

if TYPE_CHECKING:
    from ssdlab.choosing.offer import Offer


#: Share of the offered requests that a brief run serves, from which a longer run may serve all.
NEARLY = 0.7


def of(trial: Trial, goals: Sequence[Goal], years: float, dwpd: float | None) -> str:
    """Unmet goals of a trial's drives, in words; empty if all are met."""
    lacking = []
    if trial.overloaded:
        lacking.append("it cannot keep up with the trace")
    for goal in goals:
        if goal.figure == "years":
            lasts, is_rated = life(trial, dwpd)
            if lasts is not None and lasts < years:
                by = " by its rating" if is_rated else ""
                lacking.append(f"lifetime is {life_text(lasts)}{by}, not {life_text(years)}")
            elif is_lifetime_unknown(trial, goal, dwpd):
                lacking.append(said(trial, goal))
        elif (stored := trial.kept(goal)) is False or trial.mean(goal.figure) is None:
            lacking.append(said(trial, goal))
        elif stored is None:
            mean = duration(trial.known(goal.figure))
            lacking.append(f"{goal.name} is {mean}, too close to {duration(goal.limit)} to tell")
    return "; ".join(lacking)


def is_lifetime_unknown(trial: Trial, goal: Goal, dwpd: float | None) -> bool:
    """True if the required lifetime is neither simulated nor rated, nor bounded by arithmetic."""
    return not goal.if_known and life(trial, dwpd)[0] is None and trial.kept(goal) is not True


def life(trial: Trial, dwpd: float | None) -> tuple[float | None, bool]:
    """Lifetime in years under the trace, and True if from the sheet's rating.

    The run's estimate if there is one, else rated writes over the trace's write rate. A lower bound
    is not used: at least a day does not contradict five years.
    """
    found = trial.life(dwpd)
    return found.known, found.kind == under_load.RATED


def names(offer: Offer, goals: Sequence[Goal]) -> list[str]:
    """Unmet goals of an offer's drives, one word each; `?` marks goals that need a longer run."""
    trial = offer.trial
    if trial is None:
        return ["room"]
    lacking = ["speed"] if trial.overloaded else []
    for goal in goals:
        if goal.figure == "years":
            lacking += ["life"] if short_of_life(offer, goals) > 1 else []
            lacking += ["life?"] if is_lifetime_unknown(trial, goal, offer.dwpd) else []
        elif (stored := trial.kept(goal)) is not True:
            known = stored is None and trial.mean(goal.figure) is not None
            of = " of flushes" if _by_flushes(trial, goal) else ""
            lacking.append(f"{goal.name}{of}{'?' if known else ''}")
    return lacking


def _by_flushes(trial: Trial, goal: Goal) -> bool:
    """True if reads and writes alone meet the limit of a latency over all requests."""
    apart = {"p99_us": "p99", "p999_us": "p99.9"}.get(goal.figure)
    if apart is None or not trial.found[0].host.flush.requests:
        return False
    each = [trial.mean(f"{kind}.{apart}") for kind in ("read", "write")]
    return all(it is None or it <= goal.limit for it in each)


def is_close(offer: Offer, goals: Sequence[Goal]) -> bool:
    """True if a longer run could decide in an offer's favour."""
    trial = offer.trial
    if trial is None or short_of_life(offer, goals) > 1:
        return False
    if trial.overloaded:
        # Random overwrites before a brief run may leave a backlog that the load itself does not.
        return trial.served >= NEARLY
    return all(trial.kept(goal) is not False for goal in goals if goal.figure != "years")


def miss(offer: Offer, goals: Sequence[Goal]) -> float:
    """The worst ratio of an offer's metric to its goal; above 1 if missed."""
    trial = offer.trial
    if trial is None:
        return math.inf
    ratios = [short_of_life(offer, goals)]
    for goal in goals:
        mean = trial.mean(goal.figure)
        if goal.figure != "years":
            ratios.append(math.inf if mean is None else mean / goal.limit)
    return max(ratios)


def may_help(offer: Offer, goals: Sequence[Goal], most: int) -> bool:
    """True if up to `most` drives may meet the missed goals of an offer.

    Striped drives share the writes, so rated lifetime grows with their number; no request becomes
    faster than the fastest on one drive.
    """
    trial = offer.trial
    if trial is None or short_of_life(offer, goals) > most / offer.drives:
        return False
    for goal in goals:
        kind = goal.figure.partition(".")[0]
        host = trial.found[0].host[kind if kind in ("read", "write") else "all"]
        minimum = host.min_us
        if goal.figure != "years" and minimum is not None and minimum > goal.limit:
            return False
    return True


def short_of_life(offer: Offer, goals: Sequence[Goal]) -> float:
    """Missing factor of the lifetime; 0 if unknown."""
    lasts, _ = offer.life
    wanted = next((it.limit for it in goals if it.figure == "years"), 0.0)
    return 0.0 if lasts is None else wanted / max(lasts, 1e-12)
