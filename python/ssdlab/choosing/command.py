"""`ssdlab choose`: which drive of the catalogue for a trace."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from ssdlab import choosing, forms, interruption, sizing, terminal
from ssdlab.cli import drives as shared
from ssdlab.cli.options import COLUMNS, PATH, ExamplesFirst
from ssdlab.cli.outputs import Outputs
from ssdlab.costing import need as needs


@click.command(
    cls=ExamplesFirst,
    examples=[
        ("the cheapest drive that answers in time", "ssdlab choose --trace FILE --p99 2ms"),
        ("with room for data, and for seven years",
         "ssdlab choose --trace FILE --p99 2ms --years 7 --need gb=3000,read.p99=1ms"),
        ("of these two, at your prices",
         "ssdlab choose --trace FILE --device samsung-pm9a3 --device micron-7450-pro "
         "--price samsung-pm9a3=140"),
        ("all drives that are tried", "ssdlab list devices"),
    ],
)  # fmt: skip
@click.option("--trace", metavar="FILE", type=PATH, help="The trace to serve.")
@shared.LOAD
@COLUMNS
@click.option("--p99", metavar="TIME", help="Maximum p99 latency, such as 2ms.")
@click.option("--p999", metavar="TIME", help="Maximum p99.9 latency.")
@click.option(
    "--years",
    metavar="NUMBER",
    type=float,
    show_default=f"{sizing.YEARS:g} where a run or a rating tells it",
    help="Minimum lifetime of the flash under this trace.",
)
@click.option(
    "texts",
    "--need",
    metavar="NAME=VALUE,...",
    multiple=True,
    help="Further requirements: gb, and latencies such as read.p99.9=1ms.",
)
@shared.ONLY
@shared.most("most", choosing.MAX_DRIVES)
@shared.PRICES
@shared.CATALOGUE
@shared.POWER
@shared.runs
@shared.numbers
@click.option("--quiet", is_flag=True, help="No progress bar and no table.")
def choose(
    trace: Path | None,
    load: str | None,
    columns: str | None,
    p99: str | None,
    p999: str | None,
    years: float | None,
    texts: tuple[str, ...],
    drives: tuple[str, ...],
    most: int,
    prices: tuple[str, ...],
    own_catalogue: Path | None,
    power_dollars_per_kwh: float | None,
    assignments: tuple[str, ...],
    seed: int,
    json_path: str | None,
    quiet: bool,
) -> None:
    """Compare the drives on sale under a trace or another load, in order of cost.

    Each is simulated as it is sold, preconditioned and under the trace, with as few drives as meet
    the targets. Exit status 1 if none does.
    """
    outputs = Outputs(json_path, quiet, forms.CHOICE)
    from ssdlab.asking import what

    asked = what.load_of(trace, load, columns, assignments)
    interrupted: choosing.InterruptedChoice | None = None
    with terminal.steps(sys.stderr, "choosing", quiet) as bar:
        try:
            found = choosing.choose(
                asked,
                p99=p99,
                p999=p999,
                years=years,
                need=needs.parse(texts),
                device=drives,
                drives=most,
                prices=shared.dollars(prices),
                catalogue=own_catalogue,
                power_dollars_per_kwh=power_dollars_per_kwh,
                set=assignments,
                seed=seed,
                progress=None if bar is None else lambda _, done, all_: bar(done, all_),
            )
        except choosing.InterruptedChoice as error:
            interrupted, found = error, error.choice
    outputs.json(found.to_dict())
    from ssdlab.choosing import display

    outputs.table(lambda: display.choice(found, sys.stdout))
    if interrupted is not None:
        raise interruption.Interrupted(interrupted.said) from interrupted
    if found.best is None:
        sys.exit(1)
