"""Terminal output for an item of a study."""

from __future__ import annotations

from typing import IO

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ssdlab.charts import Figure
from ssdlab.paper.item import Item
from ssdlab.terminal import console_for, rendered
from ssdlab.units import study_number


def item_table(item: Item, file: IO[str]) -> str:
    """An item of a study as text for `file`: the compared rows, then the series of its figures."""
    console, _ = console_for(file)
    verdicts = {"pass": "green", "fail": "bold red", "not reproduced": "yellow"}
    rows = Table(box=None, padding=(0, 1), pad_edge=False)
    rows.add_column("")
    for name in "published", "simulated", "diff.", "tol.", "":
        rows.add_column(name, justify="right", header_style="dim", no_wrap=True)
    notes = list(dict.fromkeys(row.explained for row in item.rows if row.explained))
    for row in item.rows:
        difference, tolerance = row.difference_percent, row.tolerance_percent
        label = Text(row.name)
        if row.explained:
            label.append(f" [{notes.index(row.explained) + 1}]", style="dim")
        rows.add_row(
            label,
            "" if row.published is None else study_number(row.published),
            "" if row.simulated is None else study_number(row.simulated),
            "" if difference is None else f"{difference:+.1f}%",
            "" if tolerance is None else f"{tolerance:g}%",
            Text(row.verdict, style=verdicts.get(row.verdict, "dim")),
        )
    sections: list[RenderableType] = [Text(item.title, style="bold"), rows]
    if notes:
        lines = (f"[{number}] {note}" for number, note in enumerate(notes, start=1))
        sections.append(Text("\n".join(lines), style="dim"))
    sections += [_series_table(drawn) for drawn in item.figures]
    sections += [Text(f"Note: {remark}", style="yellow") for remark in item.remarks]
    return rendered(console, sections)


def _series_table(drawn: Figure) -> RenderableType:
    """The series of a figure side by side, with a key to their short names."""
    table = Table(box=None, padding=(0, 1), collapse_padding=True, pad_edge=False)
    table.add_column("", justify="right", no_wrap=True)
    names = _short_names([line.name for line in drawn.lines()])
    for name in names:
        table.add_column(name, justify="right", header_style="dim", no_wrap=True)
    values = [dict(zip(line.x, line.y, strict=True)) for line in drawn.lines()]
    for x in drawn.all_x():
        cells = ("" if (y := line.get(x)) is None else _short(y) for line in values)
        table.add_row(x if isinstance(x, str) else f"{x:g}", *cells)
    title = Text(f"{drawn.title} ({drawn.y.label}) by {drawn.x.label}", style="bold")
    legend = [
        f"{name} {line.name}"
        for name, line in zip(names, drawn.lines(), strict=True)
        if name != line.name
    ]
    return Group(title, table, *([Text("; ".join(legend), style="dim")] if legend else []))


def _short_names(names: list[str]) -> list[str]:
    """Names for narrow columns: if there are many, "sequential read, 4 out" becomes "sr4"."""
    if sum(map(len, names)) <= 60:
        return names
    shorter = []
    for name in names:
        words, _, remainder = name.partition(", ")
        shorter.append("".join(word[0] for word in words.split()) + remainder.split(" ")[0])
    return shorter if len(set(shorter)) == len(names) else names


def _short(number: float) -> str:
    """A number in at most five characters."""
    for limit, scale, unit in ((1e3, 1.0, ""), (1e6, 1e3, "k"), (1e9, 1e6, "M")):
        if number < limit:
            return f"{number / scale:.3g}{unit}"
    return f"{number:.1e}"
