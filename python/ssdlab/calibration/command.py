"""`ssdlab calibrate`: from measurements to a device file."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from ssdlab import delivery, forms, terminal
from ssdlab.calibration import MODEL, SOURCES, recipes
from ssdlab.calibration import calibrate as run_calibration
from ssdlab.calibration.fit import KINDS
from ssdlab.calibration.points import list_of_numbers, size_bytes
from ssdlab.cli.options import ALLOW_CODE, FORCE, JSON, QUIET, ExamplesFirst
from ssdlab.cli.outputs import Outputs
from ssdlab.trace.command import _errors, reading_options
from ssdlab.units import SIZE

PATH = click.Path(path_type=Path)


@click.command(
    cls=ExamplesFirst,
    examples=[
        ("measure a file or block device by reading", "ssdlab calibrate FILE --out mine.toml"),
        ("with writes, which destroy its content", "ssdlab calibrate FILE --write --out mine.toml"),
        ("a server of block devices", "ssdlab calibrate 'nbd+unix:///?socket=/tmp/s' --write"),
        ("results of fio", "ssdlab calibrate results.tar.zst --out mine.toml --plot fit.png"),
        ("a trace with service times", "ssdlab calibrate trace.csv --out mine.toml"),
        (
            "parameters of an SSD",
            "ssdlab calibrate results/ --device agrawal2008 --fit timing.read=5us..100us "
            "--fit timing.bus_per_byte=1ns..50ns --out mine.toml",
        ),
        (
            "the model of a drive of today",
            "ssdlab calibrate results/ --device tlc-enterprise --fit model --out mine.toml",
        ),
        ("scripts that measure an SLC cache", "ssdlab calibrate --recipe cliff --out cliff"),
        ("what they found", "ssdlab calibrate cliff --fit cliff"),
    ],
)
@click.argument("target", required=False)
@click.option(
    "--recipe",
    type=click.Choice(recipes.NAMES),
    help="Print scripts for fio that measure this of a drive, or write them to directory --out.",
)
@click.option(
    "--capacity",
    metavar="SIZE",
    help="Capacity of the drive of --recipe, such as 960GB.  [default: 1TB]",
)
@click.option(
    "source",
    "--as",
    type=click.Choice(SOURCES),
    help="Type of TARGET: a device to measure, results of fio, or a trace. [default: by content]",
)
@click.option(
    "--out",
    metavar="DEVICE.toml",
    type=PATH,
    help="Write the device to FILE (TOML); with --recipe the scripts into a directory.",
)
@click.option("--plot", metavar="FILE.png", type=PATH, help="Plot measured and fitted times.")
@JSON
@click.option(
    "--kind",
    type=click.Choice(KINDS),
    default="linear",
    help="Kind of the fitted law: A + n B, times by size, or A + n B by number outstanding.",
)
@click.option(
    "--weights",
    type=click.Choice(["relative", "equal"]),
    default="relative",
    help="Weights of the least squares fit: 1/time^2, or none.",
)
@click.option(
    "--statistic",
    type=click.Choice(["mean", "median", "low"]),
    default="mean",
    help="Of the times of a point; on a busy machine the median, or the 20th percentile.",
)
@click.option(
    "--subtract-way",
    type=click.Choice(["ssdlab", "other"]),
    help="For an NBD server: subtract the measured round trip. The server: ssdlab, or another.",
)
@click.option("--write", is_flag=True, help="Measure writes too: OVERWRITES the target.")
@click.option("--block-sizes", metavar="LIST", help="Block sizes, such as 512B,4KiB; 512B to 1MiB.")
@click.option("--outstanding", metavar="LIST", default="1,2,4", help="Queue depths; 1,2,4.")
@click.option("--zones", metavar="N", type=int, default=5, help="Number of zones, odd; 5.")
@click.option("--seconds", metavar="S", type=float, default=0.5, help="Seconds per point; 0.5.")
@click.option(
    "--time-scale",
    metavar="X",
    type=float,
    default=1.0,
    help="Time scale of `ssdlab serve --time-scale X`; measured times are divided by it.",
)
@click.option("--seed", metavar="N", type=int, default=42, help="Seed of the access order; 42.")
@click.option("--device", metavar="PRESET|FILE", help="The device whose keys --fit changes.")
@click.option(
    "--fit",
    metavar="KEY=LOW..HIGH|A,B|model|cliff|span|age|layout",
    multiple=True,
    help="Fit this key by simulation; repeatable. model: the keys of a drive of today that no "
    "data sheet has, from results of fio. cliff, span, age, layout: what the scripts of --recipe "
    "measured.",
)
@ALLOW_CODE
@reading_options
@QUIET
@click.pass_context
def calibrate(
    ctx: click.Context,
    /,
    target: str | None,
    recipe: str | None,
    capacity: str | None,
    source: str | None,
    out: Path | None,
    plot: Path | None,
    json_path: str | None,
    block_sizes: str | None,
    outstanding: str,
    quiet: bool,
    **options: Any,
) -> None:
    """Fit a device to measurements of TARGET.

    TARGET is a block device or file to measure (with O_DIRECT; read-only unless --write),
    an NBD server (nbd+unix:///?socket=PATH; needs fio), results of fio with --output-format=json
    (a file, a directory, a tar), or a trace with service times. The device is the linear model,
    A + n B for each of four patterns, or with --fit any device.
    """
    if recipe is not None:
        _recipe(ctx, recipe, capacity, out, target)
        return
    if capacity is not None:
        raise click.UsageError("--capacity describes the drive of --recipe; there is no --recipe")
    if target is None:
        raise click.UsageError("TARGET is missing: what to measure, or results; or --recipe NAME")
    if out is not None:
        delivery.refuse(out, forms.CALIBRATED)
    outputs = Outputs(json_path, quiet, forms.CALIBRATION, plot=plot)
    own = {"kind", "weights", "statistic", "write", "zones", "seconds", "seed", "device", "fit"}
    own |= {"allow_code", "time_scale", "subtract_way"}
    reading = {key: value for key, value in options.items() if key not in own}
    sizes = None
    if block_sizes is not None:
        sizes = [size_bytes(size, "--block-sizes") for size in block_sizes.split(",")]
        if sizes != sorted(set(sizes)):
            raise click.UsageError(f"--block-sizes {block_sizes}: the sizes must rise")
    if any(map(recipes.is_fit, options["fit"])):
        _fit_of_recipe(ctx, Path(target), outputs, options)
        return
    if plot is not None and MODEL in options["fit"]:
        raise click.UsageError(f"--plot draws points of a law; --fit {MODEL} has none")
    numbers = list_of_numbers(outstanding, "--outstanding")
    hidden = quiet or sys.stderr is None
    with _errors(), terminal.steps(sys.stderr, "calibrating", hidden) as progress:
        found = run_calibration(
            target,
            source=source,
            block_sizes=sizes,
            outstanding=numbers,
            reading=reading,
            progress=progress,
            **{key: options[key] for key in own},
        )
    everything = found.to_dict()
    if out is not None:
        delivery.write(out, found.toml(), forms.CALIBRATED)
    from ssdlab.calibration import display

    outputs.json(everything)
    if plot is not None:
        found.plot(plot)
    outputs.table(lambda: display.table(everything, sys.stdout))


def _given(ctx: click.Context) -> set[str]:
    """The options of the command line."""
    default = click.core.ParameterSource.DEFAULT
    return {name for name in ctx.params if ctx.get_parameter_source(name) is not default}


def _no_effect(ctx: click.Context, allowed: set[str], option: str) -> None:
    """Refuse options without effect beside `option`."""
    names = {it.name: it.opts[-1] for it in ctx.command.params if it.name}
    for name in sorted(_given(ctx) - allowed):
        raise click.UsageError(f"{names[name]} has no effect with {option}")


def _recipe(
    ctx: click.Context, name: str, capacity: str | None, out: Path | None, target: str | None
) -> None:
    """Print the scripts of a recipe, or write them."""
    _no_effect(ctx, {"recipe", "capacity", "out", "quiet", "target", FORCE}, "--recipe")
    if target is not None:
        raise click.UsageError(
            f"TARGET {target} has no effect with --recipe; its scripts are told the drive"
        )
    size = round(SIZE.parse("--capacity", capacity or "1TB"))
    if out is None:
        for file, text in recipes.scripts(name, size).items():
            click.echo(f"==> {file} <==\n{text}")
        return
    for path in recipes.write(name, size, out):
        click.echo(f"Written: {path}", err=True)


def _fit_of_recipe(
    ctx: click.Context,
    target: Path,
    outputs: Outputs,
    options: dict[str, Any],
) -> None:
    """Measurements of the scripts of a recipe."""
    words = options["fit"]
    if len(words) > 1:
        raise click.UsageError(f"--fit {words[0]} stands alone; give no other --fit")
    allowed = {"target", "fit", "json_path", "time_scale", "quiet", FORCE}
    _no_effect(ctx, allowed, f"--fit {words[0]}")
    found = recipes.fit(words[0], target, options["time_scale"])
    from ssdlab.calibration import display

    outputs.json(found)
    outputs.table(lambda: display.table(found, sys.stdout))
