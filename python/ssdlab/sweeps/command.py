"""`ssdlab sweep`: many experiments, one table."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import click

from ssdlab import delivery, forms, layers, terminal
from ssdlab.cli import completion
from ssdlab.cli.options import JSON, PATH, ExamplesFirst, no_cache, override_options
from ssdlab.running import stack
from ssdlab.sweeps import backends, space
from ssdlab.sweeps.plan import Base
from ssdlab.sweeps.run import MAX_POINTS, run


@click.command(
    cls=ExamplesFirst,
    examples=[
        (
            "a grid: four by three drives",
            "ssdlab sweep --vary device.channels=2,4,8,16 --vary device.spare_factor=0.1..0.3:0.1",
        ),
        (
            "a table for pandas, Polars or DuckDB; the same command resumes an interrupted sweep",
            "ssdlab sweep mine.toml --vary cleaning.policy=greedy,fifo --out sweep.parquet",
        ),
        (
            "three cleaners, each with five seeds: which differ by more than chance",
            "ssdlab sweep --vary cleaning.policy=greedy,fifo,cost-benefit --repeat 5",
        ),
        (
            "drives of 0.5 to 2 times the footprint of a trace",
            "ssdlab sweep --trace FILE --set workload.beyond=dense "
            "--vary 'device.blocks_per_plane=footprint*0.5..2:0.5'",
        ),
        (
            "the best of 32 drives, most of them run briefly",
            "ssdlab sweep --vary device.channels=4..16:4 --vary device.spare_factor=0.1..0.4:0.1 "
            "--vary cleaning.policy=greedy,fifo --halve --minimize p99",
        ),
        ("several experiments, on a cluster", "ssdlab sweep a.toml b.toml --dask tcp://HOST:8786"),
        (
            "60 points chosen by optimisation",
            "ssdlab sweep --vary device.channels=1..16 --vary device.spare_factor=0.05..0.4 "
            "--search 60 --minimize p99 --minimize write_amplification_bytes "
            "--constrain 'iops>=20000'",
        ),
    ],
)
@click.argument("experiments", nargs=-1, metavar="[EXPERIMENT.toml]...", type=PATH)
@override_options
@click.option(
    "axes",
    "--vary",
    metavar="KEY=A,B,C",
    multiple=True,
    shell_complete=completion.axis,
    help="Values to sweep: a list, or ranges such as 1..8, 0.1..0.3:0.05 (a step), 4KiB..1MiB:*2 "
    "(a factor), footprint*0.5 (of the trace). KEY may be device, workload or trace. Repeatable: "
    "every combination is run.",
)
@click.option(
    "--repeat",
    metavar="N",
    type=int,
    help="Run every point with N seeds, and show means with 95 % confidence intervals.",
)
@click.option("--skip", is_flag=True, help="Leave out the points that cannot be built.")
@click.option(
    "--search",
    "trials",
    metavar="N",
    type=int,
    help="Run N points chosen by Optuna instead of all.",
)
@click.option(
    "--halve",
    is_flag=True,
    help="Run all points briefly, fewer for longer, the best in full: a tenth of the requests.",
)
@click.option(
    "--minimize",
    metavar="NAME",
    multiple=True,
    help="Metric to minimise: p99, read.p99.9, write_amplification_bytes, any column of the table.",
)
@click.option("--maximize", metavar="NAME", multiple=True, help="Metric to maximise, such as iops.")
@click.option(
    "constraints",
    "--constrain",
    metavar="NAME<=X",
    multiple=True,
    help="Constraint on the best points: NAME<=X or NAME>=X, such as p99<=2ms "
    "(times without a unit are in us).",
)
@click.option("--workers", metavar="N", type=int, help="Worker processes. [default: one per core]")
@click.option("--dask", metavar="ADDRESS", help="Run on the Dask cluster with this scheduler.")
@click.option(
    "--out",
    metavar="FILE.parquet",
    type=PATH,
    help="Write the table (.parquet or .csv) and, beside it as .jsonl, each point's full results; "
    "an interrupted sweep resumes from it.",
)
@JSON
@click.option(
    "--check",
    is_flag=True,
    help="Check the consistency of each device's whole state after its run.",
)
@click.option("--yes", is_flag=True, help=f"Allow more than {MAX_POINTS:,} points.")
@no_cache
@click.option("--quiet", is_flag=True, help="No progress bar and no table.")
def sweep(
    experiments: tuple[Path, ...],
    device: str | None,
    trace: Path | None,
    columns: str | None,
    workload: str | None,
    assignments: tuple[str, ...],
    seed: int | None,
    allow_code: bool,
    axes: tuple[str, ...],
    repeat: int | None,
    skip: bool,
    trials: int | None,
    halve: bool,
    minimize: tuple[str, ...],
    maximize: tuple[str, ...],
    constraints: tuple[str, ...],
    workers: int | None,
    dask: str | None,
    out: Path | None,
    json_path: str | None,
    check: bool,
    yes: bool,
    quiet: bool,
) -> None:
    """Simulate many experiments on all cores and print a table of their results.

    Every point runs with the seed of its experiment and gives the same results as `ssdlab run`.
    A point that fails becomes a row with its error; the others are run, and the exit status is 1.
    """
    if dask is not None and workers is not None:
        raise click.UsageError("--dask and --workers exclude each other")
    json_file = None if json_path in (None, "-") else Path(str(json_path))
    if json_file is not None:
        delivery.refuse(json_file, forms.SWEEP)
    peers, above = layers.from_options(assignments), stack.above((), seed)
    permitted = layers.permitting if allow_code else list
    several = len(experiments) > 1
    bases = [
        Base(
            permitted(stack.below(experiment, device, trace, workload, columns, assignments)),
            peers,
            above,
            {"experiment": os.fspath(experiment)} if several and experiment is not None else {},
            allow_code,
        )
        for experiment in (experiments or (None,))
    ]
    varied = [space.from_option(axis, trials is not None) for axis in axes]
    done = 0
    with terminal.steps(sys.stderr, "sweep", quiet) as bar:

        def progress(now: int, to_do: int) -> None:
            nonlocal done
            done = now
            if bar is not None:
                bar(now, to_do)

        kept: Any = "nothing was written (with --out FILE the same command can go on)"
        if out is not None:
            kept = f"{out.with_suffix('.jsonl')} keeps them: the same command continues from there"
        try:
            found = run(
                bases,
                varied,
                repeat=repeat,
                skip=skip,
                trials=trials,
                halve=halve,
                minimize=minimize,
                maximize=maximize,
                constraints=constraints,
                workers=workers,
                executor=dask,
                out=out,
                check=check,
                progress=progress,
                many=yes,
                option="--",
            )
        except KeyboardInterrupt:
            raise click.ClickException(f"interrupted after {done} points; {kept}") from None
        except backends.Lost as error:
            raise click.ClickException(f"{error}; {done} points were done; {kept}") from None
    if json_file is not None:
        delivery.write(json_file, found.to_json, forms.SWEEP)
    if json_path == "-":
        for part in found.to_json():
            click.echo(part, nl=False)
    elif not quiet:
        from ssdlab.sweeps import display

        note = ""
        if not any(space.is_of_load(axis.name) for axis in varied):
            stacks = [[*base.below, *base.peers, *base.above] for base in bases]
            note = next(filter(None, map(stack.default_load, stacks)), "")
        click.echo(display.sweep_table(found, sys.stdout) + note, nl=False)
    if failed := len(found.errors):
        first = found.errors[0]
        where = out or json_file or (None if json_path is None else "the JSON")
        why = f'"error" in {where} says why' if where else "with --json FILE each says why"
        raise click.ClickException(
            f"{first}\n{failed} of {len(found)} points failed; the first is above; {why}"
        )
