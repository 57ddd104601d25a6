"""Terminal output of commands: wrapped text, tables, a progress bar.

Only this module, `display` modules and their table parts need rich. They are imported on demand:
`ssdlab --help` and runs with `--quiet` start without it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from io import StringIO
from typing import IO, Any

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from ssdlab.widths import ASCII, GAP, MAX_WIDTH


class _Prepared(Console):
    """A console that knows if its output is limited to ASCII."""

    plain = False


def console_for(file: IO[str]) -> tuple[Console, bool]:
    """A console that renders for `file` without writing; True if the file takes only ASCII."""
    model = Console(file=file)
    colours: Any = model.color_system
    console = _Prepared(
        file=StringIO(),
        width=min(model.width, MAX_WIDTH),
        color_system=colours,
        force_terminal=model.is_terminal,
        highlight=False,
    )
    console.plain = model.options.ascii_only
    return console, console.plain


def rendered(console: Console, sections: list[RenderableType]) -> str:
    """The sections, separated by empty lines, without rich's trailing blanks."""
    texts = []
    for section in sections:
        with console.capture() as capture:
            console.print(section)
        texts.append("".join(f"{line.rstrip()}\n" for line in capture.get().splitlines()))
    text = "\n".join(texts)
    return text.translate(ASCII) if getattr(console, "plain", False) else text


class Canvas:
    """Output for a file: `width` cells; `plain` if it takes only ASCII."""

    def __init__(self, file: IO[str]) -> None:
        self._console, self.plain = console_for(file)
        self.width: int = self._console.width

    def draw(self, parts: Iterable[RenderableType | None]) -> str:
        """The parts other than None, separated by empty lines."""
        return rendered(self._console, [part for part in parts if part is not None])


def grid(columns: str) -> Table:
    """A table without rules. `columns` has a letter per column: alignment l or r, upper case if
    cells may wrap.
    """
    table = Table.grid(padding=(0, 2))
    for letter in columns:
        justify: Any = "right" if letter in "rR" else "left"
        table.add_column(justify=justify, no_wrap=letter.islower(), overflow="fold")
    return table


def fact_table(title: str, rows: Iterable[tuple[str, str]]) -> RenderableType:
    """A title, followed by names with their values."""
    table = grid("Lr")
    for row in rows:
        table.add_row(*map(Text, row))
    return Group(Text(title, style="bold"), table)


def continued(command: str, width: int) -> str:
    """A command wrapped to the width, with the shell's line continuations."""
    lines = [""]
    for word in re.split(r" (?=--)", command):
        if not lines[-1]:
            lines[-1] = word
        elif len(lines[-1]) + len(word) + 3 <= width:
            lines[-1] += f" {word}"
        else:
            lines[-1] += " \\"
            lines.append(f"    {word}")
    return "\n".join(lines)


class _SideBySide:
    """Parts side by side if they fit, else below each other."""

    def __init__(self, parts: Sequence[RenderableType]) -> None:
        self.parts = parts

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        widths = [Measurement.get(console, options, part).maximum for part in self.parts]
        if sum(widths) + GAP * (len(widths) - 1) <= options.max_width:
            table = Table.grid(padding=(0, GAP))
            table.add_row(*self.parts)
            yield table
            return
        for position, part in enumerate(self.parts):
            if position:
                yield Text()
            yield part


def side_by_side(*parts: RenderableType | None) -> RenderableType | None:
    """Parts other than None, side by side where they fit."""
    visible = [part for part in parts if part is not None]
    return _SideBySide(visible) if visible else None


class Columns:
    """A table without truncated numbers: columns that do not fit follow in a table below.

    The first `keys` columns identify a row, and are repeated in each part.
    """

    def __init__(self, names: Sequence[str], keys: int, left: Sequence[str] = ()) -> None:
        self.names = names
        self.keys = keys
        self.left = left
        self.rows: list[list[Text]] = []

    def add_row(self, *cells: str | Text) -> None:
        """Add a row, a cell for each column."""
        self.rows.append([Text(cell) if isinstance(cell, str) else cell for cell in cells])

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        widths = [
            1 + max([cell_len(name), *(row[position].cell_len for row in self.rows)])
            for position, name in enumerate(self.names)
        ]
        # Keys leave room for the widest number; longer keys wrap.
        widest = max(widths[self.keys :], default=0)
        room = options.max_width - min(sum(widths[: self.keys]), options.max_width - widest)
        groups: list[list[int]] = [[]]
        for position in range(self.keys, len(self.names)):
            if groups[-1] and sum(widths[it] for it in groups[-1]) + widths[position] > room:
                groups.append([])
            groups[-1].append(position)
        for number, group in enumerate(groups):
            if number:
                yield Text()
            yield self._table([*range(self.keys), *group])

    def _table(self, places: Sequence[int]) -> Table:
        table = Table(box=None, padding=(0, 1), collapse_padding=True, pad_edge=False)
        for position in places:
            name, is_key = self.names[position], position < self.keys
            table.add_column(
                Text(name, style="dim"),
                justify="left" if name in self.left or (is_key and not name) else "right",
                no_wrap=not is_key,
                overflow="fold",
            )
        for row in self.rows:
            table.add_row(*(row[position] for position in places))
        return table


def warning_lines(messages: list[str]) -> RenderableType | None:
    """Warnings, one line each."""
    return (
        Text("\n".join(f"Warning: {it}" for it in messages), style="yellow") if messages else None
    )


@contextmanager
def steps(
    file: IO[str], what: str, quiet: bool = False
) -> Iterator[Callable[[int, int], None] | None]:
    """A progress bar on `file`, if it is a terminal; the result is called with the steps done and
    the total.
    """
    if quiet or not file.isatty():
        yield None
        return
    from ssdlab import bars

    with bars.steps(file, what) as move:
        yield move
