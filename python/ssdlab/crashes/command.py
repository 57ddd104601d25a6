"""`ssdlab crash`: the state of application data after a power cut, at thousands of instants."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from ssdlab import forms, layers, sources, units
from ssdlab._core import InputError
from ssdlab.cli.options import ALLOW_CODE, JSON, PATH, QUIET, ExamplesFirst
from ssdlab.cli.outputs import Outputs
from ssdlab.crashes import EXT4, LOOP, NBD, OK, PLACES, apps, controls, run
from ssdlab.crashes.record import Case, Recorded, case_of_app, workplace
from ssdlab.interruption import SigtermInterrupts
from ssdlab.running.stack import above

#: Default number of drives with aged data, without `--points`.
DRIVES = 20


@click.command(
    cls=ExamplesFirst,
    needs_live_device=True,
    examples=[
        (
            "SQLite, with its weakest durability settings",
            "ssdlab crash --app sqlite:journal=delete,synchronous=off",
        ),
        (
            "your own application: it prints a line for each durable item",
            "ssdlab crash --run './app $dir' --check './check $dir $acked' --keep found",
        ),
        ("judge a failed image again", "ssdlab crash --recorded found --image 120:torn-2"),
        (
            "its reaction to data that the drive has lost",
            "ssdlab crash --app sqlite --unreadable 1% --points 20",
        ),
        ("control runs, whose losses are known", "ssdlab crash --controls"),
    ],
)
@click.option(
    "--app",
    metavar="NAME[:KEY=VALUE,...]",
    help=f"A built-in application: {', '.join(apps.APPS)}.",
)
@click.option("--run", "run_command", metavar="COMMAND", help="Your application, a shell command.")
@click.option(
    "--check",
    metavar="COMMAND",
    help="Checks an image. Exit status 0: ok; 3: acknowledged data in $acked are missing; else: "
    "broken.",
)
@click.option("--setup", metavar="COMMAND", help="Setup command, run before recording starts.")
@click.option(
    "--on",
    "place",
    type=click.Choice(PLACES),
    default=EXT4,
    show_default=True,
    help="What COMMAND runs on: a file system in $dir, a block device $dev, or $uri.",
)
@click.option("--size", metavar="SIZE", help="Size of the device, such as 64MiB.  [default: 32MiB]")
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
    help="Change one key of the drive; repeatable, in any order.",
)
@ALLOW_CODE
@click.option(
    "--points",
    metavar="N",
    type=click.IntRange(1),
    default=1000,
    show_default=True,
    help="Number of power cuts.",
)
@click.option(
    "--draws",
    metavar="N",
    type=click.IntRange(0),
    default=4,
    show_default=True,
    help="Torn images per power cut, with some of the open writes. One with none and one with all "
    "of them are always made.",
)
@click.option(
    "--seed",
    metavar="N",
    type=int,
    default=1,
    show_default=True,
    help="Seed for the choice of images.",
)
@click.option(
    "--workers",
    metavar="N",
    type=click.IntRange(1),
    help="Worker processes. [default: one per core]",
)
@click.option(
    "--timeout",
    metavar="SECONDS",
    type=click.FloatRange(0, min_open=True),
    default=60.0,
    show_default=True,
    help="Time limit of the checker; past it the image counts as broken.",
)
@click.option(
    "--keep", metavar="DIR", type=PATH, help="Keep the recording and the failed images in DIR."
)
@click.option("--recorded", metavar="DIR", type=PATH, help="Judge a recording that --keep wrote.")
@click.option(
    "--image",
    metavar="EVENT:PART",
    help="With --recorded: only this image; shows the checker's full output.",
)
@click.option(
    "--unreadable",
    metavar="SHARE",
    help="Instead of power cuts: drives whose data have aged until this share of their pages, such "
    "as 1%, cannot be read. --points says how many drives: 20.",
)
@click.option(
    "--controls",
    "control",
    metavar="[NAME]",
    is_flag=False,
    flag_value="all",
    help="Run the control runs, whose losses are known, or those with NAME in their names.",
)
@JSON
@QUIET
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
    workers: int | None,
    timeout: float,
    keep: Path | None,
    recorded: Path | None,
    image: str | None,
    unreadable: str | None,
    control: str | None,
    json_path: str | None,
    quiet: bool,
) -> int:
    """Cut the power of a drive at many instants of one run, and check what the application
    recovers.

    The application runs once on the live device, and all its writes are recorded. For each
    power cut, images of the drive are made: all durable data, plus subsets of the writes in
    flight. The file system of each image is mounted and the checker run. The exit status is 1
    if an image failed. Needs root and the programs listed by `ssdlab docs crash`.
    """
    given = _one_of(ctx)
    share = None if unreadable is None else units.share("--unreadable", unreadable, 0.5)
    form = forms.CRASHES if control is None else forms.CONTROLS
    outputs = Outputs(json_path, quiet, form if share is None else forms.DAMAGE)
    if keep is not None:
        run.new_directory(keep)
    search = run.Search(points, draws, seed, workers, timeout)
    found: Any
    with SigtermInterrupts(), run.progress_on(sys.stderr, quiet) as progress:
        if control is not None:
            return _controls(control, search, keep, outputs, quiet, progress)
        with workplace() as work:
            if recorded is not None:
                if image is not None:
                    stored = run.with_checker(Recorded.load(recorded), check)
                    return _one_image(stored, image, search, work)
                found = run.judge_again(recorded, check, search, work, progress)
            else:
                case = _case(app, run_command, check, setup, place, size, device)
                case.stack.extend(above(assignments, None))
                if allow_code:
                    case.stack[:] = layers.permitting(case.stack)
                if share is not None:
                    drives = points if "points" in given else DRIVES
                    search = replace(search, points=drives)
                    return _damage(case, share, search, work, outputs, progress)
                found = run.record_and_judge(case, search, work, keep, progress)
    from ssdlab.crashes import display

    outputs.json(found.to_dict())
    outputs.table(lambda: display.findings_text(found, sys.stdout))
    return 1 if found.failed else 0


def _damage(
    case: Case,
    share: float,
    search: run.Search,
    work: Path,
    outputs: Outputs,
    progress: run.Progress,
) -> int:
    """Outcome of an application on lost data; exit status 1 if it accepts wrong data silently."""
    from ssdlab.crashes import damage, display

    found = damage.damage(case, share, search, work, progress)
    outputs.json(found.to_dict())
    outputs.table(lambda: display.damage_text(found, sys.stdout))
    return 1 if found.is_silent else 0


def _one_of(ctx: click.Context) -> set[str]:
    """Refuse conflicting options; returns the given ones."""
    given = {
        name
        for name in ctx.params
        if ctx.get_parameter_source(name) is not click.core.ParameterSource.DEFAULT
    }
    kinds = given & {"app", "run_command", "recorded", "control"}
    if len(kinds) != 1:
        raise click.UsageError("exactly one of --app, --run, --recorded and --controls is needed")
    (kind,) = kinds
    names = {it.name: it.opts[-1] for it in ctx.command.params if it.name}
    case = {"setup", "place", "size", "device", "assignments", "allow_code"}
    strange = {
        "app": {"check", "setup", "place", "image"},
        "run_command": {"image"},
        "recorded": case | {"keep", "unreadable"},
        "control": case | {"check", "image", "unreadable"},
    }[kind]
    if of_cuts := given & {"draws", "workers", "timeout", "keep"}:
        strange = strange | of_cuts if "unreadable" in given else strange
    if image_alone := given & {"points", "draws", "workers", "json_path"}:
        strange = strange | image_alone if "image" in given else strange
    for name in sorted(given & strange):
        other = "--unreadable" if name in of_cuts and "unreadable" in given else names[kind]
        raise click.UsageError(f"--{names[name].lstrip('-')} has no effect with {other}")
    if "unreadable" in given and ctx.params["place"] == NBD:
        raise click.UsageError(
            f"--unreadable needs --on {EXT4} or {LOOP}: the checker has a device"
        )
    if kind == "run_command" and "check" not in given:
        raise click.UsageError("--run needs --check, the command that judges each image")
    return given


def _case(
    app: str | None,
    run_command: str | None,
    check: str | None,
    setup: str | None,
    place: str,
    size: str | None,
    device: str | None,
) -> Case:
    stack = [sources.from_name("device", device or run.DEFAULT_DEVICE)]
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
    outputs: Outputs,
    quiet: bool,
    progress: run.Progress,
) -> int:
    wanted = controls.named(word)
    if not wanted:
        names = "; ".join(it.name for it in controls.CONTROLS)
        raise InputError(f'--controls {word}: no name has "{word}" in it; there are {names}')
    from ssdlab.crashes import display

    tell = (lambda _: None) if quiet else lambda it: click.echo(display.outcome_line(it), err=True)
    outcomes = controls.perform(wanted, search, keep, progress, tell)
    outputs.json([outcome.to_dict() for outcome in outcomes])
    outputs.table(lambda: display.controls_table(outcomes, sys.stdout))
    return 0 if all(outcome.as_expected for outcome in outcomes) else 1
