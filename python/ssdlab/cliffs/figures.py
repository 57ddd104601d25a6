"""The figure of a copy: its rate over what was written."""

from __future__ import annotations

from ssdlab.charts import Axis, Figure, Series
from ssdlab.cliffs import Cliff


def rates(found: Cliff) -> Figure:
    """The rate of each phase over the bytes written before."""
    written, x, y = 0.0, [], []
    for phase in found.phases:
        x += [written / 1e9, (written + phase.written_bytes) / 1e9]
        y += [phase.bytes_per_s / 1e9] * 2
        written += phase.written_bytes
    mean = found.bytes_per_s / 1e9
    return Figure(
        f"A copy to {found.device}, {found.fill:.0%} full",
        Axis("GB written"),
        Axis("GB/s"),
        [Series("rate", x, y), Series("mean", [0.0, written / 1e9], [mean, mean], dash=1)],
    )
