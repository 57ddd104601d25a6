"""Cells of data sheets as rows of an item: published and simulated values of a preset."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ssdlab.catalogue import list as catalogue
from ssdlab.device import sheet
from ssdlab.device.measurements import experiment
from ssdlab.device.sheet import Cell, Sheet
from ssdlab.device.units import BANDWIDTH, IOPS, TIME
from ssdlab.paper.item import Row
from ssdlab.paper.study import Study
from ssdlab.running import Part

#: The unit in which a row has a quantity, and that unit in the base unit.
_UNITS = {TIME.noun: (", us", 1e-6), BANDWIDTH.noun: (", MB/s", 1e6), IOPS.noun: (", K/s", 1e3)}


def sheets() -> list[Sheet]:
    """The data sheets whose preset there is, in the order of their names."""
    presets = catalogue("devices")
    return [found for found in map(sheet.load, sheet.names()) if found.device in presets]


def simulate(study: Study, device: Part, cells: Sequence[Cell]) -> list[float]:
    """What `cells` say of `device`, simulated, each in its base unit; a run for those it serves."""
    found = study.measure(
        {
            number: experiment(cell.measure, cell.parameters, device, study.quick)
            for number, cell in enumerate(cells)
        }
    )
    return [
        cell.measurement.value(found[number], cell.parameters) for number, cell in enumerate(cells)
    ]


def rows(prefix: str, cells: Sequence[Cell], simulated: Sequence[float]) -> list[Row]:
    """A row a cell, in microseconds, MB/s or thousands a second."""
    return [_row(prefix, *pair) for pair in zip(cells, simulated, strict=True)]


def _row(prefix: str, cell: Cell, simulated: float) -> Row:
    unit, each = _UNITS.get(cell.measurement.unit.noun, ("", 1.0))
    note = cell.note
    if cell.fitted:
        note = f"fitted: {note}" if note else "fitted"
    return Row(
        f"{prefix}: {cell.name}{unit}",
        cell.value / each,
        simulated / each,
        None if math.isinf(cell.tolerance) else 100 * cell.tolerance,
        note,
        fitted=cell.fitted,
    )
