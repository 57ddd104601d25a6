"""`ssdlab run` after its options are read; without click, to start quickly."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

from ssdlab import _core, delivery, files, forms, layers
from ssdlab import results as results_module
from ssdlab.cli import stack
from ssdlab.running import Progress, run_layers

if TYPE_CHECKING:
    from pathlib import Path

RESULTS_FILE = results_module.FILE
EXPERIMENT_FILE = "experiment.toml"


def run(*, no_cache: bool = False, **options: Any) -> None:
    """Simulate an experiment, print and write the results; the arguments are the options."""
    with _without_cache() if no_cache else contextlib.nullcontext():
        _run(**options)


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
        from click import UsageError

        raise UsageError("--json - and --format exclude each other on standard output")
    for option, given in (("--advice", advice), ("--why", why)):
        if given and (to_stdout or form != "table" or quiet):
            from click import UsageError

            raise UsageError(
                f"{option} follows the table, which --json -, --format and --quiet omit"
            )
    json_file = None if json_path is None or to_stdout else _path(json_path)
    _refuse_outputs(out, json_file, requests)

    if pattern is not None:
        import json

        assignments = (*assignments, f"workload.pattern={json.dumps(pattern)}")
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
        from ssdlab.cli import signals

        count = getattr(error, "requests", 0)
        message = f"interrupted after {count} requests; nothing was written"
        raise signals.Interrupted(message) from error

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
        from ssdlab.running import outputs

        _show(outputs.FORMS[form](results))
    elif not quiet:
        from ssdlab.running import display

        named = f"Note: nothing was named, so {results.experiment.title} ran in steady state\n"
        note = named if is_first else stack.default_load(layered)
        _show(display.results_table(results, sys.stdout) + note)
        if why:
            from ssdlab.why.command import after_run

            after_run(results, layered, out, experiment, device, trace, workload, assignments, seed)
        elif sys.stdout.isatty() if advice is None else advice:
            again = partial(_again, experiment, device, trace, workload, assignments, seed)
            if out is not None:
                again = partial(_again, out / EXPERIMENT_FILE, None, None, None, (), None)
            _advise(results, layered, again)
    _refuse_loss(results)


def _refuse_outputs(out: Path | None, json_file: Path | None, requests: Path | None) -> None:
    """Raise `InputError` where an output could not be written, or would replace another file."""
    if out is not None:
        files.refuse_unwritable_directory(out, (RESULTS_FILE, EXPERIMENT_FILE))
        if out.is_dir():
            delivery.refuse(out / RESULTS_FILE, forms.RESULTS)
            delivery.refuse(out / EXPERIMENT_FILE, forms.EXPERIMENT)
    for path, form in ((json_file, forms.RESULTS), (requests, forms.REQUESTS)):
        if path is not None:
            delivery.refuse(path, form)


def _results(run: Callable[[], results_module.Results]) -> results_module.Results:
    """The results of a run, also where its record of requests or its drive could not be written."""
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
    """Tries what may help against the cause that the verdict names, and shows what does."""
    from ssdlab.running import display

    found = display.verdict_of(results)
    if found is None or not found.changes:
        return
    from ssdlab.running import advice

    try:
        with _progress(False) as progress:
            helped = advice.tried(results, found, layered, progress)
    except KeyboardInterrupt:  # the results are shown, and written
        print("ssdlab: the trial of changes was interrupted", file=sys.stderr)
        return
    if helped is not None:
        _show(display.advice_lines(helped, sys.stdout, again))


def _again(
    experiment: Path | None,
    device: str | None,
    trace: Path | None,
    workload: str | None,
    assignments: tuple[str, ...],
    seed: int | None,
    change: str,
) -> str:
    """The command that runs the same with an assignment, which replaces one of the same key."""
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
    """Fails a run that lost data: the results say where."""
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
    """Within, SIGTERM ends a run that `writes` files as Ctrl-C does: no half of one is left."""
    if not writes:  # it may be killed, and starts sooner
        return contextlib.nullcontext()
    from ssdlab.cli.signals import SigtermInterrupts

    return SigtermInterrupts()


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
