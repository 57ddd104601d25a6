"""Figure 7 of the 2008 paper: gangs under shared control, asynchronous and synchronous."""

from __future__ import annotations

from typing import Any

from ssdlab.charts import Axis, Figure, Series
from ssdlab.paper.baseline import PACKAGES, TITLES, load
from ssdlab.paper.item import Item, Row
from ssdlab.paper.study import Study
from ssdlab.results import Results

SUMMARY = "Agrawal et al. 2008, Figure 7: shared-control gangs, asynchronous and synchronous"

WIDTHS = (2, 4, 8)
GANGS = {"asynchronous": "shared-control-async", "synchronous": "shared-control-sync"}
#: "Never beats": but for what the chance of the summary page and of the stripe's start make of it.
LEEWAY = 1.01


def run(study: Study) -> Item:
    """Every workload without gangs, and with both kinds of every width."""
    experiments: dict[Any, dict[str, Any]] = {(name,): load(study, name) for name in TITLES}
    for name in TITLES:
        for kind, word in GANGS.items():
            for width in WIDTHS:
                gang: dict[str, Any] = {
                    "gang": word,
                    "channels": PACKAGES // width,
                    "packages_per_channel": width,
                }
                experiments[name, kind, width] = load(study, name, **gang)
    found = study.measure(experiments)
    rows, lines = [], []
    for name, title in TITLES.items():
        alone = found[name,]
        times = {
            kind: [_normalised(found[name, kind, width], alone) for width in WIDTHS]
            for kind in GANGS
        }
        for width, slow, fast in zip(
            WIDTHS, times["synchronous"], times["asynchronous"], strict=True
        ):
            rows.append(
                Row(
                    f"{title}, {width} packages: synchronous / asynchronous",
                    None,
                    slow / fast,
                    None,
                    "synchronous ganging never beats asynchronous",
                    slow * LEEWAY >= fast,
                )
            )
        lines += [Series(f"{title}, {kind}", WIDTHS, values) for kind, values in times.items()]
    slowest = found["iozone", "synchronous", WIDTHS[-1]]
    late = slowest.simulated_seconds / found["iozone",].simulated_seconds
    rows.append(
        Row(
            "IOzone, synchronous, 8 packages: duration / without gangs",
            None,
            late,
            note="the paper's could not keep up, and has no bar there",
        )
    )
    remarks = [
        "an asynchronous gang does operations of one kind at a time, and what a package erases or "
        "moves holds up the others. That is little when the packages keep step, as under the "
        "generated loads; the recorded Postmark, in bursts of reads and writes of all sizes, makes "
        "them lose step, and there the synchronous gang is the faster one."
    ]
    figure = Figure(
        "Response time by width of the gang", Axis("packages"), Axis("time / without gangs"), lines
    )
    return Item("figure7", "Figure 7: shared-control ganging", rows, [figure], remarks)


def _normalised(results: Results, alone: Results) -> float:
    return float(results.host.all.mean_us / alone.host.all.mean_us)
