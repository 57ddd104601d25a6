"""The page of one run, or of several side by side."""

from __future__ import annotations

from collections.abc import Sequence

from ssdlab.reports import one, several
from ssdlab.results import Results


def page(results: Sequence[Results]) -> str:
    """The report of `results` as HTML."""
    return one.page(results[0]) if len(results) == 1 else several.page(results)
