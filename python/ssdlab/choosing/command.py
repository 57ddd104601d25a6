"""`ssdlab choose`: which drive of the catalogue for a trace."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click

from ssdlab import choosing, delivery, forms, interruption, sizing, terminal
from ssdlab.cli import drives as shared
from ssdlab.cli.options import COLUMNS, PATH, ExamplesFirst
from ssdlab.costing import need as needs
from ssdlab.units import TIME


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
    json_file = None if json_path in (None, "-") else Path(str(json_path))
    if json_file is not None:
        delivery.refuse(json_file, forms.CHOICE)
    from ssdlab.asking import what

    asked = what.load_of(trace, load, columns, assignments)
    interrupted: choosing.InterruptedChoice | None = None
    with terminal.steps(sys.stderr, "choosing", quiet) as bar:
        try:
            found = choosing.choose(
                asked,
                p99_us=None if p99 is None else TIME.parse("--p99", p99) * 1e6,
                p999_us=None if p999 is None else TIME.parse("--p999", p999) * 1e6,
                years=years,
                need=needs.parse(texts),
                device=drives,
                drives=most,
                prices=shared.dollars(prices),
                catalogue=own_catalogue,
                power_dollars_per_kwh=power_dollars_per_kwh,
                set=assignments,
                seed=seed,
                told=None if bar is None else lambda _, done, all_: bar(done, all_),
            )
        except choosing.InterruptedChoice as error:
            interrupted, found = error, error.choice
    text = json.dumps(found.to_dict(), indent=2) + "\n"
    if json_file is not None:
        delivery.write(json_file, text, forms.CHOICE)
    if json_path == "-":
        click.echo(text, nl=False)
    elif not quiet:
        from ssdlab.choosing import display

        click.echo(display.choice(found, sys.stdout), nl=False)
    if interrupted is not None:
        raise interruption.Interrupted(interrupted.said) from interrupted
    if found.best is None:
        sys.exit(1)
