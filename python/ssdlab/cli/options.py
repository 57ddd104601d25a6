"""Options shared by the commands, and help that shows examples."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any, TypeGuard, TypeVar

import click

from ssdlab import delivery, portable
from ssdlab.cli import completion

PATH = click.Path(path_type=Path)
COMMAND = TypeVar("COMMAND", bound=Callable[..., Any])


#: Options that name output files, if their command takes a path for them.
OUTPUTS = ("--out", "--json", "--plot", "--report", "--requests", "--record")


def _switch_cache_off(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        from ssdlab import cache

        ctx.with_resource(cache.off())


def no_cache(command: COMMAND) -> COMMAND:
    """The option `--no-cache` of a command that prepares drives."""
    option = click.option(
        "--no-cache",
        is_flag=True,
        expose_value=False,
        callback=_switch_cache_off,
        help="Prepare every drive anew, and keep none prepared (ssdlab cache shows those kept).",
    )
    return option(command)


#: Name of the option of every command that writes files.
FORCE = "force"


def _force() -> click.Option:
    return click.Option(
        [f"--{FORCE}"],
        is_flag=True,
        help="Replace files that this command did not write; otherwise they are refused.",
    )


#: Maximum number of lines and examples in `--help`; `--help-all` has all.
LINES = 44
EXAMPLES = 3
#: Options that a short `--help` shows first.
FRONT = (
    "--device",
    "--trace",
    "--workload",
    "--set",
    "--out",
    "--json",
    "--seed",
    "--report",
    "--plot",
    "--nvme",
)


#: Context key of the complete help.
HELP_ALL = "ssdlab.help_all"


def _show_all(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        ctx.meta[HELP_ALL] = True
        click.echo(ctx.get_help(), color=ctx.color)
        ctx.exit()


def takes_one_value(param: click.Parameter) -> TypeGuard[click.Option]:
    """True for an option with a value that may be given once."""
    return isinstance(param, click.Option) and not (param.is_flag or param.count or param.multiple)


class ExamplesFirst(click.Command):
    """A command whose help shows `examples` before its options. It rejects repeated and empty
    values of single-value options, which click would accept silently.
    """

    def __init__(
        self,
        *args: Any,
        examples: Sequence[tuple[str, str]] = (),
        needs_live_device: bool = False,
        writes: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        if writes or any(takes_one_value(it) and it.opts[-1] in OUTPUTS for it in self.params):
            self.params.append(_force())
        self.examples = examples
        self.is_missing = needs_live_device and not portable.HAS_LIVE_DEVICE

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the arguments; `args` are the remaining arguments."""
        if not ctx.resilient_parsing:  # incomplete input during completion
            self._refuse_silent(ctx, args)
        remainder = super().parse_args(ctx, args)
        for param in self.get_params(ctx):
            value = ctx.params.get(str(param.name))
            # NaN passes range checks: it is neither below nor above a bound.
            if isinstance(value, float) and math.isnan(value):
                raise click.UsageError(f"{param.opts[-1]} {value}: is not a number", ctx)
        self._refuse_shared(ctx)
        return remainder

    def _refuse_shared(self, ctx: click.Context) -> None:
        """Raise `UsageError` if two outputs name the same file."""
        roles: dict[str, str] = {}
        for param in self.get_params(ctx):
            value, option = ctx.params.get(str(param.name)), param.opts[-1]
            if option not in OUTPUTS or not isinstance(value, str | Path) or str(value) == "-":
                continue
            position = os.path.realpath(value)
            other = roles.setdefault(position, option)
            is_file = os.path.isfile(position) or not os.path.exists(
                position
            )  # neither a pipe nor a device
            if other != option and is_file:
                raise click.UsageError(
                    f"{other} and {option} are both written to {value}; give each its own file", ctx
                )

    def _refuse_silent(self, ctx: click.Context, args: list[str]) -> None:
        """Raise `UsageError` for a repeated or empty value of a single-value option.

        click would take the last value. Repeated flags are harmless. An empty path would be the
        current directory, and is most likely an unset shell variable.
        """
        parser = self.make_parser(ctx)
        once = [param for param in self.get_params(ctx) if takes_one_value(param)]
        for param in once:
            parser.add_option(param, param.opts, param.name, action="append", nargs=param.nargs)
        found, _, _ = parser.parse_args(args=[*args])
        for param in once:
            values = found.get(param.name) or []
            if len(values) > 1:
                # An option with an optional value has a sentinel there.
                said = [str(it) if isinstance(it, str) else "no value" for it in values]
                problem = f"{param.opts[-1]} takes one value, and is given {len(values)}: "
                problem += " and ".join(said)
                if self.name == "run" and param.opts[-1] == "--device":
                    problem += f"; ssdlab compare {' '.join(said)} runs them side by side"
                raise click.UsageError(problem, ctx)
            if "" in values:
                raise click.UsageError(f"{param.opts[-1]} has an empty value", ctx)
        for argument in self.get_params(ctx):
            if isinstance(argument, click.Argument):
                given = found.get(str(argument.name))
                if given == "" or (isinstance(given, tuple) and "" in given):
                    name = argument.human_readable_name.strip("[].")
                    raise click.UsageError(f"{name} is empty", ctx)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command, unless this build lacks its requirements."""
        if self.is_missing:
            portable.refuse_without_live_device()
        with delivery.command(ctx.params.pop(FORCE, False)) as outputs:
            status = super().invoke(ctx)
        return status or outputs.status

    def get_short_help_str(self, limit: int = 45) -> str:
        """Line of the list of commands."""
        said = super().get_short_help_str(limit)
        return f"(needs Linux) {said}" if self.is_missing else said

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """The parameters, with `--help-all`."""
        params = super().get_params(ctx)
        everything = click.Option(
            ["--help-all"],
            is_flag=True,
            is_eager=True,
            expose_value=False,
            callback=_show_all,
            help="Show everything.",
        )
        return [*params[:-1], everything, *params[-1:]]

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options: those for which `LINES` have room, or all with `--help-all`.

        Required options come first, then options of the examples shown, then `FRONT`.
        """
        options = [it for it in self.get_params(ctx) if isinstance(it, click.Option)]
        records = [(it, record) for it in options if (record := it.get_help_record(ctx))]
        if isinstance(self, click.Group) or ctx.meta.get(HELP_ALL):
            with formatter.section("Options"):
                formatter.write_dl([record for _, record in records])
            return
        used = {word for _, line in self.examples[:EXAMPLES] for word in re.split(r"[\s=]+", line)}

        def rank(at: int) -> tuple[bool, bool, bool, int]:
            option = records[at][0]
            is_front = option.opts[-1] in FRONT
            return (not option.required, used.isdisjoint(option.opts), not is_front, at)

        ranked = sorted(range(len(records)), key=rank)
        last = [at for at in ranked if records[at][0].opts[-1] in ("--help", "--help-all")]
        ranked = [at for at in ranked if at not in last]
        written = formatter.getvalue().count("\n") + 1

        def lines(chosen: Sequence[int]) -> list[str]:
            scratch = click.HelpFormatter(width=formatter.width)
            with scratch.section("Options"):
                scratch.write_dl([records[at][1] for at in sorted([*chosen, *last])])
            return scratch.getvalue().splitlines()

        visible = len(ranked)
        while visible > 1 and written + len(lines(ranked[:visible])) > LINES - 2 * (
            visible < len(ranked)
        ):
            visible -= 1
        formatter.write("\n" + "\n".join(lines(ranked[:visible])) + "\n")
        if more := len(ranked) - visible:
            formatter.write(f"\n{more} more: {ctx.command_path} --help-all\n")

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the description, then the examples."""
        super().format_help_text(ctx, formatter)
        if not self.examples:
            return
        with formatter.section("Examples"):
            every = ctx.meta.get(HELP_ALL)
            for number, (what, line) in enumerate(self.examples[: None if every else EXAMPLES]):
                if number and (every or not isinstance(self, click.Group)):
                    formatter.write_paragraph()
                formatter.write_text(f"# {what}")
                formatter.write_text(line)


class ExamplesFirstGroup(ExamplesFirst, click.Group):
    """A group of commands whose help shows `examples` before its options."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options, then the commands."""
        super().format_options(ctx, formatter)
        self.format_commands(ctx, formatter)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the arguments; without any, show the help."""
        if not args and not ctx.resilient_parsing:
            click.echo(ctx.get_help())
            ctx.exit()
        return super().parse_args(ctx, args)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The requested command; the error for an unknown one lists the known ones."""
        known = self.list_commands(ctx)
        name = args[0]
        if not (name in known or name.startswith("-") or ctx.resilient_parsing):
            from ssdlab.cli import elsewhere

            here = elsewhere.command(name) if ctx.parent is None else None
            near = get_close_matches(name.lower(), known)
            if here is None and near:
                here = f"did you mean {' or '.join(near)}?"
            elif here is None and os.path.isfile(name):
                here = (
                    elsewhere.FILE if ctx.parent is None else f"before a file: {', '.join(known)}"
                )
            ctx.fail(f'there is no command "{name}"; {here or "commands: " + ", ".join(known)}')
        return super().resolve_command(ctx, args)


#: Option of every command with numbers.
JSON = click.option(
    "--json", "json_path", metavar="FILE|-", help="Write all numbers as JSON; - prints only them."
)
#: Option of every command that prints a table or progress.
QUIET = click.option("--quiet", is_flag=True, help="No progress bar and no table.")
#: Option of look-ups, whose exit status is 0 if the name exists.
QUIETLY = click.option(
    "--quiet", is_flag=True, help="Print nothing; the exit status is the answer."
)
ALLOW_CODE = click.option(
    "--allow-code",
    is_flag=True,
    help="Allow configuration files to load Python cleaning policies, which runs their code. Not "
    "needed for a policy named with --set.",
)

COLUMNS = click.option(
    "--columns",
    metavar="LIST",
    help="Columns of --trace: time=ts:us,offset=lba*512,size=len,op=rw.",
)

OVERRIDES = [
    click.option(
        "--device",
        metavar="PRESET|FILE",
        shell_complete=completion.names("devices", file=True),
        help="The device: a preset or a TOML file.",
    ),
    click.option(
        "--trace",
        metavar="FILE",
        type=PATH,
        help="The workload: replay this trace: a file, or several by a pattern such as 'a/*.csv'.",
    ),
    COLUMNS,
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


def device_argument(metavar: str = "DEVICE") -> Callable[[COMMAND], COMMAND]:
    """Adds the device as an argument or as `--device`; `one_device` takes the one that is given."""

    def added(command: COMMAND) -> COMMAND:
        complete = completion.names("devices", file=True)
        option = click.option(
            "--device",
            "named",
            metavar="PRESET|FILE",
            shell_complete=complete,
            help=f"The same as {metavar}.",
        )
        argument = click.argument(
            "positional", metavar=metavar, required=False, shell_complete=complete
        )
        return argument(option(command))

    return added


def one_device(positional: str | None, named: str | None, metavar: str = "DEVICE") -> str:
    """The device that is given, as an argument or with `--device`."""
    if positional is not None and named is not None:
        raise click.UsageError(
            f"{metavar} and --device say the same: {positional} and {named}; give one of them"
        )
    device = named if positional is None else positional
    if device is None:
        raise click.UsageError(f"missing {metavar}: a preset or a TOML file")
    return device


def override_options(command: COMMAND) -> COMMAND:
    """Adds the options that select the experiment; `cli.stack` makes layers of them."""
    for option in reversed(OVERRIDES):
        command = option(command)
    return command
