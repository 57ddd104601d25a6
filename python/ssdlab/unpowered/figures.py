"""The figures of `ssdlab retention`: losses by wear, and retries, over time."""

from __future__ import annotations

from ssdlab.charts import Axis, Figure, Series
from ssdlab.unpowered import Kept

#: Minimum number of pages on the logarithmic axis.
NONE = 1e-9


def losses(found: Kept) -> Figure:
    """Lost pages over time, one line per wear level."""
    over = found.form["over_time"]
    rated = found.form["rated_cycles"]
    series = [
        Series(
            f"{row['cycles'] / rated:.0%} worn",
            over["days"],
            [max(NONE, lost) for lost in row["pages_lost"]],
            dash=0 if row["cycles"] == found.cycles else 1,
        )
        for row in over["losses"]
    ]
    title = f"{found.device} at {found.form['celsius']:g} °C: losses"
    foot = f"Pages lost, at least {NONE:.0e}"
    return Figure(title, Axis("Days", log=10), Axis(foot, log=10), series)


def retries(found: Kept) -> Figure:
    """Retries of a page over time."""
    over = found.form["over_time"]
    line = Series("retries", over["days"], over["mean_retries"])
    return Figure("Retries of a page", Axis("Days", log=10), Axis("Retries, mean"), [line])
