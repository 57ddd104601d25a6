"""`ssdlab cost`: the cost of meeting given needs, from existing results."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from ssdlab import forms, reading
from ssdlab.cli.options import JSON, PATH, QUIET, ExamplesFirst
from ssdlab.cli.outputs import Outputs
from ssdlab.costing import need as needs
from ssdlab.costing.answer import calculate
from ssdlab.costing.prices import KEYS, MEANING, from_options, option

COMMAND = TypeVar("COMMAND", bound=Callable[..., Any])


def price_options(command: COMMAND) -> COMMAND:
    """Adds an option for each key of `[cost]`."""
    for key in reversed(KEYS):
        command = click.option(option(key), key, metavar="NUMBER", type=float, help=MEANING[key])(
            command
        )
    return command


@click.command(
    cls=ExamplesFirst,
    examples=[
        (
            "the cost of 18,000 IOPS and 3,240 GB over five years",
            "ssdlab cost out --need iops=18000,gb=3240,p99=20ms --device-dollars 600 --years 5",
        ),
        (
            "the cheapest design of a sweep, with power and cooling",
            "ssdlab cost sweep.jsonl --need iops=50000,dwpd=1 --capacity-dollars-per-gb 0.2 "
            "--years 5 --power-dollars-per-kwh 0.12 --pue 1.5",
        ),
        (
            "the five-minute rule: the break-even interval of a page in memory",
            "ssdlab cost out --device-dollars 400 --five-minute 48",
        ),
    ],
)
@click.argument("results", nargs=-1, required=True, metavar="RESULTS...", type=PATH)
@click.option(
    "texts",
    "--need",
    metavar="NAME=VALUE,...",
    multiple=True,
    help="Requirements: iops, mb_per_s, gb, dwpd, and latencies such as p99=20ms or "
    "read.p99.9=1ms. [default: one device]",
)
@price_options
@click.option(
    "--five-minute",
    "dollars_per_gib",
    metavar="NUMBER",
    type=float,
    help="Price of a GiB of memory; also computes the break-even interval between accesses "
    "(five-minute rule).",
)
@click.option(
    "--against",
    metavar="LATENCY",
    help="The latency of the Pareto front. [default: the first one required, or p99]",
)
@JSON
@QUIET
@click.option(
    "--plot", metavar="FILE.png", type=PATH, help="Draw the cost breakdown and the Pareto front."
)
def cost(
    results: tuple[Path, ...],
    texts: tuple[str, ...],
    dollars_per_gib: float | None,
    against: str | None,
    json_path: str | None,
    plot: Path | None,
    quiet: bool,
    **given: float | None,
) -> None:
    """Calculate the cost of meeting requirements with the devices of RESULTS.

    RESULTS are files or directories of `ssdlab run`, or the .jsonl file of a sweep, each point of
    which is a design. Nothing is simulated: a device performs as measured in its run. Prices
    come from [cost] in the experiment; options override it.
    """
    need, prices = needs.parse(texts), from_options(given)
    outputs = Outputs(json_path, quiet, forms.COST, plot=plot)
    with reading.of_files(*results):
        found = calculate(results, need, prices, against, dollars_per_gib)
    from ssdlab.costing import display, figures

    rows = found.bills, found.on_front, found.against
    outputs.json(found.to_dict())
    outputs.draw(lambda: [[it] for it in figures.all_of(*rows)])
    outputs.table(lambda: display.shown(need, *rows, sys.stdout))
    if found.cheapest is None:
        sys.exit(1)
