"""`ssdlab ask`: finds a drive for a trace, fio or iostat results, or a load in words."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click

from ssdlab import asking, delivery, forms, interruption
from ssdlab._core import InputError
from ssdlab.asking import health as healths
from ssdlab.choosing import InterruptedChoice, Offer
from ssdlab.cli import drives as shared
from ssdlab.cli.options import ExamplesFirst


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
    json_file = None if json_path in (None, "-") else Path(str(json_path))
    if json_file is not None:
        delivery.refuse(json_file, forms.ANSWER, forms.HEALTH)
    health = healths.of(what, flash, rated, drives) if load is None else None
    if health is not None:
        _tell_health(health, need, json_path, quiet)
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
    is_shown = not quiet and json_path != "-"
    from ssdlab.asking import display

    head = [display.head(question)]

    def told(offer: Offer, _done: int, _all: int) -> None:
        # A replay may reject the trace; nothing is printed then.
        click.echo("".join((*head, display.row(offer, question))), nl=False)
        head.clear()

    interrupted: InterruptedChoice | None = None
    try:
        found = asking.answer(question, told if is_shown else None)
    except InterruptedChoice as error:
        interrupted, found = error, asking.Answer(question, error.choice)
    text = json.dumps(found.to_dict(), indent=2) + "\n"
    if json_file is not None:
        delivery.write(json_file, text, forms.ANSWER)
    if json_path == "-":
        click.echo(text, nl=False)
    elif is_shown:
        click.echo("".join((*head, display.end(found))), nl=False)
    if interrupted is not None:
        raise interruption.Interrupted(interrupted.said) from interrupted
    if found.choice.best is None:
        sys.exit(1)


def _tell_health(
    health: healths.Health, need: str | None, json_path: str | None, quiet: bool
) -> None:
    if need is not None:
        raise InputError(f"--need {need}: {health.name} is of a drive; needs are of a load")
    text = json.dumps(health.to_dict(), indent=2) + "\n"
    if json_path not in (None, "-"):
        delivery.write(Path(str(json_path)), text, forms.HEALTH)
    if json_path == "-":
        click.echo(text, nl=False)
    elif not quiet:
        click.echo(str(health), nl=False)
