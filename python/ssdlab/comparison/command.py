"""`ssdlab compare`: two results, or two experiments, side by side."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click

from ssdlab import files, terminal
from ssdlab.cli.options import ALLOW_CODE, ExamplesFirst
from ssdlab.comparison import compare as compare_sides
from ssdlab.sweeps.backends import Lost


@click.command(
    cls=ExamplesFirst,
    examples=[
        ("two results that were kept", "ssdlab compare out-a out-b/results.json"),
        ("two experiments, run ten times each", "ssdlab compare a.toml b.toml --repeat 10"),
    ],
)
@click.argument("a")
@click.argument("b")
@click.option(
    "--repeat",
    metavar="N",
    type=int,
    help="Run both with N seeds: means, their intervals of confidence, and whether they differ.",
)
@ALLOW_CODE
@click.option("--workers", metavar="N", type=int, help="Processes; by default one for each core.")
@click.option("--json", "json_path", metavar="FILE|-", help="Write every figure as JSON.")
@click.option("--quiet", is_flag=True, help="No progress and no table.")
def compare(
    a: str,
    b: str,
    repeat: int | None,
    allow_code: bool,
    workers: int | None,
    json_path: str | None,
    quiet: bool,
) -> None:
    """Hold A against B: results of `ssdlab run` (files or directories), or experiments (.toml).

    Experiments are run; with --repeat, so are those of results. Each seed is used for both sides,
    and the interval of the difference is that of pairs (95 %).
    """
    json_file = None if json_path in (None, "-") else Path(str(json_path))
    if json_file is not None:
        files.refuse_unwritable(json_file)
    with terminal.steps(sys.stderr, "compare", quiet) as bar:
        try:
            found = compare_sides(
                a, b, repeat=repeat, allow_code=allow_code, workers=workers, progress=bar
            )
        except Lost as error:
            raise click.ClickException(str(error)) from None
    text = json.dumps(found.to_dict()) + "\n"
    if json_file is not None:
        files.write_together({json_file: text})
    if json_path == "-":
        click.echo(text, nl=False)
    elif not quiet:
        from ssdlab.comparison import display

        click.echo(display.compare_table(found, sys.stdout), nl=False)
