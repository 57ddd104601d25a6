"""Cleaning policies written in Python: parts, loading, and the conformance suite.

>>> import ssdlab
>>> class Greedy:
...     def step(self, view):
...         return ssdlab.Clean(view.emptiest)
>>> print(ssdlab.check_cleaner(Greedy()))  # doctest: +SKIP

See `ssdlab docs write-a-cleaner`.
"""

from __future__ import annotations

from ssdlab._core import (
    CLOSED,
    FILLING,
    FREE,
    OPEN,
    PASSED_OVER,
    RETIRED,
    VICTIM,
    Clean,
    PolicyError,
    Rest,
    View,
)
from ssdlab.cleaners.conformance import Check, CheckReport, check_cleaner
from ssdlab.cleaners.loading import explain, load, name_of
from ssdlab.cleaners.policy import Action, Cleaner

__all__ = [
    "CLOSED",
    "FILLING",
    "FREE",
    "OPEN",
    "PASSED_OVER",
    "RETIRED",
    "VICTIM",
    "Action",
    "Check",
    "CheckReport",
    "Clean",
    "Cleaner",
    "PolicyError",
    "Rest",
    "View",
    "check_cleaner",
    "explain",
    "load",
    "name_of",
]
