"""Common parts of the items of the 2008 paper: its drive, workload scale, and counting."""

from __future__ import annotations

from typing import Any

from ssdlab.paper.study import Study
from ssdlab.results import Results

#: Blocks per plane in the paper's flash part, and in a quick study.
BLOCKS, QUICK_BLOCKS = 2048, 256
PACKAGES = 8
#: Data pages per block: the last of 64 is the summary page.
DATA_PAGES = 63
#: Requests of the workload presets for one SSD; IOzone, which writes 200 GB, is cut to a sixth, as
#: in the public trace.
REQUESTS = {"tpcc-skewed": 1_133_333, "exchange": 6_500, "iozone": 100_000, "postmark": 62_257}
#: Note on figures published only as a picture.
NO_NUMBERS = "the paper states no numbers"
#: Names in the paper. Its TPC-C is the skewed one: docs/paper.md says why.
TITLES = {
    "tpcc-skewed": "TPC-C",
    "exchange": "Exchange",
    "iozone": "IOzone",
    "postmark": "Postmark",
}


def baseline(study: Study, **changes: Any) -> dict[str, Any]:
    """The paper's baseline drive with `changes`; an eighth of its blocks in a quick study."""
    blocks = QUICK_BLOCKS if study.quick else BLOCKS
    return {"preset": "agrawal2008", "blocks_per_plane": blocks, **changes}


def scaled(study: Study, requests: int) -> int:
    """Number of requests that wears this drive as much as `requests` wear the paper's drive."""
    return requests * QUICK_BLOCKS // BLOCKS if study.quick else requests


def load(
    study: Study, name: str, requests: int | None = None, whole: bool = False, **changes: Any
) -> dict[str, Any]:
    """The paper's workload `name` on the baseline with `changes`, for `Study.measure`.

    A substituted trace needs the whole drive; a quick study replays its first eighth, unless
    `whole` is set.
    """
    requests = requests or REQUESTS[name]
    if study.has_trace(name):
        workload = study.workload(name)
        if study.quick and not whole:
            workload["requests"] = scaled(study, requests)
        return {"device": {"preset": "agrawal2008", **changes}, "workload": workload}
    workload = study.workload(name, requests=scaled(study, requests))
    return {"device": baseline(study, **changes), "workload": workload}


def busy_us(results: Results) -> float:
    """Package time per request, with its share of garbage collection, as the original computes it.

    The IOPS of Table 3 are the number of packages divided by it.
    """
    busy = sum(unit.busy for unit in results.units) * results.simulated_seconds
    return 1e6 * float(busy) / int(results.host.all.requests)


def mean_queue(results: Results) -> float:
    """Mean number of requests waiting at a package or die."""
    return float(sum(unit.queue_mean for unit in results.units)) / len(results.units)
