"""`ssdlab compare`: two results, or two experiments, side by side."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from ssdlab import _core, files, terminal
from ssdlab.charts import matplotlib
from ssdlab.cli import stack
from ssdlab.cli.options import PATH, ExamplesFirst, override_options
from ssdlab.comparison import Comparison, Side
from ssdlab.comparison import compare as compare_sides
from ssdlab.layers import permitting
from ssdlab.running import Experiment, figures
from ssdlab.sweeps.backends import Lost


@click.command(
    cls=ExamplesFirst,
    examples=[
        ("two results that were kept", "ssdlab compare out-a out-b/results.json"),
        ("two experiments, run ten times each", "ssdlab compare a.toml b.toml --repeat 10"),
        (
            "a hard disk and an SSD under one trace, and drawn",
            "ssdlab compare sata-2008 tlc-client --trace FILE --plot both.png",
        ),
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
@override_options
@click.option("--plot", metavar="FILE.png", type=PATH, help="Draw the latencies of both.")
@click.option("--workers", metavar="N", type=int, help="Processes; by default one for each core.")
@click.option("--json", "json_path", metavar="FILE|-", help="Write every figure as JSON.")
@click.option("--quiet", is_flag=True, help="No progress and no table.")
def compare(
    a: str,
    b: str,
    repeat: int | None,
    plot: Path | None,
    workers: int | None,
    json_path: str | None,
    quiet: bool,
    **overrides: Any,
) -> None:
    """Hold A against B: results of `ssdlab run` (files or directories), experiments (.toml), or
    device presets.

    Experiments are run; with --repeat, so are those of results. Each seed is used for both sides,
    and the interval of the difference is that of pairs (95 %). --workload or --trace, --set and the
    others change both experiments, in the order of `ssdlab run`.
    """
    if plot is not None:
        files.refuse_unwritable(plot)
        matplotlib.check("--plot", plot)
    json_file = None if json_path in (None, "-") else Path(str(json_path))
    if json_file is not None:
        files.refuse_unwritable(json_file)
    with terminal.steps(sys.stderr, "compare", quiet) as bar:
        try:
            sides = [_side(it, **overrides) for it in (a, b)]
            allow_code = overrides["allow_code"]
            found = compare_sides(
                *sides, repeat=repeat, allow_code=allow_code, workers=workers, progress=bar
            )
        except Lost as error:
            raise click.ClickException(str(error)) from None
    text = json.dumps(found.to_dict()) + "\n"
    if json_file is not None:
        files.write_together({json_file: text})
    if plot is not None:
        _draw(plot, found, (a, b))
    if json_path == "-":
        click.echo(text, nl=False)
    elif not quiet:
        from ssdlab.comparison import display

        click.echo(display.compare_table(found, sys.stdout), nl=False)


def _side(
    named: str,
    *,
    device: str | None,
    trace: Path | None,
    workload: str | None,
    assignments: tuple[str, ...],
    seed: int | None,
    allow_code: bool,
) -> Side:
    """What an argument names: a device preset, an experiment, or results."""
    is_preset = _core.preset_layer("device", named) is not None
    if not is_preset and not named.endswith(".toml"):
        if device or trace or workload or assignments or seed is not None:
            raise _core.InputError(
                f"{named}: results were run already; --device, --trace, --workload, --set and "
                "--seed change experiments (.toml) and device presets"
            )
        return named
    if is_preset and device is not None:
        raise _core.InputError(f"--device {device}: {named} is the preset of a device itself")
    file = None if is_preset else Path(named)
    layers = stack.below(file, named if is_preset else device, trace, workload)
    layers += stack.above(assignments, seed)
    if allow_code:
        layers = permitting(layers)
    return Experiment._from_layers(layers)


def _draw(plot: Path, found: Comparison, named: tuple[str, str]) -> None:
    """Draws where the latencies of both lie, and where they come from."""
    both = [(Path(name).stem, it) for name, it in zip(named, found.results, strict=True)]
    latency = figures.latency(both)
    # Where kinds of request differ much, the curve of all of them says nothing more.
    curves = [it for it in latency.series if it.name.split(",")[0] not in ("all", "trim")]
    rows = [[replace(latency, series=curves)], [figures.breakdown(both)]]
    sheet = matplotlib.sheet(rows, "--plot", titled=False, size=(8, 6.5), heights=(3, 2))
    matplotlib.save(plot, sheet)
