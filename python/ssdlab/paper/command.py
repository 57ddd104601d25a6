"""`ssdlab paper`: runs items of the studies, prints what was published beside what is simulated."""

from __future__ import annotations

import dataclasses
import json
import sys
from pathlib import Path
from typing import Any

import click

from ssdlab import display, files
from ssdlab._core import InputError
from ssdlab.paper import ITEMS, Item, diskspd


@click.command()
@click.argument("items", nargs=-1, metavar="[ITEM...]", type=click.Choice(list(ITEMS)))
@click.option("--device", metavar="PRESET|FILE", help="The device; by default the baseline drive.")
@click.option("--quick", is_flag=True, help="A tenth of the requests at each point.")
@click.option(
    "inputs",
    "--input",
    metavar="KEY=VALUE",
    multiple=True,
    help="Change an input of the arithmetic, such as disks=60 or flash_dollars=400.",
)
@click.option("--plot", metavar="FILE.png", type=click.Path(path_type=Path), help="Draw figures.")
@click.option("--json", "json_path", metavar="FILE|-", help="Write the items as JSON.")
def paper(
    items: tuple[str, ...],
    device: str | None,
    quick: bool,
    inputs: tuple[str, ...],
    plot: Path | None,
    json_path: str | None,
) -> None:
    """Repeat published studies; without ITEM, all of them.

    Each row has what was published, what is simulated, the difference and, where the two should
    agree, a verdict. Exit status 1 when a verdict is "fail".
    """
    array = _array(inputs)
    for path in (plot, None if json_path in (None, "-") else Path(str(json_path))):
        if path is not None:
            files.refuse_unwritable(path)
    if plot is not None:
        _matplotlib()
    found = []
    for name in items or tuple(ITEMS):
        with display.steps(sys.stderr, name) as progress:
            found.append(ITEMS[name].run(device, quick, array, progress))
    text = json.dumps({"items": [item.to_dict() for item in found]}) + "\n"
    if json_path == "-":
        click.echo(text, nl=False)
    else:
        if json_path is not None:
            files.write_together({Path(json_path): text})
        for item in found:
            click.echo(display.item_table(item, sys.stdout), nl=False)
    if plot is not None:
        draw(found, plot)
    if any(row.verdict == "fail" for item in found for row in item.rows):
        sys.exit(1)


def _array(inputs: tuple[str, ...]) -> diskspd.Array:
    """The arithmetic's inputs, with what `--input` changes."""
    fields = {field.name: type(getattr(diskspd.Array(), field.name)) for field in FIELDS}
    changes: dict[str, Any] = {}
    for assignment in inputs:
        key, _, value = assignment.partition("=")
        if key not in fields:
            raise InputError(f"--input {assignment}: the inputs are {', '.join(fields)}")
        try:
            number = fields[key](value)
        except ValueError:
            raise InputError(f"--input {assignment}: {value!r} is not a number") from None
        if not number > 0:
            raise InputError(f"--input {assignment}: {key} must be positive")
        changes[key] = number
    return diskspd.Array(**changes)


FIELDS = dataclasses.fields(diskspd.Array)


def _matplotlib() -> Any:
    try:
        import matplotlib
    except ImportError:
        raise InputError("--plot needs matplotlib: pip install 'ssdlab[plot]'") from None
    matplotlib.use("Agg")
    from matplotlib import pyplot

    return pyplot


def draw(items: list[Item], path: Path) -> None:
    """Draws every figure of the items, one above the other, into one picture."""
    pyplot = _matplotlib()
    figures = [figure for item in items for figure in item.figures]
    sheet, axes = pyplot.subplots(
        len(figures), 1, figsize=(9, 5 * len(figures)), squeeze=False, layout="constrained"
    )
    for axis, figure in zip(axes.flat, figures, strict=True):
        colours: dict[str, Any] = {}
        for line in figure.series:
            # Lines of one kind share a colour; what follows the comma is told by their dashes.
            kind, _, variant = line.name.partition(", ")
            variants = sum(name.startswith(f"{kind}, ") for name in colours)
            colour = next((c for n, c in colours.items() if n.startswith(f"{kind}, ")), None)
            drawn = axis.plot(
                line.x,
                line.y,
                marker="o",
                markersize=3,
                color=colour,
                linestyle=["-", "--", ":"][variants % 3],
                label=line.name,
            )
            colours[line.name] = drawn[0].get_color()
        axis.set(title=figure.title, xlabel=figure.x_label, ylabel=figure.y_label)
        axis.set_xscale("log", base=2)
        axis.set_yscale("log")
        axis.xaxis.set_major_formatter("{x:g}")
        axis.grid(True, which="both", alpha=0.2)
        axis.legend(fontsize=7, ncols=2)
    try:
        sheet.savefig(path, dpi=110)
    finally:
        pyplot.close(sheet)
