"""`ssdlab why`: single changes tried against the bottleneck, ranked."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from ssdlab import forms, layers, sources, terminal
from ssdlab.cli.options import JSON, PATH, ExamplesFirst, no_cache, override_options
from ssdlab.cli.outputs import Outputs
from ssdlab.explaining import Why, tried
from ssdlab.explaining.changes import GROUPS
from ssdlab.explaining.metric import WORDS
from ssdlab.layers import Layer
from ssdlab.results import FILE, Results
from ssdlab.running import stack
from ssdlab.sweeps.table import spoken


@click.command(
    cls=ExamplesFirst,
    examples=[
        ("what would help the run kept in ./out", "ssdlab why out"),
        (
            "of a drive and a workload that were not run yet",
            "ssdlab why --device tlc-client --workload ssdiq-load",
        ),
        ("what lengthens its life, by settings alone", "ssdlab why out --for tbw --among settings"),
        ("a change of your own, too", "ssdlab why out --try device.cleaning.min_free=0.02"),
    ],
)
@click.argument("experiment", required=False, metavar="[RESULTS|EXPERIMENT]", type=PATH)
@override_options
@click.option(
    "goal",
    "--for",
    metavar="|".join(WORDS),
    help="The figure to improve: one of these, or any that ssdlab sweep --minimize takes. "
    "[default: the worst]",
)
@click.option(
    "among",
    "--among",
    metavar=",".join(GROUPS),
    default=",".join(GROUPS),
    help="The groups of changes: "
    + "; ".join(f"{name}, {meaning}" for name, meaning in GROUPS.items())
    + ". [default: all]",
)
@click.option(
    "own",
    "--try",
    metavar="KEY=VALUE|DEVICE",
    multiple=True,
    help="Also try this change; several keys with commas are one. Repeatable.",
)
@click.option(
    "--requests",
    metavar="N",
    type=int,
    help="Requests of each simulation. [default: as the run, within 20 s of a core]",
)
@click.option("--workers", metavar="N", type=int, help="Simulations at once. [default: one a core]")
@JSON
@no_cache
@click.option("--quiet", is_flag=True, help="No progress bar and no table.")
def why(
    experiment: Path | None,
    goal: str | None,
    among: str,
    own: tuple[str, ...],
    requests: int | None,
    workers: int | None,
    json_path: str | None,
    quiet: bool,
    **overrides: Any,
) -> None:
    """Try single changes against the limit of a drive, ranked by effect.

    EXPERIMENT is what ssdlab run takes: results or their directory, a TOML file, or nothing but
    options. Each change is simulated with the seeds of the experiment, as many as it takes to prove
    or exclude a gain; all intervals hold together with 95 % confidence.
    """
    outputs = Outputs(json_path, quiet, forms.WHY)
    for option, number, least in (("--workers", workers, 1), ("--requests", requests, 100)):
        if number is not None and number < least:
            raise click.UsageError(f"{option} {number}: at least {least}")
    allow_code = overrides.pop("allow_code")
    layered = stack.below(
        experiment,
        overrides["device"],
        overrides["trace"],
        overrides["workload"],
        overrides["columns"],
        overrides["assignments"],
    ) + stack.above(overrides["assignments"], overrides["seed"])
    if allow_code:
        layered = layers.permitting(layered)
    results = None if any(overrides.values()) else _results(experiment)
    with terminal.steps(sys.stderr, "why", quiet) as bar:
        found = tried(
            layered,
            results,
            goal=goal,
            among=_groups(among),
            own=own,
            requests=requests,
            workers=workers,
            progress=bar,
        )
    again = _Again(experiment, found, **overrides)
    from ssdlab.explaining import display

    outputs.json(found.to_dict(again))
    outputs.table(lambda: display.table(found, sys.stdout, again) + stack.default_load(layered))


def after_run(
    results: Results,
    layered: Sequence[Layer],
    out: Path | None,
    experiment: Path | None,
    device: str | None,
    trace: Path | None,
    workload: str | None,
    assignments: tuple[str, ...],
    seed: int | None,
) -> None:
    """Output of `ssdlab run --why` below its table."""
    from ssdlab.explaining import display

    with terminal.steps(sys.stderr, "why") as bar:
        found = tried(layered, results, progress=bar)
    given: dict[str, Any] = {
        "device": device,
        "trace": trace,
        "workload": workload,
        "assignments": assignments,
        "seed": seed,
    }
    if out is not None:
        experiment, given = out, dict.fromkeys(given) | {"assignments": ()}
    again = _Again(experiment, found, **given)
    click.echo("\n" + display.table(found, sys.stdout, again), nl=False)


def _results(experiment: Path | None) -> Results | None:
    """The results named by EXPERIMENT; None for an experiment that was not run."""
    if experiment is None or experiment.suffix in (".toml", *sources.OTHERS):
        return None
    return Results.load(experiment)


def _groups(among: str) -> list[str]:
    words = [word.strip() for word in among.split(",") if word.strip()]
    for word in words:
        if word not in GROUPS:
            raise click.UsageError(f"--among {word}: expected some of {', '.join(GROUPS)}")
    if not words:
        raise click.UsageError(f"--among: expected some of {', '.join(GROUPS)}")
    return words


class _Again:
    """The command that repeats a change at full size."""

    def __init__(
        self,
        experiment: Path | None,
        found: Why,
        *,
        device: str | None,
        trace: Path | None,
        workload: str | None,
        assignments: tuple[str, ...],
        seed: int | None,
        columns: str | None = None,
    ) -> None:
        self.found = found
        self.side = "as-is" if experiment is None else _file(experiment)
        options = {
            "--device": device,
            "--trace": trace,
            "--columns": columns,
            "--workload": workload,
            "--seed": seed,
        }
        self.words = [
            word for key, it in options.items() if it is not None for word in (key, str(it))
        ] + [word for it in assignments for word in ("--set", it)]

    def __call__(self, change: str) -> str:
        metric = self.found.metric
        words = ["ssdlab", "compare", self.side, change, *self.words, "--repeat", "10"]
        if metric.column is not None:
            name = spoken(metric.column)
            words += ["--maximize" if metric.maximize else "--minimize", name]
        return shlex.join(words)


def _file(experiment: Path) -> str:
    """Results as an argument of `ssdlab compare`, possibly a directory."""
    return str(experiment / FILE if experiment.is_dir() else experiment)
