"""`ssdlab device`: a drive from its data sheet, with origins and errors of its numbers."""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path

import click

from ssdlab import delivery, forms, layers, terminal
from ssdlab.cli import options
from ssdlab.cli.options import PATH
from ssdlab.cli.outputs import Outputs
from ssdlab.datasheet import given as sheets_given
from ssdlab.device import origins, sheet
from ssdlab.device.check import measure
from ssdlab.device.sheet import VERDICTS
from ssdlab.running import Experiment


@click.group(
    cls=options.ExamplesFirstGroup,
    examples=[
        ("a device from a data sheet", "ssdlab device from-datasheet --template"),
        ("the device derived from it", "ssdlab device from-datasheet SHEET.toml --out my.toml"),
        ("several data sheets in one table", "ssdlab device compare-sheets A.toml B.toml"),
        ("the origin of the numbers of a preset", "ssdlab device show agrawal2008"),
        ("compare a preset with its data sheet", "ssdlab device check samsung-pm9a3"),
    ],
)
def device() -> None:
    """Derive a device from a data sheet, show the sources of a preset, or check it."""


@device.command(
    "from-datasheet",
    cls=options.ExamplesFirst,
    examples=[
        ("a sheet to fill in", "ssdlab device from-datasheet --template > sheet.toml"),
        ("derive the device", "ssdlab device from-datasheet sheet.toml --out my.toml"),
        (
            "narrow the ranges by results of fio",
            "ssdlab device from-datasheet sheet.toml --measured mixed.json --out my.toml",
        ),
    ],
)
@click.argument("file", metavar="SHEET.toml", required=False, type=PATH)
@click.option("--out", metavar="DEVICE.toml", type=PATH, help="Write the device to FILE (TOML).")
@click.option(
    "--measured",
    metavar="FILE.json",
    type=PATH,
    help="fio's JSON of jobs that the ranges name: narrows them, and chooses the values that fit.",
)
@click.option("--template", is_flag=True, help="Print a sheet with every key.")
@options.JSON
@options.QUIET
def from_datasheet(
    file: Path | None,
    out: Path | None,
    measured: Path | None,
    template: bool,
    json_path: str | None,
    quiet: bool,
) -> None:
    """Derive the drive that a data sheet describes, and simulate the sheet.

    Prints published and simulated figures side by side, each with its verdict (those used for
    fitting, bounds and guesses are marked), predictions for figures not in the sheet, and the
    assumptions made. Figures that are not in the sheet
    are ranges, each with the key that decides it and the fio job that would
    settle it. A sheet that contradicts itself is refused.
    """
    if template:
        if any(it is not None for it in (file, out, json_path, measured)):
            raise click.UsageError("--template takes no SHEET: it prints one to fill in")
        click.echo(sheets_given.template(), nl=False)
        return
    if file is None:
        raise click.UsageError("SHEET is missing; --template prints one to fill in")
    if out is not None:
        delivery.refuse(out, forms.FROM_SHEET)
    outputs = Outputs(json_path, quiet, forms.SOLVED)
    from ssdlab.datasheet import contradictions
    from ssdlab.datasheet.solve import solve
    from ssdlab.device import ranges
    from ssdlab.device.calibrate import calibrate

    given = sheets_given.parse(str(file), layers.from_file(file).text)
    contradictions.refuse(given)
    jobs = [] if measured is None else ranges.read(given, measured)
    drive = solve(given)
    with terminal.steps(sys.stderr, "simulating the sheet", quiet) as progress:
        found = calibrate(given, drive, progress)
    with terminal.steps(sys.stderr, "what the sheet hides", quiet) as progress:
        hidden = ranges.of_drive(given, drive, jobs, progress)
    if hidden.best is not None:
        drive.chosen = dict(hidden.best.keys)
    lines = [
        f"{it.cell.name}: {it.cell.text}, {it.cell.show(it.simulated)}" for it in found.outcomes
    ]
    head = [
        f"{drive.name}, solved from its data sheet by ssdlab device from-datasheet.",
        f"Published and simulated: {'; '.join(lines)}.",
    ]
    everything = {
        "name": drive.name,
        "device": drive.keys(),
        "cells": [it.to_dict() for it in found.outcomes],
        "predictions": [
            {"measure": it.cell.measure, **it.cell.parameters, "simulated": it.simulated}
            for it in found.predictions
        ],
        "ranges": hidden.to_dict(),
        "assumptions": drive.assumptions,
    }
    if out is not None:
        delivery.write(out, drive.file(head), forms.FROM_SHEET)
    outputs.json(everything)
    from ssdlab.device import display

    outputs.table(lambda: display.fitted(found, drive.name, hidden, sys.stdout))


@device.command(
    "compare-sheets",
    cls=options.ExamplesFirst,
    examples=[
        ("three drives", "ssdlab device compare-sheets A.toml B.toml C.toml"),
        ("beside a drive of the catalogue", "ssdlab device compare-sheets A.toml samsung-pm9a3"),
        ("a sheet to fill in", "ssdlab device from-datasheet --template > A.toml"),
    ],
)
@click.argument("files", metavar="SHEET.toml|DRIVE...", nargs=-1, type=PATH)
@options.JSON
@options.QUIET
def compare_sheets(files: tuple[Path, ...], json_path: str | None, quiet: bool) -> None:
    """Show data sheets side by side; nothing is simulated.

    A DRIVE of the catalogue has the figures that `device check` holds it to.
    Assumed and derived values begin with ~. A sheet that contradicts itself is refused.
    """
    if not files:
        raise click.UsageError("SHEET is missing; device from-datasheet --template prints one")
    outputs = Outputs(json_path, quiet, forms.SHEETS)
    from ssdlab.device import beside

    sides = [
        beside.of_sheet(sheets_given.parse(str(file), layers.from_file(file).text))
        if file.suffix or file.exists()
        else beside.of_catalogue(str(file))
        for file in files
    ]
    lines = beside.compared(sides)
    names = [it.name for it in sides]
    everything = {
        "drives": names,
        "lines": [{"key": it.key, "values": it.values, "stated": it.stated} for it in lines],
    }
    outputs.json(everything)
    from ssdlab.device import display

    outputs.table(lambda: display.beside(names, lines, sys.stdout))


@device.command(
    cls=options.ExamplesFirst,
    examples=[
        ("a preset", "ssdlab device show agrawal2008"),
        ("your own device file", "ssdlab device show my.toml --json"),
    ],
)
@options.device_argument("PRESET|FILE")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@options.QUIETLY
def show(positional: str | None, named: str | None, as_json: bool, quiet: bool) -> None:
    """Show the keys that a device sets and the origin of each value.

    Origins come from the comments beside the keys: published (with source), fitted (to what),
    or a guess.
    """
    found = origins.of(options.one_device(positional, named, "PRESET|FILE"))
    if quiet:
        return
    if as_json:
        click.echo(json.dumps(found.to_dict(), indent=2))
        return
    from ssdlab.device import display

    click.echo(display.origins(found, sys.stdout), nl=False)


@device.command(
    cls=options.ExamplesFirst,
    examples=[
        ("a preset", "ssdlab device check samsung-pm9a3"),
        ("compare your own file with that sheet",
         "ssdlab device check samsung-pm9a3 --device my.toml"),
    ],
)  # fmt: skip
@click.argument("name")
@click.option(
    "--device", "of", metavar="PRESET|FILE", help="Check this device instead of the preset."
)
@click.option("--quick", is_flag=True, help="Simulate a quarter of the time.")
@options.JSON
@options.QUIET
def check(name: str, of: str | None, quick: bool, json_path: str | None, quiet: bool) -> None:
    """Simulate the data sheet of the drive NAME: published, simulated, error.

    Cells to which the preset was fitted are marked. Exit status 1 if a cell is out of tolerance.
    """
    outputs = Outputs(json_path, quiet, forms.CHECKED)
    found = sheet.load(name)
    chosen = found.device if of is None else of
    Experiment(device=chosen)  # rejected before the first simulation
    with terminal.steps(sys.stderr, "simulating the sheet", quiet) as progress:
        outcomes = measure(chosen, found.cells, quick=quick, progress=progress)
    everything = {
        "sheet": found.name,
        "device": chosen,
        "sources": dict(found.sources),
        "unknown": list(found.unknown),
        "cells": [it.to_dict() for it in outcomes],
    }
    outputs.json(everything)
    if outputs.has_table:
        from ssdlab.device import display

        click.echo(display.outcomes(found.title, outcomes, found.sources, sys.stdout), nl=False)
        counts = Counter(it.verdict for it in outcomes)
        fitted = sum(it.cell.fitted for it in outcomes)
        told = ", ".join(f"{counts[kind]} {kind}" for kind in VERDICTS if counts[kind])
        click.echo(f"{told}; {fitted} of {len(outcomes)} were fitted")
    if any(it.verdict == "fail" for it in outcomes):
        sys.exit(1)
