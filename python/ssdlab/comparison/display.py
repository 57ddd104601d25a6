"""Terminal output for a comparison."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import IO

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ssdlab.comparison import Comparison, grid
from ssdlab.comparison.grid import Cell, Grid, Overall
from ssdlab.confidence import margin
from ssdlab.sweeps.table import Objective, said, spoken
from ssdlab.terminal import Columns, console_for, rendered, warning_lines
from ssdlab.units import duration


def compare_table(found: Comparison, file: IO[str]) -> str:
    """A comparison as text for `file`: the changes and their effects."""
    console, _ = console_for(file)
    head = Text(f"A  {found.a}\nB  {found.b}", style="bold")
    if found.repeat > 1:
        head.append(f"\n{found.repeat} runs each; mean and 95 % confidence interval", style="dim")
    changes = Table.grid(padding=(0, 2))
    for _ in range(3):
        changes.add_column(overflow="fold")
    kinds = found.changed.get("device.kind")
    for key, (left, right) in found.changed.items():
        # Devices of different kinds have few common keys.
        if kinds and key.startswith("device.") and None in (left, right):
            continue
        changes.add_row(
            key, "-" if left is None else str(left), "-" if right is None else f"{right}"
        )
    repeated = any(row.significant is not None for row in found.shown())
    rows = Columns(["", "A", "B", "B - A", *([" "] if repeated else [])], keys=1)
    for row in found.shown():
        percent = row.difference_percent
        difference = "" if percent is None else f"{percent:+.2f}%"
        if row.difference_margin is not None and row.a:
            difference += f" ± {100 * row.difference_margin / abs(row.a):.2f}%"
        note = "" if row.significant is None else "differs" if row.significant else "within noise"
        name = row.name.removeprefix("host.").replace("percentiles_us.", "p").removesuffix("_us")
        is_time = "_us" in row.name
        rows.add_row(
            name,
            _with_margin(row.a, row.a_margin, is_time),
            _with_margin(row.b, row.b_margin, is_time),
            difference,
            *([Text(note, style="bold" if row.significant else "dim")] if repeated else []),
        )
    return rendered(console, [head, *([changes] if found.changed else []), rows, *_warned(found)])


def _with_margin(value: float, margin: float | None, is_time: bool) -> str:
    if is_time:
        return duration(value, 4) + ("" if margin is None else f" ± {duration(margin, 2)}")
    text = f"{value:,.5g}" if abs(value) < 1e5 else f"{value:,.0f}"
    around = "" if margin is None else f"{margin:,.0f}" if margin >= 100 else f"{margin:.2g}"
    return f"{text} ± {around}" if around else text


STYLES = {grid.BETTER: "bold green", grid.WORSE: "bold red", grid.UNKNOWN: "dim"}


def grid_table(found: Grid, file: IO[str]) -> str:
    """A comparison under several conditions as text for `file`."""
    console, _ = console_for(file)
    head = Text(f"A  {grid.title(found.a)}\nB  {grid.title(found.b)}", style="bold")
    seeds = f"{len(found.seeds)} seeds for both; mean of the paired differences, 95 % confidence"
    head.append(f"\n{seeds} interval", style="dim")
    return rendered(console, [head, *(_of(found, it) for it in found.objectives), *_warned(found)])


def _warned(found: Comparison | Grid) -> list[RenderableType]:
    lines = warning_lines([f"{side} {it}" for side, said in found.warnings.items() for it in said])
    return [] if lines is None else [lines]


def _of(found: Grid, objective: Objective) -> RenderableType:
    """Effect of B on one metric under each condition, and overall."""
    what = "higher is better" if objective.maximize else "lower is better"
    title = Text(spoken(objective.column), style="bold").append(f"  {what}", style="dim not bold")
    table = Columns(["", "A", "B", "B - A", "B is"], keys=1)
    cells = found.of(objective)
    for cell in cells:
        sides = [_side(objective, values) for values in (cell.a, cell.b)]
        verdict = Text(cell.verdict, style=STYLES[cell.verdict])
        table.add_row(
            Text(cell.condition or "both as configured"), *sides, _difference(cell), verdict
        )
    if len(cells) > 1:
        overall = found.overall(objective)
        counts = f"{overall.better} better, {overall.worse} worse, {overall.unknown} cannot tell"
        verdict = Text(overall.verdict, style=STYLES[overall.verdict])
        table.add_row(Text("overall", style="bold"), "", "", _difference(overall), verdict)
        return Group(title, table, Text(counts, style="dim"))
    return Group(title, table)


def _side(objective: Objective, values: Sequence[float]) -> str:
    half = margin(values)
    around = "" if not half else f" ± {said(objective.column, half)}"
    return f"{said(objective.column, statistics.fmean(values))}{around}"


def _difference(it: Cell | Overall) -> str:
    if it.difference_percent is None:
        return "-"
    around = "" if it.margin_percent is None else f" ± {it.margin_percent:.1f}"
    return f"{it.difference_percent:+.1f}{around} %"
