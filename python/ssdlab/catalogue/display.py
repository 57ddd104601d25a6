"""What a person sees of the catalogue."""

from __future__ import annotations

from collections.abc import Mapping
from typing import IO

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from ssdlab.terminal import console_for, rendered


def catalogue_table(catalogue: Mapping[str, Mapping[str, str]], file: IO[str]) -> str:
    """One table for each category, names and summaries, as text for `file`."""
    sections: list[RenderableType] = []
    for category, entries in catalogue.items():
        table = Table.grid(padding=(0, 2))
        table.add_column(style="cyan", no_wrap=True)
        table.add_column()
        for name, summary in entries.items():
            table.add_row(Text(name), Text(summary))
        sections.append(Group(Text(category, style="bold"), Padding(table, (0, 0, 0, 2))))
    console, _ = console_for(file)
    return rendered(console, sections)
