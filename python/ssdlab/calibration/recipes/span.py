"""Map cache of a drive without DRAM: random reads over a growing span.

A read that hits the map cache takes t0, a miss t0 + t_map. If the cache maps M bytes of a span S,
the hit ratio is min(1, M / S) and the mean t0 + (1 - min(1, M / S)) t_map: flat up to M, then a
curve in 1/S. With an entry of 4 bytes for each 4 KiB the memory has M / 1024 bytes.
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from pathlib import Path

from ssdlab._core import InputError
from ssdlab.calibration import fio
from ssdlab.calibration.recipes import Found, Recipe, numbers, shell
from ssdlab.calibration.recipes.logs import Stage, stage
from ssdlab.calibration.recipes.numbers import interval

MIB, GIB = 1 << 20, 1 << 30
#: The smallest span of the script, and the ratio of one to the next.
SMALLEST, RATIO = 64 * MIB, 2
#: Minimum number of spans, and number of memory sizes tried between two of them.
FEWEST, TRIED = 6, 600
#: Minimum cost of a miss, as a share of a hit.
SEEN = 0.03

HEAD = shell.text("span_head.fio")
BODY = shell.text("span.sh")
PAGE = """\
# The span of random reads

`span.sh TARGET erase` writes the drive once: ALL DATA ON IT ARE LOST. Then it reads blocks of 4 KiB
at random, one at a time, over growing parts of it: half a minute each. It needs fio; the drive must
be idle but for this.

1. `ssdlab calibrate --recipe span --capacity 1TB --out DIRECTORY` with the capacity of your drive.
2. Run `sh span.sh /dev/nvme1n1 erase` there.
3. `ssdlab calibrate DIRECTORY --fit span` (`--fit span:entry=8` if a map entry has 8 bytes,
   `--fit span:unit=16384` if the drive maps 16 KiB at a time).
"""


def scripts(capacity_bytes: int) -> Mapping[str, str]:
    """The files, for spans up to the capacity."""
    spans = []
    span = SMALLEST
    while span < capacity_bytes:
        spans.append(span)
        span *= RATIO
    whole = capacity_bytes // MIB * MIB
    spans.append(whole)
    if len(spans) < FEWEST:
        least = SMALLEST * RATIO ** (FEWEST - 2) / MIB
        raise InputError(
            f"--capacity {capacity_bytes / 1e6:g}MB: too small for {FEWEST} spans; more than "
            f"{least:g}MiB"
        )
    names = [f"{it // MIB}m" for it in spans]
    each = [f"\n[span-{name}]\nsize={name}\n" for name in names]
    usage = "Writes all of TARGET: ALL DATA ON IT ARE LOST."
    return {
        "span.md": PAGE,
        "span.sh": shell.script("span", usage, BODY % " ".join(names), erases=True),
        "span.fio": shell.jobs("span", HEAD % names[-1] + "".join(each)),
    }


def fit(directory: Path, settings: Mapping[str, float], time_scale: float) -> Found:
    """Map cache size, from the mean latencies over the spans."""
    paths = sorted(directory.glob("span-*.json"))
    points = sorted(_point(stage(path), time_scale) for path in paths)
    if len(points) < FEWEST:
        raise InputError(
            f"{directory}: has {len(points)} results span-*.json; at least {FEWEST} are needed"
        )
    best = _best([(span, mean) for span, mean, _ in points])
    if best is None:
        raise InputError(
            f"{directory}: reads take the same over all spans, {points[0][1]:.4g} us: the whole "
            "map is in memory, or none"
        )

    def again(draw: random.Random) -> tuple[float, float, float] | None:
        return _best([(span, draw.gauss(mean, error)) for span, mean, error in points])

    found = Found()
    drawn = [it for it in (again(random.Random(n)) for n in range(numbers.DRAWS)) if it is not None]
    mapped, hit, miss = (
        interval(best[position], [it[position] for it in drawn] or [best[position]])
        for position in range(3)
    )
    # The spacing of spans bounds the accuracy of the knee, however small the scatter of the means.
    found.add("mapped", mapped, "B", "span that the memory maps: reads within it hit the map cache")
    share = settings["entry"] / settings["unit"]
    memory = (mapped[0] * share, mapped[1] * share, mapped[2] * share)
    found.add("memory", memory, "B", "memory for the map")
    found.add("hit", hit, "us", "read with a hit in the map cache")
    found.add("miss", miss, "us", "additional time of a miss")
    found.keys["device.map.memory"] = f"{memory[0] / MIB:.4g}MiB"
    return found


def _point(of: Stage, time_scale: float) -> tuple[float, float, float]:
    """Span, mean latency and its standard error."""
    where = of.name
    try:
        span = fio._bytes(where, str(of.options["size"]))
        latency = of.job["read"]["lat_ns"]
        count = int(latency["N"])
        mean, spread = float(latency["mean"]) / 1000, float(latency["stddev"]) / 1000
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"{where}: lacks a number that is needed ({error})") from None
    if count < 1:
        raise InputError(f"{where}: no request was measured")
    return float(span), mean / time_scale, spread / math.sqrt(count) / time_scale


def _best(points: Sequence[tuple[float, float]]) -> tuple[float, float, float] | None:
    """Mapped bytes, hit latency and miss penalty with the least squared relative error."""
    low, high = points[0][0], points[-1][0]
    best: tuple[float, tuple[float, float, float]] | None = None
    for tried in range(1, TRIED):
        mapped = low * (high / low) ** (tried / TRIED)
        misses = [1 - min(1.0, mapped / span) for span, _ in points]
        if sum(it > 0 for it in misses) < 2:
            break
        hit, miss = numbers.line(misses, [mean for _, mean in points])
        if hit <= 0 or miss < SEEN * hit:
            continue
        remainder = sum(
            ((hit + miss * it) / mean - 1) ** 2
            for it, (_, mean) in zip(misses, points, strict=True)
        )
        if best is None or remainder < best[0]:
            best = remainder, (mapped, hit, miss)
    return None if best is None else best[1]


RECIPE = Recipe(
    summary="the span of random reads: the size of the map cache, and the time of a miss",
    scripts=scripts,
    fit=fit,
    settings={"entry": 4.0, "unit": 4096.0},
)
