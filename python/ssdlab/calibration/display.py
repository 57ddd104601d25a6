"""Terminal output for a calibration."""

from __future__ import annotations

from collections.abc import Mapping
from typing import IO, Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ssdlab.calibration.points import size_text
from ssdlab.terminal import console_for, rendered
from ssdlab.units import decimal_size, duration


def table(found: Mapping[str, Any], file: IO[str]) -> str:
    """Fitted lines, errors by size, and notes, as text for `file`."""
    console, _ = console_for(file)
    sections: list[RenderableType] = []
    if found["patterns"]:
        sections += [_lines(found), _sizes(found)]
    if "fit" in found:
        fit = found["fit"]
        sections.append(_model(fit) if "figures" in fit else _fit(fit))
    if "recipe" in found:
        sections.append(_recipe(found))
    if found["notes"]:
        notes = "\n".join(f"Note: {note}" for note in found["notes"])
        sections.append(Text(notes, style="yellow"))
    return rendered(console, sections)


def _columns(*names: str) -> Table:
    grid = Table(box=None, padding=(0, 1), collapse_padding=True, pad_edge=False)
    grid.add_column("", style="bold", no_wrap=True)
    for name in names:
        grid.add_column(name, justify="right", header_style="dim", no_wrap=True)
    return grid


def _lines(found: Mapping[str, Any]) -> RenderableType:
    other = "equal" if found["weights"] == "relative" else "relative"
    grid = _columns("A", "B per KiB", "r^2", "p", "mean error", "max", f"{other} weights")
    for name, it in found["patterns"].items():
        grid.add_row(
            name,
            f"{it['a_us']:.2f}us",
            f"{it['b_us_per_kib']:.4f}us",
            f"{it['r2']:.6f}",
            "" if it["p_value"] is None else f"{it['p_value']:.2g}",
            f"{it['mean_error_percent']:.2f}%",
            f"{it['max_error_percent']:.2f}%",
            f"{it['mean_error_percent_of_other_weights']:.2f}%",
        )
    title = Text(f"A + n B from {found['source']}", style="bold")
    title.append(f"  weights {found['weights']}, 1 outstanding", style="dim")
    return Group(title, grid)


def _sizes(found: Mapping[str, Any]) -> RenderableType:
    """Measured times with the error of the line, a row for each size."""
    patterns = found["patterns"]
    grid = _columns(*patterns)
    rows: dict[int, dict[str, str]] = {}
    for name, it in patterns.items():
        for row in it["sizes"]:
            cell = f"{duration(row['measured_us'], 4)} {row['error_percent']:+6.1f}%"
            rows.setdefault(row["bytes"], {})[name] = cell
    for size, cells in sorted(rows.items()):
        grid.add_row(size_text(size), *(cells.get(name, "") for name in patterns))
    return Group(Text("Measured, and the error of the line", style="bold"), grid)


def _model(fit: Mapping[str, Any]) -> RenderableType:
    """Fitted values, every metric of every job, and the mean error by metric."""
    values = Table.grid(padding=(0, 2))
    for key, value in fit["parameters"].items():
        values.add_row(Text(key), Text(str(value), style="bold"))
    grid = _columns("measured", "before", "", "after", "")
    for row in fit["figures"]:
        cells = []
        for which in ("before", "after"):
            error = 100 * (row[which] / row["measured"] - 1)
            cells += [_figure(row["figure"], row[which]), f"{error:+.1f}%"]
        name = f"{row['job']} {row['op']} {row['figure']}"
        grid.add_row(name, _figure(row["figure"], row["measured"]), *cells)
    errors = _columns("before", "after")
    for figure, it in fit["errors_percent"].items():
        errors.add_row(figure, f"{it['before']:.1f}%", f"{it['after']:.1f}%")
    title = Text("Mean error by figure", style="bold")
    title.append(f"  {fit['simulations']:,} simulations", style="dim")
    return Group(values, Text(), grid, Text(), title, errors)


def _figure(name: str, value: float) -> str:
    return f"{value:,.0f}/s" if name == "iops" else duration(value, 4)


def _recipe(found: Mapping[str, Any]) -> RenderableType:
    """Measurements of a recipe with confidence intervals, and the resulting keys."""
    grid = _columns("", "from", "to")
    grid.add_column("", style="dim")
    for name, it in found["recipe"]["found"].items():
        values = [_quantity(it[which], it["unit"]) for which in ("value", "low", "high")]
        grid.add_row(name, *values, it["what"])
    title = Text(f"{found['kind']} from {found['source']}", style="bold")
    title.append("  with intervals of 95 %", style="dim")
    parts: list[RenderableType] = [title, grid]
    if found["recipe"]["keys"]:
        keys = [f'{key} = "{value}"' for key, value in found["recipe"]["keys"].items()]
        parts += [Text(), Text("As keys", style="bold"), Text("\n".join(keys))]
    return Group(*parts)


def _quantity(value: float, unit: str) -> str:
    if unit in ("B", "B/s"):
        return decimal_size(value) + unit[1:]
    if unit == "us":
        return duration(value, 4)
    return f"{value:.4g} {unit}".strip()


def _fit(fit: Mapping[str, Any]) -> RenderableType:
    values = Table.grid(padding=(0, 2))
    for key, value in fit["parameters"].items():
        values.add_row(Text(key), Text(str(value), style="bold"))
    grid = _columns("outstanding", "measured", "before", "", "after", "")
    for row in fit["points"]:
        grid.add_row(
            f"{row['pattern']} {size_text(row['bytes'])}",
            str(row["outstanding"]),
            duration(row["mean_us"], 4),
            duration(row["before_us"], 4),
            f"{row['before_error_percent']:+.1f}%",
            duration(row["after_us"], 4),
            f"{row['after_error_percent']:+.1f}%",
        )
    means = [fit[which]["mean_error_percent"] for which in ("before", "after")]
    title = Text(f"Mean error {means[0]:.2f}% before, {means[1]:.2f}% after", style="bold")
    title.append(f"  {fit['simulations']:,} simulations", style="dim")
    return Group(values, title, grid)
