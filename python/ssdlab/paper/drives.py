"""Current drives against their data sheets, and against independent measurements.

`ssdlab device check` simulates one data sheet; this item simulates all.
"""

from __future__ import annotations

from ssdlab.paper import cells
from ssdlab.paper.item import Item, Row
from ssdlab.paper.study import Study

SUMMARY = "Data sheets of current drives: every figure, published and simulated"

#: Maximum error of a prediction that suffices to size a system, percent.
NEAR_PERCENT = 10.0


def run(study: Study) -> Item:
    """All cells of all sheets, fitted ones marked."""
    found: list[Row] = []
    remarks = []
    sources: dict[str, None] = {}
    for sheet in cells.sheets():
        simulated = cells.simulate(study, sheet.device, sheet.cells)
        of_sheet = cells.rows(study, sheet.name, sheet.cells, simulated)
        proving = [row for row in of_sheet if not row.fitted]
        near = sum(abs(row.difference_percent or 0.0) <= NEAR_PERCENT for row in proving)
        unknown = f"; not published: {', '.join(sheet.unknown)}" if sheet.unknown else ""
        remarks.append(
            f"{sheet.title}: {len(proving)} of {len(of_sheet)} cells were not fitted, {near} of "
            f"them lie within {NEAR_PERCENT:g} %{unknown}."
        )
        sources.update(dict.fromkeys(f"{key}: {text}" for key, text in sheet.sources.items()))
        found += of_sheet
    if sources:
        remarks.append(f"sources: {'; '.join(sources)}.")
    return Item("drives", "Current drives: data sheets", found, remarks=remarks)
