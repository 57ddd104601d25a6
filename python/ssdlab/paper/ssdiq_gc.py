"""*SSD-iq*: greedy under writes to two zones, as in the authors' simulator.

A share f of the writes goes to the share 1 - f of the addresses. Their simulator's blocks have
2,048 pages; half as many change the figures by 0.3 %.
"""

from __future__ import annotations

from statistics import fmean

from ssdlab.charts import Axis, Figure, Series
from ssdlab.paper import greedy
from ssdlab.paper.item import Item, Row
from ssdlab.paper.study import Study

SUMMARY = "Haas et al. 2025 (SSD-iq): write amplification of greedy under writes of two zones"

#: Percent of writes to the smaller zone, and write amplification.
PUBLISHED = {50: 4.17, 70: 4.30, 80: 4.52, 90: 5.11, 95: 5.90}
#: Share of the flash that holds data: an eighth is spare space.
FILLED = 0.875
TOLERANCE = 1.0

BLOCKS, PAGES = 512, 1024
QUICK_BLOCKS, QUICK_PAGES = 256, 512
#: Capacities written per round. The hot zone settles before the cold one; at 95 % the second round
#: is still 3 % above the later ones.
ROUND, SETTLING, MEASURED = 2, 4, 4


def run(study: Study) -> Item:
    """Settled write amplification by share of hot writes."""
    blocks, pages = (QUICK_BLOCKS, QUICK_PAGES) if study.quick else (BLOCKS, PAGES)
    rounds = SETTLING + MEASURED
    experiments = {
        hot: {
            "device": greedy.drive(blocks, pages, FILLED),
            "workload": greedy.writes(rounds * ROUND * blocks * pages, zones(hot)),
            # A difference is never negative, so this runs a fixed number of rounds.
            "run": {
                "timed": False,
                "until": "steady",
                "steady": {"round_writes": ROUND, "window": 2, "rounds": rounds, "range": 1e-9},
            },
        }
        for hot in PUBLISHED
    }
    found = {
        hot: fmean(results.steady_state.run.rounds[SETTLING:])
        for hot, results in study.measure(experiments).items()
    }
    rows = [
        Row(
            f"{hot} % of the writes to {100 - hot} % of the space",
            published,
            found[hot],
            TOLERANCE,
        )
        for hot, published in PUBLISHED.items()
    ]
    figure = Figure(
        "Write amplification of greedy, 12.5 % spare space",
        Axis("% of the writes to the smaller zone", zero=False),
        Axis("write amplification", zero=False),
        [
            Series("published", list(PUBLISHED), list(PUBLISHED.values()), mark="dots"),
            Series("simulated", list(found), list(found.values())),
        ],
    )
    remarks = [
        "the published figures are a simulator's as well, so nothing is fitted; they say how this "
        "one cleans under uneven writes.",
    ]
    return Item("ssdiq-gc", "SSD-iq: greedy under two zones", rows, [figure], remarks)


def zones(hot: int) -> str:
    """The locality with `hot` percent of the writes to the remaining addresses."""
    return f"zones({hot / 100:g}/{1 - hot / 100:.2g}, {1 - hot / 100:.2g}/{hot / 100:g})"
