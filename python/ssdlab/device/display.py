"""Terminal output for a device: values with their origin, and the simulated data sheet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import IO, Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ssdlab.device.beside import Line
from ssdlab.device.calibrate import Fitted
from ssdlab.device.check import Outcome
from ssdlab.device.origins import Device
from ssdlab.device.ranges import Key, Range, Ranges
from ssdlab.terminal import console_for, rendered
from ssdlab.units import TIME, duration

STYLES = {"pass": "green", "kept": "green", "fail": "bold red", "assumed": "yellow", "info": "dim"}
ORIGINS = {"published": "green", "announced": "cyan", "fitted": "yellow", "guess": "red"}


def origins(device: Device, file: IO[str]) -> str:
    """Keys, values and origins as text for `file`."""
    console, _ = console_for(file)
    table = Table(box=None, padding=(0, 1), pad_edge=False)
    table.add_column("key", header_style="dim", no_wrap=True)
    table.add_column("value", header_style="dim", overflow="fold")
    table.add_column("origin", header_style="dim")
    before = None
    for row in device.rows:
        stated = Text(row.origin, style=ORIGINS.get(row.origin, ""))
        if row.text and (row.origin, row.text) == before:
            stated.append(", as above")
        elif row.text:
            stated.append(f": {row.text}", style="")
        if row.preset:
            stated.append(f" (preset {row.preset})".lstrip(), style="dim")
        before = row.origin, row.text
        value = str(row.value).lower() if isinstance(row.value, bool) else str(row.value)
        table.add_row(row.key.removeprefix("device."), value, stated)
    head = Text(device.name, style="bold")
    sections: list[RenderableType] = [head]
    if device.summary:
        sections = [Group(head, Text(device.summary))]
    counts = [sum(row.origin == kind for row in device.rows) for kind in (*ORIGINS, "")]
    words = ("published", "announced", "fitted", "guesses", "whose origin the file does not say")
    pairs = zip(counts, words, strict=True)
    said = [f"{count} {word}" for count, word in pairs if count or word != "announced"]
    last = f"{', '.join(said)}; all other keys keep their defaults."
    return rendered(console, [*sections, table, Text(last, style="dim")])


def outcomes(
    title: str, found: Sequence[Outcome], sources: Mapping[str, str], file: IO[str]
) -> str:
    """Published and simulated figures, one line per cell, as text for `file`."""
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
        judged = verdict in ("pass", "kept", "fail")
        table.add_row(
            label,
            f"at least {cell.text}" if cell.bound else cell.text,
            cell.show(it.simulated),
            f"{100 * it.error:+.1f}%",
            f"{100 * cell.tolerance:g}%" if judged else "",
            Text(cell.said(it.simulated), style=STYLES[verdict]),
            cell.source,
        )
    sections: list[RenderableType] = [Text(title, style="bold"), table]
    lines = [f"[{number}] {note}" for number, note in enumerate(notes, start=1)]
    used = {it.cell.source for it in found}
    lines += [f"{key}: {text}" for key, text in sources.items() if key in used]
    if lines:
        sections.append(Text("\n".join(lines), style="dim"))
    return rendered(console, sections)


def beside(names: Sequence[str], lines: Sequence[Line], file: IO[str]) -> str:
    """Data sheets side by side, as text for `file`."""
    console, _ = console_for(file)
    table = Table(box=None, padding=(0, 1), pad_edge=False)
    table.add_column("")
    for name in names:
        table.add_column(name, justify="right", header_style="bold")
    for line in lines:
        visible = [line.shown(position) for position in range(len(names))]
        table.add_row(
            line.title, *(Text(it, style="dim" if it[0] == "~" else "") for it in visible)
        )
    stated = "~ is no figure of the sheet: assumed, or what follows from its others by arithmetic."
    return rendered(console, [table, Text(stated, style="dim")])


def fitted(found: Fitted, title: str, hidden: Ranges, file: IO[str]) -> str:
    """A simulated sheet, with missing figures and assumptions, as text for `file`."""
    console, _ = console_for(file)
    predictions = Table.grid(padding=(0, 2))
    for it in found.predictions:
        latency = it.cell.measurement.unit is TIME
        guess = found.given.guess_behind("read", it.simulated) if latency else None
        rests = Text(f"rests on {guess}, a guess" if guess else "", style=STYLES["assumed"])
        predictions.add_row(it.cell.name, Text(it.cell.show(it.simulated), style="bold"), rests)
    assumed = Text("\n".join(f"- {text}" for text in found.drive.assumptions))
    sections: list[RenderableType] = [
        Group(Text("Predicted: not in the sheet", style="bold"), predictions),
        _ranges(hidden),
        Group(Text("Assumed", style="bold"), assumed),
        *(Text(note, style="yellow") for note in (*found.notes, *_missed(found.outcomes))),
    ]
    return outcomes(title, found.outcomes, {}, file) + "\n" + rendered(console, sections)


def _missed(found: Sequence[Outcome]) -> list[str]:
    """A note about missed lines of the sheet."""
    missed = [it.cell.name for it in found if it.verdict == "fail"]
    stated = (
        f"Missed by more than the tolerance: {'; '.join(missed)}. The device is not this drive."
    )
    return [stated] if missed else []


def _ranges(hidden: Ranges) -> RenderableType:
    """Figures that are not in the sheet, each with its range and the key that decides it."""
    table = Table(box=None, padding=(0, 1), pad_edge=False)
    table.add_column("")
    for name in "range", "measured", "decided by":
        justify: Any = "left" if name == "decided by" else "right"
        table.add_column(name, justify=justify, header_style="dim")
    for row in hidden.rows:
        choice = row.decided_by
        decided = "" if choice is None or row.is_number else f"{choice.key} ({choice.value})"
        if row.guess and row.measured is None:
            decided += f"{'; ' if decided else ''}{row.guess}, a guess"
        measured = "" if row.measured is None else _figure(row.figure, row.measured)
        table.add_row(f"{row.load.name}, {' '.join(row.figure)}", _between(row), measured, decided)
    lines = []
    if hidden.dropped:
        names = ", ".join(f"{it.key}={it.value or 'as assumed'}" for it in hidden.dropped)
        lines.append(f"Excluded by what was measured: {names.replace('as assumed=as', 'as')}")
    open_ = {row.load.name: row.load for row in hidden.rows if not row.is_number}
    settled = {row.load.name for row in hidden.rows if row.measured is not None}
    lines += [it.command(hidden.block) for name, it in open_.items() if name not in settled]
    title = Text("Not in the data sheet: range over plausible values", style="bold")
    head = [Text("Measure each with this fio job, in steady state:")] if open_ else []
    return Group(title, table, *head, Text("\n".join(lines), style="dim"))


def _between(row: Range) -> str:
    if row.is_number:
        return _figure(row.figure, row.assumed)
    return f"{_figure(row.figure, row.low)} to {_figure(row.figure, row.high)}"


def _figure(figure: Key, value: float) -> str:
    return f"{value:,.0f}/s" if figure[1] == "iops" else duration(value, 3)
