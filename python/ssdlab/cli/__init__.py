"""The command line `ssdlab`.

Scripts depend on its contract: results on standard output, everything else on standard error; exit
status 0 done, 1 the run could not be completed, 2 the input was wrong, with one message that begins
with "ssdlab: ".
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

import click

from ssdlab import __version__, _core, catalogue, cleaners, files, layers, outputs
from ssdlab import results as results_module
from ssdlab.api import Progress, run_layers

NOT_COMPLETED = 1
WRONG_INPUT = 2
RESULTS_FILE = results_module.FILE
EXPERIMENT_FILE = "experiment.toml"

PATH = click.Path(path_type=Path)
COMMAND = TypeVar("COMMAND", bound=Callable[..., Any])


class ExamplesFirst(click.Command):
    """A command whose help shows `examples` before its options."""

    def __init__(self, *args: Any, examples: Sequence[tuple[str, str]] = (), **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.examples = examples

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the description and, after it, the examples."""
        super().format_help_text(ctx, formatter)
        with formatter.section("Examples"):
            for number, (what, line) in enumerate(self.examples):
                if number:
                    formatter.write_paragraph()
                formatter.write_text(f"# {what}")
                formatter.write_text(line)


class ExamplesFirstGroup(ExamplesFirst, click.Group):
    """A group of commands whose help shows `examples` before its options.

    A command of `LATER` is imported when it is first asked for, so that the others start fast.
    """

    LATER: Mapping[str, str] = {
        "calibrate": "ssdlab.calibration.command",
        "compare": "ssdlab.comparison.command",
        "paper": "ssdlab.paper.command",
        "serve": "ssdlab.live.command",
        "report": "ssdlab.reports.command",
        "sweep": "ssdlab.sweeps.command",
        "trace": "ssdlab.trace.command",
    }

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Every command, those to be imported included."""
        return sorted({*super().list_commands(ctx), *self.LATER})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of that name, imported if need be."""
        if cmd_name in self.LATER:
            command: click.Command = getattr(import_module(self.LATER[cmd_name]), cmd_name)
            return command
        return super().get_command(ctx, cmd_name)


ALLOW_CODE = click.option(
    "--allow-code",
    is_flag=True,
    help="Load the Python cleaning policies that files name, which runs their code. One that --set "
    "names needs no permission.",
)

OVERRIDES = [
    click.option("--device", metavar="PRESET|FILE", help="The device: a preset or a TOML file."),
    click.option("--trace", metavar="FILE", type=PATH, help="The workload: replay this trace."),
    click.option("--workload", metavar="NAME|FILE", help="The workload: a preset or a TOML file."),
    click.option(
        "assignments",
        "--set",
        metavar="KEY=VALUE",
        multiple=True,
        help="Change one key, such as device.timing.read=30us; may be repeated, in any order.",
    ),
    click.option("--seed", metavar="N", type=int, help="Seed of the random generator."),
    ALLOW_CODE,
]


def override_options(command: COMMAND) -> COMMAND:
    """Adds the options that say what is run; `layers_below` and `layers_above` are their layers."""
    for option in reversed(OVERRIDES):
        command = option(command)
    return command


def layers_below(
    experiment: Path | None, device: str | None, trace: Path | None, workload: str | None
) -> list[layers.Layer]:
    """The layers of an experiment's file and of the options that name a whole section."""
    if trace is not None and workload is not None:
        raise click.UsageError("--trace and --workload exclude each other: a trace is a workload")
    stack: list[layers.Layer] = []
    if experiment is not None:
        stack.append(layers.from_file(experiment))
    if device is not None:
        stack.append(layers.from_name("device", device))
    if workload is not None:
        stack.append(layers.from_name("workload", workload))
    if trace is not None:
        stack += layers.from_trace(f"--trace {trace}", trace)
    return stack


def layers_above(assignments: Sequence[str], seed: int | None) -> list[layers.Layer]:
    """The layers of the options that change single keys."""
    stack = layers.from_options(assignments)
    if seed is not None:
        stack += layers.from_seed(f"--seed {seed}", seed)
    return stack


@click.group(
    cls=ExamplesFirstGroup,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    examples=[
        ("the default device under the default workload", "ssdlab run"),
        ("a device of your choice under a trace", "ssdlab run --device agrawal2008 --trace FILE"),
        ("what there is to choose from", "ssdlab list"),
    ],
)
@click.version_option(__version__, prog_name="ssdlab", message="%(prog)s %(version)s")
@click.pass_context
def cli(ctx: click.Context) -> None:
    """A laboratory for solid-state disks: what would this workload do on that SSD?"""
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


@cli.command(
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
            results = run_layers(stack, check=check, requests=requests, progress=progress)
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
        from ssdlab import display

        click.echo(display.results_table(results, sys.stdout), nl=False)


@cli.command(
    "list",
    cls=ExamplesFirst,
    examples=[
        ("everything", "ssdlab list"),
        ("one category", "ssdlab list devices"),
        ("for a script", "ssdlab list cleaners --json"),
    ],
)
@click.argument("what", required=False, metavar=f"[{'|'.join(catalogue.categories())}]")
@click.option("--json", "as_json", is_flag=True, help="Print JSON: an object of names by category.")
def list_command(what: str | None, as_json: bool) -> None:
    """List what there is to choose from, with a line about each."""
    chosen = catalogue.categories() if what is None else [what]
    everything = {category: catalogue.list(category) for category in chosen}
    if as_json:
        click.echo(json.dumps(everything, indent=2))
    else:
        from ssdlab import display

        click.echo(display.catalogue_table(everything, sys.stdout), nl=False)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line with `arguments` (those of the process if None); the exit status."""
    try:
        return cli.main(arguments, prog_name="ssdlab", standalone_mode=False) or 0
    except click.UsageError as error:
        hint = f" (see {error.ctx.command_path} --help)" if error.ctx is not None else ""
        return _complain(error.format_message().rstrip(".") + hint, WRONG_INPUT)
    except click.ClickException as error:
        return _complain(error.format_message(), NOT_COMPLETED)
    except _core.InputError as error:
        return _complain(str(error), WRONG_INPUT)
    except UnicodeEncodeError as error:
        return _complain(f"{error.object!r}: not UTF-8 text", WRONG_INPUT)
    except _core.PolicyError as error:
        return _complain(f"{cleaners.explain(error)}\nNothing was written.", NOT_COMPLETED)
    except _core.CheckError as error:
        return _complain(f"the check failed: {error}; nothing was written", NOT_COMPLETED)
    except (KeyboardInterrupt, click.Abort):
        return _complain("interrupted; nothing was written", NOT_COMPLETED)
    except OSError as error:  # a broken pipe is click's, and quiet
        # What is left in the buffer would fail once more when the interpreter flushes it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _complain(f"standard output: cannot be written: {error.strerror}", NOT_COMPLETED)


def _complain(message: str, status: int) -> int:
    click.echo(f"ssdlab: {message}", err=True)
    return status


@contextlib.contextmanager
def _progress(quiet: bool) -> Iterator[Callable[[Progress], None] | None]:
    if quiet or sys.stderr is None or not sys.stderr.isatty():
        yield None
        return
    from ssdlab import display

    with display.progress_bar(sys.stderr) as move:
        yield move


def _write(texts: dict[Path, str]) -> None:
    try:
        files.write_together(texts)
    except OSError as error:
        message = f"{error.filename}: cannot be written: {error.strerror}; nothing was written"
        raise click.ClickException(message) from None
