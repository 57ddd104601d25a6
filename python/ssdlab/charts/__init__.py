"""Charts: a figure is data, described once and drawn by a back end.

`figure` is the model; `svg` draws a figure for a page that reads without script, `matplotlib` for
`.plot()`, `--plot` and notebooks, `text` with characters for a terminal. What a figure shows is
said where its numbers are known: `running/figures.py`, `running/over_time.py`, `sweeps/figures.py`,
`trace/figures.py`, `calibration/figures.py` and the items of `paper`. Colours come from
`style.ROLES` everywhere.
"""

from __future__ import annotations

from ssdlab.charts.figure import Axis, Band, Cells, Figure, Level, Reading, Series, Spans, Threads

__all__ = ["Axis", "Band", "Cells", "Figure", "Level", "Reading", "Series", "Spans", "Threads"]
