"""Charts: a figure is data that a back end draws.

`figure` is the model; `svg` draws a figure for a page without script, `matplotlib` for `.plot()`,
`--plot` and notebooks, `text` with characters for a terminal. The modules that compute the numbers
build the figures: `running/figures.py`, `running/over_time.py`, `sweeps/figures.py`,
`trace/figures.py`, `calibration/figures.py` and the items of `paper`. Colours come from
`style.ROLES` everywhere.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ssdlab.charts.figure import (
        Axis,
        Band,
        Cells,
        Figure,
        Level,
        Reading,
        Series,
        Spans,
        Threads,
    )

__all__ = ["Axis", "Band", "Cells", "Figure", "Level", "Reading", "Series", "Spans", "Threads"]


def __getattr__(name: str) -> Any:
    """Parts of figures, imported on first use: tables do not need them."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from ssdlab.charts import figure

    found = getattr(figure, name)
    globals()[name] = found
    return found
