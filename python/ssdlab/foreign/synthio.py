"""DiskSim's generators: which of several run, and the closed loop of waiting ones.

Each generator is a process. One without requests that it waits for keeps its processor, so that
with fewer processors than generators the others never begin (the last in the file is first).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ssdlab.foreign.given import SECTOR, Given
from ssdlab.foreign.parv import Block

#: Probabilities of requests that a generator waits for, always or after a time limit.
WAITS = ("Probability of time-critical request", "Probability of time-limited request")
#: Probabilities of other requests than random ones.
PLACES = ("Probability of sequential access", "Probability of local access")
PERCENT = 100
#: Largest mean of sizes, in blocks.
MOST_BLOCKS = 10_000
#: Time of a load without an end, s.
YEAR_S = 31_536_000


def running(generators: Sequence[Block], processors: int) -> Sequence[Block]:
    """The generators that ever run; all of them where some wait."""
    if any(Given(it).number(name, 1) for it in generators for name in WAITS):
        return generators
    return generators[-processors:]


def closed(generators: Sequence[Block], requests: int | None, until_s: float | None) -> Any:
    """The load of equal generators that wait for each of their requests, as a job of fio.

    None if they are others.
    """
    first = generators[0].given
    if any({k: str(v) for k, v in it.given.items()} != _said(first) for it in generators):
        return None
    flow = Given(generators[0])
    shares = [flow.number(name, 1) or 0.0 for name in (*WAITS, *PLACES)]
    pause = flow.distribution("General inter-arrival times")
    sectors, block = flow.whole("Storage capacity per device"), flow.whole("Blocking factor") or 1
    reads = flow.number("Probability of read access", 1)
    split = _split(flow.distribution("Sizes"), block)
    if shares != [1, 0, 0, 0] or pause != "exponential(0, 0)" or not (sectors and split):
        return None
    keys = {
        "rw": "randrw",
        "rwmixread": f"{PERCENT * (reads or 0.0):.0f}",
        "bssplit": split,
        "ioengine": "psync",
        "norandommap": "1",
        "size": f"{sectors // block * block * SECTOR}",
        "numjobs": f"{len(generators)}",
        "time_based": "1",
        "runtime": f"{until_s or YEAR_S:.0f}",
    }
    job = "\n".join(["[generators]", *(f"{key}={value}" for key, value in keys.items())])
    return {"kind": "fio", "job": job} | ({"requests": requests} if requests else {})


def _said(given: Any) -> dict[str, str]:
    return {key: str(value) for key, value in given.items()}


def _split(sizes: str | None, block: int) -> str | None:
    """An exponential distribution of sectors, in whole blocks, as sizes with their percents."""
    kind, _, rest = (sizes or "").partition("(")
    if kind != "exponential" or not rest.startswith("0, "):
        return None
    mean = float(rest.strip(")").split(",")[1])
    if not 0 < mean <= MOST_BLOCKS * block:
        return None
    ratio = math.exp(-block / mean)
    parts: list[str] = []
    done = number = 0
    while done < PERCENT:
        number += 1
        # Rounded sums have the distribution's mean; rounded shares would not.
        until = round(PERCENT * (1 - ratio**number))
        if until > done:
            parts.append(f"{number * block * SECTOR}/{until - done}")
            done = until
    return ":".join(parts)
