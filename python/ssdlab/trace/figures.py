"""The figures of a trace: address over time, sizes, and the working set over time."""

from __future__ import annotations

from ssdlab.charts import Axis, Cells, Figure, Series
from ssdlab.results.records import Record
from ssdlab.units import size


def density(found: Record) -> Figure:
    """Number of requests at each address over time, reads and others as layers."""
    cells, right, bottom, top = [], 1.0, 0.0, 1.0
    if (counts := found.density) is not None:
        cells = [Cells("reads", counts.reads, log=True), Cells("others", counts.others, log=True)]
        bottom = counts.start_bytes / 2**30
        right = counts.column_seconds * len(counts.reads[0])
        top = bottom + counts.row_bytes * len(counts.reads) / 2**30
    return Figure(
        "Address over time",
        Axis("time, s", low=0.0, high=right),
        Axis("address, GiB", low=bottom, high=top),
        cells,
    )


def sizes(found: Record) -> Figure:
    """Number of requests of each size."""
    words = [size(row["up_to_bytes"]) for row in found.sizes]
    reads = [row["reads"] for row in found.sizes]
    others = [row["writes"] + row["trims"] for row in found.sizes]
    bars = [
        Series("reads", words, reads, "bars"),
        Series("writes and trims", words, others, "bars"),
    ]
    return Figure("Sizes up to", Axis(words=words), Axis("requests"), bars, stacked=True)


def working_set(found: Record) -> Figure:
    """Pages touched within each time interval."""
    width = found.working_set.bucket_seconds
    heights = [each / 2**20 for each in found.working_set.bytes]
    at = [width * n for n in range(len(heights))]
    return Figure(
        f"Working set of every {width:.4g} s",
        Axis("time, s"),
        Axis("MiB"),
        [Series("working set", at, heights, "bars", width=width)],
    )
