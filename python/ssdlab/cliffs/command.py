"""`ssdlab cliff`: when a long copy slows down."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from ssdlab import cliffs, forms, layers, terminal
from ssdlab.cli import options
from ssdlab.cli.options import PATH
from ssdlab.cli.outputs import Outputs
from ssdlab.units import LONG_TIME


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
    outputs = Outputs(json_path, quiet, forms.CLIFF, plot=plot)
    limit = LONG_TIME.given("--within", within)
    with terminal.steps(sys.stderr, "copying", quiet):
        found = cliffs.cliff(
            device,
            copied,
            fill=fill,
            pause=pause,
            set=layers.as_mapping(assignments),
            seed=seed,
            allow_code=allow_code,
        )
    from ssdlab.cliffs import display, figures

    outputs.json(found.to_dict(limit))
    outputs.draw(lambda: [[figures.rates(found)]])
    outputs.table(lambda: display.cliff(found, limit, sys.stdout))
    if limit is not None and found.seconds > limit:
        sys.exit(1)
