"""Why a drive does not do under a trace."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ssdlab.sizing import life as life_text
from ssdlab.sizing import said
from ssdlab.sizing.trial import DAYS, Goal, Trial

#: Years over which data sheets rate drive writes per day.
RATED_YEARS = 5
#: A run that wears its blocks less evenly says little of a drive that is sold. Such a drive moves
#: cold data, so that a trace of few pages does not wear out the few blocks that are left; the
#: presets do not, as no sheet says how. Then the rating of the sheet holds.
EVEN = 0.5


def of(trial: Trial, goals: Sequence[Goal], years: float, dwpd: float | None) -> str:
    """What the drives of a trial lack, in words; empty if nothing."""
    lacking = []
    if trial.overloaded:
        lacking.append("it cannot keep up with the trace")
    for goal in goals:
        if goal.figure == "years":
            lasts, is_rated = life(trial, dwpd)
            if lasts is not None and lasts < years:
                by = " by its rating" if is_rated else ""
                lacking.append(f"lifetime is {life_text(lasts)}{by}, not {life_text(years)}")
        elif trial.kept(goal) is not True:
            lacking.append(said(trial, goal))
    return "; ".join(lacking)


def life(trial: Trial, dwpd: float | None) -> tuple[float | None, bool]:
    """Years that the drives last under the trace, and whether that is by the rating of their sheet.

    The estimate of the run where it has one, else the rated writes over what the trace writes. A
    bound is neither: that a drive lasts at least a day says nothing against five years.
    """
    lasts = trial.mean("years")
    if lasts is not None or dwpd is None:
        return lasts, False
    daily = trial.daily_bytes
    rated = dwpd * DAYS * RATED_YEARS * trial.capacity_bytes
    return (rated / daily / DAYS if daily else math.inf), True
