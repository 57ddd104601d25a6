"""`ssdlab schema`: the JSON Schema of experiment files."""

from __future__ import annotations

import click

from ssdlab import schema as module
from ssdlab.cli.options import ExamplesFirst


@click.command(
    cls=ExamplesFirst,
    examples=[
        ("for your editor; name it in the first line of mine.toml", "ssdlab schema > ssdlab.json"),
        ("that line, for Even Better TOML and taplo", "#:schema ./ssdlab.json"),
        ("what a key takes", "ssdlab schema | jq '.properties.run.properties.until'"),
    ],
)
def schema() -> None:
    """Print the JSON Schema of experiment files, which editors complete and check them with.

    What the schema refuses ssdlab refuses. It cannot see whether keys contradict each other; ssdlab
    run tells.
    """
    click.echo(module.text(), nl=False)
