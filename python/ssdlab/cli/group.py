"""The group of commands, with messages and exit statuses of failures."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any, NamedTuple

import click

from ssdlab import _core, files, interruption, layers, portable
from ssdlab.cli.options import HELP_ALL, ExamplesFirstGroup

NOT_COMPLETED = 1
WRONG_INPUT = 2
#: Modules of commands that need the live device, which a build may lack.
NEED_LINUX = ("control", "crashes", "live", "overhead")


class Place(NamedTuple):
    """Group of a command, and its summary in the list of commands."""

    module: str
    name: str
    summary: str


#: The commands, by the group under which the help lists them.
GROUPS: Mapping[str, Mapping[str, Place]] = {
    "Commands": {
        "run": Place("running", "run", "simulate a workload on a drive"),
        "why": Place("explaining", "why", "what limits a run, and which change helps"),
        "compare": Place("comparison", "compare", "compare two results, devices or settings"),
        "ask": Place("asking", "ask", "which drive for a trace, results of fio, or words?"),
        "sweep": Place("sweeps", "sweep", "simulate many designs on all cores"),
        "trace": Place("trace", "trace", "look at a trace, or convert it"),
        "report": Place("reports", "report", "make a web page of results"),
        "view": Place("viewing", "view", "see a run happen, in a page"),
        "serve": Place("live", "serve", "serve the simulated drive as a block device"),
        "device": Place("device", "device", "derive a device from a data sheet, and check it"),
    },
    "Studies": {
        "size": Place("sizing", "size", "find the smallest drive that meets your goals"),
        "choose": Place("choosing", "choose", "the cheapest drive on sale that meets your goals"),
        "plan": Place("plans", "plan", "which drives over years of growth, and the total cost"),
        "consolidate": Place(
            "plans", "consolidate", "tenants on one drive: who suffers from whom?"
        ),
        "protect": Place("plans", "protect", "mirrors and parity: p99, losses and dollars of each"),
        "cost": Place("costing", "cost", "the cost of a requirement, at your prices"),
        "endurance": Place("rating", "endurance", "write drives to their end: TBW and DWPD"),
        "placement": Place("placing", "placement", "would FDP or streams help a trace?"),
        "pts": Place("pts", "pts", "the industry's test of a drive: SNIA's PTS"),
        "cliff": Place("cliffs", "cliff", "when a long copy slows down, and to what"),
        "retention": Place("unpowered", "retention", "will an unpowered drive keep its data?"),
        "reliability": Place("reliability", "reliability", "estimate the data losses of an array"),
        "crash": Place("crashes", "crash", "cut the power at many instants of a run"),
        "paper": Place("paper", "paper", "repeat published studies"),
        "calibrate": Place("calibration", "calibrate", "fit a device to measurements"),
    },
    "Reference": {
        "list": Place("catalogue", "list_command", "devices, workloads, policies and formats"),
        "show": Place("catalogue", "show", "one name in detail"),
        "keys": Place("catalogue", "keys", "find a configuration key by any name for it"),
        "catalogue": Place("market", "catalogue", "prices, watts and rated writes"),
        "docs": Place("catalogue", "docs", "read or search the docs, without a network"),
        "cache": Place("cache", "cache", "prepared drives and tables kept: show, clear"),
        "schema": Place("schema", "schema", "the JSON Schema of experiment files"),
    },
}
#: Commands of two words, which the help of the first one names, and their heading.
SERVED = "A served drive"
BELOW: Mapping[str, Place] = {
    "serve ctl": Place("control", "ctl", "send an order to a served drive"),
    "serve overhead": Place("overhead", "overhead", "measure the latency of the transport"),
}
#: All commands.
COMMANDS = {name: it for group in (*GROUPS.values(), BELOW) for name, it in group.items()}
#: Old names of commands.
RENAMED: Mapping[str, str] = {
    "ctl": "serve ctl",
    "floor": "serve overhead",
    "keep": "retention",
}


class Commands(ExamplesFirstGroup):
    """The group of `COMMANDS`, each imported on demand: the others start fast."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command. Ctrl-C becomes `Abort`: click would print an empty line."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as error:
            raise click.Abort from error

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Every command of one word."""
        return sorted({*COMMANDS} - {*BELOW})

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command of one or two words; for an old name, an error with the new one."""
        if (name := RENAMED.get(args[0])) is not None:
            if not ctx.resilient_parsing:
                click.echo(f"ssdlab: `ssdlab {args[0]}` is now `ssdlab {name}`", err=True)
            args = [*name.split(), *args[1:]]
        if (name := " ".join(args[:2])) in BELOW:
            return name, self.get_command(ctx, name), args[2:]
        return super().resolve_command(ctx, args)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of that name, imported if need be."""
        if cmd_name not in COMMANDS:
            return None
        place = COMMANDS[cmd_name]
        command: click.Command = getattr(
            import_module(f"ssdlab.{place.module}.command"), place.name
        )
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands by group, without importing them.

        `--help-all` adds the summaries of the last group and of `BELOW`.
        """
        groups = {**GROUPS, SERVED: BELOW}
        every = ctx.meta.get(HELP_ALL)
        visible = groups if every else [*GROUPS][:-1]
        widest = max(len(name) for group in visible for name in groups[group])
        for group in visible:
            with formatter.section(group):
                formatter.write_dl(
                    [(name.ljust(widest), _summary(it)) for name, it in groups[group].items()]
                )
        if not every:
            last = [*GROUPS][-1]
            formatter.write(f"\n{last}: {', '.join(GROUPS[last])}\n")


def _summary(place: Place) -> str:
    is_missing = place.module in NEED_LINUX and not portable.HAS_LIVE_DEVICE
    return f"(needs Linux) {place.summary}" if is_missing else place.summary


@click.group(
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    examples=[
        (
            "start here: a current drive in steady state; then your trace",
            "ssdlab run; ssdlab run --device samsung-pm9a3 --trace FILE",
        ),
    ],
)
@click.version_option(_core.version, prog_name="ssdlab", message="%(prog)s %(version)s")
def cli() -> None:
    """A laboratory for solid-state drives: simulate a workload on an SSD."""


def main(words: Sequence[str]) -> int:
    """Run the command `words`; returns the exit status."""
    try:
        with interruption.SigtermInterrupts():
            return cli.main(words, prog_name="ssdlab", standalone_mode=False) or 0
    except (Exception, KeyboardInterrupt) as error:
        return report_failure(error)


def report_failure(failure: BaseException) -> int:
    """Report the error; returns the exit status. Re-raises a defect of ssdlab."""
    try:
        raise failure
    except click.NoSuchOption as error:
        return _complain(_no_option(error), WRONG_INPUT)
    except click.UsageError as error:
        hint = f" (see {error.ctx.command_path} --help)" if error.ctx is not None else ""
        # click lists choices on separate lines.
        message = re.sub(r"\s*\n\s*", " ", error.format_message())
        if "unexpected extra" in message and error.ctx is not None:
            options = {it for param in error.ctx.command.params for it in param.opts}
            hint = f"; a drive is --device FILE or its name{hint}" * ("--device" in options) or hint
        return _complain(message.rstrip(".") + hint, WRONG_INPUT)
    except click.ClickException as error:
        # An interrupted command has its own message.
        status = interruption.status_of(error) or NOT_COMPLETED
        return _complain(error.format_message(), status)
    except _core.InputError as error:
        from ssdlab.cli import elsewhere

        said = layers.named(str(error))
        return _complain(f"{said}{elsewhere.example(said)}", WRONG_INPUT)
    except UnicodeEncodeError as error:
        return _complain(f"{error.object!r}: not UTF-8 text", WRONG_INPUT)
    except MemoryError:
        return _complain("not enough memory for this command", WRONG_INPUT)
    except _core.PolicyError as error:
        from ssdlab import cleaners

        return _complain(f"{cleaners.explain(error)}\nNothing was written.", NOT_COMPLETED)
    except _core.CheckError as error:
        return _complain(f"the check failed: {error}; nothing was written", NOT_COMPLETED)
    except _core.InternalError as error:
        return _complain(f"{error}; nothing was written", NOT_COMPLETED)
    except (KeyboardInterrupt, click.Abort) as error:
        return interruption.report_interruption(error)
    except files.NotWrittenError as error:
        return _complain(f"{error.filename}: cannot be written: {error.strerror}", NOT_COMPLETED)
    except OSError as error:
        if error.strerror is None:  # the engine's message
            return _complain(str(error), NOT_COMPLETED)
        if error.filename is not None:
            return _complain(f"{error.filename}: {error.strerror}", NOT_COMPLETED)
        # The interpreter's flush of the remaining buffer would fail again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError):  # the reader has closed the pipe
            return NOT_COMPLETED
        return _complain(f"standard output: cannot be written: {error.strerror}", NOT_COMPLETED)


def _no_option(error: click.NoSuchOption) -> str:
    """Message for an unknown option."""
    from ssdlab.cli import elsewhere

    said, ctx = f"there is no option {error.option_name}", error.ctx
    if ctx is None:
        return said
    here = elsewhere.option(error.option_name, ctx.command, ctx)
    if here is None and error.possibilities:
        here = f"did you mean {' or '.join(error.possibilities)}?"
    return f"{said}{f': {here}' if here else ''} (see {ctx.command_path} --help)"


def _complain(message: str, status: int) -> int:
    # What a message quotes of a file may have characters that move the cursor of a terminal.
    shown = re.sub(r"[^\n\t -~\u00a0-\U0010ffff]", lambda it: repr(it[0])[1:-1], message)
    click.echo(f"ssdlab: {shown}", err=True)
    return status
