"""`ssdlab run`: simulates an experiment, prints its results and keeps them."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import click

from ssdlab import _core, files, layers
from ssdlab import results as results_module
from ssdlab.cli.options import (
    PATH,
    ExamplesFirst,
    layers_above,
    layers_below,
    override_options,
)
from ssdlab.running import Progress, outputs, run_layers

RESULTS_FILE = results_module.FILE
EXPERIMENT_FILE = "experiment.toml"


@click.command(
    cls=ExamplesFirst,
    examples=[
        ("the default device under the default workload", "ssdlab run"),
        ("presets by name", "ssdlab run --device agrawal2008 --workload mixed"),
        ("single keys, changed", "ssdlab run --set device.channels=4 --set cleaning.policy=greedy"),
        (
            "your experiment; results.json and experiment.toml in ./out",
            "ssdlab run mine.toml --out out",
        ),
        (
            "the flash operations of two milliseconds, for the report and plot.timeline()",
            "ssdlab run --timeline 10ms..12ms --out out",
        ),
        (
            "a trace, the results to another program",
            "ssdlab run --trace FILE --json - | jq .host.all",
        ),
    ],
)
@click.argument("experiment", required=False, metavar="[EXPERIMENT.toml]", type=PATH)
@override_options
@click.option(
    "--out",
    metavar="DIR",
    type=PATH,
    help=f"Write {RESULTS_FILE} and the complete, re-runnable {EXPERIMENT_FILE} to DIR.",
)
@click.option(
    "--json",
    "json_path",
    metavar="FILE|-",
    help="Write the results to FILE; - prints them, and nothing else, on standard output.",
)
@click.option(
    "--requests",
    metavar="FILE.parquet",
    type=PATH,
    help="Write every request, its times and where they went to FILE, which is also a trace.",
)
@click.option(
    "--timeline",
    metavar="FROM..TO",
    help="Record the flash operations of a window of simulated time, such as 10ms..12ms.",
)
@click.option(
    "--threads",
    metavar="N|auto",
    default="1",
    show_default=True,
    help="Threads for this run. Results are the same bits; each takes a copy of the drive's state.",
)
@click.option(
    "form",
    "--format",
    type=click.Choice(["table", *outputs.FORMS]),
    default="table",
    help="How the results are printed: as a table, as fio's JSON, or as DiskSpd's table.",
)
@click.option("--check", is_flag=True, help="Audit the device's whole state after the run.")
@click.option("--quiet", is_flag=True, help="No progress and no table.")
def run(
    experiment: Path | None,
    device: str | None,
    trace: Path | None,
    workload: str | None,
    assignments: tuple[str, ...],
    seed: int | None,
    allow_code: bool,
    out: Path | None,
    json_path: str | None,
    requests: Path | None,
    timeline: str | None,
    threads: str,
    form: str,
    check: bool,
    quiet: bool,
) -> None:
    """Simulate an experiment and print what came of it.

    Later options override earlier ones in this order: the experiment file, --device, --workload or
    --trace, all --set together, --seed, --timeline. The order of several --set says nothing; one
    that names a kind or preset replaces what the file and --device or --workload say of that
    section. A preset goes before a file of the same name, which ./NAME selects.
    """
    to_stdout = json_path == "-"
    if to_stdout and form != "table":
        raise click.UsageError("--json - and --format exclude each other on standard output")
    json_file = None if json_path is None or to_stdout else Path(json_path)
    if out is not None:
        files.refuse_unwritable_directory(out, (RESULTS_FILE, EXPERIMENT_FILE))
    if json_file is not None:
        files.refuse_unwritable(json_file)
    if requests is not None:
        files.refuse_unwritable(requests)

    stack = layers_below(experiment, device, trace, workload) + layers_above(assignments, seed)
    if timeline is not None:
        stack += layers.from_mapping(f"--timeline {timeline}", {"run": {"timeline": timeline}})
    if allow_code:
        stack = layers.permitting(stack)
    resolved = _core.resolve(stack)

    try:
        with _progress(quiet) as progress:
            results = run_layers(
                stack, check=check, requests=requests, threads=threads, progress=progress
            )
    except OSError as error:  # of the record of requests: nothing else is written here
        raise click.ClickException(f"{error}; nothing was written") from None
    except KeyboardInterrupt as error:
        count = getattr(error, "requests", 0)
        raise click.ClickException(
            f"interrupted after {count} requests; nothing was written"
        ) from None

    texts = {}
    if out is not None:
        texts = {out / RESULTS_FILE: results.to_json(), out / EXPERIMENT_FILE: resolved}
    if json_file is not None:
        texts[json_file] = results.to_json()
    _write(texts)
    if not quiet and results.get("timeline") and results.timeline.cut:
        kept = len(results.timeline.operations.lane)
        click.echo(f"ssdlab: the timeline was cut after {kept:,} operations", err=True)
    if to_stdout:
        click.echo(results.to_json(), nl=False)
    elif form in outputs.FORMS:
        click.echo(outputs.FORMS[form](results), nl=False)
    elif not quiet:
        from ssdlab.running import display

        click.echo(display.results_table(results, sys.stdout), nl=False)


@contextlib.contextmanager
def _progress(quiet: bool) -> Iterator[Callable[[Progress], None] | None]:
    if quiet or sys.stderr is None or not sys.stderr.isatty():
        yield None
        return
    from ssdlab.running import display

    with display.progress_bar(sys.stderr) as move:
        yield move


def _write(texts: dict[Path, str]) -> None:
    try:
        files.write_together(texts)
    except OSError as error:
        message = f"{error.filename}: cannot be written: {error.strerror}; nothing was written"
        raise click.ClickException(message) from None
