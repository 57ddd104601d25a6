"""Why the slowest requests of a run are slow, in a sentence, from the account of each request."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ssdlab import readable
from ssdlab.results import Results, part_labels

#: Bands of requests from this rank on are the tail.
FROM = 0.99
#: Requests of a kind below this count have no p99.
FEWEST = 200
NOUNS = {"all": "requests", "flush": "flushes"}


def of(results: Results) -> str | None:
    """Where the time of the slowest 1 % goes, of the slowest kind of request; None without them.

    `The slowest 1 % of reads take 354 µs, 77 % of it waiting for cleaning.`
    """
    kind = _slowest(results)
    bands = [it for it in results.host[kind].get("bands") or [] if it["from_share"] >= FROM]
    count = sum(it["requests"] for it in bands)
    if not count:
        return None
    parts = _mean(bands, count)
    mean = sum(it["mean_us"] * it["requests"] for it in bands) / count
    labels = part_labels([results])
    largest = max(parts, key=lambda part: parts[part])
    share = readable.about(parts[largest] / mean) if mean else "0 %"
    noun = NOUNS.get(kind, f"{kind}s")
    said = f"The slowest 1 % of {noun} take {readable.time(mean)}, {share} of it {labels[largest]}"
    return f"{said}.".replace(readable.THIN, " ")


def _slowest(results: Results) -> str:
    """The kind of request with the longest p99, of those that have enough for one."""
    known = {
        kind: host.percentiles_us["99"]
        for kind, host in results.host.items()
        if kind != "all" and (host.requests or 0) >= FEWEST
    }
    return max(known, key=lambda kind: known[kind], default="all")


def _mean(bands: list[Mapping[str, Any]], count: float) -> dict[str, float]:
    """The mean of each part over the bands."""
    found: dict[str, float] = {}
    for band in bands:
        for part, us in band["breakdown_us"].items():
            if us is not None:
                found[part] = found.get(part, 0.0) + us * band["requests"] / count
    return found
