"""Writes manual pages of ssdlab and of each of its commands into a directory: `make man`.

They are made from the help that the commands show, and so say the same.
"""

import datetime
import os
import re
import sys
import textwrap
from pathlib import Path

import click

from ssdlab import _core
from ssdlab.cli import group


def escaped(text: str) -> str:
    """Text as roff takes it: a backslash, a hyphen and a dot at the start of a line are its own."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return re.sub(r"^([.'])", r"\\&\1", text, flags=re.MULTILINE)


def page(words: tuple[str, ...], command: click.Command, day: str) -> str:
    """The manual page of the command that `words` call."""
    name = "-".join(("ssdlab", *words))
    ctx = click.Context(command, info_name=" ".join(("ssdlab", *words)))
    usage = " ".join(command.collect_usage_pieces(ctx))
    said = [" ".join(it.split()) for it in textwrap.dedent(command.help or "").split("\n\n")]
    first = said[0].partition(". ")[0].rstrip(".") if said else name
    lines = [
        f'.TH "{name.upper()}" "1" "{day}" "ssdlab {_core.version}" "ssdlab"',
        ".nh",  # words with hyphens are typed as they are shown
        ".ad l",
        ".SH NAME",
        f"{escaped(name)} \\- {escaped(first[:1].lower() + first[1:])}",
        ".SH SYNOPSIS",
        f".B {escaped(ctx.info_name or name)}",
        escaped(usage),
        ".SH DESCRIPTION",
    ]
    for number, paragraph in enumerate(said):
        lines += [".PP"] * (number > 0) + [escaped(paragraph)]
    if examples := getattr(command, "examples", ()):
        lines.append(".SH EXAMPLES")
        for what, line in examples:
            lines += [".TP", escaped(what), ".EX", escaped(line), ".EE"]
    options = [it.get_help_record(ctx) for it in command.get_params(ctx)]
    lines.append(".SH OPTIONS")
    for record in filter(None, options):
        lines += [".TP", f"\\fB{escaped(record[0])}\\fR", escaped(" ".join(record[1].split()))]
    lines += rest(words, command, ctx)
    return "\n".join(lines) + "\n"


def rest(words: tuple[str, ...], command: click.Command, ctx: click.Context) -> list[str]:
    """The commands of a group, the exit status, and where to read on."""
    lines: list[str] = []
    if isinstance(command, click.Group):
        lines.append(".SH COMMANDS")
        for title, names in sections(words, command, ctx).items():
            lines += [f".SS {escaped(title)}"] if title else []
            for name, said in names.items():
                called = "-".join(("ssdlab", *words, name))
                lines += [".TP", f"\\fB{escaped(called)}\\fR(1)", escaped(said)]
    lines += [
        ".SH EXIT STATUS",
        "0 done; 1 the run could not be completed, or a verdict failed; 2 the input was wrong;",
        "130 interrupted by Ctrl\\-C; 143 by SIGTERM.",
    ]
    if words:
        lines += [".SH SEE ALSO", ".BR ssdlab (1)"]
    return lines


def sections(
    words: tuple[str, ...], command: click.Group, ctx: click.Context
) -> dict[str, dict[str, str]]:
    """The commands by the groups of the help, each with what it does."""
    if not words:
        groups = {**group.GROUPS, group.SERVED: group.BELOW}
        return {
            title: {name.replace(" ", "-"): place.summary for name, place in places.items()}
            for title, places in groups.items()
        }
    every = {name: command.get_command(ctx, name) for name in command.list_commands(ctx)}
    return {"": {name: it.get_short_help_str(200) for name, it in every.items() if it is not None}}


def pages(day: str) -> dict[str, str]:
    """Every page, by the name of its file."""
    found: dict[str, str] = {}

    def walk(words: tuple[str, ...], command: click.Command) -> None:
        found["-".join(("ssdlab", *words)) + ".1"] = page(words, command, day)
        if isinstance(command, click.Group):
            ctx = click.Context(command)
            names = group.COMMANDS if command is group.cli else command.list_commands(ctx)
            for name in names:
                inner = command.get_command(ctx, name)
                if inner is not None:
                    walk((*words, *name.split()), inner)

    walk((), group.cli)
    return found


if __name__ == "__main__":
    target = Path(sys.argv[1])
    target.mkdir(parents=True, exist_ok=True)
    # The same sources make the same pages, where the builder says of when they are.
    seconds = int(os.environ.get("SOURCE_DATE_EPOCH", "0"))
    when = datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc) if seconds else None
    made = pages((when or datetime.datetime.now(datetime.timezone.utc)).strftime("%Y-%m-%d"))
    for name, text in made.items():
        (target / name).write_text(text, encoding="utf-8")
    print(f"{target}: {len(made)} manual pages")
