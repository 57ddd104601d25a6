"""The counters of a drive, as declared by the engine: labels and places of display."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

from ssdlab import _core


class Counter(NamedTuple):
    """A row of the engine's table of counters."""

    key: str
    #: Path in results, such as "flash.cleaning"; empty if it is only in the time series.
    section: str
    label: str
    meaning: str
    unit: str
    terminal: bool
    #: Name in the time series.
    over_time: str | None


#: Units in display order.
UNITS = ("flash pages", "bytes", "blocks", "groups", "times")


@cache
def table() -> tuple[Counter, ...]:
    """Every counter, in the order of results."""
    return tuple(Counter(**row) for row in _core.counters())


def shown(section: str, counts: Mapping[str, Any]) -> list[tuple[str, int]]:
    """Rows of a section for the terminal, with their values in `counts`: pages first.

    Results of an older version may lack some.
    """
    rows = [row for row in table() if row.section == section and row.terminal]
    rows.sort(key=lambda row: UNITS.index(row.unit))
    return [(row.label, counts[row.key]) for row in rows if row.key in counts]


def meanings(section: str) -> dict[str, str]:
    """Meaning of each counter in a section and its subsections, by the words of its path."""
    found = {}
    for row in table():
        if row.section == section or row.section.startswith(f"{section}."):
            path = f"{row.section}.{row.key}".removeprefix(f"{section}.")
            found[path.replace(".", " ").replace("_", " ")] = row.meaning
    return found
