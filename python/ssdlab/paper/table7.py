"""Table 7 of the 2008 paper: evenness of wear with three techniques, and its cost."""

from __future__ import annotations

from ssdlab.paper import wear
from ssdlab.paper.item import Item, Row
from ssdlab.paper.study import Study

SUMMARY = "Agrawal et al. 2008, Table 7: block wear in IOzone"

#: Mean remaining erases, their standard deviation, and expired blocks.
PUBLISHED = {
    "Greedy": (43.82, 13.47, 223),
    "+ Rate-limiting": (43.82, 13.42, 153),
    "+ Migration": (43.34, 5.71, 0),
}

#: Length of a run in which the techniques differ in expired blocks.
LONGER = 1.5
#: Tolerances in percent, of migrations and of their added latency. With the recorded trace there
#: are 6.4 % fewer if equal victims are chosen at random, and 6.2 and 11.7 % more if by number.
MIGRATIONS, ADDED = 10.0, 15.0
IN_ONE_LOOP = "the generated workload has one size of request, strictly in sequence"
RECORDED_LATENCY = "the recorded requests come in bursts, in which every migration makes all wait"


def run(study: Study) -> Item:
    """The wear of a package, and the mean latency with migration and without."""
    found = wear.worn(study)
    packages = wear.packages(study)
    rows = []
    for name, (mean, std, blocks) in PUBLISHED.items():
        worn = found[name].wear
        expired = worn.expired_blocks / packages
        migrates = name == "+ Migration"
        note = "" if migrates else wear.TIES_AT_RANDOM
        rows += [
            Row(f"{name}: mean erasures left", mean, worn.mean_remaining),
            Row(
                f"{name}: standard deviation",
                std,
                worn.std_remaining,
                wear.TOLERANCE,
                note,
                missed="" if migrates or wear.recorded(study) else IN_ONE_LOOP,
            ),
            Row(
                f"{name}: expired blocks",
                blocks,
                expired,
                None if migrates else wear.TOLERANCE,
                "nothing expires" if migrates else wear.TIES_AT_RANDOM,
                most=0.0 if migrates else None,
                missed="" if migrates else "by the choice it is none to 1,638",
            ),
        ]
    migrations = found["+ Migration"].flash.cleaning.blocks_migrated / packages
    missed = "" if wear.recorded(study) else IN_ONE_LOOP
    rows.append(Row("+ Migration: migrations", 7_902, migrations, MIGRATIONS, missed=missed))
    rows += [*_expired(study), *_latency(study)]
    remarks = [
        "with the superseded blocks cleaned by number instead of at random, greedy and "
        "rate-limiting wear out 1,638 blocks and end the drive, whose spare space is gone, before "
        "the run is over.",
    ]
    title = "Table 7: block wear in IOzone"
    return Item("table7", title, rows, remarks=remarks, derived=wear.derived(study))


def _expired(study: Study) -> list[Row]:
    """Expired blocks in a longer run, fewer with each added technique."""
    longer = wear.worn(study, LONGER)
    counts = [results.wear.expired_blocks for results in longer.values()]
    return [
        Row(
            f"{name}: expired blocks of a run {LONGER} times as long",
            None,
            count,
            note="not in the paper: by how much techniques differ where enough expires",
        )
        for name, count in zip(longer, counts, strict=True)
    ]


def _latency(study: Study) -> list[Row]:
    """Latency that migration adds to the mean of the timed run."""
    timed = wear.timed(study)
    transfers = "4.7 % leaves no time for transfers"
    rows = []
    for copy_back in (True, False):
        without, added = (timed[rule, copy_back].host.all.mean_us for rule in ("none", "migrate"))
        way = "copied back" if copy_back else "through the pins"
        missed = RECORDED_LATENCY if wear.recorded(study) else "" if copy_back else transfers
        name = f"mean latency that migration adds, %, pages {way}"
        rows.append(Row(name, 4.7, 100 * (added / without - 1), ADDED, missed=missed))
    return rows
