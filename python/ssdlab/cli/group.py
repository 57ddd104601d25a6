"""The group of commands, and what each failure says and returns."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module

import click

from ssdlab import _core, files
from ssdlab.cli import signals
from ssdlab.cli.options import ExamplesFirstGroup

NOT_COMPLETED = 1
WRONG_INPUT = 2

#: Where each command is.
COMMANDS: Mapping[str, str] = {
    "cache": "ssdlab.cache.command:cache",
    "calibrate": "ssdlab.calibration.command:calibrate",
    "compare": "ssdlab.comparison.command:compare",
    "cost": "ssdlab.cost.command:cost",
    "crash": "ssdlab.crashes.command:crash",
    "ctl": "ssdlab.control.command:ctl",
    "device": "ssdlab.device.command:device",
    "endurance": "ssdlab.endurance.command:endurance",
    "floor": "ssdlab.floor.command:floor",
    "keys": "ssdlab.catalogue.command:keys",
    "list": "ssdlab.catalogue.command:list_command",
    "paper": "ssdlab.paper.command:paper",
    "reliability": "ssdlab.reliability.command:reliability",
    "report": "ssdlab.reports.command:report",
    "run": "ssdlab.running.command:run",
    "schema": "ssdlab.schema.command:schema",
    "serve": "ssdlab.live.command:serve",
    "show": "ssdlab.catalogue.command:show",
    "size": "ssdlab.sizing.command:size",
    "sweep": "ssdlab.sweeps.command:sweep",
    "trace": "ssdlab.trace.command:trace",
    "view": "ssdlab.view.command:view",
}


class Commands(ExamplesFirstGroup):
    """The group of `COMMANDS`, each imported when it is asked for: the others start fast."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Every command."""
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of that name, imported if need be."""
        if cmd_name not in COMMANDS:
            return None
        module, _, name = COMMANDS[cmd_name].partition(":")
        command: click.Command = getattr(import_module(module), name)
        return command


@click.group(
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    examples=[
        ("the default device under the default workload", "ssdlab run"),
        ("a device of your choice under a trace", "ssdlab run --device agrawal2008 --trace FILE"),
        ("everything there is to choose from", "ssdlab list"),
        ("find a configuration key by any name for it", "ssdlab keys iodepth"),
    ],
)
@click.version_option(_core.version, prog_name="ssdlab", message="%(prog)s %(version)s")
def cli() -> None:
    """A laboratory for solid-state drives: simulate a workload on an SSD."""


def main(words: Sequence[str]) -> int:
    """Run the command that `words` ask for; the exit status."""
    try:
        with signals.SigtermInterrupts():
            return cli.main(words, prog_name="ssdlab", standalone_mode=False) or 0
    except (Exception, KeyboardInterrupt) as error:
        return told(error)


def told(failure: BaseException) -> int:
    """Says what is wrong; the exit status. Raises it again if it is a defect of ssdlab."""
    try:
        raise failure
    except click.UsageError as error:
        hint = f" (see {error.ctx.command_path} --help)" if error.ctx is not None else ""
        # click lists choices in lines of their own.
        message = re.sub(r"\s*\n\s*", " ", error.format_message())
        return _complain(message.rstrip(".") + hint, WRONG_INPUT)
    except click.ClickException as error:
        # A command that was interrupted says so in words of its own.
        status = signals.status_of(error) or NOT_COMPLETED
        return _complain(error.format_message(), status)
    except _core.InputError as error:
        return _complain(str(error), WRONG_INPUT)
    except UnicodeEncodeError as error:
        return _complain(f"{error.object!r}: not UTF-8 text", WRONG_INPUT)
    except _core.PolicyError as error:
        from ssdlab import cleaners

        return _complain(f"{cleaners.explain(error)}\nNothing was written.", NOT_COMPLETED)
    except _core.CheckError as error:
        return _complain(f"the check failed: {error}; nothing was written", NOT_COMPLETED)
    except _core.InternalError as error:
        return _complain(f"{error}; nothing was written", NOT_COMPLETED)
    except (KeyboardInterrupt, click.Abort) as error:
        return signals.told(error)
    except files.NotWrittenError as error:
        return _complain(f"{error.filename}: cannot be written: {error.strerror}", NOT_COMPLETED)
    except OSError as error:
        if error.strerror is None:  # of the engine, in its words
            return _complain(str(error), NOT_COMPLETED)
        if error.filename is not None:
            return _complain(f"{error.filename}: {error.strerror}", NOT_COMPLETED)
        # What is left in the buffer would fail once more when the interpreter flushes it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError):  # the reader of the pipe has gone
            return NOT_COMPLETED
        return _complain(f"standard output: cannot be written: {error.strerror}", NOT_COMPLETED)


def _complain(message: str, status: int) -> int:
    click.echo(f"ssdlab: {message}", err=True)
    return status
