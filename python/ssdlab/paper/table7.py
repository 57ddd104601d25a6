"""Table 7 of the 2008 paper: how evenly three techniques wear the blocks, and what it costs."""

from __future__ import annotations

from ssdlab.paper import wear
from ssdlab.paper.item import Item, Row
from ssdlab.paper.study import Study

SUMMARY = "Agrawal et al. 2008, Table 7: block wear in IOzone"

#: Mean erasures left, their standard deviation, blocks that expired.
PUBLISHED = {
    "Greedy": (43.82, 13.47, 223),
    "+ Rate-limiting": (43.82, 13.42, 153),
    "+ Migration": (43.34, 5.71, 0),
}


#: How much longer a run has to be for the techniques to differ in what expires.
LONGER = 1.5


def run(study: Study) -> Item:
    """The wear of a package, and the mean latency with migration and without."""
    found = wear.worn(study)
    rows = []
    for name, (mean, std, blocks) in PUBLISHED.items():
        worn = found[name].wear
        migrates = name == "+ Migration"
        ties = "depends on which of equal victims is cleaned"
        rows += [
            Row(f"{name}: mean erasures left", mean, worn.mean_remaining, 100 * 0.1 / mean),
            Row(
                f"{name}: standard deviation",
                std,
                worn.std_remaining,
                5 if migrates else None,
                "" if migrates else ties,
            ),
            Row(
                f"{name}: expired blocks",
                blocks,
                worn.expired_blocks,
                note="nothing expires" if migrates else ties,
                holds=worn.expired_blocks == 0 if migrates else None,
            ),
        ]
    migrations = found["+ Migration"].flash.cleaning.blocks_migrated
    rows.append(Row("+ Migration: migrations", 7_902, migrations, 20))
    rows += [*_expired(study), *_latency(study)]
    remarks = [
        "with the superseded blocks cleaned by number instead of at random, greedy and "
        "rate-limiting wear out 1,638 blocks and end the drive, whose spare space is gone, before "
        "the run is over.",
    ]
    return Item("table7", "Table 7: block wear in IOzone", rows, remarks=remarks)


def _expired(study: Study) -> list[Row]:
    """What expires in a longer run: less with each technique that is added."""
    longer = wear.worn(study, LONGER)
    counts = [results.wear.expired_blocks for results in longer.values()]
    return [
        Row(
            f"{name}: expired blocks of a run {LONGER} times as long",
            None,
            count,
            note="never more than with the technique before",
            holds=count <= before,
        )
        for name, count, before in zip(longer, counts, [counts[0], *counts], strict=False)
    ]


def _latency(study: Study) -> list[Row]:
    """What migration adds to the mean latency of the run in time."""
    timed = wear.timed(study)
    rows = []
    for copy_back in (True, False):
        without, added = (timed[rule, copy_back].host.all.mean_us for rule in ("none", "migrate"))
        way = "copied back" if copy_back else "through the pins"
        rows.append(
            Row(
                f"mean latency that migration adds, %, pages {way}",
                4.7,
                100 * (added / without - 1),
                15 if copy_back else None,
                "" if copy_back else "4.7 % leaves no time for transfers",
            )
        )
    return rows
