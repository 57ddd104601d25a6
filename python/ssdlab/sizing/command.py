"""`ssdlab size`: the smallest drive for a trace."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from ssdlab import delivery, forms, layers, sizing, terminal
from ssdlab.cli import completion
from ssdlab.cli import drives as shared
from ssdlab.cli.options import COLUMNS, PATH, ExamplesFirst
from ssdlab.cli.outputs import Outputs


@click.command(
    cls=ExamplesFirst,
    examples=[
        ("how much over-provisioning, how many drives?", "ssdlab size --trace FILE --p99 2ms"),
        ("a lifetime of seven years, with this drive",
         "ssdlab size --trace FILE --p99 2ms --years 7 --device samsung-pm9a3"),
        ("drives of 500 GB", "ssdlab size --trace FILE --p99 2ms --capacity 500GB"),
        ("a trace without a time unit",
         "ssdlab size --trace FILE --p99 2ms --set workload.time_unit=ns"),
    ],
)  # fmt: skip
@click.option("--trace", metavar="FILE", type=PATH, help="The trace to size for.")
@shared.LOAD
@COLUMNS
@click.option("--p99", metavar="TIME", help="Target p99 latency, such as 2ms.")
@click.option("--p999", metavar="TIME", help="Target p99.9 latency.")
@click.option(
    "--years",
    metavar="NUMBER",
    type=float,
    help="Target lifetime of the flash. [default: 5, where the trace is long enough to tell]",
)
@click.option(
    "named",
    "--device",
    metavar="PRESET|FILE",
    default=(sizing.DRIVE,),
    multiple=True,
    shell_complete=completion.names("devices", file=True),
    show_default=sizing.DRIVE,
    help="The drive to size; repeatable, to compare the smallest designs of several.",
)
@click.option(
    "--capacity", metavar="SIZE", help="Exported capacity of a drive. [default: as it is]"
)
@shared.most("drives", sizing.MAX_DRIVES)
@shared.runs
@click.option(
    "--out", metavar="FILE.toml", type=PATH, help="Write the best design as an experiment."
)
@click.option("--plot", metavar="FILE.png", type=PATH, help="Draw all designs tried.")
@shared.numbers
@click.option("--quiet", is_flag=True, help="No progress bar and no table.")
def size(
    trace: Path | None,
    load: str | None,
    columns: str | None,
    p99: str | None,
    p999: str | None,
    years: float | None,
    named: tuple[str, ...],
    capacity: str | None,
    drives: int,
    assignments: tuple[str, ...],
    seed: int,
    out: Path | None,
    plot: Path | None,
    json_path: str | None,
    quiet: bool,
) -> None:
    """Find the smallest drive that meets latency and lifetime targets under a trace or a load.

    The trace is fitted to the drive, the drive is preconditioned, and over-provisioning and the
    number of drives are searched with few runs. Exit status 1 if no design meets the targets.
    """
    if out is not None:
        delivery.refuse(out, forms.SIZED)
    outputs = Outputs(json_path, quiet, forms.SIZING, forms.SIZINGS, plot=plot)
    if years is not None and not 0 < years < float("inf"):
        raise click.UsageError(f"--years {years:g}: more than 0, and finite")
    _refuse_of_several(named, {"--out": out, "--plot": plot})
    from ssdlab.asking import what

    asked = what.load_of(trace, load, columns, assignments)

    def sized(drive: str) -> sizing.Sizing:
        return sizing.size(
            asked,
            p99=p99,
            p999=p999,
            years=years,
            device=drive,
            capacity=capacity,
            drives=drives,
            set=assignments,
            seed=seed,
            progress=bar,
        )

    with terminal.steps(sys.stderr, "sizing", quiet) as bar:
        every = [sized(drive) for drive in named]
    found, of_all = every[0], [it.to_dict() for it in every]
    if len(named) == 1:
        outputs.json(of_all[0])
    else:
        outputs.json(of_all, forms.SIZINGS)
    if out is not None and found.best is not None:
        own = layers.from_seed(f"--seed {seed}", seed)
        design = sizing.experiment([*found.best.layers, *own])
        delivery.write(out, design.to_toml(), forms.SIZED)
    from ssdlab.sizing import display, figures

    rows = [figures.over_flash(found, goal.figure) for goal in found.goals]
    outputs.draw(lambda: [[row] for row in rows if not row.empty()], title=asked.name)
    outputs.table(
        lambda: (
            display.sizing(found, sys.stdout)
            if len(named) == 1
            else display.several(every, sys.stdout)
        )
    )
    if all(it.best is None for it in every):
        sys.exit(1)


def _refuse_of_several(named: tuple[str, ...], given: dict[str, Path | None]) -> None:
    """Raise `UsageError` for a drive given twice, and for options that need a single drive."""
    if len(set(named)) < len(named):
        twice = next(name for name in named if named.count(name) > 1)
        raise click.UsageError(f"--device {twice} is given twice; keep one")
    for option, value in given.items():
        if value is not None and len(named) > 1:
            raise click.UsageError(f"{option} {value}: it takes one --device, not {len(named)}")
