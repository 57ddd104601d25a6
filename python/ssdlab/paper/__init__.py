"""Repeated studies: experiments, and their results beside published ones.

An item is a module of this package with `SUMMARY` and `run`, and its word in `ITEMS`. Its `Study`
runs the simulations. `docs/paper.md` summarises the agreement.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from types import ModuleType

from ssdlab.charts import Figure, Series
from ssdlab.paper.item import Item, Row
from ssdlab.paper.study import Study

__all__ = ["ITEMS", "Figure", "Item", "Row", "Series", "Study"]

#: Every item by its word, in the order of the studies.
ITEMS: Mapping[str, ModuleType] = {
    name: import_module(f"ssdlab.paper.{name.replace('-', '_')}")
    for name in (
        "table1",
        "table2",
        "table3",
        "table4",
        "table5",
        "table6",
        "table7",
        "table8",
        "figure2",
        "figure6",
        "figure7",
        "figure8",
        "tradeoffs",
        "tpcc",
        "slides",
        "gray",
        "flashdisk",
        "diskspd",
        "maghraoui",
        "paging",
        "ssdiq",
        "ssdiq-gc",
        "ssdiq-load",
        "saturation",
        "qlc-iu",
        "cliff",
        "drives",
        "disks",
        "fiveminute",
        "caching",
        "tiers",
        "media",
        "raid",
        "cachelib-fdp",
        "warp",
        "lsm",
        "kv-offload",
        "zn540",
    )
}
