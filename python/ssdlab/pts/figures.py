"""The figures of the tests: convergence, the cells of IOPS, and curves over bytes and demand."""

from __future__ import annotations

from collections.abc import Sequence

from ssdlab.charts import Axis, Cells, Figure, Level, Series
from ssdlab.pts.outcome import Outcome
from ssdlab.pts.plan import BLOCKS, DEMANDS, MIXES, size_text, size_word

#: Thread counts with a separate line, one per colour.
DRAWN = (1, 2, 4, 8, 16, 32)
#: Axes of the figures checked for steady state.
AXES = {
    "iops": Axis("IOPS", unit="rate", low=0),
    "mb_per_s": Axis("MB/s", low=0),
    "mean_us": Axis("mean response, µs", low=0),
}


def convergence(found: Outcome) -> Figure:
    """The figures checked for steady state, by round."""
    series = [
        Series(spoken(found, name), [*range(1, len(values) + 1)], values)
        for name in found.windows
        if (values := found.series(name))
    ]
    return Figure("Convergence", Axis("round", zero=False), AXES[found.test.figure], series)


def spoken(found: Outcome, name: str) -> str:
    """A load in words."""
    load = found.test.load(name)
    order = "random" if load.is_random else "sequential"
    return f"{order} {load.size} {load.mix}"


def cells(found: Outcome) -> Figure:
    """IOPS of every mix and block size, as a table of shades."""
    rows = [
        [
            None if (iops := found.mean(f"rw{mix}-bs{size_word(block)}", "iops")) is None
            else round(iops)
            for mix in MIXES
        ]
        for block in BLOCKS
    ]  # fmt: skip
    return Figure(
        "",
        Axis("read/write mix", words=[f"{it}/{100 - it}" for it in MIXES]),
        # Unbreakable words for a narrow page.
        Axis("block size", words=[size_text(it).replace(" ", "\u00a0") for it in BLOCKS]),
        [Cells("IOPS", rows, unit="count")],
    )


def by_size(found: Outcome) -> Figure:
    """IOPS over block size, a line for each mix."""
    series = []
    for mix in (100, 65, 50, 0):
        points = [
            (block / 1024, value)
            for block in reversed(BLOCKS)
            if (value := found.mean(f"rw{mix}-bs{size_word(block)}", "iops"))
        ]
        series.append(Series(f"{mix}/{100 - mix}", [x for x, _ in points], [y for _, y in points]))
    return Figure(
        "IOPS by block size", Axis("block, KiB", log=2), Axis("IOPS", log=10, unit="rate"), series
    )


def saturation(found: Sequence[tuple[str, Outcome]]) -> Figure:
    """IOPS of random writes over drive writes; the first of the outcomes is simulated."""
    capacity = found[0][1].capacity_bytes or 1.0
    series = []
    for name, it in found:
        points = it.curve()
        series.append(Series(name, [x / capacity for x, _ in points], [y for _, y in points]))
    return Figure(
        "Random writes of 4 KiB to a purged drive",
        Axis("drive writes"),
        Axis("IOPS", unit="rate", low=0),
        series,
    )


def demand(found: Outcome) -> Figure:
    """Mean response time over IOPS with growing queue depth, one line per number of threads."""
    series = []
    for threads in DRAWN:
        points = [
            (iops, response)
            for depth in sorted(DEMANDS)
            if (iops := found.mean(f"t{threads}-q{depth}", "iops"))
            and (response := found.mean(f"t{threads}-q{depth}", "mean_us"))
        ]
        name = f"{threads} thread{'s' if threads > 1 else ''}"
        series.append(Series(name, [x for x, _ in points], [y for _, y in points], dash=0))
    return Figure(
        "Response over IOPS, 8 KiB 65/35",
        Axis("IOPS", unit="rate", zero=False),
        Axis("mean response, µs", log=10),
        series,
    )


def stimulus(found: Outcome) -> Figure:
    """MB/s of successive sequential, random and sequential writes, over drive writes."""
    words = ("sequential 1 MiB", "random 8 KiB", "sequential 1 MiB again")
    series, start = [], 0
    for load, stated in zip(found.test.after, words, strict=True):
        values = [it.mb_per_s for it in found.after.get(load.name, ())]
        x = [(start + n + 1) * load.share / 100 for n in range(len(values))]
        series.append(Series(stated, x, values))
        start += len(values)
    return Figure("Writes after one another", Axis("drive writes"), Axis("MB/s", low=0), series)


def rest(found: Outcome) -> Figure:
    """IOPS of bursts by the preceding rest, compared with writes without rest."""
    rested = found.rested()
    x = [rest for rest, _, _ in rested]
    series = [
        Series("bursts of 5 s after a rest", x, [it for _, it, _ in rested]),
        Series("without rest, then", x, [it for _, _, it in rested]),
    ]
    levels = [Level("before", it.mean) for it in found.windows.values()]
    return Figure(
        "Random writes of 4 KiB", Axis("rest, s"), Axis("IOPS", unit="rate", low=0),
        [*series, *levels],
    )  # fmt: skip
