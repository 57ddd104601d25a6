"""`ssdlab schema`: the JSON Schema of experiment files."""

from __future__ import annotations

import click

from ssdlab import schema as module
from ssdlab.cli.options import ExamplesFirst


@click.command(
    cls=ExamplesFirst,
    examples=[
        (
            "for your editor; then name it in the first line of mine.toml",
            "ssdlab schema > ssdlab.json",
        ),
        ("that line, for Even Better TOML and taplo", "#:schema ./ssdlab.json"),
        ("the values of one key", "ssdlab schema | jq '.properties.run.properties.until'"),
    ],
)
def schema() -> None:
    """Print the JSON Schema of experiment files, with which editors complete and check them.

    ssdlab rejects everything that the schema rejects. Only ssdlab run finds contradictions between
    keys.
    """
    click.echo(module.text(), nl=False)
