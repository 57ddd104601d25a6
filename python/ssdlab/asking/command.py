"""`ssdlab ask`: finds a drive for a trace, fio or iostat results, or a load in words."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from ssdlab import asking, forms, interruption
from ssdlab._core import InputError
from ssdlab.asking import health as healths
from ssdlab.choosing import InterruptedChoice, Offer
from ssdlab.cli import drives as shared
from ssdlab.cli.options import ExamplesFirst
from ssdlab.cli.outputs import Outputs


@click.command(
    cls=ExamplesFirst,
    examples=[
        ("which drive for this trace?", "ssdlab ask FILE"),
        ("for a load in words, and with needs",
         'ssdlab ask --load "70/30 8K random, 20 K IOPS" --need 4TB,5y,p99=2ms'),
        ("for results of fio, or of iostat -x", "ssdlab ask fio.json"),
        ("how long will mine last?", "ssdlab ask smart.json --rated 600TB"),
    ],
)  # fmt: skip
@click.argument("what", required=False)
@shared.LOAD
@click.option(
    "--need", metavar="TEXT", help="Capacity, years, latencies: 4TB,5y,p99=2ms,read.p99.9=5ms."
)
@shared.ONLY
@shared.most("most", asking.MAX_DRIVES)
@shared.PRICES
@shared.CATALOGUE
@click.option("--rated", metavar="SIZE", help="Of a drive's SMART: its rated writes (TBW).")
@click.option("--flash", metavar="SIZE", help="Of a drive's SMART: its flash, such as 512GiB.")
@click.option("--columns", metavar="LIST", help="Columns of a table, by name or number.")
@click.option("--volume", metavar="NAME", help="The device of iostat. [default: the busiest]")
@shared.runs
@shared.numbers
@click.option("--quiet", is_flag=True, help="Print nothing but what --json asks for.")
def ask(
    what: str | None,
    load: str | None,
    need: str | None,
    drives: tuple[str, ...],
    most: int,
    prices: tuple[str, ...],
    own_catalogue: Path | None,
    rated: str | None,
    flash: str | None,
    columns: str | None,
    volume: str | None,
    assignments: tuple[str, ...],
    seed: int,
    json_path: str | None,
    quiet: bool,
) -> None:
    """Find the drive for WHAT you have, and say what the answer rests on.

    WHAT is a trace, results or a job of fio, or iostat -x; rows come as drives are tried, Ctrl-C
    keeps them. Or smartctl -j, nvme smart-log -o json: how long will this drive last? Exit status 1
    if no drive fits.
    """
    outputs = Outputs(json_path, quiet, forms.ANSWER, forms.HEALTH)
    health = healths.of(what, flash, rated, drives) if load is None else None
    if health is not None:
        if need is not None:
            raise InputError(f"--need {need}: {health.name} is of a drive; needs are of a load")
        outputs.json(health.to_dict(), forms.HEALTH)
        outputs.table(lambda: str(health))
        return
    question = asking.question(
        what,
        load=load,
        need=need,
        device=drives,
        drives=most,
        prices=shared.dollars(prices),
        catalogue=own_catalogue,
        set=assignments,
        columns=columns,
        volume=volume,
        seed=seed,
    )
    from ssdlab.asking import display

    head = [display.head(question)]

    def print_row(offer: Offer, _done: int, _all: int) -> None:
        # A replay may reject the trace; nothing is printed then.
        click.echo("".join((*head, display.row(offer, question))), nl=False)
        head.clear()

    interrupted: InterruptedChoice | None = None
    try:
        found = asking.answer(question, print_row if outputs.has_table else None)
    except InterruptedChoice as error:
        interrupted, found = error, asking.Answer(question, error.choice)
    outputs.json(found.to_dict())
    outputs.table(lambda: "".join((*head, display.end(found))))
    if interrupted is not None:
        raise interruption.Interrupted(interrupted.said) from interrupted
    if found.choice.best is None:
        sys.exit(1)
