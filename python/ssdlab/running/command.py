"""`ssdlab run`: simulates an experiment, prints and writes its results."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from ssdlab import _core, delivery, files, forms, interruption, layers
from ssdlab import results as results_module
from ssdlab.cli.options import JSON, PATH, QUIET, ExamplesFirst, override_options
from ssdlab.results import outputs
from ssdlab.running import Progress, run_layers, stack

if TYPE_CHECKING:
    from pathlib import Path

RESULTS_FILE = results_module.FILE
EXPERIMENT_FILE = "experiment.toml"


@click.command(
    cls=ExamplesFirst,
    examples=[
        ("start here: a current drive in steady state", "ssdlab run"),
        ("built-in presets", "ssdlab run --device samsung-pm9a3 --workload mixed"),
        ("change single keys", "ssdlab run --set device.channels=4 --set cleaning.policy=greedy"),
        (
            "your experiment; results.json and experiment.toml in ./out",
            "ssdlab run mine.toml --out out",
        ),
        (
            "record the flash operations of 2 ms, for the report and plot.timeline()",
            "ssdlab run --timeline 10ms..12ms --out out",
        ),
        (
            "replay a trace, pipe the results to another program",
            "ssdlab run --trace FILE --json - | jq .host.all",
        ),
        ("repeat the experiment of results", "ssdlab run out/results.json --set device.channels=4"),
        ("a fio job on a drive", "ssdlab run job.fio --device samsung-pm9a3"),
        (
            "command lines of DiskSpd, and its table",
            "ssdlab run --workload load.cmd --format diskspd",
        ),
        (
            "MQSim's files as an experiment, and which settings are not modelled",
            "ssdlab run ssdconfig.xml --workload workload.xml --show",
        ),
    ],
)
@click.argument("experiment", required=False, metavar="[EXPERIMENT]", type=PATH)
@override_options
@click.option(
    "--out",
    metavar="DIR",
    type=PATH,
    help=f"Write {RESULTS_FILE} and the complete, re-runnable {EXPERIMENT_FILE} to DIR.",
)
@JSON
@click.option(
    "--requests",
    metavar="FILE.parquet",
    type=PATH,
    help="Write every request with its times and latency breakdown to FILE, which can be "
    "replayed as a trace.",
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
    help="Threads that precondition the drive. Results are bit-identical; each needs a copy "
    "of its state.",
)
@click.option(
    "form",
    "--format",
    type=click.Choice(["table", *outputs.FORMS]),
    default="table",
    help="Output format: a table, fio's JSON, or DiskSpd's table.",
)
@click.option(
    "--check", is_flag=True, help="Check the consistency of the device's whole state after the run."
)
@click.option(
    "--advice/--no-advice",
    default=None,
    help="Try changes against the bottleneck in short simulations, 5 s at most, and show one that "
    "helps. Default: where the table goes to a terminal.",
)
@click.option(
    "--no-cache",
    is_flag=True,
    help="Prepare the drive anew, and do not keep it prepared (ssdlab cache shows those kept).",
)
@click.option(
    "--pattern",
    metavar="REGEX",
    help="The lines of --trace that are requests; groups such as (?<time_us>...) are columns.",
)
@click.option(
    "--why",
    is_flag=True,
    help="Then try 8 to 16 changes and rank them, as ssdlab why does: about a minute.",
)
@QUIET
@click.option(
    "--show",
    is_flag=True,
    help="Print the complete experiment with every key, and do not run it.",
)
def run(*, no_cache: bool, **arguments: Any) -> None:
    """Simulate an experiment and print the results.

    EXPERIMENT is a TOML file, results of ssdlab run or their directory, a fio job (.fio), command
    lines of DiskSpd (.cmd), or a file of MQSim (.xml) or DiskSim
    (.parv), which --device and --workload take as well.

    Without a device, a workload and --set, a current drive runs in steady state; a trace without a
    device is replayed on it.

    Later options override earlier ones in this order: the experiment file, --device, --workload or
    --trace, all --set together, --seed, --timeline. The order of several --set does not matter;
    one that names a kind or preset resets that section. A preset takes precedence over a file
    of the same name; ./NAME selects the file.
    """
    with _without_cache() if no_cache else contextlib.nullcontext():
        _run(**arguments)


def _without_cache() -> contextlib.AbstractContextManager[None]:
    from ssdlab import cache

    return cache.off()


def _run(
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
    show: bool,
    advice: bool | None = None,
    columns: str | None = None,
    pattern: str | None = None,
    why: bool = False,
) -> None:
    to_stdout = json_path == "-"
    if to_stdout and form != "table":
        raise click.UsageError("--json - and --format exclude each other on standard output")
    for option, given in (("--advice", advice), ("--why", why)):
        if given and (to_stdout or form != "table" or quiet):
            raise click.UsageError(
                f"{option} follows the table, which --json -, --format and --quiet omit"
            )
    json_file = None if json_path is None or to_stdout else _path(json_path)
    _refuse_outputs(out, json_file, requests)

    if pattern is not None:
        import json

        assignments = (*assignments, f"workload.pattern={json.dumps(pattern)}")
    assumed = None if device else stack.drive_of_trace(experiment, trace, assignments)
    device = device or assumed
    layered = stack.below(experiment, device, trace, workload, columns, assignments)
    is_first = not layered and not assignments
    if is_first:
        layered += stack.first_run()
    layered += stack.above(assignments, seed)
    if timeline is not None:
        layered += layers.from_mapping(f"--timeline {timeline}", {"run": {"timeline": timeline}})
    if allow_code:
        layered = layers.permitting(layered)
    resolved = _core.resolve(layered)
    notes = _notes(layered)
    if show:
        _show("".join(f"# {note}\n" for note in notes) + resolved)
        return
    if notes and not quiet:
        print(f"ssdlab: {notes[0]}", file=sys.stderr)
        if len(notes) > 1:
            print(f"ssdlab: and {len(notes) - 1} more notes: --show lists them", file=sys.stderr)

    try:
        with (
            _sigterm(out or json_file or requests or "save_drive" in resolved),
            _progress(quiet) as progress,
        ):
            results = _results(
                partial(
                    run_layers,
                    layered,
                    check=check,
                    requests=requests,
                    threads=threads,
                    progress=progress,
                )
            )
    except KeyboardInterrupt as error:
        count = getattr(error, "requests", 0)
        message = f"interrupted after {count} requests; nothing was written"
        raise interruption.Interrupted(message) from error

    if out is not None:
        delivery.write(out / RESULTS_FILE, results.to_json(), forms.RESULTS)
        delivery.write(out / EXPERIMENT_FILE, resolved, forms.EXPERIMENT)
    if json_file is not None:
        delivery.write(json_file, results.to_json(), forms.RESULTS)
    if not quiet and results.get("timeline") and results.timeline.cut:
        kept = len(results.timeline.operations.lane)
        print(f"ssdlab: the timeline stopped after {kept:,} operations", file=sys.stderr)
    if not quiet and timeline is not None and not _has_operations(results):
        print(
            f"ssdlab: --timeline {timeline}: there were no flash operations; the run took "
            f"{results.simulated_seconds:.6g} s",
            file=sys.stderr,
        )
    if to_stdout:
        _show(results.to_json())
    elif form != "table":
        _show(outputs.FORMS[form](results))
    elif not quiet:
        from ssdlab.results import display

        named = f"Note: nothing was named, so {results.experiment.title} ran in steady state\n"
        note = named if is_first else stack.default_load(layered)
        if assumed:
            note += f"Note: no drive was named, so {assumed}, a current one, ran; --device does\n"
        _show(display.results_table(results, sys.stdout) + note)
        if why:
            from ssdlab.explaining.command import after_run

            after_run(results, layered, out, experiment, device, trace, workload, assignments, seed)
        elif sys.stdout.isatty() if advice is None else advice:
            again = partial(_repeat_command, experiment, device, trace, workload, assignments, seed)
            if out is not None:
                again = partial(_repeat_command, out / EXPERIMENT_FILE, None, None, None, (), None)
            _advise(results, layered, again)
    _refuse_loss(results)


def _refuse_outputs(out: Path | None, json_file: Path | None, requests: Path | None) -> None:
    """Raise `InputError` if an output is unwritable or would replace a foreign file."""
    if out is not None:
        files.refuse_unwritable_directory(out, (RESULTS_FILE, EXPERIMENT_FILE))
        if out.is_dir():
            delivery.refuse(out / RESULTS_FILE, forms.RESULTS)
            delivery.refuse(out / EXPERIMENT_FILE, forms.EXPERIMENT)
    for path, form in ((json_file, forms.RESULTS), (requests, forms.REQUESTS)):
        if path is not None:
            delivery.refuse(path, form)


def _results(run: Callable[[], results_module.Results]) -> results_module.Results:
    """The results of a run, even if its record of requests or its drive is unwritable."""
    try:
        return run()
    except OSError as error:
        found: results_module.Results | None = getattr(error, "results", None)
        if found is None:
            raise _not_completed(f"{error}; nothing was written") from None
        delivery.failed(f"{error}; the results are not lost")
        return found


def _advise(
    results: results_module.Results, layered: list[layers.Layer], again: Callable[[str], str]
) -> None:
    """Try changes against the verdict's cause, and show the helpful one."""
    from ssdlab.results import display

    found = display.verdict_of(results)
    if found is None or not found.changes:
        return
    from ssdlab.running import advice

    try:
        with _progress(False) as progress:
            helped = advice.tried(results, found, layered, progress)
    except KeyboardInterrupt:  # the results are complete
        print("ssdlab: the trial of changes was interrupted", file=sys.stderr)
        return
    if helped is not None:
        _show(display.advice_lines(helped, sys.stdout, again))


def _repeat_command(
    experiment: Path | None,
    device: str | None,
    trace: Path | None,
    workload: str | None,
    assignments: tuple[str, ...],
    seed: int | None,
    change: str,
) -> str:
    """The command that repeats the run with an assignment, which replaces one of its key."""
    import shlex

    words = ["ssdlab", "run", *([] if experiment is None else [str(experiment)])]
    options = {"--device": device, "--trace": trace, "--workload": workload, "--seed": seed}
    for option, value in options.items():
        words += [] if value is None else [option, str(value)]
    key = change.partition("=")[0]
    for assignment in assignments:
        own = assignment.partition("=")[0].strip()
        if key != own and not key.endswith(f".{own}"):
            words += ["--set", assignment]
    return shlex.join([*words, "--set", change])


def _has_operations(results: results_module.Results) -> bool:
    recorded = results.get("timeline")
    return bool(recorded and recorded.operations.lane)


def _notes(layered: list[layers.Layer]) -> list[str]:
    """Notes on unsupported parameters of other programs' files."""
    if not any(layer.source.endswith(layers.CONVERTED) for layer in layered):
        return []
    from ssdlab import foreign

    return foreign.notes(layered)


def _refuse_loss(results: results_module.Results) -> None:
    """Fail a run that lost data, with its position."""
    power = results.get("power")
    if power and power["durable_lost"]:
        instants = ", ".join(f"{at:g} s" for at in power["cut_at_seconds"][:5])
        raise _not_completed(
            f"{power['durable_lost']:,} durable pages lost in a power cut (seed "
            f"{results.experiment.run.seed}, cut at {instants})"
        )
    if lost := results.get("array", {}).get("data_loss_sectors"):
        array = results.array
        raise _not_completed(
            f"data loss: {lost:,} sectors of {512 * lost:,} bytes; {array.member_failures} "
            f"members of the array failed, more than {array.redundancy} tolerates"
        )


def _sigterm(writes: object) -> contextlib.AbstractContextManager[object]:
    """Context in which SIGTERM ends a run that `writes` files like Ctrl-C, without partial ones."""
    if not writes:  # no cleanup needed, for a faster start
        return contextlib.nullcontext()
    return interruption.SigtermInterrupts()


@contextlib.contextmanager
def _progress(quiet: bool) -> Iterator[Callable[[Progress], None] | None]:
    if quiet or sys.stderr is None or not sys.stderr.isatty():
        yield None
        return
    from ssdlab.running import bar

    with bar.progress_bar(sys.stderr) as move:
        yield move


def _show(text: str) -> None:
    print(text, end="", flush=True)


def _path(text: str) -> Path:
    from pathlib import Path

    return Path(text)


def _not_completed(message: str) -> Exception:
    from click import ClickException

    return ClickException(message)
