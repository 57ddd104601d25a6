"""Terminal output for a device: its numbers with their origin, and its simulated data sheet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import IO, Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ssdlab.device.calibrate import Fitted
from ssdlab.device.check import Outcome
from ssdlab.device.origins import Device
from ssdlab.terminal import console_for, rendered

STYLES = {"pass": "green", "fail": "bold red", "fitted": "dim", "info": "dim"}
ORIGINS = {"published": "green", "fitted": "yellow", "guess": "red"}


def origins(device: Device, file: IO[str]) -> str:
    """Keys, values and origins as text for `file`."""
    console, _ = console_for(file)
    table = Table(box=None, padding=(0, 1), pad_edge=False)
    table.add_column("key", header_style="dim", no_wrap=True)
    table.add_column("value", header_style="dim", overflow="fold")
    table.add_column("origin", header_style="dim")
    before = None
    for row in device.rows:
        said = Text(row.origin, style=ORIGINS.get(row.origin, ""))
        if row.text and (row.origin, row.text) == before:
            said.append(", as above")
        elif row.text:
            said.append(f": {row.text}", style="")
        if row.preset:
            said.append(f" (preset {row.preset})".lstrip(), style="dim")
        before = row.origin, row.text
        value = str(row.value).lower() if isinstance(row.value, bool) else str(row.value)
        table.add_row(row.key.removeprefix("device."), value, said)
    head = Text(device.name, style="bold")
    sections: list[RenderableType] = [head]
    if device.summary:
        sections = [Group(head, Text(device.summary))]
    counts = [sum(row.origin == kind for row in device.rows) for kind in (*ORIGINS, "")]
    words = "{} published, {} fitted, {} guesses, {} whose origin the file does not say"
    last = f"{words.format(*counts)}; all other keys keep their defaults."
    return rendered(console, [*sections, table, Text(last, style="dim")])


def outcomes(
    title: str, found: Sequence[Outcome], sources: Mapping[str, str], file: IO[str]
) -> str:
    """Published and simulated, a line for each cell, as text for `file`."""
    console, _ = console_for(file)
    table = Table(box=None, padding=(0, 1), pad_edge=False)
    table.add_column("")
    for name in "published", "simulated", "error", "tol.", "", "source":
        justify: Any = "left" if name == "source" else "right"
        table.add_column(name, justify=justify, header_style="dim", no_wrap=True)
    notes = list(dict.fromkeys(it.cell.note for it in found if it.cell.note))
    for it in found:
        cell, verdict = it.cell, it.verdict
        label = Text(cell.name)
        if cell.note:
            label.append(f" [{notes.index(cell.note) + 1}]", style="dim")
        judged = verdict in ("pass", "fail")
        table.add_row(
            label,
            cell.text,
            cell.show(it.simulated),
            f"{100 * it.error:+.1f}%",
            f"{100 * cell.tolerance:g}%" if judged else "",
            Text(verdict, style=STYLES[verdict]),
            cell.source,
        )
    sections: list[RenderableType] = [Text(title, style="bold"), table]
    lines = [f"[{number}] {note}" for number, note in enumerate(notes, start=1)]
    used = {it.cell.source for it in found}
    lines += [f"{key}: {text}" for key, text in sources.items() if key in used]
    if lines:
        sections.append(Text("\n".join(lines), style="dim"))
    return rendered(console, sections)


def fitted(found: Fitted, title: str, file: IO[str]) -> str:
    """A sheet simulated, what it does not say, and what was assumed, as text for `file`."""
    console, _ = console_for(file)
    predictions = Table.grid(padding=(0, 2))
    for it in found.predictions:
        predictions.add_row(it.cell.name, Text(it.cell.show(it.simulated), style="bold"))
    assumed = Text("\n".join(f"- {text}" for text in found.drive.assumptions))
    sections: list[RenderableType] = [
        Group(Text("Predicted: not in the sheet", style="bold"), predictions),
        Group(Text("Assumed", style="bold"), assumed),
        *(Text(note, style="yellow") for note in found.notes),
    ]
    return outcomes(title, found.outcomes, {}, file) + "\n" + rendered(console, sections)
