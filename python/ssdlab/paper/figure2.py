"""Figure 2 of the 2008 paper: pages copied from one package to another, one every 100 us."""

from __future__ import annotations

from typing import Any

from ssdlab.charts import Axis, Figure, Series
from ssdlab.paper.item import WIDEST, Item, Row
from ssdlab.paper.study import Study

SUMMARY = "Agrawal et al. 2008, Figure 2: interleaved copying from package to package"

#: Pages in flight; the figure shows four active plane pairs on either side.
IN_FLIGHT = (1, 2, 3, 4, 6, 8, 12, 16)
DEEPEST = IN_FLIGHT[-1]
INTERLEAVINGS = ("none", "plane-pair")
#: Few enough to avoid garbage collection.
REQUESTS = 2_500


def run(study: Study) -> Item:
    """The time between two pages at source and destination, by pages in flight."""
    found = study.measure(
        {
            (side, word, depth): _experiment(study, share, word, depth)
            for side, share in (("source", 1.0), ("destination", 0.0))
            for word in INTERLEAVINGS
            for depth in IN_FLIGHT
        }
    )
    cleaned = study.measure({stream: _cleaning(stream) for stream in (True, False)})
    every = {
        stream: 1e6 * results.simulated_seconds / results.flash.pages_moved
        for stream, results in cleaned.items()
    }
    interval = {key: 1e6 / results.host.all.iops for key, results in found.items()}
    slower = [
        max(interval[side, "plane-pair", depth] for side in ("source", "destination"))
        for depth in IN_FLIGHT
    ]
    note = "the paper's 100 us is the transfer of 4096 bytes, 102.4 us; the slower side decides"
    rows = [
        Row("a page leaves the source every, us", 100, _deep(interval, "source"), 3, note),
        Row("a page enters the destination every, us", 100, _deep(interval, "destination"), 3),
        Row("pages copied in a loaded pipe, one every, us", 100, slower[-1], 3, note),
        Row(
            "one after the other, one every, us",
            425,
            sum(interval[side, "none", 1] for side in ("source", "destination")),
            3,
            "read, two transfers of 100 us, program, in sequence",
        ),
        Row(
            "destination without interleaving, one every, us",
            300,
            interval["destination", "none", DEEPEST],
            3,
            "a single write operation costs 200 us besides its transfer",
        ),
    ]
    rows += [
        Row(
            "cleaning that streams to the other package of a gang: pins, us a page",
            100,
            every[True] * cleaned[True].buses.busy[0],
            5,
            "what one package shifts out, the other shifts in",
        ),
        Row(
            "a page through the controller / streamed, times as long",
            None,
            every[False] / every[True],
            note="both packages clean and receive: less than half of the time",
            least=2,
            most=2 * WIDEST,
        ),
    ]
    lines = [
        Series(f"{side}, {word}", IN_FLIGHT, [interval[side, word, depth] for depth in IN_FLIGHT])
        for side in ("source", "destination")
        for word in INTERLEAVINGS
    ]
    figure = Figure("Time between two pages", Axis("pages under way"), Axis("us"), lines)
    remarks = [
        "the first rows simulate the two packages side by side, reads from the source and writes "
        "to the destination, each on its own pins; the last two are cleaning with cleaning.stream."
    ]
    return Item("figure2", "Figure 2: interleaved page copying", rows, [figure], remarks)


def _deep(interval: dict[Any, float], side: str) -> float:
    return interval[side, "plane-pair", DEEPEST]


def _experiment(study: Study, read_share: float, interleave: str, depth: int) -> dict[str, Any]:
    device = {
        "preset": "agrawal2008",
        "channels": 1,
        "blocks_per_plane": 64,
        # The figure counts 100 us for a transfer: no spare area, no summary pages.
        "spare_size": "0B",
        "summary_page": False,
        "interleave": interleave,
    }
    workload = {
        "kind": "closed",
        "requests": 1_500 if study.quick else REQUESTS,
        "read_share": read_share,
        "outstanding": depth,
    }
    return {"device": device, "workload": workload}


def _cleaning(stream: bool) -> dict[str, Any]:
    """Two packages on one bus that clean in idle time; a few reads trigger them."""
    device = {
        "preset": "agrawal2008",
        "channels": 1,
        "packages_per_channel": 2,
        "blocks_per_plane": 64,
        "spare_size": "0B",
        "summary_page": False,
        "interleave": "plane-pair",
        "pool": "gang",
        "spare_factor": 0.4,
        "cleaning": {
            "time": "interleaved",
            "background": True,
            "background_free": 0.3,
            "stream": stream,
        },
    }
    workload = {"kind": "closed", "requests": 24, "outstanding": 8, "think_time": "100ms"}
    return {"device": device, "workload": workload, "run": {"precondition": "random:1"}}
