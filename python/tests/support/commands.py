"""Every command of the command line, found by walking through its groups."""

import click

from ssdlab.cli import group


def commands(command=group.cli, words=()):
    """Every command, by the words that call it."""
    yield words, command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            yield from commands(command.get_command(context, name), (*words, name))


EVERY = list(commands())
