"""`ssdlab size`: the smallest drive that does a trace."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click

from ssdlab import files, layers, sizing, terminal
from ssdlab.charts import matplotlib
from ssdlab.cli import completion
from ssdlab.cli.options import PATH, ExamplesFirst
from ssdlab.device.units import SIZE, TIME


@click.command(
    cls=ExamplesFirst,
    examples=[
        ("how much spare space, how many drives?", "ssdlab size --trace FILE --p99 2ms"),
        ("for seven years, of this drive",
         "ssdlab size --trace FILE --p99 2ms --years 7 --drive samsung-pm9a3"),
        ("drives of half a terabyte", "ssdlab size --trace FILE --p99 2ms --capacity 500GB"),
        ("a trace that leaves its unit of time open",
         "ssdlab size --trace FILE --p99 2ms --set workload.time_unit=ns"),
    ],
)  # fmt: skip
@click.option("--trace", metavar="FILE", type=PATH, required=True, help="The workload.")
@click.option("--p99", metavar="TIME", help="99 % of the requests take at most this: 2ms.")
@click.option("--p999", metavar="TIME", help="99.9 % of the requests take at most this.")
@click.option(
    "--years", type=float, default=5.0, show_default=True, help="How long the flash must last."
)
@click.option(
    "--drive",
    metavar="PRESET|FILE",
    default=sizing.DRIVE,
    shell_complete=completion.names("devices", file=True),
    show_default=True,
    help="The drive that is sized.",
)
@click.option("--capacity", metavar="SIZE", help="What a drive exports; by default as it is.")
@click.option(
    "--drives",
    metavar="N",
    type=int,
    default=sizing.MAX_DRIVES,
    show_default=True,
    help="The most drives, side by side.",
)
@click.option(
    "assignments",
    "--set",
    metavar="KEY=VALUE",
    multiple=True,
    shell_complete=completion.assignment,
    help="Change one key of all runs.",
)
@click.option("--seed", metavar="N", type=int, default=42, help="The first seed; then they go up.")
@click.option("--out", metavar="FILE.toml", type=PATH, help="Write the best one as an experiment.")
@click.option("--plot", metavar="FILE.png", type=PATH, help="Draw what was tried.")
@click.option("--json", "json_path", metavar="FILE|-", help="Write every figure as JSON.")
@click.option("--quiet", is_flag=True, help="No progress and no table.")
def size(
    trace: Path,
    p99: str | None,
    p999: str | None,
    years: float,
    drive: str,
    capacity: str | None,
    drives: int,
    assignments: tuple[str, ...],
    seed: int,
    out: Path | None,
    plot: Path | None,
    json_path: str | None,
    quiet: bool,
) -> None:
    """Find the smallest drive that keeps its latency under a trace and lasts long enough.

    The trace is fitted to the drive, the drive aged, and over-provisioning and the number of drives
    are searched with as few runs as it takes. Exit status 1 if no design does.
    """
    json_file = None if json_path in (None, "-") else Path(str(json_path))
    for path in (json_file, out, plot):
        if path is not None:
            files.refuse_unwritable(path)
    if plot is not None:
        matplotlib.check("--plot", plot)
    if years <= 0:
        raise click.UsageError(f"--years {years:g}: more than 0")
    with terminal.steps(sys.stderr, "sizing", quiet) as bar:
        found = sizing.size(
            trace,
            p99_us=None if p99 is None else TIME.parse("--p99", p99) * 1e6,
            p999_us=None if p999 is None else TIME.parse("--p999", p999) * 1e6,
            years=years,
            drive=drive,
            capacity_bytes=None if capacity is None else SIZE.parse("--capacity", capacity),
            drives=drives,
            assignments=assignments,
            seed=seed,
            progress=bar,
        )
    text = json.dumps(found.to_dict(), indent=2) + "\n"
    texts = {} if json_file is None else {json_file: text}
    if out is not None and found.best is not None:
        own = layers.from_seed(f"--seed {seed}", seed)
        texts[out] = sizing.experiment([*found.best.layers, *own]).to_toml()
    files.write_together(texts)
    if plot is not None:
        from ssdlab.sizing import figures

        rows = [[figures.over_flash(found, goal.figure)] for goal in found.goals]
        drawn = [row for row in rows if not row[0].empty()]
        matplotlib.save(plot, matplotlib.sheet(drawn, "--plot", title=trace.name))
    if json_path == "-":
        click.echo(text, nl=False)
    elif not quiet:
        from ssdlab.sizing import display

        click.echo(display.sizing(found, sys.stdout), nl=False)
    if found.best is None:
        sys.exit(1)
