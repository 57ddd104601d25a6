"""An untimed drive with one domain and greedy garbage collection, for comparison with theory.

For studies of write amplification. Blocks reserved for garbage collection are added, so that the
share of data matches the formulas.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

#: Blocks that cannot be victims: one reserve block that stays erased, and the open block
#: (frontier), which is new whenever garbage collection chooses a victim.
HELD = 2
PAGE_BYTES = 4096


def drive(blocks: int, pages: int, filled: float) -> dict[str, Any]:
    """A drive of `blocks` blocks of `pages` pages, filled with data to the share `filled`."""
    return {
        "preset": "agrawal2008",
        "channels": 1,
        "dies_per_package": 1,
        "planes_per_die": 1,
        "blocks_per_plane": blocks + HELD,
        "pages_per_block": pages,
        "page_size": f"{PAGE_BYTES}B",
        "summary_page": False,
        "over_provisioning": (blocks + HELD) / blocks / filled - 1,
        "cleaning": {"policy": "greedy", "min_free": 0.0},
    }


def writes(requests: int, locality: str = "uniform") -> dict[str, Any]:
    """Random one-page writes."""
    return {
        "kind": "closed",
        "read_share": 0.0,
        "outstanding": 1,
        "block_size": f"{PAGE_BYTES}B",
        "requests": requests,
        "locality": locality,
    }


def limit(filled: float, pages: int) -> float:
    """Write amplification under uniform writes, in the limit of many blocks.

    Desnoyers, *Analytic Modeling of SSD Write Performance* (SYSTOR 2012): exact for greedy. If
    victims have less than one valid page on average, nothing is moved.
    """
    alpha = 1 / filled
    harmonic = [0.0]
    for number in range(1, pages + 1):
        harmonic.append(harmonic[-1] + 1 / number)
    for minimum in range(pages):
        remainder = harmonic[pages] - harmonic[minimum]
        erased = (1 - minimum * alpha / pages) / (pages - minimum - minimum * remainder)
        closed = alpha / pages - erased * remainder
        if erased > 0 and closed >= 0 and closed * minimum <= erased:
            return erased * pages
    return math.inf


def bisect(function: Callable[[float], float], low: float, high: float) -> float:
    """Zero of a falling `function` between `low` and `high`."""
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if function(middle) > 0 else (low, middle)
    return (low + high) / 2
