"""Every command of the command line, found by walking through its groups."""

import click

from ssdlab.cli import group


def commands(command=group.cli, words=()):
    """Every command, by the words that call it."""
    yield words, command
    if isinstance(command, click.Group):
        context = click.Context(command)
        names = group.COMMANDS if command is group.cli else command.list_commands(context)
        for name in names:
            yield from commands(command.get_command(context, name), (*words, *name.split()))


EVERY = list(commands())
