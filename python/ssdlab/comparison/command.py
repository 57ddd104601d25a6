"""`ssdlab compare`: two results, or two experiments, side by side."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from ssdlab import files, terminal
from ssdlab.charts import matplotlib
from ssdlab.cli import completion, stack
from ssdlab.cli.options import ALLOW_CODE, OVERRIDES, PATH, ExamplesFirst
from ssdlab.comparison import compare as compare_sides
from ssdlab.comparison import grid
from ssdlab.sweeps import space
from ssdlab.sweeps.backends import Lost


def _overrides(command: Any) -> Any:
    for option in reversed(OVERRIDES):
        if option is not ALLOW_CODE:
            command = option(command)
    return command


@click.command(
    cls=ExamplesFirst,
    examples=[
        ("two results that were kept", "ssdlab compare out-a out-b/results.json"),
        ("two experiments, run ten times each", "ssdlab compare a.toml b.toml --repeat 10"),
        (
            "my cleaning policy against greedy under three workloads",
            "ssdlab compare greedy mine:Mine --set run.precondition=random:1 "
            "--vary workload=random-write,zipf-mixed,jesd219",
        ),
        (
            "one key, at four queue depths, by read latency",
            "ssdlab compare device.channels=8 device.channels=16 --workload jesd219 "
            "--vary workload.outstanding=1..8:*2 --minimize read.p99",
        ),
    ],
)
@click.argument("a", shell_complete=completion.sides)
@click.argument("b", shell_complete=completion.sides)
@_overrides
@click.option(
    "axes",
    "--vary",
    metavar="KEY=A,B,C",
    multiple=True,
    shell_complete=completion.axis,
    help="The conditions under which both are run, as ssdlab sweep takes them.",
)
@click.option(
    "--minimize",
    metavar="NAME",
    multiple=True,
    help="The figure that decides, less being better; by default p99 and write amplification.",
)
@click.option("--maximize", metavar="NAME", multiple=True, help="One of which more is better.")
@click.option(
    "--repeat",
    metavar="N",
    type=int,
    help="Run both with N seeds: means, their intervals of confidence, and whether they differ; "
    f"{grid.REPEATS} under conditions.",
)
@ALLOW_CODE
@click.option("--workers", metavar="N", type=int, help="Processes; by default one for each core.")
@click.option("--json", "json_path", metavar="FILE|-", help="Write every figure as JSON.")
@click.option("--plot", metavar="FILE.png", type=PATH, help="Draw the differences by condition.")
@click.option("--quiet", is_flag=True, help="No progress and no table.")
def compare(
    a: str,
    b: str,
    repeat: int | None,
    allow_code: bool,
    workers: int | None,
    json_path: str | None,
    plot: Path | None,
    quiet: bool,
    minimize: tuple[str, ...],
    maximize: tuple[str, ...],
    axes: tuple[str, ...],
    **overrides: Any,
) -> None:
    """Compare A with B: results, experiments (.toml), cleaning policies, or values of a key.

    Results of `ssdlab run` are files or directories. Experiments are run; with --repeat, so are
    those of results. Each seed is used for both sides, and the interval of the difference is that
    of pairs (95 %). With --vary, --set or another option of ssdlab run, both sides are run under
    every condition, and each cell says whether B is better, worse, or whether that cannot be told.
    """
    json_file = None if json_path in (None, "-") else Path(str(json_path))
    for path in (json_file, plot):
        if path is not None:
            files.refuse_unwritable(path)
    kept = [os.path.exists(it) or it.endswith(".toml") for it in (a, b)]
    conditioned = any((*overrides.values(), axes, minimize, maximize)) or overrides["seed"] == 0
    over = conditioned or not all(kept)
    if plot is not None and not over:
        raise click.UsageError("--plot draws differences by condition: add --vary KEY=A,B,C")
    if plot is not None:
        matplotlib.check("--plot", plot)
    with terminal.steps(sys.stderr, "compare", quiet) as bar:
        try:
            if over:
                found: Any = grid.compare_over(
                    a,
                    b,
                    below=stack.below(
                        None, overrides["device"], overrides["trace"], overrides["workload"]
                    ),
                    assignments=overrides["assignments"],
                    axes=[space.from_option(axis, False) for axis in axes],
                    minimize=minimize,
                    maximize=maximize,
                    repeat=grid.REPEATS if repeat is None else repeat,
                    seed=overrides["seed"],
                    allow_code=allow_code,
                    workers=workers,
                    progress=bar,
                )
            else:
                found = compare_sides(
                    a, b, repeat=repeat, allow_code=allow_code, workers=workers, progress=bar
                )
        except Lost as error:
            raise click.ClickException(str(error)) from None
    text = json.dumps(found.to_dict()) + "\n"
    if json_file is not None:
        files.write_together({json_file: text})
    if plot is not None:
        from ssdlab.comparison import figures

        rows: Sequence[Any] = [[figures.differences(found)]]
        matplotlib.save(plot, matplotlib.sheet(rows, "--plot"))
    if json_path == "-":
        click.echo(text, nl=False)
    elif not quiet:
        from ssdlab.comparison import display

        table = display.grid_table if over else display.compare_table
        click.echo(table(found, sys.stdout), nl=False)
