"""Figure 8 of the 2008 paper: the cost of keeping more blocks erased."""

from __future__ import annotations

from ssdlab.charts import Axis, Figure, Series
from ssdlab.paper.baseline import NO_NUMBERS, PACKAGES, TITLES, load
from ssdlab.paper.item import WIDEST, Item, Row
from ssdlab.paper.study import Study

SUMMARY = "Agrawal et al. 2008, Figure 8: latency and moved pages by the cleaning threshold"

#: Thresholds in percent of the blocks; 15 % are spare.
THRESHOLDS = (1, 2, 3, 4, 5, 6, 7, 8)
QUICK_THRESHOLDS = (2, 5, 8)
#: Maximum latency ratio of "little difference", and the minimum ratio of a rise.
LITTLE, RISES = 1.05, 1.001


def run(study: Study) -> Item:
    """Every workload at every threshold."""
    thresholds = QUICK_THRESHOLDS if study.quick else THRESHOLDS
    found = study.measure(
        {
            (name, percent): load(study, name, whole=True, cleaning={"min_free": percent / 100})
            for name in TITLES
            for percent in thresholds
        }
    )
    latency, moved, rows = [], [], []
    for name, title in TITLES.items():
        results = [found[name, percent] for percent in thresholds]
        us = [float(result.host.all.mean_us) for result in results]
        pages = [result.flash.pages_moved / PACKAGES for result in results]
        latency.append(Series(title, thresholds, [value / us[0] for value in us]))
        moved.append(Series(title, thresholds, pages))
        change = f"{title}: latency at {thresholds[-1]} % / at {thresholds[0]} %"
        grown = us[-1] / us[0]
        if name == "tpcc-skewed":
            note = "rises with the threshold"
            rows += [
                Row(change, None, grown, note=note, least=RISES, most=WIDEST * RISES),
                Row(f"{title}: pages moved at most", None, pages[-1], note=note),
            ]
        else:
            note = "shows little difference"
            none = f"{title}: pages moved at most"
            rows += [
                Row(change, None, grown, note=note, least=1 / LITTLE, most=LITTLE),
                Row(none, None, max(pages), note="none", most=0.0),
            ]
    rows.append(Row("points of the curves, (a) and (b)", None, None, note=NO_NUMBERS))
    label = Axis("blocks kept erased, %")
    figures = [
        Figure("(a) Latency, normalised", label, Axis("latency / latency at the least"), latency),
        Figure("(b) Pages moved during cleaning", label, Axis("pages of a package"), moved),
    ]
    return Item("figure8", "Figure 8: impact of minimum free blocks", rows, figures)
