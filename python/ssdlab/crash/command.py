"""`ssdlab crash`: what an application finds after a power cut, at thousands of instants."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import click

from ssdlab import files, layers
from ssdlab._core import InputError
from ssdlab.cli.options import ALLOW_CODE, PATH, ExamplesFirst
from ssdlab.cli.signals import SigtermInterrupts
from ssdlab.cli.stack import above
from ssdlab.crash import EXT4, OK, PLACES, apps, controls, run
from ssdlab.crash.record import Case, Recorded, case_of_app, workplace


@click.command(
    cls=ExamplesFirst,
    examples=[
        (
            "SQLite, with the settings that promise least",
            "ssdlab crash --app sqlite:journal=delete,synchronous=off",
        ),
        (
            "an application of your own: it prints a line for each thing that is durable",
            "ssdlab crash --run './app $dir' --check './check $dir $acked' --keep found",
        ),
        ("an image that failed, once more", "ssdlab crash --recorded found --image 120:torn-2"),
        ("runs of which it is known what must be lost", "ssdlab crash --controls"),
    ],
)
@click.option(
    "--app",
    metavar="NAME[:KEY=VALUE,...]",
    help=f"An application that is ready: {', '.join(apps.APPS)}.",
)
@click.option("--run", "run_command", metavar="COMMAND", help="The application, a shell command.")
@click.option(
    "--check",
    metavar="COMMAND",
    help="Judges an image. Status 0: all is well; 3: something of $acked is missing; else: broken.",
)
@click.option("--setup", metavar="COMMAND", help="What comes before the run and is not recorded.")
@click.option(
    "--on",
    "place",
    type=click.Choice(PLACES),
    default=EXT4,
    show_default=True,
    help="What COMMAND works on: a file system in $dir, a block device $dev, or $uri.",
)
@click.option("--size", metavar="SIZE", help="Of the device, such as 64MiB.  [default: 32MiB]")
@click.option(
    "--device",
    metavar="PRESET|FILE",
    help=f"The drive: a preset or a TOML file.  [default: {run.DEFAULT_DEVICE}]",
)
@click.option(
    "assignments",
    "--set",
    metavar="KEY=VALUE",
    multiple=True,
    help="Change one key of the drive; may be repeated, in any order.",
)
@ALLOW_CODE
@click.option(
    "--points",
    metavar="N",
    type=click.IntRange(1),
    default=1000,
    show_default=True,
    help="Instants at which the power is cut.",
)
@click.option(
    "--draws",
    metavar="N",
    type=click.IntRange(0),
    default=4,
    show_default=True,
    help="Images of an instant with some of the open writes, beside those with none and all.",
)
@click.option(
    "--seed", metavar="N", type=int, default=1, show_default=True, help="Of the choice of images."
)
@click.option("--jobs", metavar="N", type=click.IntRange(1), help="Processes; one for each core.")
@click.option(
    "--timeout",
    metavar="SECONDS",
    type=click.FloatRange(0, min_open=True),
    default=60.0,
    show_default=True,
    help="A checker that takes longer has found a broken image.",
)
@click.option("--keep", metavar="DIR", type=PATH, help="Keep the run and images that failed.")
@click.option("--recorded", metavar="DIR", type=PATH, help="Judge a run that --keep has kept.")
@click.option(
    "--image", metavar="EVENT:PART", help="Of --recorded only this image; shows all of the checker."
)
@click.option(
    "--controls",
    "control",
    metavar="[NAME]",
    is_flag=False,
    flag_value="all",
    help="Runs of which it is known what must be lost, or those with NAME in their names.",
)
@click.option("--json", "json_path", metavar="FILE|-", help="Write all findings as JSON.")
@click.option("--quiet", is_flag=True, help="No progress and no table.")
@click.pass_context
def crash(
    ctx: click.Context,
    app: str | None,
    run_command: str | None,
    check: str | None,
    setup: str | None,
    place: str,
    size: str | None,
    device: str | None,
    assignments: tuple[str, ...],
    allow_code: bool,
    points: int,
    draws: int,
    seed: int,
    jobs: int | None,
    timeout: float,
    keep: Path | None,
    recorded: Path | None,
    image: str | None,
    control: str | None,
    json_path: str | None,
    quiet: bool,
) -> int:
    """Cut the power of a drive at many instants of one run, and judge what an application finds.

    The application runs once on the live device, and all that it writes is recorded. Then, for
    each instant, images of the drive are made: what is surely there, and parts of what is not yet.
    Of each the file system is mounted and the checker run. The status is 1 if an image failed. It
    needs root, and the programs that docs/crash.md names.
    """
    _one_of(ctx)
    if json_path not in (None, "-"):
        files.refuse_unwritable(Path(str(json_path)))
    if keep is not None:
        run.new_directory(keep)
    search = run.Search(points, draws, seed, jobs, timeout)
    found: Any
    with SigtermInterrupts(), run.progress_on(sys.stderr, quiet) as progress:
        if control is not None:
            return _controls(control, search, keep, json_path, quiet, progress)
        with workplace() as work:
            if recorded is not None:
                kept = Recorded.load(recorded)
                run.demand(kept.place, kept.app)
                if check is not None:
                    kept.check, kept.app = check, None
                if image is not None:
                    return _one_image(kept, image, search, work)
                found = run.judge_recorded(kept, search, work, None, progress)
                found.kept, found.check = recorded, check
            else:
                case = _case(app, run_command, check, setup, place, size, device)
                case.stack.extend(above(assignments, None))
                if allow_code:
                    case.stack[:] = layers.permitting(case.stack)
                found = run.record_and_judge(case, search, work, keep, progress)
    _write(json_path, found.to_dict())
    if json_path != "-" and not quiet:
        from ssdlab.crash import display

        click.echo(display.findings_text(found, sys.stdout), nl=False)
    return 1 if found.failed else 0


def _one_of(ctx: click.Context) -> None:
    """Refuse options that say nothing together."""
    given = {
        name
        for name in ctx.params
        if ctx.get_parameter_source(name) is not click.core.ParameterSource.DEFAULT
    }
    kinds = given & {"app", "run_command", "recorded", "control"}
    if len(kinds) != 1:
        raise click.UsageError("one of --app, --run, --recorded and --controls is needed, not more")
    (kind,) = kinds
    names = {it.name: it.opts[-1] for it in ctx.command.params if it.name}
    case = {"setup", "place", "size", "device", "assignments", "allow_code"}
    strange = {
        "app": {"check", "setup", "place", "image"},
        "run_command": {"image"},
        "recorded": case | {"keep"},
        "control": case | {"check", "image"},
    }[kind]
    if image_alone := given & {"points", "draws", "jobs", "json_path"}:
        strange = strange | image_alone if "image" in given else strange
    for name in sorted(given & strange):
        raise click.UsageError(f"--{names[name].lstrip('-')} says nothing with {names[kind]}")
    if kind == "run_command" and "check" not in given:
        raise click.UsageError("--run needs --check: who else knows what must be there?")


def _case(
    app: str | None,
    run_command: str | None,
    check: str | None,
    setup: str | None,
    place: str,
    size: str | None,
    device: str | None,
) -> Case:
    stack = [layers.from_name("device", device or run.DEFAULT_DEVICE)]
    if app is not None:
        return case_of_app(app, stack, size)
    assert run_command is not None
    return Case(stack, place, size or "32MiB", run_command, check, setup)


def _one_image(kept: Recorded, name: str, search: run.Search, work: Path) -> int:
    verdict = run.judge_one(kept, name, search, work)
    click.echo(f"{name}: {verdict.verdict}" + (f": {verdict.reason}" if verdict.reason else ""))
    return 0 if verdict.verdict == OK else 1


def _controls(
    word: str,
    search: run.Search,
    keep: Path | None,
    json_path: str | None,
    quiet: bool,
    progress: run.Progress,
) -> int:
    wanted = controls.named(word)
    if not wanted:
        names = "; ".join(it.name for it in controls.CONTROLS)
        raise InputError(f'--controls {word}: no name has "{word}" in it; there are {names}')
    from ssdlab.crash import display

    tell = (lambda _: None) if quiet else lambda it: click.echo(display.outcome_line(it), err=True)
    outcomes = controls.perform(wanted, search, keep, progress, tell)
    _write(json_path, [outcome.to_dict() for outcome in outcomes])
    if json_path != "-" and not quiet:
        click.echo(display.controls_table(outcomes, sys.stdout), nl=False)
    return 0 if all(outcome.as_expected for outcome in outcomes) else 1


def _write(json_path: str | None, found: object) -> None:
    if json_path is None:
        return
    text = json.dumps(found, indent=1) + "\n"
    if json_path == "-":
        click.echo(text, nl=False)
        return
    try:
        Path(json_path).write_text(text)
    except OSError as error:
        reason = f"cannot be written: {error.strerror}"
        raise click.ClickException(f"{json_path}: {reason}") from None
