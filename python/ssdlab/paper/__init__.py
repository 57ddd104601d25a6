"""The studies that ssdlab repeats: experiments, their results beside what was published.

An item is one module of this package with `SUMMARY` and `run`, and its word in `ITEMS`. It
simulates nothing itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType

from ssdlab.paper import diskspd
from ssdlab.paper.item import Figure, Item, Row, Series

__all__ = ["ITEMS", "Figure", "Item", "Row", "Series"]

#: Every item by its word.
ITEMS: Mapping[str, ModuleType] = {"diskspd": diskspd}
