"""`ssdlab cliff`: when a long copy slows down."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click

from ssdlab import cliffs, delivery, forms, layers, terminal
from ssdlab.charts import matplotlib
from ssdlab.cli import options
from ssdlab.cli.options import PATH
from ssdlab.units import SIZE, TIME


@click.command(
    cls=options.ExamplesFirst,
    examples=[
        ("when does it slow down, to what?", "ssdlab cliff samsung-980pro --copy 500GB"),
        ("on a drive that is 60 % full", "ssdlab cliff samsung-980pro --copy 300GB --fill 60%"),
        ("the cache that a pause recovers", "ssdlab cliff samsung-980pro --copy 200GB --pause 60s"),
        ("a goal, as the exit status", "ssdlab cliff samsung-980pro --copy 500GB --within 5min"),
    ],
)  # fmt: skip
@options.device_argument()
@click.option(
    "--copy", "copied", metavar="SIZE", help="Size of the copy, such as 500GB; else all free space."
)
@click.option(
    "--fill",
    metavar="SHARE",
    default="0%",
    show_default=True,
    help="Share of the drive that holds data before the copy, such as 60%.",
)
@click.option(
    "--pause", metavar="TIME", help="Idle for TIME, then report how much cache recovered."
)
@click.option(
    "--within",
    metavar="TIME",
    help="Time allowed for the copy, such as 5min; exit status 1 beyond.",
)
@click.option(
    "assignments",
    "--set",
    metavar="KEY=VALUE",
    multiple=True,
    help="Change one key, such as device.slc_cache.limit=50GB; repeatable.",
)
@click.option("--seed", metavar="N", type=int, help="Seed of the random generator.")
@options.ALLOW_CODE
@options.JSON
@click.option("--plot", metavar="FILE.png", type=PATH, help="Draw the rate over what was written.")
@options.no_cache
@options.QUIET
def cliff(
    positional: str | None,
    named: str | None,
    copied: str | None,
    fill: str,
    pause: str | None,
    within: str | None,
    assignments: tuple[str, ...],
    seed: int | None,
    allow_code: bool,
    json_path: str | None,
    plot: Path | None,
    quiet: bool,
) -> None:
    """Copy to DEVICE (a preset or a TOML file) until its SLC cache is full, and beyond.

    The copy is written in sequence where the drive holds nothing.
    """
    device = options.one_device(positional, named)
    json_file = None if json_path in (None, "-") else Path(str(json_path))
    for path, form in ((json_file, forms.CLIFF), (plot, forms.PICTURE)):
        if path is not None:
            delivery.refuse(path, form)
    if plot is not None:
        matplotlib.check("--plot", plot)
    limit = None if within is None else _time("--within", within)
    share = _share(fill)
    size = None if copied is None else SIZE.parse("--copy", copied)
    remainder = None if pause is None else _time("--pause", pause)
    with terminal.steps(sys.stderr, "copying", quiet):
        found = cliffs.cliff(
            device,
            size,
            fill=share,
            pause_seconds=remainder,
            set=_changes(assignments),
            seed=seed,
            allow_code=allow_code,
        )
    text = json.dumps(found.to_dict(limit), indent=2) + "\n"
    if json_file is not None:
        delivery.write(json_file, text, forms.CLIFF)
    if plot is not None:
        from ssdlab.cliffs import figures

        drawn = matplotlib.sheet([[figures.rates(found)]], "--plot")
        matplotlib.save(plot, drawn)
    if json_path == "-":
        click.echo(text, nl=False)
    elif not quiet:
        from ssdlab.cliffs import display

        click.echo(display.cliff(found, limit, sys.stdout), nl=False)
    if limit is not None and found.seconds > limit:
        sys.exit(1)


def _changes(assignments: tuple[str, ...]) -> dict[str, str]:
    """The assignments as keys and values; the experiment checks their meaning."""
    layers.from_options(assignments)
    pairs = (it.split("=", 1) for it in assignments)
    return {key.strip(): _value(value.strip()) for key, value in pairs}


def _value(text: str) -> str:
    return text.strip("\"'")


def _share(text: str) -> float:
    """A share such as 60% or 0.6, from 0 to below 1."""
    from ssdlab._core import InputError

    number, percent = text.strip().removesuffix("%"), text.strip().endswith("%")
    try:
        share = float(number) / (100 if percent else 1)
    except ValueError:
        share = -1.0
    if not 0 <= share < 1:
        raise InputError(f'--fill {text}: expected a share from 0% to below 100%, such as "60%"')
    return share


def _time(option: str, text: str) -> float:
    """A time in seconds; minutes are accepted too."""
    words = text.strip()
    if words.endswith("min") and words[:-3].strip().replace(".", "", 1).isdigit():
        return float(words[:-3]) * 60
    return TIME.parse(option, text)
