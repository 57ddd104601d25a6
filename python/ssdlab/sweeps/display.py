"""What a person sees of a sweep."""

from __future__ import annotations

from typing import IO

from rich.table import Table
from rich.text import Text

from ssdlab.numbers import cell_text
from ssdlab.sweeps.result import Sweep
from ssdlab.terminal import console_for, rendered


def sweep_table(sweep: Sweep, file: IO[str]) -> str:
    """The points of a sweep as text for `file`: parameters and what matters most of the results."""
    names, rows = sweep.shown()
    table = Table(box=None, padding=(0, 1), pad_edge=False)
    for name in names:
        words = name.removeprefix("host.").removeprefix("device.").replace("percentiles_us.", "p")
        table.add_column(words, justify="left" if name == "error" else "right", header_style="dim")
    marks = sweep.warning_marks()
    if marks:
        names.append("warnings")
        table.add_column("!", header_style="dim")
    for row in rows:
        cells = {name: cell_text(sweep.columns[name][row]) for name in names}
        if marks:  # said below the table
            cells["warnings"] = " ".join(str(marks[name][0]) for name in sweep.warned(row))
        if cells.get("error"):  # said below the table
            cells["error"] = "failed"
        table.add_row(*map(Text, cells.values()))
    title = Text(f"{len(sweep):,} points", style="bold")
    if len(rows) < len(sweep):
        title.append(f", {len(rows)} of them here; --out keeps all", style="dim")
    console, _ = console_for(file)
    warned = [
        f"! {mark}  {name}, {points:,} of {len(sweep):,} points: {summary}"
        for name, (mark, points, summary) in marks.items()
    ]
    said = [Text("\n".join(warned), style="yellow")] if warned else []
    if sweep.unmet is not None:
        said.insert(0, Text(sweep.unmet, style="bold red"))
    return rendered(console, [title, table, *said])
