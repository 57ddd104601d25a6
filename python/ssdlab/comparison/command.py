"""`ssdlab compare`: two results, or two experiments, side by side."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from ssdlab import _core, forms, layers, sources, terminal
from ssdlab.cli import completion
from ssdlab.cli.options import JSON, PATH, ExamplesFirst, no_cache, override_options
from ssdlab.cli.outputs import Outputs
from ssdlab.comparison import Comparison, Side, grid, measured
from ssdlab.comparison import compare as compare_sides
from ssdlab.layers import Layer, permitting
from ssdlab.results import figures
from ssdlab.running import Experiment, stack
from ssdlab.sweeps import space
from ssdlab.sweeps.backends import Lost

#: Options for whole sections, as taken by `stack.below`.
BELOW = ("device", "trace", "workload", "columns", "assignments")


@click.command(
    cls=ExamplesFirst,
    examples=[
        ("two kept results", "ssdlab compare out-a out-b/results.json"),
        (
            "results of fio, and a simulated drive under the same jobs",
            "ssdlab compare fio.json samsung-pm9a3",
        ),
        ("two experiments, run ten times each", "ssdlab compare a.toml b.toml --repeat 10"),
        (
            "a hard disk and an SSD under one trace, with a figure",
            "ssdlab compare sata-2008 tlc-client --trace FILE --plot both.png",
        ),
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
@override_options
@click.option(
    "axes",
    "--vary",
    metavar="KEY=A,B,C",
    multiple=True,
    shell_complete=completion.axis,
    help="Conditions under which both are run, as in ssdlab sweep.",
)
@click.option(
    "--minimize",
    metavar="NAME",
    multiple=True,
    help="The metric to decide by, lower is better. [default: p99 and write amplification]",
)
@click.option("--maximize", metavar="NAME", multiple=True, help="A metric to maximize.")
@click.option(
    "--repeat",
    metavar="N",
    type=int,
    help="Run both with N seeds: means, confidence intervals, and whether they differ; "
    f"{grid.REPEATS} under conditions.",
)
@click.option("--workers", metavar="N", type=int, help="Worker processes. [default: one per core]")
@JSON
@click.option(
    "--plot",
    metavar="FILE.png",
    type=PATH,
    help="Draw the latency CDFs, or the differences by condition.",
)
@no_cache
@click.option("--quiet", is_flag=True, help="No progress bar and no table.")
def compare(
    a: str,
    b: str,
    repeat: int | None,
    workers: int | None,
    json_path: str | None,
    plot: Path | None,
    quiet: bool,
    minimize: tuple[str, ...],
    maximize: tuple[str, ...],
    axes: tuple[str, ...],
    **overrides: Any,
) -> None:
    """Compare A with B: results, experiments (.toml), device presets, cleaning policies, or values
    of a key.

    Results of `ssdlab run` are files or directories; a JSON file of fio is what a real drive
    did. Experiments are run; with --repeat, the
    experiments of results are run again. Both sides use the same seeds, and differences have
    paired 95 % confidence intervals. --workload, --trace, --set and the others change both
    sides, in the order of `ssdlab run`. With --vary or a metric, and for policies and keys,
    both sides are run under every condition, and each cell says whether B is better or worse, or
    that the data cannot tell.
    """
    outputs = Outputs(json_path, quiet, forms.COMPARISON, plot=plot)
    if plot is not None and (measured.is_fio(a) or measured.is_fio(b)):
        raise click.UsageError(f"--plot {plot}: fio's JSON has no distribution to draw")
    if workers is not None and workers < 1:
        raise click.UsageError(f"--workers {workers}: at least 1")
    allow_code = overrides["allow_code"]
    over = any((axes, minimize, maximize)) or not all(_is_whole(it) for it in (a, b))
    with terminal.steps(sys.stderr, "compare", quiet) as bar:
        try:
            if over:
                below = stack.below(None, *(overrides[it] for it in BELOW))
                varied = [space.from_option(axis, False) for axis in axes]
                found: Any = grid.compare_over(
                    a,
                    b,
                    below=below,
                    assignments=overrides["assignments"],
                    axes=varied,
                    minimize=minimize,
                    maximize=maximize,
                    repeat=grid.REPEATS if repeat is None else repeat,
                    seed=overrides["seed"],
                    allow_code=allow_code,
                    workers=workers,
                    progress=bar,
                )
                note = _default_load_over(a, b, below, overrides["assignments"], varied)
            else:
                sides = [_side(it, **overrides) for it in (a, b)]
                found = compare_sides(
                    *sides, repeat=repeat, allow_code=allow_code, workers=workers, progress=bar
                )
                note = _default_load(sides)
        except Lost as error:
            raise click.ClickException(str(error)) from None
    outputs.json(found.to_dict())
    from ssdlab.comparison import display

    if over:
        from ssdlab.comparison import figures as of_grids

        outputs.draw(lambda: [[of_grids.differences(found)]])
    else:
        how: dict[str, Any] = {"titled": False, "size": (8, 6.5), "heights": (3, 2)}
        outputs.draw(lambda: _figures(found, (a, b)), **how)
    table = display.grid_table if over else display.compare_table
    outputs.table(lambda: table(found, sys.stdout) + note)


def _is_whole(named: str) -> bool:
    """True if a side has a device and a workload, by itself or by options."""
    is_file = os.path.exists(named) or sources.is_experiment(named)
    return is_file or _core.preset_layer("device", named) is not None


def _default_load(sides: Sequence[Side]) -> str:
    """Note if both sides ran the default load because neither names one."""
    if not all(isinstance(side, Experiment) for side in sides):
        return ""
    return stack.default_load([it for side in sides for it in getattr(side, "layers", ())])


def _default_load_over(
    a: str, b: str, below: Sequence[Layer], assignments: Sequence[str], axes: Sequence[space.Axis]
) -> str:
    """The same note for a comparison under conditions."""
    if any(space.is_of_load(axis.name) for axis in axes):
        return ""
    stacks = grid.sides(a, b, below, layers.from_options(assignments))
    return stack.default_load([it for low, peers in stacks for it in (*low, *peers)])


def _side(
    named: str,
    *,
    device: str | None,
    trace: Path | None,
    workload: str | None,
    columns: str | None,
    assignments: tuple[str, ...],
    seed: int | None,
    allow_code: bool,
) -> Side:
    """Side of an argument: a device preset, an experiment, or results."""
    if measured.is_fio(named):
        return named
    is_preset = _core.preset_layer("device", named) is not None
    if not is_preset and not sources.is_experiment(named):
        if device or trace or workload or assignments or seed is not None:
            raise _core.InputError(
                f"{named}: results were run already; --device, --trace, --workload, --set and "
                "--seed change experiments (.toml) and device presets"
            )
        return named
    if is_preset and device is not None:
        raise _core.InputError(f"--device {device}: {named} is the preset of a device itself")
    file = None if is_preset else Path(named)
    own = stack.below(file, named if is_preset else device, trace, workload, columns, assignments)
    own += stack.above(assignments, seed)
    return Experiment._from_layers(permitting(own) if allow_code else own)


def _figures(found: Comparison, named: tuple[str, str]) -> list[list[Any]]:
    """The latency distributions of both sides, and their components."""
    both = [(Path(name).stem, it) for name, it in zip(named, found.results, strict=True)]
    latency = figures.latency(both)
    # If request kinds differ much, the curve of all requests is omitted.
    curves = [it for it in latency.series if it.name.split(",")[0] not in ("all", "trim")]
    return [[replace(latency, series=curves)], [figures.breakdown(both)]]
