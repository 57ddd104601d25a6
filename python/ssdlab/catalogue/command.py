"""`ssdlab list`: what there is to choose from."""

from __future__ import annotations

import json
import sys

import click

from ssdlab import catalogue
from ssdlab.cli.options import ExamplesFirst


@click.command(
    "list",
    cls=ExamplesFirst,
    examples=[
        ("everything", "ssdlab list"),
        ("one category", "ssdlab list devices"),
        ("for a script", "ssdlab list cleaners --json"),
    ],
)
@click.argument("what", required=False, metavar=f"[{'|'.join(catalogue.categories())}]")
@click.option("--json", "as_json", is_flag=True, help="Print JSON: an object of names by category.")
def list_command(what: str | None, as_json: bool) -> None:
    """List what there is to choose from, with a line about each."""
    chosen = catalogue.categories() if what is None else [what]
    everything = {category: catalogue.list(category) for category in chosen}
    if as_json:
        click.echo(json.dumps(everything, indent=2))
    else:
        from ssdlab.catalogue import display

        click.echo(display.catalogue_table(everything, sys.stdout), nl=False)
