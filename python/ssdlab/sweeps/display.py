"""Terminal output for a sweep."""

from __future__ import annotations

from collections.abc import Sequence
from typing import IO

from rich.text import Text

from ssdlab.sweeps.result import Sweep
from ssdlab.sweeps.table import said, spoken
from ssdlab.terminal import Columns, console_for, rendered
from ssdlab.units import cell_text


def sweep_table(sweep: Sweep, file: IO[str]) -> str:
    """The points of a sweep as text for `file`: parameters and main metrics."""
    names, rows = sweep.shown()
    marks = sweep.warning_marks()
    means = sweep.means(names)
    title = Text(f"{len(sweep):,} points", style="bold")
    if means:
        table = _of_means(sweep, names)
        title.append(f", {len(means):,} designs: mean and interval of 95 % over seeds", style="dim")
    else:
        table = _of_points(sweep, names, rows, marks)
        if len(rows) < len(sweep):
            title.append(f", {len(rows)} of them here; --out keeps all", style="dim")
    console, _ = console_for(file)
    warned = [
        f"! {mark}  {name}, {points:,} of {len(sweep):,} points: {summary}"
        for name, (mark, points, summary) in marks.items()
    ]
    notes = [Text("\n".join(warned), style="yellow")] if warned else []
    if sweep.unmet is not None:
        notes.insert(0, Text(sweep.unmet, style="bold red"))
    return rendered(console, [title, table, *notes])


def heads(names: Sequence[str]) -> list[str]:
    """Column titles in common terms; ambiguous ones keep their full names.

    >>> heads(["device.cleaning.policy", "host.all.percentiles_us.99", "device.size", "run.size"])
    ['policy', 'p99', 'device.size', 'run.size']
    """
    spellings = [
        [name.rpartition(".")[2], spoken(name), name]
        if not name.startswith("host.")
        else [spoken(name), name]
        for name in names
    ]
    used = [word for words in spellings for word in dict.fromkeys(words)]
    return [
        next((word for word in words if used.count(word) == 1), words[-1]) for words in spellings
    ]


def _of_points(
    sweep: Sweep, names: list[str], rows: Sequence[int], marks: dict[str, tuple[int, int, str]]
) -> Columns:
    known = heads(names)
    keys = len(sweep.parameters)
    table = Columns([*known, *(["!"] if marks else [])], keys, left=["error"])
    columns = {name: sweep.columns[name] for name in names}
    for row in rows:
        cells = []
        for name in names:
            value = columns[name][row]
            result = name not in sweep.parameters and value is not None
            cells.append(said(name, value) if result and _number(value) else cell_text(value))
            if name == "error" and value:  # said below the table
                cells[-1] = "failed"
        if marks:  # said below the table
            cells.append(" ".join(str(marks[name][0]) for name in sweep.warned(row)))
        table.add_row(*cells)
    return table


def _number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _of_means(sweep: Sweep, names: list[str]) -> Columns:
    found = sweep.means(names)
    parameters = list(found[0].parameters)
    figures = [name for name in names if any(name in it.figures for it in found)]
    table = Columns([*heads([*parameters, *figures]), "seeds"], len(parameters))
    for design in found:
        cells = [cell_text(value) for value in design.parameters.values()]
        for name in figures:
            mean = design.figures.get(name)
            around = f" ± {said(name, mean.margin)}" if mean and mean.margin else ""
            cells.append("" if mean is None else f"{said(name, mean.mean)}{around}")
        table.add_row(*cells, f"{len(design.rows)}")
    return table
