"""Table 8 of the 2008 paper: distribution of the blocks' remaining life around its mean."""

from __future__ import annotations

from ssdlab.charts import Axis, Figure, Series
from ssdlab.paper import wear
from ssdlab.paper.item import Item, Row
from ssdlab.paper.study import Study

SUMMARY = "Agrawal et al. 2008, Table 8: remaining life of the blocks around its mean"

#: Blocks with a remaining life below 40 %, 40 to 80 %, 80 to 100 % of the mean, and above.
PUBLISHED = {
    "Greedy": (1442, 1323, 523, 13_096),
    "+ Rate-limiting": (1449, 1341, 501, 13_092),
    "+ Migration": (0, 0, 8987, 7397),
}
BUCKETS = ("< 40 %", "40 to 80 %", "80 to 100 %", ">= 100 %")
#: Bounds of the buckets, in tenths of the mean.
EDGES = (0, 4, 8, 10, 21)


def run(study: Study) -> Item:
    """The blocks of a package in the paper's buckets, and in steps of a tenth of the mean."""
    found = wear.worn(study)
    packages = wear.packages(study)
    rows, series = [], []
    for name, published in PUBLISHED.items():
        tenths = found[name].wear.remaining.blocks_by_tenth_of_mean
        counts = [sum(tenths[a:b]) / packages for a, b in zip(EDGES, EDGES[1:], strict=False)]
        for bucket, paper, count in zip(BUCKETS, published, counts, strict=True):
            rows.append(_row(name, bucket, paper, count))
        series.append(Series(name, [10 * step for step in range(len(tenths))], tenths))
    figure = Figure(
        "Remaining life of the blocks", Axis("% of the mean, from"), Axis("blocks"), series
    )
    title = "Table 8: remaining life around its mean"
    return Item("table8", title, rows, [figure], derived=wear.derived(study))


def _row(name: str, bucket: str, published: int, count: float) -> Row:
    title = f"{name}: blocks {bucket}"
    if published == 0:
        note = "no block is left below 80 % of the mean"
        return Row(title, published, count, note=note, most=0.0)
    if bucket == BUCKETS[-1] and name != "+ Migration":
        return Row(title, published, count, wear.TOLERANCE, "the blocks that hold only cold data")
    missed = "" if name == "+ Migration" else wear.TIES
    return Row(title, published, count, wear.TOLERANCE, missed=missed)
