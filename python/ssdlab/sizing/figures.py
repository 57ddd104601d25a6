"""The figure of a sizing: the effect of spare space and of more drives."""

from __future__ import annotations

from ssdlab.charts import Axis, Figure, Series
from ssdlab.sizing import Sizing

#: The axis label of each goal.
LABELS = {"p99_us": "p99, us", "p999_us": "p99.9, us", "years": "life, years"}


def over_flash(found: Sizing, figure: str) -> Figure:
    """A metric of each design over its flash, with the limit."""
    series = []
    means = [(trial, trial.mean(figure)) for trial in found.trials]
    known = [(trial, mean) for trial, mean in means if mean is not None and mean < float("inf")]
    trials = [trial for trial, _ in known]
    for drives in sorted({trial.design.drives for trial in trials}):
        mine = [(trial, mean) for trial, mean in known if trial.design.drives == drives]
        at = [trial.flash_bytes / 1e12 for trial, _ in mine]
        name = "1 drive" if drives == 1 else f"{drives} drives"
        series.append(Series(name, at, [mean for _, mean in mine]))
    goal = next((goal.limit for goal in found.goals if goal.figure == figure), None)
    if goal is not None and trials:
        ends = [min(trial.flash_bytes for trial in trials) / 1e12]
        ends.append(max(trial.flash_bytes for trial in trials) / 1e12)
        series.append(Series("goal", ends, [goal, goal]))
    return Figure("", Axis("flash, TB", zero=False), Axis(LABELS[figure]), series)
