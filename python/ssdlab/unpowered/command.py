"""`ssdlab retention`: data retention of an unpowered drive."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path

import click

from ssdlab import forms, layers, terminal
from ssdlab._core import InputError
from ssdlab.cli import options
from ssdlab.cli.options import PATH
from ssdlab.cli.outputs import Outputs
from ssdlab.unpowered import retention as estimated


@click.command(
    cls=options.ExamplesFirst,
    examples=[
        ("a year in a warm drawer, half worn",
         "ssdlab retention tlc-client --for 1y --at 40C --worn 50%"),
        ("at the end of its rating",
         "ssdlab retention tlc-enterprise --for 3mo --at 40C --worn 100%"),
        ("500 GB on a drive with 300 TB written",
         "ssdlab retention tlc-client --for 1y --at 30C --written 300TB --data 500GB"),
        ("with parity over the dies",
         "ssdlab retention tlc-client --for 1y --at 40C --worn 150% --set device.parity.of=16"),
    ],
)  # fmt: skip
@options.device_argument()
@click.option("long", "--for", metavar="TIME", required=True, help="How long, such as 90d or 1y.")
@click.option(
    "--at",
    metavar="TEMPERATURE",
    help="How warm, such as 40C. [default: device.media.temperature, 30C]",
)
@click.option("--worn", metavar="SHARE", help="Wear as a share of the rated cycles, such as 50%.")
@click.option(
    "--written", metavar="SIZE", help="Wear as bytes written, at a write amplification of 1."
)
@click.option("--data", metavar="SIZE", help="Data to keep. [default: the whole drive]")
@click.option(
    "assignments",
    "--set",
    metavar="KEY=VALUE",
    multiple=True,
    help="Change one key, such as device.ecc.hard=1e-2; repeatable.",
)
@click.option("--seed", metavar="N", type=int, help="Seed of the random generator.")
@options.ALLOW_CODE
@options.JSON
@click.option("--plot", metavar="FILE.png", type=PATH, help="Draw losses and retries over time.")
@options.no_cache
@options.QUIET
def retention(
    positional: str | None,
    named: str | None,
    long: str,
    at: str | None,
    worn: str | None,
    written: str | None,
    data: str | None,
    assignments: tuple[str, ...],
    seed: int | None,
    allow_code: bool,
    json_path: str | None,
    plot: Path | None,
    quiet: bool,
) -> None:
    """Estimate what DEVICE (a preset or a TOML file) loses of its data while it lies unused.

    A closed form for the whole drive, and beside it one read of the scaled drive after that time.
    The evidence is weak, and the output says how weak.
    """
    device = options.one_device(positional, named)
    outputs = Outputs(json_path, quiet, forms.RETENTION, plot=plot)
    with _named(long, at), terminal.steps(sys.stderr, "reading the aged drive", quiet):
        found = estimated(
            device,
            f"{long} at {at}" if at else long,
            worn=worn,
            written=written,
            data=data,
            set=layers.as_mapping(assignments),
            seed=seed,
            allow_code=allow_code,
        )
    from ssdlab.unpowered import display, figures

    outputs.json(found.to_dict())
    outputs.draw(lambda: [[figures.losses(found)], [figures.retries(found)]])
    outputs.table(lambda: display.table(found, sys.stdout))


@contextlib.contextmanager
def _named(long: str, at: str | None) -> Iterator[None]:
    """Name the option in errors about a time or temperature."""
    try:
        yield
    except InputError as error:
        said = str(error)
        of_temperature = at is not None and said.startswith(f'"{at}" is not a temperature')
        option = "--at" if of_temperature else "--for"
        whole = f"{long} at {at}" if at else long
        if of_temperature or said.startswith(f'"{whole}" is not'):
            raise InputError(f"{option} {at if of_temperature else long}: {said}") from None
        raise
