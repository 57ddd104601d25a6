"""What the commands share: help that shows examples, and the options that say what is run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

from ssdlab import portable
from ssdlab.cli import completion

PATH = click.Path(path_type=Path)
COMMAND = TypeVar("COMMAND", bound=Callable[..., Any])


class ExamplesFirst(click.Command):
    """A command whose help shows `examples` before its options."""

    def __init__(
        self,
        *args: Any,
        examples: Sequence[tuple[str, str]] = (),
        needs_live_device: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        self.examples = examples
        self.is_missing = needs_live_device and not portable.HAS_LIVE_DEVICE

    def invoke(self, ctx: click.Context) -> Any:
        """Run it, unless it needs what this build does not have."""
        if self.is_missing:
            portable.refuse_without_live_device()
        return super().invoke(ctx)

    def get_short_help_str(self, limit: int = 45) -> str:
        """What the list of commands says of it."""
        said = super().get_short_help_str(limit)
        return f"(needs Linux) {said}" if self.is_missing else said

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
    help="Allow configuration files to load Python cleaning policies, which runs their code. Not "
    "needed for a policy named with --set.",
)

OVERRIDES = [
    click.option(
        "--device",
        metavar="PRESET|FILE",
        shell_complete=completion.names("devices", file=True),
        help="The device: a preset or a TOML file.",
    ),
    click.option(
        "--trace", metavar="FILE", type=PATH, help="The workload: replay this trace file."
    ),
    click.option(
        "--workload",
        metavar="NAME|FILE",
        shell_complete=completion.names("workloads", file=True),
        help="The workload: a preset or a TOML file.",
    ),
    click.option(
        "assignments",
        "--set",
        metavar="KEY=VALUE",
        multiple=True,
        shell_complete=completion.assignment,
        help="Change one key, such as device.timing.read=30us; repeatable, in any order.",
    ),
    click.option("--seed", metavar="N", type=int, help="Seed of the random generator."),
    ALLOW_CODE,
]


def override_options(command: COMMAND) -> COMMAND:
    """Adds the options that say what is run; `cli.stack` makes layers of them."""
    for option in reversed(OVERRIDES):
        command = option(command)
    return command
