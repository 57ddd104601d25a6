"""Outputs of a command: JSON, a picture, and a table at the terminal."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from ssdlab import delivery, forms


class Outputs:
    """The outputs that `--json`, `--plot` and `--quiet` select.

    Refuses files that cannot be written, or are none of `accepted`, before the command runs.
    """

    def __init__(
        self,
        json_path: str | None,
        quiet: bool,
        *accepted: forms.Form,
        plot: Path | None = None,
    ) -> None:
        is_printed = json_path == "-"
        self.json_file = None if json_path is None or is_printed else Path(json_path)
        self.is_printed, self.plot, self._accepted = is_printed, plot, accepted
        self.has_table = not (quiet or is_printed)
        if self.json_file is not None:
            delivery.refuse(self.json_file, *accepted)
        if plot is not None:
            from ssdlab.charts import matplotlib

            delivery.refuse(plot, forms.PICTURE)
            matplotlib.check("--plot", plot)

    def json(self, found: object, form: forms.Form | None = None) -> None:
        """Write or print the JSON, if it is wanted."""
        text = json.dumps(found, indent=2) + "\n"
        if self.json_file is not None:
            delivery.write(self.json_file, text, form or self._accepted[0])
        elif self.is_printed:
            click.echo(text, nl=False)

    def draw(self, rows: Callable[[], Sequence[Sequence[Any]]], **how: Any) -> None:
        """Draw the figures, if a picture is wanted."""
        if self.plot is not None:
            from ssdlab.charts import matplotlib

            matplotlib.save(self.plot, matplotlib.sheet(rows(), "--plot", **how))

    def table(self, text: Callable[[], str]) -> None:
        """Print the table, unless it is suppressed."""
        if self.has_table:
            click.echo(text(), nl=False)
