"""Figure 8 of the 2008 paper: what it costs to keep more blocks erased."""

from __future__ import annotations

from ssdlab.charts import Axis, Figure, Series
from ssdlab.paper.baseline import NO_NUMBERS, PACKAGES, TITLES, load
from ssdlab.paper.item import Item, Row
from ssdlab.paper.study import Study

SUMMARY = "Agrawal et al. 2008, Figure 8: latency and moved pages by the cleaning threshold"

#: Percent of the blocks; the spare ones are 15 %.
THRESHOLDS = (1, 2, 3, 4, 5, 6, 7, 8)
QUICK_THRESHOLDS = (2, 5, 8)
#: "Little difference", in percent of the latency.
LITTLE = 5.0


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
        change = 100 * (us[-1] / us[0] - 1)
        span = f"from {thresholds[0]} to {thresholds[-1]} %"
        if name == "tpcc-skewed":
            claim = "rises with the threshold"
            rises, grows = _ascending(us), _ascending(pages) and pages[-1] > 2 * pages[0]
            rows.append(
                Row(f"{title}: change of the latency {span}, %", None, change, None, claim, rises)
            )
            rows.append(Row(f"{title}: pages moved at most", None, pages[-1], None, claim, grows))
        else:
            claim, little = "shows little difference", abs(change) <= LITTLE
            rows.append(
                Row(f"{title}: change of the latency {span}, %", None, change, None, claim, little)
            )
            rows.append(
                Row(
                    f"{title}: pages moved at most", None, max(pages), None, "none", max(pages) == 0
                )
            )
    rows.append(Row("points of the curves, (a) and (b)", None, None, note=NO_NUMBERS))
    label = Axis("blocks kept erased, %")
    figures = [
        Figure("(a) Latency, normalised", label, Axis("latency / latency at the least"), latency),
        Figure("(b) Pages moved during cleaning", label, Axis("pages of a package"), moved),
    ]
    return Item("figure8", "Figure 8: impact of minimum free blocks", rows, figures)


def _ascending(values: list[float]) -> bool:
    return all(low <= high for low, high in zip(values, values[1:], strict=False))
