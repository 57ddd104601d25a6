"""`ssdlab cost`: the cost of meeting given needs, from existing results."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

from ssdlab import delivery, forms, reading
from ssdlab._core import InputError
from ssdlab.charts import matplotlib
from ssdlab.cli.options import PATH, ExamplesFirst
from ssdlab.cost import Design, bill, cheapest, front, of_results, refuse_unknown
from ssdlab.cost import need as needs
from ssdlab.cost.prices import KEYS, MEANING, Prices, from_options, option
from ssdlab.results import FILE, Results
from ssdlab.sweeps.result import Sweep

COMMAND = TypeVar("COMMAND", bound=Callable[..., Any])
#: What the .jsonl file of a sweep and the tables beside it are called.
OF_SWEEPS = (".jsonl", ".parquet", ".csv")


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
@click.option("--json", "json_path", metavar="FILE|-", help="Write all numbers as JSON.")
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
    **given: float | None,
) -> None:
    """Calculate the cost of meeting requirements with the devices of RESULTS.

    RESULTS are files or directories of `ssdlab run`, or the .jsonl file of a sweep, each point of
    which is a design. Nothing is simulated: a device performs as measured in its run. Prices
    come from [cost] in the experiment; options override it.
    """
    need = needs.parse(texts)
    options = from_options(given)
    if dollars_per_gib is not None and not 0 < dollars_per_gib < float("inf"):
        raise InputError(f"--five-minute {dollars_per_gib:g}: a price of memory is above 0")
    against = _latency(against) if against else next(iter(need.latencies_us), "p99")
    json_file = None if json_path in (None, "-") else Path(str(json_path))
    for path, form in ((json_file, forms.COST), (plot, forms.PICTURE)):
        if path is not None:
            delivery.refuse(path, form)
    if plot is not None:
        matplotlib.check("--plot", plot)
    with reading.of_files(*results):
        bills = [bill(design, need, dollars_per_gib) for design in _designs(results, options)]
        refuse_unknown(bills)
        best = front(bills, against)
        least = cheapest(bills, against)
    rows = [it.to_dict() | {"pareto": on} for it, on in zip(bills, best, strict=True)]
    text = json.dumps(
        {
            "need": need.to_dict(),
            "designs": rows,
            "cheapest": None if least is None else least.design.name,
            "pareto": [it.design.name for it, on in zip(bills, best, strict=True) if on],
        },
        indent=2,
    )
    if json_file is not None:
        delivery.write(json_file, text + "\n", forms.COST)
    if plot is not None:
        from ssdlab.cost import figures

        drawn = figures.all_of(bills, best, against)
        matplotlib.save(plot, matplotlib.sheet([[it] for it in drawn], "--plot"))
    if json_path == "-":
        click.echo(text)
    else:
        from ssdlab.cost import display

        click.echo(display.shown(need, bills, best, against, sys.stdout), nl=False)
    if least is None:
        sys.exit(1)


def _latency(name: str) -> str:
    if not needs.is_latency(name):
        raise InputError(f"--against {name}: the latencies are {', '.join(needs.LATENCIES)}")
    return name


def _designs(paths: Sequence[Path], options: Prices) -> list[Design]:
    """Every design of every path, each with a name of its own."""
    found: list[Design] = []
    for path in paths:
        if path.suffix in OF_SWEEPS:
            found += _of_sweep(path, options)
        else:
            name = str(path.parent if path.name == FILE and path.parent.name else path)
            found.append(of_results(name, Results.load(path).to_dict(), options))
    return found


def _of_sweep(path: Path, options: Prices) -> list[Design]:
    designs = []
    for point in Sweep.load(path):
        if (results := point.results) is None:
            continue
        pairs = (f"{key.rpartition('.')[2]}={value}" for key, value in point.parameters.items())
        name = " ".join(pairs) or str(path)
        designs.append(of_results(name, results.to_dict(), options))
    if not designs:
        raise InputError(f"{path}: no point of this sweep has results")
    return designs
