"""DiskSim's generators: which of several run, and their load.

Each generator is a process. One without requests that it waits for keeps its processor, so that
with fewer processors than generators the others never begin (the last in the file is first).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ssdlab.foreign.given import SECTOR, Given
from ssdlab.foreign.parv import Block

#: Keys for the shares of requests that a generator waits for, at once or after a time limit.
WAITS = {
    "critical_share": "Probability of time-critical request",
    "limited_share": "Probability of time-limited request",
}  # fmt: skip
SHARES = WAITS | {
    "sequential_share": "Probability of sequential access",
    "local_share": "Probability of local access",
    "read_share": "Probability of read access",
}
DISTRIBUTIONS = {
    "interarrival": "General inter-arrival times",
    "sequential_interarrival": "Sequential inter-arrival times",
    "local_interarrival": "Local inter-arrival times",
    "local_distance": "Local distances",
    "time_limit": "Time-limited think times",
    "size": "Sizes",
}  # fmt: skip
#: Keys without effect unless a share is above 0.
NEEDS = {
    "time_limit": "limited_share", "local_interarrival": "local_share",
    "local_distance": "local_share",
}  # fmt: skip


def running(generators: Sequence[Block], processors: int) -> Sequence[Block]:
    """The generators that ever run; all of them where some wait."""
    if any(Given(it).number(name, 1) for it in generators for name in WAITS.values()):
        return generators
    return generators[-processors:]


def are_alike(generators: Sequence[Block]) -> bool:
    """True if the generators differ in no parameter."""
    said = [{key: str(value) for key, value in it.given.items()} for it in generators]
    return all(it == said[0] for it in said)


def load(flow: Given, count: int, processors: int) -> dict[str, Any]:
    """The load of `count` generators alike: open, or with processes that wait."""
    block = flow.whole("Blocking factor") or 1
    sectors = flow.whole("Storage capacity per device")
    shares = {key: flow.number(name, 1) for key, name in SHARES.items()}
    stated = {key: flow.distribution(name) for key, name in DISTRIBUTIONS.items()}
    for name in ("Time-critical think times", "Time-limited time limits"):
        flow.left.pop(name, None)
    stated = {key: it for key, it in stated.items() if key not in NEEDS or shares[NEEDS[key]]}
    kept: dict[str, Any] = {key: it for key, it in shares.items() if it or key == "read_share"}
    found: dict[str, Any] = {"kind": "open"}
    if count > 1 or kept.keys() & {"critical_share", "limited_share", "local_share"}:
        found = {"kind": "generators", "generators": count, "processors": processors}
        # The keys' defaults wait.
        kept["critical_share"] = kept.get("critical_share", 0.0)
        if not shares["sequential_share"]:
            stated.pop("sequential_interarrival", None)
    found |= {"generator": "drand48", "block_size": f"{block * SECTOR}B"} | kept | stated
    if sectors is not None:
        found["footprint"] = f"{sectors // block * block * SECTOR}B"
    return {key: it for key, it in found.items() if it is not None}
