"""What commands show on a terminal: text that fits it, tables, a progress bar.

Only this module and those named `display` need rich, and only who shows something imports them:
`ssdlab --help` and runs for a script start without it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import StringIO
from typing import IO, Any

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

MAX_WIDTH = 100


def console_for(file: IO[str]) -> tuple[Console, bool]:
    """A console that writes nothing and draws for `file`, and whether that takes only ASCII."""
    model = Console(file=file)
    colours: Any = model.color_system
    console = Console(
        file=StringIO(),
        width=min(model.width, MAX_WIDTH),
        color_system=colours,
        force_terminal=model.is_terminal,
        highlight=False,
    )
    return console, model.options.ascii_only


def rendered(console: Console, sections: list[RenderableType]) -> str:
    """The sections with an empty line between them, without the blanks that rich fills up with."""
    texts = []
    for section in sections:
        with console.capture() as capture:
            console.print(section)
        texts.append("".join(f"{line.rstrip()}\n" for line in capture.get().splitlines()))
    return "\n".join(texts)


def fact_table(title: str, rows: list[tuple[str, str]]) -> RenderableType:
    """A title, and below it names with their values."""
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True)
    table.add_column(justify="right", no_wrap=True)
    for name, value in rows:
        table.add_row(name, value)
    return Group(Text(title, style="bold"), table)


def side_by_side(*parts: RenderableType | None) -> RenderableType | None:
    """Those of the parts that there are, beside each other."""
    shown = [part for part in parts if part is not None]
    if not shown:
        return None
    table = Table.grid(padding=(0, 4))
    table.add_row(*shown)
    return table


def warning_lines(messages: list[str]) -> RenderableType | None:
    """Where a number does not mean what it seems to, a line each."""
    return (
        Text("\n".join(f"Warning: {it}" for it in messages), style="yellow") if messages else None
    )


@contextmanager
def steps(
    file: IO[str], what: str, quiet: bool = False
) -> Iterator[Callable[[int, int], None] | None]:
    """A progress bar on `file`, if it is a terminal; it is told the steps done and to do."""
    if quiet or not file.isatty():
        yield None
        return
    from ssdlab import bars

    with bars.steps(file, what) as move:
        yield move
