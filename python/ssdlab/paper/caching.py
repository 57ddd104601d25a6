"""The five-minute rule by simulation: the cheapest size of a cache in front of a disk.

The rule keeps pages accessed more often than once per break-even interval of memory and disk. Here
caches of several sizes are simulated in front of a disk under a Zipf load. The bill of each is
memory for its pages and disks for its misses. The size at which one more page costs as much as it
saves must equal the rule's number of pages, at the memory price of 2007 and at four times and a
quarter of it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ssdlab.charts import Axis, Figure, Series
from ssdlab.costing.rule import break_even_seconds
from ssdlab.paper.fiveminute import DISK_DOLLARS, PAGES_PER_MB, RAM_DOLLARS_PER_MB
from ssdlab.paper.item import Item, Row
from ssdlab.paper.study import Study

SUMMARY = "The five-minute rule by simulation: the cheapest cache of a disk at three prices"

#: Number of pages, skew of the load, and sizes of the cache in pages.
PAGES, SKEW = 16_384, 0.9
SIZES = (100, 200, 400, 800, 1_600, 3_200, 6_400, 12_800)
#: Memory prices relative to 2007.
PRICES = (4.0, 1.0, 0.25)
#: Pages that the rule keeps at the price of 2007; it sets the rate of the load.
KEPT_IN_2007 = 1_000
#: Reason for a smaller cache at a high memory price.
SMALL = "the cache hits 6 to 8 % less than the most popular pages would, so that less of it pays"
DOLLARS_OF_SMALL = 0.1


def run(study: Study) -> Item:
    """Cheapest sizes, and the rule's sizes."""
    requests = 60_000 if study.quick else 400_000
    requested: dict[Any, dict[str, Any]] = {size: _cached(size, requests) for size in SIZES}
    requested["disk"] = {
        "device": {"preset": "sata-2008"},
        "workload": _load(2_000 if study.quick else 20_000),
    }
    found = study.measure(requested)
    hits = [found[size]["cache"]["hit_share"] for size in SIZES]
    disk = found["disk"].host.read.iops
    shares = popularity()
    middle = break_even_seconds(PAGES_PER_MB, disk, DISK_DOLLARS, RAM_DOLLARS_PER_MB)
    rate = 1 / (middle * shares[KEPT_IN_2007 - 1])
    rows = [
        Row(
            f"hits of a cache of {size:,} pages, %",
            100 * sum(shares[:size]),
            100 * hit,
            10,
            "the share of the load on its most popular pages",
        )
        for size, hit in zip(SIZES, hits, strict=True)
        if size in (400, 3_200)
    ]
    lines = []
    for price in PRICES:
        dollars = price * RAM_DOLLARS_PER_MB
        interval = break_even_seconds(PAGES_PER_MB, disk, DISK_DOLLARS, dollars)
        stored = sum(share * rate * interval >= 1 for share in shares)
        rows.append(
            Row(
                f"cheapest cache with memory at ${dollars:.3f} a MB, pages",
                stored,
                cheapest(hits, rate, interval),
                15,
                f"the rule keeps what is asked for once in {interval / 60:,.0f} min",
                missed=SMALL if dollars > DOLLARS_OF_SMALL else "",
            )
        )
        bills = [
            size / PAGES_PER_MB * dollars + rate * (1 - hit) / disk * DISK_DOLLARS
            for size, hit in zip(SIZES, hits, strict=True)
        ]
        lines.append(Series(f"${dollars:.3f} a MB", list(SIZES), bills))
        nearest = min(range(len(SIZES)), key=lambda at: abs(math.log(SIZES[at] / stored)))
        rows.append(
            Row(
                f"bill at the size nearest to the rule's, of the least, ${dollars:.3f} a MB",
                None,
                bills[nearest] / min(bills),
                note="the rule is at the bottom of the bill",
            )
        )
    figure = Figure(
        "What a cache in front of a disk costs", Axis("pages", log=2), Axis("dollars"), lines
    )
    return Item("caching", "The cheapest cache", rows, [figure])


def popularity() -> list[float]:
    """The share of the load on each page, the most popular first."""
    weights = [(rank + 1) ** -SKEW for rank in range(PAGES)]
    total = sum(weights)
    return [weight / total for weight in weights]


def cheapest(hits: Sequence[float], rate: float, interval: float) -> float:
    """Size at which another page pays for itself: one hit per interval."""
    pairs = list(zip(SIZES, hits, strict=True))
    points = [
        (math.log(math.sqrt(small * large)), math.log(rate * (more - less) / (large - small)))
        for (small, less), (large, more) in zip(pairs, pairs[1:], strict=False)
        if more > less
    ]
    wanted = -math.log(interval)
    for (left, upper), (right, lower) in zip(points, points[1:], strict=False):
        if upper >= wanted >= lower:
            return math.exp(left + (right - left) * (upper - wanted) / (upper - lower))
    return math.exp(points[0][0] if wanted > points[0][1] else points[-1][0])


def _cached(size: int, requests: int) -> dict[str, Any]:
    return {
        "device": {
            "kind": "cache",
            "replacement": "lfu",
            "line": "4KiB",
            "fast": {"kind": "law", "size": f"{4 * size}KiB", "random_read": "10us + 0ns/KiB"},
            "backing": {"preset": "sata-2008"},
        },
        "workload": _load(requests) | {"footprint": f"{4 * PAGES}KiB", "locality": f"zipf({SKEW})"},
        "run": {"warm_up": "60s"},
    }


def _load(requests: int) -> dict[str, Any]:
    return {
        "kind": "closed",
        "read_share": 1.0,
        "random_share": 1.0,
        "block_size": "4KiB",
        "outstanding": 1,
        "requests": requests,
    }
