"""`ssdlab paper`: runs items of the studies, and prints published beside simulated figures."""

from __future__ import annotations

import dataclasses
import json
import sys
from difflib import get_close_matches
from pathlib import Path

import click

from ssdlab import delivery, forms, terminal
from ssdlab._core import InputError
from ssdlab.charts import matplotlib
from ssdlab.cli.options import QUIET, ExamplesFirst
from ssdlab.paper import ITEMS, Item, gray
from ssdlab.paper.item import counts
from ssdlab.paper.study import Study
from ssdlab.running import Experiment

#: Items with optional traces other than the recorded workloads.
DISKSIM = ("disks", "raid")


class ItemName(click.ParamType):  # type: ignore[type-arg]  # not generic in click 8.1
    """Parameter type: the word of an item; the error for a wrong one names the nearest."""

    name = "item"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """`value`, if it is an item."""
        if value not in ITEMS:
            near = get_close_matches(value, ITEMS, n=3)
            hint = f" (did you mean {' or '.join(near)}?)" if near else ""
            self.fail(f'there is no item "{value}"; items: {", ".join(ITEMS)}{hint}', param, ctx)
        return value


#: Items that also measure wall-clock time.
LIVE = ("maghraoui", "paging")


@click.command(cls=ExamplesFirst)
@click.argument("items", nargs=-1, metavar="[ITEM...]", type=ItemName())
@click.option(
    "--quick", is_flag=True, help="Smaller drives and fewer requests: all items within a minute."
)
@click.option(
    "--traces",
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="Replay the real IOzone and Postmark traces of DIR instead of generating such workloads, "
    "and for the items disks and raid DiskSim's traces.",
)
@click.option("--report", metavar="FILE.html", help="Write the items, with figures, as a web page.")
@click.option("--json", "json_path", metavar="FILE|-", help="Write the items as JSON.")
@click.option("--plot", metavar="FILE.png", type=click.Path(path_type=Path), help="Draw figures.")
@click.option(
    "--device",
    metavar="PRESET|FILE",
    help="The device of the item diskspd. [default: agrawal2008]",
)
@click.option(
    "inputs",
    "--input",
    metavar="KEY=VALUE",
    multiple=True,
    help="Change an input of the arithmetic of gray and diskspd, such as disks=60 or "
    "flash_dollars=400; nothing is then compared with it.",
)
@QUIET
@click.option(
    "--live",
    is_flag=True,
    help="Item maghraoui: also serve its device and measure it by the clock, for a minute; paging: "
    "swap a real program on served devices, where the system allows it.",
)
def paper(
    items: tuple[str, ...],
    quick: bool,
    traces: Path | None,
    report: str | None,
    json_path: str | None,
    plot: Path | None,
    device: str | None,
    inputs: tuple[str, ...],
    live: bool,
    quiet: bool,
) -> None:
    """Repeat published studies; without ITEM, all of them.

    Each row has the published and the simulated figure, the difference and, where the two
    should agree, the tolerance and a verdict. Exit status 1 if a verdict is "fail".
    """
    chosen = list(dict.fromkeys(items)) or list(ITEMS)
    if device is not None and "diskspd" not in chosen:
        raise InputError("--device is only for the item diskspd; the others use their own device")
    if inputs and not {"diskspd", "gray"} & set(chosen):
        raise InputError("--input is only for the items gray and diskspd")
    if live and not set(LIVE) & set(chosen):
        raise InputError(f"--live is only for the items {' and '.join(LIVE)}")
    changes = _inputs(inputs)
    if device is not None:
        Experiment(device=device)  # rejected before other items run for minutes
    outputs = [None if path in (None, "-") else Path(str(path)) for path in (json_path, report)]
    of_each = (forms.STUDIES, forms.STUDIES_PAGE, forms.PICTURE)
    for path, form in zip((*outputs, plot), of_each, strict=True):
        if path is not None:
            delivery.refuse(path, form)
    if plot is not None:
        matplotlib.check("--plot", plot)
    with terminal.steps(sys.stderr, "simulating", quiet) as progress:
        replay = any(name not in DISKSIM for name in chosen)
        study = Study(quick, traces, device, changes, progress, replay, live)
        found = study.run({name: ITEMS[name] for name in chosen})
    text = (
        json.dumps({"items": [item.to_dict() for item in found], "verdicts": counts(found)}) + "\n"
    )
    if outputs[0] is not None:
        delivery.write(outputs[0], text, forms.STUDIES)
    if outputs[1] is not None:
        from ssdlab.paper.report import page

        delivery.write(outputs[1], page(found, quick, traces is not None), forms.STUDIES_PAGE)
    if json_path == "-":
        click.echo(text, nl=False)
    elif not quiet:
        from ssdlab.paper import display

        for item in found:
            click.echo(display.item_table(item, sys.stdout), nl=False)
        click.echo(_summary(found))
    if plot is not None:
        draw(found, plot)
    if any(row.verdict == "fail" for item in found for row in item.rows):
        sys.exit(1)


def _summary(items: list[Item]) -> str:
    """Number of verdicts of each kind, and the failed items."""
    line = ", ".join(f"{number} {kind}" for kind, number in counts(items).items())
    failed = [item.name for item in items if any(row.verdict == "fail" for row in item.rows)]
    return f"{line} (failed in {', '.join(failed)})" if failed else line


def _inputs(inputs: tuple[str, ...]) -> dict[str, float]:
    """Changes of the arithmetic's inputs by `--input`."""
    fields = {field.name: type(getattr(gray.Array(), field.name)) for field in FIELDS}
    changes: dict[str, float] = {}
    for assignment in inputs:
        key, _, value = assignment.partition("=")
        if key not in fields:
            raise InputError(f"--input {assignment}: the inputs are {', '.join(fields)}")
        if key in changes:
            raise InputError(f"--input {assignment}: {key} is given twice; keep one")
        try:
            number = fields[key](value)
        except ValueError:
            raise InputError(f"--input {assignment}: {value!r} is not a number") from None
        if not number > 0:
            raise InputError(f"--input {assignment}: {key} must be positive")
        changes[key] = number
    return changes


FIELDS = dataclasses.fields(gray.Array)


def draw(items: list[Item], path: Path) -> None:
    """Draws every figure of the items, one above the other, into one picture."""
    figures = [figure for item in items for figure in item.figures]
    if not figures:
        raise InputError(f"--plot {path}: the items {', '.join(i.name for i in items)} have none")
    rows = [[figure] for figure in figures]
    matplotlib.save(path, matplotlib.sheet(rows, "--plot", size=(9, 5 * len(rows))))
