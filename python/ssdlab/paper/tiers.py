"""Two tiers by heat, compared with the popularity of pages.

Each page of an address space lies on one of two devices; hot pages move to the fast one. Under a
stationary load, heat converges to popularity: the fast device holds the most popular pages, whose
share of the load is a sum over its law. A uniform load has no hot pages, so the fast device serves
its share of the addresses. A read takes its device's time, unless pages are moving there.
"""

from __future__ import annotations

from typing import Any

from ssdlab.paper.item import Item, Row
from ssdlab.paper.study import Study

SUMMARY = "Two tiers by heat: reads on the fast device and their mean, beside popularity"

#: Number of pages of both devices, skew of accesses, and pages of the fast device.
PAGES, SKEW = 4_096, 0.9
SIZES = (128, 512, 2_048)
#: Time per page of each device, us.
FAST_US, SLOW_US = 10, 1_000
#: Share of requests excluded until pages have settled.
WARM_UP = 0.5


def run(study: Study) -> Item:
    """Tiers of three sizes, and caches of the same sizes."""
    requests = 200_000 if study.quick else 1_000_000
    zipf = {"locality": f"zipf({SKEW})"}
    requested: dict[Any, dict[str, Any]] = {}
    for size in SIZES:
        requested[size, "tiers"] = _experiment(_tiers(size), requests, zipf)
        requested[size, "cache"] = _experiment(_cache(size), requests, zipf)
    requested["uniform"] = _experiment(_tiers(SIZES[1]), requests, {})
    found = study.measure(requested)
    shares = popularity()
    rows = []
    for size in SIZES:
        tiers, cache = found[size, "tiers"], found[size, "cache"]
        shared = sum(shares[:size])
        hits, others = tiers["cache"]["hit_share"], cache["cache"]["hit_share"]
        rows += [
            Row(
                f"reads on the fast device, of {size:,} pages, %",
                100 * shared,
                100 * hits,
                3,
                "the share of the load on as many of the most popular pages",
            ),
            Row(
                f"mean read with {size:,} fast pages, us",
                shared * FAST_US + (1 - shared) * SLOW_US,
                tiers.host.read.mean_us,
                15,
                "the mean of both devices by these shares; a miss takes as long as 100 hits",
            ),
            Row(
                f"hits of a cache of {size:,} pages under LRU, of those of the tiers",
                None,
                others / hits,
                note="heat remembers what LRU forgets: fewer",
                least=0.5,
                most=1.0,
            ),
        ]
    uniform = found["uniform"]["cache"]
    rows.append(
        Row(
            f"uniform reads on the fast device, of {SIZES[1]:,} pages, %",
            100 * SIZES[1] / PAGES,
            100 * uniform["hit_share"],
            3,
            "there are no hot pages",
        )
    )
    rows.append(
        Row(
            "pages that change places for 1,000 uniform reads",
            None,
            1_000 * uniform["evictions"] / requests,
            note="swaps without gain: lines read twice by chance",
        )
    )
    return Item("tiers", "Two tiers by heat", rows)


def popularity() -> list[float]:
    """The share of the load on each page, the most popular first."""
    weights = [(rank + 1) ** -SKEW for rank in range(PAGES)]
    total = sum(weights)
    return [weight / total for weight in weights]


def _tiers(size: int) -> dict[str, Any]:
    return {
        "kind": "cache",
        "mode": "tiered",
        "line": "4KiB",
        "fast": _law(size, FAST_US),
        "backing": _law(PAGES - size, SLOW_US),
        "tier": {"half_life": "1h"},
    }


def _cache(size: int) -> dict[str, Any]:
    return {
        "kind": "cache",
        "mode": "write-back",
        "replacement": "lru",
        "line": "4KiB",
        "fast": _law(size, FAST_US),
        "backing": _law(PAGES, SLOW_US),
    }


def _law(pages: int, time_us: int) -> dict[str, Any]:
    time = f"{time_us}us + 0ns/KiB"
    patterns = ("sequential_read", "random_read", "sequential_write", "random_write")
    return {"kind": "law", "size": f"{4 * pages}KiB", **dict.fromkeys(patterns, time)}


def _experiment(device: dict[str, Any], requests: int, locality: dict[str, Any]) -> dict[str, Any]:
    return {
        "device": device,
        "workload": {
            "kind": "closed",
            "read_share": 1.0,
            "random_share": 1.0,
            "block_size": "4KiB",
            "outstanding": 1,
            "requests": requests,
            **locality,
        },
        "run": {"warm_up": f"{int(WARM_UP * requests * FAST_US / 1e6 * 20)}s"},
    }
