"""`ssdlab report`: results or a sweep as one web page."""

from __future__ import annotations

from pathlib import Path

import click

from ssdlab import delivery, forms
from ssdlab.cli.options import PATH, ExamplesFirst
from ssdlab.reports import report as write

#: Default name of the page.
PAGE = Path("report.html")


@click.command(
    cls=ExamplesFirst,
    examples=[
        ("one run, written by ssdlab run --out DIR", "ssdlab report DIR"),
        ("several side by side", "ssdlab report before after --out both.html"),
        ("a sweep", "ssdlab report sweep.jsonl --minimize p99 --out report.html"),
    ],
)
@click.argument("results", nargs=-1, required=True, metavar="RESULTS...", type=PATH)
@click.option(
    "--out",
    metavar="FILE.html",
    type=PATH,
    default=PAGE,
    show_default=True,
    help="The HTML page to write.",
)
@click.option(
    "--minimize",
    metavar="NAME",
    multiple=True,
    help="For a sweep: a metric to minimize.",
)
@click.option("--maximize", metavar="NAME", multiple=True, help="A metric to maximize.")
def report(
    results: tuple[Path, ...], out: Path, minimize: tuple[str, ...], maximize: tuple[str, ...]
) -> None:
    """Write a web page about RESULTS: bottleneck, latency, breakdown, flash activity, wear.

    The page is a single file that works offline and without JavaScript.

    RESULTS are files or directories of `ssdlab run`, or the .jsonl file of one sweep.
    """
    delivery.refuse(out, forms.REPORT)
    write(results, out, minimize=minimize, maximize=maximize)
    if out == PAGE:
        click.echo(f"wrote {out}", err=True)
