"""`ssdlab cache`: prepared states, which let the next run start at once."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click

from ssdlab import cache as module
from ssdlab import delivery, forms, readable
from ssdlab.cli.options import ExamplesFirst
from ssdlab.units import size


class Shows(ExamplesFirst, click.Group):
    """A command group that prints a listing when called without a subcommand."""


@click.group(
    cls=Shows,
    invoke_without_command=True,
    examples=[
        ("what is kept", "ssdlab cache"),
        ("remove all entries", "ssdlab cache clear"),
        ("a run without prepared drives", "ssdlab run --no-cache"),
        ("switch the cache off in this shell", "export SSDLAB_CACHE=off"),
    ],
)
@click.option("--json", "json_path", metavar="FILE|-", help="Write the entries as JSON.")
@click.pass_context
def cache(ctx: click.Context, json_path: str | None) -> None:
    """Show prepared states, which let the next run start at once: prepared drives, converted
    tables.

    The cache key is the drive, its preparation, the seed and the version of ssdlab. Results are
    the same with it and without.
    """
    if ctx.invoked_subcommand is not None:
        if json_path is not None:
            raise click.UsageError("--json shows what is kept; clear takes no --json", ctx)
        return
    found = module.to_dict()
    text = json.dumps(found, indent=2) + "\n"
    if json_path == "-":
        click.echo(text, nl=False)
        return
    if json_path is not None:
        delivery.refuse(Path(json_path), forms.KEPT)
        delivery.write(Path(json_path), text, forms.KEPT)
    from ssdlab.cache import display

    click.echo(display.cache(found, sys.stdout), nl=False)


@cache.command(
    cls=ExamplesFirst, examples=[("before a benchmark of preparations", "ssdlab cache clear")]
)
@click.option("--quiet", is_flag=True, help="Do not say what was removed.")
def clear(quiet: bool) -> None:
    """Remove all entries; runs prepare their drives and convert their tables again."""
    drives, tables, taken = module.clear()
    if quiet:
        return
    said = [readable.counted(drives, "prepared drive")]
    said += [readable.counted(tables, "converted trace")] if tables else []
    click.echo(f"removed {' and '.join(said)}, {size(taken)}")
