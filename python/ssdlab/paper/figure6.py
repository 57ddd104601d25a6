"""Figure 6 of the 2008 paper: the gain of interleaving in a package, and queue lengths.

Section 4.3 adds that stripes of 8 KiB, which let every request of TPC-C interleave, are no better.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ssdlab.charts import Axis, Figure, Series
from ssdlab.paper import table4
from ssdlab.paper.baseline import NO_NUMBERS, TITLES, load, mean_queue
from ssdlab.paper.derived import EXCHANGE, IOZONE, POSTMARK, TPCC_SKEWED
from ssdlab.paper.item import WIDEST, Item, Row
from ssdlab.paper.study import Study

SUMMARY = "Agrawal et al. 2008, Figure 6: interleaving, and the mean queue of a package"

INTERLEAVINGS = ("none", "die", "plane-pair", "plane")
#: Minimum mean queue for interleaving: operations in at least this many of a package's eight
#: planes. Also the minimum ratio that counts as a gain.
QUEUED, GAIN = (1.0, 4.0), 1.1
SPLIT = "splitting each request into parallel ones of 4 KiB is superior, interleaved or not"
#: The claims were not used to fit the workloads.
WORKLOADS = (TPCC_SKEWED, EXCHANGE, IOZONE, POSTMARK)


def run(study: Study) -> Item:
    """Every workload under every interleaving."""
    found = study.measure(
        {(name, word): _experiment(study, name, word) for name in TITLES for word in INTERLEAVINGS}
    )
    striped = study.measure(
        {word: load(study, "tpcc-skewed", interleave=word, stripe="8KiB") for word in INTERLEAVINGS}
    )
    rate = {
        (name, word): found[name, "none"].host.all.mean_us / results.host.all.mean_us
        for (name, word), results in found.items()
    }
    queue = {name: mean_queue(found[name, "none"]) for name in TITLES}
    rows = []
    for name, title in TITLES.items():
        gains = name in ("iozone", "postmark")
        claim = "gains from interleaving" if gains else "does not gain from interleaving"
        for word in INTERLEAVINGS[1:]:
            value = rate[name, word]
            minimum, maximum = (GAIN, WIDEST * GAIN) if gains else (1 / GAIN, GAIN)
            name_of_row = f"{title}, {word}: rate / without"
            rows.append(Row(name_of_row, None, value, note=claim, least=minimum, most=maximum))
    for name, title in TITLES.items():
        queued = name in ("iozone", "postmark")
        claim = "requests queue" if queued else "queues are empty: nothing to interleave"
        row = Row(f"{title}: mean queue of a package", None, queue[name], note=claim)
        rows.append(replace(row, least=QUEUED[0], most=QUEUED[1]) if queued else row)
    for word, results in striped.items():
        slower = results.host.all.mean_us / found["tpcc-skewed", word].host.all.mean_us
        name = f"TPC-C, stripes of 8 KiB, {word}: latency / with stripes of 4 KiB"
        rows.append(Row(name, None, slower, note=SPLIT, least=GAIN, most=WIDEST * GAIN))
    rows.append(Row("heights of the bars, (a) and (b)", None, None, note=NO_NUMBERS))
    titles = list(TITLES.values())
    figures = [
        Figure(
            "(a) I/O rate, normalised",
            Axis("workload"),
            Axis("rate / rate without interleaving"),
            [Series(word, titles, [rate[name, word] for name in TITLES]) for word in INTERLEAVINGS],
        ),
        Figure(
            "(b) Mean queue of a package, without interleaving",
            Axis("workload"),
            Axis("requests waiting"),
            [Series("none", titles, list(queue.values()))],
        ),
    ]
    remarks = ["the rate is 1 / mean latency, as in the paper's Table 4: the loads are open."]
    title = "Figure 6: impact of interleaving"
    return Item("figure6", title, rows, figures, remarks, WORKLOADS)


def _experiment(study: Study, name: str, word: str) -> dict[str, Any]:
    if name != "exchange":
        return load(study, name, interleave=word)
    # Exchange's large requests are spread over the ten SSDs, as in Table 4.
    workload = table4.exchange(table4.RATE, 10_000 if study.quick else 65_000)
    return {"device": table4.array(1, interleave=word), "workload": workload}
