"""`ssdlab plan`, `ssdlab consolidate` and `ssdlab protect`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ssdlab import choosing, delivery, forms, market, reliability, sizing, terminal, under_load
from ssdlab._core import InputError
from ssdlab.cli import completion
from ssdlab.cli import drives as shared
from ssdlab.cli.options import COLUMNS, PATH, ExamplesFirst
from ssdlab.cli.outputs import Outputs
from ssdlab.plans import growth, schemes, tenants
from ssdlab.sizing.trial import Goal

if TYPE_CHECKING:
    from ssdlab.plans.display import Answer


class Percent(click.types.FloatParamType):
    """A number of percent, with or without the sign."""

    name = "percent"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """The number. Raises `BadParameter` for another text."""
        stated: Any = value.strip().removesuffix("%") if isinstance(value, str) else value
        return float(super().convert(stated, param, ctx))


QUIET = click.option("--quiet", is_flag=True, help="No progress bar and no table.")
OUT = click.option("--out", metavar="FILE.html", type=PATH, help="Write a page with the answer.")
TRACE = click.option("--trace", metavar="FILE", type=PATH, help="The trace of the load.")
DEVICE = click.option(
    "device",
    "--device",
    metavar="PRESET|FILE",
    default="samsung-pm9a3",
    show_default=True,
    shell_complete=completion.names("devices", file=True),
    help="The drive.",
)


def _outputs(json_path: str | None, quiet: bool, form: forms.Form, out: Path | None) -> Outputs:
    if out is not None:
        delivery.refuse(out, forms.REPORT)
    return Outputs(json_path, quiet, form)


def _deliver(outputs: Outputs, found: Any, answer: Answer, out: Path | None) -> None:
    from ssdlab.plans import display
    from ssdlab.plans.page import page

    outputs.json(found.to_dict())
    if out is not None:
        delivery.write(out, page(answer), forms.REPORT)
    outputs.table(lambda: display.text(answer, sys.stdout))


@click.command(
    cls=ExamplesFirst,
    examples=[
        ("five years of a load and data that grow by 30 % each",
         'ssdlab plan --load "70/30 8K random, 20 K IOPS" --need 4TB,5y,p99=2ms --growth 30'),
        ("data alone grow; two drives at your prices",
         "ssdlab plan --trace FILE --need 10TB,5y --growth 40 --load-growth 0 "
         "--device samsung-pm9a3 --device micron-7450-pro --price samsung-pm9a3=140"),
    ],
)  # fmt: skip
@TRACE
@shared.LOAD
@COLUMNS
@click.option(
    "--need", metavar="TEXT", help="Data, years, latencies of the first year: 4TB,5y,p99=2ms."
)
@click.option(
    "--growth",
    metavar="PERCENT",
    type=Percent(),
    default=0.0,
    show_default=True,
    help="Growth of the data a year.",
)
@click.option(
    "--load-growth",
    metavar="PERCENT",
    type=Percent(),
    help="Growth of the requests a second a year. [default: as the data]",
)
@shared.ONLY
@shared.most("most", growth.MOST_DRIVES)
@shared.PRICES
@shared.CATALOGUE
@shared.POWER
@shared.runs
@shared.numbers
@OUT
@QUIET
def plan(
    trace: Path | None,
    load: str | None,
    columns: str | None,
    need: str | None,
    growth: float,
    load_growth: float | None,
    drives: tuple[str, ...],
    most: int,
    prices: tuple[str, ...],
    own_catalogue: Path | None,
    power_dollars_per_kwh: float | None,
    assignments: tuple[str, ...],
    seed: int,
    json_path: str | None,
    out: Path | None,
    quiet: bool,
) -> None:
    """Plan a load that grows: which drive, how many each year, what breaks when, total cost.

    Each drive is simulated under the load of each year, as ssdlab choose tries it, in the least
    number that meets the targets. Worn drives are bought anew. Exit status 1 if no drive lasts.
    """
    from ssdlab.asking import what, words
    from ssdlab.plans import growth as growths

    outputs = _outputs(json_path, quiet, forms.PLAN, out)
    asked = what.load_of(trace, load, columns, assignments)
    needs = {} if need is None else words.need(need)
    years = float(needs.get("years", sizing.YEARS))
    if years != round(years):
        raise InputError(f"--need {years:g}y: a plan has whole years")
    goals = [
        Goal({"p99": "p99_us", "p99.9": "p999_us"}.get(name, name), float(limit))
        for name, limit in needs.items()
        if name not in ("gb", "years")
    ]
    rows = market.with_own(own_catalogue)
    terms = choosing.terms_of(years, shared.dollars(prices), power_dollars_per_kwh, drives, rows)
    gigabytes = float(needs.get("gb", 0.0))
    names = choosing.named(drives, rows) or choosing.offered(rows)
    requested = choosing.Asked(asked, goals, terms, gigabytes, most, assignments, seed)
    of_load = growth if load_growth is None else load_growth
    with terminal.steps(sys.stderr, "planning", quiet) as bar:
        found = growths.plan(requested, names, int(years), growth / 100, of_load / 100, bar)
    from ssdlab.plans import display

    _deliver(outputs, found, display.plan(found), out)
    if found.best is None:
        sys.exit(1)


@click.command(
    cls=ExamplesFirst,
    examples=[
        ("three tenants on one drive",
         'ssdlab consolidate --tenant oltp.csv --tenant "writes 128K sequential, 200 MB/s" '
         '--tenant "reads 4K, 5 K IOPS" --device samsung-pm9a3'),
    ],
)  # fmt: skip
@click.option(
    "texts",
    "--tenant",
    metavar="FILE|TEXT",
    multiple=True,
    required=True,
    help="A trace, or a load in words and numbers; two or more.",
)
@DEVICE
@click.option(
    "--requests",
    metavar="N",
    type=int,
    default=tenants.REQUESTS,
    show_default=True,
    help="Requests of all tenants together in each run.",
)
@shared.runs
@shared.numbers
@OUT
@QUIET
def consolidate(
    texts: tuple[str, ...],
    device: str,
    requests: int,
    assignments: tuple[str, ...],
    seed: int,
    json_path: str | None,
    out: Path | None,
    quiet: bool,
) -> None:
    """Put several tenants on one drive: who suffers from whom, and which remedy helps.

    Each tenant has an equal part of the drive. They run alone, together, and with one of them left
    out; then with a placement handle for each, with fair queues, and with the rate of the noisiest
    halved.
    """
    from ssdlab.asking import what

    outputs = _outputs(json_path, quiet, forms.CONSOLIDATION, out)
    loads = [what.tenant(text) for text in texts]
    with terminal.steps(sys.stderr, "consolidating", quiet) as bar:
        found = tenants.consolidate(
            loads, device, requests=requests, assignments=assignments, seed=seed, told=bar
        )
    from ssdlab.plans import display

    _deliver(outputs, found, display.consolidation(found), out)


@click.command(
    cls=ExamplesFirst,
    examples=[
        ("eight drives under a load, by scheme",
         'ssdlab protect --load "70/30 8K random, 20 K IOPS" --device samsung-pm9a3 --members 8'),
        ("with your price, and drives that last less long",
         'ssdlab protect --trace FILE --members 6 --price samsung-pm9a3=140 --life "1.2e6h"'),
    ],
)  # fmt: skip
@TRACE
@shared.LOAD
@COLUMNS
@DEVICE
@click.option(
    "--members",
    metavar="N",
    type=int,
    default=8,
    show_default=True,
    help="Number of drives of each scheme.",
)
@click.option(
    "--requests",
    metavar="N",
    type=int,
    default=20_000,
    show_default=True,
    help="Requests of each run.",
)
@click.option(
    "--rebuild-rate",
    metavar="RATE",
    default="200MB/s",
    show_default=True,
    help="Rate at which a failed drive is rebuilt.",
)
@click.option(
    "--life",
    metavar="TIME",
    default=reliability.LIFE,
    show_default=True,
    help="Distribution of the lifetime of a drive.",
)
@shared.PRICES
@shared.CATALOGUE
@shared.runs
@shared.numbers
@OUT
@QUIET
def protect(
    trace: Path | None,
    load: str | None,
    columns: str | None,
    device: str,
    members: int,
    requests: int,
    rebuild_rate: str,
    life: str,
    prices: tuple[str, ...],
    own_catalogue: Path | None,
    assignments: tuple[str, ...],
    seed: int,
    json_path: str | None,
    out: Path | None,
    quiet: bool,
) -> None:
    """Compare schemes of protection: capacity, p99 in each state, rebuild, losses, dollars.

    Schemes are striping alone, mirrors, parity and double parity over the same drives, healthy,
    with a failed drive, and while it is rebuilt.
    """
    from ssdlab.asking import what

    outputs = _outputs(json_path, quiet, forms.PROTECTION, out)
    asked = what.load_of(trace, load, columns, assignments)
    rows = market.with_own(own_catalogue)
    choosing.terms_of(sizing.YEARS, shared.dollars(prices), None, (device,), rows)
    price = under_load.price(rows.get(device), 1, shared.dollars(prices).get(device))
    with terminal.steps(sys.stderr, "protecting", quiet) as bar:
        found = schemes.protect(
            asked,
            device,
            members,
            price=price,
            requests=requests,
            rebuild_rate=rebuild_rate,
            life=life,
            assignments=assignments,
            seed=seed,
            told=bar,
        )
    from ssdlab.plans import display

    _deliver(outputs, found, display.protection(found), out)
