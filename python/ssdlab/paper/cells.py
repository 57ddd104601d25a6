"""Cells of data sheets as rows of an item: published and simulated values of a preset."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ssdlab import _core
from ssdlab.device import sheet
from ssdlab.device.measurements import experiment
from ssdlab.device.sheet import Cell, Sheet
from ssdlab.paper.item import Row
from ssdlab.paper.study import Study
from ssdlab.running import Part
from ssdlab.units import BANDWIDTH, IOPS, TIME

#: Reason why a quick study does not judge steady states.
SHORTER = "measured for a quarter of the time, so that the state after preconditioning weighs more"
#: Unit of a row's quantity, and its value in the base unit.
_UNITS = {TIME.noun: (", us", 1e-6), BANDWIDTH.noun: (", MB/s", 1e6), IOPS.noun: (", K/s", 1e3)}


def sheets() -> list[Sheet]:
    """Data sheets of presets not derived from them, in order of name."""
    presets = dict(_core.list("devices") or [])
    loaded = map(sheet.load, sheet.names())
    return [found for found in loaded if found.device in presets and not found.solved]


def simulate(study: Study, device: Part, cells: Sequence[Cell]) -> list[float]:
    """Simulated values of `cells` on `device`, each in its base unit; cells share runs."""
    found = study.measure(
        {
            number: experiment(cell.measure, cell.parameters, device, study.quick)
            for number, cell in enumerate(cells)
        }
    )
    return [
        cell.measurement.value(found[number], cell.parameters) for number, cell in enumerate(cells)
    ]


def rows(study: Study, prefix: str, cells: Sequence[Cell], simulated: Sequence[float]) -> list[Row]:
    """A row per cell, in microseconds, MB/s or thousands per second.

    A fit to one figure of a quantity covers its other figures, such as the sheet's value and a
    measurement.
    """
    fitted = {cell.name for cell in cells if cell.fitted}
    return [
        _row(study, prefix, cell, value, cell.name in fitted)
        for cell, value in zip(cells, simulated, strict=True)
    ]


def _row(study: Study, prefix: str, cell: Cell, simulated: float, fitted: bool) -> Row:
    unit, each = _UNITS.get(cell.measurement.unit.noun, ("", 1.0))
    note = cell.note
    if fitted:
        note = f"fitted: {note}" if note else "fitted"
    return Row(
        f"{prefix}: {cell.name}{unit}",
        cell.value / each,
        simulated / each,
        None if math.isinf(cell.tolerance) else 100 * cell.tolerance,
        note,
        fitted=fitted,
        unjudged=SHORTER if study.quick and _preconditioned(cell) else "",
    )


def _preconditioned(cell: Cell) -> bool:
    """True for a timed measurement in steady state."""
    return "precondition" in cell.measurement.experiment(cell.parameters)["run"]
