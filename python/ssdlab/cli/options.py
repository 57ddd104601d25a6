"""What the commands share: help that shows examples, and the options that say what is run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

from ssdlab import layers

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
