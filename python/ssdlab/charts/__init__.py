"""Charts: a figure is data, described once; a back end draws it for whoever asks.

`figure` is the model; `svg` draws a figure for a page without script, `matplotlib` for `.plot()`,
`--plot` and notebooks, `text` with characters for a terminal. What a figure shows is said where its
numbers are known: `running/figures.py`, `sweeps/figures.py`, `trace/figures.py`,
`calibration/figures.py` and the items of `paper`.
"""

from __future__ import annotations

from ssdlab.charts.figure import Axis, Cells, Figure, Series, Spans, Threads

__all__ = ["Axis", "Cells", "Figure", "Series", "Spans", "Threads"]
